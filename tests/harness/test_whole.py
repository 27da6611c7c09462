"""Two-phase sampling: which questions are asked and followed, when it ends, and what it costs."""

from collections import Counter
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.rounds import Observed, Planned, QuestionOutcome, send
from lm_eval_cora.harness.whole import (
    Sizes,
    cheapest,
    first_sizes,
    next_sizes,
    parse_target,
    possible_sizes,
    until_whole,
)
from lm_eval_cora.metrics.stopping import Phases, estimate
from tests.support.stopping import chance

VARIANTS = 26


def agenda(task, questions):
    return [Planned(task, f"q{number}", VARIANTS) for number in range(questions)]


class Answers:
    """A model with given shares of right originals and of right ones that are always right."""

    def __init__(self, seed, m=0.7, r=0.4):
        self.seed, self.m, self.r = seed, m, r
        self.known = {}
        self.parts = {}
        self.batches = []

    def right(self, planned):
        return chance(self.seed, planned.key) < self.m

    def always(self, planned):
        return self.right(planned) and chance(self.seed, planned.key, "always") < self.r

    def take(self, batch):
        self.batches.append(list(batch))
        for planned in batch:
            self.parts.setdefault(planned.key, []).append(planned.part)
            right, always = self.right(planned), self.always(planned)
            if planned.part == "original":
                self.known[planned.key] = QuestionOutcome(1, True, right, False)
            else:
                self.known[planned.key] = QuestionOutcome(VARIANTS if always else 5, True, right, always)
        return Observed(sum(one.requests for one in self.known.values()), outcomes=dict(self.known))

    def phases(self, questions):
        own = [planned for planned in questions if planned.key in self.known]
        followed = [planned for planned in own if self.parts[planned.key] == ["original", "all"]]
        right, always = sum(map(self.right, own)), sum(map(self.always, followed))
        return Phases(len(questions), len(own), right, len(followed), always)


def played(questions, target, answers):
    rounds, observed = until_whole(questions, target), None
    while (batch := send(rounds, observed)) is not None:
        assert batch  # an empty batch would never end
        observed = answers.take(batch)
    return answers


def width(phases):
    low, high = estimate("cora", phases).interval
    return (high - low) / 2


# ---- which questions
@given(st.integers(1, 400), st.floats(0.005, 0.3), st.integers(0, 1_000), st.floats(0, 1), st.floats(0, 1))
@example(101, 0.25, 1, 1 / 128, 0.0)  # 100 of 101 questions asked, and one is right
@settings(max_examples=40, deadline=None)
def test_the_first_questions_are_asked_and_the_first_right_ones_are_followed(count, target, seed, m, r):
    questions = agenda("t", count)
    answers = played(questions, target, Answers(seed, m, r))
    asked = [planned for planned in questions if planned.key in answers.parts]
    assert asked == questions[: len(asked)]
    right = [planned for planned in asked if answers.right(planned)]
    followed = [planned for planned in asked if "all" in answers.parts[planned.key]]
    # Which right ones are followed depends only on their order, not on their other answers.
    assert followed == right[: len(followed)]
    assert all(parts in (["original"], ["original", "all"]) for parts in answers.parts.values())
    phases = answers.phases(questions)
    assert phases.is_complete or width(phases) <= target


def test_a_tiny_target_has_all_originals_asked_and_all_right_ones_followed():
    answers = played(questions := agenda("t", 300), 1e-6, Answers(1))
    phases, right = answers.phases(questions), sum(map(answers.right, questions))
    assert (phases.asked, phases.right, phases.followed, width(phases)) == (300, right, right, 0)


@pytest.mark.parametrize(("m", "r"), [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0)])
def test_questions_that_are_all_alike_do_not_end_a_run_at_the_first_test(m, r):
    # The estimated error is 0. With a pseudo-count of 4 for each outcome it is not.
    questions = agenda("t", 2_000)
    phases = played(questions, 0.02, Answers(1, m, r)).phases(questions)
    assert first_sizes(2_000).asked < phases.asked < 2_000


def test_each_task_ends_on_its_own():
    questions = [planned for pair in zip(agenda("a", 900), agenda("b", 900), strict=True) for planned in pair]
    together = played(questions, 0.02, Answers(3))
    for task in "ab":
        own = [planned for planned in questions if planned.task == task]
        alone = played(own, 0.02, Answers(3))
        assert together.phases(own) == alone.phases(own)
        assert width(alone.phases(own)) <= 0.02
    sizes = Counter(planned.task for batch in together.batches for planned in batch)
    assert sizes["a"] != sizes["b"]


# ---- sizes
def test_the_sizes_are_from_a_list_that_does_not_depend_on_the_answers():
    possible = set(possible_sizes(14_042))
    for seed in range(5):
        questions = agenda("t", 14_042)
        answers = played(questions, 0.01, Answers(seed, 0.6, 0.3))
        originals = [len(batch) for batch in answers.batches if batch[0].part == "original"]
        sizes = np.cumsum(originals)
        assert sizes[0] == 100
        assert set(sizes.tolist()[1:]) <= possible
        # At most a quarter more each time, and the next size of the list.
        assert all(other <= 1.25 * 1.05 * one + 2 for one, other in pairwise(sizes.tolist()))
        assert len(answers.batches) <= 60


@given(st.integers(30, 60), st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(1, 20), st.floats(0.02, 0.1))
@settings(max_examples=15, deadline=None)
def test_the_cheapest_sizes_are_those_of_a_search(questions, m, r, following, target):
    asked = 20
    right = max(1, round(m * asked))
    phases = Phases(questions, asked, right, right, round(r * right))
    m = (right + 8) / (asked + 12)  # four more of each of the three outcomes
    r = (phases.always + 4) / (phases.followed + 8)

    def error(n1, n2):
        of_m = m * (1 - m) * (1 / n1 - 1 / questions)
        of_r = r * (1 - r) * max(0.0, 1 / n2 - 1 / (m * questions))
        return (
            (1 - 2 * m * (1 - r)) ** 2 * of_m + 2 * (1 - r) ** 2 * of_m**2 + m**4 * of_r + 4 * m**2 * of_m * of_r
        ) ** 0.5

    found = cheapest(phases, (1.0, following), target)
    best = inf
    for n1 in range(asked, questions + 1):
        for n2 in [*np.arange(phases.followed, m * n1, 0.5), m * n1]:
            if n2 >= phases.followed and 1.96 * error(n1, n2) <= target:
                best = min(best, n1 + following * n2)
                break
    # The search takes whole and half questions, `cheapest` rounds up.
    assert best - 1.5 * following <= found.asked + following * found.followed <= best + 1.5 * following
    if found.asked < questions:
        assert 1.96 * error(found.asked, found.followed) <= target * 1.001


def test_the_samples_grow_to_the_next_size_on_the_way_to_the_cheapest_ones():
    phases = Phases(questions=1273, asked=100, right=70, followed=50, always=20)
    best = cheapest(phases, (1, 8), 0.02)
    found = next_sizes(phases, (1, 8), 0.02)
    assert found is not None
    assert best == Sizes(512, 357)
    # A quarter more than 100 and 50 is 125 and 62.5; the list has 120, 126 and 62, 66 (20, 21, 23, 25, 27, 29, 31, 33,
    # 35, 37, 39, 41, 44, 47, 50, 53, 56, 59, 62, 66, ...).
    assert found == Sizes(126, 66)


# ---- the option
@pytest.mark.parametrize(
    "text",
    ["0.01", "whole", "whole:", "whole:0", "whole:-1", "whole:0.5", "whole:x", "whole:nan", "stderr:0.1", "", 0.1],
)
def test_a_target_that_cannot_be_read_names_the_form(text):
    with pytest.raises(UserError, match=r"--target .*expected whole:E, such as whole:0.01.*--target-stderr") as error:
        parse_target(text)
    assert repr(text) in str(error.value)
    assert (parse_target("whole:0.01"), parse_target("whole:1e-6")) == (0.01, 1e-6)
