"""Make the report of runs: a section per task with its tables, charts and examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import nan

from tqdm import tqdm

from lm_eval_cora.answers import TOO_MANY_INVALID
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.report import examples, pictures, result_tables, tables
from lm_eval_cora.report.content import Block, Chart, Examples, HeatMap, Report, Section, Table
from lm_eval_cora.report.headline import headline, lead_of
from lm_eval_cora.runs.comparable import by_task, not_comparable, setting_differences
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.variants.probes import Probe

BLOCKS: dict[str, Callable[[Sequence[Run]], Block | Sequence[Block] | None]] = {
    block.__name__: block
    for block in (
        *(pictures.changes, pictures.heat_maps, pictures.letter_bias, pictures.letter_priors),
        *(tables.bmca_curve, tables.accuracy_ranges, tables.by_kind, tables.picks_by_letter),
        *(tables.by_category, tables.same_size, tables.resampled, tables.with_references, result_tables.study_tables),
    )
}
"""The tables and charts that a probe can name in `charts` and `tables`."""

_EXAMPLES = 120  # number of example questions on a page. It bounds the size of the page

_LEAST_CONSISTENT = 10


def make_report(runs: Sequence[Run], title: str = "Consistency of the answers") -> Report:
    """Make the report of runs."""
    groups = by_task(runs)
    # disable=None hides the bar unless stderr is a terminal.
    bar = tqdm(groups.items(), "computing", unit="task", disable=None, leave=False)
    sections = [_section(task, members, max(2, _EXAMPLES // len(runs))) for task, members in bar]
    overview = result_tables.overviews(groups) if len(groups) > 1 else ()
    return Report(title, [*sections, *result_tables.aggregated_sections(runs)], overview, _glossary(runs))


def charts_of(report: Report) -> list[tuple[str, Chart]]:
    """The charts of a report, each with the names of its task and of the chart."""
    charts: list[tuple[str, Chart]] = []
    for section in report.sections:
        for block in (section.headline and section.headline.picture, *section.blocks, *section.more):
            if isinstance(block, Chart) and all(block != chart for _, chart in charts):
                charts.append((f"{section.title} {block.title}", block))
    return charts


def _glossary(runs: Sequence[Run]) -> Table:
    """Make the table of the meanings of metrics and kinds of variants."""
    names: dict[str, list[str]] = {}
    for run in runs:
        for entry in run.entries:
            if entry["metric"] in run.estimates:
                names.setdefault(facts_of(entry["aggregation"]).meaning, []).append(entry["metric"])
    rows = [[", ".join(dict.fromkeys(called)), meaning] for meaning, called in names.items()]
    kinds = {kind: meaning for run in runs for kind, meaning in run.probe.kinds.items() if kind in run.table.kinds}
    rows += [[f"kind {kind}", meaning] for kind, meaning in kinds.items()]
    note = (
        "CoRA, the consistency-rebalanced accuracy, is mcqa * (1 - (mcqa - bmca@1.0)): the accuracy on the originals, "
        "reduced by the share of questions whose right answer does not survive all variants. "
        "The original of a question is the "
        "question as its benchmark asks it. NOTA is the option “None of the above”."
    )
    if any("misled" in meaning for _, meaning in rows):
        note += " A question is misled if the model picks a wrong option in its original."
    return Table("Meaning of the metrics and of the kinds of variants", ["name", "meaning"], rows, note)


def _section(task: str, runs: Sequence[Run], questions: int) -> Section:
    """Make the section of a task, with so many example questions of each model."""
    first, *others = runs
    probe = first.probe
    unlike = [(run.model, reason) for run in others if (reason := not_comparable(first, run))]
    alike = not unlike
    readers = " and ".join(dict.fromkeys(run.reader for run in runs if run.reader))
    forms = {
        None: "",
        "loglikelihood": "; scored answers",
        "generate": f"; written answers, read by the {readers} reader",
    }
    shown = headline(runs, alike=alike)
    more = [block for block in _more(probe, runs, questions, alike=alike) if block]
    blocks = [block for block in _blocks(probe, runs, shown.picture if shown else None, alike=alike) if block]
    return Section(
        title=task,
        subtitle=f"{result_tables.number_of_questions(runs)}: {probe.summary}{forms[first.form]}",
        headline=shown,
        blocks=list(_without_dead_links(blocks, more)),
        more=more,
        signatures=[(run.model, run.signature) for run in runs if run.signature],
        notes=[
            *((run.model, note) for run in runs for note in (*_invalid(run), *run.warnings)),
            *(
                (model, f"not comparable with {first.model}, so no model is marked as the best: {why}")
                for model, why in unlike
            ),
            *(
                (run.model, f"compared with {first.model}: {why}")
                for run in others
                for why in setting_differences(first, run)
            ),
        ],
    )


def _invalid(run: Run) -> Iterator[str]:
    """Yield a warning if so many answers are invalid that the scores say little about the model."""
    share = run.table.invalid.sum() / run.table.answers if run.table.answers else nan
    if share > TOO_MANY_INVALID:
        reasons = Counter(record.reason for record in run.invalid if record.reason)
        if not reasons:  # a file of answers
            yield f"{share:.0%} of the answers are invalid, so the scores say little about what the model knows"
            return
        ((reason, count),) = reasons.most_common(1)
        yield (
            f"{share:.0%} of the answers are invalid (most frequent reason: {reason}, {count:,} answers), so the "
            "scores say little about what the model knows. If the model is a chat model, add --apply_chat_template. If "
            "responses are cut off, raise the token limit: --gen_kwargs max_gen_toks=N"
        )


def _blocks(probe: Probe, runs: Sequence[Run], shown: Chart | None, *, alike: bool) -> Iterator[Block | None]:
    """Yield the tables and charts of a section, without the chart that the headline shows."""
    if len(runs) > 1 and (lead := lead_of(runs)):
        yield result_tables.model_table(runs, lead, alike=alike)
        if alike:
            yield pictures.paired(runs, lead)
            yield pictures.paired_by_kind(*runs) if len(runs) == 2 else None
    else:
        yield result_tables.score_table(runs, alike=alike)
    yield from (block for block in _built(probe.charts, runs) if block != shown)


def _more(probe: Probe, runs: Sequence[Run], questions: int, *, alike: bool) -> Iterator[Block | None]:
    if len(runs) > 1 and lead_of(runs):
        yield result_tables.score_table(runs, alike=alike)
    if len(runs) > 1 and alike:
        yield result_tables.differences(runs)
    yield from _built(probe.tables, runs)
    if whole := _whole(runs):
        least = min(_LEAST_CONSISTENT, questions // 3 + 1)
        yield examples.asked(whole)
        yield examples.invalid_answers(whole)
        yield from (examples.least_consistent(run, least) for run in whole)
        yield from (examples.from_easy_to_hard(run, questions - least) for run in whole)


def _without_dead_links(blocks: Sequence[Block], more: Sequence[Block]) -> Iterator[Block]:
    """Remove the links of heat maps to questions that the page does not show."""
    shown = {example.anchor for block in more if isinstance(block, Examples) for example in block.examples}
    for block in blocks:
        if isinstance(block, HeatMap):
            bands = [band if band.link in shown else band._replace(link="") for band in block.bands]
            block = replace(block, bands=bands)
        yield block


def _built(names: Sequence[str], runs: Sequence[Run]) -> Iterator[Block | None]:
    """Yield the named blocks of the runs that asked all variants, if any question has several variants.

    The answers of the other runs are a biased selection. With the option `variants`, MCQA+ may ask one variant.
    """
    whole = _whole(runs)
    for name in names if any((run.table.sizes > 1).any() for run in whole) else ():
        built = BLOCKS[name](whole)
        yield from built if isinstance(built, Sequence) else [built]


def _whole(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.table.is_whole]
