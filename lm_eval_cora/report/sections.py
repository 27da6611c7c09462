"""Runs -> a report: what is worth showing about each task, the most important first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from inspect import getdoc
from typing import Any

from tqdm import tqdm

from lm_eval_cora.probes import divergent, order, plus, revas
from lm_eval_cora.report import stories, study, tables
from lm_eval_cora.report.compare import not_comparable
from lm_eval_cora.report.content import Block, Report, Section, Table
from lm_eval_cora.report.runs import Run

_ASKS = {
    "divergent": "each question with its options reordered, thinned out and joined by “None of the above” (CoRA)",
    "plus": "each question with more and fewer options, “None of the above” as the answer, and true or false (MCQA+)",
    "revas": "the study of REVAS and MCQA+: orders, numbers of options, “None of the above”, true or false, select all",
    "prompts": "each question in ten templates (SCORE)",
    "order": "each question with the right option at each position (SCORE)",
    "sampling": "each question five times, with chance in the answer (SCORE)",
}
"""What the probes ask."""


def make_report(runs: Sequence[Run], title: str = "Consistency of the answers") -> Report:
    """Put together what there is to say about runs.

    Args:
        runs: As `read_runs` returns them.
        title: Title of the report.

    Returns:
        A section per benchmark with several probes of SCORE, then one per task, its models side by side.
    """
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    # On a terminal only.
    bar = tqdm(by_task.items(), "computing", unit="task", disable=None, leave=False)
    sections = [_section(task, members) for task, members in bar]
    return Report(title, [*study.aggregated_sections(runs), *sections], _glossary(runs))


def _glossary(runs: Sequence[Run]) -> Table:
    """What the metrics mean, in the first words of their documentation."""
    names: dict[Callable[..., Any], dict[str, None]] = {}
    for entry in (entry for run in runs for entry in run.entries):
        names.setdefault(entry["aggregation"], {})[entry["metric"]] = None
    rows = [[", ".join(called), (getdoc(function) or "").partition("\n")[0]] for function, called in names.items()]
    return Table("What the metrics mean", ["metric", "meaning"], rows, "README.md has their sources.")


def _section(task: str, runs: Sequence[Run]) -> Section:
    probe = runs[0].probe
    unlike = [(run.model, reason) for run in runs[1:] if (reason := not_comparable(runs[0], run))]
    form = "letters scored" if runs[0].form == "loglikelihood" else "answers written"
    return Section(
        title=task,
        subtitle=f"{_ASKS[probe]}; {form}",
        blocks=list(_blocks(probe, runs, alike=not unlike)),
        signatures=[(run.model, run.signature) for run in runs if run.signature],
        notes=[
            *((run.model, note) for run in runs for note in _notes(run)),
            *((model, f"not asked the same as {runs[0].model}, so there are no ranks: {why}") for model, why in unlike),
        ],
    )


def _notes(run: Run) -> Iterator[str]:
    yield from run.notes
    if not run.results:
        yield "there is no results file beside the samples, so the numbers are not checked against it"
    if run.differences:
        yield f"the results file says something else than its samples: {'; '.join(run.differences)}"


def _blocks(probe: str, runs: Sequence[Run], *, alike: bool) -> Iterator[Block]:
    yield tables.score_table(runs, ranked=alike)
    if alike and len(runs) > 1:
        yield tables.differences(runs)
    if any(len(run.table.sizes) and (run.table.sizes > 1).any() for run in runs):
        if probe in (divergent.NAME, plus.NAME):
            yield tables.bmca_curve(runs)
        yield tables.accuracy_ranges(runs)
        yield tables.by_kind(runs)
    optional: list[Block | None] = [
        tables.picks_by_letter(runs) if probe == order.NAME else None,
        tables.by_category(runs),
    ]
    if probe == revas.NAME:
        optional += study.study_tables(runs)
    if probe == divergent.NAME:
        optional += [tables.same_size(runs), tables.resampled(runs)]
    optional += [tables.with_references(runs), stories.invalid_answers(runs)]
    optional += [stories.least_consistent(run) for run in runs]
    yield from (block for block in optional if block is not None)
