"""Advice for runs with many invalid answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lm_eval_cora.answers import TOO_MANY_INVALID, Reader, Reason
from lm_eval_cora.formats import FORMATS, AnswerFormat
from lm_eval_cora.records import Record

_ROOM = 4096
"""Token limit that is enough for most reasoning models."""

_CHOOSES_NOTHING = (Reason.SEVERAL, Reason.REPEATED, Reason.CONTRADICTION, Reason.REJECTED, Reason.NONE_FITS)

_RESPONSES = "`filtered_resps` in the samples file"


_LOOK = "Look at `resps` in the samples file"
_INSTEAD = {
    "a refusal": f"The model refuses to answer. {_LOOK}; more tokens do not help",
    "a tool call": "The model calls a tool. Switch tool calls off on the server, such as --enable-auto-tool-choice of "
    "vLLM",
    "reasoning without an answer": "The server's reasoning parser takes the whole response for reasoning. Start the "
    "server without it, such as without --reasoning-parser of vLLM",
    "nothing: the server's filter removed the answer": "Switch the filter off on the server; more tokens do not help",
    "no text": f"The server sends complete responses without text. {_LOOK}, and look at the server's log",
    "JSON that is not text": f"{_LOOK}; the server does not send text in the format of the API",
}
"""What helps if something else came instead of text, and the token limit is not the cause."""


@dataclass(frozen=True)
class Conditions:
    """How the model was asked and how its answers were read.

    Attributes:
        chat: Whether a chat template was applied, by the harness or by the server.
        reader: How the answers were read.
        limit: Token limit of an answer, None if unknown.
    """

    chat: bool
    reader: Reader = "flexible"
    limit: int | None = None


def advise_on_invalid(records: Sequence[Record], setting: Conditions) -> list[str]:
    """Suggest what to change if more than 10% of the answers are invalid.

    Without this advice, a missing chat template or a token limit that is too small just looks like a CoRA of 0.
    """
    first = _advise_on_limit(records, setting)
    by_format: dict[str, list[Record]] = {}
    for record in records:
        by_format.setdefault(record.ask, []).append(record)
    alone = len(by_format) == 1
    notices = [_advise_on(FORMATS[name], members, setting, alone=alone) for name, members in by_format.items()]
    return [notice for notice in (first, *notices) if notice]


def _advise_on_limit(records: Sequence[Record], setting: Conditions) -> str:
    """Say that the token limit cut off most responses; empty if it did not."""
    cut = [record for record in records if record.cut_off]
    if len(cut) <= len(records) / 2:
        return ""
    lost = sum(record.invalid for record in cut)
    few = lost <= TOO_MANY_INVALID * len(cut)
    limit = "the token limit" if setting.limit is None else f"the limit of {setting.limit:,} tokens"
    advice = "The others state it before the cut, so more tokens would change little" if few else _room(setting.limit)
    return (
        f"{len(cut):,} of {len(records):,} responses were cut off by {limit}, and {lost:,} of these have no answer. "
        f"{advice[0].upper()}{advice[1:]}"
    )


def _advise_on(wanted: AnswerFormat, records: Sequence[Record], setting: Conditions, *, alone: bool) -> str:
    reasons = Counter(record.reason for record in records if record.reason is not None)
    total = sum(reasons.values())
    if total <= TOO_MANY_INVALID * len(records):
        return ""
    reason, count = reasons.most_common(1)[0]
    examples = [record for record in records if record.reason is reason]
    ((came, _),) = Counter(record.came for record in examples).most_common(1)
    excerpt = next((record.excerpt for record in examples if record.excerpt), "")
    shown = f", for example {excerpt!r}" if excerpt else ""  # repr escapes control characters
    instead = f"; instead of text came {came}" if came else ""
    what = f" to prompts that ask for {wanted.description}" if not alone else ""
    return (
        f"{total / len(records):.0%} of the answers{what} are invalid, so the scores say little about what the model "
        f"knows. The most frequent reason: {reason} ({count:,} of {len(records):,}{shown}){instead}. "
        f"{_advice(reason, wanted, setting, examples, came)}"
    )


def _most(records: Sequence[Record], cut_off: bool) -> bool:
    """Whether most of these responses are known to be cut off, or known to be complete."""
    return sum(record.cut_off is cut_off for record in records) > len(records) / 2


def _advice(reason: Reason, wanted: AnswerFormat, setting: Conditions, examples: Sequence[Record], came: str) -> str:
    room, ended = _room(setting.limit), _most(examples, cut_off=False)
    if reason in (Reason.CUT_OFF, Reason.UNCLOSED_BOX) or (not ended and _most(examples, cut_off=True)):
        return f"The model needs more tokens to finish; {room}"
    if came in _INSTEAD:
        return _INSTEAD[came]
    if reason is Reason.NO_LIKELIHOOD:
        return "The model returned nan or no number: try another dtype, and look at `resps` in the samples file"
    if not setting.chat:
        return "If the model is a chat model, add --apply_chat_template"
    instruct = f"--system_instruction '{wanted.instruction}' often helps"
    if reason is Reason.OUT_OF_RANGE:
        return f"These responses name a letter that no option has (see {_RESPONSES}); {instruct}"
    if reason is Reason.REFUSED:
        return f"These responses refuse to answer (see {_RESPONSES}); {instruct}"
    if ended and reason in (Reason.NO_BEST_ANSWER, Reason.NO_BOX):
        return f"These responses end without an answer in the expected form; {instruct}"
    if reason in (Reason.EMPTY, Reason.NO_BEST_ANSWER, Reason.NO_BOX):
        return f"If the model reasons before it answers, {room}"
    if not wanted.answer_first:
        return f"If the model reasons before it answers, {room}. Otherwise look at {_RESPONSES}"
    if setting.reader == "strict" and reason in (Reason.NO_LETTER, Reason.NO_YES_OR_NO):
        return (
            "The flexible reader understands more wordings: `lm-eval-cora report OUT --reader flexible` reads these "
            """samples again, --metadata '{"cora": {"reader": "flexible"}}' sets the reader of a run. """
            f"Otherwise {instruct}"
        )
    if reason in _CHOOSES_NOTHING:
        return f"These responses do not choose one option (see {_RESPONSES}); {instruct}"
    if ended:
        return f"These responses end without an answer in the expected form (see {_RESPONSES}); {instruct}"
    return f"If the model reasons before it answers, {room}. Otherwise look at {_RESPONSES}; {instruct}"


def _room(limit: int | None) -> str:
    if limit is None or limit < _ROOM:
        steps = f"`lm-eval-cora run --max_gen_toks 32,512,{_ROOM}`"
        return f"raise the token limit: --gen_kwargs max_gen_toks={_ROOM}, or {steps}"
    return f"the limit is already {limit:,} tokens, so look at {_RESPONSES} before you raise it"
