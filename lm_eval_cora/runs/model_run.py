"""The run of a task by a model: its answers and their metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isclose, isnan
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_cora import __version__
from lm_eval_cora.answers import FEW_FOLLOWED, Reader
from lm_eval_cora.answers.records import Record
from lm_eval_cora.discovery.task_files import applicable_metrics
from lm_eval_cora.metrics.entries import Entry, compute, is_in_table
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.kinds import note_on_small_categories
from lm_eval_cora.metrics.responses import Ints, ResponseTable
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.question import Form
from lm_eval_cora.runs.collected import ENTRIES, Collected, compute_collected, undefined_metrics
from lm_eval_cora.runs.files import part_of
from lm_eval_cora.runs.samples import Samples
from lm_eval_cora.runs.signature import family_of, is_two_phase
from lm_eval_cora.variants.probes import Probe


@dataclass(frozen=True, eq=False)
class Run:
    """The answers of one model to one task.

    Attributes:
        part: Name of the filter if the task has several filters; else empty.
        form: Whether answers were written or scored; None if unknown.
        files: The samples files, the newest first.
        results: Content of the results file of the newest samples; empty without one.
        signature: The signature of the scores; empty without a results file.
        reader: Reader of written answers; None if answers were scored.
        read_before: Reader that the run itself used; empty if unknown.
        notes: Messages about files that were merged or left out, and about lines that could not be read.
        label: Name of the data; empty if the name of the task is sufficient (see `with_labels`).
        unchecked: Reason why there is no results file to check the numbers against; empty if there is one.
        samples: The samples of the run, as records; empty if it was not made with the harness.
        rows: (R,) place in the samples of each record of the table.
        collected: The answers of a file that were collected without the harness; None for a run of the harness.
    """

    model: str
    name: str
    filter: str
    data: Data
    probe: Probe
    files: tuple[Path, ...]
    table: ResponseTable
    part: str = ""
    form: Form | None = None
    results: Mapping[str, Any] = field(default_factory=dict)
    signature: str = ""
    reader: Reader | None = None
    read_before: str = ""
    notes: tuple[str, ...] = ()
    label: str = ""
    unchecked: str = ""
    samples: Samples = field(default_factory=Samples)
    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    collected: Collected | None = None

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
    def _places(self) -> dict[str, Ints]:
        """The places in the samples of the variants of each question."""
        parts = np.split(self.rows, np.cumsum(self.table.sizes))  # and an empty one at the end
        return dict(zip(self.table.question_ids, parts, strict=False))

    @cached_property
    def invalid(self) -> list[Record]:
        """The invalid answers to complete questions, in the order of the table."""
        found = np.flatnonzero(self.table.invalid)
        if not self.collected:
            return [self.samples.records[place] for place in self.rows[found].tolist()]
        questions = dict.fromkeys(self.table.question_ids[number] for number in self.table.question[found])
        return [record for name in questions for record in self.collected.records(name) if record.invalid]

    @cached_property
    def entries(self) -> list[Entry]:
        """The entries of the metrics that apply to the probe, the form and the benchmark, or to the columns of a file.

        A run that stopped early has only the metrics that it printed.
        """
        if self.collected:
            undefined = undefined_metrics(self.table, self.collected.known)
            return [entry for entry in ENTRIES if entry["metric"] not in undefined]
        printed = self.samples.metrics
        entries = applicable_metrics(self.probe, self.table, self.form, macro_average="macro_acc" in printed)
        return [entry for entry in entries if self.table.is_whole or entry["metric"] in printed]

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
        return partial(compute_collected, entry) if self.collected else partial(compute, entry, whole=self.is_two_phase)

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
        if self.reader and followed < FEW_FOLLOWED:
            told.append(
                f"{followed:.1%} of the responses follow the format, so the scores depend on the reader (here "
                f"{self.reader}). Compare --reader strict and --reader flexible"
            )
        if self.differences:
            told.append(f"the results file differs from its samples: {'; '.join(self.differences)}")
        ours = {entry["metric"] for entry in self.entries}
        note = note_on_small_categories(self.table) if any(name.startswith("macro_") for name in ours) else ""
        told += [note] if note and note not in told else []
        unknown = self.samples.metrics - ours - {"bypass"}
        if others := sorted(name for name in unknown if not name.endswith("_stderr")):
            told.append(f"metrics that are not of the probe {self.probe.name!r} are not shown: {', '.join(others)}")
        return told

    def line(self, record: Record) -> Mapping[str, Any]:
        """Read the line of a variant of a complete question in its samples file; make one for a file of answers."""
        if self.collected:
            return self.collected.line(record)
        return self.samples.line(int(self._places[record.question_id][record.ordinal]))

    def answers_to(self, question: str) -> list[Record]:
        """The records of a complete question in order, without repeated answers to a variant."""
        if self.collected:
            return self.collected.records(question)
        return [self.samples.records[place] for place in self._places[question].tolist()]


def _same(printed: Any, found: float) -> bool:
    """Whether a number in the results file equals the recomputed one. The file has undefined numbers as text."""
    try:
        number = float("nan" if printed in (None, "N/A") else printed)
    except (TypeError, ValueError):
        return False
    return isclose(number, found, rel_tol=1e-9, abs_tol=1e-12) or (isnan(number) and isnan(found))
