from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import Benchmark, declared
from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import MissingColumn, UnusableQuestion
from tests.support.messages import tells
from tests.support.rows import LOCAL, question_of

ROW: dict[str, Any] = {"question": "Frozen?", "choices": ["Ice", "Fog", "Dew"], "answer": 0}


def mine(**declaration: Any) -> Benchmark:
    return declared({"name": "mine", "open": True}, {"name": "mine", **declaration}, ("mine.jsonl",))


def test_parts_under_their_usual_names() -> None:
    row = {"ID": 7, "Stem": "Frozen?", "OPTIONS": ["Ice", "Fog"], "AnswerKey": "B", "Category": "physics"}
    question = question_of(LOCAL, row)
    assert (question.id, question.stem, question.choices) == ("7", "Frozen?", ("Ice", "Fog"))
    assert (question.answer, question.category) == (1, "physics")


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ({"Frage": "?", "choices": [], "answer": 0}, ("question", "'question'")),
        ({"question": "?", "choises": [], "answer": 0}, ("choices", "A, B, C", "'choises'")),
        ({"question": "?", "choices": []}, ("answer", "'answer'")),
        ({"question": "?", "A": "Ice", "answer": 0}, ("choices",)),  # a single option column
        ({"question": "?", "B": "Ice", "C": "Fog", "answer": 0}, ("choices",)),  # the columns do not start with A
    ],
)
def test_a_part_that_is_missing(row: dict[str, Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(MissingColumn) as error:
        question_of(LOCAL, row)
    assert tells(str(error.value), *parts)


@pytest.mark.parametrize("names", ["ABC", ["a", "b", "c"], ["option_a", "option_b", "option_c"], ["opa", "opb", "opc"]])
def test_a_column_for_each_option(names: list[str]) -> None:
    row = {"question": "?", **dict(zip(names, ["Ice", "Fog", "Dew"], strict=True)), "answer": "C"}
    assert question_of(LOCAL, row).choices == ("Ice", "Fog", "Dew")


def test_the_last_options_may_be_missing_and_others_not() -> None:
    row = {"question": "?", "A": "Ice", "B": "Fog", "C": None, "D": " ", "answer": "B"}
    assert question_of(LOCAL, row).choices == ("Ice", "Fog")
    with pytest.raises(UnusableQuestion, match="an empty option"):
        question_of(LOCAL, {**row, "D": "Dew"})
    with pytest.raises(UnusableQuestion, match="an answer outside the options"):
        question_of(LOCAL, {**row, "answer": "C"})


def test_without_an_answer_the_first_column_is_right_and_the_order_is_drawn() -> None:
    source = mine(choices=("Right one", "wrong 1", "wrong 2"))
    row = {"question": "?", "Right one": "Ice", "wrong 1": "Fog", "wrong 2": "Dew"}
    found = [question_of(source, row, f"row-{number}") for number in range(60)]
    assert {question.choices[int(question.answer)] for question in found} == {"Ice"}
    assert {question.answer for question in found} == {0, 1, 2}
    assert question_of(source, row, "row-3") == found[3]


def test_a_forgotten_answer_column_is_an_error() -> None:
    source = mine(choices=("a", "b", "c"))
    row = {"question": "?", "a": "Ice", "b": "Fog", "c": "Dew", "Answer": "B"}
    with pytest.raises(UserError) as error:
        question_of(source, row)
    assert tells(str(error.value), "mine: ", "'Answer'", "'answer': 'Answer'")
    with pytest.raises(UserError) as error:  # the first column may be any option
        question_of(source, {name: value for name, value in row.items() if name != "Answer"})
    assert tells(str(error.value), "mine: ", "'answer'", "'a'", "'answer_is': 'first'")
    first = mine(choices=("a", "b", "c"), answer_is="first")
    assert "Ice" in {question_of(first, row).choices[int(question_of(first, row).answer)]}
    # The column `correct_answer` contains the right option, so no answer column is missing.
    named = mine(choices=("correct_answer", "b"))
    assert question_of(named, {"question": "?", "correct_answer": "Ice", "b": "Fog"}).answer in (0, 1)


def test_labels_in_a_column_of_their_own() -> None:
    source = mine(labels="names")
    row = {**ROW, "names": ["x", "y", "z"], "answer": "z"}
    assert question_of(source, row).answer == 2
    with pytest.raises(UnusableQuestion, match="expected 3 labels, got 2"):
        question_of(source, {**row, "names": ["x", "y"]})


def test_rows_that_are_not_kept_are_counted_and_do_not_refuse_a_file() -> None:
    rows = [(f"line {n}", {**ROW, "question": f"{n}?", "kind": kind}) for n, kind in enumerate(["ok", "bad", "ok", 3])]
    questions, left_out, _ = collect_questions(mine(keep={"kind": ["ok"]}), rows, id_prefix="row")
    assert [question.id for question in questions] == ["row-0", "row-2"]
    assert [(where, error.reason) for where, error in left_out] == [("line 1", "kind 'bad'"), ("line 3", "kind 3")]
    with pytest.raises(UserError, match=r"mine: 'keep' .*: 2 with kind 'ok' \(line 0, line 2\)"):
        collect_questions(mine(keep={"kind": "good"}), rows, id_prefix="row")


@pytest.mark.parametrize(
    ("choices", "noted"),
    [
        (["AA", "Aa"], True),
        (["ice cream", "icecream"], True),
        (["Ice", "Fog"], False),
        (["Fog", "Dew", "Dew"], True),
        (["x  y", "x y", "z"], True),
    ],
)
def test_a_note_on_options_that_are_almost_equal(choices: list[str], noted: bool) -> None:
    row = {"question": "?", "choices": choices, "answer": len(choices) - 1}
    if choices[0] == "Fog":
        row["answer"] = 0
    _, _, notes = collect_questions(LOCAL, [("line 5", row)], id_prefix="row")
    assert bool(notes) == noted
    assert tells(" ".join(notes), *(("1 of 1", "equal", "case or white space", "line 5") if noted else ()))


def test_a_note_on_a_question_with_two_answers() -> None:
    rows = [(f"line {n}", {**ROW, "answer": n // 2}) for n in range(4)]
    assert tells(collect_questions(LOCAL, rows, id_prefix="row")[2][0], "another right option", "line 0, line 2")
    assert not collect_questions(LOCAL, rows[:2], id_prefix="row")[2]


@pytest.mark.parametrize("answers", ["ABC", (0, 1, 2), ("(A)1", "b. Fog", "C)  Dew"), ("1", "Fog", "Dew")])
def test_labels_in_the_options_are_removed(answers: Any) -> None:
    rows = [
        (f"line {n}", {**ROW, "question": f"{n}?", "choices": ["(A)1", "b. Fog", "C)  Dew"], "answer": answer})
        for n, answer in enumerate(answers)
    ]
    questions, _, notes = collect_questions(LOCAL, rows, id_prefix="row")
    assert [(question.choices, question.answer) for question in questions] == [
        (("1", "Fog", "Dew"), n) for n in (0, 1, 2)
    ]
    assert len(notes) == 1
    assert tells(notes[0], "3 of 3 questions", "labels", "'(A)1'", "'1'")


def test_labels_of_fewer_questions_are_texts() -> None:
    rows = [(f"line {n}", {**ROW, "question": f"{n}?", "answer": n}) for n in range(3)]
    rows[0][1]["choices"] = ["A. Smith", "B. Jones"]
    questions, _, notes = collect_questions(LOCAL, rows, id_prefix="row")
    assert (questions[0].choices, notes) == (("A. Smith", "B. Jones"), [])


def test_equal_options_behind_different_labels_are_an_error() -> None:
    rows = [("line 1", {**ROW, "choices": ["A)6", "B)6", "C)8"], "answer": "A"})]
    with pytest.raises(UserError, match="line 1: an option equal to the right one: '6' occurs twice"):
        collect_questions(LOCAL, rows, id_prefix="row")


@pytest.mark.parametrize("empty", ["question", "choices", "answer"])
def test_a_column_that_is_empty_in_every_row(empty: str) -> None:
    rows = [(f"line {n}", {**ROW, empty: blank, "other": "x"}) for n, blank in enumerate(["", None, " "])]
    with pytest.raises(UserError) as error:
        collect_questions(LOCAL, rows, id_prefix="row")
    assert tells(str(error.value), "local: ", f"{empty!r} is empty in every row", f"Set {empty!r}", "'other'")


def test_a_column_in_use_is_not_suggested() -> None:
    row = {"question": "?", "answers": ["Ice", "Fog"], "answr": 0}
    for source in (mine(choices="answers"), mine(choices="answers", answer="answer_")):
        with pytest.raises(MissingColumn, match="Did you mean 'answr'"):
            question_of(source, row)


def test_a_note_where_the_right_option_is_always_at_the_same_place() -> None:
    rows = [(f"line {n}", {**ROW, "question": f"{n}?"}) for n in range(10)]
    assert tells(collect_questions(LOCAL, rows, id_prefix="row")[2][0], "always A", "'shuffle': true")
    assert not collect_questions(LOCAL, rows[:9], id_prefix="row")[2]
    assert not collect_questions(mine(shuffle=True), rows, id_prefix="row")[2]
    published = declared({"hub": "a/b", "split": "test", "published_rows": 10})
    assert not collect_questions(published, rows, id_prefix="row")[2]


def test_a_question_that_is_not_text() -> None:
    with pytest.raises(UnusableQuestion, match="a question that is not text: it is 5"):
        question_of(LOCAL, {**ROW, "question": 5})


def test_numbers_become_text_and_ids_too() -> None:
    question = question_of(LOCAL, {**ROW, "choices": [3, 4, 2.5], "id": 9})
    assert (question.choices, question.id) == (("3", "4", "2.5"), "9")
    assert question_of(LOCAL, {**ROW, "id": "", "category": None}, "row-0").id == "row-0"


@pytest.mark.parametrize(
    "choices",
    [
        ("incorrect 1", "incorrect 2", "truth"),
        ("answer_a", "answer_b"),
        ("Answer 1", "Answer 2", "Answer 3"),
        ("not true", "true"),
    ],
)
def test_a_first_column_that_does_not_say_that_it_is_right(choices: tuple[str, ...]) -> None:
    row = {"question": "?", **dict(zip(choices, ["Ice", "Fog", "Dew"], strict=False))}
    with pytest.raises(UserError, match="'answer_is': 'first'"):
        question_of(mine(choices=choices), row)


def test_a_later_row_with_more_options_than_the_first_is_an_error() -> None:
    rows = [
        ("line 1", {"question": "?", "A": "Ice", "B": "Fog", "answer": "A"}),
        ("line 2", {"question": "!", "A": "Ice", "B": "Fog", "C": "Dew", "answer": "B"}),
    ]
    with pytest.raises(UserError) as error:
        collect_questions(LOCAL, rows, id_prefix="row")
    assert tells(str(error.value), "local: line 2", "first row", "'C'", "'choices'")
    rows[1][1]["C"] = None
    assert len(collect_questions(LOCAL, rows, id_prefix="row")[0]) == 2


def test_repeated_labels_name_no_option() -> None:
    row = {"question": "?", "choices": {"choices": ["Ice", "Fog", "Dew"], "labels": [1, 0, 0]}, "answer": 0}
    with pytest.raises(UnusableQuestion, match="repeated labels: 1, 0, 0"):
        question_of(LOCAL, row)


def test_numbers_are_kept_as_numbers() -> None:
    rows = [("line 1", {**ROW, "kind": 1.0}), ("line 2", {**ROW, "question": "!", "kind": 2.0})]
    assert len(collect_questions(mine(keep={"kind": 1}), rows, id_prefix="row")[0]) == 1
