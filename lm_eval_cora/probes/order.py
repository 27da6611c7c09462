"""The order probe of SCORE (section 3.2): the right option at each position."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Literal

from lm_eval_cora.question import LETTERS, Ask, Question, Variant

NAME = "order"

Orders = Literal["swap", "cyclic", "all"]
"""Which orders of the options are asked."""

MOST_OPTIONS_FOR_ALL = 5
"""Five options have 120 orders, six would have 720."""


def answer_at(position: int) -> str:
    """The kind of a variant whose right option stands at a position.

    Example:
        >>> answer_at(2)
        'answer_at_C'
    """
    return f"answer_at_{LETTERS[position]}"


POSITIONS = tuple(map(answer_at, range(len(LETTERS))))
"""The kinds of this probe, by position of the right option."""


def order(question: Question, *, orders: Orders = "swap", ask: Ask = "best_answer") -> list[Variant]:
    """Ask a question with its options in other orders; the one that changes nothing is the original.

    Args:
        question: A question with A options.
        orders: `swap`: for each position the right option changes places with the option that stands there, A
            variants in the order of the positions. `cyclic`: the A rotations (CircularEval), the identity first.
            `all`: the A! permutations, the identity first.
        ask: What the variants ask for.

    Returns:
        The variants; their kinds say where the right option stands.

    Raises:
        ValueError: If `all` is wanted of a question with more than five options.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog"), 1)
        >>> [(variant.kind, variant.choices) for variant in order(question) if not variant.original]
        [('answer_at_A', ('Ice', 'Steam', 'Fog')), ('answer_at_C', ('Steam', 'Fog', 'Ice'))]
        >>> [variant.choices[0] for variant in order(question, orders="cyclic")]
        ['Steam', 'Ice', 'Fog']

    Source: SCORE, section 3.2 (choice order robustness). The harness' own task asks questions with fewer options than
    ten again unswapped, under letters that they do not have, and never puts the answer of five options at E.
    """
    variants = []
    for ordinal, places in enumerate(_arrangements(question, orders)):
        position = places.index(question.answer)
        variants.append(
            Variant(
                answer_at(position),
                ordinal,
                printed=tuple(question.identities[place] for place in places),
                choices=tuple(question.choices[place] for place in places),
                answer=question.answer,
                ask=ask,
                original=places == tuple(range(len(places))),
            )
        )
    return variants


def _arrangements(question: Question, orders: Orders) -> Sequence[tuple[int, ...]]:
    """Which source option stands at each position."""
    count = len(question.choices)
    source = tuple(range(count))
    if orders == "cyclic":
        return [source[start:] + source[:start] for start in source]
    if orders == "all":
        if count > MOST_OPTIONS_FOR_ALL:
            raise ValueError(f"question {question.id!r} has {count} options, and so more than 120 orders")
        return list(permutations(source))
    return [_swapped(source, question.answer, position) for position in source]


def _swapped(places: tuple[int, ...], one: int, other: int) -> tuple[int, ...]:
    change = {one: other, other: one}
    return tuple(change.get(place, place) for place in places)
