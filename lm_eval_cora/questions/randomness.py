"""Random choices: each is a hash of its key, and so the same in every process and with every version of Python."""

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from math import factorial, prod
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def draw(n: int, *key: str | int) -> int:
    """Draw an integer from 0 to n - 1, uniformly: the modulo changes a probability by less than n / 2**512."""
    digest = hashlib.blake2b(json.dumps(key, ensure_ascii=True).encode("ascii")).digest()
    return int.from_bytes(digest, "big") % n


def distinct_orders(items: Sequence[T], count: int, *key: str | int) -> list[tuple[T, ...]]:
    """Draw distinct orders, uniformly from all; the first is the given one. Equal items make no difference."""
    orders = [tuple(items)]
    exist = factorial(len(items)) // prod(factorial(copies) for copies in Counter(items).values())
    attempt = 0
    while len(orders) < min(count, exist):
        drawn = _permutation(orders[0], draw(factorial(len(items)), *key, attempt))
        attempt += 1
        if drawn not in orders:
            orders.append(drawn)
    return orders


def in_random_order(items: Sequence[T], *key: str | int) -> Iterator[T]:
    """Yield the items in random order, uniformly, with one draw per item; the first few do not depend on the others."""
    moved = dict[int, int]()  # Fisher-Yates shuffle of the indices; `moved` has the index now at a place
    for place in range(len(items)):
        drawn = place + draw(len(items) - place, *key, place)
        yield items[moved.get(drawn, drawn)]
        moved[drawn] = moved.get(place, place)


def _permutation(items: tuple[T, ...], rank: int) -> tuple[T, ...]:
    """Return the permutation with this rank in lexicographic order (factorial number system)."""
    pool, order = list(items), []
    for remaining in range(len(pool), 0, -1):
        place, rank = divmod(rank, factorial(remaining - 1))
        order.append(pool.pop(place))
    return tuple(order)
