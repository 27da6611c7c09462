from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.adapters import SUBSETS, agieval_question, subset_of
from lm_eval_cora.questions.question import UnusableQuestion


def row(before: str, choices: list[str], gold: Any = 1, subset: str = "lsat-lr") -> dict[str, Any]:
    last = "ABCDE"[len(choices) - 1]
    query = f"{before} Answer Choices: {' '.join(choices)}\nA: Among A through {last}, the answer is"
    return {"query": query, "choices": choices, "gold": gold, "subset": subset}


PLAIN = ["(A)Steam", "(B)Ice", "(C)Fog", "(D)Dew"]


def test_the_passage_belongs_to_the_stem() -> None:
    question = agieval_question(row("Water freezes.\nIt melts, too.Q: Which is frozen?", PLAIN, [1]), "lsat-lr-test-0")
    assert question.stem == "Water freezes.\nIt melts, too.\nWhich is frozen?"
    assert question.choices == ("Steam", "Ice", "Fog", "Dew")
    assert (question.id, question.answer, question.category) == ("lsat-lr-test-0", 1, "lsat-lr")


@pytest.mark.parametrize(
    ("before", "stem"),
    [
        ("Q: Which is frozen?", "Which is frozen?"),
        ("They were all of one mindQ: Which is frozen?", "They were all of one mind\nWhich is frozen?"),
        # These texts contain no joined passage and question, so they stay unchanged.
        ("Which IQ: 100 or 120?", "Which IQ: 100 or 120?"),
        ("A dialogue. Q: Why?", "A dialogue. Q: Why?"),
        # After a leading "Q: " the text is the question.
        ("Q: A dialogue.Q: Why?", "A dialogue.Q: Why?"),
        # With two matches the start of the question is unknown.
        ("An interview.Q: Who?\nNo answer.Q: Which is frozen?", "An interview.Q: Who?\nNo answer.Q: Which is frozen?"),
    ],
)
def test_where_the_question_begins(before: str, stem: str) -> None:
    assert agieval_question(row(before, PLAIN), "").stem == stem


def test_a_stem_that_speaks_of_answer_choices() -> None:
    before = "Q: A form reads Answer Choices: yes or no. Which is frozen?"
    assert agieval_question(row(before, PLAIN), "").stem == before[3:]


def test_options_that_a_query_prints_in_another_way_are_cut_off_too() -> None:
    spaced = {**row("Q: Which is frozen?", PLAIN), "choices": ["(A) Steam", "(B) Ice", "(C) Fog", "(D) Dew"]}
    assert agieval_question(spaced, "").stem == "Which is frozen?"
    assert agieval_question(spaced, "").choices == ("Steam", "Ice", "Fog", "Dew")


def test_the_article_a_stays() -> None:
    choices = ["(A)A fall", "A rise", "(C) A (C) major", "(D)(A) and (B)"]
    assert agieval_question(row("Q: Which?", choices), "").choices == ("A fall", "A rise", "A (C) major", "(A) and (B)")


def test_a_letter_that_is_not_the_options_own_stays() -> None:
    assert agieval_question(row("Q: Which?", ["(B)one", "(A)two"]), "").choices == ("(B)one", "(A)two")


def test_a_csv_file_holds_the_gold_as_text() -> None:
    assert agieval_question(row("Q: Which?", PLAIN, "[3]"), "").answer == 3
    assert agieval_question({**row("Q: Which?", PLAIN, "2"), "subset": ""}, "").answer == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gold": [0, 1]}, "no single right answer"),
        ({"gold": []}, "no single right answer"),
        ({"gold": [4]}, "an answer outside the options: gold 4"),
        ({"query": "Which is frozen?"}, "a query without its options"),
        ({"query": None}, "a question that is not text"),
        ({"choices": "(A)Ice (B)Fog"}, "options that are not a list"),
        ({"choices": [None, "(B)Ice"]}, "an option that is not text"),
    ],
)
def test_rows_that_cannot_be_asked(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UnusableQuestion, match=message):
        agieval_question({**row("Q: Which?", PLAIN), **changed}, "")


def test_the_subset_is_in_the_name_of_the_source() -> None:
    assert [subset_of(f"hails/agieval-{subset}", {}) for subset in SUBSETS] == list(SUBSETS)
    assert subset_of("/data/sat-math/lsat-ar.jsonl", {}) == "lsat-ar"


def test_a_subset_of_the_rows_own_goes_first() -> None:
    assert subset_of("/data/sat-math/all.jsonl", {"subset": "lsat-rc"}) == "lsat-rc"
    assert subset_of("/data/sat-math/all.csv", {"subset": ""}) == "sat-math"


@pytest.mark.parametrize("row", [{}, {"subset": None}, {"subset": "gaokao"}])
def test_without_a_subset_ids_and_exemplars_would_be_others(row: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"agieval: mine.jsonl: .*'subset'"):
        subset_of("mine.jsonl", row)
