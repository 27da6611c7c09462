"""What a run is to find out about each question, when that is settled, and in which order to ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from lm_eval_cora.metrics import acc_h, bmca, ci, cora, mcqa, mcqa_plus, mv
from lm_eval_cora.metrics.accuracy import exact_level
from lm_eval_cora.metrics.entries import Entry
from lm_eval_cora.options import OptionError
from lm_eval_cora.probes import order
from lm_eval_cora.probes.alterations import NOTA_ANSWER, ORIGINAL, TRUE_OR_FALSE_RIGHT, shuffled
from lm_eval_cora.probes.divergent import DECOUPLED, WITH_NOTA

EXACT, MAJORITY = "exact", "mv"

BOUNDS = ("lower", "upper")
"""With what was not asked counted wrong, and right."""

_BOUNDED = (mcqa_plus, mv, bmca)
"""Metrics that variants which were not asked can only raise, and only so far."""

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


@dataclass(frozen=True)
class Goal:
    """What is to be known of each question exactly: whether enough of its variants are answered right.

    Attributes:
        name: As it is given to --stop.
        level: The share of variants that is asked about.
        strictly: Whether more than that share must be right.
    """

    name: str
    level: Fraction
    strictly: bool = False

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Read a goal.

        Args:
            text: `exact` for CoRA, CI, MCQA and BMCA(1.0); `bmca@0.8`, or another level; `mv`.

        Returns:
            The goal; `bmca@1.0` is `exact`.

        Raises:
            OptionError: If it is none of these.

        Example:
            >>> Goal.parse("bmca@0.8").level
            Fraction(4, 5)
        """
        text = str(text).lower()
        if text == EXACT:
            return cls(EXACT, Fraction(1))
        if text == MAJORITY:
            return cls(MAJORITY, Fraction(1, 2), strictly=True)
        name, separator, level = text.partition("@")
        try:
            exact = exact_level(float(level)) if separator and name == "bmca" else Fraction(0)
        except ValueError:
            exact = Fraction(0)
        if not exact:
            raise OptionError(
                f"--stop {text!r}: expected {EXACT!r} (CoRA, CI, MCQA and BMCA(1.0)), 'bmca@0.8' or another level "
                f"above 0 and up to 1, or {MAJORITY!r}"
            )
        return cls(EXACT, exact) if exact == 1 else cls(f"bmca@{float(exact)}", exact)

    def needed(self, variants: int) -> int:
        """How many of a question's variants must be right.

        Example:
            >>> [Goal.parse(name).needed(26) for name in ("exact", "bmca@0.8", "mv")]
            [26, 21, 14]
        """
        share = self.level * variants
        return int(share) + 1 if self.strictly else ceil(share)

    def is_settled(self, right: int, wrong: int, variants: int) -> bool:
        """Whether no further answer can change the outcome, so many having been right and so many wrong.

        Example:
            >>> goal = Goal.parse("exact")
            >>> goal.is_settled(25, 0, 26), goal.is_settled(3, 1, 26)
            (False, True)
        """
        needed = self.needed(variants)
        return right >= needed or wrong > variants - needed

    def makes_exact(self, entry: Entry, probe: str) -> bool:
        """Whether a metric is known exactly once all questions are settled.

        MCQA always is: the original is asked first.
        """
        function = entry["aggregation"]
        if "without" in entry:
            return False
        if function is mcqa:
            return True
        if function is bmca:
            return exact_level(entry["level"]) == self.level and not self.strictly
        if self.name == EXACT:
            # All variants of the order probe print the source's options, so all of them count there.
            return function in (ci, cora) or (function is acc_h and probe == order.NAME)
        return function is mv and self.name == MAJORITY

    def is_goal_of(self, entries: Iterable[Entry], probe: str) -> bool:
        """Whether stopping tells anything about a task beside MCQA, which asking the originals alone would tell."""
        return any(self.makes_exact(entry, probe) for entry in entries if entry["aggregation"] is not mcqa)

    def entries_left(self, entries: Iterable[Entry], probe: str) -> list[Entry]:
        """The metrics that can be printed: the exact ones, and bounds of those that have some.

        A bound is an entry of its own, `<metric>_lower` with what was not asked counted wrong, `<metric>_upper` right.
        """
        left: list[Entry] = []
        for entry in entries:
            if self.makes_exact(entry, probe):
                left.append(entry)
            else:
                left += bounds_of(entry)
        return left


def goals_of(entries: Iterable[Entry], probe: str) -> list[str]:
    """The goals that a task with these metrics has.

    Example:
        >>> goals_of([{"metric": "mv", "aggregation": mv}, {"metric": "cora", "aggregation": cora}], "divergent")
        ['exact', 'mv']
    """
    listed = list(entries)
    levels = sorted({float(entry["level"]) for entry in listed if entry["aggregation"] is bmca})
    goals = [Goal.parse(name) for name in (EXACT, *(f"bmca@{level}" for level in levels), MAJORITY)]
    return list(dict.fromkeys(goal.name for goal in goals if goal.is_goal_of(listed, probe)))


def bounds_of(entry: Entry) -> list[Entry]:
    """The entries of a metric's two bounds; none if it has no bounds.

    Example:
        >>> [bound["metric"] for bound in bounds_of({"metric": "mv", "aggregation": mv})]
        ['mv_lower', 'mv_upper']
    """
    if entry["aggregation"] not in _BOUNDED or "without" in entry:
        return []
    return [{**entry, "metric": f"{entry['metric']}_{bound}", "bound": bound} for bound in BOUNDS]


def place_of(doc: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Where a variant stands in the order of asking: the original first, then the hardest kinds.

    Kinds that have no place among these, such as templates and positions, follow in the order of the docs.

    Example:
        >>> docs = [{"kind": "x", "original": False, "ordinal": 0}, {"kind": "y", "original": True, "ordinal": 1}]
        >>> sorted(docs, key=place_of)[0]["kind"]
        'y'
    """
    return not doc["original"], _PLACES.get(doc["kind"], len(_PLACES)), doc["ordinal"]
