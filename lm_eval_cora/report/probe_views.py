"""Views that a probe names: the scores by level, kind, category or letter, the questions, the REVAS study, validity."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from lm_eval_cora import metrics
from lm_eval_cora.metrics.confidence import bins_of, confident, is_known
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.kinds import means_by_question, original_kinds
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.metrics.positions import has_swapped_orders
from lm_eval_cora.metrics.responses import Ints
from lm_eval_cora.report.content import Band, Curve, Dots, HeatMap, Line, Ranges, Retention, RetentionChart
from lm_eval_cora.report.score_views import in_words, models
from lm_eval_cora.runs.model_run import Run, Runs, kinds_of
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Cell, CellRows, Cells, Table

_LEVELS = [tenths / 10 for tenths in range(11)]
_RANGE = ("acc_mean", "acc_min", "acc_max", "acc_range", "acc_range_by_chance", "acc_range_p")
_RANGES = (
    "The range of several accuracies is above 0 even if all are equally good. acc_range_by_chance is its expected size "
    "then, and acc_range_p is the p-value of Cochran's Q test."
)


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
        "must be correct. The band, or a bar, is the 95% interval of each point. The dotted curve is that of a model "
        "that guesses.",
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
    heads = ["accuracy", *["invalid"] * has_picks, "questions", *["mark"] * probe.marks_outliers]

    def cells(part: Mapping[str, Any]) -> list[Cell]:
        shown = {name: Number.of(part[name]) for name in ("accuracy", "invalid")}
        mark = "outlier" if part["outlier"] else ""
        return [(shown | {"questions": part["questions"], "mark": mark})[head] for head in heads]

    kinds = [{kind: cells(part) for kind, part in kinds_of(run).items()} for run in runs]
    table = Table.by_model("Each kind of variant", "kind", models(runs), heads, kinds)
    return Dots(
        name="kinds",
        title=f"Accuracy by {probe.one}",
        x_label="accuracy",
        models=first_numbers(runs, ({in_words(kind): row for kind, row in own.items()} for own in kinds)),
        numbers=replace(table, sortable=True, explained=True),
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
    return f"position_chi_square: {', '.join(map(' '.join, tests))}."


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
    shown = (metrics.mcqa, metrics.mcqa_plus, metrics.ci, metrics.cora, metrics.consistency_rate)
    cells: list[Cells] = []
    for run in runs:
        has = np.array([question in run.source.references for question in run.table.question_ids], dtype=np.bool_)
        parts = [run.table.where(questions[run.table.question]) for questions in (has, ~has)]
        values = {metric.__name__: [Number.of(metric(part)) for part in parts] for metric in shown}
        cells.append({"questions": [len(part.sizes) for part in parts], **values})
    note = (
        'Options such as "All of the above" or "Both A and B" change their meaning if options are moved or removed. '
        "By default they stay last; set option_references to leave_out to leave out all such questions."
    )
    title = "Questions with option references"
    return Table.by_model(title, "metric", models(runs), ["with", "without"], cells, note)


def confidence(runs: Runs) -> list[Curve]:
    """Chart the accuracy by confidence and by coverage, for the probabilities of letters and for agreement."""
    by_confidence, by_coverage = list[Line](), list[Line]()
    for run in runs:
        for name in ("probability", "agreement")[not is_known(run.table) :]:
            if part := confident(run.table, by_agreement=name == "agreement"):
                bins, label = bins_of(part)[0], f"{run.model}, {name}"
                inside = [part.where(bins == number) for number in range(bins.max() + 1)]
                by_confidence.append(
                    Line(label, [(each.confidence.mean(), Number.of(metrics.acc(each))) for each in inside])
                )
                by_coverage.append(
                    Line(label, [(x, Number.of(metrics.acc_coverage(part, level=x))) for x in _LEVELS[1:]])
                )
    charts = [
        _accuracy_by(
            "confidence",
            by_confidence,
            "Below the dotted line a model is too confident, above it too cautious. Probability: that of the picked "
            "letter among the printed ones. Agreement: the share of a question's other variants, or of its repeats, "
            "that agree with the answer to its original, and only originals count.",
            chance=((0, 0), (1, 1)),
            chance_label="calibrated",
        ),
        _accuracy_by(
            "coverage",
            by_coverage,
            "The coverage is the share of the answers that counts, the most confident ones first. The more a curve "
            "rises to the left, the better the confidence tells right answers from wrong ones.",
        ),
    ]
    return charts if by_coverage else []


def _accuracy_by(name: str, lines: list[Line], note: str, **look: Any) -> Curve:
    title = f"Accuracy by {name}"
    rows: CellRows = [[line.name, Number(x), number] for line in lines for x, number in line.points]
    look |= {"numbers": Table(title, ["model", name, "accuracy"], rows), "note": note}
    return Curve(name=name, title=title, x_label=name, y_label="accuracy", lines=lines, **look)


BANDS = 24  # largest number of groups of equally hard questions
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
    named = [{in_words(kind): change for kind, change in part.items()} for part in parts]
    title = "Right answers kept, lost and gained"
    return RetentionChart(
        name="changes",
        title=f"{title}, by {one}",
        models=list(zip(models(shown), named, strict=True)),
        numbers=replace(Table.by_model(title, one, models(shown), Retention._fields, cells), explained=True),
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
        columns=list(map(in_words, names)),
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
    rows: CellRows = [
        [letter, options, *(Number.of(own.get(str(options), {}).get(letter, UNDEFINED)) for own in priors)]
        for options, letter in sorted(cells)
    ]
    note = "The probability that the model gives to a letter, whatever is printed there. acc_pride divides it out."
    return Table("Prior for the letters", ["letter", "options", *models(runs)], rows, note) if rows else None


_STUDY = yaml.safe_load(Path(__file__).with_name("study.yaml").read_text("utf-8"))
"""Labels of the subsets of questions; title, metric of each row, and source of each table; the lines of `validity`."""


def study_tables(runs: Runs) -> list[Table]:
    """Make the tables of the REVAS study. The first table counts the questions of each subset."""
    names = models(runs)
    sizes, found = ([run.studies.get(name) or {} for run in runs] for name in ("questions", "sc_buckets"))
    counts = [{label: [own.get(name, "")] for name, label in _STUDY["subsets"].items()} for own in sizes]
    buckets = [
        {name: [Number.of(bucket[key]) for key in ("share", "accuracy")] for name, bucket in own.items()}
        for own in found
    ]
    title = "Frequency of the most frequent pick in the original orders"
    note = (
        "Share of the questions with this frequency, and share of these picks that are correct. If all picks "
        "differ, none is the most frequent (REVAS, Table 2)."
    )
    tables = [
        Table.by_model("Questions of the study", "questions", names, [""], counts),
        Table.by_model(title, "frequency", names, ["questions", "correct"], buckets, note),
    ]
    for table in _STUDY["tables"]:
        present = {label: name for label, name in table["rows"].items() if any(name in run.estimates for run in runs)}
        cells = [
            {
                label: Number.of(run.estimates.get(name, UNDEFINED), signed="_diff" in name).with_interval
                for label, name in present.items()
            }
            for run in runs
        ]
        tables.append(Table.by_model(table["title"], "", names, ["", "95%"], cells, table["note"]))
    return [table for table in tables if table.rows]


def validity(runs: Runs) -> list[Table]:
    """Tabulate the differences that tell whether the accuracy is knowledge, or the tasks that would give them."""
    rows: CellRows = []
    for line, (task, meaning, *names) in _STUDY["validity"].items():
        known = [run for run in runs if run.table.is_whole and run.estimates.keys() >= {*names}]
        rows += [] if known else [[line, task, "", "not run", "", meaning]]
        for run in known:
            found = [run.estimates[name] for name in names]
            number = Number.of_difference(difference(*found)) if found[1:] else Number.of(*found, signed=True)
            rows.append([line, run.task, run.model, *number.with_interval, meaning if run is known[0] else ""])
    heads = ["difference", "task", "model", "value", "95%", "meaning"]
    return [Table("Validity: is it knowledge?", heads, rows)] if any(row[2] for row in rows) else []
