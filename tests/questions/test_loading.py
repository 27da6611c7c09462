from dataclasses import replace

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.loading import ExemplarPool, count_left_out, load_questions
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Question, UnusableQuestion
from tests.support.messages import tells
from tests.support.rows import LOCAL, collected, mine, refused

PUBLIC = mine(hub=("somebody/public",), split="test")


def test_a_public_benchmark_leaves_out_and_counts_with_stable_ids():
    defects = [{"question": " "}, {"choices": []}, {"answer": 7}, {"choices": ["Ice", "Ice"]}, {"question": ""}]
    questions, left_out, _ = collected(PUBLIC, {}, *defects, {}, {"id": 5})
    assert [question.id for question in questions] == ["row-0", "row-6", "5"]
    parts = ("2 with", "stem (line 2, line 6)", "1 with", "(line 3)", "1 with", "(line 4)", "1 with", "(line 5)")
    assert tells(count_left_out(left_out), *parts)


def test_a_users_file_is_refused_with_each_row():
    first, second, third, fourth = refused(LOCAL, {}, {"question": " "}, {}, {"answer": 7}).splitlines()
    assert tells(first, "local: ", "2 of 4 rows")
    assert tells(second, "line 2: ", "stem", "' '")
    assert tells(third, "line 4: ", "answer", "7", "from 0 to 2", "3 options")
    assert tells(fourth, "'keep'")


@pytest.mark.parametrize(
    ("source", "rows", "parts"),
    [
        (LOCAL, [{"answer": 7}] * 20, ("20 of 20 rows", "\n  and 15 more")),
        (LOCAL, [{"id": 7}, {"id": "7"}], ("line 2: ", "'7'", " line 1")),  # they would count as one question
        (PUBLIC, [{"answer": ...}], ("mine: line 1: ", "answer", ": question, choices")),
        (PUBLIC, [], ("mine: there are no rows",)),
        (PUBLIC, [{"answer": 7}], ("mine: 1 of 1 rows",)),
    ],
)
def test_rows_without_questions(source, rows, parts):
    assert tells(refused(source, *rows), *parts)


def test_an_english_option_among_other_questions_is_told(caplog):
    caplog.set_level("WARNING", "lm_eval")
    for stem, parts in (
        ("Welche Stadt ist die größte und liegt an der Elbe?", ["German, the option 'None of the above'", "nota_text"]),
        ("Which city is the largest and lies on the Elbe?", []),
    ):
        rows = [{"question": stem, "choices": ["Magdeburg", "Dresden", "Hamburg"], "answer": "C"}]
        for more in ({}, {"nota_text": "Keine davon"}):
            caplog.clear()
            load_questions(LOCAL, Options(data_files=(rows,), **more))
            assert bool(caplog.messages) == (bool(parts) and not more)
            assert more or tells(caplog.text, *parts)


def test_many_kinds_of_defects_are_not_all_printed():
    counts = count_left_out((f"row {number}", UnusableQuestion(f"kind {number}")) for number in range(6000))
    assert len(counts) < 1000
    assert counts.endswith("; 5990 more kinds")


# ---- exemplars
def question(number, category=""):
    return Question(f"q{number}", f"What follows {number}?", (str(number + 1), "0"), 0, category)


QUESTIONS = [question(number, ("law", "physics")[number % 2]) for number in range(12)]


def pool(questions=QUESTIONS, within_category=False, **how):
    return ExemplarPool(questions, source="the dev split", within_category=within_category, **how)


def test_exemplars_depend_only_on_question_and_seeds():
    drawn = pool().draw(QUESTIONS[0], 5, 0, 1234)
    assert drawn == pool().draw(QUESTIONS[0], 5, 0, 1234) == pool().draw(QUESTIONS[0], 11, 0, 1234)[:5]
    others = [(QUESTIONS[1], 0, 1234), (QUESTIONS[0], 1, 1234), (QUESTIONS[0], 0, 1)]
    assert drawn not in [pool().draw(asked, 5, *seeds) for asked, *seeds in others]
    # Stored values, because other exemplars would change scores.
    assert [one.id for one in drawn] == ["q11", "q10", "q9", "q2", "q1"]


def test_the_question_itself_is_never_drawn():
    # The twin is a test question in the train set, with another id, order of options and white space.
    twin = Question("train-77", " What follows 3? ", ("0", "4 "), 1, "physics")
    for seed in range(50):
        drawn = pool([*QUESTIONS, twin]).draw(question(3), 11, seed)
        assert not {"q3", "train-77"} & {one.id for one in drawn}


def test_exemplars_do_not_repeat():
    doubled = [*QUESTIONS, *(replace(question, id=f"again {question.id}") for question in QUESTIONS)]
    for seed in range(20):
        assert len({one.stem for one in pool(doubled).draw(QUESTIONS[0], 11, seed)}) == 11
    same_stem = [Question(f"q{n}", "Which is true?", (f"fact {n}", "none"), 0) for n in range(4)]
    assert len(pool(same_stem).draw(same_stem[0], 3, 0)) == 3


UNEVEN = [*(question(number, "law") for number in range(5)), *(question(number, "arts") for number in (7, 8))]
"""A question has four others in its category, or one."""


def test_questions_with_too_few_exemplars_are_found():
    of_both = pool(UNEVEN, within_category=True)
    assert of_both.fewer(UNEVEN, 1) == {}
    assert of_both.fewer(UNEVEN, 3) == {"q7": 1, "q8": 1}
    assert of_both.fewer([question(20, "chemistry")], 3) == {"q20": 0}
    assert pool().draw(QUESTIONS[0], 0, 0) == []


@pytest.mark.parametrize(
    ("drawn_from", "asked", "shots", "parts"),
    [
        (pool(QUESTIONS, True), QUESTIONS[:1], 6, ("'q0'", "5 exemplars", "'law'", "dev split", "--num_fewshot 5")),
        (pool(QUESTIONS[1:2], within_category=True), QUESTIONS[:1], 1, ("'q0'", "0 exemplars at most")),
        # The suggested number works for every question.
        *((pool(UNEVEN, within_category=True), UNEVEN, shots, ("'q7'", "1 exemplars", "shot 1")) for shots in (4, 5)),
    ],
)
def test_too_few_exemplars_are_an_error(drawn_from, asked, shots, parts):
    with pytest.raises(UserError) as error:
        drawn_from.check(asked, shots)
    assert tells(str(error.value), *parts)


def test_a_split_made_for_exemplars_is_used_as_published():
    # MMLU's dev split has a repeated question in college_physics, and a question with two equal distractors.
    again = Question("dev-3", QUESTIONS[0].stem, QUESTIONS[0].choices, 0, "law")
    equal = Question("dev-4", "Which?", ("Fog", "Ice", "Fog"), 1, "law")
    asked = Question("test-0", "Which is law?", ("this", "that"), 0, "law")
    split = pool([QUESTIONS[0], QUESTIONS[1], again, equal, QUESTIONS[2]], True, as_published=True)
    for seed in range(5):
        assert split.draw(asked, 5, seed) == [QUESTIONS[0], again, equal, QUESTIONS[2]]
        assert split.draw(asked, 2, seed) == [QUESTIONS[0], again]
    # All copies of the question itself are skipped.
    copy = Question("dev-3", QUESTIONS[0].stem, QUESTIONS[0].choices[::-1], 1, "law")
    asked = Question("test-0", f" {QUESTIONS[0].stem}", QUESTIONS[0].choices, 0, "law")
    assert pool([QUESTIONS[0], copy, QUESTIONS[2]], True, as_published=True).draw(asked, 5, 0) == [QUESTIONS[2]]
