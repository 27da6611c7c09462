"""Probes: pure rules Question -> Variants, a file each."""
