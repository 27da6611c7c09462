"""What probes do to the options of a question, and the names of the kinds that several probes have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lm_eval_cora.formats import LETTER, YES_NO
from lm_eval_cora.question import FIRST_FILLER, NOTA, Question
from lm_eval_cora.randomness import distinct_orders, in_random_order
from lm_eval_cora.variants import Altered

COUNTS = (2, 3, 6, 8, 10)
"""The numbers of options that MCQA+ and REVAS print a question with, besides its own."""

ORIGINAL = "original"
NOTA_ANSWER = "nota_answer"
TRUE_OR_FALSE_RIGHT = "true_or_false_right"
TRUE_OR_FALSE_WRONG = "true_or_false_wrong"
SELECT_ALL = "select_all"
REPLACED = "replaced"

Option = tuple[int, str]
"""Identity and text of an option."""

KINDS = {
    ORIGINAL: "The question as its benchmark asks it.",
    "shuffled": "The options of the original in another order.",
    NOTA_ANSWER: "The right option is removed; “None of the above” is right.",
    TRUE_OR_FALSE_RIGHT: "Whether the right option is the right answer, yes or no.",
    TRUE_OR_FALSE_WRONG: "Whether a wrong option is the right answer, yes or no.",
    SELECT_ALL: "All right options are asked for.",
    REPLACED: "A filler replaces one of the wrong options.",
    **{
        f"options_{count}": f"Printed with {count} options: wrong ones are left out, or fillers are added."
        for count in COUNTS
    },
}
"""A sentence about each kind that several probes have."""


def with_options(count: int) -> str:
    """The kind of a variant that prints a number of options which is not the question's own.

    Example:
        >>> with_options(6)
        'options_6'
    """
    return f"options_{count}"


def shuffled(kind: str) -> str:
    """The kind of a variant that prints the options of another kind in another order.

    Example:
        >>> shuffled("original"), shuffled("options_6")
        ('shuffled', 'options_6_shuffled')
    """
    return "shuffled" if kind == ORIGINAL else f"{kind}_shuffled"


def source_options(question: Question, nota_text: str) -> list[Option]:
    """Identity and text of each option as the source has it.

    A source option that reads like `nota_text` has NOTA's identity: the two are one answer wherever they are printed.

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
    """Print a question with another number of options, the source's order kept.

    Args:
        options: A options.
        answer: Position of the right one.
        count: How many are wanted, at least 2.
        fillers: At least count - A words; the first ones are added at the end.
        *key: What the choice of the distractors that stay depends on.

    Returns:
        `count` options, the right one among them.

    Example:
        >>> resize([(0, "Steam"), (1, "Ice"), (2, "Fog")], 1, 5, ["Tavuzel", "Nozukid"])
        [(0, 'Steam'), (1, 'Ice'), (2, 'Fog'), (27, 'Tavuzel'), (28, 'Nozukid')]
        >>> len(resize([(0, "Steam"), (1, "Ice"), (2, "Fog")], 1, 2, [], "question 1"))
        2
    """
    if count >= len(options):
        return [*options, *filler_options(fillers[: count - len(options)])]
    distractors = [position for position in range(len(options)) if position != answer]
    kept = [position for position, _ in zip(in_random_order(distractors, *key), range(count - 1), strict=False)]
    return [options[position] for position in sorted([answer, *kept])]


def resized(options: Sequence[Option], answer: int, fillers: Sequence[str], *key: str | int) -> dict[str, list[Option]]:
    """A question with each of COUNTS options but its own number, by kind; see `resize`.

    Example:
        >>> words = [f"Tavuze{end}" for end in "lmnrst"]
        >>> list(resized([(0, "Steam"), (1, "Ice"), (2, "Fog"), (3, "Dew")], 1, words, "question 1"))
        ['options_2', 'options_3', 'options_6', 'options_8', 'options_10']
    """
    counts = {with_options(count): count for count in COUNTS if count != len(options)}
    return {kind: resize(options, answer, count, fillers, *key, kind) for kind, count in counts.items()}


def filler_options(fillers: Sequence[str]) -> list[Option]:
    """A question's fillers as options, each with its own identity."""
    return [(FIRST_FILLER + number, text) for number, text in enumerate(fillers)]


def orders_of(options: Sequence[Option], count: int, *key: str | int) -> list[Sequence[Option]]:
    """Orders of the options, the given one first, that differ in what they mean: equal options are one.

    Args:
        options: At least one option.
        count: How many orders to return, at least 1.
        *key: What the choice depends on.

    Returns:
        That many orders, or all that exist if these are fewer.

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
    """A kind in the order given and its shuffled twins in others, `count` in all if so many exist.

    Example:
        >>> [(one.kind, one.options[0][1]) for one in in_orders("original", [(0, "Fog"), (1, "Ice")], 1, 4, "q1")]
        [('original', 'Fog'), ('shuffled', 'Ice')]
    """
    for number, order in enumerate(orders_of(options, count, *key, shuffled(kind))):
        yield letters(shuffled(kind) if number else kind, order, right)


def letters(kind: str, options: Sequence[Option], right: int) -> Altered:
    """A variant that asks for the letter of one option; the kind `original` is the original."""
    return Altered(kind, options, right, LETTER.name, original=kind == ORIGINAL)


def nota_as_answer(options: Sequence[Option], answer: int, nota_text: str) -> list[Option]:
    """The right option removed, NOTA last: now the right one.

    A distractor that is NOTA itself is removed as well, unless nothing else would be left: NOTA is printed once.

    Example:
        >>> nota_as_answer([(0, "Steam"), (1, "Ice"), (2, "Fog")], 1, "None of the above")
        [(0, 'Steam'), (2, 'Fog'), (26, 'None of the above')]
    """
    distractors = [option for position, option in enumerate(options) if position != answer]
    return [*([option for option in distractors if option[0] != NOTA] or distractors), (NOTA, nota_text)]


def true_or_false(options: Sequence[Option], right: int) -> list[Altered]:
    """For each option the question whether it is the right one.

    Example:
        >>> [(one.kind, *one.options) for one in true_or_false([(0, "Steam"), (1, "Ice")], right=1)]
        [('true_or_false_wrong', (0, 'Steam')), ('true_or_false_right', (1, 'Ice'))]
    """
    return [
        Altered(TRUE_OR_FALSE_RIGHT if option[0] == right else TRUE_OR_FALSE_WRONG, [option], right, YES_NO.name)
        for option in once_each(options)
    ]


def once_each(options: Sequence[Option]) -> list[Option]:
    """The options without the copies of one that stood there before: nothing is asked twice.

    Example:
        >>> once_each([(0, "Fog"), (1, "Ice"), (0, "Fog")])
        [(0, 'Fog'), (1, 'Ice')]
    """
    first: dict[int, Option] = {}
    for option in options:
        first.setdefault(option[0], option)
    return list(first.values())
