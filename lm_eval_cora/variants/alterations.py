"""Changes to the options of a question, and the names of the kinds of variants, that several probes share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lm_eval_cora.answers.formats import LETTER, YES_NO
from lm_eval_cora.questions.question import FIRST_FILLER, NOTA, Question
from lm_eval_cora.questions.randomness import distinct_orders, draw, in_random_order
from lm_eval_cora.variants.variant import Altered

_CONSONANTS = "bdgklmnprst"
_VOWELS = "aeiou"
_ENDS = "bdgklmnprst"

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
    """Make pronounceable words without meaning, such as "Tuvozur".

    Args:
        count: Number of words.
        taken: Texts in which a filler must not occur, ignoring case.
        *key: What the choice depends on.

    Returns:
        Different words of seven letters, alternately consonant and vowel, which are neither words nor names in any of
        the languages that the tests check. With the same key, a smaller `count` gives the first of these words.

    Example:
        >>> words = fillers(3, ["What is frozen water?"], 0, "question 1")
        >>> len(set(words)), {len(word) for word in words}, words[:2] == fillers(2, [], 0, "question 1")
        (3, {7}, True)
    """
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
    rank = draw(len(_CONSONANTS) * len(_VOWELS) ** 2 * len(UNHEARD) * len(_ENDS), *key)
    letters = []
    for part in (_CONSONANTS, _VOWELS, UNHEARD, _VOWELS, _ENDS):
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

Option = tuple[int, str]
"""Identity and text of an option."""

KINDS = {
    ORIGINAL: "The benchmark's question with its own options in their own order.",
    "shuffled": "The same options in another order.",
    NOTA_ANSWER: "The right option is removed, so that “None of the above” is right.",
    TRUE_OR_FALSE_RIGHT: "Asks whether the right option is the right answer; “yes” is right.",
    TRUE_OR_FALSE_WRONG: "Asks whether a wrong option is the right answer; “no” is right.",
    SELECT_ALL: "Asks for the letters of all right options; there is only one.",
    REPLACED: "A filler, which is a meaningless word, replaces one of the wrong options.",
    **{
        f"options_{count}": f"{count} options: wrong ones are removed, or fillers (meaningless words) are added."
        for count in COUNTS
    },
}
"""A sentence about each kind that several probes share, for the report."""


def with_options(count: int) -> str:
    """Return the kind of a variant with another number of options than the question.

    Example:
        >>> with_options(6)
        'options_6'
    """
    return f"options_{count}"


def shuffled(kind: str) -> str:
    """Return the kind of a variant that has the options of the given kind in another order.

    Example:
        >>> shuffled("original"), shuffled("options_6")
        ('shuffled', 'options_6_shuffled')
    """
    return "shuffled" if kind == ORIGINAL else f"{kind}_shuffled"


def source_options(question: Question, nota_text: str) -> list[Option]:
    """Return the identity and text of each option of the source.

    A source option with the same words as `nota_text` gets the identity NOTA, so that both are the same answer.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Ice", "Fog", "None of the above."), 0)
        >>> source_options(question, "None of the above")
        [(0, 'Ice'), (1, 'Fog'), (26, 'None of the above.')]
    """
    return [
        (NOTA if _plain(text) == _plain(nota_text) else identity, text)
        for identity, text in zip(question.identities, question.choices, strict=True)
    ]


def _plain(text: str) -> str:
    return text.strip().rstrip(".").casefold()


def resize(options: Sequence[Option], answer: int, count: int, fillers: Sequence[str], *key: str | int) -> list[Option]:
    """Remove distractors or add fillers until a question has the given number of options.

    The options keep their order.

    Args:
        options: The options of the question.
        answer: Position of the right option.
        count: Number of options to return, at least 2.
        fillers: Words to add at the end, from the first one on. At least as many as options are missing.
        *key: What the random choice of the kept distractors depends on.

    Returns:
        `count` options, including the right one.

    Example:
        >>> resize([(0, "Steam"), (1, "Ice"), (2, "Fog")], 1, 5, ["Tuvozur", "Nozukid"])
        [(0, 'Steam'), (1, 'Ice'), (2, 'Fog'), (27, 'Tuvozur'), (28, 'Nozukid')]
        >>> len(resize([(0, "Steam"), (1, "Ice"), (2, "Fog")], 1, 2, [], "question 1"))
        2
    """
    if count >= len(options):
        return [*options, *filler_options(fillers[: count - len(options)])]
    distractors = [position for position in range(len(options)) if position != answer]
    kept = [position for position, _ in zip(in_random_order(distractors, *key), range(count - 1), strict=False)]
    return [options[position] for position in sorted([answer, *kept])]


def resized(options: Sequence[Option], answer: int, fillers: Sequence[str], *key: str | int) -> dict[str, list[Option]]:
    """Resize a question to each number of options in COUNTS, except its own number; see `resize`.

    Returns:
        The options of each kind.

    Example:
        >>> words = [f"Tavuze{end}" for end in "lmnrst"]
        >>> list(resized([(0, "Steam"), (1, "Ice"), (2, "Fog"), (3, "Dew")], 1, words, "question 1"))
        ['options_2', 'options_3', 'options_6', 'options_8', 'options_10']
    """
    counts = {with_options(count): count for count in COUNTS if count != len(options)}
    return {kind: resize(options, answer, count, fillers, *key, kind) for kind, count in counts.items()}


def filler_options(fillers: Sequence[str]) -> list[Option]:
    """Return fillers as options, each with its own identity."""
    return [(FIRST_FILLER + number, text) for number, text in enumerate(fillers)]


def orders_of(options: Sequence[Option], count: int, *key: str | int) -> list[Sequence[Option]]:
    """Draw distinct orders of the options; the first one is the given order.

    Orders that differ only in the places of equal options are the same order.

    Args:
        options: At least one option.
        count: Number of orders, at least 1.
        *key: What the choice depends on.

    Returns:
        `count` orders, or all of them if fewer exist.

    Example:
        >>> orders_of([(0, "Fog"), (1, "Ice")], 4, 0, "question 1")
        [[(0, 'Fog'), (1, 'Ice')], [(1, 'Ice'), (0, 'Fog')]]
        >>> len(orders_of([(0, "Fog"), (1, "Ice"), (0, "Fog ")], 6, 0, "question 1"))
        3
    """
    text = dict(reversed(options))
    orders = distinct_orders([identity for identity, _ in options], count, *key)
    return [options, *([(identity, text[identity]) for identity in order] for order in orders[1:])]


def in_orders(kind: str, options: Sequence[Option], right: int, count: int, *key: str | int) -> Iterator[Altered]:
    """Yield a variant in the given order, then shuffled ones in other orders; `count` in total if so many exist.

    Example:
        >>> [(one.kind, one.options[0][1]) for one in in_orders("original", [(0, "Fog"), (1, "Ice")], 1, 4, "q1")]
        [('original', 'Fog'), ('shuffled', 'Ice')]
    """
    for number, order in enumerate(orders_of(options, count, *key, shuffled(kind))):
        yield letters(shuffled(kind) if number else kind, order, right)


def letters(kind: str, options: Sequence[Option], right: int) -> Altered:
    """Make a variant that asks for the letter of one option. It is the original if its kind is `original`."""
    return Altered(kind, options, right, LETTER.name, original=kind == ORIGINAL)


def nota_as_answer(options: Sequence[Option], answer: int, nota_text: str) -> list[Option]:
    """Remove the right option and add NOTA, which is then right, at the end.

    A distractor that is NOTA itself is removed, too, so that NOTA is printed once. It stays if it is the only
    distractor.

    Example:
        >>> nota_as_answer([(0, "Steam"), (1, "Ice"), (2, "Fog")], 1, "None of the above")
        [(0, 'Steam'), (2, 'Fog'), (26, 'None of the above')]
    """
    distractors = [option for position, option in enumerate(options) if position != answer]
    return [*([option for option in distractors if option[0] != NOTA] or distractors), (NOTA, nota_text)]


def true_or_false(options: Sequence[Option], right: int) -> list[Altered]:
    """Make a variant for each distinct option, which asks whether it is the right one.

    Example:
        >>> [(one.kind, *one.options) for one in true_or_false([(0, "Steam"), (1, "Ice")], right=1)]
        [('true_or_false_wrong', (0, 'Steam')), ('true_or_false_right', (1, 'Ice'))]
    """
    return [
        Altered(TRUE_OR_FALSE_RIGHT if option[0] == right else TRUE_OR_FALSE_WRONG, [option], right, YES_NO.name)
        for option in once_each(options)
    ]


def once_each(options: Sequence[Option]) -> list[Option]:
    """Return the options without repeated identities; the first copy is kept.

    Example:
        >>> once_each([(0, "Fog"), (1, "Ice"), (0, "Fog")])
        [(0, 'Fog'), (1, 'Ice')]
    """
    first: dict[int, Option] = {}
    for option in options:
        first.setdefault(option[0], option)
    return list(first.values())
