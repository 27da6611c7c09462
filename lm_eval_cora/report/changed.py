"""What changed between two models on the same questions: answers lost, won and otherwise different, with responses."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.records import Record
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.estimate import Estimate, ratio_of
from lm_eval_cora.metrics.responses import Bools
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs.documents import lines_of
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.samples import response_text
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import CellRows, Table
from lm_eval_cora.tables.text import csv_of

KINDS_OF_CHANGE = {"lost": "right, then wrong", "won": "wrong, then right", "other": "wrong, then wrong otherwise"}
_SHOWN, _LONGEST = 20, 50  # number of answers in the terminal, and of characters of a text


class Changed(NamedTuple):
    """An answer that changed; `before` and `after` are the picks as text, empty if an answer is invalid."""

    task: str
    question: str
    category: str
    kind: str
    variant: int
    change: str  # a key of `KINDS_OF_CHANGE`
    right: str
    before: str
    after: str
    response_before: str
    response_after: str


@dataclass(frozen=True)
class WhatChanged:
    """Shares of the answers that changed, by kind of change and together; and the answers, the most lost first."""

    models: tuple[str, str]
    task: str
    asked: int
    shares: Mapping[str, Estimate]
    answers: Sequence[Changed]

    @property
    def tables(self) -> list[Table]:
        """The shares, and the first answers."""
        counts = Counter(each.change for each in self.answers) | Counter(changed=len(self.answers))
        shares: CellRows = [
            [f"{name}: {meaning}", counts[name], *Number.of(self.shares[name]).with_interval]
            for name, meaning in {"changed": "all", **KINDS_OF_CHANGE}.items()
        ]
        title = f"{self.task}: answers that changed from {self.models[0]} to {self.models[1]}, of {self.asked:,}"
        rows: CellRows = []
        for each in self.answers[:_SHOWN]:
            both = (each.before, each.response_before), (each.after, each.response_after)
            texts = (text if pick == text != "" else f"{pick or 'invalid'}: {text}" for pick, text in both)
            kind = f"{each.kind} ({each.variant})" if each.kind else ""
            rows.append(
                [
                    each.question,
                    each.category,
                    kind,
                    each.change,
                    *(shorten(text, _LONGEST) for text in (each.right, *texts)),
                ]
            )
        columns = ["question", "category", "kind (variant)", "change", "right", *self.models]
        more = f", the first {_SHOWN} of {len(self.answers):,}" if len(self.answers) > _SHOWN else ""
        of_answers = Table(f"{self.task}: the answers{more}", columns, rows)
        return [Table(title, ["change", "answers", "share", "95%"], shares), *([of_answers] if rows else [])]


def what_changed(before: Run, after: Run, metric: str = "") -> WhatChanged:
    """Find the answers that changed between two comparable runs; of other tasks by a metric, the first one if empty."""
    if before.scores:
        return _of_documents(before, after, metric)
    table, changes = before.table, changes_of(before, after)
    asked = table.sum_by_question(~table.skipped & ~after.table.skipped)
    every = {"changed": np.logical_or.reduce(list(changes.values())), **changes}
    shares = {name: table.ratio(table.sum_by_question(found), asked) for name, found in every.items()}
    answers, models = list(_answers(before, after, changes)), (before.model, after.model)
    return WhatChanged(models, before.task, int(asked.sum()), shares, answers)


def changes_of(before: Run, after: Run) -> dict[str, Bools]:
    """(R,) whether the answer to each variant changed, by kind of change; False where a run did not ask it."""
    # Wrong written answers are compared as texts.
    one, other = before.table, after.table
    asked = ~one.skipped & ~other.skipped
    differs = (one.picked != other.picked) | (one.selected != other.selected) | (one.invalid != other.invalid)
    wrong = asked & ~one.correct & ~other.correct
    written = np.flatnonzero(wrong & one.written & ~differs)
    for number in dict.fromkeys(one.question[written].tolist()):
        answers = (run.answers_to(one.question_ids[number]) for run in (before, after))
        for place, (first, second) in enumerate(zip(*answers, strict=True), start=int(one.starts[number])):
            differs[place] |= first.written != second.written
    lost, won = asked & one.correct & ~other.correct, asked & ~one.correct & other.correct
    return {"lost": lost, "won": won, "other": wrong & differs}


def most_lost(run: Run, changes: Mapping[str, Bools]) -> list[int]:
    """The questions with a change, those with the most lost variants first, then those with the fewest won ones."""
    lost, won = (run.table.sum_by_question(changes[name]) for name in ("lost", "won"))
    some = run.table.any_by_question(np.logical_or.reduce(list(changes.values())))
    order = np.lexsort((won, -lost))
    return [number for number in order.tolist() if some[number]]


def _answers(before: Run, after: Run, changes: Mapping[str, Bools]) -> Iterator[Changed]:
    table = before.table
    for number in tqdm(most_lost(before, changes), "reading responses", unit="question", disable=None, leave=False):
        question, start = table.question_ids[number], int(table.starts[number])
        records = [run.answers_to(question) for run in (before, after)]
        for ordinal, (one, other) in enumerate(zip(*records, strict=True)):
            for change in (name for name, found in changes.items() if found[start + ordinal]):
                lines = before.line(one), after.line(other)
                reference = format_of(lines[0]["doc"]).reference(lines[0]["doc"])
                yield Changed(
                    *(before.task, question, table.categories[number], one.kind, one.ordinal, change),
                    ". ".join(reference),
                    *(_said(record) for record in (one, other)),
                    *map(response_text, lines),
                )


def _said(record: Record) -> str:
    if record.invalid:
        return ""
    return record.said(letters=True) or ("right" if record.correct else "wrong")  # without picks


def _of_documents(before: Run, after: Run, metric: str) -> WhatChanged:
    """The documents whose answer or whose value of a metric changed: a lower value is lost, a higher one won."""
    name = metric or next(iter(before.estimates))
    one, other = (lines_of(run) for run in (before, after))
    found: list[Changed] = []
    changed = {change: np.zeros(len(before.ids)) for change in KINDS_OF_CHANGE}
    for place, key in enumerate(before.ids):
        lines = one[key], other[key]
        if any(type(line.get(name)) not in (bool, int, float) for line in lines):
            raise UserError(f"{before.task}: --changed needs a value of {name} for each document; {key} has none")
        values, answers = [float(line[name]) for line in lines], [_answer_in(line) for line in lines]
        change = "lost" if values[1] < values[0] else "won" if values[1] > values[0] else "other"
        if change != "other" or (answers[0] != answers[1] and not values[0]):
            changed[change][place] = 1
            asked = (before.task, str(key), "", "", 0, change, str(lines[0].get("target", "")))
            found.append(Changed(*asked, *answers, *(_response_in(line) for line in lines)))
    every = {"changed": np.sum(list(changed.values()), axis=0), **changed}
    shares = {change: ratio_of(hits, np.ones(len(hits))) for change, hits in every.items()}
    found.sort(key=lambda each: list(KINDS_OF_CHANGE).index(each.change))
    return WhatChanged((before.model, after.model), f"{before.task}, {name}", len(before.ids), shares, found)


def _response_in(line: Mapping[str, Any]) -> str:
    response = line.get("filtered_resps")
    response = response[0] if isinstance(response, list) and len(response) == 1 else response
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _answer_in(line: Mapping[str, Any]) -> str:
    """The response of a document, or the place of the most likely one of several scored answers."""
    scored = line.get("filtered_resps")
    if isinstance(scored, list) and len(scored) > 1 and all(isinstance(each, list) and each for each in scored):
        with suppress(TypeError, ValueError):
            return str(int(np.argmax([float(each[0]) for each in scored])))
    return _response_in(line)


def as_jsonl(found: Sequence[WhatChanged]) -> str:
    """Write the answers, one per line."""
    return "".join(json.dumps(each._asdict(), ensure_ascii=False) + "\n" for one in found for each in one.answers)


def as_csv(found: Sequence[WhatChanged]) -> str:
    """Write the answers as CSV."""
    return csv_of(Changed._fields, [each for one in found for each in one.answers])
