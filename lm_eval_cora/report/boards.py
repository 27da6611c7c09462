"""Group the scores of a task into tables of comparable models, from runs and records, and rank the models of each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from hashlib import sha256
from math import isnan, nan
from pathlib import Path
from typing import Any

from lm_eval_cora.metrics.entries import is_in_table
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.paired import distinguishable_groups
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.messages import counted
from lm_eval_cora.report.content import Dots
from lm_eval_cora.report.headline import spoken
from lm_eval_cora.report.result_tables import NO_BEST, in_bold, scores_disagree
from lm_eval_cora.runs.files import files_in, grouped_by, part_of, read_json
from lm_eval_cora.runs.model_run import Run, first_defined
from lm_eval_cora.runs.samples import Samples
from lm_eval_cora.runs.signature import how_asked, signature_parts
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Table
from lm_eval_cora.variants.probes import PROBES, Probe

BESIDE = ("mcqa", "bmca@1.0", "invalid")  # metrics beside the one that ranks the models
RUN_DATE = "%Y-%m-%dT%H-%M-%S"  # format of the date in the harness' file names, without the fraction
_NAME = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\.json")  # name of a record as the schema asks for it
_OF_THE_TASK = ("task", "revision", "exemplars", "data_files")  # settings that belong to a benchmark
_NAMED = 3  # number of other tables that a sentence names
CHARTED = 40  # number of models that a chart has at most
_GROUPS = (
    "The models are taken in the order of their scores. A model begins a new group if it can be told apart from the "
    "best model of the group before it. So models of different groups may be indistinguishable, if the error of one is "
    "large. "
)
PAIRED = f"{_GROUPS}The differences are paired by question, and their intervals hold for all pairs of models together."
UNPAIRED = (
    f"{_GROUPS}The answers of some models are not available, so the comparison uses only the standard errors. It is "
    "unpaired and conservative: a paired comparison of the answers may tell more models apart."
)
UNRANKED = "The error of a score is unknown, so the models are not put into groups."


@dataclass(frozen=True, eq=False)
class Standing:
    """The scores of a model on a task. All names are untrusted text."""

    model: str
    name: str  # of the task
    part: str  # name of the filter if the task has several
    data: Data
    settings: Mapping[str, str]  # how the questions were asked, from the signature, and how the responses were read
    asked: str  # digest of the questions and their variants; empty if only the scores are known, as in a record
    size: str  # questions and variants, such as `100x26`; empty if unknown
    questions: int
    ranked_by: Sequence[str]  # the metric that ranks the models of this task; the next one if it is undefined
    scores: Mapping[str, Estimate]  # of these metrics and of those beside them
    signature: str
    is_paired: bool  # the scores can be compared question by question
    date: str  # of the run as in the harness' file names; empty if unknown
    source: Path  # the newest file of the run
    report: Path | None = None
    higher: Mapping[str, bool] = field(default_factory=dict)  # for all metrics that can rank: higher is better


@dataclass(frozen=True)
class BoardRow:
    """A model of a board."""

    entry: Standing
    rank: int  # from 1 for the best; equal for equal values
    group: int  # from 1 for the best; 0 if the models cannot be put into groups
    lead: Number  # the metric that ranks the models

    def number(self, metric: str) -> Number:
        """Another metric; undefined for some tasks."""
        return Number.of_metric(metric, self.entry.scores)


@dataclass(frozen=True)
class Board:
    """Models that were asked the same questions in the same way, the best first."""

    task: str  # with its data and filter if there are several
    title: str  # the task, with the settings that differ from those of its other boards
    metric: str  # the metric that ranks the models
    about: str  # number of questions, and the settings
    settings: str  # how the questions were asked, without what belongs to the benchmark
    basis: str  # how the models were compared
    unranked: str  # what differs from the other boards of the task
    rows: Sequence[BoardRow]

    @property
    def lead(self) -> str:
        """The name of the metric in a sentence."""
        return spoken(self.metric)

    @property
    def chart(self) -> Dots:
        """The best models with their intervals."""
        shown = self.rows[:CHARTED]
        numbers = {row.entry.model: row.lead for row in shown}
        return Dots(
            title=self.title,
            numbers=Table(self.title, [], []),  # the table of the board has them
            x_label=self.lead,
            models=[("", numbers)],
            is_difference=any(row.lead.value < 0 for row in shown),
        )


def boards_of(task: str, entries: Sequence[Standing]) -> list[Board]:
    """Make the boards of a task."""
    groups = sorted(comparable(entries), key=lambda own: (-len(own), own[0].date, own[0].signature))
    differing = _differing([own[0] for own in groups])
    named = [", ".join(f"{name} {value:.60}" for name, value in values.items()) for values in differing]
    if len(set(named)) < len(named):
        named = [", ".join(filter(None, (name, f"table {number}"))) for number, name in enumerate(named, 1)]
    titles = [f"{task} ({name})" for name in named] if len(named) > 1 else [task]
    by_title = dict(zip(titles, differing, strict=True))
    boards = []
    for own, (title, settings) in zip(groups, by_title.items(), strict=True):
        others = [f"{_apart(settings, other)} in “{name}”" for name, other in by_title.items() if name != title]
        if len(others) > _NAMED:
            others[_NAMED:] = [f"and {len(others) - _NAMED} more tables"]
        unranked = f"Not ranked together with other models of {task}: {'; '.join(others)}." if others else ""
        if lead := first_defined(own[0].ranked_by, [entry.scores for entry in own]):
            boards.append(_board(task, title, lead, own, unranked))
    return boards


def _differing(firsts: Sequence[Standing]) -> list[dict[str, str]]:
    """For each board of a task, the settings in which any of the boards differ."""
    settings = [
        {
            **entry.settings,
            "signature": "known" if entry.signature else "unknown",
            "data": str(entry.data),
            "questions": f"{entry.questions:,}",
        }
        for entry in firsts
    ]
    names = dict.fromkeys(name for own in settings for name in own if len({each.get(name) for each in settings}) > 1)
    return [{name: own.get(name, "not given") for name in names} for own in settings]


def _apart(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    """What differs between two boards, such as `shots is 0 here, 5`."""
    differing = [f"{name} is {one[name]:.90} here, {other[name]:.90}" for name in one if one[name] != other[name]]
    return " and ".join(differing) or "the questions or their variants differ from those"


def _board(task: str, title: str, lead: str, entries: Sequence[Standing], unranked: str) -> Board:
    ranked = [entry for entry in entries if not isnan(entry.scores.get(lead, UNDEFINED).value)]
    higher = entries[0].higher.get(lead, True)
    ranked.sort(key=lambda entry: (entry.scores[lead].value * (-1 if higher else 1), entry.model))
    values = [entry.scores[lead].value for entry in ranked]
    is_paired = all(entry.is_paired for entry in ranked)
    groups = distinguishable_groups([entry.scores[lead] for entry in ranked], higher=higher, paired=is_paired)
    basis = "" if len(ranked) < 2 else UNRANKED if not groups else PAIRED if is_paired else UNPAIRED
    scores = [entry.scores for entry in ranked]
    if groups and scores_disagree(lead, scores):
        groups, basis = [], NO_BEST
    best = in_bold(lead, scores, higher=higher, paired=is_paired) if groups else ()
    group_of = {place: group for group, places in enumerate(groups, 1) for place in places}
    rows = [
        BoardRow(
            entry,
            1 + values.index(entry.scores[lead].value),
            group_of.get(place, 0),
            Number.of_metric(lead, entry.scores, best=place in best),
        )
        for place, entry in enumerate(ranked)
    ]
    first = entries[0]
    settings = ", ".join(f"{name} {value}" for name, value in first.settings.items() if name not in _OF_THE_TASK)
    about = ", ".join(filter(None, (counted(first.questions, "question"), settings)))
    return Board(task, title, lead, about, settings, basis, unranked, rows)


def one_per_model(entries: Sequence[Standing]) -> tuple[list[Standing], list[str]]:
    """Keep the newest of several entries of a model that would be on the same board; a run before a record."""
    kept: list[Standing] = []
    notes = []
    for own in comparable(entries):
        of_model: dict[str, Standing] = {}
        for entry in sorted(own, key=lambda entry: (bool(entry.asked), entry.date), reverse=True):
            newer = of_model.setdefault(entry.model, entry)
            if newer is not entry and newer.signature != entry.signature:
                notes.append(f"{entry.model}, {entry.name}: left out {entry.source}, older than {newer.source}")
        kept += of_model.values()
    return kept, notes


def comparable(entries: Sequence[Standing]) -> list[list[Standing]]:
    """Group the entries that were asked the same; a record, without questions, joins the largest group like it."""
    groups = grouped_by((entry for entry in entries if entry.asked), lambda entry: (*_alike(entry), entry.asked))
    runs = sorted(groups.values(), key=len, reverse=True)
    for entry in entries:
        if not entry.asked:
            joined = next((own for own in runs if _alike(own[0]) == _alike(entry)), None)
            (joined if joined is not None else groups.setdefault(_alike(entry), [])).append(entry)
    return list(groups.values())


def _alike(entry: Standing) -> tuple[object, ...]:
    """What a record and a run on the same board have in common."""
    return tuple(entry.settings.items()), bool(entry.signature), entry.size, entry.data.digest


def entry_of(run: Run, date: str, first: Sequence[str] = ()) -> Standing:
    """Make the entry of a run. The metrics in `first` come before those of its probe. It does not keep the answers."""
    ranked_by = (*first, *run.probe.ranked_by)
    entries = [entry for entry in run.entries if entry["metric"] in (*ranked_by, *BESIDE)]
    # Nothing was varied: an accuracy alone gives no place. One variant of MCQA+ does, in a run that does not have CoRA.
    is_unvaried = not (run.table.sizes > 1).any() and (run.collected or "cora" in run.estimates)
    found = {} if is_unvaried else {entry["metric"]: run.function(entry)(run.table) for entry in entries}
    return Standing(
        model=run.model,
        name=run.name,
        part=run.part,
        data=run.data,
        settings=settings_of(run.signature, run.data, run.reader),
        asked=_asked(run),
        size=signature_parts(run.signature).get("n", ""),
        questions=len(run.table.sizes),
        ranked_by=ranked_by,
        scores={name: value for name, value in found.items() if isinstance(value, Estimate)},
        signature=run.signature,
        is_paired=not run.is_stopped,
        date=date,
        source=run.files[0],
        higher={
            entry["metric"]: entry["higher_is_better"]
            for entry in run.entries
            if is_in_table(entry) and entry.get("higher_is_better") is not None
        },
    )


def settings_of(signature: str, data: Data, reader: str | None) -> dict[str, str]:
    """How the questions of a run were asked and its responses read. Runs with other settings are not comparable."""
    return how_asked(signature, known_data=bool(data.digest), also=("until",)) | ({"reader": reader} if reader else {})


def _asked(run: Run) -> str:
    """Digest of the questions and variants of a run. Without a signature it includes the prompts."""
    if not isinstance(run.source, Samples):
        return run.data.digest
    variants, prompts = run.source.digests_of(run.rows)
    digest = sha256(repr(run.table.question_ids).encode("utf-8", "backslashreplace"))
    for array in (run.table.sizes, variants, *(() if run.signature else (prompts,))):
        digest.update(array.tobytes())
    return digest.hexdigest()


def find_records(path: Path, first: Sequence[str] = ()) -> tuple[list[Standing], list[str]]:
    """Find the records of lm-eval-cora in a folder, or read one."""
    entries: list[Standing] = []
    notes = []
    files = [path] if path.suffix == ".json" else []
    if path.is_dir():
        files = files_in(path, lambda name: name.endswith(".json") and not name.startswith("results_"))
    for file in files:
        record = read_json(file)
        if not record and _NAME.fullmatch(file.name):
            notes.append(f"left out {file}: it is not a JSON object")
        elif part_of(record, "source_metadata").get("source_name") == "lm-eval-cora":
            try:
                entries += _entries(record, file, first)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
                notes.append(f"left out {file}: it is not a record as lm-eval-cora writes it ({error!r:.80})")
    return entries, notes


def _entries(record: Mapping[str, Any], file: Path, first: Sequence[str]) -> Iterator[Standing]:
    """Yield an entry for each evaluation in a record."""
    by_name = grouped_by(record["evaluation_results"], lambda result: str(result["evaluation_name"]))
    for evaluation, results in by_name.items():
        details = results[0]["score_details"]["details"]
        signature, probe = str(details.get("signature", "")), str(details.get("probe", ""))
        parts = signature_parts(signature)
        data = Data(parts.get("benchmark", ""), str(details.get("data", "")))
        ranked_by = (*first, *PROBES.get(probe, Probe).ranked_by)
        configs = {result["metric_config"]["metric_name"]: result["metric_config"] for result in results}
        found = {result["metric_config"]["metric_name"]: result["score_details"] for result in results}
        task, *others = evaluation.split("/")
        date = datetime.fromtimestamp(float(results[0]["evaluation_timestamp"]), timezone.utc)
        yield Standing(
            model=str(record["model_info"]["id"]),
            name=task,
            part="/".join(other for other in others if not data.name or not other.startswith(data.name)),
            data=data,
            settings=settings_of(signature, data, details.get("reader")),
            # The digest of a file of answers includes the variants.
            asked="" if signature else data.digest,
            size=parts.get("n", str(details["questions"])),
            questions=int(details["questions"]),
            ranked_by=ranked_by,
            scores={name: _estimate(found[name]) for name in (*ranked_by, *BESIDE) if name in found},
            signature=signature,
            is_paired=False,
            date=date.strftime(RUN_DATE),
            source=file,
            higher={name: not config.get("lower_is_better") for name, config in configs.items()},
        )


def _estimate(score: Mapping[str, Any]) -> Estimate:
    ends, error = (part_of(part_of(score, "uncertainty"), name) for name in ("confidence_interval", "standard_error"))
    low, high = (_number(ends[end]) if end in ends else nan for end in ("lower", "upper"))
    stderr = _number(error["value"], least=0.0) if error else nan
    return Estimate(_number(score["score"]), stderr, ends=(low, high))


def _number(value: Any, least: float = -2.0) -> float:
    """A number from a record."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 2:
        raise ValueError(f"{value!r:.40} is not a score or its error")
    return float(value)
