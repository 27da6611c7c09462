"""Responses: what is known about one, how it is read, and the Record of a variant and the answer to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, get_args

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.answer_format import as_bytes
from lm_eval_cora.answers.formats import FORMATS, Doc, format_of
from lm_eval_cora.answers.likeliest import scores_of, tokens_in
from lm_eval_cora.answers.plain import LINE_BREAK, Edited
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import LETTERS, Reader
from lm_eval_cora.questions.repairs import own_labels
from lm_eval_cora.variants.variant import REPEAT, Variant

_SHARED = ("question_id", "variants", "ordinal", "kind", "answer", "category", "original", "ask")
_SHOWN = ("printed", "choices", "labels")  # of a variant; with its format, all that the reading of a response uses
_LETTER = re.compile("(?<![A-Za-z0-9])[A-Za-z](?![A-Za-z0-9])")  # a word of one letter, which may name an option
_MOST_KEPT = 2**15  # readings of responses
_MAY_REPEAT = 300  # characters; a longer response is hardly given twice, and would fill the memory

IN_SAMPLES = ("acc", "consistency_rate", "sc@original", "invalid", "ties")
"""The metrics that the samples file has for each variant, if the task has them."""


@dataclass(kw_only=True)
class Record(Variant, Answer):
    """A variant and the answer to it, without the texts, which would fill the memory."""

    # Whether a written answer equals the reference, or one that is not known is right; None if time or memory ran out.
    matches: bool | None = None
    skipped: bool = False  # by early stopping or a budget: neither right nor invalid
    followed: bool | None = None  # whether the strict reader can read the response; None if unknown
    cut_off: bool | None = field(default=None, compare=False)  # whether the token limit ended it; None if unknown
    opened: bool = field(default=False, compare=False)  # whether the response begins inside reasoning
    came: str = field(default="", compare=False)  # what came instead of text, if the answer is invalid
    excerpt: str = field(default="", compare=False)  # beginning of an invalid response
    own: float | None = None  # the score that another program gave the answer
    longest: float | None = None
    likelihoods: bytes = b""  # of the printed letters as 32-bit numbers; empty if they were not scored

    @classmethod
    def of(cls, doc: Doc, answer: Answer, **more: Any) -> Record:
        """Make the Record of a variant."""
        known = {**vars(answer), "at_front": False, "span": None, "found": ()}  # these would fill the memory
        shared = {name: doc[name] for name in _SHARED}
        record = cls(**shared, printed=tuple(doc["printed"]), longest=doc.get("longest"), **known, **more)
        if cluster := doc.get("cluster"):
            record.cluster = cluster
        return record

    @property
    def correct(self) -> bool:
        """Whether the answer is right, compared by identity. An invalid answer is never right.

        A selection must hold the right option alone. If that option is not printed, the selection must be empty.
        """
        if self.selected is not None:
            return set(self.selected) == {self.answer}.intersection(self.printed)
        return self.matches is True if self.picked is None else self.picked == self.answer

    def said(self, *, letters: bool) -> str:
        """Return the answer as text, as letters or as identities; empty if it is invalid."""
        return FORMATS[self.ask].said(self, self.printed, letters=letters) or ""

    @property
    def invalid(self) -> bool:
        """Whether the response has no valid answer."""
        return not self.skipped and self.value is None and self.matches is None

    @property
    def logged(self) -> dict[str, float | str]:
        """What the samples file has for a variant, under names of metrics, if the task has them.

        `acc` is the score, `consistency_rate` and `sc@original` are the identity of the option that was picked, or yes
        or no, `invalid` is the reason, and `ties` marks a tie.
        """
        repeated, picked = REPEAT if self.kind == REPEAT else "", self.said(letters=False)
        score = "skipped" if self.skipped else repeated or float(self.correct)
        reason = self.reason.value if self.reason is not None else ""
        values = score, picked, picked, reason, "tied" if self.tied else ""
        return dict(zip(IN_SAMPLES, values, strict=True))


BLOCKED = "nothing: the server's filter removed the answer"
"""What came instead of text if a filter of the server refused the prompt or ended the answer."""


class Response(str):
    """A response with what is known about it besides its text."""

    __slots__ = ("came", "cut_off", "opened")
    cut_off: bool | None  # whether the token limit ended it; None if unknown
    opened: bool  # whether it begins inside reasoning, because the prompt ended in an opening mark
    came: str  # what came instead of text, such as "a refusal"

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


class Skipped(str):
    """Replaces the response to a skipped variant. It is a type of its own, because a model may write the same text."""

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
    answer, followed = answer_and_format(doc, response, reader)
    return Record.of(
        doc,
        answer,
        matches=None if answer.written is None or same is None else same(answer.written, doc["answer"]),
        followed=followed,
        cut_off=response.cut_off,
        opened=response.opened,
        came=response.came if answer.reason else "",
        excerpt=response[:80] if answer.reason else "",
    )


def answer_in(doc: Doc, response: str, reader: Reader) -> Answer:
    """Read a response with one reader, with what is known about the response besides its text."""
    known = Response.of(response)
    text = Edited(known)
    text.substitute(LINE_BREAK, "\n")
    if labels := doc.get("labels"):
        from lm_eval_cora.answers.labels import put_into_letters  # its patterns are slow to compile

        put_into_letters(text, labels[: len(doc["choices"])], doc["choices"])
    if known.opened:
        text.cut(0, 0, OPENING_MARK)
    answer = format_of(doc).read(text.text, doc, reader, cut_off=bool(known.cut_off))
    return text.traced(answer)


def answer_and_format(doc: Doc, response: str, reader: Reader) -> tuple[Answer, bool]:
    """Read a response, and tell whether it is in the requested format: the strict reader can read it."""
    known = Response.of(response)
    if known.came == BLOCKED:  # there may be a beginning of the answer
        return Answer(reason=Reason.BLOCKED), False
    ask, text = doc["ask"], (str(known), known.cut_off, known.opened, reader, doc["ask"])
    shown = tuple(tuple(doc.get(name) or ()) for name in _SHOWN)
    if len(response) > _MAY_REPEAT:
        return _read_once.__wrapped__(*text, *shown)
    # "A cat" names an option by its letter and text if it is the first one, in other orders perhaps by its text.
    if not FORMATS[ask].picks_one or shown[-1] or not response.isascii() or _LETTER.search(response):
        return _read_once(*text, *shown)
    in_any_order = (*text, *sorted(doc["choices"]))
    if in_any_order in _NAMES_NOTHING:
        return _NAMES_NOTHING[in_any_order]
    answer, followed = _read_once(*text, *shown)
    if answer.reason and not answer.found:
        if len(_NAMES_NOTHING) == _MOST_KEPT:
            _NAMES_NOTHING.clear()
        _NAMES_NOTHING[in_any_order] = answer, followed
    return answer, followed


_NAMES_NOTHING: dict[tuple[Any, ...], tuple[Answer, bool]] = {}
"""What is read in responses that name none of the options: it does not depend on their order."""


@lru_cache(maxsize=_MOST_KEPT)  # many models give the same short response to the same prompt
def _read_once(
    text: str, cut_off: bool | None, opened: bool, reader: Reader, ask: str, *shown: Sequence[Any]
) -> tuple[Answer, bool]:
    """Read a response with everything that the readers use."""
    doc = {"ask": ask, **dict(zip(_SHOWN, shown, strict=True))}
    response = Response(text, cut_off=cut_off, opened=opened)
    strict = answer_in(doc, response, "strict")
    return strict if reader == "strict" else answer_in(doc, response, reader), strict.reason is None


def read_likelihoods(doc: Doc, results: Sequence[Any]) -> Record:
    """Pick the most likely of the scored answers: with a result for each, or the likeliest next tokens as one text."""
    form, response, unseen = format_of(doc), Response.of(response_of(results)), None
    if response.came == BLOCKED:
        return Record.of(doc, Answer(reason=Reason.BLOCKED), came=BLOCKED)
    found = [_first(result) for result in results]
    if response:
        unseen, *found = scores_of(tokens_in(response), form.scored(doc))
    keeps = form.picks_one and len(found) == len(doc["printed"])
    return Record.of(doc, form.pick(found, doc, unseen), likelihoods=as_bytes(found) if keeps else b"")


def skipped(doc: Doc) -> Record:
    """Make the Record of a skipped variant."""
    return Record.of(doc, Answer(), skipped=True)


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


def read_answer(
    response: str,
    options: Sequence[str],
    *,
    format: str = "letter",
    reader: Reader = "flexible",
    cut_off: bool = False,
    labels: Sequence[str] = (),
) -> Answer:
    """Read one response, and say why it was read as it was.

    Args:
        response: The response of a model, of any length.
        options: The texts of the options as printed, in order; the proposed one for `yes_no`, none for `boxed`.
        format: What the prompt asks for: `letter`, `best_answer`, `option_text`, `yes_no`, `select_all` or `boxed`.
        reader: `flexible`, or `strict` for the rules of the papers.
        cut_off: Whether the token limit ended the response. It then counts only if its answer was stated in full
            before, in the format that was asked for.
        labels: The printed labels of the options if they are not A, B, C, such as ("1", "2", "3"). Labels at the
            beginning of all options count, too.

    Returns:
        The answer. `written` is the answer as text: a letter, letters, yes or no, or what is in the box. `position` is
        the index of the option, and `selected` has the indices of several options. `reason` says why there is no
        answer. `rule` is the rule that decided, `span` has the start and the end of the characters that decided, and
        `found` has the places that do not count. These three are empty if the reader has only one rule.

    Raises:
        UserError: If an argument is invalid.

    Example:
        >>> answer = read_answer("I looked at it. So the answer is B.", ["Steam", "Ice", "Fog"])
        >>> answer.written, answer.position, answer.rule, answer.span
        ('B', 1, 'a conclusion', (33, 34))
        >>> read_answer("No, ice is not right.", ["Ice"], format="yes_no").written
        'no'
        >>> str(read_answer("I do not know.", ["Steam", "Ice", "Fog"]).reason)
        'no letter'
    """
    if format not in FORMATS:
        names = ", ".join(map(repr, FORMATS))
        raise UserError(f"read_answer: format: expected {names}, got {format!r}.{did_you_mean(format, FORMATS)}")
    if reader not in get_args(Reader):
        raise UserError(f"read_answer: reader: expected 'flexible' or 'strict', got {reader!r}")
    if not isinstance(response, str):
        raise UserError(f"read_answer: response: expected text, got {type(response).__name__}")
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise UserError(f"read_answer: options: expected a list of texts, got {options!r}")
    least, most = FORMATS[format].shows
    if not least <= len(options) <= most:
        raise UserError(f"read_answer: options: expected {least} to {most} for {format}, got {len(options)}")
    are_texts = not isinstance(labels, str) and all(isinstance(label, str) and label for label in labels)
    if not are_texts or (labels and not len(labels) == len(set(labels)) == len(options)):
        raise UserError(f"read_answer: labels: expected a different label for each option, got {labels!r}")
    if not labels:
        labels, options = own_labels(options) or (labels, options)
    doc = {"ask": format, "printed": list(range(len(options))), "choices": list(options), "labels": labels}
    answer = answer_in(doc, Response(response, cut_off=cut_off), reader)
    return replace(answer, written=FORMATS[format].said(answer, range(len(options)), letters=True))


def said(answer: Answer, format: str, options: Sequence[str], labels: Sequence[str] = ()) -> str:
    """Return an answer as a person would write it; empty if there is none."""
    if answer.position is not None:
        return f"{(labels or LETTERS)[answer.position]}. {options[answer.position]}"
    return FORMATS[format].said(answer, range(len(options)), letters=True) or ""


def around(response: str, span: tuple[int, int] | None, size: int = 300) -> tuple[str, str, str]:
    """Return the text before, in and after the deciding characters; each is cut to a number of characters."""
    start, end = span or (0, 0)
    before, after = response[max(0, start - size) : start], response[end : end + size]
    return (
        f"…{before}" if start > size else before,
        response[start:end][:size],
        f"{after}…" if end + size < len(response) else after,
    )


def places(response: str, answer: Answer, labels: Sequence[str] = (), most: int = 8) -> list[str]:
    """Describe the places of an invalid answer that were found, and why they do not count."""
    named = {-1: "none, "} | {place: f"{label}, " for place, label in enumerate([*labels, *LETTERS[len(labels) :]])}
    return [
        f"{named.get(found.position, '')}"
        f'"{response[slice(*found.span)][:60]}" ({found.rule}): {found.void or "another option has the same weight"}'
        for found in answer.found[:most]
    ]
