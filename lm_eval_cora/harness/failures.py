"""How requests to a server fail, and how often they did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_HOPELESS = 10
"""So many attempts failed one after the other, over at least `PATIENCE`, and the server is not asked again."""

PATIENCE = 60.0
"""In seconds, for how long."""

REFUSED = (401, 403, 404)
"""Status codes that say something about the server or the key. Others from 400 to 499 are about one request."""

_WORTH_A_RETRY = (408, 409, 425, 429)
"""Status codes from 400 to 499 that may be others a moment later."""


_EXCERPT = 200
"""Characters of what a server said that an error shows."""


class ServerError(Exception):
    """Requests to a server that failed, all told in one sentence.

    Attributes:
        tally: How the requests came out.
    """

    def __init__(self, url: str, tally: FailureCount) -> None:
        super().__init__(f"{url}: {tally.describe()}")
        self.tally = tally


class MalformedError(Exception):
    """A response that is not what the API documents."""


class NoChoicesError(Exception):
    """A response without a choice for each prompt."""


@dataclass
class FailureCount:
    """How requests to a server came out. A request that holds several prompts counts for each of them.

    Attributes:
        answered: Number of requests that got a response.
        failed: For each kind of failure, how many requests failed for good.
        unsent: Number of requests that were not sent, because the server had stopped answering.
        gave_up: Whether the server is not asked any more.
        said: What the server said last about a failure.
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
        """Note what the server said about a failure."""
        self.said = " ".join(text.split())[:_EXCERPT]

    def note_attempt(self, now: float, patience: float) -> None:
        """Note an attempt that failed, and give up after ten in a row that took at least a while.

        Args:
            now: Seconds, of any clock.
            patience: Seconds.
        """
        self._since = self._since if self._attempts else now
        self._attempts += 1
        self.gave_up |= self._attempts >= _HOPELESS and now - self._since >= patience

    def describe(self) -> str:
        """What failed, in one sentence.

        Example:
            >>> FailureCount(answered=95, failed=Counter({"status 500": 5}), said="out of memory").describe()
            '5.0% of the requests failed: status 500 (5 of 100). The server said: out of memory'
        """
        total = self.answered + self.failed.total()
        kinds = ", ".join(f"{kind} ({count:,} of {total:,})" for kind, count in self.failed.most_common())
        unsent = f"; {self.unsent:,} more were not sent" if self.unsent else ""
        return f"{self.failed.total() / max(1, total):.1%} of the requests failed: {kinds}{unsent}{self._quoted}"

    def describe_first(self) -> str:
        """Why the first request failed, and what to do.

        Example:
            >>> FailureCount(failed=Counter({UNREACHABLE: 1})).describe_first()
            'no connection to the server. Start it, and check the address'
        """
        (kind,) = self.failed
        hint = f". {_WHAT_TO_DO[kind]}" if kind in _WHAT_TO_DO else ""
        return f"{kind}{hint}{self._quoted}"

    @property
    def _quoted(self) -> str:
        return f". The server said: {self.said}" if self.said else ""


UNREACHABLE = "no connection to the server"
_WHAT_TO_DO = {
    UNREACHABLE: "Start it, and check the address",
    **dict.fromkeys(("status 401", "status 403"), "Check the key: the harness sends the variable OPENAI_API_KEY"),
    "status 404": "Check the name of the model, and the address",
}
MALFORMED = "a response that is not what the API documents"


def status_of(error: BaseException) -> int | None:
    """The HTTP status code of an error, as the libraries name it."""
    told = (error, getattr(error, "response", None))
    found = [getattr(one, name, None) for one in told for name in ("status", "status_code")]
    return next((code for code in found if isinstance(code, int)), None)


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
