"""Charts of what became of the right answers, of the questions by kind, and of the differences between models."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import isnan

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.kinds import means_by_question, original_kinds
from lm_eval_cora.metrics.paired import Difference, Pair, difference, pairwise
from lm_eval_cora.metrics.responses import Ints
from lm_eval_cora.report.content import Band, Dots, HeatMap, Retention, RetentionChart
from lm_eval_cora.report.tables import first_numbers, models
from lm_eval_cora.runs.by_kind import kinds_compared
from lm_eval_cora.runs.model_run import Run, Runs
from lm_eval_cora.tables.number import Number, p_as_text
from lm_eval_cora.tables.table import Cell, CellRows, Table

BANDS = 24  # largest number of groups of equally hard questions
_MOST_PAIRS = 28  # in a chart of differences: all pairs of eight models. More models are compared with the first
NOTE_ON_KINDS = (
    "The intervals by kind hold for all kinds together in 95% of the samples. So look here, and not at acc_min or "
    "acc_max, to see where the models differ."
)
_BEFORE, _AFTER = "mcqa", ("acc_pride", "acc_permuted")


def changes(runs: Runs) -> RetentionChart | None:
    """Chart the right answers kept, lost and gained from the original to each kind; None without originals."""
    shown = [run for run in runs if run.table.original_correct is not None]
    alone = {kind for run in shown for kind in original_kinds(run.table)}
    parts = [{kind: change for kind, change in _changes(run).items() if kind not in alone} for run in shown]
    if not any(parts):
        return None
    one = shown[0].probe.one
    cells = [{kind: list(map(Number, change)) for kind, change in part.items()} for part in parts]
    title = "Right answers kept, lost and gained"
    return RetentionChart(
        name="changes",
        title=f"{title}, by {one}",
        models=list(zip(models(shown), parts, strict=True)),
        numbers=Table.by_model(title, one, models(shown), Retention._fields, cells),
        note="Shares of the questions. Kept: right in the original and in this variant. Lost: right in the original, "
        "wrong here. Gained: wrong in the original, right here. A model that knows its answers loses few. Many losses "
        "and many gains together mean that it guesses.",
    )


def _changes(run: Run) -> dict[str, Retention]:
    """The change from the original to each kind, averaged over the questions that have the kind."""
    right, present = means_by_question(run.table, run.table.correct)
    original = run.table.original_correct
    assert original is not None
    known = original[:, None] * present
    questions = np.maximum(present.sum(axis=0), 1)
    kept, gained = (known * right).sum(axis=0), ((present - known) * right).sum(axis=0)
    shares = np.stack([kept, known.sum(axis=0) - kept, gained]) / questions
    return {kind: Retention(*map(float, shares[:, code])) for code, kind in enumerate(run.table.kinds)}


def bands_of(run: Run) -> list[Ints]:
    """Group the questions into equally hard ones, the easiest first."""
    order = np.argsort(-run.table.hits / run.table.sizes, kind="stable")
    return np.array_split(order, min(BANDS, len(order))) if len(order) else []


def example_of(members: Ints) -> int:
    """The question that stands for a group: the middle one."""
    return int(members[len(members) // 2])


def anchor(run: Run, number: int) -> str:
    """The anchor of a question of a run, different from all others on the page."""
    key = "\0".join((run.model, run.task, run.table.question_ids[number]))
    return f"q-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def heat_maps(runs: Runs) -> list[HeatMap]:
    """Chart the questions of each model by kind of variant, from the easiest to the hardest."""
    return [heat_map(run, several=len(runs) > 1) for run in runs if len(run.table.sizes) and len(run.table.kinds) > 1]


def heat_map(run: Run, *, several: bool = False) -> HeatMap:
    """Chart the questions of a model by kind of variant, grouped into at most 24 bands of equally hard questions."""
    right, present = means_by_question(run.table, run.table.correct)
    alone = original_kinds(run.table)
    columns = sorted(range(len(run.table.kinds)), key=lambda code: run.table.kinds[code] not in alone)
    bands = []
    for members in bands_of(run):
        with np.errstate(invalid="ignore"):
            shares = (right[members] * present[members]).sum(axis=0) / present[members].sum(axis=0)
        name = run.table.question_ids[members[0]] if len(members) == 1 else f"{len(members):,} questions"
        label = f"{name}: {float((run.table.hits[members] / run.table.sizes[members]).mean()):.0%} right"
        bands.append(Band(label, shares[columns].tolist(), anchor(run, example_of(members))))
    names = [run.table.kinds[code] for code in columns]
    by = f"by {run.probe.one}{f' of {run.model}' if several else ''}"
    rows = [[band.label, *("" if isnan(share) else Number(share) for share in band.values)] for band in bands]
    return HeatMap(
        name=f"questions-{run.model}",
        title=f"Questions {by}",
        columns=names,
        bands=bands,
        numbers=Table(f"Share of right answers {by}", ["questions", *names], rows),
        note="Each row is a question, or a group of equally hard ones, from the easiest to the hardest. Each column is "
        f"a {run.probe.one}. The stronger the colour, the more answers are right. Strong rows are known in every form, "
        "and pale rows in none. Stripes show what breaks the answers. Click a row to see one of its questions.",
    )


def letter_bias(runs: Runs) -> Dots | None:
    """Chart the accuracy before and after the letter bias is removed; None without scored letters in cyclic orders."""
    names = (_BEFORE, *_AFTER)
    if not (runs := [run for run in runs if all(name in run.estimates for name in names)]):
        return None

    def cells(run: Run, name: str) -> list[Cell]:
        change = Number.of_difference(difference(run.estimates[_BEFORE], run.estimates[name]))
        return [Number.of(run.estimates[name]), *(("", "") if name == _BEFORE else change.with_interval)]

    title, note = "Accuracy before and after removing the letter bias", "The changes are paired by question."
    rows = [{name: cells(run, name) for name in names} for run in runs]
    heads = ["accuracy", f"change from {_BEFORE}", "95%"]
    return Dots(
        name="letter_bias",
        title=title,
        x_label="accuracy",
        models=first_numbers(runs, rows),
        numbers=Table.by_model(title, "metric", models(runs), heads, rows, note),
        note="mcqa is the accuracy in the original order. acc_pride is that of the same answers after the model's "
        "prior for the letters is divided out: its gain is the cost of the letter bias. acc_permuted averages each "
        "option's probability over all letters, which also reduces noise.",
    )


def letter_priors(runs: Runs) -> Table | None:
    """Tabulate the model's prior for each letter; None without scored letters in cyclic orders."""
    priors = [run.studies.get("letter_prior", {}) for run in runs]
    cells = {(int(options), letter) for own in priors for options in own for letter in own[options]}
    if not cells:
        return None
    rows: CellRows = [
        [letter, options, *(Number.of(own.get(str(options), {}).get(letter, UNDEFINED)) for own in priors)]
        for options, letter in sorted(cells)
    ]
    note = "The probability that the model gives to a letter, whatever is printed there. acc_pride divides it out."
    return Table("Prior for the letters", ["letter", "options", *models(runs)], rows, note)


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
    return _differences("kind_differences", title, "accuracy", shown, table, NOTE_ON_KINDS) if table else None


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
