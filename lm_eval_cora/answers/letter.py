"""The formats that ask for the letter of one option, first or in a final sentence (SCORE), or for its text."""

import re

from lm_eval_cora.answers import Answer, Reason, Rule
from lm_eval_cora.answers.answer_format import AnswerFormat, Doc, picked_at
from lm_eval_cora.answers.plain import Edited, last_match, refused_or, skip
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.variants import template

_HEAD = 256
_ANSWER_LABEL = re.compile(r"(?i)[\W_]*answer[\W_]*?[:：][\s*_]*")
_TOKEN = re.compile(
    r"\s*(?![a-z]\s+\S)"  # a bare lower-case letter before other words is not an answer
    r"(?:(?=[AI]\s+(?P<next>\S))|)"  # nor is the word "A" or "I", before a character in lower case
    r"(?:[^\w\s]|_)*(?P<letter>[A-Za-z])(?:[^\w\s]|_)*(?!\S)"
)
"""A first token, up to white space, with exactly one letter or digit: a letter from A to Z."""


class Letter(AnswerFormat):
    """The letter of one option, then an explanation.

    The prompt states the paper's instruction in our own words and names the printed letters.

    Source: CoRA, section 5.
    """

    name = template.LETTER
    description = "a letter"
    instruction = "Reply with the letter first."
    picks_one = True

    def strict(self, said: str, doc: Doc) -> Answer:
        r"""Read the letter at the beginning of a response; only its first 256 characters are read.

        The letters and digits of the first token (up to white space) must be exactly one of the printed letters: "B",
        "(B)", "**B**", "B." and "b)" are read as B, "Based on" is invalid. This is the rule of the paper (CoRA, section
        5), with three changes:

        - "Answer: B" on the first line is read as B.
        - A bare "A" or "I" before a lower-case word on the same line is the English word ("A patient with"), not a
          letter.
        - A lower-case letter counts only if it is alone on its line or has punctuation: "b" and "b)", but not "b
          cells".

        Similar letters of other scripts (Cyrillic, fullwidth) do not count.

        Example:
            >>> LETTER.strict("(B) because ...", {"printed": [0, 4]}).picked
            4
            >>> LETTER.strict("C", {"printed": [0, 4]}).reason.value
            'letter out of range'
        """
        head = said[:_HEAD]
        line = (head.splitlines() or [""])[0]
        token = _TOKEN.match(line) or _TOKEN.match(line, skip(_ANSWER_LABEL, line, 0))
        if token is None or (token["next"] or "").islower():  # the word "A" or "I"
            return Answer(reason=refused_or(Reason.NO_LETTER, head))
        position = LETTERS.index(token["letter"].upper())
        return picked_at(position, doc, settled="\n" in head, rule=Rule.FIRST_WORD, span=(0, len(line)))

    def flexible(self, said: str, doc: Doc) -> Answer:
        """Find the option that a response chooses, see `find_letter`."""
        from lm_eval_cora.answers.choice import find_letter  # its patterns are slow to compile

        # If the prompt asks for the answer at the end, one at the very beginning has no precedence.
        return find_letter(said, doc, at_the_end=not self.answer_first)


_ANNOUNCEMENT = re.compile(r"(?i)best\s+answer\s+is")
_WINDOW = 200  # characters after the announcement that are searched for the letter
_WRAPPER = re.compile(
    r"\\(?:boxed|fbox|text(?:bf|it|rm|sf)?|math(?:bf|it|rm|sf))\b|&nbsp;|</?(?:b|i|u|em|strong|code|p|br|div|span) ?/?>"
)
_LETTER = re.compile(
    r"[\W_]*(?:(?i:the\s+)?(?i:option|choice|letter|answer)\b[\W_]*)?"
    # Not a word that looks like a single letter: "a diet", "I think", "I don't know".
    r"(?![ai][ \t]+[a-z]|I[ \t]+(?:am|believe|can|cannot|choose|do|feel|guess|have|know|need|say|suppose|think|will|"
    r"would|\w{2,7}n['’]?t)\b)(?P<letter>[A-Za-z])(?![^\W_]|['’-]\w)"
)


class BestAnswer(Letter):
    """A letter at the end of the response. The prompt is one of the benchmark's templates.

    Source: SCORE, section 3.2 and appendix B.
    """

    name = template.BEST_ANSWER
    description = "the best answer"
    instruction = "End with: The best answer is <letter>."
    answer_first = False

    def target(self, doc: Doc) -> str:
        """Return the final sentence with the right letter."""
        return f"The best answer is {super().target(doc)}."

    def strict(self, said: str, doc: Doc) -> Answer:
        r"""Read the letter after the last "best answer is" of a response.

        Upper and lower case are equivalent. A colon, line breaks, brackets, the word "option", punctuation and the
        markup of Markdown, LaTeX or HTML are ignored: "The best answer is: **(B)**." is read as B. These are not
        letters of an option: "[the_answer_letter]", which repeats the prompt; "a" or "i" before another word ("a
        balanced diet"); "I" before a verb ("I think").

        Example:
            >>> BEST_ANSWER.strict("Steam is hot, so the best answer is [B].", {"printed": [0, 4]}).picked
            4
            >>> BEST_ANSWER.strict("B", {"printed": [0, 4]}).reason.value
            'no best answer named'

        Source: SCORE, appendix B. The harness' own tasks require one space after "is", and take the whole response as
        the answer if it lacks these words.
        """
        announced = last_match(_ANNOUNCEMENT, said)
        if announced is None:
            return Answer(reason=refused_or(Reason.NO_BEST_ANSWER, said))
        text = Edited(said[: announced.end() + _WINDOW], announced.end())
        text.substitute(_WRAPPER, "")
        letter = _LETTER.match(text.text)
        if letter is None:
            return Answer(reason=Reason.NO_LETTER)
        span = text.span(*letter.span("letter"))
        return picked_at(LETTERS.index(letter["letter"].upper()), doc, rule=Rule.BEST_ANSWER, span=span)


class OptionText(Letter):
    """The text of one option, then an explanation. The prompt lists the options without labels.

    Source: ours.
    """

    name = template.OPTION_TEXT
    description = "the text of an option"
    instruction = "Reply with the text of one option first."

    def scored(self, doc: Doc) -> list[str]:
        """Return the texts of the options, which constrained models may write."""
        return list(doc["choices"])

    def tokens(self, doc: Doc) -> int:
        """Return an estimate of the tokens of the longest option, at most 128."""
        longest = max(map(len, map(str.encode, doc["choices"])))
        return 32 * min(4, 1 + longest // 96)  # about three bytes for a token; see `SelectAll.tokens`

    def strict(self, said: str, doc: Doc) -> Answer:
        """Read the first line if it is the text of one option.

        Example:
            >>> OPTION_TEXT.strict("• Ice", {"printed": [0, 4], "choices": ["Fog", "Ice"]}).picked
            4
        """
        line = said.partition("\n")[0]
        text, choices = line.removeprefix("• ").strip(), doc["choices"]
        if choices.count(text) != 1:
            return Answer(reason=refused_or(Reason.NO_LETTER, said))
        return picked_at(choices.index(text), doc, rule=Rule.TEXT, span=(0, len(line)))

    def flexible(self, said: str, doc: Doc) -> Answer:
        """Read the response like `strict`; else find the option that it chooses, see `find_letter`."""
        answer = self.strict(said, doc)
        return super().flexible(said, doc) if answer.reason else answer


LETTER = Letter()
BEST_ANSWER = BestAnswer()
OPTION_TEXT = OptionText()
