"""Few-shot sampler for the harness: draws exemplars per question, so that all variants get the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.docs import Doc
from lm_eval_cora.harness.loading import load_exemplars
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.exemplars import ExemplarPool
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.questions.randomness import draw, in_random_order


class ExemplarSampler:
    """Few-shot sampler. The harness calls it once per variant."""

    def __init__(self, pool: ExemplarPool, questions: Mapping[str, Question | OpenQuestion], *seeds: int) -> None:
        self._pool = pool
        self._questions = questions
        self._seeds = seeds
        self._last: object = None
        self._exemplars: list[Doc] = []
        self.signature = pool.signature
        """The source of the exemplars, and how they are drawn."""
        self.fewest = 0
        """The smallest number of exemplars of a question."""
        self.doc: Doc = {}
        """The current variant. The task sets it, because the harness passes it only in some cases."""

    def sample(self, n: int, **_: Any) -> list[Doc]:
        """Return the exemplars of the current question. Adjacent variants reuse them."""
        question_id = self.doc["question_id"]
        current = (question_id, self.doc["ask"], self.doc.get("template"), n)
        if self._last != current:
            drawn = self._pool.draw(self._questions[question_id], n, *self._seeds)
            closed = [question for question in drawn if isinstance(question, Question)]
            claimed = claimed_options(closed, *self._seeds, question_id) or [0] * len(drawn)
            exemplar = format_of(self.doc).exemplar
            self._exemplars = [
                exemplar(question, self.doc, option) for question, option in zip(drawn, claimed, strict=True)
            ]
            self._last = current
        return self._exemplars


def load_sampler(
    task: str,
    questions: Mapping[str, Question | OpenQuestion],
    shots: object,
    *seeds: int,
    options: Options,
    benchmark: Benchmark,
    asked_for: bool,
) -> ExemplarSampler:
    """Load the exemplars of a task, and check that there are enough."""
    if not isinstance(shots, int) or shots < 0:
        raise UserError(f"{task}: --num_fewshot {shots!r}: expected a whole number from 0")
    try:
        pool = load_exemplars(options=options, benchmark=benchmark)
        fewer = {}
        if asked_for:
            pool.check(questions.values(), shots)
        else:
            fewer = pool.fewer(questions.values(), shots)
    except UserError as error:
        raise UserError(f"{task}: --num_fewshot {shots}: {error}") from None
    sampler = ExemplarSampler(pool, questions, *seeds)
    sampler.fewest = min(fewer.values(), default=shots)
    if fewer:
        logger.warning(
            "%s: %s of %s questions have fewer than %d exemplars (the minimum is %d), because %s has no more for them",
            task,
            f"{len(fewer):,}",
            f"{len(questions):,}",
            shots,
            sampler.fewest,
            pool.source,
        )
    return sampler


def claimed_options(exemplars: Sequence[Question], *key: str | int) -> list[int]:
    """Choose the option that each true-or-false exemplar is about: the right one in half of them.

    Example:
        >>> ice = Question("q1", "What is frozen water?", ("Ice", "Fog", "Dew"), 0)
        >>> sorted(position == 0 for position in claimed_options([ice, ice, ice, ice], 0, "question 2"))
        [False, False, True, True]
    """
    shuffled = list(in_random_order(range(len(exemplars)), *key, "claimed right"))
    right = set(shuffled[: (len(exemplars) + draw(2, *key, "one more")) // 2])
    positions = []
    for number, question in enumerate(exemplars):
        wrong = [position for position in range(len(question.choices)) if position != question.answer]
        other = wrong[draw(len(wrong), *key, "claimed", number)]
        positions.append(question.answer if number in right else other)
    return positions
