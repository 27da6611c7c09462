"""How far a run is: one bar over all waves, and the time that it will take, as soon as the first answers tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lm_eval.api.model import CacheHook
from tqdm import tqdm

from lm_eval_cora.harness.forwarding import behind
from lm_eval_cora.harness.kept import AnswerCache
from lm_eval_cora.harness.log import logger

_SECONDS_THAT_TELL = 20.0
"""The rate of answers is told after so long: before that a server or a GPU warms up."""


def describe_time(requests: int, seconds: float, left: int) -> str:
    """Say how long a run will take.

    Args:
        requests: Number of requests that were answered.
        seconds: How long that took.
        left: Number of requests that are left.

    Example:
        >>> describe_time(32, 16.0, 33_066)
        '2 requests a second, about 4 h 36 min for the other 33,066'
    """
    rate = requests / seconds
    return f"{rate:.3g} requests a second, about {duration(left / rate)} for the other {left:,}"


def duration(seconds: float) -> str:
    """A time in words.

    Example:
        >>> duration(7), duration(200), duration(16533)
        ('7 s', '3 min', '4 h 36 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Counts answers as the back end has them.

    Attributes:
        left: How many requests may still be asked.
        answered: How many were.
    """

    def __init__(self, left: int, *, bar: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin.

        Args:
            left: How many requests may be asked.
            bar: Whether to show a bar.
            clock: Returns the time in seconds.
        """
        self.left, self.answered = left, 0
        self._clock, self._start, self._has_told = clock, clock(), False
        self._bar = tqdm(total=left, desc="Asking", unit=" requests", disable=None if bar else True)

    def count(self) -> None:
        """Note an answer."""
        self.answered += 1
        self.left -= 1
        self._bar.update()
        seconds = self._clock() - self._start
        if not self._has_told and seconds >= _SECONDS_THAT_TELL and self.left > 0:
            self._has_told = True
            logger.info("%s", describe_time(self.answered, seconds, self.left))

    def skip(self, count: int) -> None:
        """Note requests that need no answer, because it is known."""
        self.left -= count

    def after_a_wave(self, answered: int, left: int, settled: int, questions: int) -> None:
        """Show where a run is.

        Args:
            answered: How many requests have been asked.
            left: How many may still be asked.
            settled: How many questions are settled.
            questions: How many there are.
        """
        self.answered, self.left = answered, left
        self._bar.total, self._bar.n = answered + left, answered
        self._bar.set_postfix_str(f"{settled:,} of {questions:,} questions settled")

    def close(self) -> None:
        """End the bar."""
        self._bar.close()


@contextmanager
def counting(lm: Any, progress: Progress) -> Iterator[None]:
    """Have a model tell of each answer when it has it, as it tells a cache."""
    model = behind(lm)
    own = getattr(model, "cache_hook", None)
    if own is None:  # a model of the user's own
        yield
        return
    model.set_cache_hook(_Counting(own, progress))
    if isinstance(lm, AnswerCache):
        lm.when_found = progress.skip
    try:
        yield
    finally:
        model.set_cache_hook(own)


class _Counting(CacheHook):  # type: ignore[misc]  # the harness ships no types
    """Counts what a cache is told."""

    def __init__(self, own: CacheHook, progress: Progress) -> None:
        super().__init__(None)
        self._own, self._progress = own, progress

    def add_partial(self, attr: str, req: Sequence[Any], res: Any) -> None:
        self._own.add_partial(attr, req, res)
        self._progress.count()
