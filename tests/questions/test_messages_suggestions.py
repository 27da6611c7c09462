"""Suggestions for unknown words."""

from __future__ import annotations

import pytest

from lm_eval_cora.questions.messages import did_you_mean

TASKS = ("cora_demo", "cora_medqa", "cora_medqa_mc", "cora_medmcqa", "cora_mmlu", "cora_math")


def test_the_closest_word_comes_first() -> None:
    assert did_you_mean("cora_medqaa", TASKS).startswith(" Did you mean 'cora_medqa'")


def test_three_words_are_shown_at_most() -> None:
    known = [f"a_long_name_{letter}" for letter in "abcdef"]
    assert did_you_mean("a_long_name", known).count("a_long_name") == 3
    assert did_you_mean("ong", known).count("a_long_name") == 3


def test_a_part_of_a_name_is_found_if_nothing_is_close() -> None:
    assert did_you_mean("mmlu", TASKS) == " Did you mean 'cora_mmlu'?"
    assert did_you_mean("medqa_", TASKS).startswith(" Did you mean 'cora_medqa")
    assert did_you_mean("co", TASKS) == ""


def test_upper_and_lower_case_are_equal_and_the_known_spelling_is_shown() -> None:
    assert did_you_mean("DATA_FILE", ["data_files", "seed"]) == " Did you mean 'data_files'?"
    assert did_you_mean("wandb", ["WandB"]) == " Did you mean 'WandB'?"


def test_the_order_of_the_known_words_does_not_matter() -> None:
    assert did_you_mean("cora_med", TASKS) == did_you_mean("cora_med", reversed(TASKS)) != ""
    assert did_you_mean("cora", ["CORA", "Cora"]) == did_you_mean("cora", ["Cora", "CORA"]) != ""


@pytest.mark.parametrize("word", ["", "\0", "x" * 1_000_000, "zzzz"])
def test_a_word_that_is_close_to_nothing_gets_nothing(word: str) -> None:
    assert did_you_mean(word, TASKS) == ""


def test_there_may_be_no_known_words() -> None:
    assert did_you_mean("cora", []) == ""
