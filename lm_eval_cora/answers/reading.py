"""Turn a variant and the response to it into a Record. The answer format parses the response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lm_eval_cora.answers import Answer, Reader
from lm_eval_cora.answers.formats import Doc, format_of
from lm_eval_cora.answers.likelihood import as_bytes
from lm_eval_cora.answers.records import Record
from lm_eval_cora.variants.order import POSITIONS

_EXCERPT = 80
"""Number of characters of an invalid response that its Record keeps."""


class Response(str):
    """A response with what is known about it besides its text.

    Attributes:
        cut_off: Whether the token limit ended it; None if unknown.
        opened: Whether it begins inside reasoning, because the prompt ended in an opening mark.
        came: What came instead of text, such as "a refusal"; empty if text came.
    """

    __slots__ = ("came", "cut_off", "opened")
    came: str
    cut_off: bool | None
    opened: bool

    def __new__(cls, text: str, *, cut_off: bool | None = None, opened: bool = False, came: str = "") -> Response:
        """Attach to a text what is known about it."""
        response = super().__new__(cls, text)
        response.cut_off, response.opened, response.came = cut_off, opened, came
        return response

    @classmethod
    def of(cls, response: str) -> Response:
        """Return a response; nothing is known about one that is only a text."""
        return response if isinstance(response, Response) else cls(response)

    def saying(self, text: str) -> Response:
        """Attach to another text what is known about this one."""
        return Response(text, cut_off=self.cut_off, opened=self.opened, came=self.came)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (str(self), self.cut_off, self.opened, self.came)


def _unpickled(text: str, cut_off: bool | None, opened: bool, came: str) -> Response:
    return Response(text, cut_off=cut_off, opened=opened, came=came)


class Skipped(str):
    """Replaces the response to a variant that early stopping or a budget skipped.

    It is a type of its own, because a model may write the same text.
    """

    __slots__ = ()


OPENING_MARK = "<think>"
"""Put before a response that begins inside reasoning."""

SKIPPED = Skipped("[lm-eval-cora: skipped]")


def read_response(
    doc: Doc,
    results: Sequence[Any],
    same: Callable[[str, str], bool | None] | None = None,
    *,
    reader: Reader = "flexible",
) -> Record:
    """Read the response of a model, without ever raising an error: this runs after the inference."""
    response = Response.of(response_of(results))
    strict = answer_in(doc, response, "strict")
    answer = strict if reader == "strict" else answer_in(doc, response, reader)
    return Record.of(
        doc,
        answer,
        matches=None if answer.written is None or same is None else same(answer.written, doc["answer"]),
        followed=strict.reason is None,
        cut_off=response.cut_off,
        opened=response.opened,
        came=response.came if answer.reason else "",
        excerpt=response[:_EXCERPT] if answer.reason else "",
    )


def answer_in(doc: Doc, response: str, reader: Reader) -> Answer:
    """Read a response with one reader, with what is known about the response besides its text."""
    known = Response.of(response)
    text = f"{OPENING_MARK}{known}" if known.opened else str(known)
    return format_of(doc).read(text, doc, reader, cut_off=bool(known.cut_off))


def is_settled(doc: Doc, response: str, reader: Reader) -> bool:
    r"""Whether only an explicit correction later in the response could change its answer.

    Example:
        >>> doc = {"ask": "letter", "printed": [1, 0], "choices": ["Ice", "Water"]}
        >>> is_settled(doc, "B\n\nWater boils.", "flexible"), is_settled(doc, "Let me think", "flexible")
        (True, False)
    """
    return answer_in(doc, response, reader).settled


def read_likelihoods(doc: Doc, results: Sequence[Any]) -> Record:
    """Pick the most likely of the scored answers."""
    found = [_first(result) for result in results]
    keeps = doc["kind"] in POSITIONS and len(found) == len(doc["printed"])
    return Record.of(doc, format_of(doc).pick(found, doc), likelihoods=as_bytes(found) if keeps else b"")


def skipped(doc: Doc) -> Record:
    """Make the Record of a skipped variant."""
    return Record.of(doc, Answer(), skipped=True)


def written_answer(doc: Doc, results: Sequence[Any], reader: Reader) -> str | None:
    """Return the written answer in the first response; None if there is none."""
    return answer_in(doc, response_of(results), reader).written


def response_of(results: Sequence[Any]) -> str:
    """Return the first response; an empty string if it is not text."""
    response = results[0] if results else ""
    if isinstance(response, list | tuple):  # a filter such as take_first_k returns a list
        response = response[0] if response else ""
    return response if isinstance(response, str) else ""


def _first(result: Any) -> Any:
    """Return the log-likelihood of a back end's result; None if there is none."""
    try:
        return result[0]
    except Exception:  # nothing may raise after the inference
        return None
