"""Scoring and early-stopping hooks of CoraTask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from operator import is_
from typing import Any

from lm_eval.api.task import ConfigurableTask

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.equivalence import EquivalenceChecker
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.plain import after_reasoning, is_reasoning
from lm_eval_cora.answers.records import (
    OPENING_MARK,
    SKIPPED,
    Record,
    Response,
    Skipped,
    is_settled,
    read_response,
    response_of,
    skipped,
    written_answer,
)
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.compat import (
    RecordCell,
    RecordScore,
    SampleRow,
    Undefined,
    filters_of,
    model_of_the_run,
    samples_are_logged,
    slim,
)
from lm_eval_cora.harness.docs import Doc
from lm_eval_cora.harness.forwarding import behind
from lm_eval_cora.harness.limits import known
from lm_eval_cora.harness.notices import (
    Conditions,
    advise_on_invalid,
    describe_incomplete,
    describe_not_begun,
    describe_samples,
    describe_timeouts,
    describe_whole,
)
from lm_eval_cora.harness.questions import Requests
from lm_eval_cora.harness.requests import encodable
from lm_eval_cora.harness.rounds import Planned
from lm_eval_cora.log import logger
from lm_eval_cora.metrics.entries import compute
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.stopping import saves_requests
from lm_eval_cora.metrics.two_phase import phases_of
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.randomness import draw
from lm_eval_cora.variants.probes import Probe

CHECKER = EquivalenceChecker()
"""Compares written answers for all tasks of the process. Each pair is compared once."""


def score_response(doc: Doc, results: Sequence[Any], reader: Reader = "flexible") -> Record:
    """Read a response and return its Record."""
    return read_response(doc, results, CHECKER.verdict, reader=reader)


def written_by_question(records: Iterable[Record]) -> dict[str, list[str]]:
    """Group written answers by the id of their question. They are compared with each other."""
    written: dict[str, list[str]] = {}
    for record in records:
        if record.written is not None:
            written.setdefault(record.question_id, []).append(record.written)
    return written


def metric_keys(metrics: Iterable[str]) -> list[str]:
    """The keys of a scored variant: each metric, followed by its standard error."""
    return [key for metric in metrics for key in (metric, f"{metric}_stderr")]


def spread(record: Record, keys: Sequence[str]) -> SampleRow:
    """Put a Record under each key.

    Four keys describe a single variant and are written to the samples file: `acc` is the score, `consistency_rate` (or
    else `sc@original`) is the identity of the option that was picked, or yes or no, `invalid` is the reason, and `ties`
    marks a tie. The samples file also gets the `rule` that read the answer, `cut_off` if the token limit ended the
    response, `opened` if it begins inside reasoning, and what `came` instead of text.
    """
    said = "consistency_rate" if "consistency_rate" in keys else "sc@original"
    empty = RecordCell(record)
    row: dict[str, RecordScore | RecordCell] = {key: empty for key in ("acc", said, "invalid", "ties") if key in keys}
    if "acc" in row:
        row["acc"] = RecordScore.of(record) if not record.skipped else RecordCell(record, "skipped")
    if said in row and not record.skipped and not record.invalid:
        row[said] = RecordCell(record, FORMATS[record.ask].said(record, letters=False) or "")
    if "invalid" in row and record.reason is not None:
        row["invalid"] = RecordCell(record, record.reason.value)
    if "ties" in row and record.tied:
        row["ties"] = RecordCell(record, "tied")
    known = {name: getattr(record, name) for name in ("rule", "cut_off", "opened", "came")}
    return SampleRow({**row, **{name: value for name, value in known.items() if value}}, keys, empty)


class ScoredTask(ConfigurableTask):  # type: ignore[misc]  # the harness ships no types
    """A task whose `process_results` returns a Record. Nothing raises after the inference.

    Attributes:
        probe: The probe that makes the variants.
        _samples: Whether the answers to a question are samples for the same prompt.
        _sends_seeds: Whether each sample is sent with a different seed.
        _writes: Whether the model writes its own answer, which is compared with a reference.
        _keys: The names of the values that `process_results` returns: metrics and standard errors.
        _entries: The metrics of this form and this benchmark.
        _selected: The docs that are asked on all ranks together, by their number.
        _left_out: The options that decide which requests are sent; empty if all are.
        _options: The options of the task.
        _chat: Whether a chat template is applied, by the harness or by a server.
        _records: The Records of the current table.
        _table: The table of all answers.
        _estimates: The metrics computed from the table.
    """

    probe: Probe
    _samples: bool
    _sends_seeds: bool
    _writes: bool
    _keys: list[str]
    _entries: list[Mapping[str, Any]]
    _selected: dict[int, Doc]
    _left_out: dict[str, object]
    _options: Options
    _chat: bool
    _records: Sequence[Record]
    _table: ResponseTable
    _estimates: dict[str, Estimate]

    def _check_scoring(self) -> None:
        """Score an empty response to the first doc, because a task file may have its own `process_results`."""
        try:
            record: Any = self._score(self.task_docs[0], [""])
        except Exception as error:
            record = error
        if not isinstance(record, Record):
            raise UserError(
                f"{self.task_name}: process_results: expected a Record for an empty response, got {record!r}"
            )

    def _score(self, doc: Doc, results: Sequence[Any]) -> Record:
        """The Record of a variant. A user's own `process_results` gets no reader."""
        score: Callable[..., Record] = self.config.process_results
        return score(doc, results, self._options.reader) if score is score_response else score(doc, results)

    @property
    def reads_answers(self) -> bool:
        """Whether the option `reader` applies. After --predict_only, a report reads the answers."""
        score = self.config.process_results
        return score is score_response if callable(score) else self.OUTPUT_TYPE == "generate_until"

    @property
    def can_stop(self) -> bool:
        """Whether a question may end with its first wrong answer, without changes to CoRA, CI or BMCA(1.0)."""
        return saves_requests(self._entries)

    def answers_scored(self, doc: Doc) -> int:
        """The number of answers to a variant that the model scores; 1 if the answer is written."""
        return len(self.doc_to_choice(doc)) if self.OUTPUT_TYPE == "multiple_choice" else 1

    def agenda(self) -> list[Planned]:
        """The questions of all ranks in random order. The first n are those of the option `questions: n`."""
        costs: dict[str, int] = {}
        for doc in self._selected.values():
            costs[doc["question_id"]] = costs.get(doc["question_id"], 0) + self.answers_scored(doc)
        ranked = sorted(costs, key=lambda question: draw(2**64, self._options.seed, "questions", question))
        return [Planned(self.task_name, question, costs[question]) for question in ranked]

    def score_early(self, answered: Sequence[tuple[Requests, Sequence[Any]]]) -> list[bool | None]:
        """Score variants during the run, with the same result as at its end."""
        verdicts: list[bool | None] | None = self._attempt("an answer", partial(self._score_early, answered))
        return [None] * len(answered) if verdicts is None else verdicts

    def is_settled(self, request: Any, response: str) -> bool:
        """Whether more text after a response could not change its answer, for each filter."""
        return bool(self._attempt("an answer", partial(self._is_settled, request, response)))

    def _is_settled(self, request: Any, response: str) -> bool:
        if self.config.process_results is not score_response:
            return False
        copy = replace(request, resps=[encodable(response)], filtered_resps={})
        self._filter([copy])
        return all(
            is_settled(copy.doc, filtered, self._options.reader)
            for filtered in (response_of([found]) for found in copy.filtered_resps.values())
        )

    def _score_early(self, answered: Sequence[tuple[Requests, Sequence[Any]]]) -> list[bool | None]:
        variants = [
            [
                replace(request, resps=[encodable(response)], filtered_resps={})
                for request, response in zip(requests, responses, strict=True)
            ]
            for requests, responses in answered
        ]
        copies = [request for requests in variants for request in requests]
        self._filter(copies)
        (ensemble,) = filters_of(self)
        if self._writes:
            self._compare_answers(copies)
        return [
            self._score(requests[0].doc, [request.filtered_resps[ensemble.name] for request in requests]).correct
            for requests in variants
        ]

    def apply_filters(self) -> None:
        """Filter the responses, after making each one encodable as UTF-8.

        A lone surrogate (half of an emoji that a token limit cut in two) cannot be written to the samples file.
        """
        model = behind(model_of_the_run())
        for instance in self.instances:
            instance.resps = [self._known(model, instance, response) for response in instance.resps]
        self._attempt("freeing memory", partial(slim, self.instances, prompts=not samples_are_logged()))
        self._filter(self.instances)
        if self._samples and (
            notice := self._attempt(
                "the check of the samples", partial(describe_samples, self.instances, sent_seeds=self._sends_seeds)
            )
        ):
            logger.warning("%s: %s", self.task_name, notice)
        if self._writes and callable(self.config.process_results):  # not --predict_only
            self._attempt("comparing answers", partial(self._compare_answers, self.instances))

    def _known(self, model: Any, request: Any, response: Any) -> Any:
        """A response that can be written to a file, with what is known about it."""
        is_text = self.OUTPUT_TYPE == "generate_until"
        return encodable(known(model, request, response) if is_text else response)

    def _filter(self, instances: Sequence[Any]) -> None:
        """Filter the responses, except skipped ones, on which a user's own filter may fail."""
        missing = [bool(instance.resps) and isinstance(instance.resps[0], Skipped) for instance in instances]
        asked = [instance for instance, absent in zip(instances, missing, strict=True) if not absent]
        for ensemble in filters_of(self):
            if asked:
                ensemble.apply(asked)
            for instance in asked:
                _describe(instance, ensemble.name)
            for instance in (one for one, absent in zip(instances, missing, strict=True) if absent):
                instance.filtered_resps[ensemble.name] = SKIPPED

    def _compare_answers(self, instances: Sequence[Any]) -> None:
        """Compare written answers with references and each other together, before each one is scored."""
        written: dict[str, set[str]] = {}
        for instance in instances:
            for response in instance.filtered_resps.values():
                if (text := written_answer(instance.doc, [response], self._options.reader)) is not None:
                    written.setdefault(instance.doc["question_id"], {instance.doc["answer"]}).add(text)
        CHECKER.settle_within(written.values())

    def process_results(self, doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
        """Score one variant, and put its Record under every metric."""
        if not callable(self.config.process_results):  # --predict_only
            outcome: dict[str, Any] = super().process_results(doc, results)
            return outcome
        missing = bool(results) and isinstance(results[0], Skipped)
        return spread(skipped(doc) if missing else self._score(doc, results), self._keys)

    def aggregation(self) -> dict[str, Callable[..., Any]]:
        """Two aggregations of Records per metric: its value, and its standard error under `<metric>_stderr`."""
        functions: dict[str, Callable[..., Any]] = super().aggregation()
        if not callable(self.config.process_results):  # --predict_only
            return functions
        return {
            **{name: partial(self._value, name) for name in functions},
            **{f"{name}_stderr": partial(self._stderr, name) for name in functions},
        }

    def _value(self, name: str, items: Sequence[RecordScore | RecordCell]) -> float | Undefined:
        value = self._estimate(name, items).value
        return Undefined() if isnan(value) else value

    def _stderr(self, name: str, items: Sequence[RecordScore | RecordCell]) -> float | str:
        stderr = self._estimate(name, items).stderr
        return "N/A" if isnan(stderr) else stderr

    def _estimate(self, name: str, items: Sequence[RecordScore | RecordCell]) -> Estimate:
        return self._attempt(name, partial(self._computed, name, items)) or UNDEFINED

    def _computed(self, name: str, items: Sequence[RecordScore | RecordCell]) -> Estimate:
        self._regroup([item.record for item in items])
        if name not in self._estimates:
            entry = next(entry for entry in self.config.metric_list if entry["metric"] == name)
            self._estimates[name] = self._compute(entry)
        return self._estimates[name]

    def _compute(self, entry: Mapping[str, Any]) -> Estimate:
        """Compute a metric of the table; after `--target whole:E` an estimate for all questions."""
        found: Estimate = compute(entry, self._table, whole="target" in self._left_out)
        return found

    def _regroup(self, records: Sequence[Record]) -> None:
        """Build the table, unless it was built from these Records for the previous metric."""
        if len(records) == len(self._records) and all(map(is_, records, self._records)):
            return
        if self._writes:  # all ranks send their answers here, and wait
            CHECKER.share = 1
            CHECKER.settle_within(written_by_question(records).values())
        table = ResponseTable.from_records(records, CHECKER.verdict)
        self._records, self._table, self._estimates = records, table, {}
        asked = [record for record in records if not record.skipped]
        advice = advise_on_invalid(asked, self._setting) if self._table.question_ids else []
        whole = "target" in self._left_out
        if notice := describe_whole(phases_of(table)) if whole else describe_not_begun(table):
            logger.info("%s: %s", self.task_name, notice)
        for notice in (describe_incomplete(self._table), describe_timeouts(self._table), *advice):
            if notice:
                logger.warning("%s: %s", self.task_name, notice)

    @property
    def _setting(self) -> Conditions:
        limit = (self.config.generation_kwargs or {}).get("max_gen_toks")
        return Conditions(self._chat, self._options.reader, limit if isinstance(limit, int) else None)

    def _attempt(self, name: str, compute: Callable[[], Any]) -> Any:
        """Compute something from the answers, or return None: a bug of ours must not lose hours of inference."""
        try:
            return compute()
        except Exception:
            logger.exception("%s: %s could not be computed; please report this", self.task_name, name)
            return None


def _describe(instance: Any, name: str) -> None:
    """Attach to the text that a filter made what is known about the response."""
    response, filtered = response_of(instance.resps), instance.filtered_resps[name]
    if isinstance(response, Response) and isinstance(filtered, str) and not isinstance(filtered, Response):
        opened = response.opened and is_reasoning(after_reasoning(OPENING_MARK + response))
        instance.filtered_resps[name] = Response(filtered, cut_off=response.cut_off, opened=opened, came=response.came)
