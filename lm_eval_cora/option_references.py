"""Find questions with an option that refers to other options, such as "All of the above"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lm_eval_cora.question import LETTERS

_WORDS = re.compile(
    r"\b(?:all|none|any|both|neither|either|some|one|two|three|each)(?: one)? of (?:the )?"
    r"(?:above|below|these|those|others?|other (?:options|answers|choices|alternatives)|"
    r"(?:listed |given )?(?:options|answers|choices|alternatives))\b"
    r"|\b(?:all|none|both|neither|either) (?:the )?above\b"
    r"|\b(?:the )?(?:options|answers|choices) (?:above|below)\b"
    r"|^\W*(?:all|none|both|neither) of (?:the )?(?:following|them)\W*$"
    r"|^\W*(?:both|neither)\W*$"
    r"|^\W*(?:all|both|neither) (?:are|is) (?:correct|right|true|incorrect|wrong|false)\W*$",
    re.IGNORECASE,
)
_LETTER = r"\(?[A-Z]\)?"
_LETTERS_ONLY = re.compile(
    rf"^\W*(?i:(?:both|either|neither|only|all|options?|answers?|choices?)[:,]? )*"
    rf"{_LETTER}(?:(?:,? (?:and|or|nor|&) |, ?| & |/){_LETTER})+(?: (?:only|both|are (?:correct|right|true)))?\W*$"
)
_NAMED_LETTER = re.compile(rf"\b(?:[Oo]ption|[Aa]nswer|[Cc]hoice|[Aa]lternative)s? {_LETTER}(?![\w'])")


def refers_to_options(choices: Sequence[str]) -> bool:
    """Whether an option refers to other options, so that its meaning changes if they are moved or removed.

    Three forms are found: phrases such as "All of the above", options that consist of printed letters ("Both A and B",
    "A, C only"), and options that name a printed letter ("Same as option B"). Other options with letters are ordinary
    ones ("Vitamins A and D"). Such rules on words miss some references and find some that are not there. They only
    mark questions and never change them.
    """
    printed = set(LETTERS[: len(choices)])
    return any(_WORDS.search(choice) or _names_letters(choice, printed) for choice in choices)


def _names_letters(choice: str, printed: set[str]) -> bool:
    found = _LETTERS_ONLY.match(choice) or _NAMED_LETTER.search(choice)
    return found is not None and set(re.findall(r"\b[A-Z]\b", found.group())) <= printed
