"""Find the right option from the answer: a label, a letter, an index, the option's text, or a list of 0 and 1."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn, get_args
from unicodedata import normalize

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.cells import parse_cell
from lm_eval_cora.questions.question import LETTERS, UnusableQuestion, one_line, shorten, shown

Reading = Literal["label", "letter", "index", "text", "first"]
"""How to interpret an answer. With "first" the first option is right, and the answer is ignored."""

READINGS: tuple[Reading, ...] = get_args(Reading)
LABEL, LETTER, INDEX, TEXT, FIRST = READINGS
_FRAME = " \t\r\n()[]{}.:"
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.0+)?")
_DECIMAL = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_BETWEEN = re.compile(r"[,;/|&+]|\band\b|(?<=[A-Z])\s*(?=[A-Z])")  # what separates several answers
ENOUGH = 10  # with this many rows or more, it is suspicious if one option is always right
Meanings = Mapping[Reading, int]  # the index of the option for each possible reading of an answer


class Draft(NamedTuple):
    """A question whose answer has not been read yet: `check` is a second cell that must name the same option."""

    id: str
    stem: str
    options: tuple[str, ...]
    labels: Sequence[str] | None
    answer: Any
    check: Any
    category: str
    where: str
    cluster: str = ""


def meanings(answer: Any, draft: Draft, first: int = 0) -> Meanings:
    """Return every option that an answer may mean. Case and the punctuation in "(C)" and "C." are ignored."""
    options, labels = draft.options, draft.labels
    answer = _alone(answer)
    if isinstance(answer, list | tuple):
        marks_one = all(one in (0, 1) for one in answer) and sum(answer) == 1
        return {INDEX: list(answer).index(1)} if marks_one and len(answer) == len(options) else {}
    if (bare := _bare(answer)) is None:
        return {}
    text = str(answer).strip()
    found = {}
    if (place := _only(text, labels or (), bare)) is not None:
        found[LABEL] = place
    if bare.isascii() and bare.upper() in list(LETTERS[: len(options)]):
        found[LETTER] = LETTERS.index(bare.upper())
    if _NUMBER.fullmatch(bare) and 0 <= (index := int(float(bare)) - first) < len(options):
        found[INDEX] = index
    if (place := _only(text, options)) is not None:
        found[TEXT] = place
    return found


def _are_several(draft: Draft, first: int) -> bool:
    """Whether an answer names several options, such as "A, C", ["A", "C"] or the marks [1, 0, 1]."""
    parts = _alone(draft.answer)
    parts = _BETWEEN.split(parts) if isinstance(parts, str) else parts
    if not isinstance(parts, list | tuple):
        return False
    return len({*map(str, parts)}) > 1 and all(meanings(part, draft, first) for part in parts)


def _alone(answer: Any) -> Any:
    """Take an answer out of a list of one, which may be written as text."""
    answer = parse_cell(answer) if isinstance(answer, str) and answer[:1] in "[{" else answer
    return answer[0] if isinstance(answer, list | tuple) and len(answer) == 1 else answer


def _bare(answer: Any) -> str | None:
    """Return an answer without the punctuation around it; None if it is not a text or a number."""
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        return None
    return str(answer).strip().strip(_FRAME)


def _only(text: str, texts: Sequence[str], bare: str | None = None) -> int | None:
    """The index of a text among others: equal, or else the only one but for case, white space, 1.0 and punctuation."""
    exact = [other.strip() for other in texts]
    if text in exact:
        return exact.index(text)
    plain = plain_form(text if bare is None else bare)
    others = [plain_form(other if bare is None else other.strip(_FRAME)) for other in texts]
    return others.index(plain) if others.count(plain) == 1 else None


def plain_form(text: str) -> str | float:
    """Normalise a text for comparison: its value if it is a number, otherwise its words without case."""
    plain = one_line(normalize("NFC", text)).casefold()
    return float(plain) if _DECIMAL.fullmatch(plain) else plain


@dataclass(frozen=True)
class AnswerKey:
    """The way in which the answers of a source name the right option, as far as it is declared."""

    first: int | None = None  # the number of the first option; answers are then indices or letters
    reading: Reading | None = None

    def settle(self, drafts: Sequence[Draft], name: str) -> tuple[list[int | UnusableQuestion], list[str]]:
        """Read the answers by all rows together: a single row may be ambiguous, such as "1" for the options 1, 2, 3."""
        found = list(map(self._meanings, drafts))
        readable = [one for one in found if one]
        allowed = frozenset(READINGS if readable else ()).intersection(*readable)
        if has_labels := any(LABEL in one for one in readable):  # of indices from 0, labels from 1 would be most
            allowed &= {LABEL}
        notes = [] if has_labels else self._suspicious_numbers(drafts, allowed, name)
        if readable and not allowed:
            _raise_for_mixture(drafts, found, name)
        return [self._place(draft, one, allowed, name) for draft, one in zip(drafts, found, strict=True)], notes

    def _meanings(self, draft: Draft) -> Meanings:
        if type(draft.answer) is int and self.first is not None:  # most rows of large benchmarks
            index = draft.answer - self.first
            return {INDEX: index} if 0 <= index < len(draft.options) else {}
        every = meanings(draft.answer, draft, self.first or 0)
        wanted = READINGS if self.first is None else (INDEX, LETTER)
        return {reading: every[reading] for reading in every if reading in ([self.reading] if self.reading else wanted)}

    def _place(self, draft: Draft, found: Meanings, allowed: frozenset[Reading], name: str) -> int | UnusableQuestion:
        """Return the index of the right option, or why there is none."""
        places = {0} if self.reading == FIRST else {*found.values()}
        if len(places) > 1:
            places = {place for reading, place in found.items() if reading in allowed}
        if len(places) > 1:
            readings = " and ".join(f"{reading} of option {place}" for reading, place in found.items())
            raise UserError(
                f"{name}: {draft.where}: an answer with two meanings: {shown(draft.answer)} is the {readings}. "
                f"Set 'answer_is': {' or '.join(map(repr, found))}"
            )
        if not places and _are_several(draft, self.first or 0):
            return UnusableQuestion("two right options or more", f"the answer is {shown(draft.answer)}")
        if not places:
            return UnusableQuestion(
                "an answer outside the options",
                f"{shown(draft.answer)} is not {self._expected(draft)} of one of the {len(draft.options)} options",
            )
        place = places.pop()
        if draft.check not in (None, "") and place not in meanings(draft.check, draft, self.first or 0).values():
            answer, option, check = map(shown, (draft.answer, draft.options[place], draft.check))
            contradiction = f"{answer} is {option}, but 'answer_check' is {check}"
            return UnusableQuestion("two answers that contradict each other", contradiction)
        return place

    def _expected(self, draft: Draft) -> str:
        if self.reading:
            return f"the {self.reading}"
        if self.first is None and draft.labels:
            return f"the label ({shorten(', '.join(draft.labels), 80)})"
        first = self.first or 0
        other = ", the letter or the text" if self.first is None else " or the letter"
        return f"an index from {first} to {first + len(draft.options) - 1}{other}"

    def _suspicious_numbers(self, drafts: Sequence[Draft], allowed: frozenset[Reading], name: str) -> list[str]:
        """Check for indices from another number: more lie just beyond one end of the range than at the opposite end."""
        if allowed & {TEXT, LETTER} or self.reading not in (None, INDEX):
            return []
        first = self.first or 0
        bare = [(_bare(_alone(draft.answer)) or "", draft) for draft in drafts]
        numbers = [(int(float(text)) - first, draft) for text, draft in bare if _NUMBER.fullmatch(text)]
        from_begin = Counter(number for number, _ in numbers)
        from_end = Counter(number - len(draft.options) for number, draft in numbers)
        above, below = from_end[0] > from_begin[0], first != 0 and from_begin[-1] > from_end[-1]
        if above or below:
            begin = first + 1 if above else first - 1
            raise UserError(
                f"{name}: expected answers that count the options from {first}, got numbers that seem to "
                f"count from {begin}. If they do, set 'answer_from': {begin}"
            )
        inside = [each for each in numbers if 0 < each[0] < len(each[1].options)]
        if self.first is not None or from_begin[0] or not inside:
            return []
        number, draft = inside[0]
        return [
            f"no answer is 0, so they may count from 1 ({draft.where} is read as {shown(draft.options[number])}, "
            f"not as {shown(draft.options[number - 1])}). If they do, set 'answer_from': 1; otherwise set "
            "'answer_from': 0"
        ]


def _raise_for_mixture(drafts: Sequence[Draft], found: Sequence[Meanings], name: str) -> NoReturn:
    """Raise an error because no reading fits all answers, such as a letter in one row and an index in another."""
    kinds = dict[Reading, str]()
    for draft, one in zip(drafts, found, strict=True):
        for reading in one:
            kinds.setdefault(reading, f"{draft.where}: {shown(draft.answer)}")
    listed = ", ".join(f"{reading} ({example})" for reading, example in kinds.items())
    raise UserError(
        f"{name}: the answers are of different kinds: {listed}. Write all answers in the same way, or set 'answer_is' "
        f"to the kind to read: {' or '.join(map(repr, kinds))}"
    )
