"""Every random choice of the package: a function of its key, and of nothing else.

There is no generator to carry along and no state. A choice is read off a hash of its key (seed, question id, probe,
kind, ordinal), so a variant never depends on the order of the dataset, on other questions, on the process or rank,
nor on the version of Python or numpy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from math import factorial
from typing import TypeVar

T = TypeVar("T")


def draw(n: int, *key: str | int) -> int:
    """Draw an integer from 0 to n - 1, uniformly.

    The hash has 512 bits; taking it modulo n shifts a probability by less than n / 2**512, and the largest n in use
    is 26! < 2**89.

    Args:
        n: Number of values, at least 1.
        *key: What the choice depends on.

    Returns:
        The same integer for the same n and key, on every machine.

    Example:
        >>> draw(6, 0, "question 1", "dice") == draw(6, 0, "question 1", "dice")
        True
    """
    digest = hashlib.blake2b(json.dumps(key, ensure_ascii=True).encode("ascii")).digest()
    return int.from_bytes(digest, "big") % n


def reordering(items: Sequence[T], *key: str | int) -> tuple[T, ...]:
    """Draw uniformly from the orders of `items` that read differently from the order given.

    Args:
        items: At least one item; equal ones are allowed.
        *key: What the choice depends on.

    Returns:
        A permutation of the items that differs from `items` in at least one place; `items` itself if all of them
        are equal, because then no other order exists.

    Example:
        >>> reordering(("left", "right"), 0, "question 1")
        ('right', 'left')
    """
    given = tuple(items)
    if all(item == given[0] for item in given):
        return given
    attempt = 0
    while (drawn := _permutation(given, draw(factorial(len(given)), *key, attempt))) == given:
        attempt += 1
    return drawn


def in_random_order(items: Sequence[T], *key: str | int) -> Iterator[T]:
    """Yield the items in an order drawn uniformly from all orders, one draw at a time.

    The first few are a sample without replacement, and stay the same however many are taken.

    Args:
        items: Any number of items.
        *key: What the choice depends on.

    Yields:
        Each item once.

    Example:
        >>> sorted(in_random_order("abc", 0, "question 1"))
        ['a', 'b', 'c']
    """
    moved: dict[int, int] = {}  # the Fisher-Yates shuffle of 0, 1, ...: where the item of a place has gone
    for place in range(len(items)):
        drawn = place + draw(len(items) - place, *key, place)
        yield items[moved.get(drawn, drawn)]
        moved[drawn] = moved.get(place, place)


def _permutation(items: tuple[T, ...], rank: int) -> tuple[T, ...]:
    """The permutation with this rank in lexicographic order (factorial number system)."""
    pool = list(items)
    order = []
    for remaining in range(len(pool), 0, -1):
        place, rank = divmod(rank, factorial(remaining - 1))
        order.append(pool.pop(place))
    return tuple(order)
