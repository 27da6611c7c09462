"""Charts of what became of the right answers, of the questions by kind, and of the differences between models."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.kinds import means_by_question, original_kinds
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.metrics.responses import Ints, ResponseTable
from lm_eval_cora.metrics.several import Pair, pairwise
from lm_eval_cora.report.content import (
    Band,
    Cell,
    Change,
    Changes,
    Dots,
    HeatMap,
    Number,
    Table,
    difference_and_interval,
)
from lm_eval_cora.report.examples import anchor, bands_of, example_of
from lm_eval_cora.report.kinds import NOTE as KINDS_NOTE
from lm_eval_cora.report.kinds import by_kind, kinds_table
from lm_eval_cora.report.tables import models, per_model
from lm_eval_cora.runs.model_run import Run

_MOST_PAIRS = 28
"""Largest number of pairs in a chart of differences: all pairs of eight models. More models are compared with the
first."""


def changes(runs: Sequence[Run]) -> Changes | None:
    """Chart the right answers kept, lost and gained from the original to each kind; None without originals."""
    shown = [run for run in runs if run.table.original_correct is not None]
    found = [_changes(run) for run in shown]
    alone = {kind for run in shown for kind in original_kinds(run.table)}
    names = [kind for kind in dict.fromkeys(kind for part in found for kind in part) if kind not in alone]
    if not names:
        return None
    rows: list[list[Cell]] = []
    for kind in names:
        row: list[Cell] = [kind]
        for part in found:
            change = part.get(kind)
            row += ["", "", ""] if change is None else map(Number, (change.kept, change.lost, change.gained))
        rows.append(row)
    columns = [
        f"{name} {run.model}" if len(shown) > 1 else name for run in shown for name in ("kept", "lost", "gained")
    ]
    one = shown[0].probe.one
    return Changes(
        f"Right answers kept, lost and gained, by {one}",
        names,
        [(run.model, [part.get(kind) for kind in names]) for run, part in zip(shown, found, strict=True)],
        Table("Right answers kept, lost and gained", [one, *columns], rows),
        note="Shares of the questions. Kept: right in the original and in this variant. Lost: right in the original, "
        "wrong here. Gained: wrong in the original, right here. A model that knows its answers loses few. Many losses "
        "and many gains together mean that it guesses.",
    )


def _changes(run: Run) -> dict[str, Change]:
    """The change from the original to each kind, averaged over the questions that have the kind."""
    right, present = means_by_question(run.table, run.table.correct)
    original = run.table.original_correct
    assert original is not None
    known = original[:, None] * present
    questions = np.maximum(present.sum(axis=0), 1)
    kept, gained = (known * right).sum(axis=0), ((present - known) * right).sum(axis=0)
    shares = np.stack([kept, known.sum(axis=0) - kept, gained]) / questions
    return {kind: Change(*map(float, shares[:, code])) for code, kind in enumerate(run.table.kinds)}


def heat_maps(runs: Sequence[Run]) -> list[HeatMap]:
    """Chart the questions of each model by kind of variant, from the easiest to the hardest."""
    return [heat_map(run, several=len(runs) > 1) for run in runs if len(run.table.sizes) and len(run.table.kinds) > 1]


def heat_map(run: Run, *, several: bool = False) -> HeatMap:
    """Chart the questions of a model by kind of variant, grouped into at most 24 bands of equally hard questions."""
    right, present = means_by_question(run.table, run.table.correct)
    columns = _original_first(run.table)
    labels = bands_of(run)
    bands = []
    for members in labels:
        with np.errstate(invalid="ignore"):
            shares = (right[members] * present[members]).sum(axis=0) / present[members].sum(axis=0)
        bands.append(Band(_label(run, members), shares[columns].tolist(), anchor(run, example_of(members))))
    names = [run.table.kinds[code] for code in columns]
    one = run.probe.one
    rows: list[list[Cell]] = [
        [band.label, *("" if isnan(value) else Number(value) for value in band.values)] for band in bands
    ]
    of = f" of {run.model}" if several else ""
    return HeatMap(
        f"Questions by {one}{of}",
        names,
        bands,
        Table(f"Share of right answers by {one}{of}", ["questions", *names], rows),
        note="Each row is a question, or a group of equally hard ones, from the easiest to the hardest. Each column is "
        f"a {one}. The stronger the colour, the more answers are right. Strong rows are known in every form, and pale "
        "rows in none. Stripes show what breaks the answers. Click a row to see one of its questions.",
    )


def _original_first(table: ResponseTable) -> list[int]:
    alone = original_kinds(table)
    return sorted(range(len(table.kinds)), key=lambda code: table.kinds[code] not in alone)


def _label(run: Run, members: Ints) -> str:
    share = float((run.table.hits[members] / run.table.sizes[members]).mean())
    if len(members) == 1:
        return f"{run.table.question_ids[members[0]]}: {share:.0%} right"
    return f"{len(members):,} questions: {share:.0%} right"


_BEFORE, _AFTER = "mcqa", ("acc_pride", "acc_permuted")


def letter_bias(runs: Sequence[Run]) -> Dots | None:
    """Chart the accuracy before and after the letter bias is removed; None without scored letters in cyclic orders."""
    runs = [run for run in runs if all(name in run.estimates for name in (_BEFORE, *_AFTER))]
    if not runs:
        return None
    rows: list[list[Cell]] = []
    for name in (_BEFORE, *_AFTER):
        row: list[Cell] = [name]
        for run in runs:
            found = run.estimates[name]
            change = difference(run.estimates[_BEFORE], found)
            row += [Number.of(found), *(("", "") if name == _BEFORE else difference_and_interval(change))]
        rows.append(row)
    columns = per_model("metric", runs, "accuracy", f"change from {_BEFORE}", "95%")
    return Dots(
        "Accuracy before and after removing the letter bias",
        "accuracy",
        (_BEFORE, *_AFTER),
        [(run.model, [Number.of(run.estimates[name]) for name in (_BEFORE, *_AFTER)]) for run in runs],
        Table(
            "Accuracy before and after removing the letter bias", columns, rows, "The changes are paired by question."
        ),
        note="mcqa is the accuracy in the original order. acc_pride is that of the same answers after the model's "
        "prior for the letters is divided out: its gain is the cost of the letter bias. acc_permuted averages each "
        "option's probability over all letters, which also reduces noise.",
    )


def letter_priors(runs: Sequence[Run]) -> Table | None:
    """Tabulate the model's prior for each letter; None without scored letters in cyclic orders."""
    found = [run.studies.get("letter_prior", {}) for run in runs]
    cells = list(
        dict.fromkeys((options, letter) for priors in found for options in priors for letter in priors[options])
    )
    if not cells:
        return None
    rows: list[list[Cell]] = [
        [letter, int(options), *(Number.of(priors.get(options, {}).get(letter, UNDEFINED)) for priors in found)]
        for options, letter in sorted(cells, key=lambda cell: (int(cell[0]), cell[1]))
    ]
    return Table(
        "Prior for the letters",
        ["letter", "options", *models(runs)],
        rows,
        "The probability that the model gives to a letter, whatever is printed there. acc_pride divides it out.",
    )


def paired(runs: Sequence[Run], metric: str) -> Dots | None:
    """Chart the differences between models in one metric, paired by question, with intervals that hold together."""
    baseline = 0 if len(runs) * (len(runs) - 1) // 2 > _MOST_PAIRS else None
    found = pairwise([run.estimates[metric] for run in runs], baseline)
    pairs = [pair for pair in found if not isnan(pair.change.low)]
    if not pairs:
        return None
    names = [f"{runs[pair.after].model} - {runs[pair.before].model}" for pair in pairs]
    return Dots(
        f"Differences in {metric} between the models, new minus old",
        f"{metric}, new minus old",
        names,
        [("", [Number.of_difference(pair.change) for pair in pairs])],
        pairs_table(f"Differences in {metric}", names, pairs),
        is_difference=True,
        note="Each difference is paired by question: a model minus one that was given before it. The 95% intervals "
        "hold for all rows together: an interval on one side of 0 shows that the two models differ.",
    )


def paired_by_kind(before: Run, after: Run) -> Dots | None:
    """Chart the difference between two models for each kind of variant; None with fewer than two kinds."""
    found = by_kind(before, after)
    table = kinds_table(before, found)
    if table is None:
        return None
    return Dots(
        f"Differences in accuracy by {before.probe.one}: {after.model} - {before.model}",
        "accuracy, new minus old",
        list(found),
        [("", [Number.of_difference(change) for change in found.values()])],
        table,
        is_difference=True,
        note=KINDS_NOTE,
    )


def pairs_table(title: str, names: Sequence[str], pairs: Sequence[Pair]) -> Table:
    """Pairs of models as a table: difference, interval, changed questions, and p-values."""
    rows: list[list[Cell]] = []
    for name, pair in zip(names, pairs, strict=True):
        counts = "" if pair.test is None else f"{pair.test.lost} : {pair.test.gained}"
        ps = ["" if isnan(p) else f"{p:.3g}" for p in (pair.p_value, pair.adjusted)]
        change = pair.change
        rows.append([name, *difference_and_interval(change), counts, *ps])
    return Table(title, ["models", "new minus old", "95%, all together", "lost : gained", "p", "p (Holm)"], rows)
