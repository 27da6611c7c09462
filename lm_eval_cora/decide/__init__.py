"""Runs -> decisions: plan the size of a comparison, check a run against requirements."""
