"""Files of the harness, of answers and of other tasks -> runs, grouped by model and task."""
