"""The task for Inspect: samples made of variants, a scorer with our readers, metrics with errors over questions."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # Inspect prints its text without a traceback
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState, generate
from inspect_ai.util import EarlyStop
from rich.text import Text

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.equivalence import CHECKER, check_comparison, settle
from lm_eval_cora.answers.exemplars import load_sampler
from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.records import Record, read_response, skipped
from lm_eval_cora.errors import UserError
from lm_eval_cora.log import logger
from lm_eval_cora.metrics.entries import compute, saves_requests
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.benchmark import Benchmark, Data, in_its_language
from lm_eval_cora.questions.loading import load_questions, questions_digest, to_row
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.options import Options
from lm_eval_cora.report.score_views import MAIN
from lm_eval_cora.runs import task_files
from lm_eval_cora.runs.inspect_logs import OURS, Doc, decided, in_epoch, response_in
from lm_eval_cora.runs.signature import about_asking, signature_of
from lm_eval_cora.variants.probes import PROBES, variants_of_all
from lm_eval_cora.variants.template import prompt_of
from lm_eval_cora.variants.variant import place_in_asking

_KEPT = ("picked", "position", "selected", "written", "matches", "followed")  # of an answer, for the metrics


def _refusal(text: object) -> Exception:
    return PrerequisiteError(Text(str(text)))  # type: ignore[no-any-return]  # brackets in plain text would be markup


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        how = ". In Inspect: -T benchmark=NAME -T OPTION=VALUE" if "--" in str(error) else ""
        raise _refusal(f"{error}{how}") from None


@task  # type: ignore[untyped-decorator]
@_refusing()
def cora(
    benchmark: str = "",
    probe: str = "divergent",
    num_fewshot: int | None = None,
    fewshot_seed: int = 1234,
    stop: str | None = None,
    **options: Any,
) -> Task:
    """Ask each question of a benchmark in several variants.

    Args:
        benchmark: The name of a benchmark, such as `medqa`. Not needed with the option `data_files` or `hub`.
        probe: The rule that makes the variants, such as `order`.
        num_fewshot: The number of exemplars; None for that of the task file.
        fewshot_seed: The seed that draws the exemplars; the default is the harness'.
        stop: `exact` skips the rest of a question as soon as a variant is wrong.
        **options: The options of the tasks, as in `--metadata '{"cora": {...}}'` of the harness.

    Returns:
        A task with one sample per variant.
    """
    rule = PROBES[_named("probe", probe, PROBES)]
    benchmark = benchmark or ("hub" if "hub" in options else "local")
    name, settings = task_files.written_task(_named("benchmark", benchmark, task_files.benchmark_names()), rule)
    source, chosen = _source(name, benchmark, options)
    entries = task_files.asked_metrics(task_files.probe_metrics(probe), source, rule, chosen, form="generate")
    if stop and (stop != "exact" or not saves_requests(entries) or chosen.repeats):
        raise UserError(f"-T stop={stop}: expected exact, with a probe that has ci or bmca, and without repeats")
    questions, referring, every = load_questions(source, chosen, rule.leaves_out)
    docs = [*map(vars, variants_of_all(questions, rule, chosen, benchmark=source))]
    shots = settings["num_fewshot"] if num_fewshot is None else num_fewshot
    how: Any = {"options": chosen, "benchmark": source, "asked_for": num_fewshot is not None}
    sampler = load_sampler(name, questions, shots, chosen.seed, fewshot_seed, **how) if shots else None
    data = Data(source.name, questions_digest(map(to_row, every)))
    how = {"docs": docs, "exemplars": (shots, fewshot_seed, sampler), "left_out": referring or None}
    about = about_asking(f"{name}@{settings['metadata']['version']}", rule, source, chosen, data, **how)
    signature = signature_of(about, chosen, {"stop": stop} if stop else {}, [*map(skipped, docs)])
    config: dict[str, Any] = {"task": name, "probe": probe, "metrics": [entry["metric"] for entry in entries]}
    config["benchmark"] = {**vars(source.source), "package_file": source.package_file}
    config["metadata"] = {"cora": options, "signature": signature, **data.in_metadata()}
    if stop:
        docs.sort(key=lambda doc: place_in_asking(doc, rule.hardest_first))
    ours = {"probe": probe, "stop": stop and chosen.reader}
    return Task(
        dataset=Variants([_sample(doc, sampler, shots, ours) for doc in docs], name=source.name),
        solver=generate(cache=False) if rule.samples or chosen.repeats else generate(),  # prompts are equal
        scorer=answers(reader=chosen.reader),
        config=_limits(docs, settings["generation_kwargs"]),
        early_stopping=StopExact() if stop else None,
        name=name,
        metadata={OURS: config},
    )


def _limits(docs: Sequence[Doc], kwargs: Mapping[str, Any]) -> GenerateConfig:
    """The settings of the task file, with enough tokens for the longest answer."""
    tokens = (format_of(doc).tokens(doc) for doc in docs)
    return GenerateConfig(temperature=kwargs["temperature"], max_tokens=max(kwargs["max_gen_toks"], *tokens))


def _source(name: str, benchmark: str, options: Mapping[str, Any]) -> tuple[Benchmark, Options]:
    """The benchmark and the options of the user."""
    chosen = Options.from_metadata(name, options)
    if of_the_harness := {"task", "request_seeds", "constrain"} & chosen.changed().keys():
        raise UserError(f"option {min(of_the_harness)!r} has no effect in Inspect: leave it out")
    source = task_files.benchmark(benchmark, chosen.declared, chosen.data_files)
    if not source.has_options:
        check_comparison(name)
    return source, in_its_language(source, chosen)


def _named(option: str, name: str, known: Collection[str]) -> str:
    if name not in known:
        why = did_you_mean(name, known)
        if name.endswith("_mc"):
            why = " Letters are scored in the harness only (_mc)"
        raise UserError(f"-T {option}={name}: expected one of {', '.join(known)}.{why}")
    return name


def _sample(doc: dict[str, Any], sampler: Any, shots: int, ours: Doc) -> Sample:
    """The sample of a variant. Exemplars stand before its prompt."""
    texts = []
    if sampler:
        sampler.doc = doc
        texts = [f"{one['text']} {format_of(one).target(one)}" for one in sampler.sample(shots)]
    return Sample(
        "\n\n".join([*texts, prompt_of(doc)]),
        target=format_of(doc).target(doc),
        id=f"{doc['question_id']}/{doc['ordinal']}",
        metadata={OURS: {"doc": json.loads(json.dumps(doc, default=str)), **ours}},
    )


class Variants(MemoryDataset):  # type: ignore[misc]
    """The samples of all variants."""

    def __getitem__(self, index: Any) -> Any:
        """Return a sample, or all of them: `--limit` would leave a part of a question."""
        found = super().__getitem__(index)
        if isinstance(index, slice) and len(found) < len(self):
            raise _refusal("--limit counts variants, and may leave a part of a question: use -T questions=N")
        return found


class StopExact:
    """Inspect's early stopping: skips the rest of a question once its original is answered and a variant is wrong."""

    async def start_task(self, task: Any, samples: Sequence[Sample], epochs: int) -> str:
        """Take the docs of the samples."""
        self._docs: dict[Any, Doc] = {sample.id: sample.metadata[OURS]["doc"] for sample in samples}
        self._answered = defaultdict[Any, list[Any]](list)
        return "exact"

    async def schedule_sample(self, id: Any, epoch: int) -> EarlyStop | None:
        """Skip a variant whose answer cannot change the metrics. The log keeps its doc."""
        doc = self._docs[id]
        is_decided = decided(self._answered[doc["question_id"], epoch])
        return EarlyStop(id=id, epoch=epoch, reason="a variant is wrong", metadata=doc) if is_decided else None

    async def complete_sample(self, id: Any, epoch: int, scores: Mapping[str, SampleScore]) -> None:
        """Take the score of a variant."""
        doc = self._docs[id]
        self._answered[doc["question_id"], epoch] += [(doc, one.score.value == CORRECT) for one in scores.values()]

    async def complete_task(self) -> dict[str, Any]:
        """Nothing to add: Inspect lists what was skipped."""
        return {}


@metric(scores="unreduced")  # type: ignore[untyped-decorator]
def by_question() -> Metric:
    """The main metrics of the probe, each followed by its standard error over questions."""

    def compute_all(scores: Sequence[SampleScore]) -> dict[str, float]:
        try:
            return _values([(one.sample_metadata[OURS], one.score.metadata) for one in scores]) if scores else {}
        except Exception:  # a bug of ours must not end a run
            logger.exception("the metrics could not be computed; please report this")
            return {}

    return compute_all


def _values(known: Sequence[tuple[Any, Any]]) -> dict[str, float]:
    """The metrics of samples, from what is known of each before and after its answer."""
    (ours, _), epochs = known[0], max(found["epoch"] for _, found in known)
    records = [_record(in_epoch(one["doc"], found["epoch"], epochs), found) for one, found in known]
    records += _skipped_in(records) if ours["stop"] else ()
    settle((record.question_id, record.written) for record in records)
    table, values = ResponseTable.from_records(records, CHECKER.verdict), dict[str, float]()
    for entry in task_files.applicable_metrics(PROBES[ours["probe"]], table, "generate"):
        name = entry["metric"]
        if name in (*PROBES[ours["probe"]].ranked_by, *MAIN):
            values[name], values[f"{name}_stderr"] = compute(entry, table)
    return {name: value for name, value in values.items() if not isnan(value)}


def _record(doc: Doc, found: Doc) -> Record:
    """The record of a scored variant."""
    record = skipped(doc)
    vars(record).update(found, skipped=False)
    record.selected = None if record.selected is None else tuple(record.selected)  # a log has lists
    return record


def _skipped_in(records: Sequence[Record]) -> Iterator[Record]:
    """The variants that early stopping skipped: those of decided questions without an answer."""
    settled = decided((vars(record), record.correct) for record in records)
    present = {(record.question_id, record.ordinal) for record in records}
    for record in records:
        for number in range(record.variants) if record.original and record.question_id in settled else ():
            if (record.question_id, number) not in present:
                yield skipped({**vars(record), "ordinal": number, "original": False})


@scorer(metrics=[by_question()])  # type: ignore[untyped-decorator]
def answers(reader: Reader = "flexible") -> Scorer:
    """Read a response as the tasks of the harness do."""

    async def score(state: TaskState, target: Target) -> Score | None:
        ours = state.metadata[OURS]
        if ours["stop"] not in (None, reader):
            raise _refusal(f"-S reader={reader}: expected {ours['stop']}, whose answers decided where the run stopped")
        if not state.output.choices:  # the sample failed
            return None
        record = read_response(ours["doc"], [response_in(state.output)], CHECKER.verdict, reader=reader)
        return Score(
            value=NOANSWER if record.invalid else CORRECT if record.correct else INCORRECT,
            answer=record.said(letters=True) or None,
            explanation=str(record.reason or record.rule),
            metadata={"epoch": state.epoch, **{name: getattr(record, name) for name in _KEPT}},
        )

    return score
