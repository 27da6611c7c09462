"""The content of a report, independent of its output format: sections of tables, charts and example answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Table


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
    chance: Sequence[tuple[float, float]] = ()  # the curve that guessing gives, or another one to compare with
    chance_label: str = "guessing"


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
    verdict: str  # right, wrong, abstained, or invalid
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
    overview: Sequence[Table] = ()  # a table per probe, with one row per run, and one of several probes
    glossary: Table | None = None
