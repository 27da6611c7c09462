"""Back ends that use a server: failed requests are sent again, and one that fails for good does not lose the others."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, partialmethod
from math import nan
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.models.api_models import TemplateAPI

from lm_eval_cora.answers.records import Response
from lm_eval_cora.harness.compat import collecting_server_messages, hidden_bars
from lm_eval_cora.log import logger
from lm_eval_cora.questions.messages import counted
from lm_eval_cora.questions.question import shorten

DELAYS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each retry, a minute in total. If `max_retries` is larger, the last delay is repeated."""

# No more requests are sent after this number of failed attempts in a row, over at least this number of seconds.
_HOPELESS, _PATIENCE = 10, 60.0
# Maximum number of attempts if the response has no choices. After that the answer counts as empty.
_EMPTY_AT_MOST = 3

# Of the status codes from 400 to 499, the first ones concern the server or the API key. The second ones concern one
# request, unless no request has been answered yet. After the third ones the same request may succeed later.
_REFUSED, _REFUSED_AT_FIRST, _WORTH_A_RETRY = (401, 403, 404), (400, 422), (408, 409, 425, 429)
UNREACHABLE, MALFORMED = "no connection to the server", "a response in an unexpected format"

WHAT_TO_DO = {
    UNREACHABLE: "Start the server, and check its address",
    **dict.fromkeys(("status 401", "status 403"), "Check the API key in the environment variable OPENAI_API_KEY"),
    "status 404": "Check the name of the model and the address of the server",
}
_ANOTHER_BACK_END = "Use --model openai-chat-completions, which sends max_completion_tokens"

_expected: ContextVar[int | None] = ContextVar("_expected", default=None)
"""Number of prompts in the request whose response is being parsed: the harness passes only the response to the parser.
Each asyncio task has its own value."""


class NoAnswer(Response):
    """The answer if a server sent no text. It counts as empty, and a later run asks again."""

    __slots__ = ()


class ServerError(Exception):
    """Failed requests to a server, described in one sentence."""

    def __init__(self, url: str, tally: FailureCount) -> None:
        super().__init__(f"{url}: {tally.describe()}")
        self.tally = tally


class MalformedError(Exception):
    """A response in a format that the API does not document."""


class NoChoicesError(Exception):
    """A response without a choice for each prompt."""


@dataclass
class FailureCount:
    """Counts of requests to a server. A request with several prompts counts once per prompt."""

    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)  # in all attempts, by kind of failure
    retried: int = 0
    unsent: int = 0  # because the server had stopped answering
    gave_up: bool = False
    last_message: str = ""  # the server's message about the last failure
    _attempts: int = 0
    _since: float = 0.0

    @property
    def lost(self) -> int:
        """Number of requests without an answer."""
        return self.failed.total() + self.unsent

    def note_answer(self, size: int) -> None:
        """Count a request that was answered."""
        self.answered += size
        self._attempts = 0

    def note_message(self, text: str) -> None:
        """Store the server's message about a failure."""
        self.last_message = shorten(text, 200)

    def note_attempt(self, now: float, patience: float = _PATIENCE) -> None:
        """Count a failed attempt, and give up after ten in a row over at least `patience` seconds."""
        self._since = self._since if self._attempts else now
        self._attempts += 1
        self.gave_up |= self._attempts >= _HOPELESS and now - self._since >= patience

    def describe(self) -> str:
        """Describe the failures in one sentence."""
        total = self.answered + self.failed.total()
        kinds = ", ".join(f"{kind} ({count:,} of {total:,})" for kind, count in self.failed.most_common())
        unsent = f"; {self.unsent:,} more were not sent" if self.unsent else ""
        return f"{self.failed.total() / max(1, total):.1%} of the requests failed: {kinds}{unsent}{self._quoted}"

    def describe_end(self) -> str:
        """Count the requests of a run, those that were sent again, and those without an answer."""
        sent = counted(self.answered + self.lost, "request")
        return f"{sent}; {self.retried or 'none'} retried, {self.lost or 'none'} failed"

    def describe_first(self) -> str:
        """Describe why the first request failed, and what to do."""
        (kind,) = self.failed
        sends_another = all(name in self.last_message for name in ("max_tokens", "max_completion_tokens"))
        hint = _ANOTHER_BACK_END if sends_another else WHAT_TO_DO.get(kind)
        return f"{kind}. {hint}{self._quoted}" if hint else f"{kind}{self._quoted}"

    @property
    def _quoted(self) -> str:
        return f". The server said: {self.last_message}" if self.last_message else ""


def status_of(error: BaseException) -> int | None:
    """The HTTP status code of an error, None if it has none. HTTP libraries store it under different names."""
    sources = (error, getattr(error, "response", None))
    found = [getattr(one, name, None) for one in sources for name in ("status", "status_code")]
    return next((code for code in found if isinstance(code, int)), None)


def kind_of(error: BaseException) -> tuple[str, bool]:
    """Classify an error from sending a request."""
    if isinstance(error, AssertionError | NotImplementedError):  # the harness refuses to send it
        return "", False
    if isinstance(error, NoChoicesError):
        return "an empty list of choices", True
    if (status := status_of(error)) is not None and status >= 400:
        return f"status {status}", status >= 500 or status in _WORTH_A_RETRY
    names = {base.__name__ for base in type(error).__mro__}
    if names & {"TimeoutError", "Timeout"}:
        return "a timeout", True
    if names & {"ClientConnectionError", "ConnectionError"}:
        return UNREACHABLE, True
    if status is not None or names & {"MalformedError", "KeyError", "IndexError", "TypeError", "ValueError"}:
        return MALFORMED, True
    return type(error).__name__, True


# ---- back ends
def patient(back_end: type) -> type:
    """Make a back end retry failed requests for a minute, and raise only after all others are answered."""
    return type(back_end.__name__, (_Patient, back_end), {"__module__": back_end.__module__})


class _Patient:
    """Mixin for a back end of the harness, which raises as soon as one request has failed a few times.

    That would lose all requests in progress. Here, a request that fails in all attempts is counted, and `ServerError`
    is raised after the others. If the server stops answering, the remaining requests are not sent.
    """

    def __init__(self, *arguments: Any, max_retries: int = len(DELAYS) + 1, **named: Any) -> None:
        super().__init__(*arguments, max_retries=max_retries, **named)  # type: ignore[call-arg]
        self.tally = FailureCount()
        self._reported: set[str] = set()
        self.attempts = max(1, int(max_retries))
        self.max_retries = 1  # disables the harness' own retries

    def _send(self, method: str, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Send requests, and raise at the end if some have no answer."""
        lost_before = self.tally.lost
        with hidden_bars() if disable_tqdm else nullcontext(), collecting_server_messages(self.tally.note_message):
            responses = list(getattr(super(), method)(requests))
        if self.tally.lost > lost_before:
            raise ServerError(self.base_url, self.tally)  # type: ignore[attr-defined]
        return responses

    generate_until = partialmethod(_send, "generate_until")
    loglikelihood = partialmethod(_send, "loglikelihood")
    loglikelihood_rolling = partialmethod(_send, "loglikelihood_rolling")

    # ---- one request
    async def amodel_call(self, *arguments: Any, sem: asyncio.Semaphore, **named: Any) -> list[Any]:
        """Send a request while others are in progress."""
        size, session = len(named["messages"]), named.get("session")
        _expected.set(size)
        for number in range(self.attempts):
            async with sem:
                # Ctrl-C closes the session.
                if self.tally.gave_up or getattr(session, "closed", False):
                    self.tally.unsent += size
                    break
                try:
                    own = asyncio.Semaphore(1)  # `sem` is held here, so that waiting requests see `gave_up`
                    answers: list[Any] = await super().amodel_call(*arguments, sem=own, **named)  # type: ignore[misc]
                    self.tally.note_answer(size)
                    return answers
                except Exception as error:
                    delay = self._delay(error, number, size)
            if delay is None:
                break
            await asyncio.sleep(delay)
        return [NoAnswer("") if named.get("generate", True) else (nan, False)] * size

    def model_call(self, *arguments: Any, **named: Any) -> Any:
        """Send a single request. A missing response is `_NoResponse`."""
        size = len(named["messages"])
        _expected.set(size)
        for number in range(self.attempts):
            if self.tally.gave_up:
                self.tally.unsent += size
                break
            try:
                outputs = super().model_call(*arguments, **named)  # type: ignore[misc]
                _check(outputs, size)
                self.tally.note_answer(size)
                return outputs
            except Exception as error:
                delay = self._delay(error, number, size)
            if delay is None:
                break
            time.sleep(delay)
        return _NoResponse(size)

    def parse_generations(self, outputs: Any, **named: Any) -> list[Any]:
        """The texts of a response; a missing text is `NoAnswer`."""
        if isinstance(outputs, _NoResponse):
            return [NoAnswer("")] * outputs.size
        expected = _expected.get()
        _check(outputs, expected)
        parse = super().parse_generations  # type: ignore[misc]
        responses = with_details(self, outputs, partial(parse, outputs=outputs, **named))
        if expected is not None and len(responses) != expected:
            raise NoChoicesError
        return responses

    def parse_logprobs(self, outputs: Any, **named: Any) -> list[tuple[float, bool]]:
        """The log-likelihoods in a response; a missing one is nan."""
        if any(isinstance(output, _NoResponse) for output in (outputs if isinstance(outputs, list) else [outputs])):
            return [(nan, False)] * len(named["ctxlens"])
        _check(outputs, len(named["ctxlens"]))
        scores: list[tuple[float, bool]] = super().parse_logprobs(outputs=outputs, **named)  # type: ignore[misc]
        return scores

    def _delay(self, error: Exception, number: int, size: int) -> float | None:
        """Count a failed attempt; return the seconds until the next one, or None. Raise what was never sent."""
        kind, again = kind_of(error)
        if not kind:
            raise error
        if isinstance(error, MalformedError):
            self.tally.note_message(str(error))
        if kind == UNREACHABLE:
            self.tally.last_message = ""  # about an earlier failure
        is_empty = isinstance(error, NoChoicesError)
        at_most = min(self.attempts, _EMPTY_AT_MOST) if is_empty else self.attempts
        if is_empty:
            self.tally.note_answer(0)
        elif again:
            self.tally.note_attempt(time.monotonic())
        elif status_of(error) in (_REFUSED if self.tally.answered else (*_REFUSED, *_REFUSED_AT_FIRST)):
            self.tally.note_attempt(time.monotonic(), 0)  # the server would refuse every request
        if again and number + 1 < at_most and not self.tally.gave_up:
            self.tally.retried += size * (number == 0)
            if kind not in self._reported:
                self._reported.add(kind)
                logger.warning("a request failed: %s. Such requests are sent again, up to %d times", kind, at_most - 1)
            return DELAYS[min(number, len(DELAYS) - 1)]
        if is_empty:
            self.tally.answered += size
        else:
            self.tally.failed[kind] += size
        return None


def attach_finish_reasons(model: Any) -> None:
    """Attach what a server says about its answers, also in plain `lm_eval run`, whose back ends return only texts."""
    if not isinstance(model, TemplateAPI) or isinstance(model, _Patient) or "parse_generations" in vars(model):
        return
    parse = model.parse_generations

    def parse_generations(outputs: Any, **named: Any) -> list[Any]:
        return with_details(model, outputs, partial(parse, outputs=outputs, **named))

    model.parse_generations = parse_generations


def with_details(model: Any, outputs: Any, parse: Callable[[], list[Any]]) -> list[Any]:
    """Parse the texts of an output, and attach what the server says about each; a missing one is `NoAnswer`."""
    token = getattr(model, "think_end_token", None)
    parts = outputs if isinstance(outputs, list) else [outputs]
    every = [response for part in parts for response in responses_in(part, token)]
    texts = parse()
    if len(every) != len(texts):
        return [NoAnswer("") if text is None else text for text in texts]
    return [one if text is None else one.saying(text) for text, one in zip(texts, every, strict=True)]


def responses_in(output: Any, think_end_token: str | None = None) -> list[Response]:
    """Return the responses in the output of a server, by index; empty if only the back end knows its format."""
    # The output is changed: the harness reads the `content` of each message, which becomes what counts as its text.
    choices = output.get("choices", [output]) if isinstance(output, dict) else None
    if not isinstance(choices, list) or not all(
        isinstance(choice, dict) and isinstance(choice.get("index", 0), int) for choice in choices
    ):
        return []
    responses: list[Response] = []
    text: str | None
    for choice in sorted(choices, key=lambda choice: choice.get("index", 0)):
        finish = choice.get("finish_reason") or choice.get("stop_reason")
        if "choices" not in output:  # a format of its own, of which only the reason is read
            text, instead = "", ""
        elif isinstance(message := choice.get("message"), dict):
            text, instead = _text_of(message)
            message["content"] = text
        else:
            text, instead = _text_of({"content": choice.get("text")})
            choice["text"], choice["message"] = text, {"content": text}
        if instead == _NO_TEXT and finish == "content_filter":
            instead = "nothing: the server's filter removed the answer"
        cut_off = finish in _LIMITS if isinstance(finish, str) else None
        opened = bool(cut_off and think_end_token and text) and str(think_end_token) not in str(text)
        kind = NoAnswer if text is None else Response
        responses.append(kind(text or "", cut_off=cut_off, opened=opened, came=instead))
    return responses


_LIMITS = ("length", "max_tokens", "max_output_tokens", "model_length")  # finish reasons that name a token limit
_NO_TEXT = "no text"


def _text_of(message: dict[str, Any]) -> tuple[str | None, str]:
    """Return the text of a message (None if it has none), and what the message has instead of text."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") != "reasoning"]
        content = "".join(text for part in parts if isinstance(text := part.get("text"), str))
    if content and isinstance(content, str):
        return content, ""
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        return refusal, "a refusal"
    calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
    with suppress(TypeError, KeyError, IndexError):
        if arguments := calls[0]["function"]["arguments"]:
            return arguments if isinstance(arguments, str) else json.dumps(arguments), "a tool call"
    if message.get("reasoning_content") or message.get("reasoning"):
        return content, "reasoning without an answer"
    if content is None or content == "":
        return content, _NO_TEXT
    return json.dumps(content), "JSON that is not text"


class _NoResponse(dict[str, Any]):
    """Placeholder that the harness gets for a missing response."""

    def __init__(self, size: int) -> None:
        super().__init__(choices=[])
        self.size = size


def _check(outputs: Any, size: int | None) -> None:
    """Check that a response has an answer to each prompt, and complete a single choice and messages without content."""
    if not isinstance(outputs, dict):
        return  # only the back end knows this format
    if outputs.get("error") or not {"choices", "content", "text"} & outputs.keys():
        raise MalformedError(str(outputs.get("error", outputs)))
    if "choices" not in outputs:
        return
    choices = outputs["choices"]
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise MalformedError("'choices' is not a list of objects")
    if size is not None and len(choices) > size:  # more samples than were asked for
        choices = outputs["choices"] = [choice for choice in choices if choice.get("index") in range(size)]
    if not choices or (size is not None and len(choices) < size):
        raise NoChoicesError
    if len(choices) == 1:
        choices[0].setdefault("index", 0)
    for choice in choices:
        if not {"text", "message", "logprobs"} & choice.keys():
            raise MalformedError("a choice has no text")
        if isinstance(message := choice.get("message"), dict):
            message.setdefault("content", None)
    if sorted(str(choice.get("index")) for choice in choices) != sorted(map(str, range(size or len(choices)))):
        raise MalformedError("the indices of the choices do not match the prompts")
