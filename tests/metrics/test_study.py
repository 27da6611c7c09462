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
)

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
