"""The harness' few-shot sampler: exemplars by question instead of by the order in which docs come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_cora.benchmarks import Benchmark, BenchmarkError
from lm_eval_cora.exemplars import ExemplarError, ExemplarPool
from lm_eval_cora.formats import format_of
from lm_eval_cora.harness.docs import Doc
from lm_eval_cora.harness.loading import load_exemplars
from lm_eval_cora.harness.log import logger
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.question import OpenQuestion, Question
from lm_eval_cora.randomness import draw, in_random_order


class ExemplarSampler:
    """What the harness asks for exemplars, once for each variant.

    Args:
        pool: What they are drawn from.
        questions: The questions that are asked, by id.
        *seeds: Of the draw.
    """

    def __init__(self, pool: ExemplarPool, questions: Mapping[str, Question | OpenQuestion], *seeds: int) -> None:
        self._pool = pool
        self._questions = questions
        self._seeds = seeds
        self._last: object = None
        self._exemplars: list[Doc] = []
        self.signature = pool.signature
        """What the exemplars are drawn from and how."""
        self.fewest = 0
        """The number of exemplars of the question that has the fewest."""
        self.doc: Doc = {}
        """The variant that is being built; the harness hands it over only in some cases."""

    def sample(self, n: int, **_: Any) -> list[Doc]:
        """The exemplars of the current question, drawn and rendered once for its variants, which stand side by side."""
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
    """Load the exemplars of a task, and see whether there are enough.

    Args:
        task: Name of the task, for messages.
        questions: The questions that are asked, by id.
        shots: How many exemplars each of them is to have.
        *seeds: Of the draw.
        options: Where `data_files` are named.
        benchmark: Whose questions they are.
        asked_for: Whether the user asked for that many. The task's own number is used as far as the split allows.

    Returns:
        What the harness asks for exemplars.

    Raises:
        OptionError: If the number is not one, the exemplars cannot be loaded, or there are fewer than asked for.
    """
    if not isinstance(shots, int) or shots < 0:
        raise OptionError(f"{task}: --num_fewshot {shots!r}: expected a whole number from 0")
    try:
        pool = load_exemplars(options=options, benchmark=benchmark)
        fewer = {}
        if asked_for:
            pool.check(questions.values(), shots)
        else:
            fewer = pool.fewer(questions.values(), shots)
    except (BenchmarkError, ExemplarError) as error:
        raise OptionError(f"{task}: --num_fewshot {shots}: {error}") from None
    sampler = ExemplarSampler(pool, questions, *seeds)
    sampler.fewest = min(fewer.values(), default=shots)
    if fewer:
        logger.warning(
            "%s: %s of %s questions have fewer than %d exemplars (the fewest: %d): %s has no more for them",
            task,
            f"{len(fewer):,}",
            f"{len(questions):,}",
            shots,
            sampler.fewest,
            pool.source,
        )
    return sampler


def claimed_options(exemplars: Sequence[Question], *key: str | int) -> list[int]:
    """Choose which option each of some true-or-false exemplars is about: in half of them the right one.

    Args:
        exemplars: Questions in the order in which they are shown.
        *key: What the choice depends on.

    Returns:
        The position of an option for each; of an odd number, one more or one less than half are right.

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
