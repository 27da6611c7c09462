"""Progress of a run: one bar over all waves, and an estimate of the remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lm_eval.api.model import CacheHook
from tqdm import tqdm

from lm_eval_cora.harness.forwarding import behind
from lm_eval_cora.harness.kept import AnswerCache
from lm_eval_cora.log import logger

_WARM_UP = 20.0
"""Seconds before the rate of answers is reported. A server or a GPU is slower at first."""


def describe_time(requests: int, seconds: float, left: int) -> str:
    """Describe the rate and the remaining time of a run.

    Example:
        >>> describe_time(32, 16.0, 33_066)
        '2 requests a second, about 4 h 36 min for the other 33,066'
    """
    rate = requests / seconds
    return f"{rate:.3g} requests a second, about {duration(left / rate)} for the other {left:,}"


def duration(seconds: float) -> str:
    """Format a time in seconds for a message.

    Example:
        >>> duration(7), duration(200), duration(16533)
        ('7 s', '3 min', '4 h 36 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Counts answers as soon as the back end has them, and shows a progress bar.

    Attributes:
        left: Maximum number of requests that remain.
        answered: Number of answered requests.
    """

    def __init__(self, left: int, *, bar: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the clock and the bar."""
        self.left, self.answered = left, 0
        self._clock, self._start, self._has_reported = clock, clock(), False
        self._bar = tqdm(total=left, desc="Asking", unit=" requests", disable=None if bar else True)

    def count(self) -> None:
        """Count an answer."""
        self.answered += 1
        self.left -= 1
        self._bar.update()
        seconds = self._clock() - self._start
        if not self._has_reported and seconds >= _WARM_UP and self.left > 0:
            self._has_reported = True
            logger.info("%s", describe_time(self.answered, seconds, self.left))

    def skip(self, count: int) -> None:
        """Subtract requests whose answers are already known."""
        self.left -= count

    def after_a_wave(self, answered: int, left: int, settled: int, questions: int) -> None:
        """Update the bar after a wave."""
        self.answered, self.left = answered, left
        self._bar.total, self._bar.n = answered + left, answered
        self._bar.set_postfix_str(f"{settled:,} of {questions:,} questions settled")

    def close(self) -> None:
        """Close the bar."""
        self._bar.close()


@contextmanager
def counting(lm: Any, progress: Progress) -> Iterator[None]:
    """Count the answers of a model one by one, through its hook for caches."""
    model = behind(lm)
    own = getattr(model, "cache_hook", None)
    if own is None:  # a user's own model may have no hook
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
    """Cache hook that counts answers and passes them on."""

    def __init__(self, own: CacheHook, progress: Progress) -> None:
        super().__init__(None)
        self._own, self._progress = own, progress

    def add_partial(self, attr: str, req: Sequence[Any], res: Any) -> None:
        self._own.add_partial(attr, req, res)
        self._progress.count()
