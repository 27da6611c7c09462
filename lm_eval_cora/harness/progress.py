"""Progress of a run: a bar over all waves, and the rate of answers."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from lm_eval_cora.harness.answer_cache import AnswerCache
from lm_eval_cora.harness.compat import behind, on_answers
from lm_eval_cora.harness.notices import duration
from lm_eval_cora.log import logger

_WARM_UP = 20.0  # seconds before the rate of answers is reported, because a server or a GPU is slower at first


class Progress:
    """Counts answers as soon as the back end has them (`left` at most remain), and shows a bar over all waves."""

    def __init__(self, left: int, *, bar: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.left, self.answered = left, 0
        self._clock, self._has_reported = clock, False
        self._start = self._last = clock()
        self._bar = tqdm(total=left, desc="Asking", unit=" requests", disable=None if bar else True)

    def count(self) -> None:
        """Count an answer, and report the rate of answers once."""
        # The answers of a batch come together, so the rate is that until the last answer before a pause.
        now = self._clock()
        seconds, pause = self._last - self._start, now - self._last
        if not self._has_reported and seconds >= _WARM_UP and pause * self.answered >= seconds:
            self._has_reported = True
            rate = self.answered / seconds
            left = f"about {duration(self.left / rate)} for the other {self.left:,}"
            logger.info("%.3g requests a second, %s", rate, left)
        self.answered, self._last = self.answered + 1, now
        self.left -= 1
        self._bar.update()

    def skip(self, count: int) -> None:
        """Subtract requests whose answers are already known."""
        self.left -= count

    def after_a_wave(self, answered: int, left: int, decided: int, questions: int) -> None:
        """Update the bar after a wave."""
        self.answered, self.left = answered, left
        self._bar.total, self._bar.n = answered + left, answered
        self._bar.set_postfix_str(f"{decided:,} of {questions:,} questions settled")

    def close(self) -> None:
        """Close the bar."""
        self._bar.close()


@contextmanager
def counting(lm: Any, progress: Progress) -> Iterator[None]:
    """Count the answers of a model one by one, through its hook for caches."""
    stop = on_answers(behind(lm), lambda *_: progress.count())
    if isinstance(lm, AnswerCache):
        lm.when_found = progress.skip
    try:
        yield
    finally:
        stop()
