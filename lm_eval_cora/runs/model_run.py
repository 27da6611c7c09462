"""The run of a task by a model: its answers, their metrics, and whether it can be compared with another run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isclose, isnan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora import __version__
from lm_eval_cora.answers import FEW_FOLLOWED, Reader
from lm_eval_cora.answers.records import Record
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.entries import Entry, compute, is_in_table, note_on_unvaried
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.kinds import note_on_few_clusters, note_on_small_categories
from lm_eval_cora.metrics.responses import Ints, ResponseTable
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.messages import did_you_mean, first_few
from lm_eval_cora.questions.question import Form, shorten
from lm_eval_cora.runs.collected import Collected, entries_of, undefined_metrics
from lm_eval_cora.runs.documents import DocumentRun
from lm_eval_cora.runs.files import grouped_by, part_of, sent_with
from lm_eval_cora.runs.samples import Samples
from lm_eval_cora.runs.signature import (
    differences_between,
    family_of,
    how_asked,
    only_in_one,
    signature_parts,
)
from lm_eval_cora.runs.task_files import applicable_metrics
from lm_eval_cora.variants.probes import Probe


@dataclass(frozen=True, eq=False)
class Run:
    """The answers of one model to one task."""

    model: str
    name: str
    filter: str
    data: Data
    probe: Probe
    files: tuple[Path, ...]  # the samples files, the newest first
    table: ResponseTable
    source: Samples | Collected  # the records, and the lines that they were read from
    rows: Ints  # (R,) place of each record of the table in the source
    part: str = ""  # name of the filter if the task has several filters; else empty
    form: Form | None = None  # whether answers were written or scored; None if unknown
    results: Mapping[str, Any] = field(default_factory=dict)  # of the newest samples; empty without a results file
    signature: str = ""  # of the scores; empty without a results file
    reader: Reader | None = None  # of written answers; None if answers were scored
    read_before: str = ""  # the reader that the run itself used; empty if unknown
    notes: tuple[str, ...] = ()  # on files that were merged or left out, and on lines that could not be read
    label: str = ""  # name of the data; empty if the name of the task is sufficient (see `with_labels`)
    unchecked: str = ""  # why there is no results file to check the numbers against; empty if there is one

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
    def ids(self) -> tuple[str, ...]:
        """The ids of the questions; `units` says what they are, and `size` is their number as text."""
        return self.table.question_ids

    units = "questions"

    @property
    def size(self) -> str:
        """The number of questions as text, and that of the passages that they share."""
        return self.table.size

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
        if self.collected:
            undefined = undefined_metrics(self.table, self.collected.known)
            return [entry for entry in entries_of(self.table) if entry["metric"] not in undefined]
        printed = self.source.metrics
        entries = applicable_metrics(self.probe, self.table, self.form, printed)
        # A run that stopped early has only the metrics that it printed.
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
        if len(self.files) > 1 or self.is_read_again:
            return []
        printed, differences = part_of(part_of(self.results, "results"), self.name), []
        # Other versions may have computed the errors differently.
        same_version = not self.signature or self.signature.endswith(f"|v{__version__}")
        for name in (entry["metric"] for entry in self.entries if is_in_table(entry)):
            found = self.estimates[name]
            value, error = printed.get(f"{name},{self.filter}"), printed.get(f"{name}_stderr,{self.filter}")
            is_same = _same(value, found.value) and (_same(error, found.stderr) or not same_version)
            if value is not None and not is_same:
                differences.append(f"{name} is {_rounded(value, error)}, recomputed {_rounded(*found)}")
        return differences

    @cached_property
    def warnings(self) -> list[str]:
        """The warnings about the run: its notes, and reasons why its numbers may differ from the results file."""
        warnings = list(self.notes)
        if self.unchecked:
            warnings.append(f"{self.unchecked}, so the numbers are not checked against it")
        elif len(self.files) > 1:
            warnings.append("merged runs are not checked against a results file")
        if self.is_read_again:
            warnings.append(f"read again by the {self.reader} reader, so the numbers may differ from the results file")
        followed = self.estimates.get("followed", UNDEFINED).value
        if self.reader and followed < FEW_FOLLOWED:
            few = f"fewer than {FEW_FOLLOWED:.0%} of the responses follow the format (see followed), so the scores"
            warnings.append(
                f"{few} depend on the reader ({self.reader}). Compare --reader strict and --reader flexible"
            )
        if self.differences:
            first, *others = self.differences
            more = f", and {len(others)} more" if others else ""
            warnings.append(f"the results file beside {self.files[0].name} differs from its samples: {first}{more}")
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


# ---- whether two runs can be compared question by question: they must have been asked the same
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


def check_metrics(metrics: Iterable[str], runs: Sequence[Run | DocumentRun]) -> None:
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


_FORMS = {"generate": "written", "loglikelihood": "scored"}


def not_comparable(before: Run, after: Run) -> str:
    """Reason why two runs of a task cannot be compared; empty if they can."""
    if isinstance(before.source, Collected) and isinstance(after.source, Collected):
        return before.source.differs_from(after.source)
    if not (isinstance(before.source, Samples) and isinstance(after.source, Samples)):
        which = "first" if before.collected else "second"
        return f"the {which} is a file of answers, the other is a run of the harness. Compare two of a kind"
    if before.data.differs_from(after.data):
        return (
            f"they ran on different questions: {before.data} in the first, {after.data} in the second. Run "
            "both on the same file or data set"
        )
    if stopped := [which for which, run in (("first", before), ("second", after)) if run.is_stopped]:
        return (
            f"--until ended the {' and the '.join(stopped)} because of its answers. Run both without it, or compare it "
            "with a whole run: lm-eval-cora gate RUN --baseline WHOLE --no-worse METRIC:MARGIN"
        )
    if before.signature and after.signature:
        same_data = bool(before.data.digest and after.data.digest)
        asked, also = (how_asked(run.signature, known_data=same_data) for run in (before, after))
        if differing := differences_between(asked, also, show=str):
            return f"their settings differ: {'; '.join(differing)}"
    if before.reader and after.reader and before.reader != after.reader:
        return (
            f"the {before.reader} reader read the responses of the first, the {after.reader} reader those of "
            f"the second. Use one reader for both: --reader {before.reader}, or --reader {after.reader}"
        )
    if before.form and after.form and before.form != after.form:
        return f"the first has {_FORMS[before.form]} answers, the second has {_FORMS[after.form]} answers"
    if only := only_in_one(before.table.question_ids, after.table.question_ids, "questions"):
        parts = signature_parts(before.signature).keys() | signature_parts(after.signature).keys()
        ended = " A budget ends each run at another question." if "budget" in parts else ""
        return f"{only}.{ended} Run both on the same questions (option 'questions' or 'categories')"
    if before.table.clusters != after.table.clusters:
        return (
            "their questions share different passages. Run both with the same option 'cluster' and the same "
            "version of the task"
        )
    if before.table.repeats and after.table.repeats:  # the majority and the share right in all depend on their number
        first, second = before.table.repeats.sizes, after.table.repeats.sizes
        if not np.array_equal(first, second):
            return (
                f"the first has {first.sum():,} answers to originals and their repeats, the second {second.sum():,}. "
                "Run both with the same option 'repeats'"
            )
    one, other = before.source.digests_of(before.rows), after.source.digests_of(after.rows)
    most = int(np.maximum(before.table.sizes, after.table.sizes).sum())
    reasons = [
        "variants differ ({}). The runs have different seeds, different options or different versions of the task"
    ]
    if not (before.signature and after.signature):
        reasons.append(
            "prompts differ ({}). Only the results files of both runs can show whether the chat template or the "
            "exemplars differ. Put each results_<date>.json beside its samples"
        )
    for part, reason in enumerate(reasons):
        if unlike := _unlike((before, one[part]), (after, other[part])):
            return f"{len(unlike):,} of {most:,} {reason.format(first_few(unlike))}"
    return ""


def _unlike(*digests_by_run: tuple[Run, NDArray[np.bytes_]]) -> list[str]:
    """The variants with different digests in two runs of the same questions."""
    (before, one), (after, other) = digests_by_run
    if np.array_equal(before.table.sizes, after.table.sizes) and np.array_equal(one, other):
        return []
    found: set[tuple[str, int, bytes]] = set()
    for run, digests in digests_by_run:
        sizes = zip(run.table.question_ids, run.table.sizes.tolist(), strict=True)
        variants = ((question, ordinal) for question, size in sizes for ordinal in range(size))
        found ^= {(*variant, digest) for variant, digest in zip(variants, digests, strict=True)}
    return [f"{question} variant {n}" for question, n in sorted({(question, n) for question, n, _ in found})]


def setting_differences(before: Run | DocumentRun, after: Run | DocumentRun) -> list[str]:
    """Differences in generation and prompt settings; such runs can still be compared."""
    if not before.results or not after.results:
        return []
    one, other = (sent_with(run.results, run.name) for run in (before, after))
    if one["chat_template_sha"] and other["chat_template_sha"]:  # two models usually have different chat templates
        other["chat_template_sha"] = one["chat_template_sha"]
    return differences_between(one, other)


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
