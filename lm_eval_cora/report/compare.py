"""Compare two runs on the same questions: the difference of each metric, its interval and a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import isnan
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.estimate import Estimate, for_json
from lm_eval_cora.metrics.paired import Compared, compared
from lm_eval_cora.questions.data import OF_THE_DATA, Data
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.report.content import Cell, Number, Table, difference_and_interval
from lm_eval_cora.runs.answers_file import AnswersRun, is_answers_file, not_the_same
from lm_eval_cora.runs.documents import DocumentRun, read_documents
from lm_eval_cora.runs.files import sent_apart, sent_with, short_names
from lm_eval_cora.runs.grouping import check_label, labelled, runs_in, with_labels
from lm_eval_cora.runs.run import Run
from lm_eval_cora.runs.signature import HOW_MUCH, WHERE_IT_ENDS, signature_parts

_MAY_DIFFER = (*HOW_MUCH, *OF_THE_DATA, *WHERE_IT_ENDS, "math-verify", "reader")
"""Parts of a signature that do not describe how a question was asked."""


def compared_metrics(before: Mapping[str, Estimate], after: Mapping[str, Estimate]) -> dict[str, Compared]:
    """Compute the difference of every metric between two sets of estimates, paired by question."""
    both = [name for name in before if name in after]
    has_errors = any(not isnan(before[name].stderr) for name in both)
    return {
        name: compared(before[name], after[name]) for name in both if not (has_errors and is_statistic(before[name]))
    }


def is_statistic(estimate: Estimate) -> bool:
    """Whether an estimate is defined but has no standard error, such as a p-value or a range.

    Example:
        >>> from math import nan
        >>> is_statistic(Estimate(0.04, nan)), is_statistic(Estimate(0.04, 0.01))
        (True, False)
    """
    return not isnan(estimate.value) and isnan(estimate.stderr)


def not_comparable(before: Run, after: Run) -> str:
    """Reason why two runs of a task cannot be compared; empty if they can."""
    if isinstance(before, AnswersRun) or isinstance(after, AnswersRun):
        return not_the_same(before, after)
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
    if before.form and after.form and before.form != after.form:
        return f"the first has {_FORMS[before.form]} answers, the second has {_FORMS[after.form]} answers"
    one, other = before.table.question_ids, after.table.question_ids
    if one != other:
        only = [sorted(set(one) - set(other)), sorted(set(other) - set(one))]
        told = [
            f"{len(ids):,} of {len(own):,} questions are only in the {which} ({first_few(ids)})"
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
    return sent_apart(sent_with(before.results, before.name), sent_with(after.results, after.name))


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
    return first_few([f"{question} variant {ordinal}" for question, ordinal in keys])


_FORMS = {"generate": "written", "loglikelihood": "scored"}


def _signature_parts(before: Run, after: Run) -> list[str]:
    """Differences between the signatures in the parts that describe how questions were asked."""
    if not before.signature or not after.signature:
        return []
    same_data = bool(before.data.digest and after.data.digest)  # equal: `not_comparable` checks them first
    one, other = (how_asked(run.signature, known_data=same_data) for run in (before, after))
    return [
        f"{name} is {one.get(name, 'not given')} in the first, {other.get(name, 'not given')} in the second"
        for name in dict.fromkeys((*one, *other))
        if one.get(name) != other.get(name)
    ]


def how_asked(signature: str, *, known_data: bool) -> dict[str, str]:
    """The parts of a signature that describe how the questions were asked. They are equal for comparable runs.

    Example:
        >>> how_asked("cora|task:cora_demo@3|seed:0|n:25x20|invalid:2.9%|v0.2.0", known_data=True)
        {'task': 'cora_demo@3', 'seed': '0'}
    """
    may_differ = (*_MAY_DIFFER, "data_files") if known_data else _MAY_DIFFER
    return {name: value for name, value in signature_parts(signature).items() if name not in may_differ}


def as_table(title: str, models: tuple[str, str], comparison: Mapping[str, Compared]) -> Table:
    """A comparison as a table."""
    rows: list[list[Cell]] = []
    for name, row in comparison.items():
        test = ["", ""] if row.test is None else [f"{row.test.lost} : {row.test.gained}", f"{row.test.p_value:.3g}"]
        values = Number.of(row.before), Number.of(row.after)
        rows.append([name, *values, *difference_and_interval(row.change), *test])
    return Table(title, ["metric", *models, "new minus old", "95%", "lost : gained", "p"], rows)


def as_json(before: Run, after: Run, comparison: Mapping[str, Compared]) -> dict[str, Any]:
    """A comparison with all digits, undefined numbers as null."""
    return {
        "task": before.task,
        "before": run_as_json(before),
        "after": run_as_json(after),
        "questions": len(before.table.sizes),
        "notes": [f"{run.model}: {note}" for run in (before, after) for note in run.warnings]
        + told_apart(before, after),
        "metrics": metrics_as_json(comparison),
    }


def metrics_as_json(comparison: Mapping[str, Compared]) -> dict[str, Any]:
    """The comparison of each metric with all digits, undefined numbers as null."""
    return {
        name: {
            "before": for_json(row.before),
            "after": for_json(row.after),
            "difference": for_json(row.change._asdict()),
            "mcnemar": None if row.test is None else row.test._asdict(),
        }
        for name, row in comparison.items()
    }


def run_as_json(run: Run) -> dict[str, Any]:
    """What identifies a run: model, reader, data and signature."""
    return {
        "model": run.model,
        "reader": run.reader,
        "benchmark": run.data.name or None,
        "data": run.data.digest or None,
        "signature": run.signature or None,
    }


_MATCHES: tuple[Callable[[Data, Data], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: bool(one.digest) and one.digest == other.digest,  # the same questions in a renamed file
    lambda one, other: not (one.digest and other.digest),
)
"""Ways in which the data of two runs of a task can match, the strictest first."""


@dataclass(frozen=True)
class Contestant:
    """The runs of one model in one of the paths.

    Attributes:
        name: Name of the model, different for each contestant.
        path: The path.
        runs: Its runs of tasks of lm-eval-cora, or its file of answers.
        documents: Its runs of other tasks of the harness.
    """

    name: str
    path: Path
    runs: Sequence[Run]
    documents: Sequence[DocumentRun]

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks of all runs, sorted."""
        return sorted([*(run.task for run in self.runs), *(run.task for run in self.documents)])


def read_contestants(
    paths: Sequence[Path], reader: Reader | None = None, labels: Mapping[Path, str] | None = None
) -> list[Contestant]:
    """Read the models to compare."""
    found = [contestant for path in paths for contestant in _of_path(path, reader, labels or {})]
    if len(found) < 2:
        only = f" of {found[0].name}" if found else ""
        raise UserError(
            f"expected two or more models, got one: {', '.join(map(str, paths))} has only runs{only}. "
            "Name the folder of another model, too"
        )
    names = _distinct([(contestant.name, contestant.path) for contestant in found])
    runs = iter(with_labels([run for contestant in found for run in contestant.runs]))
    return [
        replace(
            contestant,
            name=name,
            runs=[replace(next(runs), model=name) for _ in contestant.runs],
            documents=[replace(run, model=name) for run in contestant.documents],
        )
        for contestant, name in zip(found, names, strict=True)
    ]


def _of_path(path: Path, reader: Reader | None, labels: Mapping[Path, str]) -> list[Contestant]:
    runs = runs_in(path, reader=reader)
    documents = [] if is_answers_file(path) else read_documents(path)
    if path in labels:
        check_label(path, labels[path], [*(run.model for run in runs), *(run.model for run in documents)])
        runs = [labelled(run, labels[path]) for run in runs]
        documents = [replace(run, model=labels[path]) for run in documents]
    models = dict.fromkeys([*(run.model for run in runs), *(run.model for run in documents)])
    if not models:
        raise UserError(
            f"{path}: there are no samples (samples_<task>_<date>.jsonl). Run the harness with --output_path FOLDER "
            "--log_samples, and pass that FOLDER. Or pass a file of answers itself"
        )
    names = short_names(models)
    return [
        Contestant(
            names[model],
            path,
            [run for run in runs if run.model == model],
            [run for run in documents if run.model == model],
        )
        for model in models
    ]


def _distinct(named: Sequence[tuple[str, Path]]) -> list[str]:
    """Names that differ: with the path if two models have the same name, and a number if they have the same path, too.

    Example:
        >>> _distinct([("m", Path("a")), ("m", Path("b")), ("n", Path("c")), ("n", Path("c"))])
        ['m (a)', 'm (b)', 'n (first)', 'n (second)']
    """
    counts = Counter(name for name, _ in named)
    same = Counter(named)
    seen: Counter[tuple[str, Path]] = Counter()
    names = []
    for name, path in named:
        seen[name, path] += 1
        if same[name, path] > 1:
            place = seen[name, path]
            names.append(f"{name} ({_ORDINALS[place - 1] if place <= len(_ORDINALS) else place})")
        else:
            names.append(f"{name} ({path})" if counts[name] > 1 else name)
    return names


_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def matched(contestants: Sequence[Sequence[Run]]) -> tuple[list[list[Run]], list[str]]:
    """Group the runs of the same task and the same questions, at most one per contestant.

    If two contestants have a single run of a task, but on different questions, the two are in one group as well. The
    comparison then names both data sets.
    """
    groups: list[list[Run]] = []
    taken: set[Run] = set()
    for place, own in enumerate(contestants):
        free = [run for run in own if run not in taken]
        found: dict[Run, list[Run]] = {run: [run] for run in free}
        for others in contestants[place + 1 :]:
            for one, other in _pairs(free, [run for run in others if run not in taken]):
                found[one].append(other)
        for group in found.values():
            if len(group) > 1:
                groups.append(group)
                taken.update(group)
    alone = sorted({run.task for own in contestants for run in own if run not in taken})
    return groups, alone


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


def matched_documents(contestants: Sequence[Sequence[DocumentRun]]) -> tuple[list[list[DocumentRun]], list[str]]:
    """Group the runs of the same task and filter of the harness; and name those that only one contestant has."""
    groups: dict[tuple[str, str], list[DocumentRun]] = {}
    for own in contestants:
        for run in own:
            groups.setdefault((run.name, run.filter), []).append(run)
    several = [group for group in groups.values() if len(group) > 1]
    return several, sorted(group[0].task for group in groups.values() if len(group) == 1)
