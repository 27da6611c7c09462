"""From what a run wrote to what people look at: numbers recomputed, tables, plots, a page."""


class ReportError(ValueError):
    """What was given cannot be reported; the message says what it was, where, and what to do."""
