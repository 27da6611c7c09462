"""Tables that rank many models: runs and records that were asked the same, from folders of any size."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.accuracy import ALL_RIGHT
from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.paired import distinguishable_groups
from lm_eval_cora.questions.messages import counted, first_few
from lm_eval_cora.report.headline import spoken
from lm_eval_cora.report.score_views import NO_BEST, scores_disagree
from lm_eval_cora.runs.files import SamplesFile, files_in, grouped_by, part_of, read_json, short_names
from lm_eval_cora.runs.grouping import Inputs, Labels, RunReader, labelled
from lm_eval_cora.runs.model_run import Run, Runs, check_metric, first_defined
from lm_eval_cora.runs.score_records import find_records
from lm_eval_cora.runs.signature import data_labels, how_asked, signature_parts
from lm_eval_cora.tables.number import Number

REPORT = "report.html"  # name of a page beside the files of a run, to which the leaderboard links
BESIDE = ("mcqa", ALL_RIGHT, "cora", "invalid")  # metrics beside the one that ranks the models
_OF_THE_TASK = ("task", "revision", "exemplars", "data_files")  # settings that belong to a benchmark
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


@dataclass(frozen=True)
class BoardRow:
    """A model of a board."""

    run: Run
    rank: int  # from 1 for the best; equal for equal values
    group: int  # from 1 for the best; 0 if the models cannot be put into groups
    lead: Number  # the metric that ranks the models

    def number(self, metric: str) -> Number:
        """Another metric; undefined for some tasks."""
        return Number.of_metric(metric, self.run.estimates)


@dataclass(frozen=True)
class Board:
    """Models that were asked the same questions in the same way, the best first."""

    task: str  # with its data and filter if there are several
    title: str  # the task, with the settings that differ from those of its other boards
    metric: str  # the metric that ranks the models
    about: str  # number of questions, and the settings
    settings: str  # how the questions were asked, without what belongs to the benchmark
    basis: str  # how the models were compared
    rows: Sequence[BoardRow]

    @property
    def lead(self) -> str:
        """The name of the metric in a sentence."""
        return spoken(self.metric)


def boards_of(task: str, runs: Runs, metrics: Sequence[str] = ()) -> list[Board]:
    """Make the boards of a task. The metrics given rank the models, before those of the probe."""
    groups = sorted(comparable(runs), key=lambda own: (-len(own), own[0].date, own[0].signature))
    named = _differing([own[0] for own in groups])
    if len(set(named)) < len(named):
        named = [", ".join(filter(None, (name, f"table {number}"))) for number, name in enumerate(named, 1)]
    titles = [f"{task} ({name})" for name in named] if len(named) > 1 else [task]
    boards = []
    for own, title in zip(groups, titles, strict=True):
        usual = own[0].probe.ranked_by
        steady = [ALL_RIGHT] if "cora" in usual else []  # CoRA itself may fall for better models
        if lead := first_defined((*metrics, *steady, *usual), [run.estimates for run in own]):
            boards.append(_board(task, title, lead, own))
    return boards


def _differing(firsts: Runs) -> list[str]:
    """For each board of a task, the settings in which any of the boards differ, such as `shots 5`."""
    settings = [
        {
            **settings_of(run),
            "signature": "known" if run.signature else "unknown",
            "data": str(run.data),
            "questions": f"{run.count:,}",
        }
        for run in firsts
    ]
    names = dict.fromkeys(name for own in settings for name in own if len({each.get(name) for each in settings}) > 1)
    return [", ".join(f"{name} {own.get(name, 'not given'):.60}" for name in names) for own in settings]


def _board(task: str, title: str, lead: str, runs: Runs) -> Board:
    ranked = [run for run in runs if not isnan(run.estimates.get(lead, UNDEFINED).value)]
    higher = runs[0].higher.get(lead, True)
    ranked.sort(key=lambda run: (run.estimates[lead].value * (-1 if higher else 1), run.model))
    scores = [run.estimates for run in ranked]
    leads = [own[lead] for own in scores]
    values = [estimate.value for estimate in leads]
    is_paired = all(_has_influences(run) and not run.is_stopped for run in ranked)
    groups = distinguishable_groups(leads, higher=higher, paired=is_paired)
    basis = "" if len(ranked) < 2 else UNRANKED if not groups else PAIRED if is_paired else UNPAIRED
    if groups and scores_disagree(lead, scores):
        groups, basis = [], NO_BEST
    group_of = {place: group for group, places in enumerate(groups, 1) for place in places}
    rows = [
        BoardRow(
            run, 1 + values.index(leads[place].value), group_of.get(place, 0), Number.of_metric(lead, run.estimates)
        )
        for place, run in enumerate(ranked)
    ]
    asked = settings_of(runs[0])
    settings = ", ".join(f"{name} {value}" for name, value in asked.items() if name not in _OF_THE_TASK)
    about = ", ".join(filter(None, (counted(runs[0].count, "question"), settings)))
    return Board(task, title, lead, about, settings, basis, rows)


def _has_influences(run: Run) -> bool:
    """Whether the scores of each question are known, so that models can be compared in pairs."""
    return any(estimate.influence is not None for estimate in run.estimates.values())


def one_per_model(runs: Runs) -> tuple[list[Run], list[str]]:
    """Keep the newest of several runs of a model that would be on the same board; a run before a record."""
    kept: list[Run] = []
    notes = []
    for own in comparable(runs):
        of_model: dict[str, Run] = {}
        for run in sorted(own, key=lambda run: (bool(run.asked), _has_influences(run), run.date), reverse=True):
            newer = of_model.setdefault(run.model, run)
            is_its_record = newer.signature == run.signature and (run.signature or not _has_influences(run))
            if newer is not run and not is_its_record:
                notes.append(f"{run.model}, {run.name}: left out {run.files[0]}, older than {newer.files[0]}")
        kept += of_model.values()
    return kept, notes


def comparable(runs: Runs) -> list[list[Run]]:
    """Group the runs that were asked the same; a record, without questions, joins the largest group like it."""
    groups = grouped_by((run for run in runs if run.asked), lambda run: (*_alike(run), run.asked))
    largest_first = sorted(groups.values(), key=len, reverse=True)
    for run in runs:
        if not run.asked:
            joined = next((own for own in largest_first if _alike(own[0]) == _alike(run)), None)
            (joined if joined is not None else groups.setdefault(_alike(run), [])).append(run)
    return list(groups.values())


def _alike(run: Run) -> tuple[object, ...]:
    """What a record and a run on the same board have in common."""
    size = signature_parts(run.signature).get("n", "")
    return tuple(settings_of(run).items()), bool(run.signature), size, run.data.digest


def settings_of(run: Run) -> dict[str, str]:
    """How the questions were asked and the responses read. Runs with other settings are not comparable."""
    asked = how_asked(run.signature, known_data=bool(run.data.digest), also=("until",))
    return asked | ({"reader": run.reader} if run.reader else {})


# ---- reading
def read_boards(
    paths: Sequence[Path],
    *,
    reader: Reader | None = None,
    labels: Labels | None = None,
    metric: str = "",
    write_page: Callable[[Run], Path] | None = None,
) -> tuple[list[Board], list[str]]:
    """Make the boards of the runs and records below some paths; and notes, such as which files cannot be used.

    The memory holds the answers of one run at a time. `write_page` gets each run and returns the path of its page.
    """
    chosen = [metric] if metric else []
    with RunReader(reader, labels) as readers:
        inputs = sorted(readers.inputs(paths, _settings_in), key=lambda one: one.task)
        readers.plan(inputs)
        notes = [*_without_samples(paths, inputs)]
        records: list[Run] = []
        for path in paths:
            found, lost = find_records(path, (*chosen, *BESIDE))
            records += labelled(found, path, labels or {})
            notes += lost
        names = short_names([*(one.files[0].model for one in inputs if one.files), *(run.model for run in records)])
        runs = []
        for one in inputs:
            for run in readers.read_inputs(one):
                if run.unchecked:  # the settings are unknown
                    notes += [f"left out {path}: {run.unchecked}" for path in run.files]
                else:
                    runs.append(_scored(replace(run, model=names.get(run.model, run.model)), chosen, write_page))
    notes += [f"{run.model}, {run.name}: {note}" for run in runs for note in run.notes] + readers.notes
    runs += [replace(record, model=names[record.model]) for record in records]
    if not runs and (not notes or not inputs):
        raise _nothing(paths, [*notes, *readers.other_tasks.values()])
    if unread := first_few(readers.other_tasks):
        notes.append(f"not shown, because their options cannot be found: {unread}. lm-eval-cora score FOLDER says why")
    boards = _boards_of_tasks([_with_page(run, paths) for run in runs], chosen, notes)
    if not boards:
        raise UserError(": ".join(["no run has a score", *notes[:1]]))
    if metric:
        check_metric(metric, (name for board in boards for row in board.rows for name in row.run.higher))
        others = [board for board in boards if board.metric != metric]
        notes += [f"{board.title}: not all models have {metric}, so {board.metric} ranks" for board in others]
    return boards, notes


def _settings_in(file: SamplesFile) -> str:
    """Of each model and setting, the newest run counts."""
    return repr(how_asked(file.signature, known_data=bool(file.data.digest)))


def _without_samples(paths: Iterable[Path], inputs: Iterable[Inputs]) -> Iterator[str]:
    """Yield a note on each results file that has no samples beside it, and is broken or has tasks of lm-eval-cora."""
    runs = {(file.path.parent, file.date) for one in inputs for file in one.files}
    for path in paths:
        for results in files_in(path, lambda name: name.endswith(".json")) if path.is_dir() else [path]:
            name, date = results.stem[:8], results.stem[8:]
            if name != "results_" or results.suffix != ".json" or (results.parent, date) in runs:
                continue
            configs = part_of(found := read_json(results), "configs")
            tasks = [task for task in configs if part_of(part_of(configs, task), "metadata").get("signature")]
            if not found:
                yield f"left out {results}: it cannot be read as a results file"
            elif tasks:
                missing = f"there are no samples of {', '.join(tasks)} beside it"
                yield f"left out {results}: {missing}. Run with --log_samples"


def _scored(run: Run, chosen: Sequence[str], write_page: Callable[[Run], Path] | None) -> Run:
    """The run with the scores that boards need, and without its answers."""
    page = write_page(run) if write_page else None
    # Nothing was varied in a run of our tasks: an accuracy alone gives no place. One variant of MCQA+ does, in a run
    # that does not have CoRA.
    is_ranked = run.collected or "cora" not in run.estimates or (run.table.sizes > 1).any()
    light = run.without_answers([*chosen, *run.probe.ranked_by, *BESIDE] if is_ranked else [])
    return replace(light, page=page)


def _with_page(run: Run, paths: Iterable[Path]) -> Run:
    """Link the page in the folder of a run, or in the folder above if that is inside one of the paths."""
    file, roots = run.files[0], {path.resolve() for path in paths}
    above = [file.parent.parent] if roots & set(file.resolve().parents[2:]) else []
    beside = (page for folder in (file.parent, *above) if (page := folder / REPORT).is_file())
    return run if run.page else replace(run, page=next(beside, None))


def _nothing(paths: Iterable[Path], reasons: Sequence[str]) -> UserError:
    why = "".join(f". {reason[:1].upper()}{reason[1:]}" for reason in reasons[:1])
    return UserError(
        f"{', '.join(map(str, paths))}: there are no samples of lm-eval-cora tasks and no records. Pass a folder with "
        "the --output_path of runs with --log_samples, with logs of Inspect or HELM, with files of answers, or with "
        f"records of lm-eval-cora export --format every-eval-ever{why}"
    )


def _boards_of_tasks(runs: Runs, metrics: Sequence[str], notes: list[str]) -> list[Board]:
    """Make the boards of each task, separately for each filter; the largest first."""
    boards: list[Board] = []
    most: dict[str, int] = {}
    for _, of_task in sorted(grouped_by(runs, lambda run: run.name).items()):
        kept, left_out = one_per_model(of_task)
        notes += left_out
        for part, own in grouped_by(kept, lambda run: run.part).items():
            names = {label for label in data_labels([(run.name, run.name, run.data) for run in own]) if label}
            details = ", ".join(filter(None, [*(names if len(names) == 1 else ()), part]))
            boards += boards_of(f"{own[0].name} ({details})" if details else own[0].name, own, metrics)
    for board in boards:
        most[board.task] = max(most.get(board.task, 0), len(board.rows))
    return sorted(boards, key=lambda board: (-most[board.task], board.task))
