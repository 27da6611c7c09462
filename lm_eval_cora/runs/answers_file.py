"""Files of answers that were collected without the harness, as runs for reports, comparisons and exports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.formats import BOXED, LETTER
from lm_eval_cora.answers.records import Record
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.entries import Entry
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.questions.question import MAX_OPTIONS
from lm_eval_cora.runs.answer_metrics import ENTRIES, compute_answers, notes_of, that_need, undefined_metrics
from lm_eval_cora.runs.answer_rows import AnswerRows, read_answers
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.samples import Samples
from lm_eval_cora.variants.probes import Probe, Setting

_NO_PICK = "(the file has no pick)"
"""Stands for the response in a line without a pick."""

_UNKNOWN = -1
"""Identity of a right option that is not known."""


class Texts(NamedTuple):
    """The texts of a row; None for a missing value.

    Attributes:
        variant: Number or name of the variant.
        picked: The option that the answer picks.
        answer: The right option.
        printed: The options that the variant prints.
    """

    variant: str
    picked: str | None
    answer: str | None
    printed: tuple[str, ...] | None


class AnswerRecords(Sequence[Record]):
    """The answers of a file, one Record per row, sorted by question and variant.

    The records are made when they are used, because those of a large file fill the memory. A pick from printed options
    has the identities of the options. Any other answer is a written one, which is empty if the file has no picks.
    """

    def __init__(self, rows: AnswerRows) -> None:
        """Keep the texts of the answers, each different one once."""
        columns, order = rows.columns, rows.order
        kept: dict[Any, Any] = {}

        def column(values: Iterable[Any]) -> list[Any]:
            found = [kept.setdefault(value, value) for value in values]
            return [found[row] for row in order.tolist()]

        def texts(name: str) -> list[Any]:
            return column(columns.texts_or_none(name) if columns.has(name) else [None] * len(order))

        variants = column(columns.texts("variant"))
        lists = columns.lists("printed") if columns.has("printed") else [None] * len(order)
        printed = (None if one is None else tuple(kept.setdefault(text, text) for text in one) for one in lists)
        self._variants = variants
        self._kinds = column(columns.texts("kind")) if columns.has("kind") else variants
        self._categories, self._picked, self._answers = texts("category"), texts("picked"), texts("answer")
        self._printed = column(printed)
        self._has_picks = columns.has("picked")
        self._right, self._skipped = rows.right[order], rows.skipped[order]
        self._original = None if rows.original is None else rows.original[order]
        self._description: dict[str, list[Any] | None] = {
            "original": self._original.tolist() if self._original is not None and columns.has("original") else None,
            "answer": self._answers if columns.has("answer") else None,
            "kind": self._kinds if columns.has("kind") else None,
            "category": self._categories if columns.has("category") else None,
            "printed": None if None in self._printed else self._printed,
        }
        questions = column(columns.texts("question"))
        starts = [places[0] for _, group in groupby(range(len(order)), questions.__getitem__) if (places := [*group])]
        self._places = {questions[start]: range(start, end) for start, end in pairwise([*starts, len(order)])}

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._variants)

    def __iter__(self) -> Iterator[Record]:
        """All records."""
        for question in self._places:
            yield from self.of(question)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        """The record of a row."""
        return list(self)[place]

    def of(self, question: str) -> list[Record]:
        """The records of a question, in the order of its variants."""
        places = self._places[question]
        known = [printed for place in places if (printed := self._printed[place]) is not None]
        has_options = self._has_picks and all(
            self._printed[place] is not None or self._skipped[place] for place in places
        )
        if not has_options or max(map(len, known), default=0) > MAX_OPTIONS:
            return [self._written(question, place) for place in places]
        answers = filter(None, (self._answers[place] for place in places))
        texts = dict.fromkeys([*(text for printed in known for text in printed), *answers])
        numbers = {text: number for number, text in enumerate(texts)}
        return [self._chosen(question, place, numbers) for place in places]

    def _chosen(self, question: str, place: int, numbers: Mapping[str, int]) -> Record:
        pick, right, printed = self._picked[place], self._answers[place], self._printed[place] or ()
        picked = None if pick is None else numbers[pick]
        answer = picked if self._right[place] else None if right is None else numbers[right]
        return self._record(
            question,
            place,
            tuple(numbers[text] for text in printed),
            _UNKNOWN if answer is None else answer,
            picked=picked,
            position=None if pick is None else printed.index(pick),
            ask=LETTER.name,
        )

    def _written(self, question: str, place: int) -> Record:
        return self._record(
            question,
            place,
            (),
            self._answers[place] or "",
            written=self._picked[place] if self._has_picks or self._skipped[place] else "",
            matches=bool(self._right[place]),
            ask=BOXED.name,
        )

    def _record(self, question: str, place: int, printed: tuple[int, ...], answer: int | str, **more: Any) -> Record:
        places = self._places[question]
        return Record(
            question,
            len(places),
            place - places.start,
            self._kinds[place],
            printed,
            answer,
            category=self._categories[place] or "",
            original=self._original is not None and bool(self._original[place]),
            skipped=bool(self._skipped[place]),
            **more,
        )

    def texts(self, record: Record) -> Texts:
        """The texts of the row of a record."""
        place = self._places[record.question_id].start + record.ordinal
        return Texts(
            self._variants[place],
            self._picked[place],
            self._answers[place],
            self._printed[place],
        )

    def line(self, record: Record) -> dict[str, Any]:
        """The answer as a line of a samples file. The question is its id, and the response is the pick."""
        texts = self.texts(record)
        choices = (texts.printed or ()) if record.printed else ()
        doc = {**vars(record), "question": record.question_id, "choices": choices}
        return {"doc": doc, "filtered_resps": [_NO_PICK if texts.picked is None else texts.picked]}

    @property
    def described(self) -> tuple[str, ...]:
        """The columns that describe what was asked, beside question and variant, as far as every row has them."""
        return tuple(name for name, values in self._description.items() if values is not None)

    def asked(self) -> dict[str, str]:
        """For each question a digest of its variants, their options and the right answers."""
        rows = list(zip(self._variants, *filter(None, self._description.values()), strict=True))
        return {
            question: sha256(repr(rows[places.start : places.stop]).encode()).hexdigest()[:16]
            for question, places in self._places.items()
        }

    def are_balanced(self) -> bool:
        """Whether each option of each question is printed equally often at each letter."""
        return all(map(self._is_balanced, self._places.values()))

    def _is_balanced(self, places: range) -> bool:
        found: Counter[tuple[int, str]] = Counter()
        for place in places:
            found.update(enumerate(self._printed[place] or ()))
        letters = len({place for place, _ in found})
        return len(set(found.values())) == 1 and len(found) == letters**2 <= MAX_OPTIONS**2


TASK = "answers"
"""The name of the task of all files of answers, and of their probe."""

_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")

_OF_THE_HARNESS = re.compile(r"samples.*\.jsonl|results.*\.json|.*\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d.*\.jsonl?")

_SAMPLE = re.compile(rb'"doc"\s*:\s*\{')

_HEAD = 2**20


def is_answers_file(path: Path) -> bool:
    """Whether a path is a file of answers that were collected without the harness."""
    if path.suffix.lower() not in _SUFFIXES or _OF_THE_HARNESS.fullmatch(path.name) or not path.is_file():
        return False
    if path.suffix.lower() != ".jsonl":
        return True
    with path.open("rb") as file:  # a renamed samples file
        return _SAMPLE.search(file.read(_HEAD)) is None


@dataclass(frozen=True, eq=False)
class AnswersRun(Run):
    """The answers in a file that was collected without the harness.

    Attributes:
        records: The answers as records, made when they are used.
        known: The columns that the file has.
        readers: The names in the column `reader`.
        asked: For each question a digest of its variants, their options and the right answers.
    """

    records: AnswerRecords  # type: ignore[assignment]  # it makes the records when they are used
    known: frozenset[str] = field(kw_only=True)
    readers: tuple[str, ...] = field(kw_only=True)
    asked: Mapping[str, str] = field(kw_only=True)

    @cached_property
    def entries(self) -> list[Entry]:
        """The metrics that the columns of the file define."""
        undefined = undefined_metrics(self.table, self.known)
        return [entry for entry in ENTRIES if entry["metric"] not in undefined]

    def function(self, entry: Entry) -> Callable[[ResponseTable], Any]:
        """The function that computes the metric of an entry from the answers."""
        return partial(compute_answers, entry)

    @cached_property
    def warnings(self) -> list[str]:
        """The notes. There is no results file to check the numbers against."""
        return list(self.notes)

    def line(self, record: Record) -> Mapping[str, Any]:
        """The answer as a line of a samples file."""
        return self.records.line(record)

    def answers_to(self, question: str) -> list[Record]:
        """The records of a question, in order."""
        return self.records.of(question)

    @cached_property
    def invalid(self) -> list[Record]:
        """The invalid answers."""
        return [
            record for question in self.table.question_ids for record in self.answers_to(question) if record.invalid
        ]


def read_answers_file(path: Path, reader: Reader | None = None) -> AnswersRun:
    """Read a file of answers, with the usual names of columns (`answer_columns.COLUMNS`)."""
    rows = read_answers(path)
    records = AnswerRecords(rows)
    asked = records.asked()
    notes = notes_of(rows)
    undefined = undefined_metrics(rows.table, rows.known)
    if why := undefined.get("cora"):
        notes.append(f"undefined: {', '.join(name for name in that_need('original') if undefined[name] == why)}: {why}")
    if reader:
        notes.append(f"--reader {reader} does not apply: the file has answers, not responses")
    return AnswersRun(
        model=path.stem,
        name=TASK,
        filter="none",
        part="",
        data=Data(digest=sha256(repr((asked, records.described)).encode()).hexdigest()[:8]),
        label="",
        probe=_probe(rows, records),
        form=None,
        files=(path,),
        results={},
        signature="",
        reader=None,
        read_before="",
        table=rows.table,
        records=records,
        samples=Samples(),
        rows=np.zeros(0, dtype=np.int64),
        references=frozenset(),
        metrics=frozenset(),
        notes=tuple(notes),
        known=rows.known,
        readers=rows.readers,
        asked=asked,
    )


def _probe(rows: AnswerRows, records: AnswerRecords) -> Probe:
    """The tables and charts that the columns of the file define."""
    has_kinds = "kind" in rows.known and len(rows.table.kinds) > 1
    has_picks = "picked" in rows.known
    charts = {
        "changes": has_kinds,
        "heat_maps": has_kinds,
        "bmca_curve": True,
        "accuracy_ranges": has_kinds and has_picks,
        "by_kind": has_kinds,
        "picks_by_letter": has_picks and records.are_balanced(),
    }
    sizes = set(rows.table.options.tolist())
    return Probe(
        name=TASK,
        study="your own",
        summary="answers from a file",
        expand=_cannot_expand,
        formats={},
        note=Probe.note if len(sizes) > 1 else "",
        charts=tuple(name for name, defined in charts.items() if defined),
        tables=("by_category",) if "category" in rows.known else (),
    )


def _cannot_expand(question: Any, setting: Setting) -> Any:
    raise UserError(f"{TASK}: the variants of a file of answers cannot be made again")


def not_the_same(before: Run, after: Run) -> str:
    """Reason why a file of answers cannot be compared with another run; empty if it can."""
    if not (isinstance(before, AnswersRun) and isinstance(after, AnswersRun)):
        which = "first" if isinstance(before, AnswersRun) else "second"
        return f"the {which} is a file of answers, the other is a run of the harness. Compare two of a kind"
    one, other = before.asked, after.asked
    for which, mine, others in (("first", one, other), ("second", other, one)):
        if only := [question for question in mine if question not in others]:
            return (
                f"{len(only):,} of {len(mine):,} questions are only in the {which} "
                f"({first_few(map(repr, only))}). Give both files the same questions"
            )
    for which, run, another in (("first", before, after), ("second", after, before)):
        if columns := [repr(name) for name in run.records.described if name not in another.records.described]:
            return (
                f"only the {which} has the column{'s' * (len(columns) > 1)} {', '.join(columns)} in every row, so it "
                "is unknown whether both were asked the same. Give both files the same columns"
            )
    if unlike := [question for question in one if one[question] != other[question]]:
        columns = [repr(name) for name in ("variant", *before.records.described)]
        return (
            f"{len(unlike):,} of {len(one):,} questions were asked differently ({first_few(map(repr, unlike))}): the "
            f"columns {', '.join(columns)} must be equal in both files"
        )
    if before.table.question_ids != after.table.question_ids:
        skipped = sorted(set(before.table.question_ids) ^ set(after.table.question_ids))
        return (
            f"in one of the two all variants of {len(skipped):,} of {len(one):,} questions were skipped "
            f"({first_few(map(repr, skipped))}). Give both files answers to the same questions"
        )
    return ""
