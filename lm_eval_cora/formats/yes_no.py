"""Asks whether one option is the right answer, yes or no: true or false in MCQA+ and REVAS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.choice import last_counts
from lm_eval_cora.answers.claims import leaves_open, text_of_option
from lm_eval_cora.answers.head import LABEL, after_reasoning, head_of, is_reasoning, why_nothing
from lm_eval_cora.answers.likelihood import yes_or_no
from lm_eval_cora.answers.plain import lowered, plain
from lm_eval_cora.formats.base import AnswerFormat, Doc
from lm_eval_cora.prompting import render
from lm_eval_cora.question import OpenQuestion, Question

if TYPE_CHECKING:
    from lm_eval_cora.responses import Record

_HEAD = 256
_NEAR = 80

_FIRST_WORD = re.compile(r"[\W_]*([^\W\d_]+)")
_OTHER_WORD = re.compile(r"(?:\s*/\s*|\s+(?:or|and)\s+)(?:yes|no)\b", re.IGNORECASE)


def read_yes_no(response: str, printed: Sequence[int]) -> Answer:
    r"""Read whether the option that a question is about is said to be right.

    The first word decides, whatever its case: "Yes", "**No**,", "yes. Because". A label before it is skipped ("Answer:
    yes", "The right answer is yes"), and so is reasoning that ends in "</think>" or the like. "True", "Correct" and
    other languages say nothing: yes or no was asked for. Nor does "yes or no", which repeats the question.

    Args:
        response: What the model wrote; any text of any length.
        printed: Identity of the option that the question is about, alone.

    Returns:
        The option as selected for yes, none selected for no, or the reason why neither was said.

    Example:
        >>> read_yes_no("Yes, because ...", printed=[4]).selected, read_yes_no("**No**", printed=[4]).selected
        ((4,), ())
        >>> read_yes_no("Ice is water.", printed=[4]).reason.value
        'neither yes nor no'
    """
    head = head_of(response, _HEAD)
    label = LABEL.match(head)
    word = _FIRST_WORD.match(head, label.end() if label else 0)
    said = word.group(1).lower() if word else ""
    if said not in ("yes", "no") or (word and _OTHER_WORD.match(head, word.end())):
        return Answer(reason=why_nothing(head, Reason.NO_YES_OR_NO))
    return Answer(selected=tuple(printed) if said == "yes" else (), settled="\n" in head)


_PROPOSED = "\x01"
"""Stands for the text of the proposed answer."""

_STOPS = r"(?=\s?(?:[.,;:!)\]\n\"'*]|$|- )|\s(?:because|since|as|and|given|answer|choice|option|one|response)\b)"
_OPENING = re.compile(
    r"[\W_]*(?:(?P<word>yes|nope|no)\b(?!-|\s*/|\s+(?:or|and|problem|other|doubt|more|matter|one|further)\b)|"
    rf"(?P<not>not )?(?P<adjective>correct|right|true|incorrect|wrong|false)\b{_STOPS}(?!\s*/|\s+(?:or|and)\b))"
)
_STATED = re.compile(
    r"(?:\b(?:the|this|your)\s(?:(?:proposed|given|suggested|provided|stated|final|correct|right)\s)?"
    rf"(?:answer|statement|claim|option|choice|verdict)(?:,? [\"'(]?{_PROPOSED}[\"')]?,?)?|"
    rf"^[\W_]*(?:it|this|that)|{_PROPOSED}|\b(?:answer|verdict|conclusion)(?=[\"']?\s?:))[\"']?"
    r"(?:\sis|'s|\s?:|\sseems(?: to be)?|\sappears to be|\s(?:should|would|must) be)?(?P<not>n't| not)?"
    r"[\s:\"'(]{1,4}"
    r"(?:(?:indeed|therefore|clearly|most likely|likely|probably|definitely|also|the|a|an) ){0,3}"
    r"(?:(?P<word>yes|no)\b(?!-|\s*/|\s+(?:or|and)\b)(?=\W|$)|"
    rf"(?P<adjective>correct|right|true|accurate|incorrect|wrong|false|inaccurate)\b{_STOPS})"
)
_CONCLUDED = re.compile(
    rf"\b(?:therefore|so|thus|hence|i would say|i'd say|i say),? (?P<word>yes|no)\b(?P<not>){_STOPS}"
)
_AFFIRMATIVE = ("yes", "correct", "right", "true", "accurate")
_SHORTEST_TEXT = 3
_CLAUSE = re.compile(r"[.,;:!?\n]")
_OPENS = re.compile(r"\b(?:determine|doubt|doubtful|unclear|check|asks?|sure|see|know|evaluate|decide|verify)\b")


def find_yes_no(response: str, printed: Sequence[int], choices: Sequence[str]) -> Answer:
    r"""Find whether a response says that the proposed answer is right.

    Its first word says so ("Yes", "Correct.", "False,"), or a statement about the proposed answer: "The proposed answer
    is correct", "It isn't right" at the beginning, "The answer is no", "So, yes." A statement about another answer says
    nothing, and neither does one after "if", "whether" or "I don't think". Where these disagree, the first word stands
    unless its line names the other or an explicit correction takes it back, and else a conclusion counts.

    Args:
        response: What the model wrote; any text of any length.
        printed: Identity of the option that the question is about, alone.
        choices: Its text, alone.

    Returns:
        The option as selected for yes, none selected for no, or the reason why neither was said.

    Example:
        >>> find_yes_no("The proposed answer is correct.", [4], ["Fog"]).selected
        (4,)
        >>> find_yes_no("Fog is not right. Ice is the right answer.", [4], ["Fog"]).selected
        ()

    Source: the rules are ours.
    """
    said = after_reasoning(response)
    if not said or is_reasoning(said):
        return Answer(reason=why_nothing(said, Reason.EMPTY))
    text = lowered(plain(said))
    proposed = text_of_option(choices[0])
    if len(proposed) >= _SHORTEST_TEXT and _OPENING.match(proposed) is None:
        text = text.replace(proposed, _PROPOSED)
    opening = _OPENING.match(text)
    stated = [
        found for pattern in (_STATED, _CONCLUDED) for found in pattern.finditer(text, opening.end() if opening else 0)
    ]
    claims = sorted((claim for claim in stated if not _is_open(text, claim.start())), key=lambda claim: claim.start())
    claims = [*([opening] if opening else []), *claims]
    if not claims:
        return Answer(reason=why_nothing(said, Reason.NO_YES_OR_NO))
    counted = claims[0]
    if len({_says_yes(claim) for claim in claims}) > 1:
        last = last_counts(text, counted.end(), claims[-1].start(), at_front=counted is opening)
        if last is None:
            return Answer(reason=Reason.SEVERAL)
        counted = claims[-1] if last else counted
    settled = counted is opening and len(text[counted.end() :].partition("\n")[2].strip()) > 1
    return Answer(selected=tuple(printed) if _says_yes(counted) else (), settled=settled)


def _is_open(text: str, start: int) -> bool:
    """Whether the clause before a statement leaves it open, or denies it."""
    clause = _CLAUSE.split(text[max(0, start - _NEAR) : start])[-1]
    return leaves_open(clause) or _OPENS.search(clause) is not None


def _says_yes(claim: re.Match[str]) -> bool:
    groups = claim.groupdict()
    affirms = (groups["word"] or groups.get("adjective")) in _AFFIRMATIVE
    return affirms is not bool(groups["not"])


class YesNo(AnswerFormat):
    """Yes or no first, then an explanation.

    The paper had a chat model rewrite question and option as a statement; the template here keeps both.

    Source: MCQA+, section 3.2 (true or false); the wording is ours.
    """

    name = "yes_no"
    description = "yes or no"
    instruction = "Reply with yes or no first."

    def prompt(self, doc: Doc) -> str:
        """The instruction, the question and the proposed answer."""
        return render("yes_no", doc["question"], doc["choices"])

    def context(self, doc: Doc) -> str:
        """The question and the proposed answer."""
        return render("claim", doc["question"], doc["choices"])

    def scored(self, doc: Doc) -> list[str]:
        """The two words."""
        return ["yes", "no"]

    def target(self, doc: Doc) -> str:
        """Yes if the option is the right one."""
        return "yes" if doc["answer"] in doc["printed"] else "no"

    def exemplar(self, question: Question | OpenQuestion, like: Doc, claimed: int = 0) -> dict[str, Any]:
        """An exemplar about one option."""
        return self._exemplar(question, like, slice(claimed, claimed + 1))

    def strict(self, response: str, doc: Doc) -> Answer:
        """See `read_yes_no`."""
        return read_yes_no(response, doc["printed"])

    def flexible(self, response: str, doc: Doc) -> Answer:
        """See `find_yes_no`."""
        return find_yes_no(response, doc["printed"], doc["choices"])

    def pick(self, loglikelihoods: Sequence[Any], doc: Doc) -> Answer:
        """See `yes_or_no`."""
        return yes_or_no(loglikelihoods, doc["printed"])

    def is_correct(self, record: Record) -> bool:
        """Whether yes was said to the right option, or no to a wrong one."""
        return record.selected is not None and bool(record.selected) is (record.answer in record.printed)

    def said(self, record: Record, *, letters: bool) -> str | None:
        """The word."""
        return None if record.selected is None else "yes" if record.selected else "no"

    def reference(self, doc: Doc) -> list[str]:
        """The right word."""
        return [self.target(doc)]


YES_NO = YesNo()
