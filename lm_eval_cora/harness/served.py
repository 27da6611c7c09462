"""Back ends that ask a server: requests are sent again when they fail, and a run survives what one of them costs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import nan
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.models import api_models

# Below the harness' own logger, so that its handler and its verbosity hold for our lines too.
logger = logging.getLogger("lm_eval.cora")

DELAYS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before a request is sent again: a minute in all. With more `max_retries` the last one is repeated."""

_EMPTY_AT_MOST = 3
"""So often is a request sent whose response holds no choices; then it counts as empty."""

_HOPELESS = 10
"""So many requests failed for good one after the other, and the server is not asked again."""

_WORTH_A_RETRY = (408, 409, 425, 429)
"""Status codes from 400 to 499 that may be others a moment later."""

_EXCERPT = 200
"""Characters of what a server said that an error shows."""


class NoAnswer(str):
    """An empty response from a server that sent no text. It counts as empty, and a later run asks again."""

    __slots__ = ()


class ServerError(Exception):
    """Requests to a server that failed, all told in one sentence."""


class _MalformedError(Exception):
    """A response that is not what the API documents."""


class _NoChoicesError(Exception):
    """A response without a choice for each prompt."""


@dataclass
class Tally:
    """How requests to a server came out.

    Attributes:
        answered: Number of requests that got a response.
        failed: For each kind of failure, how many requests failed for good.
        unsent: Number of requests that were not sent, because the server had stopped answering.
        in_a_row: How many failed for good since the last one that was answered.
        said: What the server said last about a failure.
    """

    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unsent: int = 0
    in_a_row: int = 0
    said: str = ""

    @property
    def gave_up(self) -> bool:
        """Whether the server is not asked any more."""
        return self.in_a_row >= _HOPELESS

    def describe(self) -> str:
        """What failed, in one sentence.

        Example:
            >>> Tally(answered=95, failed=Counter({"status 500": 5}), said="out of memory").describe()
            '5.0% of the requests failed: status 500 (5 of 100). The server said: out of memory'
        """
        total = self.answered + self.failed.total()
        kinds = ", ".join(f"{kind} ({count:,} of {total:,})" for kind, count in self.failed.most_common())
        unsent = f"; {self.unsent:,} more were not sent" if self.unsent else ""
        said = f". The server said: {self.said}" if self.said else ""
        return f"{self.failed.total() / max(1, total):.1%} of the requests failed: {kinds}{unsent}{said}"


def patient(back_end: type) -> type:
    """A back end that sends requests again for at least a minute, and raises only after all others are answered.

    Args:
        back_end: A class of the harness that sends requests to a server.

    Returns:
        A subclass with its name.
    """
    return type(back_end.__name__, (_Patient, back_end), {"__module__": back_end.__module__})


class _Patient:
    """What stands before a back end of the harness, as a base class.

    The harness raises where a request failed a few times, which ends the run and loses those that are under way. Here a
    request that failed for good is counted, the others go on, and `ServerError` is raised at the end. The server is
    given up when nothing is answered any more.

    Attributes:
        tally: How the requests came out.
        attempts: How often a request is sent at most.
    """

    tally: Tally
    attempts: int

    def __init__(self, *arguments: Any, max_retries: int = len(DELAYS) + 1, **named: Any) -> None:
        super().__init__(*arguments, max_retries=max_retries, **named)  # type: ignore[call-arg]
        self.tally = Tally()
        self._told: set[str] = set()
        self.attempts = max(1, int(max_retries))
        self.max_retries = 1  # of the harness, around ours

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Have answers written.

        Raises:
            ServerError: If a request failed for good.
        """
        return self._all_answered(super().generate_until, requests, disable_tqdm)  # type: ignore[misc]

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Have answers scored.

        Raises:
            ServerError: If a request failed for good.
        """
        return self._all_answered(super().loglikelihood, requests, disable_tqdm)  # type: ignore[misc]

    def _all_answered(self, ask: Callable[..., Any], requests: Sequence[Instance], disable_tqdm: bool) -> list[Any]:
        failed_before = self.tally.failed.total()
        with _bars_of_the_harness(hidden=disable_tqdm), _heard(self.tally):
            responses = list(ask(requests))
        if self.tally.failed.total() > failed_before:
            raise self._error()
        return responses

    # ---- one request

    async def amodel_call(self, *arguments: Any, **named: Any) -> list[Any]:
        """Send a request, one of many under way; answers that are missing in the end are None."""
        size, is_text = len(named["messages"]), named.get("generate", True)
        for number in range(self.attempts):
            if self.tally.gave_up:
                self.tally.unsent += 1
                return [None] * size
            try:
                answers: list[Any] = await super().amodel_call(*arguments, **named)  # type: ignore[misc]
                if len(answers) < size:
                    raise _NoChoicesError
            except Exception as error:
                delay = self._delay(error, number)
                if delay is not None:
                    await asyncio.sleep(delay)
                    continue
                if not isinstance(error, _NoChoicesError):
                    return [None] * size  # `generate_until` raises when the others are answered
                answers = [NoAnswer() if is_text else (nan, False)] * size
            self._note_answer()
            return answers
        raise AssertionError("the last attempt returns")

    def model_call(self, *arguments: Any, **named: Any) -> Any:
        """Send a request, the only one under way.

        Raises:
            ServerError: If it failed for good.
        """
        size, is_text = len(named["messages"]), named.get("generate", True)
        for number in range(self.attempts):
            try:
                outputs = super().model_call(*arguments, **named)  # type: ignore[misc]
                _check(outputs)
                if is_text and len(self.parse_generations(outputs=outputs)) < size:
                    raise _NoChoicesError
                if isinstance(outputs, dict) and outputs.get("choices") == []:
                    raise _NoChoicesError
            except Exception as error:
                delay = self._delay(error, number)
                if delay is not None:
                    time.sleep(delay)
                    continue
                if not isinstance(error, _NoChoicesError):
                    raise self._error() from error
                outputs = _Nothing(size)
            self._note_answer()
            return outputs
        raise AssertionError("the last attempt returns or raises")

    def parse_generations(self, outputs: Any, **named: Any) -> list[Any]:
        """The texts of a response; `NoAnswer` where there is none."""
        if isinstance(outputs, _Nothing):
            return [NoAnswer()] * outputs.size
        _check(outputs)
        texts = super().parse_generations(outputs=outputs, **named)  # type: ignore[misc]
        return [NoAnswer() if text is None else text for text in texts]

    def parse_logprobs(self, outputs: Any, **named: Any) -> list[tuple[float, bool]]:
        """The likelihoods of a response; nan where there is none."""
        if any(isinstance(output, _Nothing) for output in (outputs if isinstance(outputs, list) else [outputs])):
            return [(nan, False)] * len(named["ctxlens"])
        _check(outputs)
        scores: list[tuple[float, bool]] = super().parse_logprobs(outputs=outputs, **named)  # type: ignore[misc]
        return scores

    def _note_answer(self) -> None:
        self.tally.answered += 1
        self.tally.in_a_row = 0

    def _error(self) -> ServerError:
        return ServerError(f"{self.base_url}: {self.tally.describe()}")  # type: ignore[attr-defined]

    def _delay(self, error: Exception, number: int) -> float | None:
        """Seconds until a request is sent again; None if that was the last attempt.

        Args:
            error: Why it failed.
            number: How often it was sent before.

        Raises:
            Exception: The error itself, if it is not about the server.
        """
        kind, again = kind_of(error)
        if not kind:
            raise error
        at_most = min(self.attempts, _EMPTY_AT_MOST) if isinstance(error, _NoChoicesError) else self.attempts
        if again and number + 1 < at_most:
            if kind not in self._told:
                self._told.add(kind)
                logger.warning("a request failed: %s. Such requests are sent again, up to %d times", kind, at_most - 1)
            return DELAYS[min(number, len(DELAYS) - 1)]
        if not isinstance(error, _NoChoicesError):
            self.tally.failed[kind] += 1
            self.tally.in_a_row += _HOPELESS if kind == UNREACHABLE else 1
        return None


class _Nothing(dict[str, Any]):
    """What the harness is handed where a response held no choices."""

    def __init__(self, size: int) -> None:
        super().__init__(choices=[])
        self.size = size


def _check(outputs: Any) -> None:
    """See that a response has answers at all; some servers send errors with status 200.

    Raises:
        _MalformedError: If it has none.
    """
    if isinstance(outputs, dict) and (outputs.get("error") or not {"choices", "content", "text"} & outputs.keys()):
        raise _MalformedError(str(outputs.get("error", outputs)))


UNREACHABLE = "no connection to the server"
MALFORMED = "a response that is not what the API documents"


def kind_of(error: BaseException) -> tuple[str, bool]:
    """What kind of failure an error is, and whether the request may succeed later.

    Args:
        error: From sending a request.

    Returns:
        The kind, empty if it is not about the server.

    Example:
        >>> kind_of(TimeoutError()), kind_of(ConnectionRefusedError()), kind_of(AssertionError())
        (('a timeout', True), ('no connection to the server', True), ('', False))
    """
    status = getattr(error, "status", None) or getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        return f"status {status}", not 400 <= status < 500 or status in _WORTH_A_RETRY
    if isinstance(error, _NoChoicesError):
        return "an empty list of choices", True
    names = {base.__name__ for base in type(error).__mro__}
    if names & {"TimeoutError", "Timeout"}:
        return "a timeout", True
    if names & {"ClientConnectionError", "ConnectionError"}:
        return UNREACHABLE, True
    if names & {"_MalformedError", "KeyError", "IndexError", "TypeError", "JSONDecodeError", "ClientError", "OSError"}:
        return MALFORMED, True
    return "", False


# ---- what the harness prints meanwhile


@contextmanager
def _heard(tally: Tally) -> Iterator[None]:
    """Keep what a server says about failures, instead of the harness' lines about each of them."""

    def hear(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if message.startswith("API request failed"):
            for lead in ("Response text: ", "error message: "):
                if lead in message:
                    said = message.partition(lead)[2].removesuffix(" Retrying...").removesuffix(".").strip()
                    tally.said = " ".join(said.split())[:_EXCERPT]
            return False
        return not message.startswith(("Exception:", "API returned null content", "Could not parse generations"))

    log = logging.getLogger(api_models.__name__)
    log.addFilter(hear)
    try:
        yield
    finally:
        log.removeFilter(hear)


class _NoBars:
    """The harness' way to wait for many requests, without a progress bar."""

    @staticmethod
    async def gather(*tasks: Any, desc: str = "") -> list[Any]:
        return list(await asyncio.gather(*tasks))


@contextmanager
def _bars_of_the_harness(*, hidden: bool) -> Iterator[None]:
    """Hide the progress bars of the harness' API models: they have no switch."""
    if not hidden:
        yield
        return
    own = api_models.tqdm, api_models.tqdm_asyncio
    api_models.tqdm, api_models.tqdm_asyncio = partial(api_models.tqdm, disable=True), _NoBars
    try:
        yield
    finally:
        api_models.tqdm, api_models.tqdm_asyncio = own
