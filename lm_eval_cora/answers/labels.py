"""Labels of options other than A, B, C: "3번" and "opción 3" become "C번" and "opción C" before a response is read."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from lm_eval_cora.answers.announced import languages
from lm_eval_cora.answers.plain import Edited
from lm_eval_cora.questions.question import LETTERS

_NEAR = 40  # characters before a label that may announce it
_COUNTER = "번|番|号|號|项|項"
_BEFORE = re.compile(r"\A|[^\w]|第")
_LIKE_A_LABEL = re.compile(rf"(?![^\S\n]{{0,9}}\w)|[*_]{{0,2}}(?:{_COUNTER})")
"""What follows a label: the end of a line, a mark, or a counter."""
_MARKS = r"[\s:\"'(\[*_-]{0,6}"
_DIGIT_FORMS = (0x245F, 0x2775, 0xFF10)  # one before the circled, the black circled and the full-width digit 1


@lru_cache(maxsize=256)
def _label(labels: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern of labels and the letter of each."""
    letters = dict(zip(labels, LETTERS, strict=False))
    digits = {label: int(label) for label in labels if label.isascii() and label.isdigit() and 0 < int(label) < 10}
    letters |= {chr(form + value): letters[label] for label, value in digits.items() for form in _DIGIT_FORMS}
    forms = "|".join(map(re.escape, sorted(letters, key=len, reverse=True)))
    return re.compile(rf"(?<![\d.,])(?:{forms})(?![.,]?\d|\s?%)"), letters


@cache
def _announcing() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what stands before a label that is announced in any language, and what may then follow it."""
    phrases = {
        kind: "|".join(one.words(kind) for one in languages().values()) for kind in ("answer", "option", "is", "ends")
    }
    noun = rf"(?:\b(?:answer|option|choice|statement|number|no\.?|nr\.?)|№|{phrases['answer']}|{phrases['option']})"
    joint = rf"(?:{_MARKS}(?:is|{phrases['is']}))?"
    return (
        re.compile(rf"{noun}{joint}{_MARKS}\Z", re.IGNORECASE),
        re.compile(rf"(?!\w)|{_COUNTER}|{phrases['ends']}|{phrases['is']}", re.IGNORECASE),
    )


def in_letters(response: str, labels: Sequence[str], options: Sequence[str] = ()) -> Edited:
    """Replace labels such as 1 to 4 by letters where they stand like a label, or where words announce them.

    Elsewhere they may be numbers or words, such as "3 apples", so a label there is not read.

    Example:
        >>> in_letters("Die 3 Optionen: 2) ist falsch. Antwort: **3**", ("1", "2", "3")).text
        'Die 3 Optionen: B) ist falsch. Antwort: **C**'
        >>> in_letters("정답은 3번입니다. La opción 3 porque ...", ("1", "2", "3")).text
        '정답은 C번입니다. La opción C porque ...'
    """
    text = Edited(response)
    pattern, letters = _label(tuple(labels))

    def in_letter(label: re.Match[str]) -> str:
        start, end = label.span()
        if any(len(option) > len(label[0]) and response.startswith(option, start) for option in options):
            return label[0]
        if _BEFORE.match(response, max(0, start - 1)) and _LIKE_A_LABEL.match(response, end):
            return letters[label[0]]
        before, after = _announcing()
        is_announced = after.match(response, end) and before.search(response[max(0, start - _NEAR) : start])
        return letters[label[0]] if is_announced else label[0]

    text.substitute(pattern, in_letter)
    return text
