"""Folders -> runs: which samples files belong together, which results file beside them, and what they score."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose, isnan
from pathlib import Path
from typing import Any

from lm_eval_cora.equivalence import Judge
from lm_eval_cora.metrics.entries import compute, is_asked_for, is_in_table
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.probes import divergent, order, plus, prompts, revas, sampling
from lm_eval_cora.probes.alterations import (
    COUNTS,
    NOTA_ANSWER,
    ORIGINAL,
    REPLACED,
    TRUE_OR_FALSE_RIGHT,
    TRUE_OR_FALSE_WRONG,
    shuffled,
    with_options,
)
from lm_eval_cora.question import Form
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.samples import Digest, Key, Place, Samples, read_line, read_samples
from lm_eval_cora.responses import Record, ResponseTable
from lm_eval_cora.task_files import probe_metrics, probes

_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?")
_NAME = re.compile(rf"samples_(?P<task>.+)_(?P<date>{_DATE.pattern})\.jsonl")

_OF_THIS_RUN_ALONE = ("questions", "categories", "n", "invalid")
"""The parts of a signature that tell how much was asked, not how."""


@dataclass(frozen=True, eq=False)
class Run:
    """What one model answered to one task.

    Attributes:
        model: Its name, short, and unlike that of every other model that is reported.
        task: Name of the task, with the filter if there are several.
        probe: Name of the probe.
        form: How the model was asked.
        files: The samples files, the newest first.
        results: What the harness' results file says; empty without one.
        filter: Name of the filter.
        table: The answers.
        records: The same, in the order of the files.
        places: Where each variant's line is.
        digests: What tells each variant, and its prompt, from others.
        references: Ids of the questions with an option that points at other options.
        metrics: Names of the metrics that the run itself computed.
        notes: What the reader must know: files left out, merged, lines that could not be read.
    """

    model: str
    task: str
    probe: str
    form: Form
    files: tuple[Path, ...]
    results: Mapping[str, Any]
    filter: str
    table: ResponseTable
    records: Sequence[Record]
    places: Mapping[Key, Place]
    digests: Mapping[Key, Digest]
    references: frozenset[str]
    metrics: frozenset[str]
    notes: tuple[str, ...] = ()

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """What the results file says of the task; empty without one."""
        return _config(self.results, self.name)

    @property
    def name(self) -> str:
        """Name of the task as the harness knows it."""
        return self.task.partition(" ")[0]

    @property
    def signature(self) -> str:
        """The signature of the scores; empty without a results file."""
        signature = str(_part(self.config, "metadata").get("signature") or "")
        if not signature or len(self.files) == 1:
            return signature
        parts = [part for part in signature.split("|") if part.partition(":")[0] not in _OF_THIS_RUN_ALONE]
        variants = "-".join(map(str, dict.fromkeys((self.table.sizes.min(), self.table.sizes.max()))))
        return "|".join([*parts[:-1], f"n:{len(self.table.sizes)}x{variants}", *parts[-1:]])

    @cached_property
    def entries(self) -> list[Mapping[str, Any]]:
        """The metrics of the probe that are for this form and this benchmark, as its task file lists them."""
        features = {
            "boxed": bool(self.table.written.any()),
            "macro_average": "macro_acc" in self.metrics,
            "dropped_template": prompts.SINGLE_LETTER in self.table.kinds,
        }
        sampled = self.probe == plus.NAME and bool((self.table.sizes == 1).all())
        present = [feature for feature, has in features.items() if has]
        return [
            entry
            for entry in probe_metrics(self.probe)
            if is_asked_for(entry, self.form, sampled=sampled, features=present)
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

    @cached_property
    def differences(self) -> list[str]:
        """Where the results file says something else than the samples; empty where it agrees, or there is none."""
        if len(self.files) > 1:
            return []
        printed = _part(_part(self.results, "results"), self.name)
        told = []
        for name in (entry["metric"] for entry in self.entries if is_in_table(entry)):
            value, error = printed.get(f"{name},{self.filter}"), printed.get(f"{name}_stderr,{self.filter}")
            found = self.estimates[name]
            if value is not None and not (_same(value, found.value) and _same(error, found.stderr)):
                told.append(f"{name}: {value} ± {error} there, {found.value:.6g} ± {found.stderr:.6g} here")
        return told

    def line(self, record: Record) -> Mapping[str, Any]:
        """The line of a variant in the samples file."""
        return read_line(self.places[record.question_id, record.ordinal])


def read_runs(paths: Iterable[Path], judge: Judge | None = None) -> list[Run]:
    """Read what the harness wrote.

    Samples of one task by one model in one of the paths are one run: parts of it that were asked alike and have no
    variant in common are merged, of others the newest is taken, and the run's notes say which.

    Args:
        paths: Folders, searched with all below them, or samples or results files.
        judge: Compares answers of the models' own.

    Returns:
        The runs in the order of the paths, within one by model and task.

    Raises:
        ReportError: If a path does not exist or holds no samples of ours.
    """
    judge = judge or Judge()
    found: list[tuple[int, Run]] = []
    for number, path in enumerate(paths):
        runs = list(_runs_below(path, judge))
        if not runs:
            raise ReportError(
                f"{path}: there are no samples of these tasks. The harness writes samples_<task>_<date>.jsonl with "
                "--output_path FOLDER --log_samples; give that folder"
            )
        found += [(number, run) for run in runs]
    return _named_apart(found, list(paths))


@dataclass(frozen=True)
class _File:
    """A samples file and the results file of the same run."""

    path: Path
    task: str
    date: str
    results: Mapping[str, Any]

    @property
    def model(self) -> str:
        return str(self.results.get("model_name") or "") or self.path.parent.name

    @property
    def settings(self) -> Any:
        """How the task was asked; None if no results file says it."""
        config = _config(self.results, self.task)
        signature = str(_part(config, "metadata").get("signature") or "")
        if not signature:
            return None
        parts = [part for part in signature.split("|") if part.partition(":")[0] not in _OF_THIS_RUN_ALONE]
        about_all = [
            self.results.get(name) for name in ("chat_template_sha", "system_instruction_sha", "fewshot_as_multiturn")
        ]
        arguments = _part(self.results, "config").get("model_args")
        return parts, arguments, config.get("generation_kwargs"), about_all


def _config(results: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    return _part(_part(results, "configs"), task)


def _part(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a results file; empty if it is missing, or is something else than it should be."""
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}


def _runs_below(path: Path, judge: Judge) -> Iterator[Run]:
    groups: dict[tuple[str, str], list[_File]] = {}
    for file in _files(path):
        groups.setdefault((file.model, file.task), []).append(file)
    for (model, task), files in sorted(groups.items()):
        yield from _runs_of(model, task, sorted(files, key=lambda file: file.date, reverse=True), judge)


def _files(path: Path) -> list[_File]:
    if not path.exists():
        raise ReportError(f"{path}: there is no such file or folder")
    if path.is_dir():
        found = sorted(path.rglob("samples_*.jsonl"))
    elif path.suffix == ".json":
        date = _DATE.search(path.stem)
        found = sorted(path.parent.glob(f"samples_*_{date[0]}.jsonl")) if date else []
    else:
        found = [path]
    return [_file(samples) for samples in found]


def _file(path: Path) -> _File:
    match = _NAME.fullmatch(path.name)
    if match is None:
        return _File(path, path.stem.removeprefix("samples_"), "", {})
    task, date = match["task"], match["date"]
    for beside in sorted(path.parent.glob(f"*_{date}.json")):
        try:
            results = json.loads(beside.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(results, dict) and isinstance(results.get("results"), dict):
            return _File(path, task, date, results)
    return _File(path, task, date, {})


def _runs_of(model: str, task: str, files: Sequence[_File], judge: Judge) -> Iterator[Run]:
    """The run of each filter of a task, from files of which the newest comes first."""
    newest, *others = files
    notes = []
    broken: Counter[str] = Counter()
    parts = {name: [samples] for name, samples in read_samples(newest.path, broken, judge).items()}
    if not parts:
        return
    used = [newest]
    for file in others:
        why = "asked otherwise" if file.settings is None or file.settings != newest.settings else ""
        found = {} if why else read_samples(file.path, broken, judge)
        if not why and (found.keys() != parts.keys() or _overlap(parts, found)):
            why = "the same variants"
        if why:
            notes.append(f"left out {file.path.name}, older than {newest.path.name}: {why}")
            continue
        used.append(file)
        for name, samples in found.items():
            parts[name].append(samples)
    if len(used) > 1:
        notes.append(f"merged {len(used)} runs of one task: {', '.join(file.path.name for file in used)}")
    if broken:
        what = ", ".join(f"{count:,} {defect}" for defect, count in broken.most_common())
        notes.append(f"left out {_count(broken.total(), 'line')}: {what}")
    for name, several in parts.items():
        label = task if len(parts) == 1 else f"{task} ({name})"
        records = [record for samples in several for record in samples.records]
        table = ResponseTable.from_records(records, judge.verdict)
        yield Run(
            model=model,
            task=label,
            probe=_probe_of(_config(newest.results, task), records),
            form=several[0].form,
            files=tuple(file.path for file in used),
            results=newest.results,
            filter=name,
            table=table,
            records=records,
            places={key: place for samples in several for key, place in samples.places.items()},
            digests={key: digest for samples in several for key, digest in samples.digests.items()},
            references=frozenset[str]().union(*(samples.references for samples in several)),
            metrics=several[0].metrics,
            notes=(*notes, *_left_out(table)),
        )


def _overlap(parts: Mapping[str, list[Samples]], found: Mapping[str, Samples]) -> bool:
    return any(
        samples.places.keys() & found[name].places.keys() for name, several in parts.items() for samples in several
    )


def _left_out(table: ResponseTable) -> list[str]:
    told = []
    if table.incomplete:
        told.append(f"left out {_count(table.incomplete, 'question')}: variants are missing")
    if table.duplicates:
        told.append(f"left out {_count(table.duplicates, 'second answer')} to a variant")
    return told


_KINDS_OF = {
    order.NAME: order.POSITIONS,
    sampling.NAME: sampling.KINDS,
    revas.NAME: (REPLACED,),
    divergent.NAME: (divergent.WITH_NOTA, divergent.DECOUPLED),
    plus.NAME: (
        *(ORIGINAL, shuffled(ORIGINAL), NOTA_ANSWER, TRUE_OR_FALSE_RIGHT, TRUE_OR_FALSE_WRONG),
        *map(with_options, COUNTS),
    ),
}
"""Kinds that only one probe has, or after which none of those before it is left."""


def _probe_of(config: Mapping[str, Any], records: Iterable[Record]) -> str:
    """The probe that a results file names, or else the one whose kinds there are; of templates any kind is one."""
    named = str(config.get("process_docs", "")).rpartition(".")[2]
    if named in probes():
        return named
    kinds = {record.kind for record in records}
    return next((probe for probe, known in _KINDS_OF.items() if kinds & set(known)), prompts.NAME)


def _same(printed: Any, found: float) -> bool:
    """Whether a number of the results file is the recomputed one; undefined ones are texts there."""
    try:
        number = float("nan" if printed in (None, "N/A") else printed)
    except (TypeError, ValueError):
        return False
    return isclose(number, found, rel_tol=1e-9, abs_tol=1e-12) or (isnan(number) and isnan(found))


def _named_apart(found: Sequence[tuple[int, Run]], paths: Sequence[Path]) -> list[Run]:
    """The runs with short names of the models, and their path where the same was run in several."""
    names = {place: short_names(run.model for number, run in found if number == place) for place in dict(found)}
    short = [replace(run, model=names[place][run.model]) for place, run in found]
    tasks = Counter((run.model, run.task) for run in short)
    twice = {model for (model, _), count in tasks.items() if count > 1}
    return [
        replace(run, model=f"{run.model} ({paths[place]})") if run.model in twice else run
        for (place, _), run in zip(found, short, strict=True)
    ]


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Models' names without the folders that they were loaded from, as far as that tells them apart.

    Example:
        >>> short_names(["/a/x/model", "/b/y/model", "ORG/other"])
        {'/a/x/model': 'x/model', '/b/y/model': 'y/model', 'ORG/other': 'ORG/other'}
    """
    names = list(dict.fromkeys(models))
    for count in range(1, max((len(Path(name).parts) for name in names), default=0)):
        short = {name: _ending(name, count) for name in names}
        if len(set(short.values())) == len(names):
            return short
    return {name: name for name in names}


def _ending(model: str, count: int) -> str:
    """The last parts of a path; an id on the Hub stays whole."""
    path = Path(model)
    return str(Path(*path.parts[-count:])) if path.is_absolute() or model.startswith(".") else model


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
