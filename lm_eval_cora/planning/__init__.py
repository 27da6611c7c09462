"""How many questions a comparison of two models needs, and how many requests they cost."""
