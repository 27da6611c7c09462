"""Views of pairs of models on the same questions: differences with tests, and what changed in the answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.records import Record
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.consistency import CORA_FALLS
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, for_json, ratio_of
from lm_eval_cora.metrics.facts import falls
from lm_eval_cora.metrics.paired import METHODS, Difference, Pair, difference, pairs_by_metric, pairwise
from lm_eval_cora.metrics.responses import Bools
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.report.content import Dots
from lm_eval_cora.report.score_views import acc_is_mcqa_plus, identity_of, in_words, main_of, models, score_table
from lm_eval_cora.runs.comparable import setting_differences
from lm_eval_cora.runs.model_run import Run, Runs, kinds_compared, lead_of
from lm_eval_cora.runs.other_tasks import lines_of
from lm_eval_cora.runs.samples import response_text
from lm_eval_cora.tables.number import Number, p_as_text
from lm_eval_cora.tables.table import Cell, CellRows, Table

Pairs = Mapping[tuple[int, int], Pair]  # by the places of two models
_MOST_PAIRS = 28  # in a chart of differences: all pairs of eight models. More models are compared with the first
_LEVELS = (0.05, 0.01, 0.001)  # each adds a star
_NEW_MINUS_OLD = "Differences are new minus old, paired by question: a run minus one before it, or minus the baseline."
_ALONE = "The 95% interval excludes 0 exactly if p is below 0.05."
_TOGETHER = (
    "The 95% intervals and p-values hold for all pairs of a table together (max-t): an interval excludes 0 exactly if "
    "its p is below 0.05."
)
NOTE_ON_KINDS = (
    "The intervals by kind hold for all kinds together in 95% of the samples. So look here, and not at acc_min or "
    "acc_max, to see where the models differ."
)
_RANKS = "* ranks the models."
_SENTENCES = (_NEW_MINUS_OLD, _ALONE, _TOGETHER, *METHODS.values(), CORA_FALLS, NOTE_ON_KINDS, _RANKS)


@dataclass(frozen=True)
class Compared:
    """Two or more runs of a task that can be compared, and the pairs of them in each metric."""

    runs: Runs
    pairs: Mapping[str, Pairs]  # by metric
    chosen: Mapping[str, Pairs]  # those of the tables

    @classmethod
    def of(cls, runs: Runs, metrics: Sequence[str] = (), baseline: int | None = None) -> Compared:
        """Compare runs in some metrics; without names in all metrics of two runs, and in the main ones of several."""
        pairs = compared_metrics([run.estimates for run in runs], baseline)
        if not metrics and len(runs) > 2 and has_answers(runs):
            metrics = main_of(runs)
        return cls(runs, pairs, {name: pairs[name] for name in metrics or pairs if name in pairs})

    @property
    def tables(self) -> list[Table]:
        """Tables for a terminal; their notes have a sentence per line."""
        lead = lead_of(self.runs)
        title = f"{self.runs[0].task}: {self.runs[0].size}"
        if len(self.runs) > 2:
            values = _values(self.runs, title, lead)
            return [values, *self._differences(title, "")]
        ranks = [_RANKS] if lead in self.chosen else []
        return [*self._differences(title, lead, *ranks), *self._by_kind()]

    def on_paper(self, name: str, place: int) -> Number:
        """A metric of the first run, or the difference of another run to it, with stars."""
        number = Number.of_metric(name, self.runs[place].estimates)
        pair = self.pairs.get(name, {}).get((0, place))
        if not pair:
            return replace(number, value=nan) if place else number
        stars = "*" * sum(pair.p_together < level for level in _LEVELS)
        return replace(Number.of_difference(pair.together), stderr=nan, suffix=stars, falls=number.falls)

    @property
    def data(self) -> Table:
        """A row per pair of models and chosen metric, with all digits."""
        numbers = [
            {"task": run.task, "metric": name, "first": run.model, "second": self.runs[new].model, **pair.numbers}
            for name, own in self.chosen.items()
            for (old, new), pair in own.items()
            for run in [self.runs[old]]
        ]
        return Table("", list(numbers[0]) if numbers else [], [list(row.values()) for row in numbers])

    @property
    def as_json(self) -> Any:
        """Everything with all digits; undefined numbers are null."""
        runs, first = self.runs, self.runs[0]
        value: dict[str, Any] = {"task": first.task, first.units: first.count}
        identities = [identity_of(run) if has_answers(runs) else {"model": run.model} for run in runs]
        notes = [f"{run.model}: {note}" for run in runs for note in run.warnings]
        if len(runs) > 2:
            value["models"] = [run.model for run in runs]
            value["metrics"] = {name: _several_as_json(runs, name, own) for name, own in self.pairs.items()}
            more: dict[str, Any] = {"runs": identities, "notes": notes}
        else:
            value |= dict(zip(("before", "after"), identities, strict=True))
            value["metrics"] = {name: _two_as_json(*own.values()) for name, own in self.chosen.items()}
            more = {"notes": notes + setting_differences(*runs), "kinds": self._kinds}
        return for_json(value | more if has_answers(runs) else value)

    def _differences(self, title: str, lead: str, *sentences: str) -> list[Table]:
        """The values and differences of two models, a row per metric; the pairs of several, a table per metric."""
        names = models(self.runs)
        if len(self.runs) > 2:
            known = {name: _defined(own) for name, own in self.chosen.items()}
            title = f"{self.runs[0].task}: differences in"
            tables = {name: pairs_table(f"{title} {name}", names, own) for name, own in known.items() if own}
            return [self._explained(table, [name], *sentences) for name, table in tables.items()]
        rows: CellRows = [
            [_starred(name, lead), Number.of(pair.before), Number.of(pair.after), *tested(pair)]
            for name, own in self.chosen.items()
            for pair in own.values()
        ]
        return [self._explained(Table(title, ["metric", *names, *TESTED], rows), self.chosen, *sentences)]

    def _by_kind(self) -> list[Table]:
        if len(self.runs) > 2 or not has_answers(self.runs):
            return []
        table = kinds_table(self.runs[0], self._kinds)
        return [replace(table, note=NOTE_ON_KINDS)] if table else []

    @cached_property
    def _kinds(self) -> dict[str, Difference]:
        return kinds_compared(*self.runs)

    def _explained(self, table: Table, names: Collection[str], *first: str) -> Table:
        """A table of some metrics with the sentences that explain it."""
        methods = {pair.method for name in names for pair in self.chosen[name].values()}
        sentences = [*first, _NEW_MINUS_OLD, _TOGETHER if len(self.runs) > 2 else _ALONE]
        sentences += [reason for method, reason in METHODS.items() if method in methods]
        if any(falls(name, run.estimates) for name in names for run in self.runs):
            sentences.append(CORA_FALLS)
        return replace(table, note="\n".join(sentences))


def explanation_of(tables: Iterable[Table]) -> str:
    """What the columns of tables mean; empty without a table."""
    needed = {line for table in tables for line in table.note.splitlines()}
    return " ".join(sentence for sentence in _SENTENCES if sentence in needed)


def has_answers(runs: Runs) -> bool:
    """Whether the answers of runs are known, and not only their scores."""
    return not any(run.scores for run in runs)


def _starred(name: str, lead: str) -> str:
    return f"{name} *" if name == lead else name


def _defined(pairs: Pairs) -> Pairs:
    return {places: pair for places, pair in pairs.items() if not isnan(pair.value)}


def _values(runs: Runs, title: str, lead: str) -> Table:
    """The table of the values of several models."""
    if has_answers(runs):
        table = score_table(runs, comparable=True)
    else:
        names = dict.fromkeys(name for run in runs for name in run.estimates)
        cells = [{name: [Number.of(run.estimates.get(name, UNDEFINED))] for name in names} for run in runs]
        table = Table.by_model("", "metric", models(runs), [""], cells)
    rows = [[_starred(str(name), lead), *cells] for name, *cells in table.rows]
    return Table(title, table.columns, rows, _RANKS if lead else "")


def _two_as_json(pair: Pair) -> dict[str, Any]:
    estimates = {"before": pair.before, "after": pair.after, "difference": pair.change, "mcnemar": pair.test}
    return estimates | {"p_value": pair.p_value, "method": pair.method}


def _several_as_json(runs: Runs, metric: str, pairs: Pairs) -> dict[str, Any]:
    return {
        "values": {run.model: run.estimates.get(metric, UNDEFINED) for run in runs},
        "pairs": [
            {
                **_two_as_json(pair),
                "before": runs[old].model,
                "after": runs[new].model,
                "difference": pair.together,
                "alone": pair.change,
                "p_together": pair.p_together,
            }
            for (old, new), pair in pairs.items()
        ],
    }


def compared_metrics(models: Sequence[Mapping[str, Estimate]], baseline: int | None = None) -> dict[str, Pairs]:
    """The pairs of models in each metric; statistics without errors are left out if other metrics have one."""
    pairs = pairs_by_metric(models, baseline)
    estimates = {name: [own[name] for own in models if name in own] for name in pairs}
    with_errors = {name for name, own in estimates.items() if any(not isnan(each.stderr) for each in own)}
    defined = {name for name, own in estimates.items() if any(not isnan(each.value) for each in own)}
    left_out = defined - with_errors if with_errors else set()  # such as p-values and ranges
    return {name: own for name, own in pairs.items() if name not in left_out}


def paired(runs: Runs, metric: str) -> Dots | None:
    """Chart the differences between models in one metric, paired by question, with intervals that hold together."""
    baseline = 0 if len(runs) * (len(runs) - 1) // 2 > _MOST_PAIRS else None
    every = pairwise([run.estimates[metric] for run in runs], baseline)
    if not (pairs := {places: pair for places, pair in every.items() if not isnan(pair.together.low)}):
        return None
    title = f"Differences in {metric}"
    return _differences(
        "differences",
        f"{title} between the models, new minus old",
        metric,
        {f"{runs[new].model} - {runs[old].model}": pair.together for (old, new), pair in pairs.items()},
        pairs_table(title, models(runs), pairs),
        "Each difference is paired by question: a model minus one that was given before it. The 95% intervals "
        "hold for all rows together: an interval on one side of 0 shows that the two models differ.",
    )


def _differences(name: str, title: str, what: str, shown: Mapping[str, Difference], numbers: Table, note: str) -> Dots:
    return Dots(
        name=name,
        title=title,
        x_label=f"{what}, new minus old",
        models=[("", {name: Number.of_difference(change) for name, change in shown.items()})],
        numbers=numbers,
        is_difference=True,
        note=note,
    )


def paired_by_kind(before: Run, after: Run) -> Dots | None:
    """Chart the difference between two models for each kind of variant; None with fewer than two kinds."""
    shown = kinds_compared(before, after)
    table = kinds_table(before, shown)
    title = f"Differences in accuracy by {before.probe.one}: {after.model} - {before.model}"
    named = {in_words(kind): change for kind, change in shown.items()}
    return _differences("kind_differences", title, "accuracy", named, table, NOTE_ON_KINDS) if table else None


def pairs_table(title: str, names: Sequence[str], pairs: Mapping[tuple[int, int], Pair]) -> Table:
    """Pairs of models as a table; the intervals and p-values of several ones hold for all of them together."""
    several = len(pairs) > 1
    rows = [
        [f"{names[new]} - {names[old]}", *tested(pair.joint if several else pair)] for (old, new), pair in pairs.items()
    ]
    return Table(title, ["models", *(TESTED_TOGETHER if several else TESTED)], rows)


TESTED = ("new minus old", "95%", "lost : gained", "p")
TESTED_TOGETHER = ("new minus old", "95%, all together", "lost : gained", "p, all together")


def tested(pair: Pair) -> list[Cell]:
    """The cells of a pair; see `TESTED`."""
    counts = f"{pair.test.lost} : {pair.test.gained}" if pair.test else ""
    return [*Number.of_difference(pair.change).with_interval, counts, p_as_text(pair.p_value)]


def kinds_table(run: Run, changes: Mapping[str, Difference]) -> Table | None:
    """The differences by kind between two runs of a task as a table; None with fewer than two kinds."""
    rows: CellRows = [[name, *Number.of_difference(change).with_interval] for name, change in changes.items()]
    columns = [run.probe.one, "new minus old", "95%, all together"]
    return Table(f"{run.task}: accuracy by {run.probe.one}", columns, rows) if len(rows) > 1 else None


def differences(runs: Runs) -> Table:
    """Tabulate the differences of the other models to the first one, paired by question."""
    first, *others = runs
    left_out = {"acc"} if acc_is_mcqa_plus(runs) else ()
    shown = {name: before for name, before in first.estimates.items() if name not in left_out}
    changes = [
        {name: difference(before, run.estimates.get(name, UNDEFINED)) for name, before in shown.items()}
        for run in others
    ]
    cells = [{name: Number.of_difference(change).with_interval for name, change in own.items()} for own in changes]
    title = f"Differences to {first.model}, new minus old"
    note = (
        f"Each other model minus {first.model}, paired by question: difference ± standard error, and 95% interval of "
        "this difference alone. The command lm-eval-cora compare adds tests. Metrics computed only on the questions "
        "that a model answered correctly or wrongly may use different questions for each model."
    )
    return Table.by_model(title, "metric", models(others), ["", "95%"], cells, note)


# ---- what changed
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
    def data(self) -> Table:
        """All answers that changed."""
        return Table(self.task, Changed._fields, self.answers)

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
            shown = (shorten(text, _LONGEST) for text in (each.right, *texts))
            rows.append([each.question, each.category, kind, each.change, *shown])
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


def changed_records(
    before: Run, after: Run, changes: Mapping[str, Bools], numbers: Iterable[int]
) -> Iterator[tuple[int, str, tuple[Record, Record]]]:
    """Yield each change of some questions: the number of the question, the kind of change, and both records."""
    for number in numbers:
        question, start = before.table.question_ids[number], int(before.table.starts[number])
        pairs = zip(before.answers_to(question), after.answers_to(question), strict=True)
        for place, pair in enumerate(pairs, start):
            yield from ((number, name, pair) for name, found in changes.items() if found[place])


def _answers(before: Run, after: Run, changes: Mapping[str, Bools]) -> Iterator[Changed]:
    numbers = tqdm(most_lost(before, changes), "reading responses", unit="question", disable=None, leave=False)
    for number, change, (one, other) in changed_records(before, after, changes, numbers):
        lines = before.line(one), after.line(other)
        reference = format_of(lines[0]["doc"]).reference(lines[0]["doc"])
        question, category = before.table.question_ids[number], before.table.categories[number]
        yield Changed(
            *(before.task, question, category, one.kind, one.ordinal, change, ". ".join(reference)),
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
