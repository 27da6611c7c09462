import math

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import UnusableQuestion
from lm_eval_cora.questions.right_option import AnswerKey, Draft, meanings
from tests.support.messages import tells
from tests.support.rows import LOCAL, collected, mine, question_of, refused

TWO, THREE = ["Ice", "Fog"], ["Ice", "Fog", "Dew"]


def right(answer, choices, labels=None):
    draft = Draft("q", "?", tuple(choices), None if labels is None else tuple(labels), answer, None, "", "row 0")
    ((place,), _) = AnswerKey().settle([draft], "mine")
    if isinstance(place, UnusableQuestion):
        raise place
    return place


def rows(answers, choices):
    """Rows with the same options."""
    return [{"choices": choices, "answer": answer} for answer in answers]


@pytest.mark.parametrize(
    ("answer", "choices", "index"),
    [
        (0, TWO, 0),
        *((answer, TWO, 1) for answer in ("B", "b", "(B)", "B.", " b) ", " Fog ", "FOG", "1", "1.0", 1.0)),
        *(("dense  fog", ["Ice", "Dense fog"], 1), ("fog", ["Fog", "fog"], 1), ("A", ["A", "B"], 0)),
        *(("4", ["3", "4"], 1), ("1", ["0", "1"], 1), (2, ["0", "1", "2"], 2), (4, ["3", "4"], 1)),
        *((answer, TWO, 1) for answer in ([0, 1], "[0, 1]", [1], ["Fog"])),
    ],
)
def test_what_an_answer_means(answer, choices, index):
    assert right(answer, choices) == index


@pytest.mark.parametrize(
    ("answer", "choices", "message"),
    [
        (3, TWO, "3 is not an index from 0 to 1, the letter or the text of one of the 2 options"),
        *((answer, TWO, f"{answer!r} is not an index") for answer in (-1, "C", "", None, True, 0.5, math.nan)),
        *((answer, TWO, "is not an index") for answer in ([0, 0], [], [{}, {}], {}, "²")),
        ("\ufb06", [f"option {n}" for n in range(26)], "is not an index"),  # its upper case is "ST"
        ("fog", ["FOG", "Fog"], "is not an index"),
        *(
            (answer, THREE, "two right options")
            for answer in ([0, 2], [1, 0, 1], ["Ice", "c"], "A, C", "AC", "a and b")
        ),
        *((answer, THREE, "is not an index") for answer in ("ABX", "Ice, Hail", [0, 9])),
        ("A", ["B", "A"], "an answer with two meanings: 'A' is the letter of option 0 and text of option 1"),
        ("1", ["1", "2"], "an answer with two meanings: '1' is the index of option 1 and text of option 0"),
    ],
)
def test_an_answer_that_is_none_or_two(answer, choices, message):
    kind = UserError if "two meanings" in message else UnusableQuestion
    with pytest.raises(kind) as error:
        right(answer, choices)
    assert message in str(error.value)


def test_labels_are_what_the_source_calls_the_options():
    # "3" is the option with the label 3, not the option with index 3 or with the text "3".
    assert right("3", ["5", "4", "8", "3"], labels=["1", "2", "3", "4"]) == 2
    assert right("(c)", ["Ice", "Fog", "Dew"], labels=["A", "B", "C"]) == 2
    assert right("Fog", TWO, labels=["A", "B"]) == 1
    with pytest.raises(UnusableQuestion, match=r"'5' .* label \(1, 2\)"):
        right("5", TWO, labels=["1", "2"])
    # A label that differs from another in case alone is not guessed.
    draft = Draft("q", "?", ("Ice", "Fog"), ("a", "A"), None, None, "", "row 0")
    assert meanings("A", draft)["label"] == 1
    assert meanings("a", draft)["label"] == 0


ICE = ["Ice", "Fog", "Dew"]
DIGITS = ["1", "2", "3"]
LABELLED = {"text": list("wxyz"), "label": list("1234")}


@pytest.mark.parametrize(
    ("answers", "choices", "declaration", "expected"),
    [
        (["1", "2", "3"], DIGITS, {}, [0, 1, 2]),  # "3" is not an index
        (["0", "1", "2"], DIGITS, {}, [0, 1, 2]),  # "0" is not a text
        (["B", "A", "C"], ["A", "B", "x"], {}, [1, 0, 2]),  # "C" is not a text
        (["1", "2"], DIGITS, {"answer_is": "index"}, [1, 2]),
        (["1", "2"], DIGITS, {"answer_is": "text"}, [0, 1]),
        (["1", "2"], DIGITS, {"answer_from": 1}, [0, 1]),
        ([0, 1, 2, 3], LABELLED, {"answer_is": "index"}, [0, 1, 2, 3]),
        *((answers, ICE, {"answer_from": 1}, [0, 2, 1]) for answers in ([1, 3, 2], [1.0, 3.0, 2.0])),
        # Numbers are compared as numbers.
        ([1.5, 2.0, 3.5], [1.5, 2.0, 3.5], {}, [0, 1, 2]),
        ([2], {"1.0": "Ice", "2.0": "Fog", "3.0": "Dew"}, {}, [1]),
    ],
)
def test_all_rows_decide_what_one_row_leaves_open(answers, choices, declaration, expected):
    questions = collected(mine(**declaration), *rows(answers, choices)).questions
    assert [question.answer for question in questions] == expected


@pytest.mark.parametrize(
    ("answers", "choices", "declaration", "parts"),
    [
        (["1", "2"], DIGITS, {}, ("mine: ", "line 1: ", "'1'", "index", "text", "'answer_is'")),
        # With indices from 0 and the labels 1 to 4, three of four indices would be read as labels.
        ([0, 1, 2, 3], LABELLED, {}, ("mine: ", "index (line 1: 0)", "label (line 2: 1)", "'index' or 'label'")),
        # "1" may be an index from 0, an index from 1, or an undeclared label.
        (["A", "B", "1", "2"], [*ICE, "Sun"], {}, ("mine: ", "letter (line 1: 'A')", "index (line 3: '1')")),
        (["Ice", "Fog", "2"], ICE, {"answer_is": "text"}, ("1 of 3 rows", "line 3: ", "'2' is not the text of one")),
        *(
            (answers, ICE, {}, ("mine: ", " from 1. ", "'answer_from': 1"))
            for answers in ([1, 3, 2], ["1", "3"], [3.0])
        ),
        # A declared first number, as in the package's own benchmarks, is checked in the same way.
        ([1, 3, 2], ICE, {"answer_from": 0}, ("mine: ", " from 1. ")),
        # A few zeros or missing answers do not hide that the others count from 1.
        *((answers, list("wxyz"), {}, ("from 1",)) for answers in ([1, 2, 3, 4, 4, -1], [1, 2, 3, 4, 4, 0])),
        ([0, 1, 2, 0], ICE, {"answer_from": 1}, ("mine: ", " from 0. ", "'answer_from': 0")),
    ],
)
def test_answers_that_are_refused(answers, choices, declaration, parts):
    assert tells(refused(mine(**declaration), *rows(answers, choices)), *parts)


def test_unusual_numbers():
    # With many zeros, a few answers that are too large are defects of rows.
    answers = rows([0, 1, 2, 3, 0, 1, 2, 3, 4], list("wxyz"))
    questions, left_out, _ = collected(mine(hub=("a/mine",), split="test"), *answers)
    assert (len(questions), [where for where, _ in left_out]) == (8, ["line 9"])


@pytest.mark.parametrize("answers", [[2, 1], ["1"], [2.0, 2.0], ["1.0", None], [[1]], ["[2]"], ["['2']"], [2, 2, 7]])
def test_indices_that_fit_both_ways_are_noted(answers):
    source = {"hub": ("a/mine",), "split": "test"}  # rows that cannot be read are left out
    (note,) = collected(mine(**source), *rows(answers, ICE)).notes
    read, other = ("'Dew'", "'Fog'") if "2" in str(answers[0]) else ("'Fog'", "'Ice'")
    assert tells(
        note, "no answer is 0", f"line 1 is read as {read}, not as {other}", "'answer_from': 1", "'answer_from': 0"
    )
    assert "no answer is 0" in str(collected(mine(**source, answer_is="index"), *rows(answers, ICE)).notes)
    for first in (0, 1):
        assert not collected(mine(**source, answer_from=first), *rows(answers, ICE)).notes
    assert not collected(mine(**source), *rows([*answers, 0], ICE)).notes


@pytest.mark.parametrize(
    ("answers", "choices"),
    [
        *((answers, ICE) for answers in (["B", "C"], ["Fog"], [[0, 1, 0]], ["[0, 1, 0]"], [0, 0])),
        *(([1, 2], choices) for choices in ({"1": "Ice", "2": "Fog"}, [2, 1], {"text": ICE, "label": [1, 2, 3]})),
    ],
)
def test_answers_that_fit_one_way_are_not_noted(answers, choices):
    assert not collected(mine(), *rows(answers, choices)).notes


def test_a_second_answer_must_name_the_same_option():
    checked = mine(answer_check="text")
    row = {"question": "?", "choices": TWO, "answer": "B", "text": "Fog"}
    assert (question_of(checked, row).answer, question_of(checked, {**row, "text": None}).answer) == (1, 1)
    with pytest.raises(UnusableQuestion, match=r"two answers that contradict each other: 'B' is 'Fog', .* 'Ice'"):
        question_of(checked, {**row, "text": "Ice"})


WRITTEN = {
    "index": lambda right, options, labels: right,
    "digits": lambda right, options, labels: str(right),
    "float": lambda right, options, labels: float(right),
    "letter": lambda right, options, labels: "ABCDEF"[right],
    "framed": lambda right, options, labels: f"({'abcdef'[right]})",
    "text": lambda right, options, labels: options[right],
    "label": lambda right, options, labels: labels[right],
    "one": lambda right, options, labels: [int(place == right) for place in range(len(options))],
}
"""Ways in which a source may name the right option."""

TEXTS = st.lists(
    st.sampled_from([*"0123", *"ABCab", "Ice", "ICE", "fog", "1.0", "(a)"]), min_size=2, max_size=6, unique=True
)


@given(rows=st.lists(st.tuples(TEXTS, st.integers(0, 5)), min_size=1, max_size=6), how=st.sampled_from(sorted(WRITTEN)))
def test_an_answer_is_read_as_it_was_written_or_not_at_all(rows, how):
    """All rows write the answer in the same way. Ambiguous options may cause an error, but never a wrong answer."""
    located = []
    for number, (options, place) in enumerate(rows):
        right, labels = place % len(options), "123456"[: len(options)]
        choices = dict(zip(labels, options, strict=True)) if how == "label" else options
        answer = WRITTEN[how](right, options, labels)
        located.append((f"row {number}", {"question": "?", "choices": choices, "answer": answer, "right": right}))
    try:
        questions, left_out, _ = collect_questions(LOCAL, located, id_prefix="row")
    except UserError:
        event(f"{how}: error")
        return
    event(f"{how}: read")
    assert not left_out
    assert [question.answer for question in questions] == [row["right"] for _, row in located]
