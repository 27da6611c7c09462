"""Make the report of runs: a section per task with its tables, charts and examples from the answers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import isnan, nan
from typing import Any

import numpy as np
from tqdm import tqdm

from lm_eval_cora.answers import TOO_MANY_INVALID, Reader
from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.records import Record, answer_in, around, places
from lm_eval_cora.metrics.consistency import agreement
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.metrics.noise import describe_noise
from lm_eval_cora.questions.question import ABSTAIN, LETTERS, shorten
from lm_eval_cora.report import content, pair_views, probe_views, score_views
from lm_eval_cora.report.content import Block, Chart, Example, Examples, Section, ShownAnswer
from lm_eval_cora.report.headline import headline
from lm_eval_cora.runs.comparable import not_comparable, setting_differences
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.model_run import Run, Runs, by_task, lead_of
from lm_eval_cora.runs.samples import known_response, prompt_in, response_text
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Cell, Table
from lm_eval_cora.variants.probes import PROBES, Probe

BLOCKS: dict[str, Callable[[Runs], Block | Sequence[Block] | None]] = {
    block.__name__: block
    for block in (
        *(probe_views.changes, probe_views.heat_maps, probe_views.letter_bias, probe_views.letter_priors),
        *(probe_views.bmca_curve, probe_views.accuracy_ranges, probe_views.by_kind, probe_views.picks_by_letter),
        *(probe_views.by_category, probe_views.same_size, probe_views.resampled, probe_views.with_references),
        probe_views.study_tables,
        probe_views.confidence,
    )
}
"""The tables and charts that a probe can name in `charts` and `tables`."""

if _UNKNOWN := {name for probe in PROBES.values() for name in (*probe.charts, *probe.tables)} - BLOCKS.keys():
    raise ImportError(f"a probe names tables or charts that do not exist: {sorted(_UNKNOWN)}")

_LONGEST, _LONGEST_EXCERPT = 1_000, 200
_EXAMPLES = 120  # number of example questions on a page. It bounds the size of the page
_LEAST_CONSISTENT, _CHANGED = 10, 30


def make_report(runs: Runs, title: str = "Consistency of the answers") -> content.Report:
    """Make the report of runs."""
    groups = by_task(runs)
    # disable=None hides the bar unless stderr is a terminal.
    bar = tqdm(groups.items(), "computing", unit="task", disable=None, leave=False)
    sections: list[Section] = []
    for task, members in bar:
        section = _section(task, members, max(2, _EXAMPLES // len(runs)))
        known = {note for earlier in sections for note in earlier.notes}
        sections.append(replace(section, notes=[note for note in section.notes if note not in known]))
    overview = [*(score_views.overviews(groups) if len(groups) > 1 else ()), *probe_views.validity(runs)]
    sections += score_views.aggregated_sections(runs)
    return content.Report(title, sections, overview, _glossary(runs))


def charts_of(report: content.Report) -> list[tuple[str, Chart]]:
    """The charts of a report, each with the name of its task."""
    charts: dict[str, tuple[str, Chart]] = {}  # by text, because nan differs from itself
    for section in report.sections:
        for block in (section.headline and section.headline.picture, *section.blocks, *section.more):
            if isinstance(block, Chart):
                charts.setdefault(repr(block), (section.title, block))
    return list(charts.values())


KIND = "kind "  # before the name of a kind of variant in the table of meanings


def _glossary(runs: Runs) -> Table:
    """Make the table of the meanings of metrics and kinds of variants."""
    names: dict[str, list[str]] = {}
    for run in runs:
        for entry in run.entries:
            if entry["metric"] in run.estimates:
                names.setdefault(facts_of(entry["aggregation"]).meaning, []).append(entry["metric"])
    rows = [[", ".join(dict.fromkeys(called)), meaning] for meaning, called in names.items()]
    kinds = {kind: meaning for run in runs for kind, meaning in run.probe.kinds.items() if kind in run.table.kinds}
    rows += [[KIND + kind, meaning] for kind, meaning in kinds.items()]
    note = (
        "CoRA, the consistency-rebalanced accuracy, is mcqa * (1 - (mcqa - bmca@1.0)): the accuracy on the originals "
        "times the consistency index. The original of a "
        "question is the question as its benchmark asks it. NOTA is the option “None of the above”."
    )
    if any("misled" in meaning for _, meaning in rows):
        note += " A question is misled if the model picks a wrong option in its original."
    return Table("Meaning of the metrics and of the kinds of variants", ["name", "meaning"], rows, note)


def _section(task: str, runs: Runs, questions: int) -> Section:
    """Make the section of a task, with so many example questions of each model."""
    first, *others = runs
    probe = first.probe
    unlike = [(run.model, reason) for run in others if (reason := not_comparable(first, run))]
    comparable = not unlike
    readers = " and ".join(dict.fromkeys(run.reader for run in runs if run.reader))
    forms = {"loglikelihood": "; scored answers", "generate": f"; written answers, read by the {readers} reader"}
    shown = headline(runs, comparable=comparable)
    more = [block for block in _more(probe, runs, questions, comparable=comparable) if block]
    blocks = [block for block in _blocks(probe, runs, shown.picture if shown else None, comparable=comparable) if block]
    notes = [(run.model, note) for run in runs for note in (*_invalid(run), *run.warnings)]
    notes += [(run.model, note) for run in runs if (note := describe_noise(run.table))]
    notes += [
        (model, f"not comparable with {first.model}, so no model is marked as the best: {why}") for model, why in unlike
    ]
    compared = f"compared with {first.model}: "
    notes += [(run.model, compared + why) for run in others for why in setting_differences(first, run)]
    by_note = grouped_by(notes, lambda note: note[1])
    return Section(
        title=task,
        subtitle=f"{score_views.number_of_questions(runs)}: {probe.summary}{forms.get(first.form or '', '')}",
        headline=shown,
        blocks=list(_without_dead_links(blocks, more)),
        more=more,
        signatures=[(run.model, run.signature) for run in runs if run.signature],
        notes=[(", ".join(model for model, _ in equal), note) for note, equal in by_note.items()],
        scores=score_views.model_table(runs, lead, comparable=comparable) if (lead := lead_of(runs)) else None,
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
        remedy = (
            ". If the model is a chat model, add --apply_chat_template. If responses are cut off, raise the token "
            "limit: --gen_kwargs max_gen_toks=N"
            if run.form == "generate"
            else ""
        )
        yield (
            f"{share:.0%} of the answers are invalid (most frequent reason: {reason}, {count:,} answers), so the "
            f"scores say little about what the model knows{remedy}"
        )


def _blocks(probe: Probe, runs: Runs, shown: Chart | None, *, comparable: bool) -> Iterator[Block | None]:
    """Yield the tables and charts of a section, without the chart that the headline shows."""
    if len(runs) > 1 and comparable and (lead := lead_of(runs)):
        yield pair_views.paired(runs, lead)
        yield pair_views.paired_by_kind(*runs) if len(runs) == 2 else None
    yield from (block for block in _built((*probe.charts, "confidence"), runs) if repr(block) != repr(shown))


def _more(probe: Probe, runs: Runs, questions: int, *, comparable: bool) -> Iterator[Block | None]:
    yield score_views.score_table(runs, comparable=comparable)
    if len(runs) > 1 and comparable:
        yield pair_views.differences(runs)
        yield what_changed(*runs) if len(runs) == 2 else None
    yield from _built(probe.tables, runs)
    if whole := [run for run in runs if run.table.is_whole]:
        least = min(_LEAST_CONSISTENT, questions // 3 + 1)
        yield asked(whole)
        yield invalid_answers(whole)
        yield from (least_consistent(run, least) for run in whole)
        yield from (from_easy_to_hard(run, questions - least) for run in whole)


def _without_dead_links(blocks: Sequence[Block], more: Sequence[Block]) -> Iterator[Block]:
    """Remove the links of heat maps to questions that the page does not show."""
    shown = {example.anchor for block in more if isinstance(block, Examples) for example in block.examples}
    for block in blocks:
        if isinstance(block, content.HeatMap):
            bands = [band if band.link in shown else band._replace(link="") for band in block.bands]
            block = replace(block, bands=bands)
        yield block


def _built(names: Sequence[str], runs: Runs) -> Iterator[Block | None]:
    """Yield the named blocks of the runs that asked all variants, if any question has several variants."""
    # The answers of the other runs are a biased selection. With the option `variants`, MCQA+ may ask one variant.
    whole = [run for run in runs if run.table.is_whole]
    for name in names if any((run.table.sizes > 1).any() for run in whole) else ():
        built = BLOCKS[name](whole)
        yield from built if isinstance(built, Sequence) else [built]


def least_consistent(run: Run, count: int) -> Examples | None:
    """Select the questions whose variants agree least; None if no question has comparable variants."""
    shares = agreement(run.table)
    defined = np.flatnonzero(np.isfinite(shares))
    chosen = defined[np.argsort(shares[defined], kind="stable")][:count].tolist()
    note = "The questions whose variants agree least. The right option and the picked option are marked."
    return _examples(run, chosen, f"The least consistent questions of {run.model}", note)


def from_easy_to_hard(run: Run, count: int) -> Examples | None:
    """Select questions from the easiest to the hardest, one per group of equally hard ones; None without questions."""
    numbers = [probe_views.example_of(members) for members in probe_views.bands_of(run)]
    chosen = numbers[:: -(-len(numbers) // max(1, count))] if numbers else []
    title = f"Questions of {run.model}, from the easiest to the hardest"
    note = "The rows of the chart of questions link to these. Each stands for its group."
    return _examples(run, chosen, title, note, linked=True)


def _examples(run: Run, numbers: Iterable[int], title: str, note: str, *, linked: bool = False) -> Examples | None:
    shares, examples = agreement(run.table), []
    for number in numbers:
        records = run.answers_to(run.table.question_ids[number])
        lines = [run.line(record) for record in records]
        doc, hits = lines[0]["doc"], sum(record.correct for record in records)
        has_reference = format_of(doc).is_open and doc["answer"]
        reference = f"; reference answer: {shorten(doc['answer'], 60)}" if has_reference else ""
        agree = "" if isnan(shares[number]) else f", {shares[number]:.2f} of the pairs agree"
        stem = str(doc.get("question", ""))
        summary = f"{hits} of {len(records)} right{agree}{reference}: {shorten(stem, 60)}"
        answers = [_answered(record, line, run.reader) for record, line in zip(records, lines, strict=True)]
        anchor = probe_views.anchor(run, number) if linked else ""
        examples.append(Example(records[0].question_id, _cut(stem), summary, answers, anchor))
    return Examples(title, examples, note) if examples else None


def what_changed(before: Run, after: Run) -> Examples | None:
    """Select the questions whose answers changed, those with the most lost variants first; None without a change."""
    changes, examples = pair_views.changes_of(before, after), []
    numbers = pair_views.most_lost(before, changes)
    changed = pair_views.changed_records(before, after, changes, numbers[:_CHANGED])
    for number, of_question in groupby(changed, lambda each: each[0]):
        found = list(of_question)
        question, counts = before.table.question_ids[number], Counter(name for _, name, _ in found)
        answers = [
            replace(_answered(record, run.line(record), run.reader), kind=f"{name}: {record.kind}, {run.model}")
            for _, name, pair in found
            for run, record in zip((before, after), pair, strict=True)
        ]
        stem = str(before.line(found[0][2][0])["doc"].get("question", ""))
        counted = ", ".join(f"{counts[name]} {name}" for name in changes if counts[name])
        summary = f"{counted} of {before.table.sizes[number]}: {shorten(stem, 60)}"
        examples.append(Example(question, _cut(stem), summary, answers))
    more = f" The first {_CHANGED} of {len(numbers):,} questions are shown." if len(numbers) > _CHANGED else ""
    note = (
        "Lost: right, then wrong. Won: wrong, then right. Other: another wrong answer. The questions with the most "
        f"lost variants come first.{more} All answers as a file: lm-eval-cora compare A B --changed -o changed.csv"
    )
    title = f"What changed from {before.model} to {after.model}"
    return Examples(title, examples, note) if examples else None


def asked(runs: Runs) -> Table | None:
    """Tabulate the kinds of variants, each with its meaning and whole prompt for one question; None without both."""
    run = runs[0]
    first = {record.kind: record for record in reversed(run.answers_to(run.table.question_ids[0]))} if run.count else {}
    prompts = {kind: prompt_in(run.line(first[kind])) if kind in first else "" for kind in run.table.kinds}
    rows = [[kind, run.probe.kinds.get(kind, ""), prompt] for kind, prompt in prompts.items()]
    if not any(meaning or prompt for _, meaning, prompt in rows):
        return None
    note = f"The prompts are those of the question {next(iter(first.values())).question_id}."
    return Table("What was asked", [run.probe.one, "meaning", "prompt"], rows, note)


def _answered(record: Record, line: Mapping[str, Any], reader: Reader | None) -> ShownAnswer:
    wrong = "abstained" if record.picked == ABSTAIN else "wrong"
    verdict = "invalid" if record.invalid else "right" if record.correct else wrong
    texts, chosen = line["doc"].get("choices") or (), set(record.selected or ())
    labels = line["doc"].get("labels") or LETTERS
    options = [
        content.PrintedOption(
            letter, _cut(str(text)), identity == record.answer, place == record.position or identity in chosen
        )
        for place, (letter, text, identity) in enumerate(zip(labels, texts, record.printed, strict=False))
    ]
    said = str(record.reason) if record.reason else shorten(record.said(letters=True), 80)
    text = response_text(line)
    return ShownAnswer(
        record.kind, verdict, said, _cut(text), options, **_why(record, line, text, reader or "flexible")
    )


def _why(record: Record, line: Mapping[str, Any], text: str, reader: Reader) -> dict[str, Any]:
    """Read a response again for the rule and the characters that decided; nothing if the answer differs."""
    responses = line.get("filtered_resps") or [None]
    is_unknown = record.value is None and not record.invalid  # skipped, or a file has no picks
    is_scored = bool(record.likelihoods) or record.likelihood_yes is not None
    if is_unknown or is_scored or not isinstance(responses[0], str):
        return {}
    answer = answer_in(line["doc"], known_response(line), reader)
    if answer.value != record.value:
        return {}
    if answer.span is None:
        return {"places": places(text, answer, line["doc"].get("labels") or ())}
    return {"rule": answer.rule, "parts": around(text, answer.span)}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def invalid_answers(runs: Runs) -> Table | None:
    """Tabulate the reasons for invalid answers, with counts and an example each; None if all answers are valid."""
    rows: list[list[Cell]] = []
    for run in runs:
        known = (record for record in run.invalid if record.reason)  # a file of answers has no reasons
        by_reason = grouped_by(known, lambda record: str(record.reason))
        for reason, records in sorted(by_reason.items(), key=lambda item: -len(item[1])):
            example = shorten(response_text(run.line(records[0])), _LONGEST_EXCERPT) or "(empty)"
            share = Number(len(records) / len(run.table.picked))
            rows.append([reason, run.model, len(records), share, example])
    table = Table("Invalid answers", ["reason", "model", "answers", "share", "example"], rows, sortable=True)
    if not rows:
        return None
    return table if len(runs) > 1 else table.without("model")
