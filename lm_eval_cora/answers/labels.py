"""Labels of options other than A, B, C: "3번" and "opción 3" become "C번" and "opción C" before a response is read."""

import re
from collections.abc import Sequence
from functools import cache

from lm_eval_cora.answers.announced import languages
from lm_eval_cora.answers.plain import HALF, Edited, plain, start_of_answer
from lm_eval_cora.questions.question import LETTERS, UNSPACED

_NEAR = 40  # characters before a label that may announce it
_COUNTER = "[번番号號项項]"
_MEASURE = "[개가つ個个名人年月日回度種种本倍件条点%分]"  # "3 things"
_DIGITS = str.maketrans("①②③④⑤⑥⑦⑧⑨❶❷❸❹❺❻❼❽❾１２３４５６７８９", "123456789" * 3)
_LIKE_A_LABEL = re.compile(rf"(?![^\S\n]{{0,9}}\w)|[*_]{{0,2}}{_COUNTER}|[^\S\n](?:and|or)\b|(?<=[^\w\s])")
"""What follows a label: the end of a line, a mark, a counter, or another label. Anything may follow a symbol."""
_GOES_ON = re.compile(r"[^\S\n](?:because|since|is (?:the )?(?:correct|right|best|only|most|answer))\b")
"""What follows a label that begins a line, or is announced."""
_AFTER_ANNOUNCEMENT = re.compile(
    rf"{_GOES_ON.pattern}|(?:(?<=\d)|(?<=[IVX]{{2}}))(?!\w)|{_COUNTER}|(?<=\d)(?=[{UNSPACED}])(?!{_MEASURE})|[^\w\s]|です|だ|입니|이다|[이은는을를가와과](?!\w)"
)
"""What follows a label that is announced. A word may follow a number, but other labels may be words themselves."""
_NO_LABEL_AFTER = (re.compile(r"[^\W第]\Z"), re.compile(r"[^\s(\[*][^\n]*\Z"))
_OTHERS = r"(?:[^\W_]{1,3}?(?:, ?|[と和与及와과번番]{1,2} ?| (?:and|or) )){0,4}"  # "3 and 4"
_MARKS = r"[\s:\"'(\[*_-]{0,6}"


@cache
def _announcing() -> re.Pattern[str]:
    """Return a pattern for the text directly before an announced label, in any language."""
    nouns = "|".join(language.any_of("answer", "option", "choose").pattern for language in languages().values())
    joints = "|".join(language.any_of("is").pattern for language in languages().values())
    noun = rf"\b(?:answers?|options?|choice|statement|number|no\.?|nr\.?)|№|{nouns}"
    return re.compile(rf"(?:{noun})(?:{_MARKS}(?:is|are|{joints}))?{_MARKS}{_OTHERS}\Z", re.IGNORECASE)


def put_into_letters(text: Edited, labels: Sequence[str], options: Sequence[str] = ()) -> None:
    """Replace labels such as 1 to 4 by letters where they stand like a label, or where words announce them.

    Elsewhere they may be numbers or words, such as "3 apples", so a label there is not read.

    Example:
        >>> text = Edited("Die 3 Optionen: 2) ist falsch. Antwort: **3**. 정답은 3번입니다. La opción 3 porque ...")
        >>> put_into_letters(text, ("1", "2", "3"))
        >>> text.text
        'Die 3 Optionen: B) ist falsch. Antwort: **C**. 정답은 C번입니다. La opción C porque ...'
    """
    # If options are numbers themselves, only a label that is announced or begins a line is one.
    is_ambiguous = not set(labels).isdisjoint(options)
    begin = start_of_answer(text.text)
    text.text = text.text.translate(_DIGITS)
    cases = (str.upper, str.capitalize, str)  # "II" is ii
    letters = {case(label): letter for case in cases for label, letter in zip(labels, LETTERS, strict=False)}
    forms = "|".join(map(re.escape, sorted(letters, key=len, reverse=True)))

    def in_letter(label: re.Match[str]) -> str:
        start, end = label.span()
        said = label.string
        before = said[max(0, start - _NEAR) : start]
        if start < begin or HALF < start < len(said) - HALF:  # it is not read
            return label[0]
        if any(len(option) > len(label[0]) and said.startswith(option, start) for option in options):
            return label[0]
        stands = _LIKE_A_LABEL.match(said, end) and not _NO_LABEL_AFTER[is_ambiguous].search(before)
        begins = _GOES_ON.match(said, end) and not _NO_LABEL_AFTER[True].search(before)
        announced = stands or begins or (_AFTER_ANNOUNCEMENT.match(said, end) and _announcing().search(plain(before)))
        return letters[label[0]] if announced else label[0]

    text.substitute(re.compile(rf"(?<![\d.,$=-])(?<!= )(?<!\d[).] )(?:{forms})(?![.,]?\d|\.[a-z]\.|\s?%)"), in_letter)
