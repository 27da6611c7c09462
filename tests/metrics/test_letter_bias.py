"""Letter bias: values worked out by hand, a planted prior, and errors and intervals compared with repeated samples."""

from math import isnan, nan, pi, sqrt

import numpy as np
import pytest

from lm_eval_cora.answers.records import read_likelihoods
from lm_eval_cora.metrics import (
    acc_permuted,
    acc_pride,
    brier_permuted,
    difference,
    letter_prior,
    mcqa,
    recall_spread,
    recall_spread_by_chance,
)
from lm_eval_cora.metrics.estimate import wilson
from lm_eval_cora.metrics.letter_bias import has_cyclic_orders
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.order import order
from tests.support.letters import PRIOR, planted, scored
from tests.support.tables import hits, table_of

LETTERS = [f"answer_at_{letter}" for letter in "ABC"]


def table(*members):
    return table_of(members)


def twins(count, *chances, answer=0):
    return [scored(f"q{number}", chances, answer) for number in range(count)]


# ---- values worked out by hand
def test_the_probabilities_are_normalised_over_the_printed_letters():
    """X has 0.4 of 1 and 0.08 of 0.1, that is 0.4 and 0.8. Without the division, Y would have more: 0.6 and 0.02."""
    assert acc_permuted(table(scored("q", [[0.4, 0.6], [0.02, 0.08]], 0))).value == 1.0


def test_the_brier_score_of_the_mean_probabilities():
    """The right options have 0.6 and 0.1, 0.35 on average: 2 * 0.65^2; and 0.8 and 0.6: 2 * 0.3^2."""
    found = brier_permuted(table(scored("p", [[0.6, 0.4], [0.9, 0.1]], 0), scored("q", [[0.8, 0.2], [0.4, 0.6]], 0)))
    each = [2 * 0.65**2, 2 * 0.3**2]
    assert found.value == pytest.approx(sum(each) / 2)
    assert found.stderr == pytest.approx((each[0] - each[1]) / 2)
    assert isnan(brier_permuted(table(scored("p", [[0.6, nan], [0.9, 0.1]], 0))).value)


def test_pride_divides_by_the_prior_of_the_other_questions():
    """Twenty questions have a prior of 4 to 1. A with 0.82 stays, with 0.78 it does not; the answer is A."""
    own = [[0.9, 0.1], [0.64, 0.36]]
    low, high = [[0.78, 0.22], [0.82, 0.18]], [[0.82, 0.18], [0.78, 0.22]]  # their prior is 4.0 to 1, too
    questions = [*twins(18, *own, answer=0), scored("q18", low), scored("q19", high)]
    assert acc_pride(table(*questions)).value == pytest.approx(19 / 20)


def test_a_model_that_only_sees_letters_picks_the_first_one_after_the_prior():
    """All letters are exactly tied, whatever the last digits of sums and logarithms are."""
    for answer in range(3):
        same = twins(30, *([[0.7, 0.2, 0.1]] * 3), answer=answer)
        assert acc_pride(table(*same)).value == float(answer == 0)
        assert acc_permuted(table(*same)).value == float(answer == 0)


def test_the_spread_of_the_recalls():
    """A is always right, B in one of two questions, C never: 1, 1/2, 0 have a variance of 1/6."""
    assert recall_spread(hits(["110", "100"], LETTERS)).value == pytest.approx(sqrt(1 / 6))


def test_equal_recalls_may_differ_in_other_questions():
    # Each question is right or wrong at both letters, so no recall varies against the other in the sample.
    found = recall_spread(hits(["00", "11"] * 20, LETTERS))
    assert found.value == found.interval[0] == 0
    # The recalls X and Y vary independently by half of Wilson's interval / 1.96, and the spread is |X - Y| / 2.
    low, high = wilson(20, 40)
    assert found.stderr == pytest.approx((high - low) / 3.919928 * sqrt(2) / 2 * sqrt(1 - 2 / pi), rel=0.03)
    assert found.interval[1] > 0.05
    # 20 questions are right at A only, and 20 or 21 at B only; the others at both.
    equal, nearly = (hits(["10"] * 20 + ["01"] * at_b + ["11"] * (180 - at_b), LETTERS) for at_b in (20, 21))
    assert recall_spread(equal).value == pytest.approx(0)
    assert recall_spread(equal).interval[1] > recall_spread_by_chance(equal).value > 0.01
    assert recall_spread(equal).interval[1] == pytest.approx(recall_spread(nearly).interval[1], rel=0.2)


# ---- what is missing
def test_an_unscored_letter_is_wrong_and_has_no_prior():
    whole = twins(12, [0.7, 0.3], [0.6, 0.4])
    gone = scored("x", [[0.7, 0.3], [None, 0.4]])
    assert acc_permuted(table(*whole)).value == 1.0
    assert acc_permuted(table(*whole, gone)).value == pytest.approx(12 / 13)
    assert acc_pride(table(*whole, gone)).value == pytest.approx(12 / 13 * acc_pride(table(*whole)).value)
    assert letter_prior(table(*whole, gone))["2"]["A"].value == letter_prior(table(*whole))["2"]["A"].value
    assert acc_permuted(table(gone)).value == 0.0
    assert letter_prior(table(gone)) == {}
    for metric in (acc_permuted, recall_spread):  # one question has no error
        assert isnan(metric(table(gone)).stderr)


def test_impossible_letters():
    """B is impossible in every order, so its prior is 0; a letter with no probability is never picked."""
    never = twins(12, [1.0, 0.0], [1.0, 0.0])
    found = letter_prior(table(*never))["2"]
    assert (found["A"].value, found["B"].value) == (1.0, 0.0)
    assert acc_pride(table(*never)).value == 1.0
    assert tuple(acc_pride(table(*never))) == tuple(mcqa(table(*never)))  # the prior matters to no answer
    assert acc_permuted(table(*never)).value == 1.0  # 1/2 each
    assert acc_pride(table(*twins(12, [0.0, 0.0], [0.0, 0.0], answer=1))).value == 0.0  # equally impossible: a tie


def test_few_questions_of_a_number_of_options_keep_their_answers():
    biased = twins(12, [0.9, 0.1], [0.8, 0.2], answer=1)
    few = [scored(f"x{number}", [[0.6, 0.2, 0.2], [0.6, 0.2, 0.2], [0.6, 0.2, 0.2]]) for number in range(9)]
    assert isnan(acc_pride(table(*few)).value)
    assert acc_pride(table(*biased, *few)).value == pytest.approx((12 * acc_pride(table(*biased)).value + 9) / 21)
    assert set(letter_prior(table(*biased, *few))) == {"2", "3"}


@pytest.mark.parametrize(("orders", "options", "cyclic"), [("swap", 3, False), ("all", 3, False), ("all", 2, True)])
def test_other_orders_have_the_spread_alone(orders, options, cyclic):
    texts = tuple(f"choice {number}" for number in range(options))
    scores = [(-1.0 - place, False) for place in range(options)]
    records = [
        read_likelihoods(vars(variant), scores)
        for number in range(12)
        for variant in order(Question(f"q{number}", "?", texts, number % options), orders=orders)
    ]
    found = ResponseTable.from_records(records)
    assert found.likelihoods.shape == (len(records), options)
    assert has_cyclic_orders(found) is cyclic
    assert isnan(acc_permuted(found).value) is isnan(acc_pride(found).value) is not cyclic
    assert recall_spread(found).value > 0


# ---- a planted prior
def test_pride_recovers_a_planted_prior():
    answers, fair = planted(np.random.default_rng(1), 8000, varied=0.0)
    found = letter_prior(answers)["4"]
    assert [found[letter].value for letter in "ABCD"] == pytest.approx(PRIOR, abs=0.025)
    assert mcqa(answers).value < fair - 0.04
    assert acc_pride(answers).value == pytest.approx(fair, abs=0.01)
    assert acc_permuted(answers).value > fair
    assert recall_spread(answers).value > 5 * recall_spread_by_chance(answers).value
    change = difference(mcqa(answers), acc_pride(answers))
    assert 0 < change.low < change.value == acc_pride(answers).value - mcqa(answers).value


# ---- errors and intervals
def repeated(estimates, truth):
    """A metric in many samples: its standard deviation, its reported error, its coverage and its mean."""
    values, errors = np.array([tuple(found) for found in estimates]).T
    inside = [found.interval[0] <= truth <= found.interval[1] for found in estimates]
    return values.std(ddof=1), sqrt((errors**2).mean()), float(np.mean(inside)), values.mean()


def test_the_errors_are_those_of_repeated_samples():
    # Answers at A in most questions and priors that vary much, so that the error of the prior matters: without it the
    # error of PriDe is 14% too large. Tolerance: three errors of a standard deviation of 400 samples.
    samples = [planted(np.random.default_rng(seed), 80, at_first=0.9, varied=1.5)[0] for seed in range(400)]
    population = planted(np.random.default_rng(10**6), 20_000, at_first=0.9, varied=1.5)[0]
    sd, stderr, covered, mean = repeated(list(map(acc_pride, samples)), acc_pride(population).value)
    assert stderr == pytest.approx(sd, rel=0.105)
    assert sqrt(mean * (1 - mean) / 79) > 1.08 * stderr
    assert covered == pytest.approx(0.95, abs=0.035)
    sd, stderr, _, _ = repeated(list(map(acc_permuted, samples)), acc_permuted(population).value)
    assert stderr == pytest.approx(sd, rel=0.105)
    sd, stderr, covered, _ = repeated(list(map(recall_spread, samples[:120])), recall_spread(population).value)
    assert stderr == pytest.approx(sd, rel=0.2)
    assert covered > 0.89
