"""The stopping rule, and the order in which the variants of a question are asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lm_eval_cora.metrics import bmca, ci, cora
from lm_eval_cora.metrics.entries import Entry, is_known_early
from lm_eval_cora.responses import Bools, Ints, ResponseTable

EXACT = "exact"
"""The only stopping rule: a question ends with its first wrong answer. CoRA, CI, MCQA and BMCA(1.0) stay exact."""


def saves_requests(entries: Iterable[Entry]) -> bool:
    """Whether a task has CoRA, CI or BMCA(1.0), which stay exact with early stopping."""
    return any(is_known_early(entry) and entry["aggregation"] in (bmca, ci, cora) for entry in entries)


def place_of(doc: Mapping[str, Any], hardest_first: Sequence[str]) -> tuple[bool, int, int]:
    """Sort key of a variant in the order of asking: the original first, then the hardest kinds.

    All other kinds, such as templates and positions, follow in the order of the docs.
    """
    kind = doc["kind"]
    place = hardest_first.index(kind) if kind in hardest_first else len(hardest_first)
    return not doc["original"], place, doc["ordinal"]


def requests_until_wrong(table: ResponseTable, hardest_first: Sequence[str], costs: Ints) -> Ints:
    """Number of requests for each question if it ends with its first wrong answer.

    The answers of a run that stopped early give the same numbers as those of the full run: its skipped variants come
    after a wrong one.

    Example:
        >>> import numpy as np
        >>> table = ResponseTable.from_hits([[1, 1, 1], [1, 0, 1], [0, 1, 1]])
        >>> requests_until_wrong(table, [], np.ones(9, dtype=np.int64))
        array([3, 2, 1])
    """
    docs = [{"kind": kind, "original": False, "ordinal": 0} for kind in table.kinds]
    places = np.array([place_of(doc, hardest_first)[1] for doc in docs], dtype=np.int64)
    order = np.lexsort((places[table.kind], ~table.original, table.question))  # a stable sort keeps the ordinals
    wrong = ~table.correct[order]
    before: Ints = np.cumsum(wrong) - wrong
    starts = np.cumsum(table.sizes) - table.sizes
    is_asked: Bools = before == before[starts][table.question[order]]
    asked: Ints = np.bincount(table.question[order][is_asked], costs[order][is_asked], len(table.sizes)).astype(int)
    return asked
