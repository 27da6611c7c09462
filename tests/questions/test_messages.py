import pytest

from lm_eval_cora.questions.messages import did_you_mean, first_few

TASKS = ("cora_demo", "cora_medqa", "cora_medqa_mc", "cora_medmcqa", "cora_mmlu", "cora_math")
LONG = [f"a_long_name_{letter}" for letter in "abcdef"]


@pytest.mark.parametrize(
    ("word", "known", "begins"),
    [
        ("cora_medqaa", TASKS, " Did you mean 'cora_medqa'"),  # the closest word comes first
        ("mmlu", TASKS, " Did you mean 'cora_mmlu'?"),  # part of a name, if nothing is close
        ("medqa_", TASKS, " Did you mean 'cora_medqa"),
        ("DATA_FILE", ["data_files", "seed"], " Did you mean 'data_files'?"),
        ("wandb", ["WandB"], " Did you mean 'WandB'?"),
    ],
)
def test_similar_words_are_suggested(word, known, begins):
    assert did_you_mean(word, known).startswith(begins)


def test_three_words_are_shown_at_most():
    assert [did_you_mean(word, LONG).count("a_long_name") for word in ("a_long_name", "ong")] == [3, 3]
    assert (first_few("abc"), first_few("abcd")) == ("a, b, c", "a, b, c, …")


def test_the_order_of_the_known_words_does_not_matter():
    assert did_you_mean("cora_med", TASKS) == did_you_mean("cora_med", reversed(TASKS)) != ""
    assert did_you_mean("cora", ["CORA", "Cora"]) == did_you_mean("cora", ["Cora", "CORA"]) != ""


@pytest.mark.parametrize("word", ["", "\0", "x" * 1_000_000, "zzzz", "co"])
def test_a_word_that_is_close_to_nothing_gets_nothing(word):
    assert did_you_mean(word, TASKS) == ""
    assert did_you_mean("cora", []) == ""
