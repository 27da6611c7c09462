"""Runs -> a report: what is worth showing about each task, the most important first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import nan

from tqdm import tqdm

from lm_eval_cora.answers import TOO_MANY_INVALID
from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.meanings import MEANINGS
from lm_eval_cora.probes import divergent, order, plus, revas
from lm_eval_cora.report import stories, study, tables
from lm_eval_cora.report.compare import not_comparable, told_apart
from lm_eval_cora.report.content import Block, Cell, Number, Report, Section, Table
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

_OVERVIEW = ("acc", "mcqa", "bmca@1.0", "cora", "consistency_rate", "invalid")


def make_report(runs: Sequence[Run], title: str = "Consistency of the answers") -> Report:
    """Put together what there is to say about runs.

    Args:
        runs: As `read_runs` returns them.
        title: Title of the report.

    Returns:
        A section per task, its models side by side, and one per benchmark with several probes of SCORE.
    """
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    # On a terminal only.
    bar = tqdm(by_task.items(), "computing", unit="task", disable=None, leave=False)
    sections = [_section(task, members) for task, members in bar]
    overview = _overview(by_task) if len(runs) > 1 else None
    return Report(title, [*sections, *study.aggregated_sections(runs)], overview, _glossary(runs))


def _overview(by_task: dict[str, list[Run]]) -> Table:
    """Each run in a row."""
    rows: list[list[Cell]] = []
    for task, runs in by_task.items():
        for run in runs:
            scores = [Number(run.estimates.get(name, UNDEFINED).value) for name in _OVERVIEW]
            rows.append([task, run.model, len(run.table.sizes), *scores])
    note = (
        "Right answers: of all (acc), of the questions as they are (mcqa), of the questions right in all variants "
        "(bmca@1.0). Standard errors are below."
    )
    return Table("Overview", ["task", "model", "questions", *_OVERVIEW], rows, note, sortable=True)


def _glossary(runs: Sequence[Run]) -> Table:
    """What the metrics mean."""
    names: dict[str, dict[str, None]] = {}
    for run in runs:
        for entry in run.entries:
            if entry["metric"] in run.estimates:
                names.setdefault(entry["aggregation"].__name__, {})[entry["metric"]] = None
    rows = [[", ".join(called), MEANINGS[function]] for function, called in names.items()]
    note = (
        "RC(i) is the share of the variants of question i that are answered right. A question's original is the "
        "question as its benchmark asks it; NOTA is the option “None of the above”."
    )
    return Table("What the metrics mean", ["metric", "meaning"], rows, note)


def _section(task: str, runs: Sequence[Run]) -> Section:
    probe = runs[0].probe
    first, *others = runs
    unlike = [(run.model, reason) for run in others if (reason := not_comparable(first, run))]
    readers = " and ".join(dict.fromkeys(run.reader for run in runs if run.reader))
    form = "letters scored" if first.form == "loglikelihood" else f"answers written, read by the {readers} reader"
    return Section(
        title=task,
        subtitle=f"{_ASKS[probe]}; {form}",
        blocks=list(_blocks(probe, runs, alike=not unlike)),
        more=list(_more(probe, runs)),
        signatures=[(run.model, run.signature) for run in runs if run.signature],
        notes=[
            *((run.model, note) for run in runs for note in (*_invalid(run), *run.warnings)),
            *((model, f"not asked the same as {first.model}, so there are no ranks: {why}") for model, why in unlike),
            *((run.model, f"beside {first.model}: {why}") for run in others for why in told_apart(first, run)),
        ],
    )


def _invalid(run: Run) -> Iterator[str]:
    """A warning where so many answers are invalid that the scores say little else."""
    share = run.table.invalid.sum() / run.table.answers if run.table.answers else nan
    if share > TOO_MANY_INVALID:
        reasons = Counter(record.reason for answers in run.answers.values() for record in answers if record.reason)
        ((reason, count),) = reasons.most_common(1)
        yield (
            f"{share:.0%} of the answers are invalid (most of them: {reason}, {count:,}), so the scores say little "
            "about what the model knows. README.md has what helps: a chat template, room to finish"
        )


def _blocks(probe: str, runs: Sequence[Run], *, alike: bool) -> Iterator[Block]:
    yield tables.score_table(runs, ranked=alike)
    whole = _whole(runs)
    if _in_several_variants(whole):
        if probe in (divergent.NAME, plus.NAME):
            yield tables.bmca_curve(whole)
        yield tables.accuracy_ranges(whole)
        yield tables.by_kind(whole)
        if probe == order.NAME and (picks := tables.picks_by_letter(whole)):
            yield picks
    if alike and len(runs) > 1:
        yield tables.differences(runs)


def _more(probe: str, runs: Sequence[Run]) -> Iterator[Block]:
    if not (runs := _whole(runs)):
        return
    optional: list[Block | None] = []
    if probe == revas.NAME:
        optional += study.study_tables(runs)
    if _in_several_variants(runs):
        optional.append(tables.by_category(runs))
        if probe == divergent.NAME:
            optional += [tables.same_size(runs), tables.resampled(runs)]
        optional.append(tables.with_references(runs))
    optional.append(stories.invalid_answers(runs))
    optional += [stories.least_consistent(run) for run in runs]
    yield from (block for block in optional if block is not None)


def _whole(runs: Sequence[Run]) -> list[Run]:
    """The runs of which all variants were asked: answers that were selected tell no more than their metrics."""
    return [run for run in runs if run.table.is_whole]


def _in_several_variants(runs: Sequence[Run]) -> bool:
    """Whether there is anything to be consistent about: the cheap MCQA+ asks one variant of each question."""
    return any((run.table.sizes > 1).any() for run in runs)
