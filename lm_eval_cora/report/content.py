"""The content of a report, independent of its output format: sections of tables, charts and example answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.consistency import cora_falls
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.paired import Difference

_MOST_DIGITS = 9
FALLS = "↘"  # the mark of a value of `cora` where it falls with the accuracy
_NEGATIVE = re.compile(r"(?<![\w.-])-(?=\d)")


@dataclass(frozen=True)
class Number:
    """A number in a table or a chart, with its standard error and the ends of its 95% interval; nan is undefined.

    The ends are printed so that they are seen to be on one side of the `bounds`, and of 0 for a difference.
    """

    value: float
    stderr: float = nan
    best: bool = False  # the best of its row, or one that cannot be told apart from the best
    signed: bool = False
    ends: tuple[float, float] = (nan, nan)
    bounds: tuple[float, ...] = ()
    falls: bool = False  # a value of `cora` where it falls with the accuracy; see `cora_falls`

    @classmethod
    def of_metric(cls, name: str, scores: Mapping[str, Estimate], *, best: bool = False) -> Number:
        """Make a number of a metric of a model."""
        number = cls.of(scores.get(name, UNDEFINED), best=best)
        right, full = (scores.get(beside, UNDEFINED).value for beside in ("mcqa", "bmca@1.0"))
        return replace(number, falls=name == "cora" and cora_falls(right, full))

    @classmethod
    def of(cls, estimate: Estimate, *, best: bool = False, signed: bool = False) -> Number:
        """Make a number from an Estimate."""
        return cls(estimate.value, estimate.stderr, best, signed, estimate.interval)

    @classmethod
    def of_difference(cls, change: Difference) -> Number:
        """Make a number from a difference."""
        return cls(change.value, change.stderr, signed=True, ends=(change.low, change.high))

    @property
    def interval(self) -> str:
        """The 95% interval as text, signed for a difference. If it is unknown: empty, and n/a for a difference."""
        if isnan(self.ends[0]):
            return "n/a" if self.signed else ""
        bounds = (*self.bounds, 0.0) if self.signed else self.bounds
        return " to ".join(end_as_text(end, 3, self._sign, bounds) for end in self.ends)

    @property
    def with_interval(self) -> tuple[Number, str]:
        """The two cells of a number and its 95% interval."""
        return self, self.interval

    def __str__(self) -> str:
        """Format the number as value and standard error.

        Example:
            >>> str(Number(0.744, 0.0121)), str(Number(-0.25, signed=True)), str(Number(nan))
            ('0.744 ± 0.012', '-0.250', 'n/a')
        """
        if isnan(self.value):
            return "n/a"
        error = "" if isnan(self.stderr) else f" ± {self.stderr:.3f}"
        return f"{end_as_text(self.value, 3, self._sign)}{error}{f' {FALLS}' if self.falls else ''}"

    @property
    def _sign(self) -> str:
        return "+" if self.signed else ""


def with_minus(text: str) -> str:
    """The text with real minus signs in front of its negative numbers, for the page and its charts."""
    return _NEGATIVE.sub("\u2212", text)


def end_as_text(end: float, digits: int, sign: str = "", bounds: Sequence[float] = ()) -> str:
    """Format an end of an interval, with more digits if it would else be seen on another side of a bound, or on it."""
    side = np.sign(np.subtract(bounds, end))
    enough = (n for n in range(digits, _MOST_DIGITS) if (np.sign(np.subtract(bounds, round(end, n))) == side).all())
    digits = next(enough, digits)
    return f"{round(end, digits) + 0.0:{sign}.{digits}f}"  # no -0.000


def p_as_text(p: float) -> str:
    """Format a p-value; empty if it is unknown."""
    return "" if isnan(p) else f"{p:.3g}"


Cell = str | int | Number  # text, a count, or a number with its standard error
CellRows = list[list[Cell]]
Cells = Mapping[str, Sequence[Cell]]  # the cells of a model by name of the row


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row names it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    sortable: bool = False
    explained: bool = False  # the page prints the meaning of each row's metric below its name

    @classmethod
    def by_model(
        cls, title: str, first: str, models: Sequence[str], heads: Sequence[str], cells: Sequence[Cells], note: str = ""
    ) -> Table:
        """Make a table with a row per name, and the columns `heads` for each model; an empty head is its name."""
        # `cells` has the cells of each model by name of the row. A model without the row has empty cells.
        several = len(models) > 1
        columns = [f"{head} {model}" if head and several else head or model for model in models for head in heads]
        names = dict.fromkeys(name for own in cells for name in own)
        nothing = [""] * len(heads)
        rows = [[name, *(cell for own in cells for cell in own.get(name, nothing))] for name in names]
        return cls(title, [first, *columns], rows, note)

    def without(self, *columns: str) -> Table:
        """The table without some columns."""
        kept = [place for place, name in enumerate(self.columns) if name not in columns]
        rows = [[row[place] for place in kept] for row in self.rows]
        return replace(self, columns=[self.columns[place] for place in kept], rows=rows)


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart, with its values as a table."""

    name: str = ""  # short and always the same, for the name of its file
    title: str
    numbers: Table
    note: str = ""


class Line(NamedTuple):
    """The named points of a model, and other scores to compare them with."""

    name: str
    points: Sequence[tuple[Any, Number]]  # by level, by place of a version, or by kind
    marks: Sequence[tuple[str, Number]] = ()  # other scores, such as MCQA
    breaks: Sequence[float] = ()  # places of versions that are not connected with the point before


@dataclass(frozen=True, kw_only=True)
class Curve(Chart):
    """Curves with confidence bands; x and y range from 0 to 1."""

    x_label: str
    y_label: str
    lines: Sequence[Line]
    chance: Sequence[tuple[float, float]] = ()  # the curve that guessing gives


@dataclass(frozen=True, kw_only=True)
class Ranges(Chart):
    """Boxes: the range of the accuracy over templates, positions, samples or kinds, and one more score."""

    y_label: str
    lines: Sequence[Line]  # a point per kind, and the other score as the only mark


@dataclass(frozen=True, kw_only=True)
class Rows(Chart):
    """A row per name, from top to bottom, with a mark per model."""

    models: Sequence[tuple[str, Mapping[str, Any]]]  # a single series of dots without a name has no legend

    @property
    def rows(self) -> list[str]:
        """The names of the rows."""
        return list(dict.fromkeys(name for _, marks in self.models for name in marks))


@dataclass(frozen=True, kw_only=True)
class Dots(Rows):
    """Dots with error bars. The x axis ranges from 0 to 1; for differences it fits the intervals and marks 0."""

    x_label: str
    models: Sequence[tuple[str, Mapping[str, Number]]]
    reference: Sequence[float] = ()  # a value per row to compare with, such as an even share
    reference_label: str = ""
    is_difference: bool = False


class Retention(NamedTuple):
    """Shares of the questions; the rest is wrong in both the original and a kind of variant."""

    kept: float  # right in both
    lost: float  # right in the original only
    gained: float  # right in the kind only


@dataclass(frozen=True, kw_only=True)
class RetentionChart(Rows):
    """Bars: for each kind and model the right answers that were kept, lost and gained."""

    models: Sequence[tuple[str, Mapping[str, Retention]]]


class Band(NamedTuple):
    """A row of a heat map: a question, or several similar ones, with the anchor of an example on the page."""

    label: str
    values: Sequence[float]  # share of right answers in each column; nan where there is none
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class HeatMap(Chart):
    """Questions, from top to bottom, by kinds of variants, with the share of right answers as colour."""

    columns: Sequence[str]
    bands: Sequence[Band]


@dataclass(frozen=True, kw_only=True)
class History(Chart):
    """Lines over versions, from left to right, with intervals, which the y axis fits."""

    y_label: str
    versions: Sequence[str]
    lines: Sequence[Line]  # a point is the place of a version


class PrintedOption(NamedTuple):
    """A printed option: its letter and text, and whether it is right and was picked."""

    letter: str
    text: str
    right: bool
    picked: bool


@dataclass(frozen=True)
class ShownAnswer:
    """A variant and the response of the model. The response and its parts are untrusted text."""

    kind: str
    verdict: str  # right, wrong, or invalid
    said: str  # the parsed answer, or the reason why the response has no valid answer
    response: str  # or the scores of the answers
    options: Sequence[PrintedOption] = ()
    rule: str = ""  # the rule that read the answer
    parts: Sequence[str] = ()  # the text before, in and after the characters that decided
    places: Sequence[str] = ()  # for an invalid answer, what was found and why it does not count


@dataclass(frozen=True)
class Example:
    """A question with all of its variants; the page always shows the summary."""

    question_id: str
    stem: str
    summary: str
    answers: Sequence[ShownAnswer]
    anchor: str = ""


@dataclass(frozen=True)
class Examples:
    """Questions of one model that a reader can unfold."""

    title: str
    examples: Sequence[Example]
    note: str = ""


Block = Table | Chart | Examples


@dataclass(frozen=True)
class Headline:
    """The answer to "which model holds up, and how sure is that?" for a task, in sentences and a chart."""

    sentences: Sequence[str]
    picture: Chart | None = None
    names: Sequence[str] = ()  # of the models in the sentences


@dataclass(frozen=True)
class Section:
    """The part of a report about a task, or about several tasks of a benchmark."""

    title: str
    subtitle: str
    blocks: Sequence[Block]  # the most important first
    signatures: Sequence[tuple[str, str]] = ()  # (model, signature)
    notes: Sequence[tuple[str, str]] = ()  # (models, note)
    more: Sequence[Block] = ()  # the page shows them folded
    headline: Headline | None = None
    scores: Table | None = None  # the main scores of each model


@dataclass(frozen=True)
class Report:
    """A whole report: a section per task, then one per benchmark with an aggregated row of several probes."""

    title: str
    sections: Sequence[Section]
    overview: Sequence[Table] = ()  # a table per probe, with one row per run
    glossary: Table | None = None
