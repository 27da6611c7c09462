"""Compare written answers: first by their notation, then with math-verify in worker processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from weakref import finalize

from tqdm import tqdm

from lm_eval_cora.answers.notation import LONGEST, canonical, same_number, same_words
from lm_eval_cora.answers.workers import CPU_SECONDS, MEGABYTES, WALL_SECONDS, Pair, Workers

_MOST_WORKERS = 8
_PAIRS_WORTH_A_BAR = 200


class EquivalenceChecker:
    r"""Compares answers and remembers the verdicts. Its worker processes end with it, or with this process.

    Equivalence is symmetric: math-verify compares in both directions, and one match is enough. It is not transitive:
    "x = 5" and "y = 5" are both equivalent to "5", but not to each other.
    """

    def __init__(
        self,
        *,
        cpu_seconds: int = CPU_SECONDS,
        wall_seconds: float = WALL_SECONDS,
        megabytes: int = MEGABYTES,
    ) -> None:
        self._limits = {"cpu_seconds": cpu_seconds, "wall_seconds": wall_seconds, "megabytes": megabytes}
        self._workers: Workers | None = None
        self._process = 0
        self._verdicts: dict[Pair, bool | None] = {}

    def verdict(self, one: str, other: str) -> bool | None:
        """Return whether two answers are equivalent; None if math-verify ran out of time or memory."""
        pair = _in_order(one, other)
        if pair not in self._verdicts:
            self.settle([pair])
        return self._verdicts[pair]

    def settle_within(self, groups: Iterable[Iterable[str]], *, ranks: int = 1) -> None:
        """Find the verdicts on all pairs within each group of answers."""
        self.settle((pair for answers in groups for pair in combinations(sorted(set(answers)), 2)), ranks=ranks)

    def settle(self, pairs: Iterable[Pair], *, ranks: int = 1) -> None:
        """Find the verdicts on many pairs, in parallel with other ranks. Each distinct pair is compared once."""
        distinct = dict.fromkeys(_in_order(*pair) for pair in pairs)
        at_once = {pair: _at_once(pair) for pair in distinct if pair not in self._verdicts}
        self._verdicts.update({pair: verdict for pair, verdict in at_once.items() if verdict is not None})
        open_pairs = [pair for pair, verdict in at_once.items() if verdict is None]
        if not open_pairs:
            return
        verdicts = self._pool().compare(open_pairs, max(1, min(_MOST_WORKERS, _processors() // ranks)))
        few = len(open_pairs) < _PAIRS_WORTH_A_BAR
        bar = tqdm(verdicts, "comparing answers", len(open_pairs), unit="pair", disable=few)
        try:
            self._verdicts.update(zip(open_pairs, bar, strict=True))
        except RuntimeError:  # no thread can be started, but nothing may raise after the inference
            self._verdicts = {**dict.fromkeys(open_pairs), **self._verdicts}

    def _pool(self) -> Workers:
        """Return the workers of this process; a forked process starts its own."""
        if self._workers is None or self._process != os.getpid():
            self._workers, self._process = Workers(_MOST_WORKERS, **self._limits), os.getpid()  # type: ignore[arg-type]
            finalize(self, self._workers.close)
        return self._workers


def _at_once(pair: Pair) -> bool | None:
    """Compare two answers in canonical notation without math-verify; None if math-verify is needed."""
    one, other = pair
    if one == other or not one:  # of two different answers, an empty one is sorted first
        return bool(one)
    if max(len(one), len(other)) > LONGEST:
        return False
    number = same_number(one, other)
    return same_words(one, other) if number is None else number


_canonical = lru_cache(maxsize=100_000)(canonical)


def _in_order(one: str, other: str) -> Pair:
    first, second = sorted((_canonical(one), _canonical(other)))
    return first, second


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
