"""The true-or-false format of MCQA+ and REVAS, which asks whether one option is the right answer, yes or no."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from lm_eval_cora.answers import Answer, Found, Reason, Rule
from lm_eval_cora.answers.answer_format import AnswerFormat, Doc, as_numbers, claims, valid
from lm_eval_cora.answers.plain import FRONT, LABEL, Plain, lowered, refused_or, skip, text_of_option
from lm_eval_cora.variants import template

_HEAD = 256
_YES_OR_NO = re.compile(r"[\W_]*([Yy][Ee][Ss]|[Nn][Oo])(?![^\W\d_]|(?i:(?:\s*/\s*|\s+(?:or|and)\s+)(?:yes|no)\b))")
_INDISTINCT = re.compile(
    r"[\s\S]{0,2}\Z|(?:not|yes|nope|no|correct|right|true|accurate|incorrect|wrong|false|inaccurate)\b"
)
"""An option text that is too short to be searched for, or that begins with a word of a verdict."""
_PROPOSED = "X"  # stands for the text of the proposed answer in a text that is otherwise in lower case
_STOPS = r"(?=\s?(?:[.,;:!)\]\n\"'*]|$|- )|\s(?:because|since|as|and|given|answer|choice|option|one|response)\b)"
_CLAIMS = [
    # "yes", "not correct"
    (
        Rule.FIRST_WORD,
        re.compile(
            r"^[\W_]*(?:(?:yes|nope|no)\b(?!-|\s*/|\s+(?:or|and|problem|other|doubt|more|matter|one|further)\b)|"
            rf"(?:not )?(?:correct|right|true|incorrect|wrong|false)\b{_STOPS}(?!\s*/|\s+(?:or|and)\b))"
        ),
    ),
    # "the proposed answer is not correct", "the answer: yes"
    (
        Rule.ABOUT_PROPOSED,
        re.compile(
            r"(?:\b(?:the|this|your)\s(?:(?:proposed|given|suggested|provided|stated|final|correct|right)\s)?"
            rf"(?:answer|statement|claim|option|choice|verdict)(?:,? [\"'(]?{_PROPOSED}[\"')]?,?)?|"
            rf"^[\W_]*(?:it|this|that)|{_PROPOSED}|\b(?:answer|verdict|conclusion)(?=[\"']?\s?:))[\"']?"
            r"(?:\sis|'s|\s?:|\sseems(?: to be)?|\sappears to be|\s(?:should|would|must) be)?(?:n't| not)?"
            r"[\s:\"'(]{1,4}"
            r"(?:(?:indeed|therefore|clearly|most likely|likely|probably|definitely|also|the|a|an) ){0,3}"
            r"(?:(?:yes|no)\b(?!-|\s*/|\s+(?:or|and)\b)(?=\W|$)|"
            rf"(?:correct|right|true|accurate|incorrect|wrong|false|inaccurate)\b{_STOPS})"
        ),
    ),
    # A conclusion, which may also be part of a statement: "the answer is therefore yes".
    (
        Rule.ABOUT_PROPOSED,
        re.compile(rf"\b(?:therefore|so|thus|hence|wait|actually|i would say|i'd say|i say),? (?:yes|no)\b{_STOPS}"),
    ),
]
"""The claims about the proposed answer. Each ends with its verdict."""
_NEGATIVE = re.compile(r"n't|not|(?:nope|no|incorrect|wrong|false|inaccurate)\Z")
"""The negative words of a claim; it may have two: "not incorrect"."""


class YesNo(AnswerFormat):
    """Yes or no, then an explanation.

    In the paper a chat model rewrites question and option as a statement. Here a template prints both unchanged.

    Source: MCQA+, section 3.2 (true or false). The wording is our own.
    """

    name = template.YES_NO
    description = "yes or no"
    instruction = "Reply with yes or no first."
    shows = (1, 1)

    def scored(self, doc: Doc) -> list[str]:
        """Return the two words."""
        return ["yes", "no"]

    def target(self, doc: Doc) -> str:
        """Return "yes" if the proposed option is right, otherwise "no"."""
        return "yes" if doc["answer"] in doc["printed"] else "no"

    def strict(self, said: str, doc: Doc) -> Answer:
        """Read yes or no at the beginning of a response: "yes" selects the proposed option, "no" selects nothing.

        The first word decides, in upper or lower case: "Yes", "**No**,", "yes. Because". A label before it ("Answer:
        yes", "The right answer is yes") and reasoning that ends with "</think>" or similar are skipped. "True",
        "Correct" and words of other languages are invalid, because the prompt asks for yes or no. "Yes or no" repeats
        the question and is invalid, too.

        Example:
            >>> YES_NO.strict("Yes, because ...", {"printed": [4]}).selected
            (4,)
        """
        head = said[:_HEAD]
        word = _YES_OR_NO.match(head, skip(LABEL, head, 0))
        if word is None:
            return Answer(reason=refused_or(Reason.NO_YES_OR_NO, head))
        return Answer(
            selected=tuple(doc["printed"]) if word[1].lower() == "yes" else (),
            settled="\n" in head,
            rule=Rule.FIRST_WORD,
            span=word.span(1),
        )

    def flexible(self, said: str, doc: Doc) -> Answer:
        """Find whether a response calls the proposed answer right.

        Two things count: the first word ("Yes", "Correct.", "False,"), and a statement about the proposed answer: "The
        proposed answer is correct", "It isn't right" at the beginning, "The answer is no", "So, yes." A statement about
        another answer does not count, nor does one after "if", "whether" or "I don't think". If several of these
        disagree, the first word is kept unless the same line disagrees with it or an explicit correction follows.
        Otherwise a conclusion counts.

        Example:
            >>> doc = {"printed": [4], "choices": ["Fog"]}
            >>> YES_NO.flexible("Fog is not right. Ice is the right answer.", doc).selected
            ()
        """
        plain = Plain(said)
        plain.text = lowered(plain.text)
        proposed = text_of_option(doc["choices"][0])
        if _INDISTINCT.match(proposed) is None:
            plain.substitute(re.compile(rf"(?<!\w){re.escape(proposed)}(?!\w)"), _PROPOSED)
        text = plain.text
        found = claims(text, _CLAIMS, _open(), 80)
        claim = _deciding(text, valid(found), said)
        if isinstance(claim, Reason):
            return plain.traced(Answer(reason=claim, found=tuple(found)))
        answer = Answer(
            selected=tuple(doc["printed"]) if _says_yes(text, claim) else (),
            settled=claim.rule is Rule.FIRST_WORD and len(text[claim.end :].partition("\n")[2].strip()) > 1,
            rule=claim.rule,
            span=(skip(FRONT, text, claim.start), claim.end),
        )
        return plain.traced(answer)

    def pick(self, loglikelihoods: Sequence[Any], doc: Doc, unseen: float | None = None) -> Answer:
        """Compare the log-likelihoods of "yes" and "no"."""
        chosen = super().pick(loglikelihoods, {"printed": self.scored(doc)}, unseen)
        if chosen.reason:
            return chosen
        yes, no = as_numbers(loglikelihoods)
        selected = tuple(doc["printed"]) if chosen.position == 0 else ()
        return Answer(selected=selected, tied=chosen.tied, likelihood_yes=yes, likelihood_no=no)

    def said(self, answer: Answer, printed: Sequence[int], *, letters: bool) -> str | None:
        """Return "yes" or "no"."""
        return None if answer.selected is None else "yes" if answer.selected else "no"

    def reference(self, doc: Doc) -> list[str]:
        """Return the right word."""
        return [self.target(doc)]


@cache
def _open() -> re.Pattern[str]:
    """A word that doubts or negates what follows in the same clause."""
    from lm_eval_cora.answers.rules import LEAVES_OPEN  # slow to compile

    words = "determine|doubt|doubtful|unclear|check|asks?|sure|see|know|evaluate|decide|verify"
    return re.compile(rf"(?:(?i:{LEAVES_OPEN.pattern})|\b(?:{words})\b)[^.,;:!?\n]*\Z")


def _deciding(text: str, found: Sequence[Found], said: str) -> Found | Reason:
    """Return the claim that counts among those that are not doubted."""
    from lm_eval_cora.answers.choice import last_counts  # its patterns are slow to compile

    if not found:
        return refused_or(Reason.NO_YES_OR_NO, said)
    first, last = found[0], found[-1]
    if len({_says_yes(text, claim) for claim in found}) == 1:
        return first
    is_last = last_counts(text, first.end, last.start, at_front=first.rule is Rule.FIRST_WORD)
    return Reason.SEVERAL if is_last is None else last if is_last else first


def _says_yes(text: str, claim: Found) -> bool:
    """Whether a claim affirms: it has an even number of negative words."""
    return len(_NEGATIVE.findall(text[claim.start : claim.end])) % 2 == 0


YES_NO = YesNo()
