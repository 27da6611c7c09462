"""Match the runs of several models that ran the same task on the same questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lm_eval_cora.answers import Reader
from lm_eval_cora.data import Data
from lm_eval_cora.errors import UserError
from lm_eval_cora.report.answers_file import is_answers_file
from lm_eval_cora.report.documents import DocumentRun, read_documents
from lm_eval_cora.report.files import short_names
from lm_eval_cora.report.run import Run
from lm_eval_cora.report.runs import check_label, labelled, runs_in, with_labels

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
