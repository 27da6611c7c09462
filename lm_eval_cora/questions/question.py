"""Questions and the identity of their options."""

import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Literal

LETTERS = string.ascii_uppercase  # of printed options, in order
SEQUENCES = (
    "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    " ".join(map(str, range(1, 27))),
    " ".join(map(str, range(26))),
    "أ ب ج د هـ و ز ح ط ي ك ل م ن س ع ف ص ق ر ش ت ث خ ذ ض",
    "أ ب ج د ه و ز ح ط ي ك ل م ن س ع ف ص ق ر ش ت ث خ ذ ض",
    "А Б В Г Д Е Ж З И К Л М Н О П Р С Т У Ф Х Ц Ч Ш Щ Э",
    "Α Β Γ Δ Ε Ζ Η Θ Ι Κ Λ Μ Ν Ξ Ο Π Ρ Σ Τ Υ Φ Χ Ψ Ω",
    "ア イ ウ エ オ カ キ ク ケ コ サ シ ス セ ソ タ チ ツ テ ト ナ ニ ヌ ネ ノ ハ",
    "가 나 다 라 마 바 사 아 자 차 카 타 파 하",
    "甲 乙 丙 丁 戊 己 庚 辛 壬 癸",
    "الف ب ج د ه و",
    "क ख ग घ ङ च",
    "ক খ গ ঘ ঙ চ",
    "ㄱ ㄴ ㄷ ㄹ ㅁ ㅂ",
    "ก ข ค ง จ ฉ",
    "① ② ③ ④ ⑤ ⑥ ⑦ ⑧ ⑨",
    "I II III IV V VI VII VIII IX X XI XII",
)
"""Labels of options in their order."""
MAX_OPTIONS = len(LETTERS)
# Scripts that join a letter to a word. Korean has spaces between words but none before the particles after a letter;
# `runs.printed` needs the scripts without spaces between words, which are others.
UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
# Identities of options; those of the source have the identities 0 to 25.
NOTA = MAX_OPTIONS  # the option "None of the above"
FIRST_FILLER = NOTA + 1  # a question's first filler (an option without meaning); the others have the next numbers
ABSTAIN = FIRST_FILLER + MAX_OPTIONS  # the option "I don't know", which is never right
Form = Literal["generate", "loglikelihood"]  # the model writes an answer, or the possible answers are scored
Reader = Literal["flexible", "strict"]  # responses are parsed as a careful person would, or by the papers' rules
Reference = Literal["", "all", "none", "other"]
"""How an option refers to others: not, to all ("All of the above"), to none ("None of these"), or in another way."""
Row = Mapping[str, Any]
LocatedRow = tuple[str, Row]  # the place of a row for error messages ("row 17", "my.jsonl line 18"), and the row


class UnusableQuestion(ValueError):
    """A row that cannot be asked as a question. Rows with the same reason are counted together."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class NotKept(UnusableQuestion):
    """A row that the declaration excludes."""


class MissingColumn(LookupError):
    """A row lacks a column."""


@dataclass(frozen=True)
class Question:
    """One multiple choice question of a benchmark, unchanged except for white space."""

    id: str  # the source's own id, or split and row number; a number becomes text, so that 7 and "7" are equal
    stem: str  # the text before the options
    choices: tuple[str, ...]  # two to 26 options, in the source's order; one may be empty
    answer: int  # index of the right option, from 0
    category: str = ""  # subject or subset of the benchmark; empty if it has none
    cluster: str = ""  # what it shares with other questions, such as a passage, or a digest of it; empty for nothing
    references: tuple[Reference, ...] = field(default=(), compare=False)  # of each option, if they are kept in place
    keeps_lines: bool = field(default=False, compare=False)  # of its options; otherwise each is on one line

    def __post_init__(self) -> None:
        _normalise(self)
        where, count = f"in {shorten(self.stem)!r}", len(self.choices)
        if count < 2:
            raise UnusableQuestion("fewer than two options", f"{count} {where}")
        if count > MAX_OPTIONS:
            raise UnusableQuestion(f"more than {MAX_OPTIONS} options", f"{count} {where}")
        _check_encodable(self.id, self.stem, self.category, *self.choices)
        printed = map(_lines if self.keeps_lines else one_line, self.choices)
        object.__setattr__(self, "choices", tuple(printed))
        if type(self.answer) is not int or not 0 <= self.answer < count:
            found = f"index {self.answer!r} of {count} options {where}"
            raise UnusableQuestion("an answer outside the options", found)
        identity = self.identities[self.answer]
        equal = [text for text, one in zip(self.choices, self.identities, strict=True) if one == identity]
        if len(equal) > 1:
            first, *others = map(shorten, sorted(set(equal)))
            what = f"{first!a} and {others[0]!a} look the same" if others else f"{first!r} occurs twice"
            raise UnusableQuestion("an option equal to the right one", f"{what} {where}")

    @property
    def right(self) -> str:
        """The text of the right option."""
        return self.choices[self.answer]

    @cached_property
    def identities(self) -> tuple[int, ...]:
        """Identity of each option: its index, or the index of the first option that looks the same."""
        shapes = list(map(seen, self.choices))
        return tuple(map(shapes.index, shapes))


@dataclass(frozen=True)
class OpenQuestion:
    """A question without options. The model writes its own answer; the reference answer is LaTeX or text."""

    id: str
    stem: str
    answer: str
    category: str = ""
    cluster: str = ""
    choices: ClassVar[tuple[()]] = ()
    identities: ClassVar[tuple[()]] = ()

    @property
    def right(self) -> str:
        """The reference answer."""
        return self.answer

    def __post_init__(self) -> None:
        _normalise(self)
        if not isinstance(self.answer, str) or not self.answer.strip():
            raise UnusableQuestion("no answer", f"it is {self.answer!r} in {shorten(self.stem)!r}")
        _check_encodable(self.id, self.stem, self.category, self.answer)


AnyQuestion = Question | OpenQuestion
Result = AnyQuestion | UnusableQuestion
"""The outcome for one row: a question, or the reason why the row is left out."""


def _normalise(question: AnyQuestion) -> None:
    if not isinstance(question.stem, str):
        raise UnusableQuestion("a question that is not text", f"it is {question.stem!r}")
    if not question.stem.strip():
        raise UnusableQuestion("empty stem", f"the question reads {question.stem!r}")
    cluster = question.cluster.strip()
    if len(cluster) > 40 or not is_encodable(cluster):  # too long for a name, such as a passage
        cluster = blake2b(cluster.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
    texts = {"id": str(question.id), "stem": question.stem.strip(), "category": str(question.category).strip()}
    for name, text in {**texts, "cluster": cluster}.items():
        object.__setattr__(question, name, text)


def _check_encodable(*texts: str) -> None:
    if broken := [text for text in texts if not is_encodable(text)]:
        # The harness would fail when it hashes the prompt, after the inference.
        raise UnusableQuestion("text that is not valid Unicode", shorten(ascii(broken[0]), 60))


def is_encodable(text: object) -> bool:
    """Whether a value is a text that can be written to a UTF-8 file; a lone surrogate cannot."""
    return isinstance(text, str) and text == text.encode("utf-8", "ignore").decode("utf-8")


def one_line(text: str) -> str:
    """Replace each run of white space with one space, and remove white space at the ends."""
    return " ".join(text.split())


def _lines(text: str) -> str:
    """Remove white space at the ends of a text and of its lines; see `one_line` for a single line."""
    lines = text.strip().splitlines()
    return "\n".join(map(str.rstrip, lines)) if lines[1:] else one_line(text)


_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    "|(?<![\u0370-\U0010ffff])[\u200c\u200d]"  # elsewhere they change how letters are joined
)
_AS_LATIN = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеоԁһіјрԛѕсԝухΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABESIJKMHOPCTYXaeodhijpqscwyxABEZHIKMNOPTYXo"
)
"""Cyrillic and Greek letters that have the shape of a Latin one."""
_OTHER_SHAPE = re.compile("<(?:super|sub|circle|square|font|fraction|vertical|small)>")


def seen(text: str) -> str:
    """Return what a reader sees of a text, in one spelling: of accents, widths, ligatures and letters of other scripts.

    Example:
        >>> seen("Cafe\u0301 \uff15"), seen("I\u00adce") == seen("\u0399ce"), seen("x²") == seen("x2")
        ('Café 5', True, False)
    """
    if text.isascii():
        return text
    shapes = (
        shape if _OTHER_SHAPE.match(unicodedata.decomposition(shape)) else unicodedata.normalize("NFKC", shape)
        for shape in _INVISIBLE.sub("", text.translate(_AS_LATIN))
    )
    return one_line(unicodedata.normalize("NFC", "".join(shapes)))


ALIKE = "options that are equal or differ only in case, white space, dashes, quotation marks or the form of numbers"
_SIGNS = str.maketrans("‐‑‒–—―−’‘`´“”", "-------''''\"\"", " ")
_DECIMAL = re.compile(r"(?<![\w.])(\d*)\.(\d+)(?!\d|\.\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def has_alike(choices: Sequence[str]) -> bool:
    """Whether options are `ALIKE`: "0.5" and "0.50", "1,000" and "1000", "ice cream" and "Icecream"."""
    texts = (_THOUSANDS.sub("", seen(choice).translate(_SIGNS)).casefold() for choice in choices)
    return len({_DECIMAL.sub(_shortest, text) for text in texts}) < len(choices)


def _shortest(decimal: re.Match[str]) -> str:
    return f"{decimal[1] or 0}.{decimal[2]}".rstrip("0").rstrip(".")


def printable(text: str) -> str:
    """Put a text on one line, without control characters and characters that change the text's direction."""
    return "".join(character if character.isprintable() else "\ufffd" for character in one_line(text))


def shorten(text: object, width: int = 40) -> str:
    """Shorten a text for an error message, to one line of at most `width` characters."""
    line = one_line(str(text))
    return line if len(line) <= width else line[: width - 1] + "…"


def shown(value: object) -> str:
    """Return a value as Python prints it, shortened for an error message."""
    return shorten(repr(value))
