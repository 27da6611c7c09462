"""Question -> Variants: one file for each probe, randomness, templates around a question, expansion."""
