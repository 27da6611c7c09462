"""The versions of a model over time: scores by date, and the paired difference to the version before."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, nan
from os.path import commonprefix
from pathlib import Path
from typing import Any

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.consistency import CORA_FALLS, cora_falls
from lm_eval_cora.metrics.entries import is_in_table
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, for_json
from lm_eval_cora.metrics.paired import Difference, differs, together
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.report.canvas import PIECE
from lm_eval_cora.report.content import History, Line, Report, Section
from lm_eval_cora.report.headline import spoken
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.files import SamplesFile, find_files, grouped_by, short_names
from lm_eval_cora.runs.grouping import RunReader, is_answers_file, labelled, with_labels
from lm_eval_cora.runs.model_run import Run, check_metric, first_defined
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Cell, Table

NOTE = (
    "The versions are sorted by the date of the run. Differences are new minus old, paired by question: a version "
    "minus the one before it. Their intervals hold for all versions of a line together. A line is broken where two "
    "versions were not asked the same."
)

_DIFFERENCE = ("new minus old", "95% of the difference")
_NO_DIFFERENCE = Difference(nan, nan, nan, nan)
_OF_CORA = ("mcqa", "bmca@1.0")  # they tell on which side of its maximum CoRA is


@dataclass(frozen=True)
class Version:
    """A run of a task by one version of the model, with the compared metrics and their changes since the one before."""

    label: str  # distinguishes it from the other versions: name, date or both
    date: str  # as in the harness' file names
    estimates: Mapping[str, Estimate]
    signature: str
    not_comparable: str = ""  # reason why it cannot be compared with the version before
    changes: Mapping[str, Difference] = field(default_factory=dict)
    better: Collection[str] = ()  # the metrics of which a higher value is better

    def estimate(self, metric: str) -> Estimate:
        """The metric; undefined if the version lacks it."""
        return self.estimates.get(metric, UNDEFINED)


@dataclass(frozen=True)
class TaskHistory:
    """The versions of a task by date, and the metrics to show."""

    task: str
    metrics: Sequence[str]
    versions: Sequence[Version]


def read_history(
    paths: Sequence[Path],
    *,
    reader: Reader | None = None,
    labels: Mapping[Path, str] | None = None,
    metrics: Sequence[str] = (),
) -> tuple[list[TaskHistory], list[str]]:
    """Read the runs below some paths as versions of one model. Runs of a task with the same model and date are one."""
    files = list(_named(paths, labels or {}))
    names = _labels_of(files)
    notes: list[str] = []
    histories: list[TaskHistory] = []
    known: dict[str, None] = {}
    with RunReader(reader) as readers:
        readers.plan([file] for file in sorted(files, key=lambda file: (file.task, file.date, file.model)))
        for _, of_task in sorted(grouped_by(files, lambda file: file.task).items()):
            histories += _histories(of_task, names, readers, metrics, notes, known)
    for name in metrics:
        check_metric(name, known)
    if not any(len(history.versions) > 1 for history in histories):
        found = [f"one of {history.task} ({history.versions[0].label})" for history in histories]
        others = sorted({file.task for file in files} - {history.task for history in histories})
        none = f"none, only runs of other tasks ({first_few(others)})," if others else "none"
        raise UserError(
            f"--history: expected two or more runs of the same lm-eval-cora task, got {' and '.join(found) or none} in "
            f"{', '.join(map(str, paths))}. Pass a folder with the outputs of several versions with --log_samples"
        )
    return histories, notes


def _named(paths: Sequence[Path], labels: Mapping[Path, str]) -> Iterator[SamplesFile]:
    seen: set[Path] = set()
    for path in paths:
        if is_answers_file(path):
            raise UserError(f"{path}: --history needs runs of the harness, because a file of answers has no date")
        for file in labelled(find_files(path), path, labels):
            if (real := file.path.resolve()) not in seen:
                seen.add(real)
                yield file


def _labels_of(files: Sequence[SamplesFile]) -> dict[tuple[str, str], str]:
    """The label of each model and date: the date if there is one model, the name if it has one date, else both."""
    names = short_names(file.model for file in files)
    runs = Counter((file.task, file.model) for file in files)
    repeated = {model for (_, model), count in runs.items() if count > 1}
    labels = {}
    for file in files:
        day, _, time = file.date.partition("T")
        date = f"{day} {time[:8].replace('-', ':')}".strip() if file.model in repeated else ""
        name = names[file.model] if len(names) > 1 else ""
        labels[file.model, file.date] = " ".join(filter(None, (name, date))) or names[file.model]
    return labels


def _histories(
    files: Sequence[SamplesFile],
    names: Mapping[tuple[str, str], str],
    readers: RunReader,
    metrics: Sequence[str],
    notes: list[str],
    known: dict[str, None],
) -> list[TaskHistory]:
    """Make the history of each filter of a task. Only two runs are in memory at a time."""
    latest: dict[str, Run] = {}
    versions: dict[str, list[Version]] = {}
    for (date, model), of_version in sorted(grouped_by(files, lambda file: (file.date, file.model)).items()):
        label = names[model, date]
        runs, lost = readers.merged(of_version)
        notes += [f"{label}, {of_version[0].task}: {note}" for note in (runs[0].notes if runs else lost)]
        for run in (replace(run, model=label) for run in runs):
            entries = {entry["metric"]: entry for entry in run.entries}
            wanted = [name for name in (*(metrics or run.probe.ranked_by), *_OF_CORA) if name in entries]
            computed = {name: run.function(entries[name])(run.table) for name in wanted}
            estimates = {name: value for name, value in computed.items() if isinstance(value, Estimate)}
            known |= dict.fromkeys([*(name for name, entry in entries.items() if is_in_table(entry)), *estimates])
            before = latest.get(run.part)
            why = not_comparable(before, run) if before else ""
            if before and why:
                notes.append(f"{run.task}: {before.model} and {run.model} are not comparable: {why}")
            falls = cora_falls(*(estimates.get(name, UNDEFINED).value for name in _OF_CORA))
            better = [
                name for name in wanted if entries[name].get("higher_is_better") and not (name == "cora" and falls)
            ]
            version = Version(run.model, date, estimates, run.signature, why, better=better)
            versions.setdefault(run.part, []).append(version)
            latest[run.part] = run
    histories = []
    for run in with_labels(list(latest.values())):
        own = versions[run.part]
        lead = first_defined(run.probe.ranked_by, [version.estimates for version in own])
        if shown := metrics or [name for name in [lead] if name]:
            histories.append(TaskHistory(run.task, shown, _with_changes(own, shown)))
    return histories


def _with_changes(versions: Sequence[Version], metrics: Sequence[str]) -> list[Version]:
    """Add the differences to the version before. Their intervals hold together for versions that are comparable."""
    starts = [place for place, version in enumerate(versions) if version.not_comparable or not place]
    changed: list[Version] = []
    for start, end in zip(starts, [*starts[1:], len(versions)], strict=True):
        line = versions[start:end]
        pairs = [(place, place + 1) for place in range(len(line) - 1)]
        changes = [together([version.estimate(name) for version in line], pairs) for name in metrics]
        changed.append(line[0])
        for version, own in zip(line[1:], zip(*changes, strict=True), strict=True):
            changed.append(replace(version, changes=dict(zip(metrics, own, strict=True))))
    return changed


def summary_of(histories: Sequence[TaskHistory]) -> str:
    """Which version of each task is the best, how the last one compares with it, and which changes are certain."""
    shown = [(history, metric) for history in histories for metric in history.metrics]
    texts = [f"{history.task}, {spoken(metric)}: {_summary(history, metric)}" for history, metric in shown]
    falls = any(metric == "cora" and metric not in one.better for history, metric in shown for one in history.versions)
    return " ".join([*texts, CORA_FALLS] if falls else texts)


def _summary(history: TaskHistory, metric: str) -> str:
    """The sentences about one metric, among the versions that can be compared with the last one."""
    start = max(place for place, version in enumerate(history.versions) if version.not_comparable or not place)
    line = history.versions[start:]
    estimates, last = [version.estimate(metric) for version in line], len(line) - 1
    texts = [f"{version.label} ({Number.of(version.estimate(metric))})" for version in line]
    best = max(range(len(line)), key=lambda place: (estimates[place].value > -inf, estimates[place].value))
    if best != last:  # the interval holds for all versions, because it was not known before which one is the best
        (change,) = together(estimates, [(best, last)], [(place, last) for place in range(last)])
        texts[last] += f", {'certainly lower' if differs(change) else 'not certainly different from it'}"
    certain = [
        f"{before.label} to {after.label} ({after.changes[metric].value:+.3f})"
        for before, after in pairwise(history.versions)
        if after.changes and differs(after.changes[metric])
    ]
    word = "Best" if all(metric in version.better for version in line) else "Highest"
    return f"{word}: {texts[best]}. Last: {texts[last]}. Certain changes: {', '.join(certain) or 'none'}."


def short_labels(labels: Sequence[str]) -> list[str]:
    """Labels without the words that all of them have at their beginning and at their end."""
    words = [PIECE.findall(label) for label in labels]
    for _ in range(2):
        common = len(commonprefix(words))  # noqa: RUF071  # of lists, not of texts
        words = [own[common:][::-1] for own in words]
    found = ["".join(own).strip(" _/-") for own in words]
    return found if all(found) else list(labels)


def tables_of(histories: Sequence[TaskHistory]) -> list[Table]:
    """A table per task and metric with a row per version, the oldest first."""
    return [
        Table(
            f"{history.task}: {spoken(metric)} of the versions",
            ["version", "date", spoken(metric), "95%", *_DIFFERENCE],
            [_row(version, metric) for version in history.versions],
        )
        for history in histories
        for metric in history.metrics
    ]


def _row(version: Version, metric: str) -> list[Cell]:
    change: tuple[Cell, Cell] = ("not comparable" if version.not_comparable else "", "")
    if version.changes:
        change = Number.of_difference(version.changes[metric]).with_interval
    return [version.label, version.date[:10], *Number.of(version.estimate(metric)).with_interval, *change]


def chart_of(histories: Sequence[TaskHistory]) -> History:
    """The chart of all tasks: a line per task and metric over the versions."""
    by_date = sorted((version.date, version.label) for history in histories for version in history.versions)
    labels = list(dict.fromkeys(label for _, label in by_date))
    shown = list(dict.fromkeys(spoken(metric) for history in histories for metric in history.metrics))
    title = f"{' and '.join(shown)} of the versions"
    rows = [[table.title.partition(":")[0], *row] for table in tables_of(histories) for row in table.rows]
    return History(
        title=title,
        y_label=shown[0] if len(shown) == 1 else "score",
        versions=short_labels(labels),
        lines=[
            Line(
                history.task if len(shown) == 1 else f"{history.task}: {spoken(metric)}",
                [(labels.index(version.label), Number.of(version.estimate(metric))) for version in history.versions],
                breaks=[labels.index(version.label) for version in history.versions if version.not_comparable],
            )
            for history in histories
            for metric in history.metrics
        ],
        numbers=Table(title, ["task", "version", "date", "value", "95%", *_DIFFERENCE], rows),
        note=NOTE,
    )


def report_of(histories: Sequence[TaskHistory], notes: Sequence[str], title: str) -> Report:
    """The page of a history: the chart, and a table per task."""
    versions = [(history.task, version) for history in histories for version in history.versions]
    count = len({version.label for _, version in versions})
    subtitle = f"{count} versions, the oldest first. {summary_of(histories)}"
    signatures = [(f"{task}, {version.label}", version.signature) for task, version in versions if version.signature]
    shown = [(about, why) for about, _, why in (note.partition(": ") for note in notes)]
    return Report(
        title, [Section("Versions", subtitle, [chart_of(histories), *tables_of(histories)], signatures, shown)]
    )


def as_json(histories: Sequence[TaskHistory]) -> Any:
    """The histories with all digits, undefined numbers as null."""
    return for_json(
        [
            {
                "task": history.task,
                "versions": [_version_as_json(version, history.metrics) for version in history.versions],
            }
            for history in histories
        ]
    )


def _version_as_json(version: Version, metrics: Sequence[str]) -> dict[str, Any]:
    facts = {name: getattr(version, name) or None for name in ("date", "signature", "not_comparable")}
    differences = {metric: {"difference": version.changes.get(metric, _NO_DIFFERENCE)} for metric in metrics}
    values = {metric: for_json(version.estimate(metric)) | own for metric, own in differences.items()}
    return {"version": version.label, **facts, "metrics": values}
