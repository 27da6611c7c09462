"""Metrics of MCQA+ and REVAS: values worked out by hand."""

from math import isnan, sqrt

import pytest

from lm_eval_cora import metrics
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.oracles_errors import ratio_error
from tests.support.tables import (
    NOTA,
    STUDY,
    assert_is,
    nota,
    of_parts,
    of_some,
    original,
    replaced,
    scored,
    select_all,
    true_or_false,
)


def test_consistency_score():
    answers = of_parts(
        original(2, 2, 0, 2),  # the same wrong option in three of four: 3/4
        original(None, None, None, None),  # each invalid answer is a separate pick: 1/4
        original(0, None, None, 1),  # 1/4
        original(1, 1, 1, printed=(0, 1, 2)),  # 3/3
    )
    # (0.75 + 0.25 + 0.25 + 1) / 4 = 0.5625. Squares: 0.1875^2 + 2 * 0.3125^2 + 0.4375^2 = 0.421875, / 3 = 0.375^2, / 2.
    assert_is(metrics.sc(answers, options="original"), 0.5625, 0.1875)
    # Only the last question prints three options.
    assert_is(metrics.sc(answers, options=3), 1.0, float("nan"))
    assert isnan(metrics.sc(answers, options=6).value)


def test_buckets_of_table_2():
    answers = of_parts(
        original(0, 0, 0, 0) + nota(1, 1),  # 4/4, right; the other kinds do not matter
        original(1, 1, 0, 1),  # 3/4, wrong
        original(0, 0, 1, 1),  # 2/4, one of two is right: one half
        original(2, 2, 1, 1),  # 2/4, neither of two is right
        original(0, None, 0, None),  # 2/4, right: two invalid answers are not a tie
        original(0, 1, 2, 3),  # 1/4
        original(None, None, None, None),  # 1/4
        original(2, 2, 2, 2),  # 4/4, wrong
        original(0, 0, 1, printed=(0, 1, 2)),  # 2/3, right
        original(0, 0, 1, 1, 2, 2, printed=(0, 1, 2, 3, 4, 5)),  # 2/6, one of three is right
    )
    buckets = metrics.sc_buckets(answers)
    keys = ["3/3", "2/3", "1/3", "4/4", "3/4", "2/4", "1/4", "6/6", "5/6", "4/6", "3/6", "2/6", "1/6"]
    assert list(buckets) == keys
    shares = [0, 1, 0, 2 / 8, 1 / 8, 3 / 8, 2 / 8, 0, 0, 0, 0, 1, 0]
    assert [buckets[key]["share"].value for key in keys] == pytest.approx(shares)
    right = {"2/3": 1.0, "4/4": 1 / 2, "3/4": 0.0, "2/4": (0.5 + 0 + 1) / 3, "2/6": 1 / 3}
    for key in keys:
        assert buckets[key]["accuracy"].value == pytest.approx(right.get(key, float("nan")), nan_ok=True), key
    # Ten questions, eight in four orders. Share of 2/4: R = 3/8, k - R m = 5/8 three times, -3/8 five times:
    # 3 * 25/64 + 5 * 9/64 = 120/64; sqrt(10/9 * 120/64) / 8.
    assert buckets["2/4"]["share"].stderr == pytest.approx(of_some(sqrt(10 / 9 * 120 / 64) / 8, 10, 8))
    # Accuracy of 2/4: R = 1/2 of three, k - R m = 0, -1/2, 1/2: sqrt(10/9 * 1/2) / 3.
    assert buckets["2/4"]["accuracy"].stderr == pytest.approx(of_some(sqrt(5 / 9) / 3, 10, 3))
    # A bucket with one question has no error. The bucket 1/4 has no modal pick, although one pick is right.
    assert isnan(buckets["3/4"]["accuracy"].stderr)


def test_nota_as_the_answer():
    with_nota = of_parts(
        original(0, 0) + nota(NOTA, NOTA),  # always right; both NOTA orders right
        original(0, 0) + nota(NOTA, 1),  # always right; the first NOTA order right
        original(0, 0) + nota(None, None),  # always right; none right
        original(0, 1) + nota(1, NOTA),  # right only in the first order; wrong in the first NOTA order
        original(1, 0) + nota(NOTA, NOTA),  # wrong in the first order; both NOTA orders right
    )
    # First NOTA order: 1, 1, 0, 0, 1. Squares: 3 * 0.16 + 2 * 0.36 = 1.2, / 4 = 0.3; / 5.
    assert_is(metrics.nota_acc(with_nota), 0.6, sqrt(0.06))
    # Both NOTA orders: 1, 0, 0, 0, 1: the same spread.
    assert_is(metrics.nota_acc_h(with_nota), 0.4, sqrt(0.06))
    # Minus the original, 1, 1, 1, 1, 0: 0, 0, -1, -1, 1. Mean -0.2; 2 * 0.04 + 2 * 0.64 + 1.44 = 2.8, / 4 = 0.7; / 5.
    assert_is(metrics.nota_acc_diff(with_nota), -0.2, sqrt(0.14))
    # Minus all orders right, 1, 1, 1, 0, 0: 0, -1, -1, 0, 1. The same.
    assert_is(metrics.nota_acc_h_diff(with_nota), -0.2, sqrt(0.14))
    # The first three of five are always right. First order: 1, 1, 0; k - R m = 1/3, 1/3, -2/3: sqrt(5/4 * 6/9) / 3.
    error = of_some(sqrt(5 / 4 * 6 / 9) / 3, 5, 3)
    assert_is(metrics.nota_acc(with_nota, subset="always_right"), 2 / 3, error)
    # Both orders: 1, 0, 0. The differences subtract 1 from each value: other means, the same spread.
    assert_is(metrics.nota_acc_h(with_nota, subset="always_right"), 1 / 3, error)
    assert_is(metrics.nota_acc_diff(with_nota, subset="always_right"), -1 / 3, error)
    assert_is(metrics.nota_acc_h_diff(with_nota, subset="always_right"), -2 / 3, error)


def test_true_or_false_of_questions_always_right():
    answers = of_parts(
        original(0, 0, 0, 0) + true_or_false(True, False, False, None),  # right; 2 of 3: invalid is not "no"
        original(0, 0, printed=(0, 1)) + true_or_false(False, False),  # wrong; 1 of 1
        original(0, 1, 0, 0) + true_or_false(False, True, True, True),  # not always right
    )
    # 1, 0 of two; N = 3; k - R m = 1/2, -1/2: sqrt(3/2 * 1/2) / 2.
    assert_is(metrics.tf_right(answers), 0.5, of_some(sqrt(3 / 4) / 2, 3, 2))
    # 3 of 4 pooled (the mean over questions would be 5/6): 2 of 3, 1 of 1, 0 of 0.
    assert_is(metrics.tf_wrong(answers), 0.75, ratio_error([(2, 3), (1, 1), (0, 0)]))


def test_select_all_and_replacement_of_the_misled():
    misled = of_parts(
        original(2, 0) + select_all(0, 2) + replaced(1, 0, 1),
        original(1, 1) + select_all(1) + replaced(28, 0, 0),
        original(3, 3) + select_all(said=False) + replaced(3, None, None),
        original(1, 1) + select_all(2, 3) + replaced(0, 1, 1),
        original(None, 0) + select_all(0, 1) + replaced(0, 0, 0),  # wrong without a misleading option
        original(0, 0) + select_all(0, 1, 2) + replaced(0, 0, 0),  # right
    )
    # Four of six questions are misled. Several selected: 1, 0, 0, 1; N = 6, R = 1/2, four times 1/4: sqrt(6/5 * 1) / 4.
    assert_is(metrics.multi_share(misled), 0.5, of_some(sqrt(6 / 5) / 4, 6, 4))
    # The right option selected: 1, 0, 0, 0: 9/16 + 3 * 1/16 = 3/4: sqrt(6/5 * 3/4) / 4.
    assert_is(metrics.recall_right(misled), 0.25, of_some(sqrt(6 / 5 * 3 / 4) / 4, 6, 4))
    # The misleading option, 2, 1, 3, 1, selected: 1, 1, 0, 0.
    assert_is(metrics.recall_misleading(misled), 0.5, of_some(sqrt(6 / 5) / 4, 6, 4))
    # Two have several selections: {0, 2} with 2 misleading, {2, 3} with 1. Right 1, 0, misleading 1, 0;
    # R = 1/2, twice 1/4: sqrt(6/5 * 1/2) / 2.
    assert_is(metrics.recall_right(misled, several=True), 0.5, of_some(sqrt(6 / 5 / 2) / 2, 6, 2))
    assert_is(metrics.recall_misleading(misled, several=True), 0.5, of_some(sqrt(6 / 5 / 2) / 2, 6, 2))
    # Option 2 replaced: right. 1 replaced: wrong, the filler. 3 replaced: invalid. 1 replaced: right. 2 of 4.
    assert_is(metrics.replaced_acc(misled), 0.5, of_some(sqrt(6 / 5) / 4, 6, 4))


ALWAYS_RIGHT = [name for name in STUDY if name.startswith(("tf_", "confidence_")) or name.endswith("_always_right")]
MISLED = [name for name in STUDY if name.startswith("recall_")] + ["multi_share", "replaced_acc"]


@pytest.mark.parametrize("name", ALWAYS_RIGHT + MISLED)
def test_an_empty_subset_is_undefined(name):
    tail = nota(NOTA, NOTA) + scored((0.9, 0.1), (0.1, 0.9)) + select_all(0, 1) + replaced(0, 0, 0)
    sometimes = of_parts(original(0, 1) + tail, original(None, 0) + tail)
    assert metrics.subset_sizes(sometimes)["always_right"] == metrics.subset_sizes(sometimes)["misled"] == 0
    assert_is(STUDY[name](sometimes), float("nan"), float("nan"))
    always, misled = of_parts(original(0, 0) + tail), of_parts(original(1, 0) + tail)
    assert not isnan(STUDY[name](misled if name in MISLED else always).value)


def test_an_unknown_subset_or_number_of_options_is_refused():
    # The check needs no answers: before the first request, each metric is computed on an empty table.
    nobody = ResponseTable.from_records([])
    for metric in (metrics.nota_acc, metrics.nota_acc_h, metrics.nota_acc_diff, metrics.nota_acc_h_diff):
        with pytest.raises(ValueError, match="always_right"):
            metric(nobody, subset="always")  # type: ignore[arg-type]
    for metric in (metrics.acc_at, metrics.acc_h, metrics.sc):
        for options in ("four", 4.0, True, None):
            with pytest.raises(ValueError, match="original"):
                metric(nobody, options=options)  # type: ignore[arg-type]


def test_the_difference_to_mcqa_is_paired():
    # RC = 1/4, 1/2, 1; original right: 1, 0, 1. Differences -3/4, 1/2, 0: mean -1/12 (the pooled value differs).
    # Squares: (-8/12)^2 + (7/12)^2 + (1/12)^2 = 114/144, / 2, / 3.
    answers = ResponseTable.from_hits([[1, 0, 0, 0], [0, 1], [1, 1, 1, 1]])
    assert_is(metrics.mcqa_plus_diff(answers), -1 / 12, sqrt(114 / 144 / 6))


def test_option_probabilities_of_mcqa_plus_table_5():
    answers = of_parts(
        original(0, 0) + scored((0.3008, 0.3008), (0.1, 0.3), (0.2496, 0.1664), (0.01, 0.99)),
        original(0, 0) + scored((0.4, 0.1), (0.4, 0.4), (0.1, 0.0), (0.0, 0.5)),
        original(0, 1) + scored((0.9, 0.1), (0.9, 0.1), (0.9, 0.1), (0.9, 0.1)),  # not always right
    )
    # C_c = (0.3008 + 0.4) / 2; N = 3; k - R m = -0.0496, 0.0496: sqrt(3/2 * 2) * 0.0496 / 2.
    assert_is(metrics.confidence_right(answers), 0.3504, of_some(sqrt(3) * 0.0248, 3, 2))
    # C_d = (0.2496 + 0.4) / 2, the largest value of each question.
    assert_is(metrics.confidence_wrong(answers), 0.3248, of_some(sqrt(3) * 0.0376, 3, 2))
    # 92.69%; the mean of the two ratios would be 91.49%.
    error = ratio_error([(0.2496, 0.3008), (0.4, 0.4), (0, 0)])
    assert_is(metrics.confidence_ratio(answers), 0.3248 / 0.3504, error)
