"""The run of a task by a model: who was asked what and how, its scores, and its answers if they are known."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from math import isclose, isnan
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_cora import __version__
from lm_eval_cora.answers import FEW_FOLLOWED, Reader
from lm_eval_cora.answers.records import Record
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.entries import Entry, compute, is_in_table, is_one_value, note_on_unvaried
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.kinds import (
    means_by_question,
    note_on_few_clusters,
    note_on_small_categories,
    original_kinds,
)
from lm_eval_cora.metrics.paired import Difference, differences_together
from lm_eval_cora.metrics.ranges import each_kind
from lm_eval_cora.metrics.responses import Ints, ResponseTable
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.messages import counted, did_you_mean, first_few
from lm_eval_cora.questions.question import Form, shorten
from lm_eval_cora.runs.collected import Collected, entries_of, undefined_metrics
from lm_eval_cora.runs.files import grouped_by, part_of
from lm_eval_cora.runs.samples import Samples
from lm_eval_cora.runs.signature import family_of, signature_parts
from lm_eval_cora.runs.task_files import applicable_metrics
from lm_eval_cora.variants.variant import Probe

# The address of an object without a JSON form, such as an image or a function: another one in each run
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
NO_PROBE = Probe("", study="", summary="", expand=lambda *_: [], formats={})
NO_ANSWERS = ResponseTable.from_records(())


class WhenUsed(Mapping[str, Any]):
    """Values by name, each of which is computed when it is first used."""

    def __init__(self, functions: Mapping[str, Callable[[], Any]]) -> None:
        self._functions = functions
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = self._functions[name]()
        return self._values[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value; unlike in the base class, no error of its function counts as a missing name."""
        if name not in self:
            return default
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores without answers: those of a record, or of a run whose answers were dropped."""

    estimates: Mapping[str, Estimate]
    count: int  # of the questions or documents
    asked: str = ""  # digest of the questions and their variants; empty if it is unknown
    higher: Mapping[str, bool] = field(default_factory=dict)  # see `Run.higher`
    units = "questions"


@dataclass(frozen=True, eq=False)
class Documents(Scores):
    """The scores of a task of the harness with metrics of its own: a value per document, so that models are paired."""

    hashes: Mapping[int, tuple[str, str, str]] = field(default_factory=dict)  # of the document, its target, its prompt
    units = "documents"


@dataclass(frozen=True, eq=False)
class Run:
    """What is known of one model on one task, wherever it is from. All results have this shape.

    Who: `model`, `task` (with `label` and `part`), `date`, `files`. How it was asked: `data`, `signature`, `form`,
    `reader`, `results`. What came out: `estimates` by name, with influences if the values of the questions are known.

    The answers are optional. With them, `table` has the records of complete questions, and `source` the texts. Without
    them there are only `scores`. `without_answers` drops them, so that a board or a history can hold many runs.

    `runs.grouping` reads runs, and `runs.comparable` decides which ones were asked the same. A front end that makes
    runs gives them a source with answers, and the signature that says how they were asked.
    """

    model: str
    name: str
    files: tuple[Path, ...]  # the newest first
    data: Data
    probe: Probe
    table: ResponseTable = NO_ANSWERS
    source: Samples | Collected = field(default_factory=Samples)  # the records, and the lines they were read from
    rows: Ints = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64)
    )  # (R,) place of each record of the table in the source
    scores: Scores | None = None  # instead of the answers
    filter: str = "none"
    part: str = ""  # name of the filter if the task has several filters; else empty
    form: Form | None = None  # whether answers were written or scored; None if unknown
    results: Mapping[str, Any] = field(default_factory=dict)  # of the newest samples; empty without a results file
    signature: str = ""  # of the scores; empty without a results file
    reader: Reader | None = None  # of written answers; None if answers were scored
    read_before: str = ""  # the reader that the run itself used; empty if unknown
    notes: tuple[str, ...] = ()  # on files that were merged or left out, and on lines that could not be read
    label: str = ""  # name of the data; empty if the name of the task is sufficient (see `with_labels`)
    unchecked: str = ""  # why there is no results file to check the numbers against; empty if there is one
    date: str = ""  # as in the name of the newest file; empty if it has none
    parts: tuple["Run", ...] = ()  # the runs that were merged, each with its own results file
    page: Path | None = None  # a report about it, to which a leaderboard links

    @property
    def collected(self) -> Collected | None:
        """The answers of a file; None for a run of the harness."""
        return self.source if isinstance(self.source, Collected) else None

    @property
    def task(self) -> str:
        """Name of the task in reports, with its data and its filter if there are several."""
        details = ", ".join(filter(None, (self.label, self.part)))
        return f"{self.name} ({details})" if details else self.name

    @property
    def family(self) -> str:
        """Name of the task without its probe: the same for all probes of a benchmark."""
        return family_of(self.name, self.probe.name) + self.task.removeprefix(self.name)

    @property
    def ids(self) -> tuple[Any, ...]:
        """The ids of the questions; `units` says what they are, and `size` is their number as text."""
        return tuple(self.scores.hashes) if isinstance(self.scores, Documents) else self.table.question_ids

    @property
    def units(self) -> str:
        """What the ids are: questions, or the documents of a task with metrics of its own."""
        return self.scores.units if self.scores else "questions"

    @property
    def size(self) -> str:
        """The number of questions as text, and that of the passages that they share."""
        return counted(self.scores.count, self.units[:-1]) if self.scores else self.table.size

    @property
    def count(self) -> int:
        """The number of questions or documents."""
        return self.scores.count if self.scores else len(self.table.sizes)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Configuration of the task in the results file; empty without one."""
        return part_of(part_of(self.results, "configs"), self.name)

    @cached_property
    def _places(self) -> dict[str, Ints]:
        """The places in the source of the variants of each question."""
        parts = np.split(self.rows, np.cumsum(self.table.sizes))  # and an empty one at the end
        return dict(zip(self.table.question_ids, parts, strict=False))

    @cached_property
    def invalid(self) -> list[Record]:
        """The invalid answers to complete questions, in the order of the table."""
        return [self.source.record(place) for place in self.rows[self.table.invalid].tolist()]

    @cached_property
    def entries(self) -> list[Entry]:
        """Entries of the metrics that apply to the probe, the form and the benchmark, or to the columns of a file."""
        if self.scores:
            return []
        if self.collected:
            undefined = undefined_metrics(self.table, self.collected.known)
            return [entry for entry in entries_of(self.table) if entry["metric"] not in undefined]
        printed = self.source.metrics
        entries = applicable_metrics(self.probe, self.table, self.form, printed)
        # A run that stopped early has only the metrics that it printed.
        return [entry for entry in entries if self.table.is_whole or entry["metric"] in printed]

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """The recomputed metrics that have one value, by name."""
        if self.scores:
            return self.scores.estimates
        return self._computed(is_one_value)

    @cached_property
    def studies(self) -> Mapping[str, Any]:
        """The recomputed metrics that are tables of estimates, by name."""
        return self._computed(lambda entry: not is_one_value(entry))

    def _computed(self, chosen: Callable[[Entry], bool]) -> Mapping[str, Any]:
        entries = filter(chosen, self.entries)
        return WhenUsed({entry["metric"]: partial(self.function(entry), self.table) for entry in entries})

    @property
    def higher(self) -> Mapping[str, bool]:
        """Of the metrics that can rank models: whether a higher value is better."""
        if self.scores:
            return self.scores.higher
        better = {entry["metric"]: entry.get("higher_is_better") for entry in self.entries if is_in_table(entry)}
        return {name: value for name, value in better.items() if value is not None}

    @property
    def asked(self) -> str:
        """Digest of the questions and variants; empty if only the scores are known."""
        if self.scores:
            return self.scores.asked
        if isinstance(self.source, Collected):
            return self.data.digest
        # Without a signature only the prompts tell how the questions were asked.
        variants, prompts = self.source.digests_of(self.rows)
        digest = sha256(repr(self.ids).encode("utf-8", "backslashreplace"))
        for array in (self.table.sizes, variants, *(() if self.signature else (prompts,))):
            digest.update(array.tobytes())
        return digest.hexdigest()

    def without_answers(self, metrics: Collection[str]) -> "Run":
        """The run with these metrics only, in little memory."""
        estimates = {name: self.estimates[name] for name in metrics if name in self.estimates}
        kept = Scores(estimates, self.count, self.asked, self.higher)
        light = replace(self, table=NO_ANSWERS, source=Samples(), rows=self.rows[:0], results={}, scores=kept)
        return replace(light, notes=tuple(self.warnings), parts=())

    def function(self, entry: Entry) -> Callable[[ResponseTable], Any]:
        """The function that computes the metric of an entry from the answers."""
        return partial(compute, entry, seed=self.seed if self.is_stopped else None)

    @property
    def is_stopped(self) -> bool:
        """Whether the run ended as soon as its requirements were certain (--until)."""
        return "until" in signature_parts(self.signature)

    @property
    def seed(self) -> int:
        """The seed that drew the order of the questions."""
        with suppress(ValueError):
            return int(signature_parts(self.signature).get("seed", 0))
        return 0

    @property
    def is_read_again(self) -> bool:
        """Whether the answers are read by a different reader than in the run itself."""
        return bool(self.read_before and self.reader) and self.read_before != self.reader

    @cached_property
    def differences(self) -> list[str]:
        """Differences between the results file and the recomputed metrics; empty without a results file."""
        if self.parts:
            return [difference for part in self.parts for difference in part.differences]
        if self.is_read_again:
            return []
        printed, differences = part_of(part_of(self.results, "results"), self.name), []
        # Other versions may have computed the errors differently.
        same_version = not self.signature or self.signature.endswith(f"|v{__version__}")
        for name in (entry["metric"] for entry in self.entries if is_in_table(entry)):
            value, error = printed.get(f"{name},{self.filter}"), printed.get(f"{name}_stderr,{self.filter}")
            if value is None:
                continue
            found = self.estimates[name]
            if not (_same(value, found.value) and (_same(error, found.stderr) or not same_version)):
                differences.append(f"{name} is {_rounded(value, error)}, recomputed {_rounded(*found)}")
        return differences

    @cached_property
    def warnings(self) -> list[str]:
        """The warnings about the run: its notes, and reasons why its numbers may differ from the results file."""
        warnings = list(self.notes)
        if self.scores:
            return warnings
        if self.unchecked:
            warnings.append(f"{self.unchecked}, so the numbers are not checked against it")
        if self.is_read_again:
            warnings.append(f"read again by the {self.reader} reader, so the numbers may differ from the results file")
        followed = self.estimates.get("followed", UNDEFINED).value
        if self.reader and followed < FEW_FOLLOWED:
            few = f"fewer than {FEW_FOLLOWED:.0%} of the responses follow the format (see followed), so the scores"
            warnings.append(
                f"{few} depend on the reader ({self.reader}). Compare --reader strict and --reader flexible"
            )
        for run in self.parts or [self]:
            if run.differences:
                first, *others = run.differences
                more = f", and {len(others)} more" if others else ""
                warnings.append(f"the results file beside {run.files[0].name} differs from its samples: {first}{more}")
        ours = {entry["metric"] for entry in self.entries}
        small = note_on_small_categories(self.table) if any(name.startswith("macro_") for name in ours) else ""
        few = "" if self.is_stopped else note_on_few_clusters(self.table)
        unvaried = note_on_unvaried(self.entries, self.table)
        warnings += [note for note in (small, few, unvaried) if note and note not in warnings]
        unknown = self.source.metrics - ours - {"bypass"}
        if others := sorted(name for name in unknown if not name.endswith("_stderr")):
            warnings.append(f"metrics that are not of the probe {self.probe.name!r} are not shown: {', '.join(others)}")
        return warnings

    def line(self, record: Record) -> Mapping[str, Any]:
        """Read the line of a variant of a complete question in its samples file; make one for a file of answers."""
        return self.source.line(int(self._places[record.question_id][record.ordinal]))

    def answers_to(self, question: str) -> list[Record]:
        """The records of a complete question in order, without repeated answers to a variant."""
        return [self.source.record(place) for place in self._places[question].tolist()]


def _rounded(value: Any, error: Any) -> str:
    """A value and its error with four digits; the file may have texts."""
    return " ± ".join(f"{part:.4f}" if isinstance(part, float) else shorten(str(part), 20) for part in (value, error))


def _same(printed: Any, found: float) -> bool:
    """Whether a number in the results file equals the recomputed one. The file has undefined numbers as text."""
    try:
        number = float("nan" if printed in (None, "N/A") else printed)
    except (TypeError, ValueError):
        return False
    return isclose(number, found, rel_tol=1e-9, abs_tol=1e-12) or (isnan(number) and isnan(found))


Runs = Sequence[Run]


def by_task(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs of each task."""
    return grouped_by(runs, lambda run: run.task)


def check_one_model(runs: Sequence[Run], where: str) -> None:
    """Raise a UserError if there are runs of several models."""
    models = sorted({run.model for run in runs})
    if len(models) > 1:
        raise UserError(
            f"{where}: expected the runs of one model, got {len(models)}: {first_few(map(shorten, models))}. "
            "Choose one with --select MODEL"
        )


def check_metrics(metrics: Iterable[str], runs: Sequence[Run]) -> None:
    """Raise a UserError if no run has one of the metrics of `--metrics`."""
    for name in metrics:
        check_metric(name, (known for run in runs for known in run.estimates), "--metrics")


def check_metric(name: str, known: Iterable[str], option: str = "--metric") -> None:
    """Raise a UserError if no run has the metric that an option names."""
    names = list(dict.fromkeys(known))
    if name not in names:
        raise UserError(
            f"{option} {name}: there is no such metric.{did_you_mean(name, names)} The metrics are {', '.join(names)}"
        )


def selected(runs: Sequence[Run], model: str) -> list[Run]:
    """The runs of a model; all runs without a name."""
    if not (found := [run for run in runs if model in ("", run.model)]):
        names = sorted({run.model for run in runs})
        meant = did_you_mean(model, names)
        raise UserError(f"--select {model}: there is no such model.{meant} The models are {', '.join(names)}")
    return found


def lead_of(runs: Runs) -> str:
    """The metric that ranks the models of a task; empty if no metric is defined for all of them."""
    return first_defined(runs[0].probe.ranked_by, [run.estimates for run in runs], [all])


def first_defined(
    names: Iterable[str],
    scores: Sequence[Mapping[str, Estimate]],
    enough: Iterable[Callable[[Iterable[bool]], bool]] = (all, any),
) -> str:
    """The first metric that is defined for all models, else for any; empty without one."""
    for is_enough in enough:
        for name in names:
            if is_enough(not isnan(estimates.get(name, UNDEFINED).value) for estimates in scores):
                return name
    return ""


# ---- accuracy by kind of variant
def kinds_of(run: Run) -> dict[str, dict[str, Any]]:
    """Compute the metrics of each kind of variant, with positions adjusted for the questions that have them."""
    kinds = each_kind(run.table, positions=run.probe.by_position)
    return {kind: {**part, "accuracy": part.get("adjusted", part["accuracy"])} for kind, part in kinds.items()}


def kinds_compared(before: Run, after: Run) -> dict[str, Difference]:
    """Difference of the accuracy of each kind of variant that both runs have, paired by question."""
    # Empty if variants were skipped by early stopping, because the remaining answers were selected for being right.
    if not (before.table.is_whole and after.table.is_whole):
        return {}
    old, new = kinds_of(before), kinds_of(after)
    names = [kind for kind in old if kind in new]
    differences = differences_together(*([parts[kind]["accuracy"] for kind in names] for parts in (old, new)))
    return dict(zip(names, differences, strict=True))


def changes_by_kind(run: Run) -> dict[str, Difference]:
    """Difference of the accuracy of each kind of variant to that of the originals of the questions that have it."""
    # Empty if variants were skipped by early stopping, and if the originals are not a kind of their own.
    original, alone = run.table.original_correct, original_kinds(run.table)
    if not run.table.is_whole or original is None or not alone:
        return {}
    right, present = means_by_question(run.table, run.table.correct)
    codes = {kind: code for code, kind in enumerate(run.table.kinds) if kind not in alone}
    before, after = (
        [run.table.ratio(hits[:, code], present[:, code]) for code in codes.values()]
        for hits in (original[:, None] * present, right)
    )
    differences = differences_together(before, after)
    return {kind: change for kind, change in zip(codes, differences, strict=True) if not isnan(change.low)}
