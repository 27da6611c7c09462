"""Group samples files into runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.equivalence import EquivalenceChecker
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.messages import counted, first_few
from lm_eval_cora.questions.options import Options
from lm_eval_cora.runs.answers_file import is_answers_file, read_answers_file
from lm_eval_cora.runs.documents import DocumentRun, read_documents
from lm_eval_cora.runs.files import SamplesFile, find_files, grouped, not_mergeable, short_names
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.parts import SamplesReaders
from lm_eval_cora.runs.samples import ANOTHER_TASK, Found, Samples, compared, probe_of
from lm_eval_cora.runs.signature import Asked, family_of, is_two_phase, labels, merged_signature


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
            if others := sorted({file.task for file in find_files(path) if file.date and not file.signature}):
                raise UserError(
                    f"{path}: there are no samples of lm-eval-cora tasks, but of other tasks ({first_few(others)}). To "
                    "compare two models on any tasks of the harness: lm-eval-cora compare OUT1 OUT2"
                )
            raise UserError(
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
    """Read the runs of one path; see `read_runs`. The names of the models are not shortened."""
    if is_answers_file(path):
        runs: Sequence[Run] = [read_answers_file(path, reader)]
    else:
        with nullcontext(readers) if readers else SamplesReaders() as open_readers:
            runs = _runs(find_files(path), checker or EquivalenceChecker(), reader, open_readers)
    if labels is None or path not in labels:
        return runs
    check_label(path, labels[path], [run.model for run in runs])
    return [labelled(run, labels[path]) for run in runs]


def labelled(run: Run, label: str) -> Run:
    """A run whose model has the name of a label, in exports, too."""
    return replace(run, model=label, results=run.results and {**run.results, "model_name": label})


def check_label(path: Path, label: str, models: Iterable[str]) -> None:
    """Raise a UserError if a path with a label has several models."""
    if len(names := dict.fromkeys(models)) > 1:
        raise UserError(
            f"--label {path}={label}: expected one model in {path}, got {len(names)}: {', '.join(names)}. "
            "Pass the folder of one model"
        )


def _runs(
    files: Iterable[SamplesFile], checker: EquivalenceChecker, reader: Reader | None, readers: SamplesReaders
) -> list[Run]:
    runs: list[Run] = []
    lost: list[str] = []
    for group in grouped(files):
        found, notes = runs_of(group, checker, reader, readers)
        runs += found
        lost += [] if found else notes
    if runs and lost:  # notes of tasks without a run are shown with the first run
        runs[0] = replace(runs[0], notes=(*runs[0].notes, *lost))
    return runs


def runs_of(
    files: Sequence[SamplesFile], checker: EquivalenceChecker, reader: Reader | None, readers: SamplesReaders
) -> tuple[list[Run], list[str]]:
    """Make the run of each filter from the files of a group."""
    used: list[SamplesFile] = []
    parts: Found = {}
    notes: list[str] = []
    broken: Counter[str] = Counter()
    for file in files:
        found: Found = {}
        why = not_mergeable(used[0], file, reader) if used else ""
        if not why:
            found, defects = readers.read(file.path, _reader_of(file, reader))
            if not found and defects.keys() == {ANOTHER_TASK} and not file.signature:
                continue
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
        notes.append(f"left out {counted(broken.total(), 'line')}: {_listed(broken)}")
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
        raise UserError(
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
            f"all {counted(len(table.sizes) + table.not_begun, 'question')}"
        )
    elif not table.is_whole:
        told.append(
            f"stopped early: {table.answers:,} of {len(table.skipped):,} variants were asked. Only metrics that the "
            "other variants cannot change are shown"
        )
    if table.not_begun and not is_two_phase(signature):
        told.append(f"--budget or --target-stderr skipped {counted(table.not_begun, 'question')} of the task")
    if table.incomplete:
        told.append(f"left out {counted(table.incomplete, 'question')}: variants are missing")
    if table.duplicates:
        told.append(f"left out {counted(table.duplicates, 'repeated answer')} to a variant")
    return told


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
