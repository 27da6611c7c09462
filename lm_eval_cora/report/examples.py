"""Examples from the answers of a model: questions with all their variants, one prompt per kind, and invalid answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import isnan
from typing import Any

import numpy as np

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.formats import FORMATS, format_of
from lm_eval_cora.answers.records import OPENING_MARK, Record, answer_in, around, places
from lm_eval_cora.metrics.consistency import agreement
from lm_eval_cora.metrics.responses import Ints
from lm_eval_cora.questions.question import LETTERS, shorten
from lm_eval_cora.report.content import Answered, Cell, Example, Examples, Number, PrintedOption, Table
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.samples import known_response, prompt_in

BANDS = 24
"""Largest number of groups of equally hard questions."""

_LONGEST = 1_000
_LONGEST_EXCERPT = 200
_LONGEST_INSTRUCTION, _LONGEST_PROMPT = 150, 400


def least_consistent(run: Run, count: int) -> Examples | None:
    """Select the questions whose variants agree least; None if no question has comparable variants."""
    shares = agreement(run.table)
    defined = np.flatnonzero(np.isfinite(shares))
    chosen = defined[np.argsort(shares[defined], kind="stable")][:count].tolist()
    title = f"The least consistent questions of {run.model}"
    note = "The questions whose variants agree least. The right option and the picked option are marked."
    return _examples(run, chosen, title, note)


def from_easy_to_hard(run: Run, count: int) -> Examples | None:
    """Select questions from the easiest to the hardest, one per group of equally hard ones; None without questions."""
    numbers = [example_of(members) for members in bands_of(run)]
    chosen = numbers[:: -(-len(numbers) // max(1, count))] if numbers else []
    title = f"Questions of {run.model}, from the easiest to the hardest"
    note = "The rows of the chart of questions link to these. Each stands for its group."
    return _examples(run, chosen, title, note, linked=True)


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


def _examples(run: Run, numbers: Iterable[int], title: str, note: str, *, linked: bool = False) -> Examples | None:
    shares = agreement(run.table)
    examples = [_example(run, number, float(shares[number]), linked=linked) for number in numbers]
    return Examples(title, examples, note) if examples else None


def _example(run: Run, number: int, share: float, *, linked: bool) -> Example:
    records = run.answers_to(run.table.question_ids[number])
    lines = [run.line(record) for record in records]
    doc = lines[0]["doc"]
    hits = sum(record.correct for record in records)
    reference = f"; reference answer: {shorten(doc['answer'], 60)}" if format_of(doc).is_open and doc["answer"] else ""
    agree = "" if isnan(share) else f", {share:.2f} of the pairs agree"
    return Example(
        question_id=records[0].question_id,
        stem=_cut(str(doc.get("question", ""))),
        summary=f"{hits} of {len(records)} right{agree}{reference}: {shorten(doc.get('question', ''), 60)}",
        answers=[_answered(record, line, run.reader) for record, line in zip(records, lines, strict=True)],
        anchor=anchor(run, number) if linked else "",
    )


def asked(runs: Sequence[Run]) -> Table | None:
    """Tabulate the kinds of variants, each with its meaning and its prompt for one question; None without questions."""
    run = runs[0]
    if not run.table.question_ids:
        return None
    records = run.answers_to(run.table.question_ids[0])
    stem = str(run.line(records[0])["doc"].get("question", ""))
    first = {record.kind: record for record in reversed(records)}
    prompts = {kind: _prompt(run.line(first[kind]), stem) if kind in first else "" for kind in run.table.kinds}
    rows = [[kind, run.probe.kinds.get(kind, ""), prompt] for kind, prompt in prompts.items()]
    return Table(
        f"What was asked: {run.probe.one}, meaning and example",
        [run.probe.one, "meaning", "example"],
        rows,
        f"The examples are prompts for the question {records[0].question_id}; […] stands for its text: "
        f"{shorten(stem, 300)}",
    )


def _prompt(line: Mapping[str, Any], stem: str) -> str:
    """The prompt of a samples line, without the exemplars and the text of the question."""
    prompt = prompt_in(line)
    if not stem or stem not in prompt:
        return shorten(prompt, _LONGEST_PROMPT)
    before, _, after = prompt.rpartition(stem)
    before = " ".join(before.split())
    if len(before) > _LONGEST_INSTRUCTION:
        before = f"… {before[-_LONGEST_INSTRUCTION:].partition(' ')[2]}"
    return f"{before} […] {shorten(after, _LONGEST_PROMPT)}".strip()


def _answered(record: Record, line: Mapping[str, Any], reader: Reader | None) -> Answered:
    verdict = "invalid" if record.invalid else "right" if record.correct else "wrong"
    texts = [str(text) for text in line["doc"].get("choices") or ()]
    chosen = set(record.selected or ())
    options = [
        PrintedOption(letter, _cut(text), identity == record.answer, place == record.position or identity in chosen)
        for place, (letter, text, identity) in enumerate(zip(LETTERS, texts, record.printed, strict=False))
    ]
    read = FORMATS[record.ask].said(record, letters=True)
    said = str(record.reason) if record.reason else shorten(read or "", 80)
    text = response_text(line)
    return Answered(record.kind, verdict, said, _cut(text), options, **_why(record, line, text, reader or "flexible"))


def _why(record: Record, line: Mapping[str, Any], text: str, reader: Reader) -> dict[str, Any]:
    """Read a response again for the rule and the characters that decided; nothing if the answer differs."""
    responses = line.get("filtered_resps") or [None]
    if not isinstance(responses[0], str) or record.skipped:
        return {}
    answer = answer_in(line["doc"], known_response(line), reader)
    if (answer.picked, answer.selected, answer.written) != (record.picked, record.selected, record.written):
        return {}
    offset = len(OPENING_MARK) if line.get("opened") is True else 0
    if answer.span is None or answer.span[0] < offset:
        return {"places": [] if offset else places(text, answer)}
    return {"rule": answer.rule, "parts": around(text, (answer.span[0] - offset, answer.span[1] - offset))}


def response_text(line: Mapping[str, Any]) -> str:
    """Return the response of a samples line, or the scores of its answers, as text."""
    responses = line.get("filtered_resps") or [""]
    if isinstance(responses[0], str):
        return responses[0]
    answers = format_of(line["doc"]).scored(line["doc"])
    values = [response[0] if isinstance(response, list) and response else response for response in responses]
    if len(values) == 1:
        return str(values[0])
    return ", ".join(f"{answer} {value}" for answer, value in zip(answers, values, strict=False))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def invalid_answers(runs: Sequence[Run]) -> Table | None:
    """Tabulate the reasons for invalid answers, with counts and an example each; None if all answers are valid."""
    several = len(runs) > 1
    rows: list[list[Cell]] = []
    for run in runs:
        by_reason: dict[str, list[Record]] = {}
        for record in (record for record in run.invalid if record.reason):  # a file of answers has no reasons
            by_reason.setdefault(str(record.reason), []).append(record)
        for reason, records in sorted(by_reason.items(), key=lambda item: -len(item[1])):
            example = shorten(response_text(run.line(records[0])), _LONGEST_EXCERPT) or "(empty)"
            share = Number(len(records) / len(run.table.picked))
            rows.append([reason, *[run.model] * several, len(records), share, example])
    columns = ["reason", *["model"] * several, "answers", "share", "example"]
    return Table("Invalid answers", columns, rows, sortable=True) if rows else None
