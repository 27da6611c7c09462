"""Compare two runs on the same questions: the difference of each metric, its interval and a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import isnan
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lm_eval_cora.answers import Reader
from lm_eval_cora.data import OF_THE_DATA, Data
from lm_eval_cora.metrics.estimate import Estimate, for_json
from lm_eval_cora.metrics.paired import Compared, compared
from lm_eval_cora.question import shorten
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.content import Cell, Number, Table, interval
from lm_eval_cora.report.files import sent_with
from lm_eval_cora.report.runs import Run, read_runs, with_labels
from lm_eval_cora.report.signature import HOW_MUCH, WHERE_IT_ENDS, signature_parts

_MAY_DIFFER = (*HOW_MUCH, *OF_THE_DATA, *WHERE_IT_ENDS, "math-verify", "reader")
"""Parts of a signature that do not describe how a question was asked."""

_MATCHES: tuple[Callable[[Data, Data], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: bool(one.digest) and one.digest == other.digest,  # the same questions in a renamed file
    lambda one, other: not (one.digest and other.digest),
)
"""Ways in which the data of two runs of a task can match, the strictest first."""

_NAMED = 3


def pair_runs(first: Path, second: Path, reader: Reader | None = None) -> tuple[list[tuple[Run, Run]], list[str]]:
    """Pair the runs of two folders that ran the same task on the same questions.

    If each folder has a single run of a task, but on different questions, the two are a pair as well. `compare` then
    raises an error that names both data sets.

    Args:
        first: Output of the harness for one model.
        second: Output for another model, or for the same model with other settings.
        reader: How to read written answers; None uses the reader of each run.

    Returns:
        The pairs, in the order of the first folder; and the tasks, with their data, that have no partner.

    Raises:
        ReportError: If a folder has several models, or the folders have no task in common.
    """
    before, after = read_runs([first], reader=reader), read_runs([second], reader=reader)
    for path, runs in ((first, before), (second, after)):
        models = dict.fromkeys(run.model for run in runs)
        if len(models) > 1:
            raise ReportError(
                f"{path}: expected one model, got {len(models)}: {', '.join(models)}. Pass the folder of one model"
            )
    named = with_labels([*before, *after])  # the same name may mean different data in the two folders
    before, after = named[: len(before)], named[len(before) :]
    pairs = _pairs(before, after)
    if not pairs:
        tasks = [", ".join(sorted(run.task for run in runs)) for runs in (before, after)]
        raise ReportError(f"there is no task in common: {first} has {tasks[0]}, {second} has {tasks[1]}")
    paired = {run for pair in pairs for run in pair}
    return pairs, sorted(run.task for run in named if run not in paired)


def _pairs(before: Sequence[Run], after: Sequence[Run]) -> list[tuple[Run, Run]]:
    found: dict[Run, Run] = {}
    for matches in _MATCHES:
        for one in before:
            free = [other for other in _of_its_task(one, after) if other not in found.values()]
            other = next((other for other in free if matches(one.data, other.data)), None)
            if one not in found and other is not None:
                found[one] = other
    for one in before:
        own, others = _of_its_task(one, before), _of_its_task(one, after)
        if one not in found and len(own) == len(others) == 1:
            found[one] = others[0]
    return [(one, found[one]) for one in before if one in found]


def _of_its_task(run: Run, runs: Sequence[Run]) -> list[Run]:
    """The runs of the same task and the same filter."""
    return [other for other in runs if (other.name, other.part) == (run.name, run.part)]


def compare(before: Run, after: Run) -> dict[str, Compared]:
    """Compute the difference of every metric between two runs, paired by question.

    Args:
        before: A run.
        after: A run of the same task.

    Returns:
        The comparison of each metric, in the order of the task file. Statistics without a standard error, such as
        p-values, are left out.

    Raises:
        ReportError: If the runs differ in their questions, settings, form or reader.
    """
    if reason := not_comparable(before, after):
        raise ReportError(f"{before.task}: the two runs cannot be compared: {reason}")
    return {
        name: compared(estimate, after.estimates[name])
        for name, estimate in before.estimates.items()
        if name in after.estimates and (len(before.table.sizes) < 2 or not _is_statistic(estimate))
    }


def _is_statistic(estimate: Estimate) -> bool:
    """Whether an estimate is defined but has no standard error, such as a p-value or a range."""
    return not isnan(estimate.value) and isnan(estimate.stderr)


def not_comparable(before: Run, after: Run) -> str:
    """Reason why two runs of a task cannot be compared; empty if they can."""
    if before.data.differs_from(after.data):
        return (
            f"they ran on different questions: {before.data} in the first, {after.data} in the second. "
            "Run both on the same file or data set"
        )
    if sampled := [which for which, run in (("first", before), ("second", after)) if run.is_two_phase]:
        return (
            f"--target followed only a sample of the questions in the {' and the '.join(sampled)}, so the answers "
            "cannot be paired. Run both with --stop exact, and with the same option 'questions' if that costs too much"
        )
    if parts := _signature_parts(before, after):
        return f"their settings differ: {'; '.join(parts)}"
    if before.reader and after.reader and before.reader != after.reader:
        return (
            f"the {before.reader} reader read the responses of the first, the {after.reader} reader those of the "
            f"second. Use one reader for both: --reader {before.reader}, or --reader {after.reader}"
        )
    if before.form != after.form:
        return f"the first has {_FORMS[before.form]} answers, the second has {_FORMS[after.form]} answers"
    one, other = before.table.question_ids, after.table.question_ids
    if one != other:
        only = [sorted(set(one) - set(other)), sorted(set(other) - set(one))]
        told = [
            f"{len(ids):,} of {len(own):,} questions are only in the {which} ({_first_few(ids)})"
            for which, ids, own in zip(("first", "second"), only, (one, other), strict=True)
            if ids
        ]
        ended = " A budget or target ends each run at another question." if _ended_itself(before, after) else ""
        return f"{'; '.join(told)}.{ended} Run both on the same questions (option 'questions' or 'categories')"
    most = int(np.maximum(before.table.sizes, after.table.sizes).sum())
    if unlike := _unlike(before, after, 0):
        return (
            f"{len(unlike):,} of {most:,} variants differ ({_named(unlike)}). The runs have different seeds, "
            "different options or different versions of the task"
        )
    if not (before.signature and after.signature) and (unlike := _unlike(before, after, 1)):
        return (
            f"{len(unlike):,} of {most:,} prompts differ ({_named(unlike)}). Only the results files of both runs "
            "can show whether the chat template or the exemplars differ. Put each results_<date>.json beside its "
            "samples"
        )
    return ""


def _ended_itself(*runs: Run) -> bool:
    return any({"budget", "target-stderr"} & signature_parts(run.signature).keys() for run in runs)


def told_apart(before: Run, after: Run) -> list[str]:
    """Differences in generation and prompt settings; such runs can still be compared."""
    if not before.results or not after.results:
        return []
    one, other = sent_with(before.results, before.name), sent_with(after.results, after.name)
    return [
        f"{name} is {shorten(repr(one[name]), 90)} in the first, {shorten(repr(other[name]), 90)} in the second"
        for name in one
        # Two models usually have different chat templates.
        if one[name] != other[name] and not (name == "chat_template_sha" and one[name] and other[name])
    ]


def _unlike(before: Run, after: Run, part: Literal[0, 1]) -> list[tuple[str, int]]:
    """The variants whose digest (0) or whose prompt's digest (1) differs between the runs or is missing in one of them.

    The runs have the same questions.
    """
    same = before.table.sizes == after.table.sizes
    one, other = (run.samples.digests_of(run.rows)[part] for run in (before, after))
    inside = same[before.table.question], same[after.table.question]
    differ = np.flatnonzero(inside[0])[one[inside[0]] != other[inside[1]]]
    unlike = [before.records.key(place) for place in before.rows[differ].tolist()]
    for number in np.flatnonzero(~same).tolist():
        question = before.table.question_ids[number]
        found = (
            list(run_digests[run.table.question == number]) for run, run_digests in ((before, one), (after, other))
        )
        pairs = zip_longest(*found)
        unlike += [(question, ordinal) for ordinal, (first, second) in enumerate(pairs) if first != second]
    return sorted(unlike)


def _named(keys: Sequence[tuple[str, int]]) -> str:
    return _first_few([f"{question} variant {ordinal}" for question, ordinal in keys])


def _first_few(names: Sequence[str]) -> str:
    return ", ".join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])


_FORMS = {"generate": "written", "loglikelihood": "scored"}


def _signature_parts(before: Run, after: Run) -> list[str]:
    """Differences between the signatures in the parts that describe how questions were asked."""
    if not before.signature or not after.signature:
        return []
    one, other = signature_parts(before.signature), signature_parts(after.signature)
    same_data = bool(before.data.digest and after.data.digest)  # equal: `not_comparable` checks them first
    may_differ = (*_MAY_DIFFER, "data_files") if same_data else _MAY_DIFFER
    return [
        f"{name} is {one.get(name, 'not given')} in the first, {other.get(name, 'not given')} in the second"
        for name in dict.fromkeys((*one, *other))
        if name not in may_differ and one.get(name) != other.get(name)
    ]


def as_table(before: Run, after: Run, comparison: Mapping[str, Compared]) -> Table:
    """A comparison as a table."""
    rows: list[list[Cell]] = []
    for name, row in comparison.items():
        change = row.change
        test = ["", ""] if row.test is None else [f"{row.test.lost} : {row.test.gained}", f"{row.test.p_value:.3g}"]
        numbers = [Number.of(row.before), Number.of(row.after), Number(change.value, change.stderr, signed=True)]
        rows.append([name, *numbers, interval(change.low, change.high), *test])
    names = [before.model, after.model] if before.model != after.model else ["first", "second"]
    return Table(
        f"{before.task}: {len(before.table.sizes):,} questions",
        ["metric", *names, "difference", "95%", "lost : gained", "p"],
        rows,
    )


NOTE = (
    "The difference is the second run minus the first, paired by question. For metrics that are a share of all "
    "questions, `lost : gained` counts the questions that changed, and p is McNemar's mid-p test. Metrics computed "
    "only on the questions that a model answered correctly or wrongly may use different questions in each run. They "
    "then have no test."
)


def as_json(before: Run, after: Run, comparison: Mapping[str, Compared]) -> dict[str, Any]:
    """A comparison with all digits, undefined numbers as null."""
    return {
        "task": before.task,
        "before": _run_as_json(before),
        "after": _run_as_json(after),
        "questions": len(before.table.sizes),
        "notes": [f"{run.model}: {note}" for run in (before, after) for note in run.warnings]
        + told_apart(before, after),
        "metrics": {
            name: {
                "before": for_json(row.before),
                "after": for_json(row.after),
                "difference": for_json(row.change._asdict()),
                "mcnemar": None if row.test is None else row.test._asdict(),
            }
            for name, row in comparison.items()
        },
    }


def _run_as_json(run: Run) -> dict[str, Any]:
    return {
        "model": run.model,
        "reader": run.reader,
        "benchmark": run.data.name or None,
        "data": run.data.digest or None,
        "signature": run.signature or None,
    }
