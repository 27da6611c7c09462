from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import Benchmark, declared
from lm_eval_cora.questions.columns import Field, find_column
from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import MissingColumn, UnusableQuestion
from tests.support.messages import tells
from tests.support.rows import LOCAL, question_of

ROW: dict[str, Any] = {"question": "Frozen?", "choices": ["Ice", "Fog", "Dew"], "answer": 0}


def mine(**declaration: Any) -> Benchmark:
    return declared({"name": "mine", "open": True}, {"name": "mine", **declaration}, ("mine.jsonl",))


def numbered(*rows: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Rows that differ in their questions and in these cells."""
    return [(f"line {n}", {**ROW, "question": f"{n}?", **row}) for n, row in enumerate(rows)]


def notes_on(rows: list[tuple[str, dict[str, Any]]], source: Benchmark = LOCAL) -> list[str]:
    return collect_questions(source, rows, id_prefix="row").notes


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": 5}, "a question that is not text: it is 5"),
        ({"choices": []}, "no options: in 'Frozen"),
        ({"names": ["x", "y"]}, "expected 3 labels, got 2"),
        ({"names": [["x"], ["y"], ["z"]]}, "labels in an unknown format"),
        ({"names": [1, 0, 0]}, "repeated labels: 1, 0, 0"),
    ],
)
def test_a_row_with_labels_that_is_no_question(change: dict[str, Any], message: str) -> None:
    labelled = {**ROW, "names": ["x", "y", "z"], "answer": "z"}
    assert question_of(mine(labels="names"), labelled).answer == 2
    with pytest.raises(UnusableQuestion, match=message):
        question_of(mine(labels="names"), {**labelled, **change})


def test_rows_that_are_not_kept_are_counted_and_do_not_refuse_a_file() -> None:
    rows = numbered(*({"kind": kind} for kind in ("ok", "bad", "ok", 3)))
    questions, left_out, _ = collect_questions(mine(keep={"kind": ["ok"]}), rows, id_prefix="row")
    assert [question.id for question in questions] == ["row-0", "row-2"]
    assert [(where, error.reason) for where, error in left_out] == [("line 1", "kind 'bad'"), ("line 3", "kind 3")]
    with pytest.raises(UserError, match=r"mine: 'keep' .*: 2 with kind 'ok' \(line 0, line 2\)"):
        collect_questions(mine(keep={"kind": "good"}), rows, id_prefix="row")
    rows = numbered({"kind": 1.0}, {"kind": 2.0})
    assert len(collect_questions(mine(keep={"kind": 1}), rows, id_prefix="row").questions) == 1


@pytest.mark.parametrize(
    "choices", [["Aa", "AA"], ["ice cream", "icecream"], ["Fog", "Dew", "Dew"], ["z", "x  y", "x y"]]
)
def test_a_note_on_options_that_are_almost_equal(choices: list[str]) -> None:
    (note,) = notes_on(numbered({"choices": choices, "answer": 0}))
    assert tells(note, "1 of 1", "equal", "case or white space", "line 0")
    assert not notes_on(numbered({}))


def test_a_note_on_a_question_with_two_answers() -> None:
    rows = numbered(*({"question": "?", "answer": n // 2} for n in range(4)))
    assert tells(notes_on(rows)[0], "another right option", "line 0, line 2")
    assert not notes_on(rows[:2])


@pytest.mark.parametrize("answers", ["ABC", (0, 1, 2), ("(A)1", "b. Fog", "C)  Dew"), ("1", "Fog", "Dew")])
def test_labels_in_the_options_are_removed(answers: Any) -> None:
    rows = numbered(*({"choices": ["(A)1", "b. Fog", "C)  Dew"], "answer": answer} for answer in answers))
    questions, _, notes = collect_questions(LOCAL, rows, id_prefix="row")
    assert {question.choices for question in questions} == {("1", "Fog", "Dew")}
    assert [question.answer for question in questions] == [0, 1, 2]
    (note,) = notes
    assert tells(note, "3 of 3 questions", "labels", "'(A)1'", "'1'")


def test_labels_of_a_few_questions_and_equal_options_behind_labels() -> None:
    rows = numbered({"choices": ["A. Smith", "B. Jones"]}, {"answer": 1}, {"answer": 2})
    questions, _, notes = collect_questions(LOCAL, rows, id_prefix="row")
    assert (questions[0].choices, notes) == (("A. Smith", "B. Jones"), [])
    with pytest.raises(UserError, match="line 0: an option equal to the right one: '6' occurs twice"):
        notes_on(numbered({"choices": ["A)6", "B)6", "C)8"], "answer": "A"}))


@pytest.mark.parametrize("empty", ["question", "choices", "answer"])
def test_a_column_that_is_empty_in_every_row(empty: str) -> None:
    with pytest.raises(UserError) as error:
        notes_on(numbered(*({empty: blank, "other": "x"} for blank in ("", None, " "))))
    assert tells(str(error.value), "local: ", f"{empty!r} is empty in every row", f"Set {empty!r}", "'other'")


def test_a_column_in_use_is_not_suggested() -> None:
    row = {"question": "?", "answers": ["Ice", "Fog"], "answr": 0}
    for source in (mine(choices="answers"), mine(choices="answers", answer="answer_")):
        with pytest.raises(MissingColumn, match="Did you mean 'answr'"):
            question_of(source, row)


def test_a_note_where_the_right_option_is_always_at_the_same_place() -> None:
    rows = numbered(*[{}] * 10)
    assert tells(notes_on(rows)[0], "always A", "'shuffle': true")
    assert not notes_on(rows[:9])
    assert not notes_on(rows, mine(shuffle=True))
    assert not notes_on(rows, declared({"hub": "a/b", "split": "test", "published_rows": 10}))


def test_numbers_become_text_and_ids_too() -> None:
    question = question_of(LOCAL, {**ROW, "choices": [3, 4, 2.5], "id": 9})
    assert (question.choices, question.id) == (("3", "4", "2.5"), "9")
    assert question_of(LOCAL, {**ROW, "id": "", "category": None}, "row-0").id == "row-0"


@pytest.mark.parametrize(
    "choices", [("incorrect 1", "incorrect 2", "truth"), ("answer_a", "answer_b"), ("not true", "true")]
)
def test_a_first_column_that_does_not_say_that_it_is_right(choices: tuple[str, ...]) -> None:
    row = {"question": "?", **dict(zip(choices, ["Ice", "Fog", "Dew"], strict=False))}
    with pytest.raises(UserError, match="'answer_is': 'first'"):
        question_of(mine(choices=choices), row)


def test_a_later_row_with_more_options_than_the_first_is_an_error() -> None:
    first = {"question": "?", "A": "Ice", "B": "Fog", "answer": "A"}
    for cell, message in (("Dew", "local: line 2: .*first row.*'C'.*'choices'"), (None, "")):
        rows = [("line 1", first), ("line 2", {**first, "question": "!", "C": cell})]
        with pytest.raises(UserError, match=message) if message else nullcontext():
            assert len(collect_questions(LOCAL, rows, id_prefix="row").questions) == 2


CELLS: dict[str, Any] = {
    "Question": "Frozen?",
    "choices": {"text": ["Ice", "Fog"], "label": ["A", "B"]},
    "pairs": [{"key": "A", "value": "Ice"}, {"key": "B", "value": "Fog"}],
    "cell": '{"text": ["Ice", "Fog"]}',
    "a.b": "dotted",
    "Correct Answer": "Ice",
    "index": 1,
    "nothing": None,
    "text": "{{ 7 * 7 }}",
}


def value(text: str, row: dict[str, Any] = CELLS) -> Any:
    return Field(text).getter(list(row))(row)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, "Frozen?") for text in ("Question", "question", " QUESTION ", "{{ Question }}", "{{- Question }} ")),
        *((text, ["Ice", "Fog"]) for text in ("choices.text", "Choices.text", "pairs.value", "cell.text")),
        *(("choices.text.1", "Fog"), ("a.b", "dotted"), ("correct answer", "Ice")),
        # The value of a single expression keeps its type.
        *(("{{ index }}", 1), ("{{ index - 1 }}", 0), ("{{- index -}}", 1), ("{{ nothing }}", None)),
        *(("{{ choices.text }}", ["Ice", "Fog"]), ("{{ text }}", "{{ 7 * 7 }}")),
        ("{{ row['Correct Answer'] }}", "Ice"),
        *(("Q: {{ Question }}", "Q: Frozen?"), ("{{ Question }}{{ index }}", "Frozen?1")),
        *(("{{ missing | default('') }}", ""), ("{% for one in choices.text %}{{ one }};{% endfor %}", "Ice;Fog;")),
    ],
)
def test_where_a_value_is(text: str, expected: object) -> None:
    assert value(text) == expected


def test_what_a_field_reads() -> None:
    assert Field("{{ passage }} {{ stem or row['x'] }}").reads == ("passage", "stem")


def test_a_column_that_is_missing() -> None:
    for text in ("answer", "answer.text", ".", "choices2.text"):
        with pytest.raises(MissingColumn, match=rf"'{text}'"):
            value(text)
    with pytest.raises(MissingColumn, match="Did you mean 'Question'"):
        value("questoin")
    with pytest.raises(MissingColumn, match="'Question'"):  # only a later row lacks it
        Field("question").getter(["Question"])({"other": 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, f"no {text}") for text in ("choices.texts", "choices.text.7", "Question.text", "index.text")),
        ("Question.0", "no Question.0"),  # not the first letter
        ("question.", "no Question."),
        ("Q: {{ nothing }}", "a template that fails: .* missing value"),
        ("{{ choices.text.append(1) }}", "unsafe"),
        ("{{ answer }}", "'answer' is undefined"),
        ("Q: {{ answer }}", "'answer' is undefined"),
        ("{{ index / 0 }}", "ZeroDivisionError"),
        ("{{ choices.text[9] }}", "no element|undefined"),
        ("{{ Question.__class__.__mro__ }}", "__class__|unsafe|undefined"),
    ],
)
def test_a_row_that_lacks_the_rest(text: str, message: str) -> None:
    with pytest.raises(UnusableQuestion, match=message):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        *("{{ question", "{{ question | nofilter }}", "{% if %}", "{{ }}{{", "{{ [1] | random }}", "{{ 10 ** 5000 }}"),
        f"{{{{ {'(' * 500}1{')' * 500} }}}}",
    ],
)
def test_a_template_that_cannot_be_compiled_is_an_error_at_once(text: str) -> None:
    with pytest.raises(UserError) as error:
        Field(text)
    assert tells(str(error.value), "template", text.strip()[:8])


def test_columns_that_differ_in_case_alone_are_not_guessed_at() -> None:
    assert find_column("answer", ["Answer", "ANSWER"]) is None
    assert find_column("ANSWER", ["Answer", "ANSWER"]) == "ANSWER"
