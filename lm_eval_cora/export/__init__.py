"""Runs -> files that other people's tools read."""
