"""Two runs on the same questions, side by side: what differs, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lm_eval_cora.answers import Reader
from lm_eval_cora.data import OF_THE_DATA, Data
from lm_eval_cora.metrics.estimate import Estimate, for_json
from lm_eval_cora.metrics.paired import Difference, McNemar, difference, mcnemar
from lm_eval_cora.question import shorten
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.content import Cell, Number, Table, interval
from lm_eval_cora.report.files import sent_with
from lm_eval_cora.report.runs import Run, read_runs, with_labels
from lm_eval_cora.report.samples import Key
from lm_eval_cora.report.signature import HOW_MUCH, WHERE_IT_ENDS, signature_parts

_MAY_DIFFER = (*HOW_MUCH, *OF_THE_DATA, *WHERE_IT_ENDS, "math-verify", "reader")
"""Parts of a signature that say nothing about how a question was asked."""

_MATCHES: tuple[Callable[[Data, Data], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: bool(one.digest) and one.digest == other.digest,  # a file with another name
    lambda one, other: not (one.digest and other.digest),
)
"""How the data of two runs of a task can match, the surest first."""

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


def pair_runs(first: Path, second: Path, reader: Reader | None = None) -> tuple[list[tuple[Run, Run]], list[str]]:
    """The runs of the same task on the same questions, which are to be compared.

    A task that each side asked once, on different questions, is a pair too: `compare` refuses it and names both.

    Args:
        first: What the harness wrote for one model.
        second: The same for another, or for the same model asked otherwise.
        reader: How written answers are read; None reads those of each run as the run did.

    Returns:
        Pairs, in the order of the first, and the tasks, or data sets of a task, that only one of the two has.

    Raises:
        ReportError: If there are several models on one side, or no task on both.
    """
    before, after = read_runs([first], reader=reader), read_runs([second], reader=reader)
    for path, runs in ((first, before), (second, after)):
        models = dict.fromkeys(run.model for run in runs)
        if len(models) > 1:
            raise ReportError(
                f"{path}: there are {len(models)} models: {', '.join(models)}. Two runs are compared: give the folder "
                "of one of them"
            )
    named = with_labels([*before, *after])  # one name in both may be different data
    before, after = named[: len(before)], named[len(before) :]
    pairs = _pairs(before, after)
    if not pairs:
        tasks = [", ".join(sorted(run.task for run in runs)) for runs in (before, after)]
        raise ReportError(f"no task is in both: {first} has {tasks[0]}, {second} has {tasks[1]}")
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
    """The runs of the same task, by the same filter."""
    return [other for other in runs if (other.name, other.part) == (run.name, run.part)]


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
    """Reason why two runs of a task cannot be compared; empty if they can."""
    if before.data.differs_from(after.data):
        return (
            f"they ran on different questions: {before.data} in the first, {after.data} in the second. "
            "Run both on the same file or data set"
        )
    if parts := _signature_parts(before, after):
        return f"they were asked otherwise: {'; '.join(parts)}"
    if before.reader and after.reader and before.reader != after.reader:
        return (
            f"the responses of the first were read by the {before.reader} reader, those of the second by the "
            f"{after.reader} one. Read both alike: --reader {before.reader}, or --reader {after.reader}"
        )
    if before.form != after.form:
        return f"the first has answers {_FORMS[before.form]}, the second {_FORMS[after.form]}"
    one, other = before.table.question_ids, after.table.question_ids
    if one != other:
        only = [sorted(set(one) - set(other)), sorted(set(other) - set(one))]
        told = [
            f"{len(ids):,} of {len(own):,} questions are only in the {which} ({_first_few(ids)})"
            for which, ids, own in zip(("first", "second"), only, (one, other), strict=True)
            if ids
        ]
        ended = " A budget or a target ends each run elsewhere." if _ended_itself(before, after) else ""
        return f"{'; '.join(told)}.{ended} Run both with the same questions (option 'questions' or 'categories')"
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


def _ended_itself(*runs: Run) -> bool:
    return any({"budget", "target-stderr"} & signature_parts(run.signature).keys() for run in runs)


def told_apart(before: Run, after: Run) -> list[str]:
    """What else differs between two runs on the same questions: how the model was prompted and made to write."""
    if not before.results or not after.results:
        return []
    one, other = sent_with(before.results, before.name), sent_with(after.results, after.name)
    return [
        f"{name} is {shorten(repr(one[name]), 90)} in the first, {shorten(repr(other[name]), 90)} in the second"
        for name in one
        # Each model has a chat template of its own.
        if one[name] != other[name] and not (name == "chat_template_sha" and one[name] and other[name])
    ]


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
    one, other = signature_parts(before.signature), signature_parts(after.signature)
    same_data = bool(before.data.digest and after.data.digest)  # or `not_comparable` would have said so
    may_differ = (*_MAY_DIFFER, "data_files") if same_data else _MAY_DIFFER
    return [
        f"{name} {one.get(name, 'not given')} and {other.get(name, 'not given')}"
        for name in dict.fromkeys((*one, *other))
        if name not in may_differ and one.get(name) != other.get(name)
    ]


def as_table(before: Run, after: Run, compared: Sequence[Compared]) -> Table:
    """A comparison as a table."""
    rows: list[list[Cell]] = []
    for row in compared:
        change = row.change
        test = ["", ""] if row.test is None else [f"{row.test.lost} : {row.test.gained}", f"{row.test.p_value:.3g}"]
        numbers = [Number.of(row.before), Number.of(row.after), Number(change.value, change.stderr, signed=True)]
        rows.append([row.metric, *numbers, interval(change.low, change.high), *test])
    names = [before.model, after.model] if before.model != after.model else ["first", "second"]
    return Table(
        f"{before.task}: {len(before.table.sizes):,} questions",
        ["metric", *names, "difference", "95%", "lost : gained", "p"],
        rows,
    )


NOTE = (
    "The difference is the second - the first, paired by question. Of shares of all questions, how many were lost and "
    "gained, and McNemar's exact test of that. What stands on the questions that a model itself got right or wrong is "
    "about other questions in each, and then has no test."
)


def as_json(before: Run, after: Run, compared: Sequence[Compared]) -> dict[str, Any]:
    """A comparison with all digits, undefined numbers as null."""
    return {
        "task": before.task,
        "before": _run_as_json(before),
        "after": _run_as_json(after),
        "questions": len(before.table.sizes),
        "notes": [f"{run.model}: {note}" for run in (before, after) for note in run.warnings]
        + told_apart(before, after),
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


def _run_as_json(run: Run) -> dict[str, Any]:
    return {
        "model": run.model,
        "reader": run.reader,
        "benchmark": run.data.name or None,
        "data": run.data.digest or None,
        "signature": run.signature or None,
    }
