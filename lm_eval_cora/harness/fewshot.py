"""The harness' few-shot sampler: exemplars by question instead of by the order in which docs come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lm_eval_cora.exemplars import ExemplarPool
from lm_eval_cora.harness.docs import Doc, exemplar
from lm_eval_cora.question import Ask, Question


class ExemplarSampler:
    """What the harness asks for exemplars, once for each variant.

    Args:
        pool: What they are drawn from.
        questions: The questions that are asked, by id.
        *seeds: Of the draw.
    """

    def __init__(self, pool: ExemplarPool, questions: Mapping[str, Question], *seeds: int) -> None:
        self._pool = pool
        self._questions = questions
        self._seeds = seeds
        self._last: tuple[str, Ask, int] | None = None
        self._exemplars: list[Doc] = []
        self.question_id = ""
        """The question whose variant is being built; the harness hands it over only in some cases."""
        self.ask: Ask = "letter"
        """What that variant asks for, and so its exemplars do."""

    def sample(self, n: int, **_: Any) -> list[Doc]:
        """The exemplars of the current question, drawn and rendered once for its variants, which stand side by side."""
        current = (self.question_id, self.ask, n)
        if self._last != current:
            drawn = self._pool.draw(self._questions[self.question_id], n, *self._seeds)
            self._exemplars = [exemplar(question, self.ask, *self._seeds, self.question_id) for question in drawn]
            self._last = current
        return self._exemplars
