from collections import Counter

import pytest

from lm_eval_cora.variants.plus import plus
from tests.support.questions import COUNTS, WATER, kinds_of, printed_by_kind, question_with


@pytest.mark.parametrize(
    ("options", "variants"), [(2, 9), (3, 12), (4, 14), (5, 15), (6, 15), (8, 17), (10, 19), (13, 23), (26, 36)]
)
def test_number_of_variants(options, variants):
    assert len(plus(question_with(options))) == variants


def test_kinds_are_in_the_documented_order():
    assert kinds_of(plus(WATER)) == [
        *("original", *["shuffled"] * 3, *(f"options_{count}" for count in COUNTS), "nota_answer"),
        *("true_or_false_wrong", "true_or_false_right", "true_or_false_wrong", "true_or_false_wrong"),
    ]


def test_all_distractors_are_removed_equally_often():
    question = question_with(4, answer=2)
    kept = Counter(printed_by_kind(plus(question, seed=seed))["options_2"][0] for seed in range(600))
    assert set(kept) == {(0, 2), (1, 2), (2, 3)}
    # 3 distractors, each expected 200 times. Chi-square with 2 degrees of freedom exceeds 13.8 with probability 0.001.
    assert sum((count - 200) ** 2 / 200 for count in kept.values()) < 13.8
