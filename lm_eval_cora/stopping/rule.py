"""The stopping rule, and the order in which the variants of a question are asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lm_eval_cora.metrics import bmca, ci, cora
from lm_eval_cora.metrics.entries import Entry, is_known_early

EXACT = "exact"
"""The only stopping rule: a question ends with its first wrong answer. CoRA, CI, MCQA and BMCA(1.0) stay exact."""


def saves_requests(entries: Iterable[Entry]) -> bool:
    """Whether a task has CoRA, CI or BMCA(1.0), which stay exact with early stopping.

    Example:
        >>> from lm_eval_cora.metrics import acc, cora
        >>> saves_requests([{"aggregation": cora}]), saves_requests([{"aggregation": acc}])
        (True, False)
    """
    return any(is_known_early(entry) and entry["aggregation"] in (bmca, ci, cora) for entry in entries)


def place_of(doc: Mapping[str, Any], hardest_first: Sequence[str]) -> tuple[bool, int, int]:
    """Sort key of a variant in the order of asking: the original first, then the hardest kinds.

    All other kinds, such as templates and positions, follow in the order of the docs.

    Args:
        doc: A variant.
        hardest_first: The kinds to ask first, in this order.

    Example:
        >>> docs = [{"kind": "x", "original": False, "ordinal": 0}, {"kind": "y", "original": True, "ordinal": 1}]
        >>> sorted(docs, key=lambda doc: place_of(doc, ["x"]))[0]["kind"]
        'y'
    """
    kind = doc["kind"]
    place = hardest_first.index(kind) if kind in hardest_first else len(hardest_first)
    return not doc["original"], place, doc["ordinal"]
