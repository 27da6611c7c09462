"""The tables of the REVAS study, as in the papers, and the aggregated row of SCORE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lm_eval_cora import metrics
from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.report.content import Cell, Number, Section, Table
from lm_eval_cora.report.tables import models, per_model, with_intervals
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.variants.alterations import COUNTS

_COUNTS = (*COUNTS, "original")

_TABLES: tuple[tuple[str, Mapping[str, str], str], ...] = (
    *(
        (
            f"{title} by number of options",
            {f"{count} options" if count != "original" else "original options": f"{name}@{count}" for count in _COUNTS},
            note,
        )
        for title, name, note in (
            ("Accuracy", "acc", "Accuracy in the first order (REVAS, Figure 3 and Table 9)."),
            ("Consistency", "sc", "Share of orders with the most frequent pick, right or wrong (MCQA+, eq. 1 and 2)."),
            ("Hard accuracy", "acc_h", "Share of questions answered correctly in all orders (MCQA+, Table 8)."),
        )
    ),
    (
        "“None of the above” as the right option",
        {
            "accuracy": "nota_acc",
            "difference to the original": "nota_acc_diff",
            "hard accuracy": "nota_acc_h",
            "difference to the original's hard accuracy": "nota_acc_h_diff",
            "◆ accuracy": "nota_acc_always_right",
            "◆ difference": "nota_acc_diff_always_right",
            "◆ hard accuracy": "nota_acc_h_always_right",
            "◆ difference of hard accuracy": "nota_acc_h_diff_always_right",
        },
        "◆: only questions answered correctly in all orders of the original (MCQA+, Table 3).",
    ),
    (
        "True or false",
        {
            "right option: answered yes": "tf_right",
            "wrong options: answered no": "tf_wrong",
            "P(yes), right option": "confidence_right",
            "P(yes), most likely wrong option": "confidence_wrong",
            "ratio, wrong to right": "confidence_ratio",
            "P(yes) / (P(yes) + P(no)), right option": "confidence_right_norm",
            "P(yes) / (P(yes) + P(no)), most likely wrong option": "confidence_wrong_norm",
            "ratio of these, wrong to right": "confidence_ratio_norm",
            "P(yes) + P(no), all questions": "yes_no_mass",
        },
        "Only questions marked ◆ above (MCQA+, Tables 4 and 5).",
    ),
    (
        "Misleading options",
        {
            "several options selected": "multi_share",
            "if several are selected: right option included": "recall_right_multi",
            "if several are selected: misleading option included": "recall_misleading_multi",
            "right option selected": "recall_right",
            "misleading option selected": "recall_misleading",
            "correct after the misleading option is replaced": "replaced_acc",
        },
        "Only questions marked † above. The misleading option is the wrong option that the model picked in the "
        "original (MCQA+, Table 6).",
    ),
)
"""Title, label and metric of each row, and source of each table."""

_SUBSETS = {
    "all": "all",
    "always_right": "◆ correct in all orders",
    "wrong": "wrong in the original",
    "misled": "† wrong option picked in the original",
    "no_misleading_option": "no valid answer in the original",
}


def study_tables(runs: Sequence[Run]) -> list[Table]:
    """Make the tables of the REVAS study. The first table counts the questions of each subset."""
    sizes = [run.studies.get("questions") or {} for run in runs]
    counted: list[list[Cell]] = [[label, *(size.get(name, "") for size in sizes)] for name, label in _SUBSETS.items()]
    tables = [Table("Questions of the study", ["questions", *models(runs)], counted), _buckets(runs)]
    for title, labels, note in _TABLES:
        present = {label: name for label, name in labels.items() if any(name in run.estimates for run in runs)}
        rows: list[list[Cell]] = [
            [label, *(cell for run in runs for cell in _with_interval(run, name))] for label, name in present.items()
        ]
        tables.append(Table(title, with_intervals("", runs), rows, note))
    return [table for table in tables if table.rows]


def _with_interval(run: Run, name: str) -> tuple[Number, str]:
    number = Number.of(run.estimates.get(name, UNDEFINED), signed="_diff" in name)
    return number, number.interval


def _buckets(runs: Sequence[Run]) -> Table:
    found = [run.studies.get("sc_buckets") or {} for run in runs]
    names = dict.fromkeys(name for buckets in found for name in buckets)
    rows: list[list[Cell]] = []
    for name in names:
        row: list[Cell] = [name]
        for buckets in found:
            bucket = buckets.get(name)
            row += [Number.of(bucket["share"]), Number.of(bucket["accuracy"])] if bucket else ["", ""]
        rows.append(row)
    return Table(
        "Frequency of the most frequent pick in the original orders",
        per_model("frequency", runs, "questions", "correct"),
        rows,
        "Share of the questions with this frequency, and share of these picks that are correct. If all picks differ, "
        "none is the most frequent (REVAS, Table 2).",
    )


_ROW = {
    "acc_mean": "Accuracy, mean of all predictions",
    "acc_min": "Accuracy, lowest",
    "acc_max": "Accuracy, highest",
    "cr_all": "Consistency rate, all probes (as in SCORE's text)",
    "cr_prompts_order": "Consistency rate, prompts and order (as in SCORE's Table 7)",
}


def aggregated_sections(runs: Iterable[Run]) -> list[Section]:
    """Make SCORE's aggregated row for each benchmark with several SCORE probes of one model."""
    benchmarks: dict[str, dict[str, dict[str, Run]]] = {}
    for run in runs:
        if run.probe.in_aggregate and run.form == "generate" and run.table.is_whole:
            benchmarks.setdefault(run.family, {}).setdefault(run.model, {})[run.probe.name] = run
    sections = []
    for benchmark, by_model in benchmarks.items():
        several = {model: parts for model, parts in by_model.items() if len(parts) > 1}
        if several:
            sections.append(_aggregated(benchmark, several))
    return sections


def _aggregated(benchmark: str, by_model: Mapping[str, Mapping[str, Run]]) -> Section:
    rows_of = {}
    for model, parts in by_model.items():
        tables: dict[str, ResponseTable] = {probe: run.table for probe, run in parts.items()}
        macro = any("macro_acc" in run.metrics for run in parts.values())
        rows_of[model] = metrics.aggregated(macro=macro, **tables)
    rows: list[list[Cell]] = [
        [label, *(Number.of(getattr(row, name)) for row in rows_of.values())] for name, label in _ROW.items()
    ]
    rows.append(["probes", *(", ".join(parts) for parts in by_model.values())])
    rows.append(["accuracies (templates, positions, samples)", *(row.predictions for row in rows_of.values())])
    rows.append(["questions common to all probes", *(row.questions for row in rows_of.values())])
    table = Table("SCORE's aggregated row", ["", *rows_of], rows, "SCORE, Table 7 and section 4.4.")
    (first, parts), *others = by_model.items()
    notes = [(model, f"not comparable with {first}: {why}") for model, own in others if (why := _unlike(parts, own))]
    return Section(f"{benchmark}: SCORE", "the SCORE probes together", [table], notes=notes)


def _unlike(one: Mapping[str, Run], other: Mapping[str, Run]) -> str:
    if one.keys() != other.keys():
        return f"its probes are {', '.join(other)} instead of {', '.join(one)}"
    return next(filter(None, (not_comparable(run, other[probe]) for probe, run in one.items())), "")
