"""The harness' `custom_dataset` hook: load a benchmark, from the Hub or from files, as normalised questions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain, product
from typing import Any

import datasets
from datasets.table import InMemoryTable

from lm_eval_cora.benchmarks import Benchmark, BenchmarkError, LeftOut, LocatedRow, collect_questions, count_left_out
from lm_eval_cora.benchmarks.files import read_rows
from lm_eval_cora.exemplars import ExemplarPool
from lm_eval_cora.harness.log import logger
from lm_eval_cora.harness.results_file import described, questions_digest
from lm_eval_cora.option_references import refers_to_options
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.question import OpenQuestion, Question, shorten
from lm_eval_cora.randomness import draw

SPLIT = "test"
"""Name of the split that a loaded benchmark has, whatever its source calls it."""

Names = str | Sequence[str] | None


def load_benchmark(
    *,
    options: Options,
    benchmark: Benchmark,
    hub_path: Names = None,
    hub_config: Names = None,
    hub_split: str | None = None,
    hub_fewshot_split: str | None = None,
    hub_revision: str | None = None,
) -> datasets.DatasetDict:
    """Load the questions of a benchmark.

    Args:
        options: `data_files` replaces the source; `categories`, `skip_option_references` and `questions` choose
            among its questions, in this order.
        benchmark: How its rows become questions.
        hub_path: Id of the dataset on the Hub, for a benchmark that lies there, or several.
        hub_config: Its configuration, or several.
        hub_split: The split that is scored.
        hub_fewshot_split: The split that exemplars come from; `load_exemplars` reads it, if shots are asked for.
        hub_revision: A commit or branch of it; None is the newest.

    Returns:
        One split, `test`, with a row per question: id, question, choices (none if the model writes an answer of its
        own), answer (index, or the reference), category. Its `info` has the name of the benchmark, and in the
        description the digest of all questions of the source, before the options choose among them.

    Raises:
        BenchmarkError: If the source cannot be loaded or its rows cannot be asked.
        OptionError: If a category does not exist, or no question is left.
    """
    source = _Source(
        benchmark, options, hub_path=hub_path, hub_config=hub_config, hub_split=hub_split, hub_revision=hub_revision
    )
    questions, left_out = source.load()
    total = len(questions) + len(left_out)
    if benchmark.published_rows not in (None, total) and not options.data_files:
        logger.warning(
            "%s: got %d rows from %s, the published split has %d",
            benchmark.name,
            total,
            source,
            benchmark.published_rows,
        )
    if left_out:
        logger.warning(
            "%s: left out %d of %d questions: %s", benchmark.name, len(left_out), total, count_left_out(left_out)
        )
    chosen = choose_questions(questions, options, benchmark.name)
    logger.info("%s: %d of %d questions from %s", benchmark.name, len(chosen), total, source)
    info = datasets.DatasetInfo(
        dataset_name=benchmark.name, description=described(questions_digest(map(_to_row, questions)))
    )
    return datasets.DatasetDict({SPLIT: _to_dataset(chosen, info)})


def load_exemplars(
    *,
    options: Options,
    benchmark: Benchmark,
    hub_split: str | None = None,
    hub_fewshot_split: str | None = None,
    **hub: Any,
) -> ExemplarPool:
    """Load the questions that few-shot exemplars are drawn from.

    They are those of the few-shot split. Where the benchmark has none, or `data_files` replaces it, they are all
    questions of the source that is scored; the options that choose among these do not make the pool smaller.

    Args:
        options: Where `data_files` are named.
        benchmark: How its rows become questions.
        hub_split: The split that is scored.
        hub_fewshot_split: The split that exemplars come from, if there is one.
        **hub: The rest of what `load_benchmark` takes.

    Returns:
        The pool.

    Raises:
        BenchmarkError: If the source cannot be loaded or its rows cannot be asked.
    """
    split = hub_split if options.data_files else hub_fewshot_split or hub_split
    source = _Source(benchmark, options, hub_split=split, **hub)
    questions, left_out = source.load()
    if options.data_files and hub_fewshot_split:
        logger.warning(
            "%s: exemplars come from the questions that are scored, not from the split %r: 'data_files' replaces both. "
            "--num_fewshot 0 asks without any",
            benchmark.name,
            hub_fewshot_split,
        )
    if left_out and split != hub_split:  # of the split that is scored it was said before
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
    )


class _Source:
    """Where the rows of a split lie: files of the user's, a file in the package, or the Hub."""

    def __init__(
        self,
        benchmark: Benchmark,
        options: Options,
        *,
        hub_path: Names = None,
        hub_config: Names = None,
        hub_split: str | None = None,
        hub_revision: str | None = None,
    ) -> None:
        self._benchmark = benchmark
        if options.data_files and benchmark.file:
            raise OptionError(
                f"{benchmark.name}: option 'data_files': it has its own questions; for yours there is cora_local"
            )
        self._files = options.data_files or ([str(benchmark.file)] if benchmark.file else [])
        self._names = self._files or _names(hub_path)
        self._configs = _names(hub_config)
        self._split_and_revision = {"split": hub_split, "revision": hub_revision}
        if not self._names:
            raise BenchmarkError(f"{benchmark.name}: no questions were given. {self._how_files_replace_it()}")

    def __str__(self) -> str:
        if self._benchmark.file:
            return "the package"
        names = ", ".join(self._names) if len(self._names) < 4 else f"{self._names[0]} and {len(self._names) - 1} more"
        details = ", ".join(filter(None, (", ".join(self._configs), *self._split_and_revision.values())))
        return f"{names} ({details})" if details and not self._files else names

    def load(self) -> tuple[list[Question | OpenQuestion], list[LeftOut]]:
        """Read all parts and turn their rows into questions."""
        questions: list[Question | OpenQuestion] = []
        left_out: list[LeftOut] = []
        for part, rows in self._parts().items():
            # A local copy has the ids of the source: they seed the reorderings.
            prefix = "-".join(filter(None, (part, self._split_and_revision["split"] or "row")))
            try:
                found = collect_questions(self._benchmark, rows, id_prefix=prefix)
            except BenchmarkError as error:
                advice = "" if self._files else f"\n{self._how_files_replace_it()}"
                raise BenchmarkError(f"{error}\n  in {self}{advice}") from None
            questions += found[0]
            left_out += found[1]
        return questions, left_out

    def _parts(self) -> dict[str, Iterable[LocatedRow]]:
        """The rows of each part of the benchmark; most benchmarks are one piece."""
        sources: list[tuple[str, Iterable[LocatedRow]]]
        if self._files:
            sources = [(name, read_rows(name)) for name in self._names]
        else:
            places = product(self._names, self._configs or (None,))
            sources = [(name, self._hub_rows(name, config)) for name, config in places]
        part_of = self._benchmark.part_of
        if part_of is None:
            return {"": chain.from_iterable(rows for _, rows in sources)}
        parts: dict[str, list[LocatedRow]] = {}
        for name, located in sources:
            rows = list(located)
            if not rows:
                raise BenchmarkError(f"{self._benchmark.name}: there are no rows in {name}")
            for where, row in rows:
                part = part_of(name, row)
                parts.setdefault(part, []).append((f"{part} {where}", {**row, "subset": part}))
        return dict(parts)

    def _hub_rows(self, path: str, config: str | None) -> Iterable[LocatedRow]:
        split, revision = self._split_and_revision.values()
        try:
            dataset = datasets.load_dataset(path, config, split=split, revision=revision)
        except Exception as error:  # the Hub, the network and the disk fail in too many ways to name them
            given = {"config": config, **self._split_and_revision}
            details = ", ".join(f"{name} {value!r}" for name, value in given.items() if value)
            raise BenchmarkError(
                f"{self._benchmark.name}: cannot load {path!r} ({details}) from the Hugging Face Hub.\n"
                f"  {_describe(error)}\n{self._how_files_replace_it()}"
            ) from None
        return ((f"row {number}", row) for number, row in enumerate(dataset))

    def _how_files_replace_it(self) -> str:
        example = json.dumps({"cora": {"data_files": f"{self._benchmark.name}.jsonl"}})
        columns = (*self._benchmark.columns, *self._benchmark.optional_columns)
        return (
            f"Give a file of your own (jsonl, csv or parquet) with the columns {', '.join(columns)}: "
            f"--metadata '{example}'"
        )


def _names(given: Names) -> list[str]:
    return [given] if isinstance(given, str) else list(given or [])


def _describe(error: BaseException) -> str:
    """An error of another library, and what caused it: that is where some of them say what is wrong."""
    text = f"{type(error).__name__}: {str(error).strip()}"
    return f"{text}\n  {shorten(_describe(error.__cause__), 500)}" if error.__cause__ else text


def choose_questions(
    questions: list[Question | OpenQuestion], options: Options, benchmark: str
) -> list[Question | OpenQuestion]:
    """Keep the questions that the options ask for, in their order.

    A sample is drawn by a hash of seed and id: it does not depend on the order of the questions, and a sample of 200
    holds the sample of 100.
    """
    if options.categories:
        known = sorted({question.category for question in questions})
        unknown = [category for category in options.categories if category not in known]
        if unknown:
            raise OptionError(
                f"{benchmark}: option 'categories': no question has the category {', '.join(map(repr, unknown))}. "
                f"The categories are: {', '.join(known) if any(known) else 'none, the source has none'}"
            )
        questions = [question for question in questions if question.category in options.categories]
    if options.skip_option_references:
        kept = [question for question in questions if not refers_to_options(question.choices)]
        logger.info("%s: skipped %d questions with option references", benchmark, len(questions) - len(kept))
        questions = kept
    if not questions:
        raise OptionError(f"{benchmark}: no question is left by the options {options.changed()}")
    if options.questions is None:
        return questions
    if options.questions > len(questions):
        logger.warning(
            "%s: option 'questions': asked for %d, there are %d: all are used",
            benchmark,
            options.questions,
            len(questions),
        )
    ranked = sorted(questions, key=lambda question: draw(2**64, options.seed, "questions", question.id))
    sample = {question.id for question in ranked[: options.questions]}
    return [question for question in questions if question.id in sample]


def to_question(row: Mapping[str, Any]) -> Question | OpenQuestion:
    """Turn a row of a loaded benchmark back into a question."""
    if isinstance(row["answer"], str):
        return OpenQuestion(row["id"], row["question"], row["answer"], row["category"])
    return Question(row["id"], row["question"], tuple(row["choices"]), row["answer"], row["category"])


def _to_dataset(questions: Sequence[Question | OpenQuestion], info: datasets.DatasetInfo) -> datasets.Dataset:
    """Make a dataset with a row per question.

    The fingerprint is passed because `datasets` cannot compute one where it is installed in a `pip install --target`
    folder: it pickles modules that are outside Python's own folders, and some of pyarrow's classes cannot be pickled.
    """
    rows = [_to_row(question) for question in questions]
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
