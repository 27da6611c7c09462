"""Answers that other programs have logged."""

from typing import Any, NamedTuple


class Logged(NamedTuple):
    """The answers of one model to one task, from a log of another program."""

    model: str
    task: str
    rows: list[dict[str, Any]]  # columns of `answer_columns.COLUMNS`
    notes: list[str]  # for the user
    equal_prompts: bool = False  # whether the rows of a question asked the same prompt (epochs)
    own: str = ""  # what the program's own score is called, such as "choice" or "exact_match"
