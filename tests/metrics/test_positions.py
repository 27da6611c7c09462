"""The test of letter preference: values by hand, an oracle, its level and its power."""

import random
from itertools import product
from math import isnan, sqrt

import numpy as np
import pytest

from lm_eval_cora.metrics import position_chi_square, position_cramers_v, position_p_value
from lm_eval_cora.metrics.positions import has_swapped_orders
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.order import order
from tests.support import oracles_score as oracles
from tests.support.tables import A, B, asked, hits, table_of


def answers(model, orders, questions, options, seed=0, invalid=0, last=0):
    rng = random.Random(seed)
    result = []
    for number in range(questions):
        count = options[number % len(options)]
        right, references = rng.randrange(count - last), ("",) * (count - last) + ("all",) * last
        pick, name = model(rng, count, right), f"q{number:05d}"
        question = Question(name, "Which?", tuple(map(str, range(count))), right, references=references)
        variants = order(question, orders=orders)
        says = [None if rng.random() < invalid else pick(variant.printed) for variant in variants]
        result.append(asked(name, says, count, answer=right, orders=orders, references=references))
    return result


def prefers_a_wrong_option(rng, options, right):
    """The first wrong option in 30% of the questions, else the right one."""
    chosen = next(option for option in range(options) if option != right) if rng.random() < 0.3 else right
    return lambda printed: printed.index(chosen)


def is_70_percent_right(rng, options, right):
    return lambda printed: printed.index(right) if rng.random() < 0.7 else rng.randrange(options)


def has_preferences(rng, options, right):
    """Each question has its own probabilities of the options."""
    weights = [rng.random() ** 4 for _ in range(options)]
    return lambda printed: printed.index(rng.choices(range(options), weights)[0])


def has_a_letter_per_question(rng, options, right):
    """The answers to a question depend on each other, but no letter is preferred in general."""
    letter = rng.randrange(options)
    return lambda printed: letter if rng.random() < 0.7 else rng.randrange(options)


def picks_a_in_10_percent(rng, options, right):
    by_content = is_70_percent_right(rng, options, right)
    return lambda printed: 0 if rng.random() < 0.1 else by_content(printed)


def test_chi_square_with_all_picks_by_hand():
    # Cyclic orders of three options. d of a question with the picks A, A, B is (2, 1, 0) - 1 = (1, 0, -1), and that of
    # three picks of A is (3, 0, 0) - 1 = (2, -1, -1). 20 and 10 questions: D = (40, -10, -30).
    # T = (3 - 1) |D|^2 / sum |d|^2 = 2 (1600 + 100 + 900) / (20 * 2 + 10 * 6) = 5200 / 100.
    members = [asked(f"q{n}", [A, A, B] if n < 20 else [A, A, A], 3, answer=n % 3, orders="cyclic") for n in range(30)]
    assert position_chi_square(table_of(members)).value == pytest.approx(52)
    assert isnan(position_chi_square(table_of(members)).stderr)


@pytest.mark.parametrize(("options", "questions"), [(2, 20), (4, 40), (10, 100)])
def test_the_test_needs_ten_questions_per_letter(options, questions):
    members = [asked(f"q{n:03d}", [A] * options, options, orders="cyclic") for n in range(questions)]
    silent = [asked("silent", [None] * options, options, orders="cyclic")]  # a question without a pick does not count
    for metric in (position_chi_square, position_p_value):
        assert isnan(metric(table_of(members[1:] + silent)).value)
        assert not isnan(metric(table_of(members)).value)
    assert isnan(position_p_value(ResponseTable.from_records(())).value)
    assert isnan(position_p_value(hits(["--"] * 40)).value)


def test_cramers_v_by_hand():
    # Of 40 questions, 30 always pick A and 10 B, C and D once each: 120 + 0, 10, 10 and 10 of 150 picks; even is 37.5.
    rows = [[0, 0, 0, 0]] * 30 + [[1, 2, 3, None]] * 10
    members = [asked(f"q{n:03d}", list(letters), 4, orders="cyclic") for n, letters in enumerate(rows)]
    found = position_cramers_v(table_of(members))
    assert found.value == pytest.approx(((82.5**2 + 3 * 27.5**2) / 37.5 / 150 / 3) ** 0.5)
    assert found.interval[0] < found.value < found.interval[1] <= 1
    assert isnan(position_cramers_v(table_of(members[:39])).value)  # fewer than ten questions per letter


@pytest.mark.parametrize("orders", ["swap", "cyclic", "all"])
def test_a_consistent_model_has_no_letter_preference(orders):
    table = table_of(answers(prefers_a_wrong_option, orders, 100, [4]))
    assert has_swapped_orders(table) is (orders == "swap")
    assert position_chi_square(table).value == 0
    assert position_p_value(table).value == 1
    effect = position_cramers_v(table)
    assert effect.value == effect.interval[0] == 0 < effect.stderr < effect.interval[1] < 0.2


@pytest.mark.parametrize("orders", ["swap", "cyclic", "all"])
@pytest.mark.parametrize("options", [[4], [2, 3, 4], [3, 4, 4, 4, 4, 4, 4]])
@pytest.mark.parametrize("model", [picks_a_in_10_percent, has_preferences])
def test_chi_square_agrees_with_its_oracle(orders, options, model):
    members = answers(model, orders, 80, options, invalid=0.2)
    expected = oracles.position_chi_square(members)
    assert position_chi_square(table_of(members)).value == pytest.approx(expected)


@pytest.mark.parametrize("model", [picks_a_in_10_percent, has_preferences, prefers_a_wrong_option])
def test_letters_of_options_that_refer_to_others_do_not_count(model):
    members = answers(model, "swap", 120, [3, 4, 5], last=1)
    table = table_of(members)
    assert position_chi_square(table).value == pytest.approx(oracles.position_chi_square(members))
    assert model is not prefers_a_wrong_option or position_chi_square(table).value == 0


def test_p_value_agrees_with_all_rotations():
    # 20 questions with two options. Eight of them have two picks of one letter: A six times, B twice. D = (4, -4).
    table = hits(["10"] * 12 + ["11"] * 6 + ["00"] * 2)
    exact = np.mean([abs(sum(signs)) >= 4 for signs in product((1, -1), repeat=8)])
    assert exact == 74 / 256
    assert position_p_value(table).value == pytest.approx(exact, abs=4 * sqrt(exact * (1 - exact) / 1_999))


@pytest.mark.parametrize("orders", ["swap", "cyclic"])
@pytest.mark.parametrize(
    "model", [prefers_a_wrong_option, is_70_percent_right, has_preferences, has_a_letter_per_question]
)
def test_level(model, orders):
    # More simulations are in benchmarks/letter_preference.py.
    tables = [table_of(answers(model, orders, 40, [4], seed, invalid=0.05)) for seed in range(20)]
    # The share of 20 runs has an error of 0.05.
    assert np.mean([position_p_value(table).value <= 0.05 for table in tables]) <= 0.05 + 3 * 0.05


@pytest.mark.parametrize(("orders", "options"), [("swap", 4), ("swap", 10), ("cyclic", 4), ("cyclic", 10)])
def test_a_preference_in_10_percent_of_the_answers_is_found(orders, options):
    table = table_of(answers(picks_a_in_10_percent, orders, 1_000, [options]))
    assert position_p_value(table).value < 0.01


def test_cramers_v_is_at_most_one():
    many = [asked(f"a{n:02d}", [A] * 10, 10, orders="cyclic") for n in range(110)]
    few = [asked(f"b{n:02d}", [A] * 2, 2, orders="cyclic") for n in range(40)]
    assert position_cramers_v(table_of(many)).value == pytest.approx(1)
    assert 0.3 < position_cramers_v(table_of(many + few)).value < 1
    # Of swapped orders only right picks count, and these never get a third letter.
    wrong = [asked(f"c{n:02d}", [(n + 1) % 3] * 3, 3, orders="swap") for n in range(30)]
    found = position_cramers_v(table_of(wrong + few))
    assert isnan(found.value) or 0 <= found.interval[0] <= found.value <= found.interval[1] <= 1
