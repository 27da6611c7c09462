"""Changes to the options of a question, and the names of the kinds of variants, that several probes share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from lm_eval_cora.questions.question import FIRST_FILLER, NOTA, Question
from lm_eval_cora.questions.randomness import distinct_orders, draw, in_random_order
from lm_eval_cora.variants.template import LETTER, YES_NO
from lm_eval_cora.variants.variant import Altered, Option

_CONSONANTS = "bdgklmnprst"
_VOWELS = "aeiou"

UNHEARD = ("voz", "vub", "vuf", "vuk", "vup", "vuz", "zuk", "zuv")
"""Syllables that occur in no word of the large English dictionaries. Each filler contains one of them."""

_HEARD_AFTER = {
    "voz": "di do la lo na ne ni no pi po ra re ro sa si su ta to",
    "vub": "ga gu le ma",
    "vuf": "ga la lo pi ra ro sa si to",
    "vuk": "go ki ku le lo ma mi ne pa pe po sa se si ta te tu",
    "vup": "di",
    "vuz": "be da di ka li ma ne pa re ri ta ti to",
    "zuk": "ba bu da di ga ge go gu ka ke ki ko ku la li ma me mi ne ni pa pe po ru si su te ti",
    "zuv": "bo do go na ne po sa se su",
}

HEARD = frozenset(first + second for second, firsts in _HEARD_AFTER.items() for first in firsts.split())
"""Two syllables that begin a name or a word of another language, such as Suzuki or "bazuka", with one or two letters
after them. A filler does not begin with them, so it is not such a word, its plural or another of its short forms."""


def fillers(count: int, taken: Iterable[str], *key: str | int) -> tuple[str, ...]:
    """Make different words without meaning, such as "Tuvozur", that do not occur in the texts `taken` in any case."""
    text = "\n".join(taken).casefold()
    words: list[str] = []
    attempt = 0
    while len(words) < count:
        word = _word(*key, "filler", attempt)
        attempt += 1
        lowered = word.casefold()
        if lowered[:5] not in HEARD and word not in words and lowered not in text:
            words.append(word)
    return tuple(words)


def _word(*key: str | int) -> str:
    """Draw a word of seven letters, alternately consonant and vowel."""
    rank = draw(len(_CONSONANTS) ** 2 * len(_VOWELS) ** 2 * len(UNHEARD), *key)
    letters = []
    for part in (_CONSONANTS, _VOWELS, UNHEARD, _VOWELS, _CONSONANTS):
        rank, index = divmod(rank, len(part))
        letters.append(part[index])
    return "".join(letters).capitalize()


COUNTS = (2, 3, 6, 8, 10)
"""The numbers of options to which MCQA+ and REVAS shorten or extend a question."""

ORIGINAL = "original"
NOTA_ANSWER = "nota_answer"
TRUE_OR_FALSE_RIGHT = "true_or_false_right"
TRUE_OR_FALSE_WRONG = "true_or_false_wrong"
SELECT_ALL = "select_all"
REPLACED = "replaced"


def with_options(count: int) -> str:
    """Return the kind of a variant with another number of options than the question."""
    return f"options_{count}"


def shuffled(kind: str) -> str:
    """Return the kind of a variant that has the options of the given kind in another order."""
    return "shuffled" if kind == ORIGINAL else f"{kind}_shuffled"


KINDS = {
    ORIGINAL: "The benchmark's question with its own options in their own order.",
    shuffled(ORIGINAL): "The same options in another order.",
    NOTA_ANSWER: "The right option is removed, so that “None of the above” is right.",
    TRUE_OR_FALSE_RIGHT: "Asks whether the right option is the right answer; “yes” is right.",
    TRUE_OR_FALSE_WRONG: "Asks whether a wrong option is the right answer; “no” is right.",
    SELECT_ALL: "Asks for the letters of all right options; there is only one.",
    REPLACED: "A filler, which is a meaningless word, replaces one of the wrong options.",
    **{
        with_options(count): f"{count} options: wrong ones are removed, or fillers (meaningless words) are added."
        for count in COUNTS
    },
}
"""A sentence about each kind that several probes share, for the report."""


def source_options(question: Question, nota_text: str) -> list[Option]:
    """Return the options of the source; one with the same words as `nota_text` is NOTA: both are the same answer."""
    return [
        (NOTA if _plain(text) == _plain(nota_text) else identity, text)
        for identity, text in zip(question.identities, question.choices, strict=True)
    ]


def _plain(text: str) -> str:
    return text.strip().rstrip(".").casefold()


def filler_options(question: Question, nota_text: str, seed: int) -> list[Option]:
    """Return all fillers that may be needed as options; each question has its own."""
    texts = (question.stem, nota_text, *question.choices)
    words = fillers(max(*COUNTS, len(question.choices)), texts, seed, question.id)
    return list(enumerate(words, FIRST_FILLER))


def resized(options: Sequence[Option], answer: int, more: Sequence[Option], *key: str | int) -> dict[str, list[Option]]:
    """The options for each number in COUNTS, by kind: random distractors are removed, or fillers added at the end."""
    distractors = [position for position in range(len(options)) if position != answer]
    kinds = {}
    for count in COUNTS:
        kind = with_options(count)
        if count > len(options):
            kinds[kind] = [*options, *more[: count - len(options)]]
        elif count < len(options):
            kept = [answer, *islice(in_random_order(distractors, *key, kind), count - 1)]
            kinds[kind] = [options[position] for position in sorted(kept)]
    return kinds


def in_orders(kind: str, options: Sequence[Option], right: int, count: int, *key: str | int) -> Iterator[Altered]:
    """Yield a variant in the given order, then shuffled ones; `count` in total if so many distinct orders exist."""
    yield letters(kind, options, right)
    text = dict(reversed(options))
    orders = distinct_orders([identity for identity, _ in options], count, *key, shuffled(kind))
    for order in orders[1:]:
        yield letters(shuffled(kind), [(identity, text[identity]) for identity in order], right)


def letters(kind: str, options: Sequence[Option], right: int) -> Altered:
    """Make a variant that asks for the letter of one option. It is the original if its kind is `original`."""
    return Altered(kind, options, right, LETTER, original=kind == ORIGINAL)


def nota_as_answer(options: Sequence[Option], answer: int, nota_text: str) -> list[Option]:
    """Replace the right option by NOTA at the end; a distractor that is NOTA is removed unless it is the only one."""
    distractors = [option for position, option in enumerate(options) if position != answer]
    return [*([option for option in distractors if option[0] != NOTA] or distractors), (NOTA, nota_text)]


def true_or_false(options: Sequence[Option], right: int) -> list[Altered]:
    """Make a variant for each distinct option, which asks whether it is the right one."""
    return [
        Altered(TRUE_OR_FALSE_RIGHT if option[0] == right else TRUE_OR_FALSE_WRONG, [option], right, YES_NO)
        for option in once_each(options)
    ]


def once_each(options: Sequence[Option]) -> list[Option]:
    """Return the options without repeated identities; the first copy is kept."""
    first: dict[int, Option] = {}
    for option in options:
        first.setdefault(option[0], option)
    return list(first.values())
