"""Whether two answers that a model wrote are the same: by their notation, else by math-verify in a worker."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from weakref import finalize

from tqdm import tqdm

from lm_eval_cora.equivalence.notation import LONGEST, canonical, same_number, same_words
from lm_eval_cora.equivalence.workers import CPU_SECONDS, MEGABYTES, WALL_SECONDS, Pair, Workers

_MOST_WORKERS = 8
_PAIRS_WORTH_A_BAR = 200


class EquivalenceChecker:
    r"""Compares answers, and remembers what it found. Its worker processes end with it, or with this process.

    Equivalence is symmetric here: math-verify is asked in both directions, and one yes is enough. It is not made
    transitive: "x = 5" and "y = 5" are both equivalent to "5", and not to each other.

    Args:
        share: Of the machine's processors, 1 / share; for a run in several processes.
        cpu_seconds: Processor time for a pair.
        wall_seconds: Time on the clock for a pair.
        megabytes: Address space of a worker.

    Example:
        >>> checker = EquivalenceChecker()
        >>> checker.settle([(r"\frac{1}{2}", "0.5"), ("x+1", "1+x"), ("x+1", "x")])
        >>> checker.verdict("1 + x", "x + 1"), checker.verdict("x", "x+1")
        (True, False)
    """

    def __init__(
        self,
        *,
        share: int = 1,
        cpu_seconds: int = CPU_SECONDS,
        wall_seconds: float = WALL_SECONDS,
        megabytes: int = MEGABYTES,
    ) -> None:
        self.share = share
        self._limits = {"cpu_seconds": cpu_seconds, "wall_seconds": wall_seconds, "megabytes": megabytes}
        self._workers: Workers | None = None
        self._process = 0
        self._verdicts: dict[Pair, bool | None] = {}

    def verdict(self, one: str, other: str) -> bool | None:
        """Whether two answers are equivalent; None if math-verify ran out of time or memory over them.

        Args:
            one: An answer as it was written.
            other: Another.
        """
        pair = _in_order(one, other)
        if pair not in self._verdicts:
            self.settle([pair])
        return self._verdicts[pair]

    def settle_within(self, groups: Iterable[Iterable[str]]) -> None:
        """Find the verdicts on all pairs within groups of answers, such as those to one question and its reference.

        Args:
            groups: Answers as they were written; they may repeat.
        """
        self.settle(pair for answers in groups for pair in combinations(sorted(set(answers)), 2))

    def settle(self, pairs: Iterable[Pair]) -> None:
        """Find the verdicts on many pairs at once, in several processes, each distinct pair once.

        Args:
            pairs: Answers as they were written; those to one question stand best side by side.
        """
        distinct = dict.fromkeys(_in_order(*pair) for pair in pairs)
        at_once = {pair: _at_once(pair) for pair in distinct if pair not in self._verdicts}
        self._verdicts.update({pair: verdict for pair, verdict in at_once.items() if verdict is not None})
        open_pairs = [pair for pair, verdict in at_once.items() if verdict is None]
        if not open_pairs:
            return
        verdicts = self._pool().compare(open_pairs, max(1, min(_MOST_WORKERS, _processors() // self.share)))
        few = len(open_pairs) < _PAIRS_WORTH_A_BAR
        bar = tqdm(verdicts, "comparing answers", len(open_pairs), unit="pair", disable=few)
        try:
            self._verdicts.update(zip(open_pairs, bar, strict=True))
        except RuntimeError:  # no thread can be started; the answers have been paid for
            self._verdicts = {**dict.fromkeys(open_pairs), **self._verdicts}

    def _pool(self) -> Workers:
        """Return the workers of this process; a fork has its own."""
        if self._workers is None or self._process != os.getpid():
            self._workers, self._process = Workers(_MOST_WORKERS, **self._limits), os.getpid()  # type: ignore[arg-type]
            finalize(self, self._workers.close)
        return self._workers


def _at_once(pair: Pair) -> bool | None:
    """What notation alone can tell about two answers in canonical notation; None if it takes math-verify."""
    one, other = pair
    if one == other or not one:  # the first in order is the empty one
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
