"""Read the output files of runs, recompute the metrics, and show them as tables, charts and a page."""
