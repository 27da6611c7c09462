"""Few-shot sampler for the harness: draws exemplars per question, so that all variants get the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.docs import Doc, questions_digest, to_row
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.loading import ExemplarPool, QuestionSource, count_left_out
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.questions.randomness import draw, in_random_order


class ExemplarSampler:
    """Few-shot sampler. The harness calls it once per variant; `fewest` is the smallest number for a question."""

    def __init__(self, pool: ExemplarPool, questions: Mapping[str, Question | OpenQuestion], *seeds: int) -> None:
        self._pool, self._questions, self._seeds = pool, questions, seeds
        self._last: object = None
        self._exemplars: list[Doc] = []
        self.signature = pool.signature
        self.fewest = 0
        self.doc: Doc = {}  # set by the task, because the harness passes the variant only in some cases

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
        if asked_for:
            pool.check(questions.values(), shots)
        fewer = {} if asked_for else pool.fewer(questions.values(), shots)
    except UserError as error:
        raise UserError(f"{task}: --num_fewshot {shots}: {error}") from None
    sampler = ExemplarSampler(pool, questions, *seeds)
    sampler.fewest = min(fewer.values(), default=shots)
    if fewer:
        logger.warning(
            f"{task}: {len(fewer):,} of {len(questions):,} questions have fewer than {shots} exemplars (the minimum is "
            f"{sampler.fewest}), because {pool.source} has no more for them"
        )
    return sampler


def load_exemplars(*, options: Options, benchmark: Benchmark) -> ExemplarPool:
    """Load the questions from which few-shot exemplars are drawn.

    They come from the few-shot split. If the benchmark has none, or if the user's files replace it, they are all
    questions of the scored source. Options that select questions do not make the pool smaller.
    """
    name, scored, own = benchmark.name, benchmark.source.split, benchmark.source.fewshot_split
    split = scored if options.data_files else own or scored
    source = QuestionSource(benchmark, options, split)
    questions, left_out, notes = source.load()
    if options.data_files and own:
        logger.warning(
            f"{name}: exemplars come from the scored questions, not from the split {own!r}, because 'data_files' "
            "replaces both. Pass --num_fewshot 0 to ask without exemplars"
        )
    if split != scored:  # what was left out of the scored split, and the notes on it, were reported before
        for note in notes:
            logger.warning("%s: exemplars: %s", name, note)
        if left_out:
            logger.warning(
                f"{name}: left out {len(left_out)} of {len(left_out) + len(questions)} possible exemplars: "
                f"{count_left_out(left_out)}"
            )
    logger.info("%s: exemplars are drawn from %d questions of %s", name, len(questions), source)
    return ExemplarPool(
        questions,
        source=str(source),
        within_category=benchmark.exemplars_within_category,
        as_published=benchmark.exemplars_as_published and not options.data_files,
        digest=questions_digest(map(to_row, questions)),
    )


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
