"""Rows of the package's benchmarks, as their sources have them, and the demo questions."""

import json
from collections import Counter

import pytest

from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import UnusableQuestion
from lm_eval_cora.questions.references import references
from lm_eval_cora.questions.rows import read_rows
from lm_eval_cora.runs.task_files import benchmark
from tests.support.rows import question_of

TEXTS = ["Steam", "Ice", "Fog", "Dew"]
VITAMINS = {key: f"Vitamin {key}" for key in "ABCDE"}
KEYED = [{"key": key, "value": value} for key, value in VITAMINS.items()]
TEN = [f"option {n}" for n in range(10)]
ASKED = {"question": "Which of these is frozen water?"}
FOUR = {"opa": "Steam", "opb": "1", "opc": "None", "opd": "Ice"}

ROWS = {
    "arc_challenge": {**ASKED, "id": "M1", "choices": {"text": TEXTS, "label": [*"ABCD"]}, "answerKey": "B"},
    "medmcqa": {**ASKED, **FOUR, "id": "e9ad821a", "subject_name": "Physiology", "cop": 3},
    "medqa": {**ASKED, "meta_info": "step1", "answer_idx": "C", "answer": "Vitamin C", "options": KEYED},
    "mmlu": {**ASKED, "subject": "conceptual_physics", "choices": TEXTS, "answer": 1},
    "mmlu_pro": {**ASKED, "question_id": 0, "category": "physics", "options": ["Steam", "Fog", "Ice"]}
    | {"answer": "C", "answer_index": 2},
    "truthfulqa": {**ASKED, "mc1_targets": {"choices": ["Ice", "Steam", "Fog", "Dew"], "labels": [1, 0, 0, 0]}},
}


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        # "3" is the label of the third option here, not index 3.
        *(
            ("arc_challenge", {"choices": {"text": TEXTS, "label": ["1", "2", "3", "4"]}, "answerKey": key},
             ("M1", tuple(TEXTS), 2, ""))
            for key in ("3", 3)
        ),
        # three options, in a csv file without ids
        ("arc_challenge", {"id": None, "choices": json.dumps({"text": TEXTS[:3], "label": ["A", "B", "C"]})},
         ("test-7", tuple(TEXTS[:3]), 1, "")),
        ("medmcqa", {"id": "", "subject_name": None}, ("test-7", ("Steam", "1", "None", "Ice"), 3, "")),
        # also the authors' files, and a csv file without the text of the answer
        *(
            ("medqa", change, ("test-7", tuple(VITAMINS.values()), 2, "step1"))
            for change in ({"options": VITAMINS}, {"options": json.dumps(VITAMINS), "answer": None})
        ),
        ("mmlu", {"choices": '["None", "N/A", "1", "0"]', "answer": "1"},
         ("test-7", ("None", "N/A", "1", "0"), 1, "conceptual_physics")),
        ("mmlu_pro", {"options": TEN, "answer": "J", "answer_index": 9}, ("0", tuple(TEN), 9, "physics")),
    ],
)  # fmt: skip
def test_a_row_becomes_a_question(name, change, expected):
    question = question_of(name, {**ROWS[name], **change}, "test-7")
    assert (question.id, question.choices, question.answer, question.category) == expected


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("arc_challenge", {"choices": {"text": ["Steam", "Ice"], "label": ["A", "B", "C"]}}, "expected 2 labels, .*C"),
        ("medmcqa", {"cop": -1}, "an answer outside the options: -1"),  # the test split has no answers
        ("medqa", {"answer_idx": "B"}, r"'B' is 'Vitamin B', .* 'Vitamin C'"),
        *(("mmlu_pro", change, "contradict") for change in ({"answer": "B"}, {"answer_index": 0})),
        *(
            ("truthfulqa", {"mc1_targets": {"choices": TEXTS, "labels": labels}}, message)
            for labels, message in (
                ([0, 0, 0, 0], "an answer outside the options"),
                ([1, 1, 0, 0], "two right options"),
            )
        ),
        ("truthfulqa", {"mc1_targets": None}, r"no mc1_targets.choices"),
    ],
)
def test_a_row_that_is_no_question(name, change, message):
    with pytest.raises(UnusableQuestion, match=message):
        question_of(name, {**ROWS[name], **change}, "test-7")


def test_the_order_of_truthfulqa_is_drawn_by_the_id_alone():
    # A fixed order, because a different one would change all scores.
    question = question_of("truthfulqa", ROWS["truthfulqa"], "validation-2")
    assert question.choices == ("Dew", "Fog", "Ice", "Steam")


def test_the_demo_questions():
    """Their facts were checked by hand twice, once without the answer key."""
    demo = benchmark("demo")
    questions, left_out, notes = collect_questions(demo, read_rows(demo.package_file), id_prefix="row")
    assert (left_out, notes, len(questions), demo.published_rows) == ([], [], 120, 120)
    assert {len(set(question.identities)) for question in questions} == {5}
    assert len({question.stem for question in questions}) == 120
    rows = [row for _, row in read_rows(demo.package_file)]
    assert Counter(Counter(row["category"] for row in rows).values()) == {10: 12}
    assert Counter(row["answer"] for row in rows) == dict.fromkeys("ABCDE", 24)
    assert Counter(row["level"] for row in rows)["hard"] >= len(rows) / 3
    assert not [row["id"] for row in rows if any(references((*row["choices"],), row["question"]))]
    # By chance, 24 of 120 right options are the longest, with a standard deviation of 4.4.
    lengths = [([len(choice) for choice in row["choices"]], "ABCDE".index(row["answer"])) for row in rows]
    for pick in (max, min):
        assert sum(length[right] == pick(length) and length.count(pick(length)) == 1 for length, right in lengths) <= 37
