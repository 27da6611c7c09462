"""Make the report of runs: a section per task with its tables, charts and examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import nan

from tqdm import tqdm

from lm_eval_cora.answers import TOO_MANY_INVALID
from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.meanings import MEANINGS
from lm_eval_cora.probes import Probe
from lm_eval_cora.report import examples, study, tables
from lm_eval_cora.report.compare import not_comparable, told_apart
from lm_eval_cora.report.content import Block, Cell, Number, Report, Section, Table
from lm_eval_cora.report.runs import Run

BLOCKS: dict[str, Callable[[Sequence[Run]], Block | Sequence[Block] | None]] = {
    block.__name__: block
    for block in (
        *(tables.bmca_curve, tables.accuracy_ranges, tables.by_kind, tables.picks_by_letter),
        *(tables.by_category, tables.same_size, tables.resampled, tables.with_references, study.study_tables),
    )
}
"""The tables and charts that a probe can name in `charts` and `tables`."""

_OVERVIEW = ("acc", "mcqa", "bmca@1.0", "cora", "consistency_rate", "invalid")


def make_report(runs: Sequence[Run], title: str = "Consistency of the answers") -> Report:
    """Make the report of runs.

    Args:
        runs: Runs, as `read_runs` returns them.
        title: Title of the report.

    Returns:
        A report with a section per task, which shows the models side by side, and a section per benchmark with several
        probes of SCORE.
    """
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    # disable=None hides the bar unless stderr is a terminal.
    bar = tqdm(by_task.items(), "computing", unit="task", disable=None, leave=False)
    sections = [_section(task, members) for task, members in bar]
    overview = _overview(by_task) if len(runs) > 1 else None
    return Report(title, [*sections, *study.aggregated_sections(runs)], overview, _glossary(runs))


def _overview(by_task: dict[str, list[Run]]) -> Table:
    """Make the table with one row per run."""
    rows: list[list[Cell]] = []
    for task, runs in by_task.items():
        for run in runs:
            scores = [Number(run.estimates.get(name, UNDEFINED).value) for name in _OVERVIEW]
            rows.append([task, run.model, len(run.table.sizes), *scores])
    note = (
        "acc: share of correct answers. mcqa: share of originals answered correctly. bmca@1.0: share of questions with "
        "all variants answered correctly. The standard errors are in the tables below."
    )
    return Table("Overview", ["task", "model", "questions", *_OVERVIEW], rows, note, sortable=True)


def _glossary(runs: Sequence[Run]) -> Table:
    """Make the table of the meanings of metrics and kinds of variants."""
    names: dict[str, dict[str, None]] = {}
    for run in runs:
        for entry in run.entries:
            if entry["metric"] in run.estimates:
                names.setdefault(entry["aggregation"].__name__, {})[entry["metric"]] = None
    rows = [[", ".join(called), MEANINGS[function]] for function, called in names.items()]
    kinds = {kind: meaning for run in runs for kind, meaning in run.probe.kinds.items() if kind in run.table.kinds}
    rows += [[f"kind {kind}", meaning] for kind, meaning in kinds.items()]
    note = (
        "RC(i) is the share of the variants of question i answered correctly. The original of a question is the "
        "question as its benchmark asks it. NOTA is the option “None of the above”."
    )
    if any("misled" in meaning for _, meaning in rows):
        note += " A question is misled if the model picks a wrong option in its original."
    return Table("Meaning of the metrics and of the kinds of variants", ["name", "meaning"], rows, note)


def _section(task: str, runs: Sequence[Run]) -> Section:
    first, *others = runs
    probe = first.probe
    unlike = [(run.model, reason) for run in others if (reason := not_comparable(first, run))]
    readers = " and ".join(dict.fromkeys(run.reader for run in runs if run.reader))
    form = "scored answers" if first.form == "loglikelihood" else f"written answers, read by the {readers} reader"
    return Section(
        title=task,
        subtitle=f"{probe.summary}; {form}",
        blocks=list(_blocks(probe, runs, alike=not unlike)),
        more=list(_more(probe, runs)),
        signatures=[(run.model, run.signature) for run in runs if run.signature],
        notes=[
            *((run.model, note) for run in runs for note in (*_invalid(run), *run.warnings)),
            *((model, f"not comparable with {first.model}, so there are no ranks: {why}") for model, why in unlike),
            *((run.model, f"compared with {first.model}: {why}") for run in others for why in told_apart(first, run)),
        ],
    )


def _invalid(run: Run) -> Iterator[str]:
    """Yield a warning if so many answers are invalid that the scores say little about the model."""
    share = run.table.invalid.sum() / run.table.answers if run.table.answers else nan
    if share > TOO_MANY_INVALID:
        reasons = Counter(record.reason for record in run.invalid)
        ((reason, count),) = reasons.most_common(1)
        yield (
            f"{share:.0%} of the answers are invalid (most frequent reason: {reason}, {count:,} answers), so the "
            "scores say little about what the model knows. If the model is a chat model, add --apply_chat_template. If "
            "responses are cut off, raise the token limit: --gen_kwargs max_gen_toks=N"
        )


def _blocks(probe: Probe, runs: Sequence[Run], *, alike: bool) -> Iterator[Block]:
    yield tables.score_table(runs, ranked=alike)
    whole = _whole(runs)
    if _in_several_variants(whole):
        yield from _built(probe.charts, whole)
    if alike and len(runs) > 1:
        yield tables.differences(runs)


def _more(probe: Probe, runs: Sequence[Run]) -> Iterator[Block]:
    if not (runs := _whole(runs)):
        return
    if _in_several_variants(runs):
        yield from _built(probe.tables, runs)
    for block in (examples.invalid_answers(runs), *map(examples.least_consistent, runs)):
        if block is not None:
            yield block


def _built(names: Sequence[str], runs: Sequence[Run]) -> Iterator[Block]:
    for name in names:
        built = BLOCKS[name](runs)
        if isinstance(built, Sequence):
            yield from built
        elif built is not None:
            yield built


def _whole(runs: Sequence[Run]) -> list[Run]:
    """The runs that asked all variants. The answers of the other runs are a biased selection."""
    return [run for run in runs if run.table.is_whole]


def _in_several_variants(runs: Sequence[Run]) -> bool:
    """Whether any question has several variants. With the option `variants`, MCQA+ may ask one variant per question."""
    return any((run.table.sizes > 1).any() for run in runs)
