"""Tables and charts that show the runs of one or more models on one task side by side."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import isnan, nan
from typing import Any

import numpy as np

from lm_eval_cora import metrics
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.positions import has_swapped_orders
from lm_eval_cora.report.content import Curve, Dots, Line, Ranges
from lm_eval_cora.runs.by_kind import kinds_of
from lm_eval_cora.runs.model_run import Run, Runs
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Cell, CellRows, Cells, Table

_LEVELS = [tenths / 10 for tenths in range(11)]
_RANGE = ("acc_mean", "acc_min", "acc_max", "acc_range", "acc_range_by_chance", "acc_range_p")
_RANGES = (
    "The range of several accuracies is above 0 even if all are equally good. acc_range_by_chance is its expected size "
    "then, and acc_range_p is the p-value of Cochran's Q test."
)


def models(runs: Iterable[Run]) -> list[str]:
    """The names of the models."""
    return [run.model for run in runs]


def first_numbers(runs: Iterable[Run], cells: Iterable[Cells]) -> list[tuple[str, dict[str, Number]]]:
    """The first number of each row for a chart, by model."""
    firsts = [{name: row[0] for name, row in own.items() if isinstance(row[0], Number)} for own in cells]
    return list(zip(models(runs), firsts, strict=True))


def bmca_curve(runs: Runs) -> Curve:
    """Chart BMCA at each level, with MCQA and MV as lines."""
    lines = [
        Line(
            run.model,
            [(level, Number.of(metrics.bmca(run.table, level=level))) for level in _LEVELS],
            [("MCQA", Number.of(metrics.mcqa(run.table))), ("MV", Number.of(metrics.mv(run.table)))],
        )
        for run in runs
    ]
    names = [*(f"BMCA({level:.1f})" for level in _LEVELS), "MCQA", "MV"]
    columns, rows = ["level", *models(runs)], [[number for _, number in (*line.points, *line.marks)] for line in lines]
    guessing: CellRows = []
    if chance := metrics.chance_bmca(runs[0].table, _LEVELS):
        columns.append("guessing")
        guessing.append([*map(Number, chance), "", ""])
    return Curve(
        name="bmca",
        title="Consistency of the correct answers (BMCA)",
        x_label="required share of correct variants",
        y_label="share of questions",
        lines=lines,
        numbers=Table("BMCA at each level", columns, list(zip(names, *rows, *guessing, strict=True))),
        chance=list(zip(_LEVELS, chance, strict=True)) if chance else (),
        note="The curve of a consistent model is flat: its BMCA stays close to its MCQA up to 1.0, where all variants "
        "must be correct. The band shows a 95% interval of each point. The dotted curve is that of a model that "
        "guesses.",
    )


def accuracy_ranges(runs: Runs) -> Ranges:
    """Chart the accuracy of each template, position, sample or kind, with the consistency rate."""
    what = runs[0].probe.several
    shown = (*_RANGE[:3], "consistency_rate", *_RANGE[3:])
    scores = [{name: Number.of(_range_of(run, name)) for name in shown} for run in runs]
    cells = [
        {name: (score, "" if name.startswith("acc_range") else score.interval) for name, score in own.items()}
        for own in scores
    ]
    kinds = [[(kind, Number.of(part["accuracy"])) for kind, part in kinds_of(run).items()] for run in runs]
    rates = [[("consistency rate", own["consistency_rate"])] for own in scores]
    return Ranges(
        name="ranges",
        title=f"Range of the accuracy over {what}, and consistency rate",
        y_label="accuracy, and consistency rate",
        lines=list(map(Line, models(runs), kinds, rates)),
        numbers=Table.by_model("Ranges", "metric", models(runs), ["", "95%"], cells, _RANGES),
        note=f"A narrow range means that the accuracy depends little on the {what}. The consistency rate measures how "
        "often the answers stay the same, right or wrong.",
    )


def _range_of(run: Run, name: str) -> Estimate:
    compute: Callable[..., Estimate] = getattr(metrics, name)
    # The metrics of positions are adjusted for the questions that have a position.
    is_adjusted = run.probe.by_position and name in ("acc_min", "acc_max", "acc_range", "acc_range_by_chance")
    return run.estimates.get(name) or compute(run.table, **({"positions": True} if is_adjusted else {}))


def by_kind(runs: Runs) -> Dots:
    """Chart the accuracy of each kind of variant."""
    probe = runs[0].probe
    has_picks = any("invalid" in run.estimates for run in runs)  # a file of answers may have none

    cells: dict[str, Callable[[Mapping[str, Any]], Cell]] = {"accuracy": lambda part: Number.of(part["accuracy"])}
    if has_picks:
        cells["invalid"] = lambda part: Number.of(part["invalid"])
    cells["questions"] = lambda part: int(part["questions"])
    if probe.marks_outliers:
        cells["mark"] = lambda part: "outlier" if part["outlier"] else ""
    kinds = [{kind: [of(part) for of in cells.values()] for kind, part in kinds_of(run).items()} for run in runs]
    return Dots(
        name="kinds",
        title=f"Accuracy by {probe.one}",
        x_label="accuracy",
        models=first_numbers(runs, kinds),
        numbers=replace(
            Table.by_model("Each kind of variant", "kind", models(runs), list(cells), kinds), sortable=True
        ),
        note=f"The bars are 95% intervals. {probe.note}".strip(),
    )


def by_category(runs: Runs) -> Table | None:
    """Tabulate the accuracy, its range and the consistency rate of each category; None for one category."""
    if len({category for run in runs for category in run.table.categories}) < 2:
        return None
    names = [*_RANGE, "consistency_rate"]
    if "all_equal" in runs[0].estimates:  # in other probes the right answer may change
        names.append("all_equal")
    rows: CellRows = [
        [category, run.model, part["questions"], *(Number.of(part[name]) for name in names)]
        for run in runs
        for category, part in metrics.by_category(run.table, positions=run.probe.by_position).items()
    ]
    table = Table("By category", ["category", "model", "questions", *names], rows, _RANGES, sortable=True)
    return table if len(runs) > 1 else table.without("model")


def picks_by_letter(runs: Runs) -> Dots | None:
    """Chart the share of picks of each letter; None without picks. A line shows the even share if it is expected."""
    picks = [metrics.picks_by_letter(run.table) for run in runs]
    letters = sorted({letter for own in picks for letter in own})
    if not letters:
        return None
    absent = {"share": Estimate(nan, nan), "even": nan, "picks": 0}
    parts = [{letter: own.get(letter, absent) for letter in letters} for own in picks]
    even = [[part["even"] for part in own.values()] for own in parts]
    swapped = any(has_swapped_orders(run.table) for run in runs)
    # The chart has one reference for all models. The even shares differ if invalid answers leave different questions.
    same = all(np.allclose(own, even[0], equal_nan=True) for own in even)
    expected = (
        "Only the right option moves, so a wrong option that the model prefers raises the share of its letter: even "
        "shares are not expected. The test compares only the picks of the right option."
        if swapped
        else "Each option is equally often at each letter, so a model without a letter preference picks each letter at "
        "the even share."
    )
    cells: list[Cells] = [
        {letter: [Number.of(part["share"]), Number(part["even"]), part["picks"]] for letter, part in own.items()}
        for own in parts
    ]
    return Dots(
        name="letters",
        title="Picks by letter",
        x_label="share of the picks",
        models=first_numbers(runs, cells),
        numbers=Table.by_model("Picks by letter", "letter", models(runs), ["share", "even", "picks"], cells),
        reference=even[0] if same and not swapped else (),
        reference_label="even share",
        note=f"{expected} {_letter_tests(runs)}",
    )


def _letter_tests(runs: Runs) -> str:
    """Sentence with the test of letter preference of each model."""
    tests = []
    for run in runs:
        statistic, p = metrics.position_chi_square(run.table).value, metrics.position_p_value(run.table).value
        if run.table.is_whole and not isnan(statistic):
            effect = Number.of(metrics.position_cramers_v(run.table))
            strength = f"Cramér's V {effect} [{effect.interval}]" if effect.interval else f"Cramér's V {effect}"
            tests.append((run.model, f"{statistic:.1f} (p = {p:.2g}; {strength})"))
    if not tests:
        return "position_chi_square needs all answers and ten questions per letter."
    if len(runs) == 1:
        return f"position_chi_square is {tests[0][1]}."
    return f"position_chi_square: {', '.join(f'{model} {test}' for model, test in tests)}."


def same_size(runs: Runs) -> Table:
    """Tabulate the scores on the variants with as many options as the question, as in Table 5 of CoRA."""
    scores = [metrics.same_size(run.table) for run in runs]
    cells: list[Cells] = [
        {name: [Number.of(score), *Number.of_difference(change).with_interval] for name, (score, change) in own.items()}
        for own in scores
    ]
    title = "Ablation: only variants with as many options as the question"
    note = "The difference is the change from the score on all variants, paired by question (CoRA, Table 5)."
    return Table.by_model(title, "metric", models(runs), ["same size", "difference", "95%"], cells, note)


def resampled(runs: Runs) -> Table:
    """Tabulate the scores over 10,000 draws of 100 variants, as in Table 6 of CoRA."""
    cells = [
        {
            name: [Number(mean), Number(1000 * sd), Number(change, signed=True)]
            for name, (mean, sd, change) in metrics.resampled(run.table).items()
        }
        for run in runs
    ]
    note = (
        "Mean and standard deviation (sd) over 10,000 draws of 100 variants with replacement; all questions use the "
        "same draw. The difference is the change from the score on all variants (CoRA, Table 6). The sd measures the "
        "choice of variants; the standard errors above measure the choice of questions."
    )
    heads = ["mean", "sd × 1000", "difference"]
    return Table.by_model("Ablation: resampled variants", "metric", models(runs), heads, cells, note)


def with_references(runs: Runs) -> Table | None:
    """Tabulate the scores of questions with and without references to other options; None without references."""
    if not any(run.source.references for run in runs):
        return None
    cells: list[dict[str, list[Cell]]] = []
    for run in runs:
        has = np.array([question in run.source.references for question in run.table.question_ids], dtype=np.bool_)
        parts = [run.table.where(questions[run.table.question]) for questions in (has, ~has)]
        cells.append({"questions": [len(part.sizes) for part in parts]})
        for metric in (metrics.mcqa, metrics.mcqa_plus, metrics.ci, metrics.cora, metrics.consistency_rate):
            cells[-1][metric.__name__] = [Number.of(metric(part)) for part in parts]
    note = (
        'Options such as "All of the above" or "Both A and B" change their meaning if options are moved or removed. '
        "By default they stay last; set option_references to leave_out to leave out all such questions."
    )
    title = "Questions with option references"
    return Table.by_model(title, "metric", models(runs), ["with", "without"], cells, note)
