"""The stopping rule, and the order in which the variants of a question are asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics import bmca, ci, cora
from lm_eval_cora.metrics.entries import Entry, is_known_early
from lm_eval_cora.metrics.responses import Bools, Ints, ResponseTable

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
    is_asked: Bools = before == before[table.starts][table.question[order]]
    asked: Ints = np.bincount(table.question[order][is_asked], costs[order][is_asked], len(table.sizes)).astype(int)
    return asked


ENOUGH = 300
"""Number of questions from which the bias of a budget is small compared with the standard error."""


class Moments(NamedTuple):
    """Sums over the questions of a task.

    Attributes:
        questions: Number of questions asked, n.
        requests: Sum of their requests, c_i.
        right: Number of questions whose original is right, sum of x_i.
        requests_of_right: Requests for these questions, sum of c_i x_i.
        always: Number of questions that are right in all variants, sum of y_i.
        requests_of_always: Requests for these questions, sum of c_i y_i.
    """

    questions: int = 0
    requests: int = 0
    right: int = 0
    requests_of_right: int = 0
    always: int = 0
    requests_of_always: int = 0


class Bias(NamedTuple):
    """By how much scores are too high.

    Attributes:
        mcqa: Bias of mcqa.
        bmca: Bias of bmca@1.0.
    """

    mcqa: float = 0.0
    bmca: float = 0.0


def bias_of_budget(moments: Moments) -> Bias:
    """Estimate by how much shares of questions are too high because a budget decided the number of questions.

    Questions that are right in all variants need the most requests. If many of the first questions are like this,
    fewer others follow that could outweigh them. To first order the bias of a share is Cov(c, x) / B. Here c_i is the
    number of requests for question i, x_i is 1 if it counts, and B is the number of requests of the task. It is of the
    order 1 / n.
    """
    n, requests, right, of_right, always, of_always = moments
    if n < 2 or not requests:
        return Bias()
    return Bias(
        *(
            (of_part - requests * part / n) / (n - 1) / requests
            for part, of_part in ((right, of_right), (always, of_always))
        )
    )
