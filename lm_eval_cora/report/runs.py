"""Group samples files into runs and recompute their metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isclose, isnan
from pathlib import Path
from typing import Any, get_args

import numpy as np

from lm_eval_cora import __version__
from lm_eval_cora.answers import FEW_FOLLOWED, Reader
from lm_eval_cora.data import Data
from lm_eval_cora.equivalence import EquivalenceChecker
from lm_eval_cora.metrics.entries import Entry, compute, is_in_table
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.kinds import note_on_small_categories
from lm_eval_cora.options import Options
from lm_eval_cora.packed import PackedRecords
from lm_eval_cora.probes import Probe
from lm_eval_cora.question import Form
from lm_eval_cora.records import Record
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.data import Asked, family_of, labels
from lm_eval_cora.report.files import SamplesFile, find_files, grouped, not_mergeable, part_of, short_names
from lm_eval_cora.report.parts import SamplesReaders
from lm_eval_cora.report.samples import Found, Samples, compared, probe_of, read_line
from lm_eval_cora.report.signature import is_two_phase, merged_signature
from lm_eval_cora.responses import Ints, ResponseTable
from lm_eval_cora.task_files import applicable_metrics


@dataclass(frozen=True, eq=False)
class Run:
    """The answers of one model to one task.

    Attributes:
        model: Name of the model, shortened; different for each model of a report.
        name: Name of the task.
        filter: Name of the filter.
        part: Name of the filter if the task has several filters; else empty.
        data: Identity of the questions.
        label: Name of the data; empty if the name of the task is sufficient (see `with_labels`).
        probe: The probe that made the variants.
        form: Whether answers were written or scored; None if unknown.
        files: The samples files, the newest first.
        results: Content of the results file of the newest samples; empty without one.
        signature: The signature of the scores; empty without a results file.
        reader: Reader of written answers; None if answers were scored.
        read_before: Reader that the run itself used; empty if unknown.
        table: The answers.
        records: The answers as records, in the order of the files.
        samples: The samples of which the records are.
        rows: (R,) place in `records` of each record of the table.
        references: Ids of the questions with an option that refers to other options.
        metrics: Names of the metrics that the run itself computed.
        unchecked: Reason why there is no results file to check the numbers against; empty if there is one.
        notes: Messages about files that were merged or left out, and about lines that could not be read.
    """

    model: str
    name: str
    filter: str
    part: str
    data: Data
    label: str
    probe: Probe
    form: Form | None
    files: tuple[Path, ...]
    results: Mapping[str, Any]
    signature: str
    reader: Reader | None
    read_before: str
    table: ResponseTable
    records: PackedRecords
    samples: Samples
    rows: Ints
    references: frozenset[str]
    metrics: frozenset[str]
    unchecked: str = ""
    notes: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """Name of the task in reports, with its data and its filter if there are several."""
        return self._named(self.name)

    @property
    def family(self) -> str:
        """Name of the task without its probe: the same for all probes of a benchmark."""
        return self._named(family_of(self.name, self.probe.name))

    def _named(self, task: str) -> str:
        details = ", ".join(filter(None, (self.label, self.part)))
        return f"{task} ({details})" if details else task

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Configuration of the task in the results file; empty without one."""
        return part_of(part_of(self.results, "configs"), self.name)

    @cached_property
    def _starts(self) -> dict[str, int]:
        """Index in `rows` of the first variant of each question."""
        starts = np.cumsum(self.table.sizes) - self.table.sizes
        return dict(zip(self.table.question_ids, starts.tolist(), strict=True))

    @cached_property
    def invalid(self) -> list[Record]:
        """The invalid answers to complete questions, in the order of the table."""
        return [self.records[place] for place in self.rows[self.table.invalid].tolist()]

    @cached_property
    def entries(self) -> list[Mapping[str, Any]]:
        """The entries of the probe's metrics that apply to this form and this benchmark.

        A run that stopped early has only the metrics that it printed.
        """
        entries = applicable_metrics(self.probe, self.table, self.form, macro_average="macro_acc" in self.metrics)
        return [entry for entry in entries if self.table.is_whole or entry["metric"] in self.metrics]

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The recomputed metrics that have one value, by name."""
        return {name: value for name, value in self._computed.items() if isinstance(value, Estimate)}

    @cached_property
    def studies(self) -> dict[str, Any]:
        """The recomputed metrics that are tables of estimates, by name."""
        return {name: value for name, value in self._computed.items() if not isinstance(value, Estimate)}

    @cached_property
    def _computed(self) -> dict[str, Any]:
        return {entry["metric"]: self.function(entry)(self.table) for entry in self.entries}

    def function(self, entry: Entry) -> Callable[[ResponseTable], Any]:
        """The function that computes the metric of an entry from the answers."""
        return partial(compute, entry, whole=self.is_two_phase)

    @property
    def is_two_phase(self) -> bool:
        """Whether the answers are a two-phase sample (--target), from which values of the benchmark are estimated."""
        return is_two_phase(self.signature)

    @property
    def is_read_again(self) -> bool:
        """Whether the answers are read by a different reader than in the run itself."""
        return bool(self.read_before and self.reader) and self.read_before != self.reader

    @cached_property
    def differences(self) -> list[str]:
        """Differences between the results file and the recomputed metrics; empty without a results file.

        Errors of a run of another version are not compared, because versions may compute them differently.
        """
        if len(self.files) > 1 or self.is_read_again:
            return []
        printed = part_of(part_of(self.results, "results"), self.name)
        told, same_version = [], not self.signature or self.signature.endswith(f"|v{__version__}")
        ours = {entry["metric"]: self.estimates[entry["metric"]] for entry in self.entries if is_in_table(entry)}
        for name, found in ours.items():
            value, error = printed.get(f"{name},{self.filter}"), printed.get(f"{name}_stderr,{self.filter}")
            is_same = _same(value, found.value) and (_same(error, found.stderr) or not same_version)
            if value is not None and not is_same:
                again = f"{found.value:.6g} ± {found.stderr:.6g}"
                told.append(f"{name}: {value} ± {error} in the file, {again} recomputed")
        return told

    @cached_property
    def warnings(self) -> list[str]:
        """The warnings about the run: its notes, and reasons why its numbers may differ from the results file."""
        told = list(self.notes)
        if self.unchecked:
            told.append(f"{self.unchecked}, so the numbers are not checked against it")
        elif len(self.files) > 1:
            told.append("merged runs are not checked against a results file")
        if self.is_read_again:
            told.append(f"read again by the {self.reader} reader, so the numbers may differ from the results file")
        followed = self.estimates.get("followed", UNDEFINED).value
        if followed < FEW_FOLLOWED:
            told.append(
                f"{followed:.1%} of the responses follow the format, so the scores depend on the reader (here "
                f"{self.reader}). Compare --reader strict and --reader flexible"
            )
        if self.differences:
            told.append(f"the results file differs from its samples: {'; '.join(self.differences)}")
        ours = {entry["metric"] for entry in self.entries}
        if any(name.startswith("macro_") for name in self.estimates) and (note := note_on_small_categories(self.table)):
            told.append(note)
        if others := sorted(name for name in self.metrics - ours if not name.endswith("_stderr")):
            told.append(f"metrics that are not of the probe {self.probe.name!r} are not shown: {', '.join(others)}")
        return told

    def line(self, record: Record) -> Mapping[str, Any]:
        """Read the line of a variant of a complete question in its samples file."""
        start = self._starts[record.question_id]
        return read_line(self.samples.place(int(self.rows[start + record.ordinal])))

    def answers_to(self, question: str) -> list[Record]:
        """The records of a complete question in order, without repeated answers to a variant."""
        start = self._starts[question]
        size = int(self.table.sizes[self.table.question[start]])
        return [self.records[place] for place in self.rows[start : start + size].tolist()]


def read_runs(
    paths: Iterable[Path],
    checker: EquivalenceChecker | None = None,
    reader: Reader | None = None,
    labels: Mapping[Path, str] | None = None,
) -> list[Run]:
    """Read the output of the harness, and files of answers that were collected without it.

    The samples files of one task, one model and the same questions in one of the paths form one run. Files with the
    same settings and no common variant are merged; otherwise the newest file is used. The notes of the run name the
    files that were merged or left out. Different questions are different runs.

    Args:
        paths: Folders, which are searched recursively for samples files; samples or results files; or files of
            answers. A file found twice counts once.
        checker: Compares written answers that are not options.
        reader: How to read written answers; None uses the reader of each run.
        labels: Names for the models of some paths.

    Returns:
        The runs in the order of the paths; within a path by model, task and data.

    Raises:
        ReportError: If a path does not exist or has no samples of lm-eval-cora tasks, if a file of answers cannot be
            read, or if a path with a label has several models.
    """
    with SamplesReaders() as readers:
        return _named_apart(_found(paths, checker or EquivalenceChecker(), reader, labels, readers))


def _found(
    paths: Iterable[Path],
    checker: EquivalenceChecker,
    reader: Reader | None,
    labels: Mapping[Path, str] | None,
    readers: SamplesReaders,
) -> list[tuple[Path, Run]]:
    """The runs of `read_runs`, each with the path that it was found in."""
    found: list[tuple[Path, Run]] = []
    seen: set[Path] = set()
    for path in paths:
        runs = runs_in(path, checker, reader, labels, readers)
        if not runs:
            raise ReportError(
                f"{path}: there are no samples of lm-eval-cora tasks (samples_<task>_<date>.jsonl). Run the harness "
                "with --output_path FOLDER --log_samples, and pass that FOLDER. Or pass a file of answers itself"
            )
        for run in runs:
            files = {file.resolve() for file in run.files}
            if not files <= seen:
                found.append((path, run))
            seen |= files
    return found


def runs_in(
    path: Path,
    checker: EquivalenceChecker | None = None,
    reader: Reader | None = None,
    labels: Mapping[Path, str] | None = None,
    readers: SamplesReaders | None = None,
) -> Sequence[Run]:
    """Read the runs of one path; see `read_runs`. The names of the models are not shortened.

    Returns:
        The runs; empty if the path has no samples of lm-eval-cora tasks.

    Raises:
        ReportError: If the path does not exist or cannot be read, or has a label and several models.
    """
    from lm_eval_cora.report.answers_file import is_answers_file, read_answers_file  # it imports Run from here

    if is_answers_file(path):
        runs: Sequence[Run] = [read_answers_file(path, reader)]
    else:
        with nullcontext(readers) if readers else SamplesReaders() as open_readers:
            runs = _runs(find_files(path), checker or EquivalenceChecker(), reader, open_readers)
    if labels is None or path not in labels:
        return runs
    models = dict.fromkeys(run.model for run in runs)
    if len(models) > 1:
        raise ReportError(
            f"--label {path}={labels[path]}: expected one model in {path}, got {len(models)}: {', '.join(models)}. "
            "Pass the folder of one model"
        )
    return [replace(run, model=labels[path]) for run in runs]


def _runs(
    files: Iterable[SamplesFile], checker: EquivalenceChecker, reader: Reader | None, readers: SamplesReaders
) -> list[Run]:
    runs: list[Run] = []
    lost: list[str] = []
    for group in grouped(files):
        found, notes = _runs_of(group, checker, reader, readers)
        runs += found
        lost += [] if found else notes
    if runs and lost:  # notes of tasks without a run are shown with the first run
        runs[0] = replace(runs[0], notes=(*runs[0].notes, *lost))
    return runs


def _runs_of(
    files: Sequence[SamplesFile], checker: EquivalenceChecker, reader: Reader | None, readers: SamplesReaders
) -> tuple[list[Run], list[str]]:
    """Make the run of each filter from the files of a group.

    Args:
        files: A group of `grouped`; the newest file comes first.
        checker: As in `read_runs`.
        reader: As in `read_runs`.
        readers: Reads the files.

    Returns:
        The runs, and notes about merged and left out files.
    """
    used: list[SamplesFile] = []
    parts: Found = {}
    notes: list[str] = []
    broken: Counter[str] = Counter()
    for file in files:
        found: Found = {}
        why = not_mergeable(used[0], file, reader) if used else ""
        if not why:
            found, defects = readers.read(file.path, _reader_of(file, reader))
            if not found:
                why = f"it has no answers{f' ({_listed(defects)})' if defects else ''}"
            elif used:
                why = _overlap(parts, found)
        if why:
            notes.append(f"left out {file.path}{f', older than {used[0].path}' if used else ''}: {why}")
            continue
        used.append(file)
        broken += defects
        for name, samples in found.items():
            parts.setdefault(name, Samples()).extend(samples)
    if not used:
        return [], notes
    if len(used) > 1:
        notes.append(f"merged {len(used)} runs of one task: {', '.join(str(file.path) for file in used)}")
    if broken:
        notes.append(f"left out {_count(broken.total(), 'line')}: {_listed(broken)}")
    alone = len(parts) == 1
    read_by = _reader_of(used[0], reader)
    return [_run(used, name, samples, checker, notes, read_by, alone=alone) for name, samples in parts.items()], notes


def _reader_of(file: SamplesFile, reader: Reader | None) -> Reader:
    """The requested reader, else the reader of the run, else the default."""
    own = next((known for known in get_args(Reader) if known == file.reader), None)
    return reader or own or Options.reader


def _listed(broken: Counter[str]) -> str:
    return ", ".join(f"{count:,} {defect}" for defect, count in broken.most_common())


def _overlap(parts: Found, found: Found) -> str:
    """Reason why the samples of a file cannot be merged with the newer parts; empty if they can."""
    if found.keys() != parts.keys():
        return "its filters differ"
    overlaps = any(samples.records.keys() & found[name].records.keys() for name, samples in parts.items())
    return "the newer file has some of its variants" if overlaps else ""


def _run(
    files: Sequence[SamplesFile],
    name: str,
    samples: Samples,
    checker: EquivalenceChecker,
    notes: Sequence[str],
    reader: Reader,
    *,
    alone: bool,
) -> Run:
    records = compared(samples, checker)
    table, rows = ResponseTable.from_packed(records, checker.verdict)
    newest = files[0]
    if newest.reader and newest.reader != reader and not table.is_whole:
        raise ReportError(
            f"{newest.path}: --reader {reader}: expected --reader {newest.reader}, because its answers decided where "
            f"the run stopped early. Leave --reader out, or repeat the run with the option 'reader': '{reader}'"
        )
    return Run(
        model=newest.model,
        name=newest.task,
        filter=name,
        part="" if alone else name,
        data=newest.data,
        label="",
        probe=probe_of(newest.config, records),
        form=samples.form,
        files=tuple(file.path for file in files),
        results=newest.results,
        signature=merged_signature([file.signature for file in files], table, reader, newest.reader),
        reader=reader if samples.form == "generate" else None,
        read_before=newest.reader,
        table=table,
        records=records,
        samples=samples,
        rows=rows,
        references=frozenset(samples.references),
        metrics=samples.metrics,
        unchecked=newest.unchecked,
        notes=(*notes, *_left_out(table, newest.signature)),
    )


def _left_out(table: ResponseTable, signature: str) -> list[str]:
    told = []
    if is_two_phase(signature):
        told.append(
            "--target asked a sample of the questions in two phases: values, errors and intervals are estimates for "
            f"all {_count(len(table.sizes) + table.not_begun, 'question')}"
        )
    elif not table.is_whole:
        told.append(
            f"stopped early: {table.answers:,} of {len(table.skipped):,} variants were asked. Only metrics that the "
            "other variants cannot change are shown"
        )
    if table.not_begun and not is_two_phase(signature):
        told.append(f"--budget or --target-stderr skipped {_count(table.not_begun, 'question')} of the task")
    if table.incomplete:
        told.append(f"left out {_count(table.incomplete, 'question')}: variants are missing")
    if table.duplicates:
        told.append(f"left out {_count(table.duplicates, 'repeated answer')} to a variant")
    return told


def _same(printed: Any, found: float) -> bool:
    """Whether a number in the results file equals the recomputed one. The file has undefined numbers as text."""
    try:
        number = float("nan" if printed in (None, "N/A") else printed)
    except (TypeError, ValueError):
        return False
    return isclose(number, found, rel_tol=1e-9, abs_tol=1e-12) or (isnan(number) and isnan(found))


def _named_apart(found: Sequence[tuple[Path, Run]]) -> list[Run]:
    """Shorten the names of the models; add the path if several paths have the same model and task."""
    paths, runs = [path for path, _ in found], with_labels([run for _, run in found])
    names = short_names(run.model for run in runs)
    tasks = Counter((run.model, run.task) for run in runs)
    twice = {model for (model, _), count in tasks.items() if count > 1}
    return [
        replace(run, model=f"{names[run.model]} ({path})" if run.model in twice else names[run.model])
        for path, run in zip(paths, runs, strict=True)
    ]


def with_labels(runs: Sequence[Run]) -> list[Run]:
    """Label the runs so that different data of a task have different names."""
    asked = [Asked(run.name, family_of(run.name, run.probe.name), run.data) for run in runs]
    return [replace(run, label=label) for run, label in zip(runs, labels(asked), strict=True)]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
