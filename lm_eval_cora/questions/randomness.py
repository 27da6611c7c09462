"""Random choices that depend only on their key.

Each choice is a hash of its key (seed, question id, probe, kind, ordinal). A variant therefore does not depend on the
order of the dataset, on other questions, on the process or rank, or on the version of Python or numpy.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from math import factorial, prod
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def draw(n: int, *key: str | int) -> int:
    """Draw an integer from 0 to n - 1, uniformly.

    The hash has 512 bits. Taking it modulo n changes each probability by less than n / 2**512. The largest n in use is
    26! < 2**89.
    """
    digest = hashlib.blake2b(json.dumps(key, ensure_ascii=True).encode("ascii")).digest()
    return int.from_bytes(digest, "big") % n


def distinct_orders(items: Sequence[T], count: int, *key: str | int) -> list[tuple[T, ...]]:
    """Draw distinct orders of the items, uniformly from all orders; the first one is the given order.

    Orders that differ only in the places of equal items are the same order.
    """
    orders = [tuple(items)]
    exist = factorial(len(items)) // prod(factorial(copies) for copies in Counter(items).values())
    attempt = 0
    while len(orders) < min(count, exist):
        drawn = _permutation(orders[0], draw(factorial(len(items)), *key, attempt))
        attempt += 1
        if drawn not in orders:
            orders.append(drawn)
    return orders


def reordering(items: Sequence[T], *key: str | int) -> tuple[T, ...]:
    """Draw an order that differs from the given one, uniformly from all such orders."""
    return distinct_orders(items, 2, *key)[-1]


def in_random_order(items: Sequence[T], *key: str | int) -> Iterator[T]:
    """Yield the items in random order, with one draw per item.

    All orders are equally likely. The first few items are a sample without replacement, and do not depend on how many
    items are taken.
    """
    moved: dict[int, int] = {}  # Fisher-Yates shuffle of the indices; `moved` has the index now at a place
    for place in range(len(items)):
        drawn = place + draw(len(items) - place, *key, place)
        yield items[moved.get(drawn, drawn)]
        moved[drawn] = moved.get(place, place)


def _permutation(items: tuple[T, ...], rank: int) -> tuple[T, ...]:
    """Return the permutation with this rank in lexicographic order (factorial number system)."""
    pool = list(items)
    order = []
    for remaining in range(len(pool), 0, -1):
        place, rank = divmod(rank, factorial(remaining - 1))
        order.append(pool.pop(place))
    return tuple(order)
