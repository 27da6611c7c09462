"""Load the questions of a benchmark, from the Hub, from files or from the package, and draw exemplars from them."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_cora.errors import UserError
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark, tail
from lm_eval_cora.questions.languages import clear_language, name_of_language
from lm_eval_cora.questions.messages import described, first_few, left_out_for_references
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import (
    AnyQuestion,
    LocatedRow,
    MissingColumn,
    NotKept,
    UnusableQuestion,
    shorten,
)
from lm_eval_cora.questions.randomness import draw, in_random_order
from lm_eval_cora.questions.references import with_references
from lm_eval_cora.questions.right_option import ENOUGH
from lm_eval_cora.questions.rows import read_rows, source_name

_FOR_ALL = "Options apply to all tasks of a run: run this task in a command of its own"
_NAMED, _SHOWN, _KINDS = 5, 40, 10  # largest numbers of rows, columns and kinds of defects in a message
LeavesOut = Callable[[AnyQuestion, Options], bool]  # of a probe; see the option `option_references`
LeftOut = tuple[str, UnusableQuestion]  # the place of a row that is left out, and its defect


class Loaded(NamedTuple):
    """The questions of a source, the rows left out, and notes for the user."""

    questions: list[AnyQuestion]
    left_out: list[LeftOut]
    notes: list[str]


def collect_questions(benchmark: Benchmark, rows: Iterable[LocatedRow], *, id_prefix: str) -> Loaded:
    """Convert rows to questions."""
    reader = None
    drafts = list[tuple[str, Any]]()
    for number, (where, row) in enumerate(rows):
        try:
            reader = reader or benchmark.reader(list(row))
            drafts.append((where, reader.read(row, f"{id_prefix}-{number}", where)))
        except MissingColumn as error:  # noqa: PERF203
            names = first_few((shorten(column, 80) for column in row), _SHOWN)
            raise UserError(f"{benchmark.name}: {where}: {error} The columns are: {names}") from None
        except UnusableQuestion as error:
            drafts.append((where, error))
    if reader is None:
        raise UserError(f"{benchmark.name}: there are no rows")
    finished, notes = reader.finish([draft for _, draft in drafts if not isinstance(draft, UnusableQuestion)])
    questions, left_out = dict[str, tuple[str, AnyQuestion]](), list[LeftOut]()
    later = iter(finished)
    for where, draft in drafts:
        result = draft if isinstance(draft, UnusableQuestion) else next(later)
        if isinstance(result, UnusableQuestion):
            left_out.append((where, result))
        elif result.id in questions:
            other = f"{result.id!r} is also the id of {questions[result.id][0]}"
            left_out.append((where, UnusableQuestion("a repeated id", other)))
        else:
            questions[result.id] = where, result
    if benchmark.strict or not questions:
        _check_rows(benchmark, left_out, len(drafts))
    if not questions:
        raise UserError(f"{benchmark.name}: 'keep' leaves out all rows: {count_left_out(left_out)}")
    return Loaded([question for _, question in questions.values()], left_out, notes)


def _check_rows(benchmark: Benchmark, left_out: Sequence[LeftOut], count: int) -> None:
    """Raise an error that names the rows with defects, if there are any."""
    broken = [f"\n  {where}: {error}" for where, error in left_out if not isinstance(error, NotKept)]
    if not broken:
        return
    more = f"\n  and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    if not benchmark.published:
        more += (
            "\nCorrect these rows, or leave rows out by a column: 'keep': {'COLUMN': ['VALUE TO KEEP']}, or by a "
            "template, such as 'keep': {'{{ answer | length }}': 1} for one right answer"
        )
    named = "".join(broken[:_NAMED])
    raise UserError(f"{benchmark.name}: {len(broken)} of {count} rows are not valid questions:{named}{more}")


def count_left_out(left_out: Iterable[LeftOut]) -> str:
    """Count the rows left out by kind of defect, the most frequent first, with the first few places of each kind."""
    by_reason = defaultdict[str, list[str]](list)
    for where, error in left_out:
        by_reason[error.reason].append(where)
    kinds = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    counts = [f"{len(places)} with {reason} ({first_few(places, _NAMED)})" for reason, places in kinds]
    more = f"; {len(counts) - _KINDS} more kinds" if len(counts) > _KINDS else ""
    return "; ".join(counts[:_KINDS]) + more


def load_questions(
    benchmark: Benchmark, options: Options, leaves_out: LeavesOut = lambda *_: False
) -> tuple[list[AnyQuestion], int, list[AnyQuestion]]:
    """Load the questions of a benchmark: those that the options select, how many the probe leaves out, and all.

    Warnings name the rows left out.
    """
    source = QuestionSource(benchmark, options, benchmark.source.split)
    questions, left_out, notes = source.load()
    name, expected, total = benchmark.name, benchmark.published_rows, len(questions) + len(left_out)
    for note in notes:
        logger.warning(f"{name}: {note}")
    if expected not in (None, total) and not source.files:
        logger.warning(f"{name}: got {total} rows from {source}, the published split has {expected}")
    if left_out:
        logger.warning(f"{name}: left out {len(left_out)} of {total} questions: {count_left_out(left_out)}")
    chosen, referring = choose_questions(questions, options, name, leaves_out)
    logger.info(f"{name}: {len(chosen)} of {total} questions from {source}")
    logger.info(
        f"{name}: the first question and its right answer: {shorten(chosen[0].stem, 80)!r} -> "
        f"{shorten(chosen[0].right, 80)!r}"
    )
    language = clear_language(" ".join(question.stem for question in chosen[:50]))
    in_other_language = not benchmark.published and language not in ("", "en")
    if in_other_language and options.nota_text == Options.nota_text:
        logger.warning(
            f"{name}: the questions are in {name_of_language(language)}, the option {options.nota_text!r} is not. "
            "Translate it with the option 'nota_text' (\"I don't know\" with 'abstain_text')"
        )
    return chosen, referring, questions


class QuestionSource:
    """The rows of a split: in the user's files, in a file of the package, or on the Hub."""

    def __init__(self, benchmark: Benchmark, options: Options, split: str | None) -> None:
        self._benchmark, self._split = benchmark, split
        if options.data_files and benchmark.package_file:
            raise UserError(
                f"{benchmark.name}: option 'data_files': the benchmark has its own questions. Use the task "
                f"cora_local for yours. {_FOR_ALL}"
            )
        self.files = options.data_files or benchmark.files  # of the user, or tables
        self._local = self.files or ((str(benchmark.package_file),) if benchmark.package_file else ())
        files = [Path(one).expanduser().absolute() for one in self.files if isinstance(one, str)]
        if repeated := [path for path, count in Counter(files).items() if count > 1]:
            raise UserError(f"data_files: {repeated[0]} is named twice. Name each file once")
        if not self._local and not benchmark.source.hub:
            raise UserError(
                """no questions are given. Name a file, --metadata '{"cora": {"data_files": "my.jsonl"}}', or a """
                """dataset on the Hub, --metadata '{"cora": {"hub": "ORG/NAME", "split": "test"}}' (cora_hub). If """
                "its columns have other names, add the options question, choices and answer"
            )

    def __str__(self) -> str:
        if not self.files and self._benchmark.package_file:
            return "the package"
        source = self._benchmark.source
        listed = first_few(map(_name, self._local or source.hub))
        details = ", ".join(filter(None, (*source.config, self._split, source.revision)))
        return f"{listed} ({details})" if details and not self._local else listed

    def load(self) -> Loaded:
        """Read all parts and turn their rows into questions."""
        found = []
        for part, rows in self._parts().items():
            # A local copy of a source must have the same ids, because they seed the reorderings.
            prefix = "-".join(filter(None, (part, self._split or "row")))
            try:
                found.append(collect_questions(self._benchmark, rows, id_prefix=prefix))
            except UserError as error:
                # An error about a file names it.
                where = "" if str(error).startswith("data_files: ") else f"\n  in {self}"
                raise UserError(f"{error}{where}{self._advice(error)}") from None
        loaded = Loaded(*(list(chain.from_iterable(each)) for each in zip(*found, strict=True)))
        ids = Counter(question.id for question in loaded.questions)
        if repeated := next((id for id, count in ids.items() if count > 1), None):
            raise UserError(
                f"{self._benchmark.name}: expected a different id for each question, got {repeated!r} in several "
                f"parts of {self}. Leave out 'id', or make it a template that contains {{{{ config }}}}"
            )
        return loaded

    def _parts(self) -> dict[str, Iterable[LocatedRow]]:
        """The rows of each part of the benchmark. Most benchmarks have one part, with an empty name."""
        source, part_of = self._benchmark.source, self._benchmark.part_of
        sources: list[tuple[str, str, Iterable[LocatedRow]]] = [(_name(one), "", read_rows(one)) for one in self._local]
        for path, config in () if self._local else product(source.hub, source.config or (None,)):
            hub = tail(path) if len(source.hub) > 1 else ""
            named = filter(None, (hub, str(config) if source.by_config else ""))
            part = "" if part_of else "-".join(named)
            sources.append((path, part, self._hub_rows(path, config, part)))
        parts = defaultdict[str, list[Iterable[LocatedRow]]](list)
        for name, part, located in sources:
            if part_of is None:
                parts[part].append(located)
                continue
            if not (rows := list(located)):
                raise UserError(f"{self._benchmark.name}: there are no rows in {name}")
            for where, row in rows:
                part = part_of(name, row)
                parts[part].append([(f"{part} {where}", {**row, "subset": part})])
        return {part: chain.from_iterable(several) for part, several in parts.items()}

    def _hub_rows(self, path: str, config: str | None, part: str) -> Iterable[LocatedRow]:
        import datasets  # takes a second; not needed for files

        given: dict[str, Any] = {"split": self._split, "revision": self._benchmark.source.revision}
        try:
            dataset = datasets.load_dataset(path, config, **given)
        except Exception as error:  # the Hub, the network and the disk raise many kinds of errors
            known = {"config": config, **given}.items()
            details = ", ".join(f"{name} {value!r}" for name, value in known if value)
            advice = self._advice()
            if "gated" in f"{type(error).__name__} {error}".casefold():
                advice = (
                    "\nThe authors of the dataset require that you accept their conditions. Log in and accept them at "
                    f"https://huggingface.co/datasets/{path}. Then run `hf auth login`, or set the environment "
                    "variable HF_TOKEN"
                )
            raise UserError(
                f"{self._benchmark.name}: cannot load {path!r} ({details}) from the Hugging Face Hub.\n"
                f"  {_describe(error)}{advice}"
            ) from None
        where, more = (f"{part} row", {"config": config}) if part else ("row", {})
        return ((f"{where} {number}", more | row) for number, row in enumerate(dataset))

    def _advice(self, error: UserError | None = None) -> str:
        """What a user can do about an error, on a line of its own; empty if the error says it."""
        benchmark = self._benchmark
        columns = ", ".join(benchmark.columns)
        misses_column = "no column" in str(error)
        if not benchmark.published and error is None:
            return "\nCheck the keys 'hub', 'config', 'split' and 'revision'"
        if not benchmark.published:
            is_csv = any(_name(one).lower().endswith((".csv", ".tsv")) for one in self.files)
            return "\nThe first line of a csv file must be its header" if is_csv and misses_column else ""
        if self.files and misses_column:
            return (
                f"\n{benchmark.name} expects the columns of its source: {columns}. For other columns use the task "
                f"cora_local, and pass their names as options. {_FOR_ALL}"
            )
        if self._local:
            return ""
        example = json.dumps({"cora": {"data_files": f"{benchmark.name}.jsonl"}})
        return (
            "\nYou can pass a local file instead (json, jsonl, csv, tsv or parquet)"
            f"{columns and ' with the columns '}{columns}: --metadata '{example}'"
        )


def _name(source: Any) -> str:
    return source if isinstance(source, str) else source_name(source)


def _describe(error: BaseException) -> str:
    """The text of another library's error and of its cause, which may be the only one to name the problem."""
    text = described(error)
    return f"{text}\n  {shorten(_describe(error.__cause__), 500)}" if error.__cause__ else text


def choose_questions(
    questions: list[AnyQuestion], options: Options, benchmark: str, leaves_out: LeavesOut
) -> tuple[list[AnyQuestion], int]:
    """Select the questions that the options ask for. Samples are nested, and do not depend on the order."""
    if options.categories:
        known = sorted({question.category for question in questions})
        if unknown := [category for category in options.categories if category not in known]:
            raise UserError(
                f"{benchmark}: option 'categories': no question has the category "
                f"{', '.join(map(repr, unknown))}. The categories are: "
                f"{', '.join(known) if any(known) else 'none, the source has none'}"
            )
        questions = [question for question in questions if question.category in options.categories]
    kept = [question for question in questions if not leaves_out(question, options)]
    if referring := len(questions) - len(kept):
        logger.info(f"{benchmark}: {left_out_for_references(referring)}")
    questions = list(map(with_references, kept)) if options.option_references == "keep" else kept
    if (options.questions or 0) > (count := len(questions)):
        logger.warning(
            f"{benchmark}: option 'questions': expected at most the number of questions, got {options.questions} for "
            f"{count} questions. All are used"
        )
    ranks = {question.id: draw(2**64, options.seed, "questions", question.id) for question in questions}
    sample = {*sorted(ranks, key=ranks.__getitem__)[: options.questions]}.difference(options.without)
    if not sample:
        raise UserError(f"{benchmark}: no question is left by the options {options.changed()}")
    return [question for question in questions if question.id in sample], referring


class ExemplarPool:
    """The questions from which few-shot exemplars are drawn: answered questions that precede the asked question."""

    def __init__(
        self,
        questions: Iterable[AnyQuestion],
        *,
        source: str,
        within_category: bool,
        as_published: bool = False,
        digest: str = "",
    ) -> None:
        self.source, self._within_category, self.as_published = source, within_category, as_published
        # Part of the signature of a score: from which questions the exemplars are drawn, and how.
        how = (digest, "category" if within_category else "", "published" if as_published else "")
        self.signature = "-".join(filter(None, how))
        self._pools = defaultdict[str, list[AnyQuestion]](list)
        for question in questions:
            self._pools[question.category if within_category else ""].append(question)

    def draw(self, question: AnyQuestion, shots: int, *seeds: int) -> list[AnyQuestion]:
        """Draw exemplars by the question and the seeds, without copies. With more shots, the first ones stay."""
        asked = _content(question)
        pool = self._pools[question.category if self._within_category else ""]
        if self.as_published:
            return [candidate for candidate in pool if _content(candidate) != asked][:shots]
        drawn = {asked: question}
        for candidate in in_random_order(pool, "exemplars", question.id, *seeds):
            if len(drawn) > shots:
                break
            drawn.setdefault(_content(candidate), candidate)
        return list(drawn.values())[1:]

    def fewer(self, questions: Iterable[AnyQuestion], shots: int) -> dict[str, int]:
        """Count the exemplars of the questions that have fewer than requested."""
        return {one.id: count for one in questions if (count := len(self.draw(one, shots))) < shots}

    def check(self, questions: Iterable[AnyQuestion], shots: int) -> None:
        """Raise an error if a question has too few exemplars."""
        by_id = {question.id: question for question in questions}
        if fewer := self.fewer(by_id.values(), shots):
            identifier, count = min(fewer.items(), key=lambda item: item[1])
            where = f" of the category {by_id[identifier].category!r}" if self._within_category else ""
            raise UserError(
                f"question {identifier!r} can have {count} exemplars at most: those{where} in {self.source}, "
                f"except the question itself. Use --num_fewshot {count}."
            )


def _content(question: AnyQuestion) -> tuple[str, frozenset[str]]:
    """What is equal in copies of a question with another id or order of options."""
    return question.stem, frozenset(question.choices)


# ---- digests, and exemplars of a benchmark
def questions_digest(rows: Iterable[Mapping[str, object]]) -> str:
    """Digest of the rows of questions: 8 hexadecimal digits, independent of the order of the rows."""
    # A row without an id gets its number as the id, so for such files the order matters.
    digests = sorted(blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).digest() for row in rows)
    return blake2b(b"".join(digests), digest_size=4).hexdigest()


def to_row(question: AnyQuestion) -> dict[str, object]:
    """What a digest is made of."""
    about = {"id": question.id, "question": question.stem, "choices": question.choices}
    return {**about, "answer": question.answer, "category": question.category}


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
