"""The error for what a user did wrong."""


class UserError(ValueError):
    """A wrong option, source, run or table. The message says what was expected, what arrived, where, and what to do."""
