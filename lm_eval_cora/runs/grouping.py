"""Read runs: outputs of the harness, samples of its other tasks, logs of other programs, and files of answers."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.equivalence import CHECKER
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.messages import counted, first_few, left_out_for_references
from lm_eval_cora.questions.options import Options
from lm_eval_cora.runs.collected import BALANCED, Collected, notes_of, of_log, read_answers, undefined_metrics
from lm_eval_cora.runs.files import (
    SamplesFile,
    date_in,
    files_in,
    find_files,
    grouped,
    grouped_by,
    listed,
    not_mergeable,
    short_names,
    with_all_notes,
)
from lm_eval_cora.runs.helm import is_helm, read_helm
from lm_eval_cora.runs.inspect_logs import is_inspect, our_samples, read_inspect
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.other_tasks import newest_documents, read_other_task
from lm_eval_cora.runs.program_rows import Logged, beginning_of
from lm_eval_cora.runs.samples import (
    ANOTHER_TASK,
    ResultsFolder,
    Samples,
    SamplesByFilter,
    SamplesReaders,
    compare_written,
    probe_of,
)
from lm_eval_cora.runs.signature import data_labels, family_of, merged_signature, missing_shards, signature_parts
from lm_eval_cora.variants.variant import Probe

Labels = Mapping[Path, str]  # the name of the model in some of the paths
TASK = "answers"  # the name of the task of all files of answers, and of their probe
LOGS: Mapping[Callable[[Path], bool], Callable[[Path], list[Logged]]] = {
    is_inspect: read_inspect,
    is_helm: read_helm,
}
"""The logs of other programs: whether a file is one, by its beginning, and how it is read."""
_SUFFIXES_OF_LOGS = (".eval", ".json")
_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
_OF_THE_HARNESS = re.compile(r"samples.*\.jsonl|results.*\.json|.*\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d.*\.jsonl?")
_SAMPLE = re.compile(rb'"doc"\s*:\s*\{')
_HEAD = 2**20
_ANSWERED = {b"picked", b"correct", b"response"}  # names of columns, of which a file of answers has one
_HOW_TO_SAVE = (
    " (samples_<task>_<date>.jsonl). Run the harness with --output_path FOLDER --log_samples, and pass that FOLDER. Or "
    "pass logs of Inspect (.eval, .json), HELM's scenario_state.json, or a file of answers itself (csv, tsv, json, "
    "jsonl, parquet)"
)
N = TypeVar("N", bound=Any)


def read_runs(paths: Iterable[Path], reader: Reader | None = None, labels: Labels | None = None) -> list[Run]:
    """Read the output of the harness, samples of its other tasks, logs of other programs, and files of answers."""
    # The samples files of one task, one model and the same questions in one of the paths form one run. Files with the
    # same settings and no common variant are merged; otherwise the newest file is used, and a note names the others.
    found: list[tuple[Path, Run]] = []
    seen: set[Path] = set()
    with RunReader(reader, labels) as readers:
        for path in paths:
            runs = readers.runs_in(path, readers.inputs([path]))
            if not runs:
                raise readers.nothing_in(path)
            files = [{file.resolve() for file in run.files} for run in runs]
            found += [(path, run) for run, own in zip(runs, files, strict=True) if not own <= seen]
            seen.update(*files)
    # Shorten the names of the models; add the path if several paths have the same model and task.
    runs = with_labels([run for _, run in found])
    names = short_names(run.model for run in runs)
    tasks = Counter((run.model, run.task) for run in runs)
    twice = {model for (model, _), count in tasks.items() if count > 1}
    return [
        replace(run, model=f"{names[run.model]} ({path})" if run.model in twice else names[run.model])
        for run, (path, _) in zip(runs, found, strict=True)
    ]


class Inputs(NamedTuple):
    """Files that are read together, before they are read."""

    path: Path  # that was passed, and that --label names
    files: Sequence[SamplesFile] = ()  # of one model and task of the harness, the newest first
    other: Path | None = None  # a log of another program, or a file of answers

    @property
    def task(self) -> str:
        """The task of samples; empty for other files, of which only the content tells it."""
        return self.files[0].task if self.files else ""

    @property
    def date(self) -> str:
        """The date in the name of the newest file; empty if it has none."""
        return self.files[0].date if self.files else date_in(self.file)

    @property
    def file(self) -> Path:
        """The newest file."""
        return self.other or self.files[0].origin


class RunReader(SamplesReaders):
    """Reads runs of all kinds, one after another, so that few answers are in memory."""

    def __init__(self, reader: Reader | None, labels: Labels | None = None) -> None:
        super().__init__()
        self.reader = reader  # the requested one of written answers; None for that of each run
        self._labels = labels or {}
        self._written = ResultsFolder()  # logs of our task as samples
        self._models: dict[Path, dict[str, None]] = {}  # in each path
        self.left_out: list[str] = []  # why other files in the last path were not read
        self.notes: list[str] = []  # on files without a run
        self.other_tasks: dict[str, str] = {}  # tasks of the harness whose options cannot be found, and why

    def inputs(self, paths: Iterable[Path], apart: Callable[[SamplesFile], Any] = lambda file: "") -> list[Inputs]:
        """Find all that can be read in some paths, each file once. Samples that differ in `apart` are not merged."""
        files: dict[Path, tuple[Path, SamplesFile]] = {}
        others: dict[Path, Inputs] = {}
        for path in paths:
            is_one = is_log(path) or is_answers_file(path)
            beside = [path] if is_one else other_files(path)
            logs = {other: our_samples(other, self._written.path) for other in beside}
            found = [*([] if is_one else find_files(path)), *filter(None, logs.values())]
            for file in labelled(found, path, self._labels):
                files.setdefault(file.origin.resolve(), (path, file))
            for other in beside:
                if logs[other] is None:
                    others.setdefault(other.resolve(), Inputs(path, other=other))
        places = {file.path: path for path, file in files.values()}
        groups = grouped(file for _, file in files.values())
        parts = [own for group in groups for own in grouped_by(group, apart).values()]
        return [*(Inputs(places[own[0].path], own) for own in parts), *others.values()]

    def plan(self, inputs: Iterable[Inputs]) -> None:
        """Tell which inputs will be read, in this order. Samples that cannot be merged are not read."""
        self.begin(
            (file.path, self._reader_of(file))
            for one in inputs
            for file in one.files
            if not not_mergeable(one.files[0], file, self.reader)
        )

    def read_inputs(self, one: Inputs) -> list[Run]:
        """Read the runs of some files. `notes` and `other_tasks` say why there are none."""
        runs, notes = self.merged(one.files) if one.files else ([], [])
        if notes and not runs:
            self.notes += [f"{one.files[0].model}, {one.task}: {note}" for note in notes]
        elif not runs:
            try:
                runs = self._others(one)
            except UserError as error:
                if one.other:
                    self.notes.append(f"left out {one.other}: {str(error).removeprefix(f'{one.other}: ')}")
                else:
                    self.other_tasks.setdefault(one.task, str(error))
        models = self._models.setdefault(one.path, {})
        models |= dict.fromkeys(run.model for run in runs)
        check_label(one.path, self._labels, models)
        return labelled(runs, one.path, self._labels)

    def _others(self, one: Inputs) -> list[Run]:
        """Read a log of another program; a file of answers; or the answers to a task that is not ours."""
        path = one.file
        if one.files:  # the newest file that has any
            logs = ((file, log) for file in one.files for log in read_other_task(file))
            return [replace(self._logged(file.path, log), date=file.date) for file, log in islice(logs, 1)]
        if read := _log_reader(path):
            return [self._logged(path, log) for log in read(path)]
        answers = read_answers(path, reader=self.reader)  # with the usual names of columns
        return [self._of_answers(path, model or path.stem, own) for model, own in answers.items()]

    def runs_in(self, path: Path, inputs: Sequence[Inputs]) -> list[Run]:
        """Read the runs of one path; see `read_runs`. The names of the models are not shortened."""
        self.left_out = []
        self.plan(inputs)
        runs = with_all_notes(self.merged(one.files) for one in inputs if one.files)
        return labelled(runs or self._newest_others(inputs), path, self._labels)

    def _newest_others(self, inputs: Sequence[Inputs]) -> list[Run]:
        """Read answers that are not of our tasks: of each model and task the newest to the same questions."""
        # The names of logs begin with a date.
        logs = sorted((one for one in inputs if one.other), key=lambda one: one.file.name, reverse=True)
        samples = [one._replace(files=[file]) for one in inputs for file in one.files]
        samples.sort(key=lambda one: one.date, reverse=True)
        first: dict[Any, Run] = {}
        for one in [*logs, *samples]:
            try:
                runs = self._others(one)
            except UserError as error:
                self.left_out.append(str(error))
                continue
            for run in runs:
                known = first.setdefault((run.model, run.name, _questions_of(run)), run)
                if known is not run:
                    which = f"{known.files[0]} has answers of the same model to the same questions"
                    self.left_out.append(f"left out {run.files[0]}: {which}")
        found = sorted(first.values(), key=lambda run: (run.model, run.name))
        return with_all_notes([(found, []), ([], self.left_out)])

    def nothing_in(self, path: Path) -> UserError:
        """The error for a path without runs."""
        others = first_few(sorted({file.task for file in find_files(path) if file.date and not file.signature}))
        kept, reasons = first_few(sorted(path.rglob("answers_*.db"))), first_few(self.left_out)
        advice = _HOW_TO_SAVE
        if others:
            advice = f", but of other tasks ({others}). To compare two models on any tasks of the harness: "
            advice += f"lm-eval-cora compare OUT1 OUT2{reasons and '. Not read: '}{reasons}"
        elif reasons:
            return UserError(reasons)
        elif kept:
            advice = f", but answers of a run are kept in {kept}. It was interrupted, or had no --log_samples. To go "
            advice += f"on, repeat its command: lm-eval-cora run ... --output_path {path} --log_samples"
        return UserError(f"{path}: there are no samples of lm-eval-cora tasks{advice}")

    def _logged(self, path: Path, log: Logged) -> Run:
        return self._of_answers(path, log.model, of_log(log, path, self.reader or Options.reader), log)

    def _of_answers(self, path: Path, model: str, answers: Collected, log: Logged | None = None) -> Run:
        notes = [*(log.notes if log else ()), *notes_of(answers)]
        undefined = undefined_metrics(answers.table, answers.known)
        if (why := undefined.get("cora")) and log is None:
            notes.append(f"undefined: {', '.join(name for name in undefined if undefined[name] == why)}: {why}")
        if self.reader and "response" not in answers.given:
            notes.append(f"--reader {self.reader} does not apply: the file has answers, not responses")
        return Run(
            model=model or path.stem,
            name=log.task if log else TASK,
            files=(path,),
            data=Data(digest=sha256(repr((answers.asked(), answers.described)).encode()).hexdigest()[:8]),
            probe=_probe(answers),
            table=answers.table,
            source=answers,
            rows=answers.rows,
            reader=answers.values["reader"][0] if "response" in answers.given else None,
            notes=tuple(notes),
            date=date_in(path),
        )

    def merged(self, files: Sequence[SamplesFile]) -> tuple[list[Run], list[str]]:
        """Make the run of each filter from the files of a group, the newest first; and notes about the files."""
        used: list[SamplesFile] = []
        notes: list[str] = []
        each: list[dict[str, Samples]] = []  # of each file, by filter
        parts, broken = merged = SamplesByFilter({}, Counter())
        for file in files:
            why = self._not_mergeable(used, file)
            if not why:
                found, defects = read = self.read(file.path, self._reader_of(file))
                if not found and defects.keys() == {ANOTHER_TASK} and not file.signature:
                    continue
                if not found:
                    why = f"it has no answers{f' ({listed(defects)})' if defects else ''}"
                elif used and found.keys() != parts.keys():
                    why = "its filters differ"
                elif any(parts[name].records.keys() & found[name].records.keys() for name in parts):
                    why = "the newer file has some of its variants"
            if why and used and used[0].shard[1] == 1 < file.shard[1]:
                continue  # a shard of a run that is there as a whole
            if why:
                notes.append(f"left out {file.origin}{f', older than {used[0].origin}' if used else ''}: {why}")
                continue
            used.append(file)
            merged.add(read)
            each += [found] if len(files) > 1 else []
        notes += _about_parts(used)
        if broken:
            notes.append(f"left out {counted(broken.total(), 'line')}: {listed(broken)}")
        runs = [self._run(used, name, samples, notes, alone=len(parts) == 1) for name, samples in parts.items()]
        if len(used) < 2:
            return runs, notes

        def parts_of(run: Run) -> tuple[Run, ...]:
            own = zip(used, each, strict=True)
            return tuple(self._run([file], run.filter, found[run.filter], (), alone=True) for file, found in own)

        return [replace(run, parts=parts_of(run)) for run in runs], notes

    def _not_mergeable(self, used: Sequence[SamplesFile], file: SamplesFile) -> str:
        """Reason why a file does not belong to the run of newer ones, by their results files; empty if it does."""
        if not used:
            return ""
        if file.shard[1] > 1 and file.shard in [one.shard for one in used]:
            return f"shard {file.shard[0]} of {file.shard[1]} is there twice"
        return not_mergeable(used[0], file, self.reader)

    def _reader_of(self, file: SamplesFile) -> Reader:
        """The requested reader, else the reader of the run, else the default."""
        own = next((known for known in get_args(Reader) if known == file.reader), None)
        return self.reader or own or Options.reader

    def _run(
        self, files: Sequence[SamplesFile], name: str, samples: Samples, notes: Sequence[str], *, alone: bool
    ) -> Run:
        samples.folder = self._written
        compare_written(samples)
        table, rows = ResponseTable.from_packed(samples.records, CHECKER.verdict)
        newest, reader = files[0], self._reader_of(files[0])
        if newest.reader and newest.reader != reader and not table.is_whole:
            raise UserError(
                f"{newest.origin}: --reader {reader}: expected --reader {newest.reader}, because its answers "
                "decided where the run stopped early. Leave --reader out, or repeat the run with the "
                f"option 'reader': '{reader}'"
            )
        return Run(
            model=newest.model,
            name=newest.task,
            filter=name,
            part="" if alone else name,
            data=newest.data,
            probe=probe_of(newest.config, samples.records),
            form=samples.form,
            files=tuple(file.origin for file in files),
            results=newest.results,
            signature=merged_signature([file.signature for file in files], table, reader, newest.reader),
            reader=reader if samples.form == "generate" else None,
            read_before=newest.reader,
            table=table,
            notes=(*notes, *_left_out(table, newest.signature)),
            unchecked=newest.unchecked,
            date=newest.date,
            source=samples,
            rows=rows,
        )


def _about_parts(used: Sequence[SamplesFile]) -> list[str]:
    """Say which files form a run together, and which of its shards are missing."""
    notes = []
    if len(used) > 1:
        notes.append(f"merged {len(used)} runs of one task: {first_few(str(file.origin) for file in used)}")
    if used and (missing := missing_shards([file.signature for file in used])):
        of_all = f"{used[0].shard[1]} shards are missing ({first_few(missing)}): the values are about the others"
        notes.append(f"{len(missing)} of {of_all}")
    return notes


def _log_reader(path: Path) -> Callable[[Path], list[Logged]] | None:
    """The function that reads a log of another program than the harness; None for another file."""
    if path.suffix not in _SUFFIXES_OF_LOGS or not path.is_file():
        return None
    return next((read for is_one, read in LOGS.items() if is_one(path)), None)


def is_log(path: Path) -> bool:
    """Whether a file is a log of another program than the harness."""
    return _log_reader(path) is not None


def other_files(path: Path) -> list[Path]:
    """The logs of other programs and the files of answers in a folder, or the log itself."""
    if not path.is_dir():
        return [path] if is_log(path) else []
    suffixes = (*_SUFFIXES, *_SUFFIXES_OF_LOGS)
    found = files_in(path, lambda name: name.lower().endswith(suffixes))
    return [file for file in found if is_log(file) or (is_answers_file(file) and _has_answers(file))]


def is_answers_file(path: Path) -> bool:
    """Whether a path is a file of answers that were collected without the harness."""
    is_other = path.suffix.lower() not in _SUFFIXES or _OF_THE_HARNESS.fullmatch(path.name)
    if is_other or not path.is_file() or is_log(path):
        return False
    if path.suffix.lower() != ".jsonl":
        return True
    # A renamed samples file, in UTF-16, too
    return _SAMPLE.search(beginning_of(path, _HEAD).replace(b"\0", b"")) is None


def _has_answers(path: Path) -> bool:
    """Whether a file in a folder has columns of answers. Tables of results and other files beside them do not."""
    suffix, head = path.suffix.lower(), beginning_of(path, _HEAD)
    if suffix in (".csv", ".tsv"):
        head = head.partition(b"\n")[0]
    names = {*re.findall(rb'"(\w+)"\s*:' if "json" in suffix else rb"\w+", head)}
    return suffix == ".parquet" or bool(names & {b"question", b"question_id"} and names & _ANSWERED)


def _questions_of(run: Run) -> Any:
    """The questions of a run with their options in any order."""
    values = run.collected.values if run.collected else {}
    pairs = zip(values.get("question", ()), values.get("printed", ()), strict=True)
    return frozenset((question, frozenset(printed or ())) for question, printed in pairs)


def _probe(answers: Collected) -> Probe:
    """The tables and charts that the columns of a file of answers define."""
    has_kinds, has_picks = "kind" in answers.known and len(answers.table.kinds) > 1, "picked" in answers.known
    charts = {
        **dict.fromkeys(("changes", "heat_maps"), has_kinds),
        "bmca_curve": True,
        "accuracy_ranges": has_kinds and has_picks,
        "by_kind": has_kinds,
        "picks_by_letter": has_picks and BALANCED in answers.known,
    }
    return Probe(
        name=TASK,
        study="your own",
        summary="answers from a file",
        expand=_no_variants,
        formats={},
        note=Probe.note if len(set(answers.table.options.tolist())) > 1 else "",
        charts=tuple(name for name, defined in charts.items() if defined),
        tables=("by_category",) if "category" in answers.known else (),
    )


def _no_variants(question: Any, setting: Any) -> list[Any]:
    """The variants of a file of answers cannot be made again. A function, because a run can be pickled."""
    return []


def labelled(found: Sequence[N], path: Path, labels: Labels) -> list[N]:
    """Give runs, files or records of a path the name of the model that `--label` gives it, in exports, too."""
    label = labels.get(path)
    if label is None:
        return list(found)
    check_label(path, labels, dict.fromkeys(item.model for item in found))
    named = {"model_name": label}
    return [
        replace(item, model=label, **({"results": {**item.results, **named}} if getattr(item, "results", {}) else {}))
        for item in found
    ]


def check_label(path: Path, labels: Labels, models: Collection[str]) -> None:
    """Raise a UserError if a path has several models, but `--label` gives it one name."""
    if path in labels and len(models) > 1:
        raise UserError(
            f"--label {path}={labels[path]}: expected one model in {path}, got {len(models)}: {', '.join(models)}. "
            "Pass a path of one model"
        )


def _left_out(table: ResponseTable, signature: str) -> list[str]:
    notes, parts = [], signature_parts(signature)
    if referring := parts.get("left_out"):
        notes.append(left_out_for_references(referring))
    if "until" in parts:
        every = len(table.sizes) + table.incomplete + table.not_begun
        about = f"Errors and intervals are about the values of all {every:,}; the intervals hold at every look together"
        if table.incomplete:
            about = f"Answers to others are missing, so nothing is known about all {every:,}"
        notes.append(f"--until '{parts['until']}': the run asked {table.size} of {every:,}. {about}")
    elif not table.is_whole:
        notes.append(
            f"stopped early: {table.answers:,} of {len(table.skipped):,} variants were asked. Only metrics that the "
            "other variants cannot change are shown"
        )
    if table.not_begun and "until" not in parts:
        why = "--budget" if signature else "--budget or --until"
        notes.append(f"{why} skipped {counted(table.not_begun, 'question')} of the task")
    if table.incomplete:
        notes.append(f"left out {counted(table.incomplete, 'question')}: variants are missing")
    lost = int(re.sub(r"\D.*", "", parts.get("n", "")) or 0) - len(table.sizes) - table.incomplete
    if lost > 0:
        notes.append(
            f"{counted(lost, 'question')} of the run are missing, because the samples are cut off: the values are "
            "about the others"
        )
    if table.duplicates:
        notes.append(f"left out {counted(table.duplicates, 'repeated answer')} to a variant")
    return notes


def with_labels(runs: Sequence[Run]) -> list[Run]:
    """Label the runs so that different data of a task have different names."""
    labels = data_labels([(run.name, family_of(run.name, run.probe.name), run.data) for run in runs])
    return [replace(run, label=label) for run, label in zip(runs, labels, strict=True)]


class Contestant(NamedTuple):
    """The runs of one model in one of the paths."""

    name: str  # different for each contestant
    path: Path
    runs: Sequence[Run]

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks of all runs, sorted."""
        return sorted(run.task for run in self.runs)


def read_contestants(
    paths: Sequence[Path], reader: Reader | None = None, labels: Labels | None = None
) -> list[Contestant]:
    """Read the models to compare."""
    found: list[Contestant] = []
    with RunReader(reader) as readers:
        for path in paths:
            inputs = readers.inputs([path])
            runs = readers.runs_in(path, inputs)
            documents = with_all_notes(newest_documents(one.files) for one in inputs if one.files)
            if documents:  # they have the scores of answers that were not written
                runs = [run for run in runs if not run.collected or "response" in run.collected.given]
            every = labelled([*runs, *documents], path, labels or {})
            if not every:
                raise readers.nothing_in(path)
            for model, name in short_names(run.model for run in every).items():
                found.append(Contestant(name, path, [run for run in every if run.model == model]))
    if len(found) < 2:
        raise UserError(
            f"expected two or more models, got one: {', '.join(map(str, paths))} has only "
            f"runs{f' of {found[0].name}' if found else ''}. Name the path of another model, too"
        )
    # Names differ: with the path if two models have the same name, with a number if both are the same.
    with_label = iter(with_labels([run for contestant in found for run in contestant.runs]))
    contestants = []
    for number, (name, path, of_model) in enumerate(found, start=1):
        several = [other.path for other in found if other.name == name]
        name += f" ({number if several.count(path) > 1 else path})" if len(several) > 1 else ""
        named = [replace(next(with_label), model=name) for _ in of_model]
        contestants.append(Contestant(name, path, named))
    return contestants
