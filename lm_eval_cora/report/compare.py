"""Two runs on the same questions, side by side: what differs, and how sure that is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Literal

from lm_eval_cora.metrics.estimate import Estimate, for_json
from lm_eval_cora.metrics.paired import Difference, McNemar, difference, mcnemar
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.content import Cell, Number, Table
from lm_eval_cora.report.runs import Run
from lm_eval_cora.report.samples import Key

_MAY_DIFFER = ("n", "invalid", "math-verify")
"""Parts of a signature that say nothing about what was asked."""

_NAMED = 3


@dataclass(frozen=True)
class Compared:
    """A metric in two runs.

    Attributes:
        metric: Its name.
        before: What it is in the first run.
        after: What it is in the second.
        change: After - before, paired by question.
        test: McNemar's test, for a share of questions; else None.
    """

    metric: str
    before: Estimate
    after: Estimate
    change: Difference
    test: McNemar | None


def pair_runs(before: Sequence[Run], after: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The runs of the same task, which are to be compared.

    Args:
        before: Runs of one model.
        after: Runs of one model.

    Returns:
        Pairs, in the order of the first.

    Raises:
        ReportError: If there are several models on one side, or no task on both.
    """
    for runs in (before, after):
        models = dict.fromkeys(run.model for run in runs)
        if len(models) > 1:
            raise ReportError(
                f"{runs[0].files[0].parent.parent}: there are {len(models)} models: {', '.join(models)}. Two runs are "
                "compared: give the folder of one of them"
            )
    others = {run.task: run for run in after}
    pairs = [(run, others[run.task]) for run in before if run.task in others]
    if not pairs:
        tasks = [", ".join(sorted({run.task for run in runs})) for runs in (before, after)]
        raise ReportError(f"no task is in both: the first has {tasks[0]}, the second {tasks[1]}")
    return pairs


def compare(before: Run, after: Run) -> list[Compared]:
    """The difference of every metric of two runs, paired by question.

    Args:
        before: A run.
        after: A run of the same task.

    Returns:
        A comparison per metric, in the order of the task file.

    Raises:
        ReportError: If the two were not asked the same.
    """
    if reason := not_comparable(before, after):
        raise ReportError(f"{before.task}: the two runs cannot be compared: {reason}")
    return [
        Compared(name, estimate, other, difference(estimate, other), mcnemar(estimate, other))
        for name, estimate in before.estimates.items()
        if (other := after.estimates.get(name)) is not None
    ]


def not_comparable(before: Run, after: Run) -> str:
    """Why two runs of a task were not asked the same, or nothing."""
    one, other = before.table.question_ids, after.table.question_ids
    if one != other:
        only = [sorted(set(one) - set(other)), sorted(set(other) - set(one))]
        told = [
            f"{len(ids):,} questions are only in the {which} ({_first_few(ids)})"
            for which, ids in zip(("first", "second"), only, strict=True)
            if ids
        ]
        return f"{'; '.join(told)}. Run both with the same questions (option 'questions' or 'categories', --limit)"
    if parts := _signature_parts(before, after):
        return f"they were asked otherwise: {'; '.join(parts)}"
    if before.form != after.form:
        return f"the first has answers {_FORMS[before.form]}, the second {_FORMS[after.form]}"
    ids = set(one)
    keys = {key for key in before.digests.keys() | after.digests.keys() if key[0] in ids}
    if unlike := _unlike(before, after, keys, "doc"):
        return (
            f"{len(unlike):,} of {len(keys):,} variants are not the same ({_named(unlike)}): another seed, other "
            "options, or another version of the task"
        )
    if not (before.signature and after.signature) and (unlike := _unlike(before, after, keys, "prompt")):
        return (
            f"{len(unlike):,} of {len(keys):,} prompts are not the same ({_named(unlike)}), and without both results "
            "files nothing says whether that is the chat template alone, or other exemplars. Put results_<date>.json "
            "beside the samples"
        )
    return ""


def _unlike(before: Run, after: Run, keys: Collection[Key], part: Literal["doc", "prompt"]) -> list[Key]:
    """The variants of which a digest differs, or is missing on one side."""
    one, other = (
        {key: getattr(run.digests[key], part) for key in keys if key in run.digests} for run in (before, after)
    )
    return sorted(key for key in keys if one.get(key) != other.get(key))


def _named(keys: Sequence[Key]) -> str:
    return _first_few([f"{question} variant {ordinal}" for question, ordinal in keys])


def _first_few(names: Sequence[str]) -> str:
    return ", ".join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])


_FORMS = {"generate": "written", "loglikelihood": "scored"}


def _signature_parts(before: Run, after: Run) -> list[str]:
    """What differs in the signatures, of what says how the questions were asked."""
    if not before.signature or not after.signature:
        return []
    one, other = _parts(before.signature), _parts(after.signature)
    return [
        f"{name} {one.get(name, 'not given')} and {other.get(name, 'not given')}"
        for name in dict.fromkeys((*one, *other))
        if name not in _MAY_DIFFER and one.get(name) != other.get(name)
    ]


def _parts(signature: str) -> dict[str, str]:
    """The named parts; the version at the end has no name, and may differ."""
    found = (part.partition(":") for part in signature.split("|"))
    return {name: value for name, separator, value in found if separator}


def as_table(before: Run, after: Run, compared: Sequence[Compared]) -> Table:
    """A comparison as a table."""
    rows: list[list[Cell]] = []
    for row in compared:
        change = row.change
        interval = "n/a" if isnan(change.low) else f"{change.low:+.3f} to {change.high:+.3f}"
        test = ["", ""] if row.test is None else [f"{row.test.lost} : {row.test.gained}", f"{row.test.p_value:.3g}"]
        numbers = [Number.of(row.before), Number.of(row.after), Number(change.value, change.stderr, signed=True)]
        rows.append([row.metric, *numbers, interval, *test])
    names = [before.model, after.model] if before.model != after.model else ["first", "second"]
    return Table(
        f"{before.task}: {len(before.table.sizes):,} questions",
        ["metric", *names, "difference", "95%", "lost : gained", "p"],
        rows,
        "The difference is the second - the first, paired by question. Of shares of questions, how many were lost and "
        "gained, and McNemar's exact test of that.",
    )


def as_json(before: Run, after: Run, compared: Sequence[Compared]) -> dict[str, Any]:
    """A comparison with all digits, undefined numbers as null."""
    return {
        "task": before.task,
        "before": {"model": before.model, "signature": before.signature or None},
        "after": {"model": after.model, "signature": after.signature or None},
        "questions": len(before.table.sizes),
        "metrics": {
            row.metric: {
                "before": for_json(row.before),
                "after": for_json(row.after),
                "difference": for_json(row.change._asdict()),
                "mcnemar": None if row.test is None else row.test._asdict(),
            }
            for row in compared
        },
    }
