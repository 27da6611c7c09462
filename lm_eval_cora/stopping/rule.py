"""The stopping rule, and the order in which the variants of a question are asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lm_eval_cora.metrics import bmca, ci, cora
from lm_eval_cora.metrics.entries import Entry, is_known_early
from lm_eval_cora.probes.alterations import NOTA_ANSWER, ORIGINAL, TRUE_OR_FALSE_RIGHT, shuffled
from lm_eval_cora.probes.divergent import DECOUPLED, WITH_NOTA

EXACT = "exact"
"""The only stopping rule: a question ends with its first wrong answer. CoRA, CI, MCQA and BMCA(1.0) stay exact."""

HARDEST_FIRST = (
    *(TRUE_OR_FALSE_RIGHT, NOTA_ANSWER),
    *(shuffled(ORIGINAL), shuffled(WITH_NOTA), shuffled(DECOUPLED), shuffled(f"{DECOUPLED}_{WITH_NOTA}")),
    *(WITH_NOTA, DECOUPLED, f"{DECOUPLED}_{WITH_NOTA}"),
)
"""The kinds of the divergent probe and of MCQA+ in the order in which they are asked after the original.

Measured once (docs/cost.md): of the variants of questions whose original was right SmolLM2-135M got 74 to 97% of each
shuffled kind of the divergent probe wrong and at most 4% of the others; of MCQA+ nearly all of the first two kinds, 82%
of the shuffled, and none of the rest. Among those that are alike the kinds with as many options as the original come
first: four larger models got these wrong 1.4 to 1.9 times as often (from CoRA, tables 1 and 5).
"""

_PLACES = {kind: place for place, kind in enumerate(HARDEST_FIRST)}


def saves_requests(entries: Iterable[Entry]) -> bool:
    """Whether stopping early leaves CoRA, CI or BMCA(1.0) of a task exact.

    Example:
        >>> from lm_eval_cora.metrics import acc, cora
        >>> saves_requests([{"aggregation": cora}]), saves_requests([{"aggregation": acc}])
        (True, False)
    """
    return any(is_known_early(entry) and entry["aggregation"] in (bmca, ci, cora) for entry in entries)


def place_of(doc: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Sort key of a variant in the order of asking: the original first, then the hardest kinds.

    All other kinds, such as templates and positions, follow in the order of the docs.

    Example:
        >>> docs = [{"kind": "x", "original": False, "ordinal": 0}, {"kind": "y", "original": True, "ordinal": 1}]
        >>> sorted(docs, key=place_of)[0]["kind"]
        'y'
    """
    return not doc["original"], _PLACES.get(doc["kind"], len(_PLACES)), doc["ordinal"]
