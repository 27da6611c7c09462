"""From responses to Records, and from Records to metrics and a signature. Nothing raises after the inference."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from logging import INFO, WARNING
from math import isnan
from operator import is_
from typing import Any

from lm_eval_cora import metrics
from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.equivalence import CHECKER, settle
from lm_eval_cora.answers.plain import after_reasoning, is_reasoning
from lm_eval_cora.answers.records import (
    OPENING_MARK,
    SKIPPED,
    Record,
    Response,
    Skipped,
    answer_in,
    read_response,
    response_of,
    skipped,
)
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness import notices
from lm_eval_cora.harness.compat import SampleRow, Undefined
from lm_eval_cora.harness.docs import Doc
from lm_eval_cora.harness.rounds import AnsweredVariant
from lm_eval_cora.log import logger
from lm_eval_cora.metrics.entries import Entry, compute, note_on_unvaried
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, for_json
from lm_eval_cora.metrics.kinds import note_on_few_clusters
from lm_eval_cora.metrics.noise import describe_noise
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import is_encodable
from lm_eval_cora.variants.variant import REPEAT

_FIRST = 50  # answers after which the log says what is wrong with them


def score_response(doc: Doc, results: Sequence[Any], reader: Reader = "flexible") -> Record:
    """Read a response and return its Record."""
    return read_response(doc, results, CHECKER.verdict, reader=reader)


def metric_keys(names: Iterable[str]) -> list[str]:
    """The keys of a scored variant: each metric, followed by its standard error."""
    return [key for name in names for key in (name, f"{name}_stderr")]


def spread(record: Record, keys: Sequence[str]) -> SampleRow:
    """Put a Record under each key."""
    # Some keys describe a single variant and are written to the samples file, see `Record.logged`. The file also gets
    # the `rule` that read the answer, `cut_off` if the token limit ended the response, `opened` if it begins inside
    # reasoning, and what `came` instead of text.
    known = {name: getattr(record, name) for name in ("rule", "cut_off", "opened", "came")}
    row = {key: value for key, value in record.logged.items() if key in keys}
    return SampleRow(row | {name: value for name, value in known.items() if value}, keys, record)


def encodable(response: Any) -> Any:
    """Make a response encodable as UTF-8: half of an emoji that a token limit cut in two becomes an escape."""
    # A response with the text of a skipped one gets a space at its end.
    if isinstance(response, Skipped) or not isinstance(response, str):
        return response
    if isinstance(response, Response):
        return response.saying(encodable(str(response)))
    if response == SKIPPED:  # a model wrote it
        return f"{response} "
    return response if is_encodable(response) else response.encode("utf-8", "backslashreplace").decode("utf-8")


class Scoring:
    """The answers to a task, and the metrics computed from them."""

    def __init__(
        self, task: str, score: Callable[..., Record], reader: Reader, filters: Sequence[Any], *, writes: bool
    ) -> None:
        """Prepare the scoring of a task; `writes` if answers are compared with references and with each other."""
        self.task, self.filters = task, filters
        self._score, self._reader, self._writes = score, reader, writes
        self.entries: Sequence[Entry] = ()  # the metrics of the harness' table
        self.study: Sequence[Entry] = ()  # the metrics that only the results file has
        self.seed: int | None = None  # of a run that ended when its requirements were certain, after `--until`
        self.ranks = 1  # number of processes that score at the same time
        self.conditions = notices.Conditions(chat=False, reader=reader)
        self.records: Sequence[Record] = ()  # of the current table
        self.table = ResponseTable.from_records(())
        self._estimates: dict[str, Estimate] = {}
        self._keys: list[str] = []

    def print_only(self, entries: Sequence[Entry], study: Sequence[Entry] = ()) -> None:
        """Set the metrics of the harness' table and of the results file."""
        self.entries, self.study = entries, study
        self._keys = metric_keys(entry["metric"] for entry in entries)

    def check(self, doc: Doc) -> None:
        """Score an empty response to a doc, because a task file may have its own `process_results`."""
        try:
            record: Any = self._record(doc, [""])
        except Exception as error:
            record = error
        if not isinstance(record, Record):
            raise UserError(f"{self.task}: process_results: expected a Record for an empty response, got {record!r}")

    def attempt(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute something from the answers, or return None: a bug of ours must not lose hours of inference."""
        try:
            return function(*arguments)
        except Exception:
            logger.exception("%s: %s could not be computed; please report this", self.task, name)
            return None

    # ---- responses
    def _record(self, doc: Doc, results: Sequence[Any]) -> Record:
        """The Record of a variant. A user's own `process_results` gets no reader."""
        if self._score is score_response:
            return score_response(doc, results, self._reader)
        return self._score(doc, results)

    def filter(self, instances: Sequence[Any]) -> None:
        """Filter the responses, except skipped ones, on which a user's own filter may fail."""
        left_out = [one for one in instances if _is_skipped(one.resps)]
        asked = [one for one in instances if not _is_skipped(one.resps)]
        for ensemble in self.filters:
            if asked:
                ensemble.apply(asked)
            for instance in asked:
                _describe(instance, ensemble.name)
            for instance in left_out:
                instance.filtered_resps[ensemble.name] = SKIPPED

    def row(self, doc: Doc, results: Sequence[Any]) -> SampleRow:
        """Score a variant, and put its Record under every metric."""
        return spread(skipped(doc) if _is_skipped(results) else self._record(doc, results), self._keys)

    def score_early(self, answered: Sequence[AnsweredVariant]) -> list[bool | None]:
        """Whether each variant is right, as in the final score; None if unknown."""
        records = self.attempt("an answer", self._read, answered)
        return [record.correct for record in records] if records else [None] * len(answered)

    def advise_early(self, requests: Iterable[Any], annotate: Callable[..., Any]) -> Callable[..., None]:
        """Return a function that gets each answer, and reports what is wrong with the first ones."""
        # A server may get a list of messages.
        asked = {request.args[0]: request for request in requests if isinstance(request.args[0], Hashable)}
        first: list[AnsweredVariant] = []

        def take(method: str, arguments: Sequence[Any], response: Any) -> None:
            request = asked.get(arguments[0]) if isinstance(arguments[0], Hashable) else None
            if request is not None and request.args == tuple(arguments):  # not with a lower token limit
                first.append(([request], [annotate(request, response)]))
                if len(first) == _FIRST:
                    asked.clear()
                    self.attempt("the advice", self._advise, first)

        return take

    def _advise(self, answered: Sequence[AnsweredVariant]) -> None:
        for advice in notices.advise_on_invalid(self._read(answered), self.conditions):
            logger.warning("%s: after the first %d answers: %s", self.task, len(answered), advice)

    def _read(self, answered: Sequence[AnsweredVariant]) -> list[Record]:
        variants = [list(map(_copied, requests, responses)) for requests, responses in answered]
        copies = [request for requests in variants for request in requests]
        self.filter(copies)
        self.compare(copies)
        name = self.filters[0].name
        return [
            self._record(requests[0].doc, [request.filtered_resps[name] for request in requests])
            for requests in variants
        ]

    def is_final(self, request: Any, response: str) -> bool:
        """Whether more text after a response could not change its answer, for each filter."""
        return bool(self.attempt("an answer", self._is_final, request, response))

    def _is_final(self, request: Any, response: str) -> bool:
        if self._score is not score_response:
            return False
        self.filter([copy := _copied(request, response)])
        filtered = [response_of([text]) for text in copy.filtered_resps.values()]
        return all(answer_in(copy.doc, text, self._reader).settled for text in filtered)

    def compare(self, instances: Sequence[Any]) -> None:
        """Compare written answers with references and each other together, before each one is scored."""
        if self._writes:
            references = ((one.doc["question_id"], one.doc["answer"]) for one in instances)
            written = (
                (one.doc["question_id"], answer_in(one.doc, response_of([response]), self._reader).written)
                for one in instances
                for response in one.filtered_resps.values()
            )
            settle(chain(references, written), ranks=self.ranks)

    # ---- metrics
    def value(self, name: str, records: Sequence[Record]) -> float | Undefined:
        """Aggregate a metric."""
        value = self._estimate(name, records).value
        return Undefined() if isnan(value) else value

    def stderr(self, name: str, records: Sequence[Record]) -> float | str:
        """Aggregate the standard error of a metric."""
        stderr = self._estimate(name, records).stderr
        return "N/A" if isnan(stderr) else stderr

    def _estimate(self, name: str, records: Sequence[Record]) -> Estimate:
        return self.attempt(name, self._computed, name, records) or UNDEFINED

    def _computed(self, name: str, records: Sequence[Record]) -> Estimate:
        if len(records) != len(self.records) or not all(map(is_, records, self.records)):
            self._regroup(records)  # not those of the previous metric
        return self._estimate_of(next(entry for entry in self.entries if entry["metric"] == name))

    def _estimate_of(self, entry: Entry) -> Estimate:
        name = entry["metric"]
        if name not in self._estimates:
            self._estimates[name] = compute(entry, self.table, seed=self.seed)
        return self._estimates[name]

    def _regroup(self, records: Sequence[Record]) -> None:
        if self._writes:  # all ranks send their answers here, and wait
            settle((record.question_id, record.written) for record in records)
        table = ResponseTable.from_records(records, CHECKER.verdict)
        self.records, self.table, self._estimates = records, table, {}
        for level, notice in self._notices():
            if notice:
                logger.log(level, "%s: %s", self.task, notice)

    def _notices(self) -> Iterator[tuple[int, str]]:
        """What the log says about the answers, with the level of each message; some are empty."""
        table = self.table
        yield INFO, notices.describe_not_begun(table, is_certain=self.seed is not None)
        yield WARNING, notices.describe_incomplete(table)
        if ended := len(table.ran_out):
            how = "ran out of time or memory and count as not equivalent; see `timeouts`"
            yield WARNING, f"{ended:,} comparisons of answers {how}"
        yield WARNING, note_on_unvaried(self.entries, table)
        yield WARNING, "" if self.seed is not None else note_on_few_clusters(table)
        yield INFO, describe_noise(table)
        yield WARNING, notices.describe_mass(table)
        if table.question_ids:
            asked = [record for record in self.records if not record.skipped and record.kind != REPEAT]
            yield WARNING, notices.describe_blocked(asked)
            for advice in notices.advise_on_invalid(asked, self.conditions):
                yield WARNING, advice

    def summary(self, *, followed: bool) -> dict[str, Any]:
        """What the results file contains besides the metrics of the table: intervals, kinds and further metrics."""
        if not self.records or len(self.filters) > 1:  # with several filters the table is the last one's
            return {}
        summary: dict[str, Any] = {"intervals": self.attempt("the intervals", self._intervals)}
        if self.table.is_whole:
            by_kinds: list[Callable[..., Any]] = [metrics.accuracy_by_kind, metrics.invalid_by_kind]
            if followed:
                by_kinds.append(metrics.followed_by_kind)
            for by_kind in by_kinds:
                summary[by_kind.__name__] = self.attempt(by_kind.__name__, by_kind, self.table)
            for entry in self.study:
                value = self.attempt(entry["metric"], lambda entry: for_json(compute(entry, self.table)), entry)
                summary.setdefault("study", {})[entry["metric"]] = value
        return summary

    def _intervals(self) -> dict[str, tuple[float, float]]:
        """The 95% confidence interval of each metric of the table that has one."""
        found = {entry["metric"]: self._estimate_of(entry).interval for entry in self.entries}
        return {name: (low, high) for name, (low, high) in found.items() if not isnan(low)}


def _is_skipped(responses: Sequence[Any]) -> bool:
    return bool(responses) and isinstance(responses[0], Skipped)


def _copied(request: Any, response: Any) -> Any:
    return replace(request, resps=[encodable(response)], filtered_resps={})


def _describe(instance: Any, name: str) -> None:
    """Attach to the text that a filter made what is known about the response."""
    response, filtered = response_of(instance.resps), instance.filtered_resps[name]
    if isinstance(response, Response) and isinstance(filtered, str) and not isinstance(filtered, Response):
        opened = response.opened and is_reasoning(after_reasoning(OPENING_MARK + response))
        instance.filtered_resps[name] = Response(filtered, cut_off=response.cut_off, opened=opened, came=response.came)


# ---- values for the results file
def name_callables(value: Any) -> Any:
    """Replace callables by their dotted names: the harness would write their source code.

    Example:
        >>> name_callables({"aggregation": name_callables})
        {'aggregation': 'lm_eval_cora.harness.scoring.name_callables'}
    """
    if isinstance(value, dict):
        return {key: name_callables(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [name_callables(item) for item in value]
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else repr(value)
    return value
