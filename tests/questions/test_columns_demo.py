"""Format of the demo questions. Their facts were checked by hand twice, once without the answer key."""

from __future__ import annotations

import json
from collections import Counter

from lm_eval_cora.discovery.task_files import benchmark
from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import refers_to_options
from lm_eval_cora.questions.rows import read_rows

DEMO = benchmark("demo")

ROWS = [json.loads(line) for line in DEMO.package_file.read_text(encoding="utf-8").splitlines()]


def test_every_question_can_be_asked() -> None:
    questions, left_out, notes = collect_questions(DEMO, read_rows(DEMO.package_file), id_prefix="row")
    assert not left_out
    assert not notes
    assert len(questions) == DEMO.published_rows == 120
    assert {len(question.choices) for question in questions} == {5}
    assert all(len(set(question.identities)) == 5 for question in questions)
    assert len({question.stem for question in questions}) == 120


def test_fields_levels_and_right_answers_are_spread() -> None:
    assert set(Counter(row["category"] for row in ROWS).values()) == {10}
    assert len({row["category"] for row in ROWS}) == 12
    assert Counter(row["answer"] for row in ROWS) == dict.fromkeys("ABCDE", 24)
    assert Counter(row["level"] for row in ROWS)["hard"] >= len(ROWS) / 3


def test_no_option_refers_to_others() -> None:
    assert not [row["id"] for row in ROWS if refers_to_options(row["choices"])]


def test_the_length_of_an_option_does_not_give_it_away() -> None:
    def right_is(pick) -> int:  # type: ignore[no-untyped-def]
        lengths = [[len(choice) for choice in row["choices"]] for row in ROWS]
        return sum(
            length["ABCDE".index(row["answer"])] == pick(length) and length.count(pick(length)) == 1
            for row, length in zip(ROWS, lengths, strict=True)
        )

    # By chance, 24 of 120 right options are the longest, with a standard deviation of 4.4.
    assert right_is(max) <= 37
    assert right_is(min) <= 37
