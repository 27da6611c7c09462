"""Read the cells of a row: JSON in a csv file, option lists, the index of the right option."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lm_eval_cora.question import LETTERS, UnusableQuestion, shorten


def parse_cell(cell: Any) -> Any:
    """Read the JSON in a csv file's cell; what is no text, or no JSON, stays as it is.

    Example:
        >>> parse_cell('["Ice", "Fog"]'), parse_cell("Ice, Fog"), parse_cell(None)
        (['Ice', 'Fog'], 'Ice, Fog', None)
    """
    try:
        return json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        return cell


def option_list(cell: Any) -> Sequence[Any]:
    """Read a list of options, which in a csv file is a JSON list.

    Raises:
        UnusableQuestion: If it is something else.

    Example:
        >>> option_list('["None", "N/A", "1", ""]')
        ['None', 'N/A', '1', '']
    """
    options = parse_cell(cell)
    if not isinstance(options, Sequence) or isinstance(options, str):
        raise UnusableQuestion(
            "options that are no list", 'expected a list, or in a csv file a JSON list: ["Ice", "Fog"]'
        )
    return options


def option_index(answer: Any, column: str, count: int) -> int:
    """Read an index from 0, which in a csv file is text, or a letter.

    Args:
        answer: As the row has it.
        column: Its column, for the error message.
        count: Number of options.

    Raises:
        UnusableQuestion: If it names none of the options.

    Example:
        >>> [option_index(answer, "answer", 4) for answer in (2, "2", "C")]
        [2, 2, 2]
    """
    names = [*range(count), *map(str, range(count)), *LETTERS[:count]]
    if isinstance(answer, bool) or answer not in names:
        raise UnusableQuestion(
            "an answer outside the options",
            f"{column} {shorten(repr(answer))} is no index from 0 to {count - 1} and no letter of the {count} options",
        )
    return names.index(answer) % count
