"""Read many runs and records, one after another, and make the boards of each task."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.report.boards import Board, Standing, boards_of, entry_of, find_records, one_per_model
from lm_eval_cora.runs.files import (
    SamplesFile,
    files_in,
    find_files,
    grouped,
    grouped_by,
    part_of,
    read_json,
    short_names,
)
from lm_eval_cora.runs.grouping import TASK, RunReader, is_answers_file, labelled
from lm_eval_cora.runs.model_run import Run, check_metric
from lm_eval_cora.runs.signature import data_labels, how_asked

REPORT = "report.html"  # name of a page beside the files of a run, to which the leaderboard links


class Sources:
    """The runs and records below some paths; `notes` tells, for example, which files cannot be used."""

    def __init__(
        self, paths: Sequence[Path], reader: Reader | None, named: Mapping[Path, str], metric: str = ""
    ) -> None:
        self._reader, self._first = reader, [metric] if metric else []
        self._files: list[SamplesFile] = []
        self._records: list[Standing] = []
        self._answers: list[tuple[Path, str]] = []
        self.notes: list[str] = []
        for path in paths:
            self._add(path, named)
        self._nothing = (
            f"{', '.join(map(str, paths))}: there are no samples of lm-eval-cora tasks and no records. Pass a folder "
            "with the --output_path of runs with --log_samples, or with records of lm-eval-cora export "
            "--format every-eval-ever"
        )
        if not (self._files or self._records or self._answers):
            raise UserError(". ".join([self._nothing, *(f"{note[:1].upper()}{note[1:]}" for note in self.notes[:1])]))
        models = [*(file.model for file in self._files), *(entry.model for entry in self._records)]
        names = short_names([*models, *(name for _, name in self._answers)])
        self._files = [replace(file, model=names[file.model]) for file in self._files]
        self._records = [replace(entry, model=names[entry.model]) for entry in self._records]
        self._roots = {path.resolve() for path in paths}

    def _add(self, path: Path, named: Mapping[Path, str]) -> None:
        if is_answers_file(path):
            self._answers.append((path, named.get(path, path.stem)))
            return
        found = find_files(path)
        files = [file for file in found if not file.unchecked]  # without a results file the settings are unknown
        records, notes = find_records(path, self._first)
        self.notes += [f"left out {file.path}: {file.unchecked}" for file in found if file.unchecked]
        self.notes += [*_results_alone(path, found), *notes]
        both: list[Any] = labelled([*files, *records], path, named)
        known = {file.path.resolve() for file in self._files}
        self._files += [file for file in both[: len(files)] if file.path.resolve() not in known]
        self._records += both[len(files) :]

    @property
    def left_out(self) -> list[str]:
        """The notes on files and lines that were left out."""
        return [note for note in self.notes if "left out " in note]

    def boards(self, use: Callable[[Run], Path | None] | None = None) -> list[Board]:
        """Make the boards. The memory holds the answers of few runs at a time.

        `use` gets each run and returns the path of its page.
        """
        tasks = sorted({*(file.task for file in self._files), *(entry.name for entry in self._records)})
        if self._answers and TASK not in tasks:
            tasks.append(TASK)
        # Of each model and setting, the newest run counts.
        runs = [files for group in grouped(self._files) for files in grouped_by(group, _settings_of).values()]
        of_task = grouped_by(runs, lambda files: files[0].task)
        boards: list[Board] = []
        found = 0
        with RunReader(self._reader) as readers:
            readers.plan(files for task in tasks for files in of_task.get(task, ()))
            for task in tasks:
                entries = [
                    replace(entry, report=(use(run) if use else None) or self._page_beside(entry.source))
                    for run, entry in self._runs(task, readers, of_task.get(task, ()))
                ]
                entries += [entry for entry in self._records if entry.name == task]
                found += len(entries)
                boards += self._boards(entries)
        if not (found or self.notes):  # all samples are of other tasks
            raise UserError(self._nothing)
        if not boards:
            raise UserError(": ".join(["no run has a score", *self.notes[:1]]))
        for metric in self._first:
            check_metric(metric, (name for board in boards for row in board.rows for name in row.entry.higher))
            others = [board for board in boards if board.metric != metric]
            self.notes += [f"{board.title}: not all models have {metric}, so {board.metric} ranks" for board in others]
        by_task = grouped_by(boards, lambda board: board.task)
        most = {task: max(len(board.rows) for board in own) for task, own in by_task.items()}
        return sorted(boards, key=lambda board: (-most[board.task], board.task))

    def _runs(
        self, task: str, readers: RunReader, every: Iterable[Sequence[SamplesFile]]
    ) -> Iterator[tuple[Run, Standing]]:
        """Yield each run of a task with its scores."""
        for files in every:
            runs, notes = readers.merged(files)
            self.notes += [f"{files[0].model}, {task}: {note}" for note in (runs[0].notes if runs else notes)]
            for run in runs:
                yield run, replace(entry_of(run, files[0].date, self._first), model=files[0].model)
        for path, name in self._answers if task == TASK else []:
            runs = readers.collected(path)
            for run in runs if len(runs) > 1 else [replace(runs[0], model=name)]:
                self.notes += [f"{run.model}: {note}" for note in run.notes]
                yield run, entry_of(run, "", self._first)

    def _boards(self, entries: Sequence[Standing]) -> Iterator[Board]:
        """Yield the boards of a task, separately for each filter."""
        kept, notes = one_per_model(entries)
        self.notes += notes
        for part, own in grouped_by(kept, lambda entry: entry.part).items():
            names = {label for label in data_labels([(entry.name, entry.name, entry.data) for entry in own]) if label}
            details = ", ".join(filter(None, [*(names if len(names) == 1 else ()), part]))
            yield from boards_of(f"{own[0].name} ({details})" if details else own[0].name, own)

    def _page_beside(self, source: Path) -> Path | None:
        """The page in the folder of a samples file, or in the folder above if that is inside one of the paths."""
        above = [source.parent.parent] if self._roots & set(source.resolve().parents[2:]) else []
        return next((page for folder in (source.parent, *above) if (page := folder / REPORT).is_file()), None)


def _settings_of(file: SamplesFile) -> str:
    return repr(how_asked(file.signature, known_data=bool(file.data.digest)))


def _results_alone(path: Path, files: Sequence[SamplesFile]) -> Iterator[str]:
    """Yield a note for each results file that has no samples beside it, and is broken or has tasks of lm-eval-cora."""
    runs = {(file.path.parent, file.date) for file in files}
    for results in files_in(path, lambda name: name.endswith(".json")) if path.is_dir() else [path]:
        name, date = results.stem[:8], results.stem[8:]
        if name != "results_" or results.suffix != ".json" or (results.parent, date) in runs:
            continue
        configs = part_of(found := read_json(results), "configs")
        tasks = [task for task in configs if part_of(part_of(configs, task), "metadata").get("signature")]
        if not found:
            yield f"left out {results}: it cannot be read as a results file"
        elif tasks:
            yield f"left out {results}: there are no samples of {', '.join(tasks)} beside it. Run with --log_samples"
