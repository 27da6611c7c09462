"""From a benchmark to the harness' docs, one per variant: the hooks of the task files, and the docs of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, sha256
from heapq import heapreplace
from math import ceil, inf
from typing import Any

import datasets
from datasets.table import InMemoryTable

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.task_config import templates_of
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.loading import load_questions
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Form, OpenQuestion, Question
from lm_eval_cora.variants.probes import Probe, uses_templates, variants_of_all
from lm_eval_cora.variants.template import prompt_of

SPLIT = "test"
"""Name of the only split of a loaded benchmark, independent of its name in the source."""

Doc = dict[str, Any]


# ---- questions


def load_benchmark(*, options: Options, benchmark: Benchmark) -> datasets.DatasetDict:
    """Load the questions of a benchmark, from the Hub or from files: the harness' `custom_dataset`."""
    chosen, questions = load_questions(benchmark, options)
    rows = {question.id: to_row(question) for question in questions}
    info = datasets.DatasetInfo(dataset_name=benchmark.name, description=questions_digest(rows.values()))
    chosen_rows = [rows[question.id] for question in chosen]
    # `datasets` cannot compute a fingerprint where it is installed in a `pip install --target` folder: it pickles
    # modules outside of Python's own folders, and some of pyarrow's classes cannot be pickled.
    fingerprint = sha256(json.dumps(chosen_rows).encode()).hexdigest()[:16]
    dataset = datasets.Dataset(InMemoryTable.from_pylist(chosen_rows), info=info, fingerprint=fingerprint)
    return datasets.DatasetDict({SPLIT: dataset})


def questions_digest(rows: Iterable[Mapping[str, object]]) -> str:
    """Digest of the rows of questions: 8 hexadecimal digits, independent of the order of the rows.

    A row without an id gets its number as the id, so for such files the order matters.
    """
    digests = sorted(blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).digest() for row in rows)
    return blake2b(b"".join(digests), digest_size=4).hexdigest()


def to_question(row: Mapping[str, Any]) -> Question | OpenQuestion:
    """Turn a row of a loaded benchmark back into a question."""
    if isinstance(row["answer"], str):
        return OpenQuestion(row["id"], row["question"], row["answer"], row["category"])
    return Question(row["id"], row["question"], tuple(row["choices"]), row["answer"], row["category"])


def to_row(question: Question | OpenQuestion) -> dict[str, object]:
    """The row of a question."""
    return {
        "id": question.id,
        "question": question.stem,
        "choices": list(question.choices),
        "answer": question.answer,
        "category": question.category,
    }


# ---- docs


class Docs(list[Doc]):
    """The docs of a task. The harness reads `features`; a Dataset has it too, but copies docs in each iteration."""

    @property
    def features(self) -> Mapping[str, None]:
        """The keys of a doc."""
        return dict.fromkeys(self[0]) if self else {}


def process_docs(
    rows: Iterable[Mapping[str, Any]],
    probe: Probe,
    options: Options | None = None,
    *,
    form: Form = "generate",
    benchmark: Benchmark | None = None,
) -> Docs:
    """Expand questions into docs, one per variant. The variants of a question are adjacent."""
    options = options or Options()
    templates = templates_of(benchmark, options) if uses_templates(probe, form) else None
    return Docs(map(vars, variants_of_all(map(to_question, rows), probe, options, form=form, templates=templates)))


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


# ---- the docs of a run


def chosen_docs(
    task: str,
    docs: Sequence[Doc],
    *,
    limit: float | None = None,
    samples: Sequence[int] | None = None,
    world_size: int = 1,
    **_: Any,
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
    if samples:
        chosen = {questions[number] for number in samples}
    else:
        count = inf if limit is None else ceil(limit * len(questions)) if limit < 1 else limit
        chosen = set(questions[: int(min(count, len(questions)))])
    asked = [number for number, doc in enumerate(docs) if doc["question_id"] in chosen]
    if world_size > len(asked):
        # The harness would raise on the ranks without requests, while the others wait forever.
        raise UserError(
            f"{task}: expected at least one variant per process, got {len(asked)} variants for {world_size} processes. "
            f"Ask more questions, or start at most {len(asked)} processes"
        )
    return asked


def deal(docs: Sequence[tuple[int, Doc]], ranks: int) -> list[list[tuple[int, Doc]]]:
    """Distribute whole questions over ranks. Each question goes to the rank with the fewest docs.

    Example:
        >>> docs = [(number, {"question_id": question}) for number, question in enumerate("aabbb")]
        >>> [[number for number, _ in part] for part in deal(docs, 2)]
        [[0, 1], [2, 3, 4]]
    """
    questions: dict[str, list[tuple[int, Doc]]] = {}
    for number, doc in docs:
        questions.setdefault(doc["question_id"], []).append((number, doc))
    if len(questions) < ranks:
        return [list(docs[rank::ranks]) for rank in range(ranks)]
    parts: list[list[tuple[int, Doc]]] = [[] for _ in range(ranks)]
    loads = [(0, rank) for rank in range(ranks)]  # a heap
    for members in questions.values():
        load, rank = loads[0]
        parts[rank] += members
        heapreplace(loads, (load + len(members), rank))
    return parts
