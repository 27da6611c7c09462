"""Question -> Variants: one file for each probe, templates around a question, expansion."""
