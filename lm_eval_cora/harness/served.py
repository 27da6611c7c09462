"""Back ends that use a server: failed requests are sent again, and one that fails for good does not lose the others."""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial, partialmethod
from itertools import count
from math import nan
from typing import Any
from urllib.parse import urlsplit

from lm_eval.api.instance import Instance
from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.utils import chunks
from tqdm.asyncio import tqdm_asyncio

from lm_eval_cora.answers.likeliest import REASONS_FIRST, WRITE, as_text
from lm_eval_cora.answers.records import BLOCKED, Response
from lm_eval_cora.harness.compat import asking_for_next_token, hiding_failed_requests
from lm_eval_cora.log import logger
from lm_eval_cora.questions.messages import counted
from lm_eval_cora.questions.question import shorten

DELAYS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each retry, a minute in total. If `max_retries` is larger, the last delay is repeated."""

# No more requests are sent after this number of failed attempts in a row, over at least this number of seconds.
_HOPELESS, _PATIENCE = 10, 60.0
_LONGEST_WAIT = 600.0  # seconds without an answer that a run waits if the server asks for it
# Maximum number of attempts if the response has no choices. After that the answer counts as empty.
_EMPTY_AT_MOST = 3

# Of the status codes from 400 to 499, the first ones concern the server or the API key. After the second ones the same
# request may succeed later. With the third ones a filter may refuse a prompt.
_NEVER, _WORTH_A_RETRY, _OF_A_FILTER = (401, 403, 404), (408, 409, 425, 429), (400, 422, 451)
_BLOCKS = re.compile(
    r"content.?(filter|polic|management|moderat|exists)|moderation|safety|unsafe|harmful|prohibited.?content|flagged"
    r"|blocked|block.?(list|reason)|guardrail|responsible.?ai|inappropriate|sensitive.?(content|word|info)"
    r"|data.?inspection|usage polic|recitation|spii|refusal",
    re.IGNORECASE,
)

# Finish reasons.
_FAILS = re.compile("error|abort|cancel|fail|insufficient", re.IGNORECASE)
_CUT_OFF = ["length", "max_tokens", "max_output_tokens", "model_length"]
_KNOWN = ["stop", "eos", "eos_token", "stop_sequence", "end_turn", "tool_calls", "function_call", "tool_use", *_CUT_OFF]

UNREACHABLE, MALFORMED = "no connection to the server", "a response in an unexpected format"
FAILED, UNTRUSTED = "a generation that failed at the provider", "the server's certificate is not trusted"

WHAT_TO_DO = {
    UNREACHABLE: "Start the server, and check its address",
    UNTRUSTED: "Name a file with the certificate, SSL_CERT_FILE=FILE or REQUESTS_CA_BUNDLE=FILE in the environment or "
    "ca_cert_path=FILE in --model_args, or do not check it: verify_certificate=False",
    **dict.fromkeys(("status 401", "status 403"), "Check the API key in the environment variable OPENAI_API_KEY"),
    "status 404": "Check the name of the model and the address of the server",
}
_OTHER_BACK_ENDS = {
    "max_tokens": "Use --model openai-chat-completions, which sends max_completion_tokens",
    "max_completion_tokens": "Use --model local-chat-completions, which sends max_tokens",
}
_expected = ContextVar("_expected", default=1)
"""Number of prompts in the request whose response is being parsed: the harness passes only the response to the parser.
Each asyncio task has its own value."""


class NoAnswer(Response):
    """The answer if a server sent no text. It counts as empty, and a later run asks again."""

    __slots__ = ()


class ServerError(Exception):
    """Failed requests to a server, described in one sentence. `refused` are the questions that it does not answer."""

    def __init__(self, url: str, tally: FailureCount, refused: Iterable[str] = ()) -> None:
        ids = json.dumps([*refused][:100], ensure_ascii=False)
        advice = f'. To leave out the questions that it refuses, add to the options of --metadata: "without": {ids}'
        super().__init__(f"{url}: {tally.describe()}{advice if tally.answered and ids != '[]' else ''}")
        self.tally = tally


class StatusError(Exception):
    """A response with a status code from 400."""

    def __init__(self, response: Any, text: str) -> None:
        super().__init__(text)
        self.status, self.headers = response.status, response.headers


class MalformedError(Exception):
    """A response in a format that the API does not document."""


class FailedError(Exception):
    """A generation that failed, although the status of the response is 200."""


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
    last_message: str = ""  # about the last failure, mostly in the server's words
    _attempts: int = 0
    since: float = 0.0  # the time of the first of the failures in a row

    @property
    def lost(self) -> int:
        """Number of requests without an answer."""
        return self.failed.total() + self.unsent

    def note_answer(self, size: int) -> None:
        """Count a request that was answered."""
        self.answered += size
        self._attempts = 0

    def note_attempt(self, now: float, patience: float = _PATIENCE) -> None:
        """Count a failed attempt, and give up after ten in a row over at least `patience` seconds."""
        self.since = self.since if self._attempts else now
        self._attempts += 1
        self.gave_up |= self._attempts >= _HOPELESS and now - self.since >= patience

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

    def describe_first(self, sent: Iterable[str] = ()) -> str:
        """Describe why the first request failed, and what to do. `sent` are the names of its parameters."""
        (kind,) = self.failed
        hint = WHAT_TO_DO.get(kind, "")
        words = re.findall(r"\w+", self.last_message) if "status 4" in kind else ()
        for name in sorted({*sent}.intersection(words)):
            hint = f"Leave {name} out with --gen_kwargs {name}=None, or pass a value that the server accepts"
            hint = _OTHER_BACK_ENDS.get(name, hint)
        return f"{kind}{hint and '. '}{hint}{self._quoted}"

    @property
    def _quoted(self) -> str:
        return f". Details: {shorten(self.last_message, 200)}" if self.last_message else ""


def status_of(error: BaseException) -> int | None:
    """The HTTP status code of an error, None if it has none. Libraries store it under different names."""
    code = getattr(error, "status", None) or getattr(error, "status_code", None)
    return code if isinstance(code, int) else None


_KINDS = {
    "NoChoicesError": "an empty list of choices",
    "FailedError": FAILED,
    "ClientConnectorCertificateError": UNTRUSTED,
    **dict.fromkeys(("ServerTimeoutError", "TimeoutError"), "a timeout"),
    **dict.fromkeys(("ClientConnectionError", "ConnectionError"), UNREACHABLE),
    **dict.fromkeys(("MalformedError", "KeyError", "IndexError", "TypeError", "ValueError"), MALFORMED),
}


def kind_of(error: BaseException) -> tuple[str, bool]:
    """Classify an error from sending a request, and tell whether to send it again."""
    if isinstance(error, AssertionError | NotImplementedError):  # the harness refuses to send it
        return "", False
    if (status := status_of(error)) is not None:
        return f"status {status}", status >= 500 or status in _WORTH_A_RETRY
    names = [base.__name__ for base in type(error).__mro__]
    return next((_KINDS[name] for name in names if name in _KINDS), names[0]), True


def is_blocked(error: BaseException) -> bool:
    """Whether a filter of the server refuses the content of a prompt, so that it will not answer it later either."""
    if status_of(error) == 403:  # which is mostly about the key
        return "flagged" in str(error)
    may_be = status_of(error) in _OF_A_FILTER or isinstance(error, FailedError)
    return may_be and bool(_BLOCKS.search(str(error)))


def wait_of(error: BaseException) -> float:
    """The seconds that the server asks to wait, as a number or as a date; 0 if it does not ask."""
    told = str((getattr(error, "headers", None) or {}).get("Retry-After", ""))
    with suppress(ValueError):
        return max(0.0, float(told))
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    return 0.0


# ---- back ends
def patient(back_end: type) -> type:
    """Make a back end retry failed requests for a minute, and raise only after all others are answered."""
    return type(back_end.__name__, (_Patient, back_end), {"__module__": back_end.__module__})


class _Patient(TemplateAPI):  # type: ignore[misc]  # the harness ships no types
    """Mixin for a back end of the harness, which raises as soon as one request has failed a few times.

    That would lose all requests in progress. Here, a request that fails in all attempts is counted, and `ServerError`
    is raised after the others. If the server stops answering, the remaining requests are not sent.
    """

    def __init__(self, *arguments: Any, max_retries: int = len(DELAYS) + 1, **named: Any) -> None:
        super().__init__(*arguments, max_retries=max_retries, **named)
        self.tally = FailureCount()
        self.max_retries = max(1, int(max_retries))
        # The harness sends single requests with another HTTP library, which knows other proxies and certificates.
        self._at_once: int = self._concurrent
        self._concurrent: int = max(2, self._at_once)
        self._hides_bar, self._wait_until = False, 0.0
        self.checked: Any = []  # the first requests that were answered

    def _send(self, method: str, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Send requests, and raise at the end if some have no answer."""
        lost_before, self._hides_bar = self.tally.lost, disable_tqdm
        with hiding_failed_requests():
            responses = list(getattr(super(), method)(requests))
        if self.tally.lost > lost_before:
            both, refusal = zip(requests, responses, strict=True), _REFUSED[method == "generate_until"]
            refused = {request.doc.get("question_id"): 0 for request, answer in both if answer is refusal}
            raise ServerError(self.base_url, self.tally, filter(None, refused))
        return responses

    generate_until = partialmethod(_send, "generate_until")
    loglikelihood = partialmethod(_send, "loglikelihood")
    loglikelihood_rolling = partialmethod(_send, "loglikelihood_rolling")

    async def get_batched_requests(self, requests: Any, cache_keys: Any, *, ctxlens: Any = None, **named: Any) -> Any:
        """Send requests, `num_concurrent` at a time."""
        from aiohttp import ClientSession, ClientTimeout, TCPConnector

        authorities = self.ca_cert_path or os.environ.get("REQUESTS_CA_BUNDLE")
        certificates = self.verify_certificate and ssl.create_default_context(cafile=authorities)
        sem, parts = asyncio.Semaphore(self._at_once), partial(chunks, n=self._batch_size)
        async with ClientSession(
            connector=TCPConnector(limit=self._at_once, ssl=certificates),
            timeout=ClientTimeout(total=self.timeout),
            trust_env=urlsplit(self.base_url).hostname not in ("localhost", "127.0.0.1", "::1"),  # for proxies
            raise_for_status=_check_status,
        ) as session:
            calls = (
                self.amodel_call(session=session, sem=sem, messages=part, cache_keys=keys, ctxlens=lengths, **named)
                for part, keys, lengths in zip(*map(parts, (requests, cache_keys, ctxlens or requests)), strict=True)
            )
            return await tqdm_asyncio.gather(*map(asyncio.create_task, calls), desc="Asking", disable=self._hides_bar)

    # ---- one request
    async def amodel_call(self, *, session: Any, sem: asyncio.Semaphore, **named: Any) -> Any:
        """Send a request until it is answered, refused or hopeless."""
        size, generate, tries = len(named["messages"]), named["generate"], 0
        for attempt in count():
            async with sem:
                while (left := self._wait_until - time.monotonic()) > 0:
                    await asyncio.sleep(left)
                if self.tally.gave_up or session.closed:  # Ctrl-C closes it
                    self.tally.unsent += size
                    return [_NOTHING[generate]] * size
                _expected.set(size)
                try:  # `sem` is held here, so that waiting requests see `gave_up`
                    answers = await super().amodel_call(session=session, sem=asyncio.Semaphore(1), **named)
                    break
                except Exception as error:
                    problem = error
            again = kind_of(problem)[1]
            if size > 1 and not again:  # it may be about one of the prompts
                return await self._one_by_one(range(size), session=session, sem=sem, **named)
            if generate and self.checked and is_blocked(problem):  # no filter blocks the first request
                answers = self._blocked(problem, named["cache_keys"])
                break
            if (delay := self._delay(problem, tries, size)) is None:
                return [(_NOTHING if again else _REFUSED)[generate]] * size
            if attempt == 0:
                self.tally.retried += size
            tries += not wait_of(problem)
            await asyncio.sleep(delay)
        failed = [place for place, answer in enumerate(answers) if size > 1 and getattr(answer, "came", "") == FAILED]
        self.tally.note_answer(size - len(failed))
        self.tally.retried += len(failed)
        for place in failed:
            (answers[place],) = await self._one_by_one([place], session=session, sem=sem, **named)
        return answers

    async def _one_by_one(self, places: Iterable[int], **request: Any) -> list[Any]:
        """Send prompts of a failed request again, one at a time."""
        answers = []
        for place in places:
            one = {name: request[name][place : place + 1] for name in ("messages", "cache_keys", "ctxlens")}
            answers += await self.amodel_call(**{**request, **one})
        return answers

    def _blocked(self, problem: Exception, keys: Sequence[Any]) -> list[Any]:
        """The answer to a prompt that a filter refuses. It is kept, because the filter would refuse it again."""
        text = "a filter of the server blocks a prompt, whose answer is invalid. Details: %s"
        warn_once(self, text, shorten(str(problem), 200))
        answer = Response("", cut_off=False, came=BLOCKED)
        self.cache_hook.add_partial("generate_until", keys[0], answer)
        return [answer]

    def parse_generations(self, outputs: Any, **named: Any) -> list[Any]:
        """The texts of a response; a missing text is `NoAnswer`."""
        expected = _expected.get()
        _check(outputs, expected)
        responses = with_details(self, outputs, partial(super().parse_generations, outputs=outputs, **named))
        if len(responses) != expected:
            raise NoChoicesError
        return responses

    def parse_logprobs(self, outputs: Any, **named: Any) -> Any:
        """The log-likelihoods in a response; a missing one is nan."""
        _check(outputs, len(named["ctxlens"]))
        return super().parse_logprobs(outputs=outputs, **named)

    def _delay(self, error: Exception, tries: int, size: int) -> float | None:
        """Count a failed attempt; return the seconds until the next one, or None. Raise what was never sent."""
        kind, again = kind_of(error)
        if not kind:
            raise error
        tally, told, now = self.tally, wait_of(error) if again else 0.0, time.monotonic()
        tally.last_message = getattr(error, "doc", str(error))[:1000]  # `doc` is a text that is not JSON
        is_empty = isinstance(error, NoChoicesError)
        at_most = min(self.max_retries, _EMPTY_AT_MOST) if is_empty else self.max_retries
        if is_empty:
            tally.note_answer(0)
        elif again:
            tally.note_attempt(now, _LONGEST_WAIT if told else _PATIENCE)
        elif status_of(error) in _NEVER:
            tally.note_attempt(now, 0)  # the server would refuse every request
        if told:
            asks = "the server asks to wait %.0f s (Retry-After). The run waits, for at most %.0f s without an answer"
            warn_once(self, asks, told, _LONGEST_WAIT)
            tally.gave_up |= now + told - tally.since > _LONGEST_WAIT
        if again and (told or tries + 1 < at_most) and not tally.gave_up:
            if not told:
                warn_once(self, f"a request failed: {kind}. Such requests are sent again, up to %d times", at_most - 1)
            self._wait_until = max(self._wait_until, now + told)
            return DELAYS[min(tries, len(DELAYS) - 1)]
        if is_empty:
            tally.answered += size
        else:
            tally.failed[kind] += size
        return None


_NOTHING, _REFUSED = ([(nan, False), NoAnswer("")] for _ in range(2))
"""The missing score and the missing text of a prompt that was not answered, and of one that the server refuses."""


async def _check_status(response: Any) -> None:
    """Raise an error with the server's words; let the harness read JSON of any declared type."""
    if response.status >= 400:
        raise StatusError(response, await response.text(errors="replace"))
    response.json = partial(response.json, content_type=None)


def warn_once(model: Any, text: str, *values: object) -> None:
    """Log a warning, once for each model, whatever the values are."""
    told = vars(model).setdefault("warned", set())
    if text not in told:
        told.add(text)
        logger.warning(text, *values)


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
    for part in parts:
        _note_unusual(model, part)
    if asking_for_next_token.get():
        return [_next_tokens_in(choice) for part in parts for choice in _choices_in(part)]
    every = [response for part in parts for response in responses_in(part, token)]
    texts = parse()
    if len(every) != len(texts):
        return [NoAnswer("") if text is None else text for text in texts]
    both = zip(texts, every, strict=True)
    return [one if text is None or isinstance(one, NoAnswer) else one.saying(text) for text, one in both]


def _note_unusual(model: Any, output: Any) -> None:
    """Warn of unknown finish reasons, and of another model that answers. A date behind the name is the same model."""
    for finish, failure in map(_end_of, _choices_in(output)):
        if finish and not failure and finish not in _KNOWN:
            text = "an answer ended with the finish reason %r, which is not known. Such answers are kept"
            warn_once(model, text, shorten(finish))
    name = output.get("model") if isinstance(output, dict) else None
    asked = re.escape(str(model.model).rpartition("/")[2].removesuffix("-latest"))
    if isinstance(name, str) and not re.fullmatch(rf"(.*/)?{asked}([-@:][\d-]+)?", name, re.IGNORECASE | re.DOTALL):
        text, name = "%s was asked, but the answers name the model %s, which the results file has", shorten(name, 100)
        vars(model).setdefault("answered_by", set()).add(name)
        warn_once(model, text, model.model, name)


def _choices_in(output: Any) -> list[dict[str, Any]]:
    """The choices of an output by index, or the output of a format without them; empty if they cannot be read."""
    choices = output.get("choices", [output]) if isinstance(output, dict) else None
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        return []
    if "choices" not in output:
        return choices if {"content", "text"} & output.keys() else []
    places = {str(number): number for number in range(len(choices))}
    by_place: dict[int, dict[str, Any]] = {}
    for choice in choices:
        choice["index"] = 0 if len(choices) == 1 else places.get(str(choice.get("index")), -1)
        if isinstance(message := choice.get("message"), str | list):
            choice["message"] = {"content": message}
        if {"text", "message", "logprobs"} & choice.keys():
            by_place[choice["index"]] = choice
    return [by_place[place] for place in places.values()] if {*by_place} == {*places.values()} else []


def _end_of(choice: dict[str, Any]) -> tuple[str, str]:
    """Return the finish reason in lower case, and `BLOCKED` or `FAILED` if the choice has no answer."""
    reason = str(choice.get("finish_reason") or choice.get("stop_reason") or "").casefold()
    error = choice.get("error") or ""
    if _BLOCKS.search(f"{reason} {error}"):
        return reason, BLOCKED
    return reason, FAILED if error or _FAILS.search(reason) else ""


def responses_in(output: Any, think_end_token: str | None = None) -> list[Response]:
    """Return the responses in the output of a server, by index; empty if only the back end knows its format."""
    # The output is changed: the harness reads the `content` of each message, which becomes what counts as its text.
    responses: list[Response] = []
    for choice in _choices_in(output):
        text: str | None = ""
        finish, came = _end_of(choice)
        if "choices" in output:  # in other formats only the finish reason is read
            message = choice.get("message")
            message = choice["message"] = message if isinstance(message, dict) else {"content": choice.get("text")}
            text, instead = _text_of(message)
            message["content"] = choice["text"] = text
            came = came or instead
        cut_off = finish in _CUT_OFF if came == BLOCKED or finish in _KNOWN else None
        opened = bool(cut_off and think_end_token and text) and str(think_end_token) not in str(text)
        text = None if came == FAILED else text
        kind = NoAnswer if text is None and came != BLOCKED else Response
        responses.append(kind(text or "", cut_off=cut_off, opened=opened, came=came))
    return responses


def _next_tokens_in(choice: dict[str, Any]) -> Response:
    """Return the likeliest tokens at the beginning of an answer as text."""
    if _end_of(choice)[1] == BLOCKED:
        return Response("", cut_off=False, came=BLOCKED)
    message, tokens = choice.get("message"), []
    if isinstance(message, dict) and (message.get("reasoning_content") or message.get("reasoning")):
        raise MalformedError(f"{REASONS_FIRST}. {WRITE}")
    with suppress(TypeError, KeyError, IndexError, AttributeError):
        first = (choice["logprobs"].get("content") or choice["logprobs"]["top_logprobs"])[0]
        if isinstance(first.get("token"), str):  # of chats, and of llama.cpp
            tokens = [(one["token"], one["logprob"]) for one in first["top_logprobs"]]
        else:  # of completions
            tokens = [*first.items()]
    return Response(as_text(tokens), cut_off=False)


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
        return content, "no text"
    return json.dumps(content), "JSON that is not text"


def _check(outputs: Any, size: int) -> None:
    """Check that a response has an answer to each prompt."""
    if not isinstance(outputs, dict):
        return  # only the back end knows this format
    if error := outputs.get("error"):
        raise FailedError(str(error))
    if not outputs.get("choices", True):
        raise NoChoicesError
    if not (choices := _choices_in(outputs)):
        raise MalformedError(str(outputs))
    failed = [choice for choice in choices if _end_of(choice)[1] == FAILED]
    if failed and (size == 1 or choices[0].get("logprobs")):  # scores are asked for again together
        raise FailedError(str(failed[0].get("error") or _end_of(failed[0])[0]))
    if "choices" in outputs:
        outputs["choices"] = choices[:size]  # without further samples, which were not asked for
        if len(choices) < size:
            raise NoChoicesError
