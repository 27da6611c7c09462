from decimal import Decimal
from fractions import Fraction
from time import process_time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy import base_repr

from lm_eval_cora.answers.equivalence import canonical, same_number, same_words


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (" 5 ", "5"),
        ("$5$.", "5"),
        (r"\$5", "5"),
        (r"50\%", "50%"),
        (r"50 \%", "50%"),
        (r"\dfrac{1}{2}", r"\frac{1}{2}"),
        (r"\tfrac12", r"\frac12"),
        (r"\cfrac{1}{2}", r"\frac{1}{2}"),
        (r"\displaystyle\frac{1}{2}", r"\frac{1}{2}"),
        (r"\left( 3,\, \dfrac{1}{2} \right)", r"(3,\frac{1}{2})"),
        (r"\left[0,1\right)", "[0,1)"),
        (r"10,\!000", "10000"),
        ("10{,}000", "10000"),
        ("-1,234,567.5", "-1234567.5"),
        ("100, 200", "100, 200"),
        ("1 , 2", "1,2"),
        (r"3 \text{ or } 5", "3,5"),
        ("3 and -5", "3,-5"),
        ("x ** 2", "x^2"),
        ("x~+~1", "x+1"),
        (r"x \quad + \qquad 1", "x+1"),
        ("−5", "-5"),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix}1 \\ 2 \end{pmatrix}"),
        (r"a \leftarrow b", r"a \leftarrow b"),
        (r"\limits_a", "_a"),
        ("$.$", ""),
        (r"\,", ""),
        ("...", ""),
    ],
)
def test_notation_without_meaning_is_removed(written, text):
    assert canonical(written) == text


PARTS = [r"\left", r"\right", r"\dfrac", r"\frac", r"\,", r"\!", r"\ ", r"\quad", r"\%", r"\$", r"\\", r"\text", r"\{"]
SOME_TEXT = st.one_of(
    st.text(alphabet=st.characters(), max_size=50),
    st.lists(st.sampled_from([*PARTS, *"{},.;:~$%*!−- \n()^_x12/"]), max_size=12).map("".join),
)


WHOLE = (
    *(r"\left(", r"\right)", r"\left\{", r"\dfrac{1}{2}", r"\tfrac12", r"\,", r"\!", r"\ ", r"\quad ", r"\%", r"\$"),
    *("{,}", "**"),
)
"""Parts of LaTeX that adjacent text cannot turn into another command."""


@given(st.lists(st.sampled_from([*WHOLE, *".,;:~$ \n()+-−=<^_x12/", "text", "é"]), max_size=12).map("".join))
def test_canonical_notation_is_idempotent(written):
    assert canonical(canonical(written)) == canonical(written)


@pytest.mark.parametrize("written", [r"5\\%", "10{ , }000", "10{, }000", "x * * 2", "x \\\n+ 1", r"1\~2"])
def test_a_removal_does_not_create_text_that_would_be_removed(written):
    assert canonical(canonical(written)) == canonical(written)


@given(SOME_TEXT, SOME_TEXT)
def test_any_texts_can_be_compared_in_both_directions(one, other):
    one, other = canonical(one), canonical(other)
    for same in (same_number, same_words):
        assert same(one, other) in (True, False, None)
        assert same(one, other) is same(other, one)
    assert same_words(one, one) in (True, None)
    assert same_number(one, one) in (True, None)


@pytest.mark.parametrize(
    "unit", ["1", "9,", ",000", "x", "a ", " ", "~", "{", "$", "\\", r"\left", r"\text{a}", ". ", "١"]
)
def test_a_hundred_thousand_characters_are_compared_in_linear_time(unit):
    start = process_time()
    text = canonical(unit * (100_000 // len(unit)))
    for other in (text, "1", "one"):
        assert same_number(text, other) in (True, False, None)
        assert same_words(text, other) in (True, False, None)
    assert process_time() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        *("9" * 4_301, "0." + "1" * 4_301, r"\frac{%s}{7}" % ("1" * 5_000), r"0.\overline{%s}" % ("3" * 5_000)),
        *("1_{%s}" % ("9" * 5_000), "%s_7" % ("1" * 5_000)),
    ],
)
def test_more_digits_than_python_reads_do_not_raise(text):
    # int() refuses more than 4,300.
    assert same_number(text, "2") in (False, None)
    assert same_number("2", text) in (False, None)


EQUAL = (
    ("5", "+5"),
    ("0.5", ".5"),
    ("-0.5", "-.5"),
    (r"2\frac{1}{2}", "2.5"),
    (r"-2\frac12", "-2.5"),
    (r"\frac12", "1/2"),
    (r"-\frac{1}{2}", r"\frac{-1}{2}"),
    (r"\frac{1}{3}", "0.333333"),
    (r"\frac{2}{3}", "0.6666667"),
    (r"-1.\overline{27}", "-14/11"),
    (r".\overline{3}", "1/3"),
    ("1202_3", "1202"),
    ("1202_3", "47_{10}"),
    ("101_2", "5_{10}"),
)
DIFFERENT = (
    ("12 1/2", "1 21/2"),
    (r"\frac{1}{1000000}", r"\frac{1}{1000001}"),
    (r"0.\overline{12}", r"0.1\overline{2}"),
    ("1202_3", "47"),
)
NO_NUMBER = ("", "x", "1e3", "1/0", "1_000", "inf", "½")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        *((*numbers, True) for numbers in EQUAL),
        *((*numbers, False) for numbers in DIFFERENT),
        *((text, "5", None) for text in NO_NUMBER),
    ],
)
def test_numbers(one, other, same):
    assert same_number(one, other) is same
    assert same_number(other, one) is same


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_fractions_are_equal_if_their_values_are(over, under):
    value = Fraction(over, under)
    written = rf"\frac{{{over}}}{{{under}}}"
    assert same_number(written, f"{value.numerator}/{value.denominator}") is True
    assert same_number(written, rf"\frac{{{over + 1}}}{{{under}}}") is False
    assert same_number(written, str(over)) is (value == over)


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12), st.integers(0, 6))
def test_decimals_of_six_places_are_equal_if_their_values_are(one, other, places):
    def decimal(number):
        return f"{Decimal(number).scaleb(-places):f}"

    shift = 10**places
    assert same_number(decimal(one), decimal(other)) is (one == other)
    assert same_number(decimal(one), f"{one}/{shift}") is True
    assert same_number(decimal(one), f"{one + 1}/{shift}") is False
    assert same_number(canonical(f"{one:,}"), str(one)) is True


@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 9))
def test_numbers_in_two_bases_are_equal_if_their_values_are(number, one, other):
    assert same_number(f"{base_repr(number, one)}_{one}", f"{base_repr(number, other)}_{{{other}}}") is True
    assert same_number(f"{base_repr(number, one)}_{one}", f"{base_repr(number + 1, other)}_{other}") is False


@given(
    st.text("0123456789", max_size=3), st.text("0123456789", max_size=4), st.text("0123456789", min_size=1, max_size=4)
)
def test_a_repeating_decimal_equals_its_fraction(whole, before, period):
    exact = Fraction(
        int(whole + before + period or 0) - int(whole + before or 0), 10 ** len(before) * (10 ** len(period) - 1)
    )
    written = f"{exact.numerator}/{exact.denominator}"
    assert same_number(rf"{whole}.{before}\overline{{{period}}}", written) is True
    assume(exact.numerator)
    assert same_number(rf"{whole}.{before}\overline{{{period}}}", "-" + written) is False


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("east", "east", True),
        (r"\text{no}\text{ solution}", "no solution", True),
        (r"\text{dog}", r"\text{god}", False),
        ("no solution", "nosolution", False),
        ("abc", "acb", None),
        ("east", "5", None),
        (r"\alpha", "alpha", None),
        ("east1", "east", None),
    ],
)
def test_words(one, other, same):
    assert same_words(canonical(one), canonical(other)) is same
    assert same_words(canonical(other), canonical(one)) is same
