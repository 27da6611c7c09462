"""The metrics that the task files name, random questions for property tests, and larger random tables."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hypothesis import strategies as st
from lm_eval.tasks._yaml_loader import load_yaml

from lm_eval_cora.metrics import Estimate
from lm_eval_cora.responses import Record, ResponseTable

_PROBE = Path(__file__).parents[2] / "tasks" / "_probes" / "divergent.yaml"

METRICS: dict[str, Callable[[ResponseTable], Estimate]] = {
    entry["metric"]: partial(entry["aggregation"], **({"level": entry["level"]} if "level" in entry else {}))
    for entry in load_yaml(_PROBE)["metric_list"]
}
"""Each metric by its name in the YAML, so that a new one is in every test at once."""

KINDS = ("original", "shuffled", "decoupled")


@st.composite
def questions(draw: st.DrawFn, min_size: int = 1) -> list[list[Record]]:
    """Complete questions with 1 to 6 variants each, printed options that differ, picks and invalid answers."""
    result = []
    for number in range(draw(st.integers(min_size, 6))):
        variants = draw(st.integers(1, 6))
        answer = draw(st.integers(0, 3))
        records = []
        for ordinal in range(variants):
            others = draw(st.sets(st.sampled_from([i for i in (0, 1, 2, 3, 26) if i != answer]), min_size=1))
            printed = draw(st.permutations([answer, *sorted(others)]))
            picked = draw(st.one_of(st.none(), st.sampled_from(printed)))
            kind = draw(st.sampled_from(KINDS[1:])) if ordinal else KINDS[0]
            tied = draw(st.booleans())
            records.append(Record(f"q{number}", kind, ordinal, variants, tuple(printed), answer, picked, tied=tied))
        result.append(records)
    return result


def table_of(members: list[list[Record]]) -> ResponseTable:
    return ResponseTable.from_records(record for records in members for record in records)


def random_questions(count: int, variants: int = 26, seed: int = 0) -> list[list[Record]]:
    """Questions of different difficulty, with 5% invalid answers, on eight kinds of variants."""
    rng = random.Random(seed)
    result = []
    for number in range(count):
        easy = rng.betavariate(2, 1.5)
        records = []
        for ordinal in range(variants):
            printed = rng.sample((0, 1, 2, 3, 4), rng.choice((2, 3, 5)))
            answer = 0
            if answer not in printed:
                printed[0] = answer
            guess = rng.choice(printed)
            picked = None if rng.random() < 0.05 else answer if rng.random() < easy else guess
            kind = "original" if ordinal == 0 else f"kind {ordinal % 7}"
            tied = rng.random() < 0.1
            records.append(Record(f"q{number:06d}", kind, ordinal, variants, tuple(printed), answer, picked, tied=tied))
        result.append(records)
    return result
