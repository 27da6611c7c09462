from dataclasses import replace

import pytest

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.report.sections import BLOCKS
from lm_eval_cora.variants.divergent import divergent
from lm_eval_cora.variants.probes import PROBES, Setting
from lm_eval_cora.variants.template import READ_AFTER
from lm_eval_cora.variants.variant import place_in_asking

FIVE = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Dew", "Rain"), 1, "physics")
HALF = OpenQuestion("q2", "What is half of a half?", "1/4", "Level 1")
EACH = [(probe, form) for probe in PROBES.values() for form in probe.formats]


@pytest.mark.parametrize(("probe", "form"), EACH, ids=[f"{probe.name} {form}" for probe, form in EACH])
def test_variants_agree_with_the_declaration_of_the_probe(probe, form):
    for question in (FIVE, HALF) if probe.open_questions else (FIVE,):
        variants = probe.expand(question, Setting(form=form))
        assert [variant.ordinal for variant in variants] == list(range(len(variants)))
        assert {variant.variants for variant in variants} == {len(variants)}
        assert {(one.question_id, one.category) for one in variants} == {(question.id, question.category)}
        assert {one.question.partition("\nA right")[0] for one in variants} - {""} == {question.stem}
        assert sum(variant.original for variant in variants) <= 1
        kinds = {variant.kind for variant in variants}
        assert kinds <= probe.kinds.keys() or not probe.kinds
        assert set(probe.hardest_first) <= kinds
        if question is FIVE:
            assert probe.formats[form] in {variant.ask for variant in variants}
        assert ("select_all" in kinds) is (form == "generate" and "select_all" in probe.kinds)
        # A variant has a template exactly if its answer format uses one.
        assert all((one.template is not None) is (one.ask in READ_AFTER) for one in variants)
        prompts = {one.prompt for one in variants if form == "generate"}
        assert len(prompts) == 1 or not probe.samples


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_names_in_the_declaration_of_a_probe_exist(probe):
    assert {*probe.charts, *probe.tables} <= BLOCKS.keys()
    assert set(probe.options) <= Options.names()
    assert all(name in FORMATS for name in probe.formats.values())
    assert all(meaning.endswith(".") for meaning in probe.kinds.values())


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_the_original_is_asked_first_then_the_hardest_kinds_then_the_rest(probe):
    docs = [vars(variant) for variant in probe.expand(FIVE, Setting())]
    places = [place_in_asking(doc, probe.hardest_first) for doc in docs]
    assert len(set(places)) == len(docs)  # otherwise the order would depend on that of the docs
    order = sorted(docs, key=lambda doc: place_in_asking(doc, probe.hardest_first))
    kinds = list(dict.fromkeys(doc["kind"] for doc in order))
    first = [doc["kind"] for doc in docs if doc["original"]]
    assert len(first) <= 1
    assert kinds[: len(first) + len(probe.hardest_first)] == [*first, *probe.hardest_first]
    assert set(kinds) == {doc["kind"] for doc in docs}
    if probe is PROBES["divergent"]:
        assert {"original", *probe.hardest_first} == probe.kinds.keys()


def test_a_probe_that_changes_some_questions_has_prompts_of_its_own():
    def expand(question, _):
        variants = divergent(question)
        if question.id[-1] == "7":
            variants[3].question = variants[3].question.upper()
        return variants

    assert not PROBES["divergent"].own_prompts
    assert replace(PROBES["divergent"], expand=expand).own_prompts
