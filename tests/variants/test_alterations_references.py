"""Options that refer to others: every variant has one right option, by what "All of the above" and NOTA mean."""

from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import NOTA, Question
from lm_eval_cora.questions.references import with_references
from lm_eval_cora.variants.probes import PROBES, variants_of_all
from tests.support.questions import kinds_of

ALL, NONE = "All of the above", "None of these"
ABOUT_NONE = (NONE, "None of the above")


def made(choices, answer, probe="divergent", **options):
    question = Question("q", "Which?", choices, answer)
    chosen = Options(**options)
    assert not PROBES[probe].leaves_out(question, chosen)
    return variants_of_all([with_references(question)], PROBES[probe], chosen)


def right_in(printed, is_true):
    """The only right one of printed texts, if some of the others are true; None if there are several or none."""
    others = [text for text in printed if text not in (ALL, *ABOUT_NONE)]
    if ALL in printed and all(map(is_true, others)):
        return ALL if len(others) > 1 else None
    right = [text for text in others if is_true(text)] or [text for text in printed if text in ABOUT_NONE]
    return right[0] if len(right) == 1 else None


@st.composite
def referring(draw):
    plain = [f"option {number}" for number in range(draw(st.integers(1, 9)))]
    references = draw(st.permutations([ALL, draw(st.sampled_from(ABOUT_NONE))]))
    choices = [*plain, *references[: draw(st.integers(1, 2))]]
    if draw(st.booleans()):
        choices = draw(st.permutations(choices))
    return Question("q", "Which?", tuple(choices), draw(st.integers(0, len(choices) - 1)))


@given(referring(), st.integers(0, 9), st.sampled_from(["divergent", "plus", "revas", "order"]))
def test_every_variant_has_one_right_option(question, seed, name):
    options, probe = Options(seed=seed), PROBES[name]
    if probe.leaves_out(question, options):
        return
    right, plain = question.right, [text for text in question.choices if text not in (ALL, *ABOUT_NONE)]
    known = plain if right == ALL else [right]  # the true ones
    variants = variants_of_all([with_references(question)], probe, options)
    assert [variant.choices for variant in variants if variant.original] == [question.choices]
    shown = set()
    for variant in variants:
        if variant.original:
            continue
        if variant.ask == "yes_no":
            assert (right == ALL, variant.choices[0] in plain) == (False, True)
            continue
        answer = variant.choices[variant.printed.index(variant.answer)]
        assert right_in(variant.choices, known.__contains__) == answer
        assert answer == right or (answer in ABOUT_NONE and variant.answer == NOTA)
        assert right != ALL or {*plain} == {*variant.choices} - {ALL, *ABOUT_NONE}
        assert variant.ask == "letter" or right != ALL
        last = [text in (ALL, *ABOUT_NONE) for text in variant.choices]
        assert last == sorted(last)
        both = [text for text in variant.choices if text in (ALL, NONE)]
        assert both == [text for text in question.choices if text in both]
        assert (variant.kind, variant.choices) not in shown or not variant.kind.endswith("shuffled")
        shown.add((variant.kind, variant.choices))


def test_all_is_wrong():
    variants = made(("Ice", "Fog", ALL), 0)
    printed = {variant.kind: variant.printed for variant in variants}
    assert kinds_of(variants).count("with_nota") == 1  # not "Ice", NOTA and "All of the above"
    assert printed["shuffled"] == (1, 0, 2)
    assert printed["decoupled"] == (0, 1)  # not beside "All of the above"
    assert printed["decoupled_with_nota_shuffled"] == (1, 0, NOTA)
    for seed in range(5):
        printed = {variant.kind: variant.choices for variant in made(("Ice", "Fog", ALL), 0, "plus", seed=seed)}
        assert printed["options_2"] == ("Ice", "Fog")
    assert printed["options_6"][-1] == ALL
    assert printed["nota_answer"] == ("Fog", ALL, "None of the above")


def test_the_order_probe_moves_the_other_options():
    printed = [variant.printed for variant in made((NONE, "Ice", "Fog", "Dew"), 1, "order")]
    assert printed == [(1, 2, 3, 0), (0, 1, 2, 3), (3, 2, 1, 0)]
    unmoved = [(("Ice", NONE), 0, "swap"), (("Ice", "Fog", ALL), 0, "cyclic")]
    unmoved += [((ALL, "Ice", "Fog"), answer, "swap") for answer in (0, 2)]
    for choices, answer, orders in unmoved:
        assert PROBES["order"].leaves_out(Question("q", "Which?", choices, answer), Options(orders=orders))


def test_the_three_ways():
    plain, referring, other = (
        Question("q", "Which?", ("Ice", "Fog", "Dew", end), 0) for end in ("Mud", ALL, "Both A and B")
    )
    for name, probe in PROBES.items():
        kept = [probe.leaves_out(one, Options()) for one in (plain, referring, other)]
        assert kept == [False, False, name not in ("prompts", "sampling", "choices_only", "abstain")]
        without = [probe.leaves_out(one, Options(option_references="leave_out")) for one in (plain, referring, other)]
        assert without == [False, True, True]
        assert not any(probe.leaves_out(one, Options(option_references="ignore")) for one in (plain, referring, other))
