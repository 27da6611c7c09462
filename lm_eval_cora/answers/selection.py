"""Read the letters of all options that a response says are right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.head import head_of, why_nothing
from lm_eval_cora.question import LETTERS

_HEAD = 1024

_LABEL = re.compile(
    r"[\W_]*(?:the |all )*(?:right |correct )?(?:answer|choice|option|letter)s?(?: are| is)?[\W_]*?[:：][\s*_]*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:[-•*]|\d+[.)])\s+")
_SEPARATOR = re.compile(r"(?:[\s,;/&+|]|\band\b)*", re.IGNORECASE)
_LETTER = re.compile(r"[(\[{*_\"'`]*([A-Za-z])([)\]}*_\"'`.:]*(?:\s+[-–—](?=\s))?)(?![^\W_]|['’])")
_LATER_LETTER = re.compile(r"(?:[,;&]|\band\b)\s*[(\[{*_]*([A-Z])([)\]}*_.:]+|\s+[-–—])(?=\s)")
_MARK = re.compile(r"[.):–—-]")
_IN_ONE_WORD = re.compile(r"[\W_]*([A-Z]{2,})[\W_]*")


class _Line(NamedTuple):
    """A line of a response: the letters that it begins with, the marks behind the last one, and what else it says."""

    letters: list[str]
    marks: str
    rest: str


def read_selection(response: str, printed: Sequence[int]) -> Answer:
    r"""Read which of the printed options a response selects: one letter or more.

    The letters that the first line begins with count: "A", "A and C", "A, C", "(A) (C)", "ACD", "B. Fog, C. Dew". If
    it is a single letter, alone or before the text of its option, the following lines count as long as they look the
    same ("A\nC", "- B. Fog\n- C. Dew"). Letters in an explanation do not count. As in `read_letter` a label before
    the letters and reasoning are skipped, a bare "A" or "I" before a lower-case word is a word, and a lower-case
    letter counts only on a line of letters or with punctuation. "All of the above" names no letter.

    Args:
        response: What the model wrote. Any text is accepted, of any length; only the first 1,024 characters after
            leading white space are looked at, in linear time.
        printed: Identity of each printed option, in printed order; its length says which letters were printed.

    Returns:
        The options named, in printed order, or the reason why there are none; a letter that was not printed makes the
        whole answer invalid.

    Example:
        >>> read_selection("A and C", printed=[0, 4, 2]).selected
        (0, 2)
        >>> read_selection("All of the above", printed=[0, 4, 2]).reason.value
        'no letter'

    Source: REVAS, section 4 (multi-selection); the rule is ours.
    """
    head = head_of(response, _HEAD)
    letters = _letters(head) or _letters(head[label.end() :] if (label := _LABEL.match(head)) else "")
    if not letters:
        return Answer(reason=why_nothing(head, Reason.NO_LETTER))
    positions = sorted({LETTERS.index(letter) for letter in letters})
    if positions[-1] >= len(printed):
        return Answer(reason=Reason.OUT_OF_RANGE)
    return Answer(selected=tuple(dict.fromkeys(printed[position] for position in positions)))


def _letters(text: str) -> list[str]:
    lines = (_read_line(line) for line in text.strip().splitlines())
    first = next(lines, _Line([], "", ""))
    letters = first.letters
    if len(letters) == 1 and _is_list(first):
        letters = letters + [letter for letter, marks in _LATER_LETTER.findall(first.rest) if marks == first.marks]
        letters += _following(lines, first)
    return letters


def _is_list(line: _Line) -> bool:
    """Whether a line may be one of several: a letter alone, or with a mark before the text of its option."""
    return not line.rest or bool(_MARK.search(line.marks))


def _following(lines: Iterator[_Line], first: _Line) -> Iterator[str]:
    """The letters of the lines that look like the first one."""
    for line in lines:
        if not line.letters and not line.rest and not first.rest:
            continue  # an empty line between letters that stand alone
        if len(line.letters) != 1 or line.marks != first.marks or bool(line.rest) != bool(first.rest):
            return
        yield line.letters[0]


def _read_line(line: str) -> _Line:
    if (word := _IN_ONE_WORD.fullmatch(line)) and list(word.group(1)) == sorted(set(word.group(1))):
        return _Line(list(word.group(1)), "", "")
    if bullet := _BULLET.match(line):
        line = line[bullet.end() :]
    position = 0
    found: list[re.Match[str]] = []
    while match := _LETTER.match(line, start := _skip_separator(line, position)):
        if found and _MARK.search(found[-1].group(2)) and not match.group(2) and line[position:start].isspace():
            break  # "A. x": an option whose text is a letter
        found.append(match)
        position = match.end()
    rest = line[_skip_separator(line, position) :]
    if rest:
        # A bare letter before other words may be a word itself.
        if found and found[-1].group() in ("A", "I") and rest[0].islower():
            found.pop()
        found = [match for match in found if not (match.group().islower() and len(match.group()) == 1)]
    return _Line([match.group(1).upper() for match in found], found[-1].group(2) if found else "", rest.strip())


def _skip_separator(line: str, position: int) -> int:
    separator = _SEPARATOR.match(line, position)
    return separator.end() if separator else position
