"""Views of scores: the models of a task, all metrics, all runs of a probe, SCORE's row, and everything as data."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import isnan, nan

from lm_eval_cora import metrics
from lm_eval_cora.metrics.accuracy import ALL_RIGHT
from lm_eval_cora.metrics.consistency import CORA_FALLS
from lm_eval_cora.metrics.entries import Entry, is_in_table, place_of, ranks_models
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, for_json
from lm_eval_cora.metrics.facts import falls
from lm_eval_cora.report.content import Section
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.model_run import Run, Runs, by_task, check_metrics, lead_of
from lm_eval_cora.runs.task_files import printed_name
from lm_eval_cora.tables.number import FALLS, Number
from lm_eval_cora.tables.table import Cell, CellRows, Table

Scores = Mapping[str, Estimate]  # of a model, by name of the metric
MAIN = ("mcqa", ALL_RIGHT, "consistency_rate", "invalid")  # in the table of models, after the one that leads
BOLD = "Bold: the best model, and all models that cannot be told apart from it; nothing if these are all models."
_MARKS = f" {BOLD} The differences are paired by question, and their intervals hold for all pairs of models together."
_NO_MARK = " ci has no mark, because it is also high for a model that answers few originals correctly."
_BOLD_ON_PAPER = " Bold: best, or not told apart from the best (paired, all models together)."
_UNLIKE_ON_PAPER = " Not all models of a task were asked the same."
_EARLY_ON_PAPER = " Some variants were not asked."
_FALLS_ON_PAPER = f" {FALLS}: CoRA falls with the accuracy here."
_EARLY = " †: the run did not ask all variants (--stop, --budget or --until)."
NO_BEST = (
    "The scores disagree: the highest CoRA falls with the accuracy, and another model has more questions right in all "
    "variants. So CoRA marks no model as the best."
)


def in_words(kind: str) -> str:
    """The name of a kind of variant as a chart prints it."""
    return kind.replace("_", " ")


def models(runs: Iterable[Run]) -> list[str]:
    """The names of the models."""
    return [run.model for run in runs]


def score_table(runs: Runs, *, comparable: bool) -> Table:
    """Make the table of all scores: a metric per row; for each model the value with its error, and the interval."""
    entries = {entry["metric"]: entry for run in runs for entry in run.entries if is_in_table(entry)}
    if acc_is_mcqa_plus(runs):
        entries.pop("acc", None)
    rows: dict[str, list[tuple[Cell, str]]] = {}
    for name, entry in sorted(entries.items(), key=lambda item: place_of(item[1])):
        numbers = _marked(runs, entry, comparable=comparable)
        rows[name] = [number.with_interval for number in numbers]
        if name == "consistency_rate" and not runs[0].table.written.any():
            chance = [metrics.chance_consistency_rate(run.table) if run.table.is_whole else nan for run in runs]
            rows["consistency_rate by chance"] = [(Number(value), "") for value in chance]
        if name == "recall_spread":
            by_chance = [run.estimates.get("recall_spread_by_chance", UNDEFINED) for run in runs]
            rows["recall_spread by chance"] = [(Number.of(estimate), "") for estimate in by_chance]
    rows["questions"] = [(len(run.table.sizes), "") for run in runs]
    rows["answers"] = [(run.table.answers, "") for run in runs]
    cells = [{name: row[place] for name, row in rows.items()} for place in range(len(runs))]
    values = [value for row in rows.values() for value, _ in row]
    marks = f"{_MARKS}{_NO_MARK}" if any(map(_is_best, values)) else ""
    note = f"Value ± standard error and 95% interval; the {unit_of(runs)} is the unit of both.{marks}{_falls(values)}"
    return replace(Table.by_model("All scores", "metric", models(runs), ["", "95%"], cells, note), explained=True)


def acc_is_mcqa_plus(runs: Runs) -> bool:
    """Whether both are the same number by definition, because all questions have as many variants."""
    return all("mcqa_plus" in run.estimates and len(set(run.table.sizes)) == 1 for run in runs)


def number_of_questions(runs: Runs) -> str:
    """The number of questions as text; the smallest and the largest number if runs differ."""
    by_count = {run.count: run.size for run in runs}
    smallest = f"{min(by_count):,} to " if len(by_count) > 1 else ""
    return f"{smallest}{by_count[max(by_count)]}"


def main_of(runs: Runs) -> list[str]:
    """The metrics of a table with room for few."""
    return list(dict.fromkeys((lead_of(runs), "mcqa", ALL_RIGHT)))


def unit_of(runs: Runs) -> str:
    """The unit of the errors: the question or document, or the passage that questions share."""
    return runs[0].units[:-1] if all(run.table.cluster is None for run in runs) else "passage"


def model_table(runs: Runs, lead: str, *, comparable: bool) -> Table:
    """Make the table of the main scores: a model per row, the best first."""
    ordered = sorted(runs, key=lambda run: -run.estimates[lead].value)
    entries = {entry["metric"]: entry for entry in runs[0].entries}
    names = [name for name in dict.fromkeys((lead, *MAIN)) if all(name in run.estimates for run in runs)]
    columns = [_marked(ordered, entries[name], comparable=comparable) for name in names]
    by_run = zip(ordered, zip(*columns, strict=True), strict=True)
    rows: CellRows = [
        [run.model + " †" * _is_early(run), *first.with_interval, *others] for run, (first, *others) in by_run
    ]
    cells = list(chain.from_iterable(rows))
    marks = _MARKS if any(map(_is_best, cells)) else ""
    early = _EARLY if any(map(_is_early, runs)) else ""
    note = f"Value ± standard error; the {unit_of(runs)} is its unit.{marks}{_falls(cells)}{early}"
    return Table("Models", ["model", names[0], f"95% of {names[0]}", *names[1:]], rows, note, sortable=True)


def _is_early(run: Run) -> bool:
    return bool(run.table.not_begun) or not run.table.is_whole


def _is_best(cell: Cell) -> bool:
    return isinstance(cell, Number) and cell.best


def _falls(cells: Iterable[Cell]) -> str:
    """The reason for the mark of a value of `cora`, if a cell has it."""
    return f" {FALLS} {CORA_FALLS}" if any(isinstance(cell, Number) and cell.falls for cell in cells) else ""


def in_bold(metric: str, scores: Sequence[Scores], *, higher: bool) -> set[int]:
    """The models to print in bold, by the rule `BOLD`; none if the scores disagree, see `NO_BEST`."""
    estimates = [own.get(metric, UNDEFINED) for own in scores]
    best = metrics.leading(estimates, higher=higher)
    are_alike = len(best) == sum(not isnan(estimate.value) for estimate in estimates)
    return set() if are_alike or scores_disagree(metric, scores) else best


def scores_disagree(metric: str, scores: Sequence[Scores]) -> bool:
    """Whether the highest CoRA falls, and another model has more questions right in all variants; see `NO_BEST`."""
    known = [own for own in scores if not isnan(own.get(metric, UNDEFINED).value)]
    top = max(known, key=lambda own: own[metric].value, default={})
    if not falls(metric, top):
        return False
    return any(own.get(ALL_RIGHT, UNDEFINED).value > top[ALL_RIGHT].value for own in scores)


def _marked(runs: Runs, entry: Entry, *, comparable: bool) -> list[Number]:
    """The numbers of a metric, with marks if there are several models and a better direction; see _NO_MARK."""
    name, higher, scores = entry["metric"], entry.get("higher_is_better"), [run.estimates for run in runs]
    can_have_marks = comparable and higher is not None and ranks_models(entry)
    bold = in_bold(name, scores, higher=bool(higher)) if can_have_marks else set()
    return [Number.of_metric(name, own, best=place in bold) for place, own in enumerate(scores)]


def overviews(by_task: Mapping[str, Runs]) -> list[Table]:
    """Make a table per probe, with a row per run. Scores of different probes cannot be compared."""
    tables = []
    for name, runs in grouped_by(chain.from_iterable(by_task.values()), lambda run: run.probe.name).items():
        probe = runs[0].probe
        shown = dict.fromkeys(key for key in (*probe.ranked_by, *MAIN) if any(key in run.estimates for run in runs))
        scores = [[Number.of_metric(key, run.estimates) for key in shown] for run in runs]
        rows: CellRows = [[run.task, run.model, *own] for run, own in zip(runs, scores, strict=True)]
        note = f"{probe.summary[:1].upper()}{probe.summary[1:]}.{_falls(chain.from_iterable(scores))}"
        tables.append(Table(f"All runs of the probe {name}", ["task", "model", *shown], rows, note, sortable=True))
    return tables


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
    several = {
        benchmark: {model: parts for model, parts in by_model.items() if len(parts) > 1}
        for benchmark, by_model in benchmarks.items()
    }
    return [_aggregated(benchmark, by_model) for benchmark, by_model in several.items() if by_model]


def _aggregated(benchmark: str, by_model: Mapping[str, Mapping[str, Run]]) -> Section:
    cells: list[dict[str, list[Cell]]] = []
    for parts in by_model.values():
        macro = any("macro_acc" in run.source.metrics for run in parts.values())
        row = metrics.aggregated(macro=macro, **{probe: run.table for probe, run in parts.items()})
        cells.append({label: [Number.of(getattr(row, name))] for name, label in _ROW.items()})
        cells[-1]["probes"] = [", ".join(parts)]
        cells[-1]["accuracies (templates, positions, samples)"] = [row.predictions]
        cells[-1]["questions common to all probes"] = [row.questions]
    table = Table.by_model("SCORE's aggregated row", "", list(by_model), [""], cells, "SCORE, Table 7 and section 4.4.")
    (first, parts), *others = by_model.items()
    notes = [(model, f"not comparable with {first}: {why}") for model, own in others if (why := _unlike(parts, own))]
    return Section(f"{benchmark}: SCORE", "the SCORE probes together", [table], notes=notes)


def _unlike(one: Mapping[str, Run], other: Mapping[str, Run]) -> str:
    if one.keys() != other.keys():
        return f"its probes are {', '.join(other)} instead of {', '.join(one)}"
    return next(filter(None, (not_comparable(run, other[probe]) for probe, run in one.items())), "")


def as_json(runs: Sequence[Run]) -> str:
    """Write every metric of every run with its error and 95% interval as JSON; undefined numbers are null."""
    found = [
        {
            "model": run.model,
            "task": run.task,
            "probe": run.probe.name,
            "form": run.form,
            **identity_of(run),
            "questions": len(run.table.sizes),
            "answers": run.table.answers,
            "files": [str(path) for path in run.files],
            "notes": run.warnings,
            "differs_from_results": run.differences,
            "metrics": for_json(run.estimates),
            "study": for_json(run.studies),
        }
        for run in runs
    ]
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def identity_of(run: Run) -> dict[str, str | None]:
    """What identifies a run: its model, reader, data and signature."""
    data = {"benchmark": run.data.name or None, "data": run.data.digest or None}
    return {"model": run.model, "reader": run.reader, **data, "signature": run.signature or None}


def paper_tables(
    runs: Sequence[Run], metrics: Sequence[str] = (), rows: str = "", width: int = 0, *, intervals: bool = False
) -> list[Table]:
    """The main or chosen scores of all tasks in one table for a paper, the best models in bold."""
    check_metrics(metrics, runs)
    tasks = [own for own in by_task(runs).values() if lead_of(own)]
    names = list(metrics or dict.fromkeys(chain.from_iterable(map(main_of, tasks))))
    cells: dict[Run, Sequence[Number]] = {}
    unlike = ""
    for own in tasks:
        comparable = not any(not_comparable(own[0], run) for run in own[1:])
        unlike = unlike if comparable else _UNLIKE_ON_PAPER
        entries = {entry["metric"]: entry for entry in own[0].entries}
        columns = [_marked(own, entries.get(name, {"metric": name}), comparable=comparable) for name in names]
        cells |= zip(own, zip(*columns, strict=True), strict=True)
    bold = _BOLD_ON_PAPER if any(map(_is_best, chain(*cells.values()))) else ""
    return on_paper("Scores", names, cells, bold + unlike, rows=rows, width=width, intervals=intervals) if cells else []


def on_paper(
    what: str,
    names: Sequence[str],
    cells: Mapping[Run, Sequence[Number]],
    note: str,
    *,
    rows: str,
    width: int,
    intervals: bool,
) -> list[Table]:
    """Make one table of the numbers of runs, with a row per model or per task; several if it is too wide."""
    most = 3 if width == 1 else 6  # columns of numbers
    if len(names) > most:
        split = (
            (names[part], {run: own[part] for run, own in cells.items()}) for part in (slice(most), slice(most, None))
        )
        made = (on_paper(what, *each, note, rows=rows, width=width, intervals=intervals) for each in split)
        return [*chain.from_iterable(made)]
    shown = {run: [number.with_ends for number in own] if intervals else own for run, own in cells.items()}
    first, by_model = rows.removesuffix("s") or "model", rows == "tasks"
    groups = list(grouped_by(cells, lambda run: run.model if by_model else run.task).items())
    error, heads = "[95% interval]" if intervals else "± standard error", list(map(printed_name, names))
    early = _EARLY_ON_PAPER if any(map(_is_early, cells)) else ""
    falls = _FALLS_ON_PAPER if any(number.falls for number in chain(*cells.values())) else ""
    note = f"Value {error}, over {unit_of(list(cells))}s.{note}{early}{falls}"
    count, tables = most // max(1, len(names)), []
    for start in range(0, len(groups), count):
        part, runs = zip(*groups[start : start + count], strict=True)
        lines = [{run.task if by_model else run.model: shown[run] for run in own} for own in runs]
        title = f"{what} {'of' if by_model else 'on'} {', '.join(part)} ({number_of_questions(list(cells))})"
        tables.append(replace(Table.by_model(title, first, part, heads, lines, note), narrow=width == 1))
    return tables


def data_tables(runs: Sequence[Run], metrics: Sequence[str] = ()) -> list[Table]:
    """Every metric of every run with all digits, or the chosen ones: a row per model, task and metric."""
    check_metrics(metrics, runs)
    columns = ("model", "task", "metric", "value", "stderr", "low", "high", "questions", "answers", "signature")
    rows: CellRows = []
    for run in runs:
        about = (len(run.table.sizes), run.table.answers, run.signature, run.reader or "", *run.data)
        for name in (name for name in metrics or run.estimates if name in run.estimates):
            estimate = run.estimates[name]
            rows.append([run.model, run.task, name, *estimate, *estimate.interval, *about])
    return [Table("", (*columns, "reader", "benchmark", "data"), rows)]
