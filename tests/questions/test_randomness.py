from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.questions.randomness import distinct_orders, draw, in_random_order


def test_a_draw_never_changes():
    # Stored values: a released task must always draw the same variants, on every machine and version of Python.
    assert draw(10**9, 0, "question 1", "divergent", "shuffled", 1) == 948_792_998
    assert list(map("".join, distinct_orders("abcdef", 4, 0, "question 1"))) == ["abcdef", "ebdfca", "dfbcae", "fbdaec"]
    assert "".join(in_random_order("abcdef", 0, "question 1")) == "fadbec"


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(1, 9), st.integers(), st.text())
def test_distinct_orders_differ_and_have_the_same_items(items, count, seed, key):
    orders = distinct_orders(items, count, seed, key)
    assert orders[0] == tuple(items)
    assert len(set(orders)) == len(orders) == min(count, len(set(permutations(items))))
    assert all(sorted(order) == sorted(items) for order in orders)
    # The first orders do not depend on the count.
    assert distinct_orders(items, 2, seed, key) == orders[:2] or count == 1


def test_distinct_orders_are_uniform_over_the_other_orders():
    # Each of the 5 other orders is equally often the second and the third one, and each pair is equally often drawn.
    drawn = [distinct_orders("abc", 3, seed)[1:] for seed in range(3_000)]
    others = set(permutations("abc")) - {("a", "b", "c")}
    for place in (0, 1):
        counts = Counter(orders[place] for orders in drawn)
        assert set(counts) == others
        # Each expected 600 times. Chi-square with 4 degrees of freedom exceeds 18.5 with probability 0.001.
        assert sum((count - 600) ** 2 / 600 for count in counts.values()) < 18.5
    pairs = Counter(map(tuple, drawn))
    assert set(pairs) == set(permutations(others, 2))
    # 20 pairs, each expected 150 times; with 19 degrees of freedom the limit is 43.8.
    assert sum((count - 150) ** 2 / 150 for count in pairs.values()) < 43.8
