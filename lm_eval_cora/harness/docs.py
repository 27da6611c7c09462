"""From a benchmark to the harness' docs, one per variant: hooks of the task files, exemplars, the docs of a run."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from heapq import heappop, heappush
from math import ceil, inf
from typing import Any

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.errors import UserError, naming
from lm_eval_cora.harness.task_config import templates_of
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.loading import ExemplarPool, QuestionSource, count_left_out, load_questions
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import AnyQuestion, Form, Question
from lm_eval_cora.questions.randomness import draw, in_random_order
from lm_eval_cora.questions.right_option import ENOUGH
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.variants.probes import Probe, uses_templates, variants_of_all
from lm_eval_cora.variants.prompts import PROMPTS
from lm_eval_cora.variants.template import prompt_of

SPLIT = "test"
"""Name of the only split of a loaded benchmark, independent of its name in the source."""

Doc = dict[str, Any]


# ---- questions
def load_benchmark(
    *, options: Options, benchmark: Benchmark, probe: Probe = PROMPTS
) -> tuple[list[AnyQuestion], int, str]:
    """Load the questions of a probe, the number it leaves out, and a digest of all: the harness' `custom_dataset`."""
    chosen, referring, questions = load_questions(benchmark, options, probe.leaves_out)
    return chosen, referring, questions_digest(map(to_row, questions))


def questions_digest(rows: Iterable[Mapping[str, object]]) -> str:
    """Digest of the rows of questions: 8 hexadecimal digits, independent of the order of the rows."""
    # A row without an id gets its number as the id, so for such files the order matters.
    digests = sorted(blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).digest() for row in rows)
    return blake2b(b"".join(digests), digest_size=4).hexdigest()


def to_row(question: AnyQuestion) -> dict[str, object]:
    """What a digest is made of."""
    about = {"id": question.id, "question": question.stem, "choices": question.choices}
    return {**about, "answer": question.answer, "category": question.category}


# ---- docs
class Docs(list[Doc]):
    """The docs of a task. The harness reads `features`; a Dataset has it too, but copies docs in each iteration."""

    @property
    def features(self) -> Mapping[str, None]:
        """The keys of a doc."""
        return dict.fromkeys(self[0]) if self else {}


def process_docs(
    questions: Iterable[AnyQuestion],
    probe: Probe,
    options: Options | None = None,
    *,
    form: Form = "generate",
    benchmark: Benchmark | None = None,
) -> Docs:
    """Expand questions into docs, one per variant. The variants of a question are adjacent."""
    options = options or Options()
    templates = templates_of(benchmark, options) if uses_templates(probe, form) else None
    return Docs(map(vars, variants_of_all(questions, probe, options, form=form, templates=templates)))


def doc_to_text(doc: Doc) -> str:
    """The prompt of a doc if the answer is written."""
    return prompt_of(doc)


def doc_to_scored_text(doc: Doc) -> str:
    """The prompt of a doc if answers are scored."""
    return prompt_of(doc, instruct=False)


def exemplar_to_text(doc: Doc) -> str:
    """The text of an exemplar, up to its answer."""
    text: str = doc["text"]
    return text


def doc_to_choice(doc: Doc) -> list[str]:
    """The answers to score."""
    return format_of(doc).scored(doc)


def doc_to_target(doc: Doc) -> str:
    """The right answer in the form that the prompt asks for."""
    return format_of(doc).target(doc)


# ---- exemplars
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
    questions: Mapping[str, AnyQuestion],
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
            pool.check(questions.values(), shots)
        fewer = {} if asked_for else pool.fewer(questions.values(), shots)
    sampler = ExemplarSampler(pool, questions, *seeds)
    sampler.fewest = min(fewer.values(), default=shots)
    if fewer:
        logger.warning(
            f"{task}: {len(fewer):,} of {len(questions):,} questions have fewer than {shots} exemplars "
            f"(the minimum is {sampler.fewest}), because {pool.source} has no more for them"
        )
    return sampler


def load_exemplars(*, options: Options, benchmark: Benchmark) -> ExemplarPool:
    """Load the questions from which few-shot exemplars are drawn."""
    # They come from the few-shot split. If the benchmark has none, or if the user's files replace it, they are all
    # questions of the scored source. Options that select questions do not make the pool smaller.
    name, scored, own = benchmark.name, benchmark.source.split, benchmark.source.fewshot_split
    split = scored if options.data_files else own or scored
    source = QuestionSource(benchmark, options, split)
    questions, left_out, notes = source.load()
    if options.data_files and own:
        logger.warning(
            f"{name}: exemplars come from the scored questions, not from the split {own!r}, "
            "because 'data_files' replaces both. Pass --num_fewshot 0 to ask without exemplars"
        )
    if split != scored:  # loading the scored split has reported its notes and rows left out
        for note in notes if len(questions) >= ENOUGH else ():  # a few exemplars say little about all
            logger.warning(f"{name}: exemplars: {note}")
        if left_out:
            logger.warning(
                f"{name}: left out {len(left_out)} of {len(left_out) + len(questions)} possible exemplars: "
                f"{count_left_out(left_out)}"
            )
    logger.info(f"{name}: exemplars are drawn from {len(questions)} questions of {source}")
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


# ---- the docs of a run
def chosen_docs(
    task: str,
    docs: Sequence[Doc],
    limit: float | None = None,
    samples: Sequence[int] | None = None,
) -> list[int]:
    """Select the questions that --limit and --samples ask for, over all ranks, with all their variants."""
    questions = list(dict.fromkeys(doc["question_id"] for doc in docs))
    if limit is not None and not (isinstance(limit, int | float) and 0 < limit < inf):
        shown = f"{limit:g}" if isinstance(limit, int | float) else repr(limit)
        raise UserError(
            f"{task}: --limit {shown}: expected a number of questions from 1, or a share of them between 0 and 1"
        )
    if outside := [number for number in samples or () if type(number) is not int or not 0 <= number < len(questions)]:
        raise UserError(
            f"{task}: --samples {outside[0]!r}: expected the number of a question, from 0 to {len(questions) - 1}"
        )
    count = ceil(limit * len(questions)) if limit is not None and limit < 1 else limit
    numbers = samples or range(len(questions))[: None if count is None else int(count)]
    chosen = {questions[number] for number in numbers}
    return [number for number, doc in enumerate(docs) if doc["question_id"] in chosen]


def check_processes(task: str, variants: int, processes: int) -> None:
    """Check that each process has a variant: one without would raise in the harness, while the others wait forever."""
    if processes > variants:
        raise UserError(
            f"{task}: expected at least one variant per process, got {variants} variants for {processes} processes. "
            f"Ask more questions, or start at most {variants} processes"
        )


def in_shards(costs: Mapping[str, int], count: int) -> list[set[str]]:
    """Split questions or passages into shards of about equal cost, in the same way whatever their order.

    Example:
        >>> [sorted(shard) for shard in in_shards({"a": 1, "b": 1, "c": 2}, 2)]
        [['c'], ['a', 'b']]
    """
    shards: list[set[str]] = [set() for _ in range(count)]
    filled = [(0, number) for number in range(count)]
    for unit in sorted(costs, key=lambda unit: (-costs[unit], draw(2**64, "shard", unit))):
        cost, number = heappop(filled)
        shards[number].add(unit)
        heappush(filled, (cost + costs[unit], number))
    return shards


def passages_of(docs: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """The passage of each question; a question without one is a passage of its own."""
    return {doc["question_id"]: doc.get("cluster") or (doc["question_id"],) for doc in docs}


def deal(docs: Sequence[tuple[int, Doc]], ranks: int) -> list[list[tuple[int, Doc]]]:
    """Distribute whole questions over ranks. Each question goes to the rank with the fewest docs.

    Example:
        >>> docs = [(number, {"question_id": question}) for number, question in enumerate("aabbb")]
        >>> [[number for number, _ in part] for part in deal(docs, 2)]
        [[0, 1], [2, 3, 4]]
    """
    questions = grouped_by(docs, lambda numbered: numbered[1]["question_id"])
    if len(questions) < ranks:
        return [list(docs[rank::ranks]) for rank in range(ranks)]
    parts: list[list[tuple[int, Doc]]] = [[] for _ in range(ranks)]
    for members in questions.values():
        smallest = min(parts, key=len)
        smallest += members
    return parts
