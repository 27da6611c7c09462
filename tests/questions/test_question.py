import pytest

from lm_eval_cora.questions.question import Question, UnusableQuestion, shorten


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choices": ()}, "fewer than two options: 0 in"),
        ({"choices": ("Ice",)}, "fewer than two options: 1 in"),
        ({"choices": tuple(map(str, range(27)))}, "more than 26 options: 27 in"),
        *(({"answer": one}, f"an answer outside the options: index {one!r} of 3 ") for one in (3, -1, True, "A")),
        ({"stem": "  "}, "empty stem: the question reads '  '"),
        *(({"stem": stem}, f"a question that is not text: it is {stem}") for stem in (None, 5)),
        ({"choices": ("Ice", "Fog", " Ice")}, "an option equal to the right one: 'Ice' occurs twice"),
        ({"choices": ("a  b", "c", "a\nb")}, "an option equal to the right one: 'a b' occurs twice"),
        *(
            ({"choices": ("Ice", "Fog", twin)}, f"an option equal to the right one: 'Ice' and {twin!a} look the same")
            for twin in ("Ice\u200b", "I\u00adce", "Iсe", "Ιce", "Ｉｃｅ")
        ),
        ({"choices": ("Café", "Fog", "Cafe\u0301")}, r"an option equal to the right one: 'Cafe\u0301' and 'Caf\xe9'"),
        ({"choices": ("Ice", None, "Fog")}, "text that is not valid Unicode: None"),
        ({"stem": "Broken \ud83d"}, "text that is not valid Unicode: 'Broken \\ud83d'"),
        *((change, "text that is not valid Unicode") for change in ({"choices": ("Ice", "\udc00")}, {"id": "\udc00"})),
    ],
)
def test_an_unusable_question_is_an_error_with_the_reason(change, message):
    usable = {"id": "q1", "stem": "What is frozen water?", "choices": ("Ice", "Steam", "Fog"), "answer": 0}
    Question(**usable)
    with pytest.raises(UnusableQuestion) as error:
        Question(**{**usable, **change})
    assert str(error.value).startswith(message)


def test_texts_are_unchanged_except_for_white_space():
    choices = ("None", "N/A", "1", "", "$x^2$", "שלום")
    assert Question("q", "Which?", choices, 0).choices == choices
    # MedQA has options that end with a line break, and MMLU has code of several lines.
    question = Question("q", " Which?\n", (" x := 1;\n\ty := 2 ", "Ice\u2028\x85", "\u00a0", "a  b"), 0, " bio ")
    assert (question.stem, question.category) == ("Which?", "bio")
    assert question.choices == ("x := 1; y := 2", "Ice", "", "a b")
    assert Question(7, "Which?", ("Fog", "Ice"), 1).id == "7"  # type: ignore[arg-type]
    assert shorten("Which of these is the\ncapital of France?", 12) == "Which of th…"


def test_equal_distractors_share_an_identity():
    assert Question("q", "Which?", ("Fog", "Ice", "Fog ", "Steam", "Fo\u200bg"), 1).identities == (0, 1, 0, 3, 0)


def test_texts_that_do_not_look_the_same():
    choices = ("x2", "x²", "x₂", "𝐱2", "ν", "v", "мир", "мiр", "می\u200cروم", "میروم", "½", "1/2")
    assert Question("q", "Which?", choices, 0).identities == tuple(range(len(choices)))
