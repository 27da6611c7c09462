"""Tables and charts that show the runs of one or more models on one task side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any

import numpy as np

from lm_eval_cora import metrics
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.positions import has_swapped_orders
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.report.content import Cell, Curve, Dots, Line, Number, Ranges, Spread, Table, difference_and_interval
from lm_eval_cora.runs.model_run import Run

_LEVELS = [tenths / 10 for tenths in range(11)]


def models(runs: Sequence[Run]) -> list[str]:
    """Names of the columns of a table with one column per model."""
    return [run.model for run in runs]


def with_intervals(first: str, runs: Sequence[Run]) -> list[str]:
    """Names of the columns of a table with a score and its interval per model."""
    named = [name for run in runs for name in (run.model, f"95% {run.model}" if len(runs) > 1 else "95%")]
    return [first, *named]


def per_model(first: str, runs: Sequence[Run], *names: str) -> list[str]:
    """Names of the columns of a table with several columns per model; several models are named."""
    named = [f"{name} {run.model}" if len(runs) > 1 else name for run in runs for name in names]
    return [first, *named]


def bmca_curve(runs: Sequence[Run]) -> Curve:
    """Chart BMCA at each level, with MCQA and MV as lines."""
    heights = [[metrics.bmca(run.table, level=level) for level in _LEVELS] for run in runs]
    marks = [[("MCQA", metrics.mcqa(run.table)), ("MV", metrics.mv(run.table))] for run in runs]
    lines = [
        Line(
            run.model,
            [(level, Number.of(height)) for level, height in zip(_LEVELS, curve, strict=True)],
            [(name, Number.of(mark)) for name, mark in levels],
        )
        for run, curve, levels in zip(runs, heights, marks, strict=True)
    ]
    rows: list[list[Cell]] = [
        [f"BMCA({level:.1f})", *(Number.of(curve[place]) for curve in heights)] for place, level in enumerate(_LEVELS)
    ]
    rows += [[name, *(Number.of(levels[place][1]) for levels in marks)] for place, name in enumerate(("MCQA", "MV"))]
    chance = metrics.chance_bmca(runs[0].table, _LEVELS)
    if chance:
        rows = [[*row, Number(chance[place]) if place < len(chance) else ""] for place, row in enumerate(rows)]
    return Curve(
        "Consistency of the correct answers (BMCA)",
        "required share of correct variants",
        "share of questions",
        lines,
        Table("BMCA at each level", ["level", *models(runs), *["guessing"] * bool(chance)], rows),
        list(zip(_LEVELS, chance, strict=True)) if chance else (),
        "The curve of a consistent model is flat: its BMCA stays close to its MCQA up to 1.0, where all variants must "
        "be correct. The band shows a 95% interval of each point. The dotted curve is that of a model that guesses.",
    )


def kinds_of(run: Run) -> dict[str, dict[str, Any]]:
    """Compute the metrics of each kind of variant, with positions adjusted for the questions that have them."""
    kinds = metrics.each_kind(run.table, positions=run.probe.by_position)
    return {kind: {**part, "accuracy": part.get("adjusted", part["accuracy"])} for kind, part in kinds.items()}


def _rows_by_kind(runs: Sequence[Run], kinds: Sequence[Mapping[str, Any]]) -> Table:
    has_picks = any("invalid" in run.estimates for run in runs)  # a file of answers may have none
    columns = ["accuracy", *["invalid"] * has_picks, "questions"]
    marks = runs[0].probe.marks_outliers
    rows: list[list[Cell]] = []
    for kind in _union(kinds):
        row: list[Cell] = [kind]
        for parts in kinds:
            part = parts.get(kind)
            if part is None:
                row += [""] * (len(columns) + marks)
                continue
            row += [Number.of(part["accuracy"]), *[Number.of(part["invalid"])] * has_picks, part["questions"]]
            row += ["outlier" if part["outlier"] else ""] * marks
        rows.append(row)
    columns = per_model("kind", runs, *columns, *["mark"] * marks)
    return Table("Each kind of variant", columns, rows, sortable=True)


def _union(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part))


def accuracy_ranges(runs: Sequence[Run]) -> Ranges:
    """Chart the accuracy of each template, position, sample or kind, with the consistency rate."""
    what = runs[0].probe.several
    shown = ("acc_mean", "acc_min", "acc_max", "consistency_rate")
    ranges = [{name: Number.of(_range_of(run, name)) for name in shown} for run in runs]
    spreads = [
        Spread(
            run.model,
            [(kind, Number.of(part["accuracy"])) for kind, part in kinds_of(run).items()],
            found["consistency_rate"],
        )
        for run, found in zip(runs, ranges, strict=True)
    ]
    rows: list[list[Cell]] = [
        [name, *(cell for found in ranges for cell in (found[name], found[name].interval))] for name in shown
    ]
    rows += [
        [name, *(cell for run in runs for cell in (Number.of(_range_of(run, name)), ""))]
        for name in ("acc_range", "acc_range_by_chance", "acc_range_p")
    ]
    return Ranges(
        f"Range of the accuracy over {what}, and consistency rate",
        "accuracy, and consistency rate",
        "consistency rate",
        spreads,
        Table("Ranges", with_intervals("metric", runs), rows, _RANGES),
        f"A narrow range means that the accuracy depends little on the {what}. The consistency rate measures how often "
        "the answers stay the same, right or wrong.",
    )


_ADJUSTED = ("acc_min", "acc_max", "acc_range", "acc_range_by_chance")
"""The metrics of positions that are adjusted for the questions that have a position."""

_RANGES = (
    "The range of several accuracies is above 0 even if all are equally good. acc_range_by_chance is its expected size "
    "then, and acc_range_p is the p-value of Cochran's Q test."
)


def _range_of(run: Run, name: str) -> Estimate:
    compute: Callable[..., Estimate] = getattr(metrics, name)
    adjusted = {"positions": True} if run.probe.by_position and name in _ADJUSTED else {}
    return run.estimates.get(name) or compute(run.table, **adjusted)


def by_kind(runs: Sequence[Run]) -> Dots:
    """Chart the accuracy of each kind of variant."""
    kinds = [kinds_of(run) for run in runs]
    names = _union(kinds)
    absent = Number(nan)
    values = [[Number.of(parts[kind]["accuracy"]) if kind in parts else absent for kind in names] for parts in kinds]
    return Dots(
        f"Accuracy by {runs[0].probe.one}",
        "accuracy",
        names,
        list(zip(models(runs), values, strict=True)),
        _rows_by_kind(runs, kinds),
        note=f"The bars are 95% intervals. {runs[0].probe.note}".strip(),
    )


def by_category(runs: Sequence[Run]) -> Table | None:
    """Tabulate the accuracy, its range and the consistency rate of each category; None for one category."""
    if len({category for run in runs for category in run.table.categories}) < 2:
        return None
    names = ["acc_mean", "acc_min", "acc_max", "acc_range", "acc_range_by_chance", "acc_range_p", "consistency_rate"]
    names += ["all_equal"] * ("all_equal" in runs[0].estimates)  # in other probes the right answer may change
    rows: list[list[Cell]] = []
    for run in runs:
        parts = metrics.by_category(run.table, positions=run.probe.by_position)
        for category, part in parts.items():
            name = [category] if len(runs) == 1 else [category, run.model]
            rows.append([*name, part["questions"], *(Number.of(part[name]) for name in names)])
    head = ["category"] if len(runs) == 1 else ["category", "model"]
    return Table("By category", [*head, "questions", *names], rows, _RANGES, sortable=True)


def picks_by_letter(runs: Sequence[Run]) -> Dots | None:
    """Chart the share of picks of each letter; None without picks. A line shows the even share if it is expected."""
    picks = [metrics.picks_by_letter(run.table) for run in runs]
    letters = sorted(_union(picks))
    if not letters:
        return None
    absent = {"share": Estimate(nan, nan), "even": nan, "picks": 0}
    parts = [[found.get(letter, absent) for letter in letters] for found in picks]
    rows: list[list[Cell]] = []
    for place, letter in enumerate(letters):
        row: list[Cell] = [letter]
        for found in parts:
            part = found[place]
            row += [Number.of(part["share"]), Number(part["even"]), part["picks"]]
        rows.append(row)
    columns = per_model("letter", runs, "share", "even", "picks")
    even = [part["even"] for part in parts[0]]
    swapped = any(has_swapped_orders(run.table) for run in runs)
    # The chart has one reference for all models. The even shares differ if invalid answers leave different questions.
    same = all(np.allclose([part["even"] for part in found], even, equal_nan=True) for found in parts)
    expected = (
        "Only the right option moves, so a wrong option that the model prefers raises the share of its letter: even "
        "shares are not expected. The test compares only the picks of the right option."
        if swapped
        else "Each option is equally often at each letter, so a model without a letter preference picks each letter at "
        "the even share."
    )
    return Dots(
        "Picks by letter",
        "share of the picks",
        letters,
        [(run.model, [Number.of(part["share"]) for part in found]) for run, found in zip(runs, parts, strict=True)],
        Table("Picks by letter", columns, rows),
        reference=even if same and not swapped else (),
        reference_label="even share",
        note=f"{expected} {_letter_tests(runs)}",
    )


def _letter_tests(runs: Sequence[Run]) -> str:
    """Sentence with the test of letter preference of each model."""
    tests = []
    for run in runs:
        found = (metrics.position_chi_square(run.table), metrics.position_p_value(run.table))
        if run.table.is_whole and not isnan(found[0].value):
            tests.append((run.model, f"{found[0].value:.1f} (p = {found[1].value:.2g})"))
    if not tests:
        return "position_chi_square needs all answers and ten questions per letter."
    if len(runs) == 1:
        return f"position_chi_square is {tests[0][1]}."
    return f"position_chi_square: {', '.join(f'{model} {test}' for model, test in tests)}."


def _rows(found: Sequence[Mapping[str, tuple[Any, ...]]], cells: Callable[..., list[Cell]]) -> list[list[Cell]]:
    """Make a row per name with the cells of each model."""
    return [[name, *(cell for results in found for cell in cells(*results[name]))] for name in found[0]]


def same_size(runs: Sequence[Run]) -> Table:
    """Tabulate the scores on the variants with as many options as the question, as in Table 5 of CoRA."""
    found = [metrics.same_size(run.table) for run in runs]
    rows = _rows(found, lambda score, change: [Number.of(score), *difference_and_interval(change)])
    columns = per_model("metric", runs, "same size", "difference", "95%")
    return Table(
        "Ablation: only variants with as many options as the question",
        columns,
        rows,
        "The difference is the change from the score on all variants, paired by question (CoRA, Table 5).",
    )


def resampled(runs: Sequence[Run]) -> Table:
    """Tabulate the scores over 10,000 draws of 100 variants, as in Table 6 of CoRA."""
    found = [metrics.resampled(run.table) for run in runs]
    rows = _rows(found, lambda mean, sd, change: [Number(mean), Number(1000 * sd), Number(change, signed=True)])
    columns = per_model("metric", runs, "mean", "sd × 1000", "difference")
    return Table(
        "Ablation: resampled variants",
        columns,
        rows,
        "Mean and standard deviation (sd) over 10,000 draws of 100 variants with replacement; all questions use the "
        "same draw. The difference is the change from the score on all variants (CoRA, Table 6). The sd measures the "
        "choice of variants; the standard errors above measure the choice of questions.",
    )


_WITH_AND_WITHOUT: dict[str, Callable[[ResponseTable], Estimate]] = {
    "mcqa": metrics.mcqa,
    "mcqa_plus": metrics.mcqa_plus,
    "ci": metrics.ci,
    "cora": metrics.cora,
    "consistency_rate": metrics.consistency_rate,
}


def with_references(runs: Sequence[Run]) -> Table | None:
    """Tabulate the scores of questions with and without references to other options; None without references."""
    if not any(run.references for run in runs):
        return None
    parts = [_parts(run) for run in runs]
    rows: list[list[Cell]] = [["questions", *(len(part.sizes) for pair in parts for part in pair)]]
    for name, metric in _WITH_AND_WITHOUT.items():
        rows.append([name, *(Number.of(metric(part)) for pair in parts for part in pair)])
    columns = per_model("metric", runs, "with", "without")
    return Table(
        "Questions with option references",
        columns,
        rows,
        'Options such as "All of the above" or "Both A and B" change their meaning if options are moved or removed. '
        "Set skip_option_references to leave out such questions.",
    )


def _parts(run: Run) -> tuple[ResponseTable, ResponseTable]:
    has = np.array([question in run.references for question in run.table.question_ids], dtype=np.bool_)
    inside = has[run.table.question]
    return run.table.where(inside), run.table.where(~inside)
