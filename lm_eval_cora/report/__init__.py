"""Read the output files of runs, recompute the metrics, and show them as tables, charts and a page."""


class ReportError(ValueError):
    """An input that cannot be reported. The message names the input and its place and says what to do."""
