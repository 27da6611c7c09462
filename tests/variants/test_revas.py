import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.questions.question import FIRST_FILLER, NOTA, Question
from lm_eval_cora.variants.plus import plus
from lm_eval_cora.variants.revas import revas
from tests.support.questions import (
    fillers_of,
    printed_by_kind,
    question_with,
    questions,
)


@pytest.mark.parametrize(("options", "variants"), [(2, 35), (3, 39), (4, 45), (5, 48), (10, 53), (13, 72), (26, 111)])
def test_number_of_variants(options, variants):
    assert len(revas(question_with(options))) == variants


@given(questions, st.integers(0, 5))
def test_kinds_that_only_this_probe_has(question, seed):
    variants = revas(question, seed=seed)
    options, source = len(question.choices), tuple(range(len(question.choices)))
    distractors = [k for k in source if k != question.answer]
    printed = printed_by_kind(variants)
    assert printed["select_all"] == [source]
    assert [v.answer for v in variants if v.ask == "select_all"] == [question.answer]
    without = [(v.kind, v.choices) for v in variants if v.kind != "select_all"]
    assert [(v.kind, v.choices) for v in revas(question, seed=seed, select_all=False)] == without
    assert len(printed["replaced"]) == options - 1
    for distractor, replaced in zip(distractors, printed["replaced"], strict=True):
        assert replaced[distractor] >= FIRST_FILLER
        assert [k for k in replaced if k < FIRST_FILLER] == [k for k in source if k != distractor]
    # A filler has the same identity and text in both probes, so that their runs can be compared.
    here, there = fillers_of(variants), fillers_of(plus(question, seed=seed))
    assert all(here[identity] == there[identity] for identity in here.keys() & there.keys())
    assert options >= 10 or here.keys() & there.keys()


def test_each_probe_has_its_own_draws():
    # Otherwise a question would have the same reorderings in both probes.
    for question in (question_with(5, id=str(number)) for number in range(20)):
        assert printed_by_kind(plus(question))["shuffled"] != printed_by_kind(revas(question))["shuffled"][:3]


def test_equal_distractors_are_one_option():
    variants = revas(Question("q", "Which?", ("Fog", "Ice", "Fog"), 1))
    printed = printed_by_kind(variants)
    # Three orders exist, as many as the probe asks for three options; with NOTA, fewer than it asks for.
    for kind, last in (("original", 1), ("nota_answer", NOTA)):
        orders = [*printed[kind], *printed["shuffled" if kind == "original" else f"{kind}_shuffled"]]
        assert sorted(orders) == [(0, 0, last), (0, last, 0), (last, 0, 0)]
    assert (printed["original"], printed["nota_answer"]) == ([(0, 1, 0)], [(0, 0, NOTA)])
    # There is one true-or-false question for both, and two different fillers replace them together.
    assert (printed["true_or_false_wrong"], printed["true_or_false_right"]) == ([(0,)], [(1,)])
    assert printed["replaced"] == [(27, 1, 29)]
    assert len(set(next(v.choices for v in variants if v.kind == "replaced"))) == 3
    assert printed["select_all"] == [(0, 1, 0)]


def test_a_source_option_that_reads_like_nota_is_the_same_answer():
    variants = revas(Question("q", "Which?", ("Ice", "Fog", " none of the above."), 0))
    assert len(variants) == 37  # two orders of Fog and NOTA, not four
    printed = printed_by_kind(variants)
    assert printed["original"] == [(0, 1, NOTA)]
    assert printed["nota_answer"] == [(1, NOTA)]
    assert printed["true_or_false_wrong"] == [(1,), (NOTA,)]
    assert printed["replaced"] == [(0, 28, NOTA), (0, 1, 29)]
    assert {v.answer for v in variants if not v.kind.startswith("nota_answer")} == {0}
