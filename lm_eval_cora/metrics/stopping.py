"""Early stopping: the order of the variants, and the bias of a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.responses import Bools, Ints, ResponseTable

EXACT = "exact"
"""The only stopping rule: a question ends with its first wrong answer. CoRA, CI, MCQA and BMCA(1.0) stay exact."""

ENOUGH = 300  # number of questions from which the bias of a budget is small compared with the standard error


def place_of(doc: Mapping[str, Any], hardest_first: Sequence[str]) -> tuple[bool, int, int]:
    """Sort key of a variant in the order of asking: the original, the hardest kinds, and all others in order."""
    kind = doc["kind"]
    place = hardest_first.index(kind) if kind in hardest_first else len(hardest_first)
    return not doc["original"], place, doc["ordinal"]


def requests_until_wrong(table: ResponseTable, hardest_first: Sequence[str], costs: Ints) -> Ints:
    """Number of requests for each question if it ends with its first wrong answer, before all skipped variants."""
    docs = [{"kind": kind, "original": False, "ordinal": 0} for kind in table.kinds]
    places = np.array([place_of(doc, hardest_first)[1] for doc in docs], dtype=np.int64)
    order = np.lexsort((places[table.kind], ~table.original, table.question))  # a stable sort keeps the ordinals
    wrong = ~table.correct[order]
    before: Ints = np.cumsum(wrong) - wrong
    is_asked: Bools = before == before[table.starts][table.question[order]]
    return np.bincount(table.question[order][is_asked], costs[order][is_asked], len(table.sizes)).astype(int)


class Moments(NamedTuple):
    """Sums over the n questions asked: 1, c_i requests, x_i (right original), c_i x_i, y_i (all right), c_i y_i."""

    questions: int = 0
    requests: int = 0
    right: int = 0
    requests_of_right: int = 0
    always: int = 0
    requests_of_always: int = 0


class Bias(NamedTuple):
    """By how much mcqa and bmca@1.0 are too high."""

    mcqa: float = 0.0
    bmca: float = 0.0


def bias_of_budget(moments: Moments) -> Bias:
    """Estimate by how much shares of questions are too high because a budget decided the number of questions.

    If many of the first questions need many requests, because all their variants are right, few others follow. To first
    order the bias of a share is Cov(c, x) / B, with B requests in total; it is of the order 1 / n.
    """
    n, requests, right, of_right, always, of_always = moments
    if n < 2 or not requests:
        return Bias()
    shares = ((right, of_right), (always, of_always))
    return Bias(*((of_part - requests * part / n) / (n - 1) / requests for part, of_part in shares))
