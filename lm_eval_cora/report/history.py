"""The versions of a model over time: scores by date, and the paired difference to the version before."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from math import inf, nan
from pathlib import Path
from typing import Any

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.consistency import CORA_FALLS
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, for_json
from lm_eval_cora.metrics.facts import falls
from lm_eval_cora.metrics.paired import Difference, differs, together
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.report.content import History, Line, Report, Section
from lm_eval_cora.report.headline import spoken
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.files import grouped_by, short_names
from lm_eval_cora.runs.grouping import Inputs, Labels, RunReader, with_labels
from lm_eval_cora.runs.model_run import Run, check_metric, first_defined
from lm_eval_cora.runs.task_files import facts_named
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Cell, Table

NOTE = (
    "The versions are sorted by the date in the names of their files; if one has none, by the order of the arguments. "
    "Differences are new minus old, paired by question: a version minus the one before it. The intervals of a line "
    "hold together, with those of the last version minus each other one. A line is broken where two versions were not "
    "asked the same."
)

_DIFFERENCE = ("new minus old", "95% of the difference")
_NO_DIFFERENCE = Difference(nan, nan, nan, nan)


@dataclass(frozen=True)
class Version:
    """A run of a task by one version of the model, without its answers."""

    run: Run
    not_comparable: str = ""  # reason why it cannot be compared with the version before

    @property
    def label(self) -> str:
        """The name of the version: as model of its run."""
        return self.run.model

    def estimate(self, metric: str) -> Estimate:
        """The metric; undefined if the version lacks it."""
        return self.run.estimates.get(metric, UNDEFINED)

    def improves_with(self, metric: str) -> bool:
        """Whether a higher value of a metric is better; not so where CoRA falls."""
        return self.run.higher.get(metric, False) and not falls(metric, self.run.estimates)


@dataclass(frozen=True)
class TaskHistory:
    """The versions of a task in order, and the metrics to show."""

    task: str
    metrics: Sequence[str]
    versions: Sequence[Version]

    @cached_property
    def lines(self) -> list[range]:
        """The places of versions that can be compared with each other."""
        starts = [place for place, version in enumerate(self.versions) if version.not_comparable or not place]
        return [range(*ends) for ends in pairwise([*starts, len(self.versions)])]

    @cached_property
    def differences(self) -> dict[str, dict[tuple[int, int], Difference]]:
        """For each metric the changes of each version since the one before, and of the last one of a line since each.

        They are by the places of the two versions. All intervals of a line hold together. So they also hold for the
        best version, which the values decide.
        """
        found: dict[str, dict[tuple[int, int], Difference]] = {metric: {} for metric in self.metrics}
        for line in self.lines:
            pairs = list(dict.fromkeys([*pairwise(line), *((place, line[-1]) for place in line[:-1])]))
            inside = [(before - line.start, after - line.start) for before, after in pairs]
            for metric in self.metrics:
                estimates = [self.versions[place].estimate(metric) for place in line]
                found[metric] |= zip(pairs, together(estimates, inside), strict=True)
        return found


def read_history(
    paths: Sequence[Path],
    *,
    reader: Reader | None = None,
    labels: Labels | None = None,
    metrics: Sequence[str] = (),
) -> tuple[list[TaskHistory], list[str]]:
    """Read the runs below some paths as versions of one model. Runs of a task with the same model and date are one."""
    histories: list[TaskHistory] = []
    notes: list[str] = []
    known: dict[str, None] = {}
    with RunReader(reader, labels) as readers:
        inputs = readers.inputs(paths, lambda file: file.date)
        tasks = [_in_order(own, paths) for _, own in sorted(grouped_by(inputs, lambda one: one.task).items())]
        readers.plan(chain.from_iterable(tasks))
        read = [_versions(own, readers, metrics, known) for own in tasks]
    lines = _with_names([line for own in read for line in own])
    for line in lines:
        for before, version in pairwise([line[0], *line]):
            run = version.run
            notes += [f"{run.model}, {run.name}: {note}" for note in run.notes]
            if version.not_comparable:
                pair = f"{before.label} and {run.model}"
                notes.append(f"{run.task}: {pair} are not comparable: {version.not_comparable}")
    for last, line in zip(with_labels([line[-1].run for line in lines]), lines, strict=True):
        lead = first_defined(last.probe.ranked_by, [version.run.estimates for version in line])
        if shown := metrics or [name for name in [lead] if name]:
            histories.append(TaskHistory(last.task, shown, line))
    for name in metrics:
        check_metric(name, known)
    if not any(len(history.versions) > 1 for history in histories):
        raise _too_few(histories, readers, paths)
    return histories, notes + readers.notes


def _in_order(inputs: Sequence[Inputs], paths: Sequence[Path]) -> list[Inputs]:
    """By date, if all have one in the names of their files; else in the order of the paths, then by name."""
    if all(one.date for one in inputs):
        return sorted(inputs, key=lambda one: (one.date, one.files[0].model if one.files else one.file.name))
    return sorted(inputs, key=lambda one: (paths.index(one.path), one.file.name))


def _versions(
    inputs: Iterable[Inputs], readers: RunReader, metrics: Sequence[str], known: dict[str, None]
) -> Iterable[list[Version]]:
    """Read the versions of each task and filter. Of each, only the answers of two are in memory at a time."""
    latest: dict[tuple[str, str], Run] = {}
    versions: dict[tuple[str, str], list[Version]] = {}
    for one in inputs:
        for run in readers.read_inputs(one):
            before = latest.get(key := (run.name, run.part))
            why = not_comparable(before, run) if before else ""
            named = (*metrics, *run.probe.ranked_by)
            light = run.without_answers((*named, *(side for name in named for side in facts_named(name).sides)))
            versions.setdefault(key, []).append(Version(light, why))
            known |= dict.fromkeys(run.estimates)
            latest[key] = run
    return versions.values()


def _with_names(lines: Sequence[Sequence[Version]]) -> list[list[Version]]:
    """Name the versions: by the date if there is one model, by the model if it has one date, else by both."""
    runs = [version.run for line in lines for version in line]
    names = short_names(run.model for run in runs)
    counts = Counter((run.task, run.model) for run in runs)
    repeated = {model for (_, model), count in counts.items() if count > 1}
    named = []
    for line in lines:
        seen = Counter[str]()
        own = []
        for version in line:
            run = version.run
            seen[run.model] += 1
            day, _, time = run.date.partition("T")
            when = f"{day} {time[:8].replace('-', ':')}" if run.date else str(seen[run.model])
            parts = names[run.model] if len(names) > 1 else "", when if run.model in repeated else ""
            label = " ".join(filter(None, parts)) or names[run.model]
            own.append(replace(version, run=replace(run, model=label)))
        named.append(own)
    return named


def _too_few(histories: Sequence[TaskHistory], readers: RunReader, paths: Iterable[Path]) -> UserError:
    found = [f"one of {history.task} ({history.versions[0].label})" for history in histories]
    others = first_few(readers.other_tasks)
    reasons = f". Not read: {others} (lm-eval-cora score says why)" if others else ""
    return UserError(
        f"--history: expected two or more runs of the same task, got {' and '.join(found) or 'none'} in "
        f"{', '.join(map(str, paths))}. Pass a folder with the outputs of several versions with --log_samples{reasons}"
    )


def summary_of(histories: Sequence[TaskHistory]) -> str:
    """Which version of each task is the best, how the last one compares with it, and which changes are certain."""
    shown = [(history, metric) for history in histories for metric in history.metrics]
    texts = [f"{history.task}, {spoken(metric)}: {_summary(history, metric)}" for history, metric in shown]
    falls = any(
        metric == "cora" and not version.improves_with(metric) for one, metric in shown for version in one.versions
    )
    return " ".join([*texts, CORA_FALLS] if falls else texts)


def _summary(history: TaskHistory, metric: str) -> str:
    """The sentences about one metric, among the versions that can be compared with the last one."""
    line, versions, changes = history.lines[-1], history.versions, history.differences[metric]
    first, last = line[0], line[-1]
    values = {place: versions[place].estimate(metric).value for place in line}
    best = max(line, key=lambda place: (values[place] > -inf, values[place]))
    texts = {place: f"{versions[place].label} ({Number.of(versions[place].estimate(metric))})" for place in line}
    if best != last:
        is_lower = differs(changes[best, last])
        texts[last] += f", {'certainly lower' if is_lower else 'not certainly different from it'}"
    since = ""
    if last > first + 1:
        difference, interval = Number.of_difference(changes[first, last]).with_interval
        since = f" Since {versions[first].label}: {difference} ({interval})."
    shown = [*pairwise(range(len(versions))), *([(first, last)] if last > first + 1 else [])]
    certain = [
        f"{versions[before].label} to {versions[after].label} ({change.value:+.3f})"
        for before, after in shown
        if (change := changes.get((before, after))) and differs(change)
    ]
    word = "Best" if all(versions[place].improves_with(metric) for place in line) else "Highest"
    return f"{word}: {texts[best]}. Last: {texts[last]}.{since} Certain changes: {', '.join(certain) or 'none'}."


def tables_of(histories: Sequence[TaskHistory]) -> list[Table]:
    """A table per task and metric with a row per version, the oldest first."""
    return [
        Table(
            f"{history.task}: {spoken(metric)} of the versions",
            ["version", "date", spoken(metric), "95%", *_DIFFERENCE],
            [_row(history, place, metric) for place in range(len(history.versions))],
        )
        for history in histories
        for metric in history.metrics
    ]


def _row(history: TaskHistory, place: int, metric: str) -> list[Cell]:
    version = history.versions[place]
    difference: tuple[Cell, Cell] = ("not comparable" if version.not_comparable else "", "")
    if change := history.differences[metric].get((place - 1, place)):
        difference = Number.of_difference(change).with_interval
    run = version.run
    return [run.model, run.date[:10], *Number.of(version.estimate(metric)).with_interval, *difference]


def chart_of(histories: Sequence[TaskHistory]) -> History:
    """The chart of all tasks: a line per task and metric over the versions."""
    runs = [version.run for history in histories for version in history.versions]
    if all(run.date for run in runs):
        runs.sort(key=lambda run: (run.date, run.model))
    labels = list(dict.fromkeys(run.model for run in runs))
    shown = list(dict.fromkeys(spoken(metric) for history in histories for metric in history.metrics))
    title = f"{' and '.join(shown)} of the versions"
    rows = [[table.title.partition(":")[0], *row] for table in tables_of(histories) for row in table.rows]
    return History(
        title=title,
        y_label=shown[0] if len(shown) == 1 else "score",
        versions=labels,
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
    signatures = [
        (f"{task}, {version.label}", version.run.signature) for task, version in versions if version.run.signature
    ]
    shown = [(about, why) for about, _, why in (note.partition(": ") for note in notes)]
    return Report(
        title, [Section("Versions", subtitle, [chart_of(histories), *tables_of(histories)], signatures, shown)]
    )


def as_json(histories: Sequence[TaskHistory]) -> Any:
    """The histories with all digits, undefined numbers as null."""
    return for_json([{"task": one.task, "versions": [*_versions_as_json(one)]} for one in histories])


def _versions_as_json(history: TaskHistory) -> Iterator[dict[str, Any]]:
    ends = {line[-1] for line in history.lines}
    for place, version in enumerate(history.versions):
        end = next(end for end in sorted(ends) if end >= place)
        metrics = {}
        for metric, found in history.differences.items():
            changes = {"difference": (place - 1, place), "to_last": (place, end)}
            own = {name: found.get(pair, _NO_DIFFERENCE) for name, pair in changes.items()}
            metrics[metric] = for_json(version.estimate(metric)) | own
        facts = {"date": version.run.date, "signature": version.run.signature, "not_comparable": version.not_comparable}
        yield {
            "version": version.label,
            **{name: value or None for name, value in facts.items()},
            "metrics": metrics,
        }
