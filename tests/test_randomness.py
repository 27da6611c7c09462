from __future__ import annotations

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.randomness import draw, reordering


def test_a_draw_never_changes() -> None:
    # Kept values: a released task must draw the same variants for ever, on every machine and version of Python.
    assert draw(10**9, 0, "question 1", "divergent", "shuffled", 1) == 948_792_998
    assert reordering("abcdef", 0, "question 1") == ("e", "b", "d", "f", "c", "a")


def test_reorderings_are_uniform_over_the_other_orders() -> None:
    counts = Counter(reordering("abc", seed) for seed in range(6_000))
    assert set(counts) == set(permutations("abc")) - {("a", "b", "c")}
    # 5 orders, 1200 expected of each; chi-square with 4 degrees of freedom is above 18.5 once in 1000 seeds.
    assert sum((count - 1200) ** 2 / 1200 for count in counts.values()) < 18.5


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(), st.text())
def test_a_reordering_reads_differently_and_loses_nothing(items: list[int], seed: int, key: str) -> None:
    drawn = reordering(items, seed, key)
    assert sorted(drawn) == sorted(items)
    assert drawn != tuple(items) or len(set(items)) == 1
