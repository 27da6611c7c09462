"""Group the entries of a task into tables of comparable models, and rank the models of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.several import told_apart
from lm_eval_cora.questions.messages import counted
from lm_eval_cora.report.board_entries import Entry
from lm_eval_cora.report.content import Number
from lm_eval_cora.report.headline import spoken

_OF_THE_TASK = ("task", "revision", "exemplars", "data_files")
"""Settings that belong to a benchmark. The others can be the same for several benchmarks."""


_NAMED = 3
"""Number of other tables that a sentence names."""


@dataclass(frozen=True)
class Row:
    """A model of a board.

    Attributes:
        model: Name of the model.
        group: Number of its group, from 1 for the best; 0 if the models cannot be ranked.
        lead: The metric that ranks the models.
        mcqa: Accuracy on the originals; undefined for some tasks.
        kept: BMCA(1.0), the share of questions with all variants right; undefined for some tasks.
        invalid: Share of invalid answers.
        questions: Number of questions.
        signature: The signature of the scores.
        date: Date of the run; empty if unknown.
        report: Page of the run; None without one.
    """

    model: str
    group: int
    lead: Number
    mcqa: Number
    kept: Number
    invalid: Number
    questions: int
    signature: str
    date: str
    report: Path | None = None


@dataclass(frozen=True)
class Board:
    """Models that were asked the same questions in the same way, the best first.

    Attributes:
        task: Name of the task, with its data and filter if there are several.
        title: The task, with the settings that differ from those of its other boards.
        metric: The metric that ranks the models.
        lead: Its name in a sentence.
        about: Number of questions, and the settings.
        settings: How the questions were asked, without what belongs to the benchmark.
        basis: How the models were compared.
        apart: What differs from the other boards of the task; empty without others.
        rows: The models.
    """

    task: str
    title: str
    metric: str
    lead: str
    about: str
    settings: str
    basis: str
    apart: str
    rows: Sequence[Row]


_GROUPS = (
    "The models are taken in the order of their scores. A model begins a new group if it can be told apart from the "
    "best model of the group before it. So models of different groups may be indistinguishable, if the error of one is "
    "large. "
)

PAIRED = f"{_GROUPS}The differences are paired by question, and their intervals hold for all pairs of models together."

UNPAIRED = (
    f"{_GROUPS}The answers of some models are not available, so the comparison uses only the standard errors. It is "
    "unpaired and conservative: a paired comparison of the answers may tell more models apart."
)

UNRANKED = "The error of a score is unknown, so the models are not put into groups."


def boards_of(task: str, entries: Sequence[Entry]) -> list[Board]:
    """Make the boards of a task."""
    together = sorted(comparable(entries), key=lambda own: (-len(own), own[0].date, own[0].signature))
    differing = _differing([own[0] for own in together])
    titles = _titles(task, differing)
    boards = []
    for place, own in enumerate(together):
        lead = _lead(own)
        if not lead:
            continue
        others = [
            f"{apart_in_words(differing[place], found)} in “{titles[number]}”"
            for number, found in enumerate(differing)
            if number != place
        ]
        more = [f"and {len(others) - _NAMED} more tables"] if len(others) > _NAMED else []
        told = "; ".join([*others[:_NAMED], *more])
        sentence = f"Not ranked together with other models of {task}: {told}." if others else ""
        boards.append(_board(task, titles[place], lead, own, sentence))
    return boards


def one_per_model(entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """Keep the newest of several entries of a model that would be on the same board; a run before a record."""
    kept: list[Entry] = []
    notes = []
    for own in comparable(entries):
        of_model: dict[str, Entry] = {}
        for entry in sorted(own, key=lambda entry: (bool(entry.asked), entry.date), reverse=True):
            newer = of_model.setdefault(entry.model, entry)
            if newer is not entry and newer.signature != entry.signature:
                notes.append(f"{entry.model}, {entry.name}: left out {entry.source}, older than {newer.source}")
        kept += of_model.values()
    return kept, notes


def comparable(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group the entries of a task that were asked the same questions in the same way.

    A record does not have the questions. It joins the largest group with the same settings, data and number of
    questions.
    """
    groups: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        if entry.asked:
            groups.setdefault((*_alike(entry), entry.asked), []).append(entry)
    runs = sorted(groups.values(), key=len, reverse=True)
    for entry in entries:
        if not entry.asked:
            joined = next((own for own in runs if _alike(own[0]) == _alike(entry)), None)
            (joined if joined is not None else groups.setdefault(_alike(entry), [])).append(entry)
    return list(groups.values())


def _alike(entry: Entry) -> tuple[object, ...]:
    """What a record and a run on the same board have in common."""
    return tuple(entry.settings.items()), bool(entry.signature), entry.size, entry.data.digest


def _lead(entries: Sequence[Entry]) -> str:
    """The metric that ranks the models: the first one that is defined for all, else for any."""
    for is_enough in (all, any):
        for name in entries[0].leads:
            if is_enough(not isnan(entry.scores.get(name, UNDEFINED).value) for entry in entries):
                return name
    return ""


def _board(task: str, title: str, lead: str, entries: Sequence[Entry], sentence: str) -> Board:
    ranked = [entry for entry in entries if not isnan(entry.scores.get(lead, UNDEFINED).value)]
    ranked.sort(key=lambda entry: (-entry.scores[lead].value, entry.model))
    is_paired = all(entry.is_paired for entry in ranked)
    groups = told_apart([entry.scores[lead] for entry in ranked], paired=is_paired)
    number = {place: group for group, places in enumerate(groups, 1) for place in places}
    rows = [
        Row(
            model=entry.model,
            group=number.get(place, 0),
            lead=Number.of(entry.scores[lead], best=number.get(place) == 1 and len(ranked) > 1),
            mcqa=Number.of(entry.scores.get("mcqa", UNDEFINED)),
            kept=Number.of(entry.scores.get("bmca@1.0", UNDEFINED)),
            invalid=Number.of(entry.scores.get("invalid", UNDEFINED)),
            questions=entry.questions,
            signature=entry.signature,
            date=entry.date,
            report=entry.report,
        )
        for place, entry in enumerate(ranked)
    ]
    first = entries[0]
    settings = ", ".join(f"{name} {value}" for name, value in first.settings.items() if name not in _OF_THE_TASK)
    about = ", ".join(filter(None, (counted(first.questions, "question"), settings)))
    basis = "" if len(ranked) < 2 else UNRANKED if not groups else PAIRED if is_paired else UNPAIRED
    return Board(task, title, lead, spoken(lead), about, settings, basis, sentence, rows)


def _differing(firsts: Sequence[Entry]) -> list[dict[str, str]]:
    """For each board of a task, the settings in which any of the boards differ."""
    found = [
        {
            **entry.settings,
            "signature": "known" if entry.signature else "unknown",
            "data": str(entry.data),
            "questions": f"{entry.questions:,}",
        }
        for entry in firsts
    ]
    names = dict.fromkeys(name for each in found for name in each)
    apart_in = [name for name in names if len({each.get(name) for each in found}) > 1]
    return [{name: each.get(name, "not given") for name in apart_in} for each in found]


def apart_in_words(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    """What differs between two boards.

    Example:
        >>> apart_in_words({"shots": "0", "seed": "0"}, {"shots": "5", "seed": "0"})
        'shots is 0 here, 5'
        >>> apart_in_words({"seed": "0"}, {"seed": "0"})
        'the questions or their variants differ from those'
    """
    told = [f"{name} is {one[name]:.90} here, {other[name]:.90}" for name in one if one[name] != other[name]]
    return " and ".join(told) or "the questions or their variants differ from those"


def _titles(task: str, differing: Sequence[Mapping[str, str]]) -> list[str]:
    """A different title for each board of a task."""
    named = [", ".join(f"{name} {value:.60}" for name, value in found.items()) for found in differing]
    if len(set(named)) < len(named):
        named = [", ".join(filter(None, (name, f"table {number}"))) for number, name in enumerate(named, 1)]
    return [f"{task} ({name})" for name in named] if len(named) > 1 else [task]
