"""Load the questions of a benchmark: from the Hub, from the user's files, or from a file of the package."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_cora.errors import UserError
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark, LeftOut, LocatedRow, collect_questions, count_left_out
from lm_eval_cora.questions.declarations import tail
from lm_eval_cora.questions.messages import described
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import OpenQuestion, Question, refers_to_options, shorten
from lm_eval_cora.questions.randomness import draw
from lm_eval_cora.questions.rows import read_rows, source_name


class LoadedQuestions(NamedTuple):
    """The questions of a benchmark.

    Attributes:
        chosen: The questions that the options select, in the order of the source.
        all: All usable questions of the source.
    """

    chosen: list[Question | OpenQuestion]
    all: list[Question | OpenQuestion]


def load_questions(benchmark: Benchmark, options: Options) -> LoadedQuestions:
    """Load the questions of a benchmark. Warnings name the rows that are left out.

    Example:
        >>> from lm_eval_cora.discovery.task_files import benchmark
        >>> loaded = load_questions(benchmark("demo"), Options(questions=20))
        >>> len(loaded.chosen), len(loaded.all)
        (20, 120)
    """
    source = QuestionSource(benchmark, options, benchmark.source.split)
    questions, left_out, notes = source.load()
    for note in notes:
        logger.warning("%s: %s", benchmark.name, note)
    total = len(questions) + len(left_out)
    if benchmark.published_rows not in (None, total) and not source.files:
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
    return LoadedQuestions(chosen, questions)


class QuestionSource:
    """The rows of a split: in the user's files, in a file of the package, or on the Hub."""

    def __init__(self, benchmark: Benchmark, options: Options, split: str | None) -> None:
        self._benchmark = benchmark
        self._split = split
        if options.data_files and benchmark.package_file:
            raise UserError(
                f"{benchmark.name}: option 'data_files': the benchmark has its own questions. Use the task "
                "cora_local for yours"
            )
        self.files = options.data_files or benchmark.files
        """The user's files or tables."""
        self._local = self.files or ((str(benchmark.package_file),) if benchmark.package_file else ())
        files = [Path(one).expanduser().absolute() for one in self.files if isinstance(one, str)]
        if repeated := [path for path, count in Counter(files).items() if count > 1]:
            raise UserError(f"data_files: {repeated[0]} is named twice. Name each file once")
        if not self._local and not benchmark.source.hub:
            raise UserError(f"no questions are given. {_HOW_TO_NAME_THEM}")

    def __str__(self) -> str:
        if not self.files and self._benchmark.package_file:
            return "the package"
        names = list(map(_name, self._local or self._benchmark.source.hub))
        listed = ", ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} more"
        if self._local:
            return listed
        source = self._benchmark.source
        details = ", ".join(filter(None, (", ".join(source.config), self._split, source.revision)))
        return f"{listed} ({details})" if details else listed

    def load(self) -> tuple[list[Question | OpenQuestion], list[LeftOut], list[str]]:
        """Read all parts and turn their rows into questions."""
        questions: list[Question | OpenQuestion] = []
        left_out: list[LeftOut] = []
        notes: list[str] = []
        for part, rows in self._parts().items():
            # A local copy of a source must have the same ids, because they seed the reorderings.
            prefix = "-".join(filter(None, (part, self._split or "row")))
            try:
                found = collect_questions(self._benchmark, rows, id_prefix=prefix)
            except UserError as error:
                where = (
                    "" if str(error).startswith("data_files: ") else f"\n  in {self}"
                )  # such an error names the file
                raise UserError(f"{error}{where}{self._advice(error)}") from None
            questions += found[0]
            left_out += found[1]
            notes += found[2]
        if repeated := next((id for id, count in Counter(one.id for one in questions).items() if count > 1), None):
            raise UserError(
                f"{self._benchmark.name}: expected a different id for each question, got {repeated!r} in several parts "
                f"of {self}. Leave out 'id', or make it a template that contains {{{{ config }}}}"
            )
        return questions, left_out, notes

    def _parts(self) -> dict[str, Iterable[LocatedRow]]:
        """The rows of each part of the benchmark. Most benchmarks have one part, with an empty name."""
        sources: list[tuple[str, Iterable[LocatedRow]]]
        if self._local:
            sources = [(_name(one), read_rows(one)) for one in self._local]
        else:
            source = self._benchmark.source
            places = list(product(source.hub, source.config or (None,)))
            if self._benchmark.part_of is None:
                return {self._part(*place): self._hub_rows(*place) for place in places}
            sources = [(name, self._hub_rows(name, config)) for name, config in places]
        part_of = self._benchmark.part_of
        if part_of is None:
            return {"": chain.from_iterable(rows for _, rows in sources)}
        parts: dict[str, list[LocatedRow]] = {}
        for name, located in sources:
            rows = list(located)
            if not rows:
                raise UserError(f"{self._benchmark.name}: there are no rows in {name}")
            for where, row in rows:
                part = part_of(name, row)
                parts.setdefault(part, []).append((f"{part} {where}", {**row, "subset": part}))
        return dict(parts)

    def _part(self, path: str, config: str | None) -> str:
        """The name of the part that a dataset and configuration make up; empty if there is only one part."""
        source = self._benchmark.source
        named = [tail(path)] * (len(source.hub) > 1) + [str(config)] * source.by_config
        return "-".join(named)

    def _hub_rows(self, path: str, config: str | None) -> Iterable[LocatedRow]:
        import datasets  # takes a second; not needed for files

        revision = self._benchmark.source.revision
        try:
            dataset = datasets.load_dataset(path, config, split=self._split, revision=revision)
        except Exception as error:  # the Hub, the network and the disk raise many kinds of errors
            given = {"config": config, "split": self._split, "revision": revision}
            details = ", ".join(f"{name} {value!r}" for name, value in given.items() if value)
            raise UserError(
                f"{self._benchmark.name}: cannot load {path!r} ({details}) from the Hugging Face Hub.\n"
                f"  {_describe(error)}{_how_to_get_access(path, error) or self._advice()}"
            ) from None
        rows = ((f"row {number}", row) for number, row in enumerate(dataset))
        part = "" if self._benchmark.part_of else self._part(path, config)
        if not part:
            return rows
        return ((f"{part} {where}", {"config": config, **row}) for where, row in rows)

    def _advice(self, error: UserError | None = None) -> str:
        """What a user can do about an error, on a line of its own; empty if the error says it."""
        benchmark = self._benchmark
        if not benchmark.published:
            if error is None:
                return "\nCheck the keys 'hub', 'config', 'split' and 'revision'"
            tables = [name for name in map(_name, self.files) if name.lower().endswith((".csv", ".tsv"))]
            return "\nThe first line of a csv file must be its header" if tables and "no column" in str(error) else ""
        if self.files:
            if "no column" in str(error):
                return (
                    f"\n{benchmark.name} expects the columns of its source: {', '.join(benchmark.columns)}. For other "
                    "columns use the task cora_local, and pass their names as options"
                )
            return ""
        if benchmark.package_file:
            return ""
        example = json.dumps({"cora": {"data_files": f"{benchmark.name}.jsonl"}})
        columns = f" with the columns {', '.join(benchmark.columns)}" if benchmark.columns else ""
        return (
            f"\nYou can pass a local file instead (json, jsonl, csv, tsv or parquet){columns}: --metadata '{example}'"
        )


_HOW_TO_NAME_THEM = (
    """Name a file, --metadata '{"cora": {"data_files": "my.jsonl"}}', or a dataset on the Hub, """
    """--metadata '{"cora": {"hub": "ORG/NAME", "split": "test"}}' (cora_hub). If its columns have other names, add """
    "the options question, choices and answer"
)


def _name(source: Any) -> str:
    """The path of a file, or the kind of a table."""
    return source if isinstance(source, str) else source_name(source)


def _how_to_get_access(path: str, error: BaseException) -> str:
    """How to get access to a gated dataset; empty for other errors."""
    if "gated" not in f"{type(error).__name__} {error}".casefold():
        return ""
    return (
        "\nThe authors of the dataset require that you accept their conditions. Log in and accept them at "
        f"https://huggingface.co/datasets/{path}. Then run `hf auth login`, or set the environment variable HF_TOKEN"
    )


def _describe(error: BaseException) -> str:
    """The text of another library's error and of its cause, which may be the only one to name the problem."""
    text = described(error)
    return f"{text}\n  {shorten(_describe(error.__cause__), 500)}" if error.__cause__ else text


def choose_questions(
    questions: list[Question | OpenQuestion], options: Options, benchmark: str
) -> list[Question | OpenQuestion]:
    """Select the questions that the options ask for, in their order.

    A sample is drawn by a hash of seed and id. It does not depend on the order of the questions, and samples are
    nested: a sample of 200 contains the sample of 100.
    """
    if options.categories:
        known = sorted({question.category for question in questions})
        unknown = [category for category in options.categories if category not in known]
        if unknown:
            raise UserError(
                f"{benchmark}: option 'categories': no question has the category {', '.join(map(repr, unknown))}. "
                f"The categories are: {', '.join(known) if any(known) else 'none, the source has none'}"
            )
        questions = [question for question in questions if question.category in options.categories]
    if options.skip_option_references:
        kept = [question for question in questions if not refers_to_options(question.choices)]
        logger.info("%s: skipped %d questions with option references", benchmark, len(questions) - len(kept))
        questions = kept
    if not questions:
        raise UserError(f"{benchmark}: no question is left by the options {options.changed()}")
    if options.questions is None:
        return questions
    if options.questions > len(questions):
        logger.warning(
            "%s: option 'questions': expected at most the number of questions, got %d for %d questions. All are used",
            benchmark,
            options.questions,
            len(questions),
        )
    ranked = sorted(questions, key=lambda question: draw(2**64, options.seed, "questions", question.id))
    sample = {question.id for question in ranked[: options.questions]}
    return [question for question in questions if question.id in sample]
