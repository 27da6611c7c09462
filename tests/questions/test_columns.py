import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import declared
from lm_eval_cora.questions.columns import Field, find_column
from lm_eval_cora.questions.question import MissingColumn, UnusableQuestion
from tests.support.messages import tells
from tests.support.rows import LOCAL, collected, mine, question_of, refused


def test_parts_under_their_usual_names():
    row = {"ID": 7, "Stem": "Frozen?", "OPTIONS": ["Ice", "Fog"], "AnswerKey": "B", "Category": "physics"}
    question = question_of(LOCAL, row)
    assert (question.id, question.stem, question.choices) == ("7", "Frozen?", ("Ice", "Fog"))
    assert (question.answer, question.category) == (1, "physics")


OPTION_COLUMNS = [
    *("ABC", ["a", "b", "c"], ["option_a", "option_b", "option_c"], ["opa", "opb", "opc"]),
    *(["option1", "option2", "option3"], ["CHOICE_0", "CHOICE_1"]),
]


@pytest.mark.parametrize("names", OPTION_COLUMNS)
def test_a_column_for_each_option(names):
    row = {"question": "?", **dict(zip(names, ["Ice", "Fog", "Dew"], strict=False)), "answer": "Fog"}
    assert question_of(LOCAL, row).choices == ("Ice", "Fog", "Dew")[: len(names)]


def test_options_of_several_lines_stay_so_in_a_file_of_the_user():
    code = ["if x:\r\n    y = 1  \r\n", " x  =  1 "]
    assert question_of(LOCAL, {"question": "?", "choices": code, "answer": 0}).choices == ("if x:\n    y = 1", "x = 1")


SHORT = {"choices": ..., "A": "Ice", "B": "Fog"}
TWO_OF_FOUR = {**SHORT, "C": None, "D": " ", "answer": "B"}
EACH = {"choices": ..., "answer": ..., "a": "Ice", "b": "Fog", "c": "Dew"}
LABELLED = {"names": ["x", "y", "z"], "answer": "z"}

REFUSED = [
    # A part is missing; ... takes a column away.
    ({}, [{"question": ..., "Frage": "?"}], ("line 1: ", "question", "'question'")),
    ({}, [{"choices": ..., "choises": []}], ("choices", "A, B, C", "'choises'")),
    ({}, [{"answer": ...}], ("answer", "'answer'")),
    ({}, [{"choices": ..., "A": "Ice"}], ("choices",)),  # a single option column
    ({}, [{"choices": ..., "B": "Ice", "C": "Fog"}], ("choices",)),  # the columns do not start with A
    *(
        (named, [{"choices": ..., "answer": ..., "answers": ["Ice", "Fog"], "answr": 0}], ("Did you mean 'answr'",))
        for named in ({"choices": "answers"}, {"choices": "answers", "answer": "answer_"})  # not one in use
    ),
    # Only the last options may be missing, and a later row may have no more of them than the first.
    ({}, [{**TWO_OF_FOUR, "D": "Dew"}], ("an empty option",)),
    ({}, [{**TWO_OF_FOUR, "answer": "C"}], ("an answer outside the options",)),
    ({}, [SHORT, {**SHORT, "C": "Dew"}], ("line 2: ", "first row", "'C'", "'choices'")),
    # Without an answer, the name of the first column must say that it is right.
    ({"choices": ("a", "b", "c")}, [{**EACH, "Answer": "B"}], ("'Answer'", "'answer': 'Answer'")),
    *(
        ({"choices": names}, [{**EACH, **dict.fromkeys(names, "Ice")}], (repr(names[0]), "'answer_is': 'first'"))
        for names in (("a", "b", "c"), ("incorrect 1", "truth"), ("answer_a", "answer_b"), ("not true", "true"))
    ),
    *(
        ({"labels": "names"}, [{**LABELLED, **change}], (message,))
        for change, message in (
            ({"question": 5}, "a question that is not text: it is 5"),
            ({"choices": []}, "no options: in '1?'"),
            ({"names": ["x", "y"]}, "expected 3 labels, got 2"),
            ({"names": [["x"], ["y"], ["z"]]}, "labels in an unknown format"),
            ({"names": [1, 0, 0]}, "repeated labels: 1, 0, 0"),
        )
    ),
    ({"keep": {"kind": "good"}}, [{"kind": "ok"}] * 2, ("'keep'", ": 2 with kind 'ok' (line 1, line 2)")),
    # Options that are equal behind their labels
    ({}, [{"choices": ["A)6", "B)6", "C)8"]}], ("line 1: an option equal to the right one: '6' occurs twice",)),
]  # fmt: skip


@pytest.mark.parametrize(("declaration", "rows", "parts"), REFUSED)
def test_rows_that_are_refused(declaration, rows, parts):
    assert tells(refused(mine(**declaration), *rows), "mine: ", *parts)


def test_similar_rows_that_are_read():
    assert collected(mine(), TWO_OF_FOUR).questions[0].choices == ("Ice", "Fog")
    assert len(collected(mine(), SHORT, {**SHORT, "C": None}).questions) == 2
    assert collected(mine(labels="names"), LABELLED).questions[0].answer == 2
    numbers, blank = collected(mine(), {"choices": [3, 4, 2.5], "id": 9}, {"id": "", "category": None}).questions
    assert (numbers.choices, numbers.id, blank.id) == (("3", "4", "2.5"), "9", "row-1")


def test_without_an_answer_the_first_column_is_right_and_the_order_is_drawn():
    row = {"question": "?", "Right one": "Ice", "wrong 1": "Fog", "wrong 2": "Dew", "Answer": "wrong 1"}
    for declaration in ({}, {"answer_is": "first"}):
        source = mine(choices=("Right one", "wrong 1", "wrong 2"), **declaration)
        given = {name: row[name] for name in row if name != "Answer" or declaration}
        found = [question_of(source, given, f"row-{number}") for number in range(60)]
        assert {question.choices[int(question.answer)] for question in found} == {"Ice"}
        assert {question.answer for question in found} == {0, 1, 2}
        assert question_of(source, given, "row-3") == found[3]
    # The column `correct_answer` contains the right option, so no answer column is missing.
    named = mine(choices=("correct_answer", "b"))
    assert question_of(named, {"question": "?", "correct_answer": "Ice", "b": "Fog"}).answer in (0, 1)


def test_rows_that_are_not_kept_are_counted_and_do_not_refuse_a_file():
    rows = ({"kind": kind} for kind in ("ok", "bad", "ok", 3))
    questions, left_out, _ = collected(mine(keep={"kind": ["ok"]}), *rows)
    assert [question.id for question in questions] == ["row-0", "row-2"]
    assert [(where, error.reason) for where, error in left_out] == [("line 2", "kind 'bad'"), ("line 4", "kind 3")]
    assert len(collected(mine(keep={"kind": 1}), {"kind": 1.0}, {"kind": 2.0}).questions) == 1


SAME = [{"question": "?", "answer": n // 2} for n in range(4)]

NOTES = [
    *(
        ({}, [{"choices": choices}], ("1 of 1", "equal", "case, white space", "line 1"))
        for choices in (
            *(["Aa", "AA"], ["ice cream", "icecream"], ["Fog", "Dew", "Dew"], [".5 m", "0.50 m"], ["10", "10.00"]),
            *(["1,000", "1000"], ["5-6", "5–6"], ["“a”", '"a"']),
        )
    ),
    ({}, SAME, ("another right option", "line 1, line 3")),
    ({}, [{}] * 10, ("always A", "'shuffle': true")),
    # Nothing is suspicious.
    *(({}, rows, ()) for rows in (SAME[:2], [{}] * 9, [{"choices": ["1.0.10", "1.0.1", "10", "1", "x²", "x2"]}])),
    ({"shuffle": True}, [{}] * 10, ()),
    ({}, [{"choices": ["A. Smith", "B. Jones"]}, {"answer": 1}, {"answer": 2}], ()),
]


@pytest.mark.parametrize(("declaration", "rows", "parts"), NOTES)
def test_notes_on_suspicious_rows(declaration, rows, parts):
    notes = collected(mine(**declaration), *rows).notes
    assert len(notes) == bool(parts)
    assert all(tells(note, *parts) for note in notes)
    published = declared({"hub": "a/b", "split": "test", "published_rows": 10, **declaration})
    assert not collected(published, *rows).notes


@pytest.mark.parametrize("answers", ["ABC", (0, 1, 2), ("(A)1", "b. Fog", "C)  Dew"), ("1", "Fog", "Dew")])
def test_labels_in_the_options_are_removed(answers):
    rows = ({"choices": ["(A)1", "b. Fog", "C)  Dew"], "answer": answer} for answer in answers)
    questions, _, notes = collected(mine(), *rows)
    assert {question.choices for question in questions} == {("1", "Fog", "Dew")}
    assert [question.answer for question in questions] == [0, 1, 2]
    (note,) = notes
    assert tells(note, "3 of 3 questions", "labels", "'(A)1'", "'1'")


@pytest.mark.parametrize(
    ("options", "answer"),
    [(["أ- واحد", "ب- اثنان"], "ب"), (["1. Ice", "2. Fog"], "2"), (["i) Ice", "ii) Fog"], "ii")],
)
def test_labels_of_any_script_in_the_options_are_removed_and_may_be_the_answer(options, answer):
    (question,), _, notes = collected(mine(), {"choices": options, "answer": answer})
    assert (question.choices, question.answer) == (tuple(text.split()[1] for text in options), 1)
    assert tells(notes[0], "labels of their own")


@pytest.mark.parametrize(
    "options",
    [
        *(["1.5", "2.5"], ["1:30", "2:30"], ["A-frame", "B-tree"], ["1-2", "2-3"], ["A. Smith", "C. Jones"]),
        *(["1. Ice", "2. Fog", "Dew"], ["(b) Ice", "(a) Fog"]),
    ],
)
def test_what_only_begins_like_a_label_stays(options):
    assert list(question_of(LOCAL, {"question": "?", "choices": options, "answer": options[0]}).choices) == options


def test_questions_with_several_right_options_are_named_and_a_template_leaves_them_out():
    rows = [{"answer": ["A", "C"]}, {"answer": ["A"]}]
    assert tells(refused(mine(), *rows), "line 1: two right options", "'keep': {'{{ answer | length }}': 1}")
    questions, left_out, _ = collected(mine(keep={"{{ answer | length }}": 1}), *rows)
    assert (len(questions), [where for where, _ in left_out]) == (1, ["line 1"])


CELLS = {"Question": "Frozen?", "choices": {"text": ["Ice", "Fog"], "label": ["A", "B"]}}
CELLS |= {"pairs": [{"key": "A", "value": "Ice"}, {"key": "B", "value": "Fog"}], "cell": '{"text": ["Ice", "Fog"]}'}
CELLS |= {"a.b": "dotted", "Correct Answer": "Ice", "index": 1, "nothing": None, "text": "{{ 7 * 7 }}"}


def value(text, row=CELLS):
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
def test_where_a_value_is(text, expected):
    assert value(text) == expected


def test_a_column_that_is_missing():
    assert Field("{{ passage }} {{ stem or row['x'] }}").reads == ("passage", "stem")
    # Columns that differ in case alone are not guessed.
    assert [find_column(name, ["Answer", "ANSWER"]) for name in ("answer", "ANSWER")] == [None, "ANSWER"]
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
def test_a_row_that_lacks_the_rest(text, message):
    with pytest.raises(UnusableQuestion, match=message):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        *("{{ question", "{{ question | nofilter }}", "{% if %}", "{{ }}{{", "{{ [1] | random }}", "{{ 10 ** 5000 }}"),
        f"{{{{ {'(' * 500}1{')' * 500} }}}}",
    ],
)
def test_a_template_that_cannot_be_compiled_is_an_error_at_once(text):
    with pytest.raises(UserError) as error:
        Field(text)
    assert tells(str(error.value), "template", text.strip()[:8])


def test_what_questions_share():
    row = {"question": "Frozen?", "choices": ["Ice", "Fog"], "answer": "Ice", "passage": "Water freezes. " * 9}
    assert question_of(LOCAL, {**row, "cluster": 7}).cluster == "7"
    assert question_of(LOCAL, row).cluster == ""
    named = [question_of(mine(cluster=text), row).cluster for text in ("passage", "{{ passage }}{{ answer }}")]
    assert [len(name) for name in named] == [16, 16]  # digests of long texts
    assert len({*named}) == 2
