r"""The format of MATH in SCORE, which asks for an answer in a box: "\boxed{\frac{1}{2}}"."""

import re
from dataclasses import replace

from lm_eval_cora.answers import Answer, Reason, Rule, voided
from lm_eval_cora.answers.answer_format import AnswerFormat, Doc, claims, last_of
from lm_eval_cora.answers.plain import refused_or
from lm_eval_cora.questions.latex import BOX, box_content, is_box
from lm_eval_cora.variants import template

_LONGEST = 1_000  # characters of an answer; the longest one of MATH has fewer than 200
_PLACEHOLDER = re.compile(r"(?i)(?:\\(?:text|mathrm|textbf)\{)?\s*[\[<{]?\s*answer\s*[\]>}]?\s*\}?|\.\.\.|…|")
"""Content of a box that is not an answer: the words of the prompt, or nothing."""
_ANNOUNCED = re.compile(
    r"(?i)\banswer(?: (?:to|of|for)\b[^.:\n]{0,60}?)?(?: is\b| (?:must|should) be\b| equals\b|[*_]{0,2} ?[:：])"
    r"[*_ :]{0,4}\n{0,2} {0,4}"
    r"(?:(?:therefore|thus|then|clearly|simply|just|equal to|exactly|approximately|about),? ){0,2}"
)
_FORMULA = re.compile(r"\$\$?\s?((?:\\\$|[^$\n]){1,1000}?)\s?\$|\\[(\[]\s?([^\n]{1,1000}?)\s?\\[)\]]")
_PHRASE = re.compile(
    r"(?i)(?!(?:the )?(?:final )?answer\b|(?:not|correct|incorrect|right|wrong|true|false|yes|no|found|given|obtained|"
    r"clear|unclear|unknown|that|to|we|i|what|in|by|divide|multiply|add|subtract|first|let)\b)"
    r"[^\s$\\](?:[^\n.!;]|[.](?=\d)|[!](?=\w)){0,200}"
)
_GOES_ON = re.compile(r"(?i),\s|\s(?:because|since|which|where|so|as|but|and therefore)\b")
_LEAVES_OPEN = re.compile(r"(?i)\b(?:if|whether|hope|suppose|find|assume|not)\b[^.\n]{0,30}$")


class Boxed(AnswerFormat):
    """The model's own answer in a box at the end of the response, compared with the reference answer.

    Source: SCORE, section 3.2 and appendix B (MATH).
    """

    name = template.BOXED
    description = "a boxed answer"
    instruction = "End with the final answer in a box."
    answer_first = False
    is_open = True
    shows = (0, 0)

    def target(self, doc: Doc) -> str:
        """Return the final sentence with the reference answer in a box."""
        return f"The final answer is: $\\boxed{{{doc['answer']}}}$"

    def strict(self, said: str, doc: Doc) -> Answer:
        r"""Read the answer in the last \boxed or \fbox of a response, as the model wrote it.

        Braces inside the box must be balanced; escaped braces (\{) do not count. Braces may be missing as TeX allows:
        "\boxed 5" is 5. In any other case, \boxed without a brace is a word and not a box. "\boxed{answer}", which
        repeats the prompt, is not an answer. If the last box is not closed, the response was cut off and is invalid,
        even if it has earlier boxes. So is an answer of more than 1,000 characters.

        Example:
            >>> BOXED.strict(r"So $\boxed{2}$ halves make $\boxed{\frac{2}{2}}$.", {}).written
            '\\frac{2}{2}'

        Source: SCORE, appendix B (MATH).
        """
        starts = [box.end() for box in BOX.finditer(said) if is_box(said, box.end())]
        if not starts:
            return Answer(reason=refused_or(Reason.NO_BOX, said))
        content = box_content(said, starts[-1])
        written = (said[starts[-1] :] if content is None else content).strip()
        answer = _written_at(starts[-1], written, said, Rule.LAST_BOX)
        if content is None:
            return voided(answer, Reason.UNCLOSED_BOX)
        if _PLACEHOLDER.fullmatch(written):
            return voided(answer, Reason.PLACEHOLDER if written else Reason.EMPTY_BOX)
        return voided(answer, Reason.TOO_LONG) if len(written) > _LONGEST else answer

    def flexible(self, said: str, doc: Doc) -> Answer:
        r"""Find the answer of a response: in its last box, or without a box after the last "answer is" or "answer:".

        It is the formula there ("$5$"), or the words up to a comma or the end of the sentence.

        Example:
            >>> BOXED.flexible(r"Therefore, the final answer is $\frac{1}{2}$. I hope it is right.", {}).written
            '\\frac{1}{2}'
        """
        boxed = self.strict(said, doc)
        if boxed.reason is not Reason.NO_BOX:
            return boxed
        found = claims(said, [(Rule.STATED, _ANNOUNCED)], _LEAVES_OPEN)
        for claim in last_of(found):
            written = _first_answer(said[claim.end : claim.end + _LONGEST])
            if not _PLACEHOLDER.fullmatch(written):
                return _written_at(claim.end, written, said, claim.rule)
        return replace(boxed, found=tuple(found))

    def reference(self, doc: Doc) -> list[str]:
        """Return the reference answer."""
        return [str(doc["answer"])]


def _written_at(start: int, written: str, said: str, rule: Rule) -> Answer:
    start = said.index(written, start)
    return Answer(written=written, rule=rule, span=(start, start + len(written)))


def _first_answer(text: str) -> str:
    """Return the formula or phrase at the beginning of a text, after an announcement; empty if there is none."""
    if formula := _FORMULA.match(text):
        return (formula[1] or formula[2]).strip()
    phrase = _PHRASE.match(text)
    return _GOES_ON.split(phrase[0])[0].strip().rstrip(".").strip("*_` ") if phrase else ""


BOXED = Boxed()
