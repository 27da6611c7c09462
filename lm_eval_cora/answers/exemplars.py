"""Exemplars: answered questions that precede the asked one, in its answer format."""

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.errors import UserError, naming
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.loading import ExemplarPool, load_exemplars
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import AnyQuestion, Question
from lm_eval_cora.questions.randomness import draw, in_random_order

Doc = dict[str, Any]


class ExemplarSampler:
    """Few-shot sampler. The harness calls it once per variant; `fewest` is the smallest number for a question."""

    def __init__(self, pool: ExemplarPool, questions: Mapping[str, AnyQuestion], *seeds: int) -> None:
        self._pool, self._questions, self._seeds = pool, questions, seeds
        self._last: object = None
        self._exemplars: list[Doc] = []
        self.signature = pool.signature
        self.fewest = 0
        self.doc: Doc = {}  # set by the task, because the harness passes the variant only in some cases

    def sample(self, n: int, **_: Any) -> list[Doc]:
        """Return the exemplars of the current question. Adjacent variants reuse them."""
        question_id = self.doc["question_id"]
        current = (*map(self.doc.get, ("question_id", "ask", "template", "labels", "question")), n)
        if self._last != current:
            drawn = self._pool.draw(self._questions[question_id], n, *self._seeds)
            closed = [question for question in drawn if isinstance(question, Question)]
            claimed = claimed_options(closed, *self._seeds, question_id) or [0] * len(drawn)
            exemplar, pairs = format_of(self.doc).exemplar, zip(drawn, claimed, strict=True)
            self._exemplars = [exemplar(question, self.doc, option) for question, option in pairs]
            self._last = current
        return self._exemplars


def load_sampler(
    task: str,
    questions: Sequence[AnyQuestion],
    shots: object,
    *seeds: int,
    options: Options,
    benchmark: Benchmark,
    asked_for: bool,
) -> ExemplarSampler:
    """Load the exemplars of a task, and check that there are enough."""
    if not isinstance(shots, int) or shots < 0:
        raise UserError(f"{task}: --num_fewshot {shots!r}: expected a whole number from 0")
    with naming(f"{task}: --num_fewshot {shots}"):
        pool = load_exemplars(options=options, benchmark=benchmark)
        if asked_for:
            pool.check(questions, shots)
        fewer = {} if asked_for else pool.fewer(questions, shots)
    sampler = ExemplarSampler(pool, {question.id: question for question in questions}, *seeds)
    sampler.fewest = min(fewer.values(), default=shots)
    if fewer:
        logger.warning(
            f"{task}: {len(fewer):,} of {len(questions):,} questions have fewer than {shots} exemplars "
            f"(the minimum is {sampler.fewest}), because {pool.source} has no more for them"
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
