from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.choices_only import choices_only
from tests.support.questions import questions


@given(questions)
def test_only_the_question_is_hidden(question):
    original, hidden = map(vars, choices_only(question))
    changed = {"ordinal": 1, "kind": "choices_only", "original": False, "question": ""}
    assert original["original"]
    assert hidden == original | changed


@given(st.lists(st.sampled_from(["a", "b", "cc", "dd", "eee"]), min_size=1, max_size=6))
def test_accuracy_of_the_longest_option(distractors):
    for right in ("f", "ff", "fff"):
        # A player picks each of the longest texts in turn; equal options are one.
        picks = [text for text in {right, *distractors} if len(text) == max(map(len, [right, *distractors]))]
        question = Question("q", "What?", (*distractors, right), len(distractors))
        assert {one.longest for one in choices_only(question)} == {picks.count(right) / len(picks)}
