"""Charts as matplotlib figures, for the page and for a paper."""
