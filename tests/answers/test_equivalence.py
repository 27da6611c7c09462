import random

import pytest

pytest.importorskip("math_verify")

from lm_eval_cora.answers.equivalence import EquivalenceChecker, Workers
from lm_eval_cora.workers import processors

SAME = [
    # By notation alone.
    ("5", "5.0"),  # a decimal of the same value
    ("-1,381", r"-1381\text{ hours}"),  # thousands below zero
    ("x = 1,381", "1381"),  # thousands in an equation
    ("100, 200", "200, 100"),  # two numbers, not thousands
    (r"313 \text{ and } 380", r"\{380, 313\}"),  # joined by a word
    ("100, 200", r"\{100, 200\}"),  # not thousands
    # sympy fails to evaluate these, but math-verify can compare them.
    (r"x-\lfloor x\rfloor", r"-\lfloor x\rfloor+x"),  # the floor of a symbol
    (r"\lceil n/2\rceil", r"\left\lceil\frac{n}{2}\right\rceil"),  # the ceiling of a fraction
    # Numbers.
    (r"\frac{1}{-2}", r"-\frac{1}{2}"),  # sign below
    (r"50\%", r"\frac{1}{2}"),  # percent
    (r"12.5\%", "0.125"),  # percent
    (r"33\frac{1}{3}\%", r"\frac13"),  # percent, mixed
    # Radicals and constants.
    (r"\sqrt{12}", r"2\sqrt{3}"),  # 12 = 4 * 3
    (r"\sqrt2", r"\sqrt{2}"),  # one digit needs no braces
    (r"\sqrt{2}", "1.41421356"),  # six places and more
    (r"\frac{\pi}{2}", r"\pi/2"),  # pi
    # Expressions.
    ("(x+1)^2", "x^2+2x+1"),  # expanded
    ("-x+3", "3-x"),  # summands commute
    (r"\cos\theta", r"\cos(\theta)"),  # an argument needs no parentheses
    # Tuples, lists, sets.
    ("(0.5, 2)", r"(\frac12,2)"),  # coordinate by coordinate
    ("1,2", "2,1"),  # a list has no order
    ("2,3,5", "2, 3, and 5"),  # and
    (r"1\text{ or }2", "2,1"),  # or
    ("1,2", r"\{1,2\}"),  # a set without braces
    (r"\{1,2\}", r"\{2,1\}"),  # a set has no order
    ("1,2", "(1,2)"),  # a point without parentheses
    (r"\pm 2", "2,-2"),  # both signs
    # Intervals and inequalities.
    (r"x \in [0,1]", "[0,1]"),  # the interval alone
    (r"(-\infty,2]", r"x\le 2"),  # inequality
    ("1<x<2", "(1,2)"),  # inequality
    # Equations.
    ("x=5", "5"),  # the value of a symbol
    ("y=2x+1", "y = 1+2x"),  # summands commute
    ("y=2x+1", "2x+1"),  # the right side
    (r"x=1 \text{ or } x=2", "1,2"),  # solutions
    # Units.
    (r"5\text{ cm}", "5"),  # a unit may be left out
    (r"90^\circ", "90"),  # degrees
    # Matrices.
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}"),  # other brackets
    # Letters of options.
    (r"\text{(C)}", "C"),  # brackets around a letter
    (r"\textbf{(C)}", "(C)"),  # bold
]

OTHER = [
    (r"\cot 0", "0"),  # a pole
    ("(-3)!", "5"),  # a pole of the factorial
    (r"\sum_{k=1}^{\infty}\frac1k", "7x+3"),  # a sum that diverges
    ("0.0000004", "0"),  # small, but not zero
    ("no", "on"),  # words of two letters
    ("2(x+1)", "2x+1"),  # parentheses count
    ("x", "y"),  # names
    ("(1,2)", "(2,1)"),  # a point has an order
    ("(1,2)", "[1,2]"),  # open and closed
    ("(1,2)", "(1,2,3)"),  # more coordinates
    ("1,2", "1"),  # a root is missing
    ("100, 200", "100, 300"),  # another root, three digits
    ("101, 202", "101202"),  # two numbers and one
    ("x>3", r"x\ge 3"),  # open and closed
    ("x>3", "x<3"),  # direction
    (r"(0,\infty)", r"[0,\infty)"),  # open and closed
    ("x=5", "y=5"),  # another name
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}2\\1\end{pmatrix}"),  # order of entries
    (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1,2)"),  # a column is not a point
    (r"\emptyset", "0"),  # the empty set is not zero
    ("5", ""),  # an empty answer equals no answer
    ("", ""),  # not even itself
]

# Equal answers that math-verify does not recognize. A test fails if a new version recognizes one of them.
NOT_KNOWN = [
    ("i^2", "-1"),  # i is a name
    (r"\sin 30^\circ", "0.5"),  # a degree sign is left out
    (r"\text{all real numbers}", r"\mathbb{R}"),  # words and symbols
]

VERDICTS = [*((*case, True) for case in SAME), *((*case, False) for case in OTHER + NOT_KNOWN)]


@pytest.fixture(scope="module")
def checker():
    """All pairs of the tables, compared by one worker in random order and direction."""
    rng = random.Random(0)
    pairs = [(one, other) if rng.random() < 0.5 else (other, one) for one, other, _ in VERDICTS]
    rng.shuffle(pairs)
    checker = EquivalenceChecker()
    checker.settle(pairs, ranks=processors())
    return checker


@pytest.mark.parametrize(("one", "other", "same"), VERDICTS)
def test_verdicts_in_both_directions(checker, one, other, same):
    assert (checker.verdict(one, other), checker.verdict(other, one)) == (same, same)


def test_a_worker_gives_the_same_verdict_in_both_directions(checker):
    rng = random.Random(1)
    pairs = [(one, other) for one, other, *_ in rng.sample(VERDICTS, 15)]
    # It is the running worker of the checker, which has remembered only the parts of each comparison.
    workers = checker._pool()
    there = list(workers.compare(pairs, 1))
    assert there == list(workers.compare([(other, one) for one, other in pairs], 1))


@pytest.fixture
def asked(monkeypatch):
    """The pairs that reach a fake math-verify, which calls all of them equal."""
    pairs = []

    def compare(_, given, at_once):
        for pair in given:
            pairs.append(pair)
            yield True

    monkeypatch.setattr(Workers, "compare", compare)
    return pairs


def test_each_distinct_pair_is_compared_once(asked):
    checker = EquivalenceChecker()
    # Several notations and both directions of the same pair, but "2y" and "2 y" are different.
    checker.settle([("x+1", "2y"), ("2y", "x+1"), ("x + 1", "2y"), ("$x+1$", "2 y "), ("2y.", r"x\, +\, 1")] * 10)
    assert sorted(asked) == [("2 y", "x+1"), ("2y", "x+1")]
    assert checker.verdict("2y", "x+1") is True
    checker.settle([("x+1", "2y")])
    assert len(asked) == 2
    assert checker.verdict("2y", "x+2") is True
    assert len(asked) == 3


def test_math_verify_is_not_used_if_the_notation_is_enough(asked):
    checker = EquivalenceChecker()
    checker.settle(
        [("5", "5.0"), ("5", "6"), ("x+1", "$x + 1$"), ("", "x"), ("", ""), ("east", "seat"), ("101_2", "5_3")]
    )
    assert checker.verdict(r"\frac{1}{2}", "0.5") is True
    assert checker.verdict("", "") is False
    checker.settle([])
    assert asked == []


def test_notation_is_made_canonical_once():
    # "1,000," becomes "1,000", which would become "1000" if it was converted again.
    assert EquivalenceChecker().verdict("1,000,", "5") is False
