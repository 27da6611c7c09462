"""Kinds of failed requests to a server, and how often they occurred."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lm_eval_cora.questions.question import shorten

_HOPELESS = 10
"""Number of failed attempts in a row, over at least `PATIENCE` seconds, after which no more requests are sent."""

PATIENCE = 60.0
"""Minimum time in seconds over which these attempts must fail."""

REFUSED = (401, 403, 404)
"""Status codes that concern the server or the API key. Other codes from 400 to 499 concern a single request."""

REFUSED_AT_FIRST = (400, 422)
"""Status codes that concern a single request, unless no request has been answered yet."""

_WORTH_A_RETRY = (408, 409, 425, 429)
"""Status codes from 400 to 499 after which the same request may succeed later."""

_EXCERPT = 200
"""Maximum length, in characters, of the server's message in an error."""


class ServerError(Exception):
    """Failed requests to a server, described in one sentence.

    Attributes:
        tally: Counts of answered and failed requests.
    """

    def __init__(self, url: str, tally: FailureCount) -> None:
        super().__init__(f"{url}: {tally.describe()}")
        self.tally = tally


class MalformedError(Exception):
    """A response in a format that the API does not document."""


class NoChoicesError(Exception):
    """A response without a choice for each prompt."""


@dataclass
class FailureCount:
    """Counts of answered and failed requests to a server. A request with several prompts counts once per prompt.

    Attributes:
        answered: Number of requests that got a response.
        failed: Number of requests that failed in all attempts, by kind of failure.
        unsent: Number of requests that were not sent, because the server had stopped answering.
        gave_up: Whether no more requests are sent to the server.
        said: The server's message about the last failure.
    """

    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unsent: int = 0
    gave_up: bool = False
    said: str = ""
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

    def hear(self, text: str) -> None:
        """Store the server's message about a failure."""
        self.said = shorten(text, _EXCERPT)

    def concerns_all(self, status: int | None) -> bool:
        """Whether a status code means that the server would refuse every request."""
        return status in REFUSED or (status in REFUSED_AT_FIRST and not self.answered)

    def note_attempt(self, now: float, patience: float) -> None:
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

    def describe_first(self) -> str:
        """Describe why the first request failed, and what to do.

        Example:
            >>> FailureCount(failed=Counter({UNREACHABLE: 1})).describe_first()
            'no connection to the server. Start the server, and check its address'
        """
        (kind,) = self.failed
        hint = f". {_WHAT_TO_DO[kind]}" if kind in _WHAT_TO_DO else ""
        return f"{kind}{hint}{self._quoted}"

    @property
    def _quoted(self) -> str:
        return f". The server said: {self.said}" if self.said else ""


UNREACHABLE = "no connection to the server"
_WHAT_TO_DO = {
    UNREACHABLE: "Start the server, and check its address",
    **dict.fromkeys(("status 401", "status 403"), "Check the API key in the environment variable OPENAI_API_KEY"),
    "status 404": "Check the name of the model and the address of the server",
}
MALFORMED = "a response in an unexpected format"


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
