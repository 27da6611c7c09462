"""The harness' `custom_dataset` hook: load a benchmark, from the Hub or from files, as normalised questions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import datasets
from datasets.table import InMemoryTable

from lm_eval_cora.harness.results_file import questions_digest
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark, count_left_out
from lm_eval_cora.questions.exemplars import ExemplarPool
from lm_eval_cora.questions.loading import QuestionSource, load_questions
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import OpenQuestion, Question

SPLIT = "test"
"""Name of the only split of a loaded benchmark, independent of its name in the source."""


def load_benchmark(*, options: Options, benchmark: Benchmark) -> datasets.DatasetDict:
    """Load the questions of a benchmark for the harness."""
    chosen, questions = load_questions(benchmark, options)
    rows = {question.id: _to_row(question) for question in questions}
    info = datasets.DatasetInfo(dataset_name=benchmark.name, description=questions_digest(rows.values()))
    return datasets.DatasetDict({SPLIT: _to_dataset([rows[question.id] for question in chosen], info)})


def load_exemplars(*, options: Options, benchmark: Benchmark) -> ExemplarPool:
    """Load the questions from which few-shot exemplars are drawn.

    They come from the few-shot split. If the benchmark has none, or if the user's files replace it, they are all
    questions of the scored source. Options that select questions do not make the pool smaller.
    """
    scored, own = benchmark.source.split, benchmark.source.fewshot_split
    split = scored if options.data_files else own or scored
    source = QuestionSource(benchmark, options, split)
    questions, left_out, notes = source.load()
    if split != scored:  # the notes on the scored split were reported before
        for note in notes:
            logger.warning("%s: exemplars: %s", benchmark.name, note)
    if options.data_files and own:
        logger.warning(
            "%s: exemplars come from the scored questions, not from the split %r, because 'data_files' replaces both. "
            "Pass --num_fewshot 0 to ask without exemplars",
            benchmark.name,
            own,
        )
    if left_out and split != scored:  # the rows left out of the scored split were reported before
        logger.warning(
            "%s: left out %d of %d possible exemplars: %s",
            benchmark.name,
            len(left_out),
            len(left_out) + len(questions),
            count_left_out(left_out),
        )
    logger.info("%s: exemplars are drawn from %d questions of %s", benchmark.name, len(questions), source)
    return ExemplarPool(
        questions,
        source=str(source),
        within_category=benchmark.exemplars_within_category,
        as_published=benchmark.exemplars_as_published and not options.data_files,
        digest=questions_digest(map(_to_row, questions)),
    )


def to_question(row: Mapping[str, Any]) -> Question | OpenQuestion:
    """Turn a row of a loaded benchmark back into a question."""
    if isinstance(row["answer"], str):
        return OpenQuestion(row["id"], row["question"], row["answer"], row["category"])
    return Question(row["id"], row["question"], tuple(row["choices"]), row["answer"], row["category"])


def _to_dataset(rows: list[dict[str, object]], info: datasets.DatasetInfo) -> datasets.Dataset:
    """Make a dataset with a row per question.

    The fingerprint is passed because `datasets` cannot compute one where it is installed in a `pip install --target`
    folder: it pickles modules that are outside Python's own folders, and some of pyarrow's classes cannot be pickled.
    """
    fingerprint = sha256(json.dumps(rows).encode()).hexdigest()[:16]
    return datasets.Dataset(InMemoryTable.from_pylist(rows), info=info, fingerprint=fingerprint)


def _to_row(question: Question | OpenQuestion) -> dict[str, object]:
    return {
        "id": question.id,
        "question": question.stem,
        "choices": list(question.choices),
        "answer": question.answer,
        "category": question.category,
    }
