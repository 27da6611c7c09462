"""Whether a run meets requirements: pass, fail, or undecided."""
