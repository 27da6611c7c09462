"""Samples files -> runs: which files belong together, and what they score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose, isnan
from pathlib import Path
from typing import Any, get_args

from lm_eval_cora.answers import FEW_FOLLOWED, Reader
from lm_eval_cora.data import Data
from lm_eval_cora.equivalence import EquivalenceChecker
from lm_eval_cora.metrics.entries import applies_to, compute, features_of, is_in_table
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.options import Options
from lm_eval_cora.probes import Probe
from lm_eval_cora.question import Form
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.data import Asked, family_of, labels
from lm_eval_cora.report.files import SamplesFile, find_files, grouped, not_mergeable, part_of, short_names
from lm_eval_cora.report.samples import Digest, Key, Place, Samples, compared, probe_of, read_line, read_samples
from lm_eval_cora.report.signature import merged_signature
from lm_eval_cora.responses import Record, ResponseTable
from lm_eval_cora.task_files import probe_metrics


@dataclass(frozen=True, eq=False)
class Run:
    """What one model answered to one task.

    Attributes:
        model: Its name, short, and unlike that of every other model that is reported.
        name: Name of the task.
        filter: Name of the filter.
        part: The same if the task has several filters, else empty.
        data: Which questions were asked.
        label: Name of the data, as far as the name of the task does not tell it; see `with_labels`.
        probe: What made the variants.
        form: How the model was asked.
        files: The samples files, the newest first.
        results: What the harness' results file of the newest says; empty without one.
        signature: The signature of the scores; empty without a results file.
        reader: How written answers are read; None where answers were scored.
        read_before: How the run itself read them; empty if that is not known.
        table: The answers.
        records: The same, in the order of the files.
        places: Where each variant's line is.
        digests: What tells each variant, and its prompt, from others.
        references: Ids of the questions with an option that points at other options.
        metrics: Names of the metrics that the run itself computed.
        unchecked: Why there is no results file to check the numbers against; empty if there is one.
        notes: What the reader must know about the files: left out, merged, lines that could not be read.
    """

    model: str
    name: str
    filter: str
    part: str
    data: Data
    label: str
    probe: Probe
    form: Form
    files: tuple[Path, ...]
    results: Mapping[str, Any]
    signature: str
    reader: Reader | None
    read_before: str
    table: ResponseTable
    records: Sequence[Record]
    places: Mapping[Key, Place]
    digests: Mapping[Key, Digest]
    references: frozenset[str]
    metrics: frozenset[str]
    unchecked: str = ""
    notes: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """The task as a report names it: with its data and its filter, where there are several."""
        return self._named(self.name)

    @property
    def family(self) -> str:
        """The same without the probe, which is equal for all probes of one benchmark."""
        return self._named(family_of(self.name, self.probe.name))

    def _named(self, task: str) -> str:
        details = ", ".join(filter(None, (self.label, self.part)))
        return f"{task} ({details})" if details else task

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """What the results file says of the task; empty without one."""
        return part_of(part_of(self.results, "configs"), self.name)

    @cached_property
    def answers(self) -> dict[str, list[Record]]:
        """The records of each complete question, in order; of two answers to one variant the first."""
        complete: dict[str, dict[int, Record]] = {question: {} for question in self.table.question_ids}
        for record in self.records:
            if record.question_id in complete:
                complete[record.question_id].setdefault(record.ordinal, record)
        return {question: [found[ordinal] for ordinal in sorted(found)] for question, found in complete.items()}

    @cached_property
    def entries(self) -> list[Mapping[str, Any]]:
        """The metrics of the probe that are for this form and this benchmark, as its task file lists them.

        Of a run that stopped early those that it printed: the others are not known.
        """
        present = features_of(
            is_open=bool(self.table.written.any()),
            macro_average="macro_acc" in self.metrics,
            kinds=self.table.kinds,
        )
        sampled = "variants" in self.probe.options and set(self.table.sizes.tolist()) == {1}
        return [
            entry
            for entry in probe_metrics(self.probe.name)
            if applies_to(entry, self.form, sampled=sampled, features=present)
            and (self.table.is_whole or entry["metric"] in self.metrics)
        ]

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The metrics with one value each, by name, recomputed."""
        return {name: value for name, value in self._computed.items() if isinstance(value, Estimate)}

    @cached_property
    def studies(self) -> dict[str, Any]:
        """The other metrics, by name: tables of estimates."""
        return {name: value for name, value in self._computed.items() if not isinstance(value, Estimate)}

    @cached_property
    def _computed(self) -> dict[str, Any]:
        return {entry["metric"]: compute(entry, self.table) for entry in self.entries}

    @property
    def is_read_again(self) -> bool:
        """Whether answers are read by another reader than in the run itself."""
        return bool(self.read_before and self.reader) and self.read_before != self.reader

    @cached_property
    def differences(self) -> list[str]:
        """Where the results file says something else than the samples; empty where it agrees, or there is none."""
        if len(self.files) > 1 or self.is_read_again:
            return []
        printed = part_of(part_of(self.results, "results"), self.name)
        told = []
        ours = {entry["metric"]: self.estimates[entry["metric"]] for entry in self.entries if is_in_table(entry)}
        for name, found in ours.items():
            value, error = printed.get(f"{name},{self.filter}"), printed.get(f"{name}_stderr,{self.filter}")
            if value is not None and not (_same(value, found.value) and _same(error, found.stderr)):
                told.append(f"{name}: {value} ± {error} there, {found.value:.6g} ± {found.stderr:.6g} here")
        return told

    @cached_property
    def warnings(self) -> list[str]:
        """All that the reader must know about the run: its notes, and how far the numbers are checked."""
        told = list(self.notes)
        if self.unchecked:
            told.append(f"{self.unchecked}, so the numbers are not checked against it")
        elif len(self.files) > 1:
            told.append("merged, so the numbers are not checked against a results file")
        if self.is_read_again:
            told.append(f"read again by the {self.reader} reader, so the numbers are not those of the results file")
        followed = self.estimates.get("followed", UNDEFINED).value
        if followed < FEW_FOLLOWED:
            told.append(
                f"{followed:.1%} of the responses follow the format, so the scores depend on the reader, here "
                f"{self.reader}: compare --reader strict and --reader flexible"
            )
        if self.differences:
            told.append(f"the results file says something else than its samples: {'; '.join(self.differences)}")
        ours = {entry["metric"] for entry in self.entries}
        if others := sorted(name for name in self.metrics - ours if not name.endswith("_stderr")):
            told.append(f"metrics that the probe {self.probe.name!r} does not have are not shown: {', '.join(others)}")
        return told

    def line(self, record: Record) -> Mapping[str, Any]:
        """The line of a variant in the samples file."""
        return read_line(self.places[record.question_id, record.ordinal])


def read_runs(
    paths: Iterable[Path], checker: EquivalenceChecker | None = None, reader: Reader | None = None
) -> list[Run]:
    """Read what the harness wrote.

    Samples of one task by one model on the same questions in one of the paths are one run: parts of it that were asked
    alike and have no variant in common are merged, of others the newest is taken, and the run's notes say which.
    Different questions are different runs.

    Args:
        paths: Folders, searched with all below them, or samples or results files. What is in several counts once.
        checker: Compares answers of the models' own.
        reader: How written answers are read; None reads those of each run as the run did.

    Returns:
        The runs in the order of the paths, within one by model, task and data.

    Raises:
        ReportError: If a path does not exist or holds no samples of ours.
    """
    checker = checker or EquivalenceChecker()
    found: list[tuple[Path, Run]] = []
    seen: set[Path] = set()
    for path in paths:
        runs = _runs(find_files(path), checker, reader)
        if not runs:
            raise ReportError(
                f"{path}: there are no samples of these tasks. The harness writes samples_<task>_<date>.jsonl with "
                "--output_path FOLDER --log_samples; give that folder"
            )
        for run in runs:
            files = {file.resolve() for file in run.files}
            if not files <= seen:
                found.append((path, run))
            seen |= files
    return _named_apart(found)


def _runs(files: Iterable[SamplesFile], checker: EquivalenceChecker, reader: Reader | None) -> list[Run]:
    runs: list[Run] = []
    lost: list[str] = []
    for group in grouped(files):
        found, notes = _runs_of(group, checker, reader)
        runs += found
        lost += [] if found else notes
    if runs and lost:  # a task of which nothing is left has no place of its own
        runs[0] = replace(runs[0], notes=(*runs[0].notes, *lost))
    return runs


def _runs_of(
    files: Sequence[SamplesFile], checker: EquivalenceChecker, reader: Reader | None
) -> tuple[list[Run], list[str]]:
    """The run of each filter of a task on one data set, and notes.

    Args:
        files: A group of `grouped`: the newest comes first.
        checker: As of `read_runs`.
        reader: As of `read_runs`.
    """
    used: list[SamplesFile] = []
    parts: dict[str, list[Samples]] = {}
    notes: list[str] = []
    broken: Counter[str] = Counter()
    for file in files:
        found: dict[str, Samples] = {}
        why = not_mergeable(used[0], file, reader) if used else ""
        if not why:
            found, defects = read_samples(file.path, _reader_of(file, reader))
            if not found:
                why = f"it holds no answers{f' ({_listed(defects)})' if defects else ''}"
            elif used:
                why = _overlap(parts, found)
        if why:
            notes.append(f"left out {file.path}{f', older than {used[0].path}' if used else ''}: {why}")
            continue
        used.append(file)
        broken += defects
        for name, samples in found.items():
            parts.setdefault(name, []).append(samples)
    if not used:
        return [], notes
    if len(used) > 1:
        notes.append(f"merged {len(used)} runs of one task: {', '.join(str(file.path) for file in used)}")
    if broken:
        notes.append(f"left out {_count(broken.total(), 'line')}: {_listed(broken)}")
    alone = len(parts) == 1
    read_by = _reader_of(used[0], reader)
    return [_run(used, name, several, checker, notes, read_by, alone=alone) for name, several in parts.items()], notes


def _reader_of(file: SamplesFile, reader: Reader | None) -> Reader:
    """The reader asked for, or else that of the run, or else the default."""
    own = next((known for known in get_args(Reader) if known == file.reader), None)
    return reader or own or Options.reader


def _listed(broken: Counter[str]) -> str:
    return ", ".join(f"{count:,} {defect}" for defect, count in broken.most_common())


def _overlap(parts: Mapping[str, list[Samples]], found: Mapping[str, Samples]) -> str:
    """Why an older file is no part of the newest run, as far as the samples say it, or nothing."""
    if found.keys() != parts.keys():
        return "it has other filters"
    pairs = ((one, found[name]) for name, several in parts.items() for one in several)
    return (
        "it has variants that are answered there, too"
        if any(a.places.keys() & b.places.keys() for a, b in pairs)
        else ""
    )


def _run(
    files: Sequence[SamplesFile],
    name: str,
    parts: Sequence[Samples],
    checker: EquivalenceChecker,
    notes: Sequence[str],
    reader: Reader,
    *,
    alone: bool,
) -> Run:
    records = compared(parts, checker)
    table = ResponseTable.from_records(records, checker.verdict)
    newest = files[0]
    if newest.reader and newest.reader != reader and not table.is_whole:
        raise ReportError(
            f"{newest.path}: --reader {reader}: the run stopped early, and the {newest.reader} reader decided where. "
            f"Leave --reader out, or run it again with the option 'reader': '{reader}'"
        )
    return Run(
        model=newest.model,
        name=newest.task,
        filter=name,
        part="" if alone else name,
        data=newest.data,
        label="",
        probe=probe_of(newest.config, records),
        form=parts[0].form,
        files=tuple(file.path for file in files),
        results=newest.results,
        signature=merged_signature([file.signature for file in files], table, reader, newest.reader),
        reader=reader if parts[0].form == "generate" else None,
        read_before=newest.reader,
        table=table,
        records=records,
        places={key: place for samples in parts for key, place in samples.places.items()},
        digests={key: digest for samples in parts for key, digest in samples.digests.items()},
        references=frozenset[str]().union(*(samples.references for samples in parts)),
        metrics=parts[0].metrics,
        unchecked=newest.unchecked,
        notes=(*notes, *_left_out(table)),
    )


def _left_out(table: ResponseTable) -> list[str]:
    told = []
    if not table.is_whole:
        told.append(
            f"stopped early: {table.answers:,} of {len(table.skipped):,} variants were asked. Given is what the others "
            "cannot change"
        )
    if table.not_begun:
        told.append(f"{_count(table.not_begun, 'question')} of the task were skipped, as a budget or a target says")
    if table.incomplete:
        told.append(f"left out {_count(table.incomplete, 'question')}: variants are missing")
    if table.duplicates:
        told.append(f"left out {_count(table.duplicates, 'second answer')} to a variant")
    return told


def _same(printed: Any, found: float) -> bool:
    """Whether a number of the results file is the recomputed one; undefined ones are texts there."""
    try:
        number = float("nan" if printed in (None, "N/A") else printed)
    except (TypeError, ValueError):
        return False
    return isclose(number, found, rel_tol=1e-9, abs_tol=1e-12) or (isnan(number) and isnan(found))


def _named_apart(found: Sequence[tuple[Path, Run]]) -> list[Run]:
    """The runs with short names of the models, and their path where the same was run in several."""
    paths, runs = [path for path, _ in found], with_labels([run for _, run in found])
    names = short_names(run.model for run in runs)
    tasks = Counter((run.model, run.task) for run in runs)
    twice = {model for (model, _), count in tasks.items() if count > 1}
    return [
        replace(run, model=f"{names[run.model]} ({path})" if run.model in twice else names[run.model])
        for path, run in zip(paths, runs, strict=True)
    ]


def with_labels(runs: Sequence[Run]) -> list[Run]:
    """The runs with labels that tell apart the data of one task."""
    asked = [Asked(run.name, family_of(run.name, run.probe.name), run.data) for run in runs]
    return [replace(run, label=label) for run, label in zip(runs, labels(asked), strict=True)]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
