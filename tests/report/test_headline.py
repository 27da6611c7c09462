"""Headlines: the right model is named, equal models are not ranked, and every sentence has the numbers of its runs."""

import re
from dataclasses import replace
from math import nan
from typing import cast

import numpy as np
import pytest

from lm_eval_cora import metrics
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.paired import differs, leading, pairwise
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.report.content import RetentionChart
from lm_eval_cora.report.headline import headline
from lm_eval_cora.runs.model_run import Run, changes_by_kind, lead_of
from lm_eval_cora.variants.probes import PROBES
from tests.support.messages import tells
from tests.support.written import run_by_hand, runs_by_hand, the_run

CLAIM = "is the most reliable"


def spaced(text):
    """The text with usual spaces, because a value does not break from its error."""
    return text.replace("\u00a0", " ")


def made(runs, *, comparable=True):
    found = headline(runs, comparable=comparable)
    return replace(found, sentences=tuple(map(spaced, found.sentences)))


def said(runs, *, comparable=True):
    return " ".join(made(runs, comparable=comparable).sentences)


def simulated_runs(seed, models, questions, variants=8):
    """Runs of models that answer by chance, with the metrics of a headline only, which takes milliseconds.

    Each model has a probability to know a question, and one that a known question is right in a variant other than the
    original, which is the first.
    """
    hits = simulated_hits(seed, list(models.values()), questions, variants)
    return [light_run(model, ResponseTable.from_hits(rows)) for model, rows in zip(models, hits, strict=True)]


def simulated_hits(seed, models, questions, variants=8):
    """(models, questions, variants) the right answers of these models."""
    rng, hits = np.random.default_rng(seed), []
    for knows, keeps in models:
        known = rng.random((questions, 1)) < knows
        hits.append(np.hstack([known, known & (rng.random((questions, variants - 1)) < keeps)]))
    return np.stack(hits)


def light_run(model, table):
    """What a headline needs of a run."""
    estimates = {"cora": metrics.cora(table), "mcqa": metrics.mcqa(table), "bmca@1.0": metrics.bmca(table, level=1.0)}
    own = {"model": model, "table": table, "estimates": estimates, "probe": PROBES["divergent"]}
    return cast(Run, type("LightRun", (), own)())


def test_the_best_of_three_models_is_named_in_all_of_100_seeds():
    models = {"weak": (0.5, 0.9), "strong": (0.8, 0.99), "middle": (0.65, 0.95)}
    named = [made(simulated_runs(seed, models, questions=300)).sentences[0] for seed in range(100)]
    assert [sentence for sentence in named if not sentence.startswith(f"strong {CLAIM}: CoRA 0.")] == []
    assert all("; middle minus strong is -0." in sentence for sentence in named)  # middle was given after strong


@pytest.mark.parametrize(("p", "told"), [(0.04, "more than chance explains"), (0.06, "which chance may explain")])
def test_a_range_of_accuracies_is_judged_by_its_p_value(demo, monkeypatch, p, told):
    monkeypatch.setattr("lm_eval_cora.report.headline.FEW", 0)
    run = the_run(demo["cora_demo_prompts"].folder)
    vars(run)["estimates"] = {**run.estimates, "acc_range_p": Estimate(p, nan)}
    assert f"{told} (p = {p})" in said([run])


def claims_of(seeds, shapes, questions):
    """Number of seeds in which a model is called the most reliable, because it leads alone."""
    models, claims = {f"model-{number}": shape for number, shape in enumerate(shapes)}, 0
    for seed in seeds:
        runs = simulated_runs(seed, models, questions)
        leads_alone = len(leading([run.estimates["cora"] for run in runs])) == 1
        if leads_alone or seed % 10 == 0:  # a headline takes longer
            assert (CLAIM in said(runs)) is leads_alone
        claims += leads_alone
    return claims


def test_one_of_several_equal_models_wins_in_at_most_5_percent_of_the_seeds():
    """If 5% is the truth, the bounds hold with a probability of 95%.

    300 seeds have 15 winners, with a standard deviation of sqrt(300 * 0.05 * 0.95) = 3.77: 15 + 1.645 * 3.77 = 21.2.
    50 seeds have 2.5, with one of 1.54: 2.5 + 1.645 * 1.54 = 5.03.
    """
    assert 0 < claims_of(range(10_000, 10_300), [(0.65, 0.95)] * 2, 100) <= 21
    assert 0 < claims_of(range(10_000, 10_300), [(0.4, 0.9)] * 2, 250) <= 21
    assert claims_of(range(20_000, 20_050), [(0.65, 0.95)] * 3, 100) <= 5


@pytest.fixture
def few_suffice(monkeypatch):
    """Headlines of tests with few questions."""
    monkeypatch.setattr("lm_eval_cora.report.headline.FEW", 1)


KNOWN = {"original": "1" * 80 + "0" * 20, "shuffled": "1" * 80 + "0" * 20}
UNSURE = {"original": "1" * 60 + "0" * 40, "shuffled": "1" * 30 + "0" * 70}


def test_the_sentence_and_the_picture_of_a_winner():
    """CoRA is m (1 - (m - b)): 0.8, and 0.6 (1 - 0.3) = 0.42."""
    worst = {"original": "1" * 10 + "0" * 90, "shuffled": "0" * 100}
    runs = runs_by_hand({"unsure": UNSURE, "sure": KNOWN, "worst": worst})
    sentences = made(runs).sentences
    assert "; sure minus unsure is +0.38 [" in sentences[0]  # the gap is that to the second model
    assert sentences[-1].startswith("CoRA of the other model: worst 0.09 ±")
    found = made(runs[:2])
    assert tells(found.sentences[0], f"sure {CLAIM}: CoRA 0.80 ± 0.04; sure minus unsure is +0.38 [+0.", ", +0.")
    assert found.sentences[1:] == ("sure keeps 100% of its right answers in all variants, unsure 50%.",)
    assert list(found.names) == ["sure", "unsure"]
    assert found.picture.rows == ["sure", "unsure"]
    values = {name: [number.value for number in numbers.values()] for name, numbers in found.picture.models}
    assert values == {
        "MCQA: originals right": pytest.approx([0.8, 0.6]),
        "CoRA": pytest.approx([0.8, 0.42]),
        "all variants right": pytest.approx([0.8, 0.3]),
    }


HALF = {"original": "1" * 50 + "0" * 50, "a": "0" * 100, "b": "0" * 100}
FULL = {"original": "1" * 100, "a": "1" * 8 + "0" * 92, "b": "1" * 8 + "0" * 92}
LESS = {"original": "1" * 50 + "0" * 50, "a": "1" * 10 + "0" * 90}
MORE = {"original": "1" * 90 + "0" * 10, "a": "1" * 22 + "0" * 78}


def by_name(**marks):
    return {name: {"original": own, "x": own} for name, own in marks.items()}


@pytest.mark.parametrize(
    ("models", "told", "absent"),
    [
        (
            {"bad": UNSURE, "one": KNOWN, "other": {**KNOWN, "shuffled": "1" * 79 + "0" * 21}},
            "The models with the highest CoRA cannot be told apart: one 0.80|CoRA of the other model: bad 0.42",
            CLAIM,
        ),
        # The best one is right at other questions than the two that are nested.
        (
            by_name(best="0" * 30 + "1" * 70, high="1" * 65 + "0" * 35, low="1" * 55 + "0" * 45),
            "best has the highest CoRA, but cannot be told apart from 2 others: best 0.70|low 0.55",
            CLAIM,
        ),
        # CoRA is 0.5 (1 - 0.5) = 0.25 and 1 (1 - 0.92) = 0.08, but only the second is right in all variants of 8.
        (
            {"half": HALF, "full": FULL, "zero": dict.fromkeys(HALF, "0" * 100)},
            "The scores disagree: half has the highest CoRA, 0.25|full answers more questions correctly in all "
            "variants: 8% of 100 questions (half 0%)|CoRA m (1 - m + b) falls|CoRA of the other model: zero 0.00",
            CLAIM,
        ),
        # CoRA is 0.9 (1 - 0.2) = 0.72 and 1 (1 - 0.9) = 0.1. It falls for the second, but the first has more all right.
        (
            {
                "best": {"original": "1" * 90 + "0" * 10, "a": "1" * 70 + "0" * 30},
                "other": {**HALF, "original": "1" * 100},
            },
            f"best {CLAIM}: CoRA 0.72",
            "disagree",
        ),
        # CoRA is 0.5 (1 - 0.4) = 0.3 and 0.9 (1 - 0.68) = 0.288; 10 and 22 questions are right in all variants.
        (
            {"one": LESS, "other": MORE},
            "The two models cannot be told apart by their CoRA: one 0.30 ± 0.0|other 0.29 ±|; other minus one is -0.01"
            "|other answers the most questions correctly in all variants: 22% of 100 questions.",
            CLAIM,
        ),
    ],
)
@pytest.mark.usefixtures("few_suffice")
def test_sentences(models, told, absent):
    sentence = said(runs_by_hand(models))
    assert tells(sentence, *told.split("|"))
    assert absent not in sentence


@pytest.mark.usefixtures("few_suffice")
def test_every_difference_is_that_of_the_models_that_the_sentence_names():
    gap = re.compile(r"(model-\d) minus (model-\d) is ([-+][\d.]+) \[([-+][\d.]+), ([-+][\d.]+)\]")  # with its interval
    rng, tied, won = np.random.default_rng(5), 0, 0
    for seed in range(60):
        # The models have the questions that they know in the same order, so that small differences can be certain.
        count, size = int(rng.integers(2, 6)), int(rng.integers(8, 60))
        order, shift = rng.random(size), rng.random((count, size)) * rng.choice([0.02, 1.0], (count, 1))
        known = order + shift < rng.uniform(0.5, 1.2, (count, 1))
        kept = known & (rng.random((count, size)) < rng.choice([0.8, 1.0], (count, 1)))
        runs = [
            light_run(f"model-{place}", ResponseTable.from_hits(np.stack([known[place], kept[place]], axis=1)))
            for place in range(count)
        ]
        pairs = {
            (runs[old].model, runs[new].model): pair.together
            for (old, new), pair in pairwise([run.estimates["cora"] for run in runs]).items()
        }
        for sentence in made(runs).sentences:
            if not (shown := gap.search(sentence)):
                continue
            new, old, *numbers = shown.groups()
            change = pairs[old, new]
            assert list(map(float, numbers)) == pytest.approx(change[:1] + change[2:], abs=0.0051), (seed, sentence)
            assert ("cannot be told apart" in sentence) is not differs(change), (seed, sentence)
            tied, won = tied + (not differs(change)), won + differs(change)
    assert min(tied, won) > 10


def test_without_questions_there_is_no_headline():
    run = light_run("empty", ResponseTable.from_hits([]))
    assert headline([run], comparable=True) is None
    assert lead_of([run]) == ""


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        (1, "1 question is far too few to say anything: the 95% interval of CoRA is "),
        (29, "29 questions are far too few to say anything: the 95% interval of CoRA is 0.000 to 0."),
        (30, "30 questions are too few to tell similar models apart."),
        (99, "99 questions are too few to tell similar models apart."),
        (100, ""),
    ],
)
def test_few_questions_are_said_to_be_few(questions, told):
    wrong = dict.fromkeys(("original", "x"), "0" * questions)
    runs = runs_by_hand(dict.fromkeys("abcd", wrong))
    first, *others = made(runs).sentences
    if questions < 30:  # nothing else is said, and a single model has the same sentence
        assert tells(first, told, " for a, ", " for c and 1 more.")
        assert others == []
        assert tells(said(runs[:1]), told, " for a.")
    else:
        assert first.startswith("The 4 models cannot be told apart")
        assert others == [told] * bool(told)


def test_the_leading_metric_is_defined_for_all_models():
    one, other = runs_by_hand({"one": KNOWN, "other": {"a": "1" * 100, "b": "0" * 100}})
    assert lead_of([one]) == "cora"
    assert lead_of([one, other]) == "acc"
    assert lead_of([replace(one, probe=replace(PROBES["order"], ranked_by=("nothing", "mcqa")))]) == "mcqa"
    picture = made([one, other], comparable=False).picture
    assert [name for name, _ in picture.models] == ["accuracy"]


def test_one_model_and_the_kind_that_costs_the_most():
    """CoRA is 0.8 (1 - 0.4) = 0.48."""
    kinds = {"original": "1" * 80 + "0" * 20, "shuffled": "1" * 78 + "0" * 22, "with_nota": "1" * 40 + "0" * 60}
    found = made([run_by_hand(kinds)])
    assert found.sentences[0].startswith(
        "model answers 80% of 100 questions correctly, and keeps 50% of its right answers in all variants: CoRA 0.48"
    )
    assert found.sentences[1].startswith("The kind with_nota lowers the accuracy the most: -0.40 [-0.")
    assert isinstance(found.picture, RetentionChart)


def test_a_kind_of_harder_questions_does_not_cost_anything():
    """Only the harder half of the questions has the rare kind, and no answer depends on the kind."""
    half = "1" * 30 + "0" * 30
    run = run_by_hand({"original": half, "shuffled": half, "rare": "-" * 30 + "0" * 30})
    assert changes_by_kind(run)["rare"].value == 0
    assert made([run]).sentences[-1] == "No kind of variant certainly lowers the accuracy."


def test_a_certain_loss_is_told_although_an_uncertain_one_is_larger():
    """The rare kind loses 1 of 3 questions, the shuffled one 12 of 60."""
    run = run_by_hand({"original": "1" * 60, "shuffled": "01111" * 12, "rare": "011" + "-" * 57})
    losses, found = changes_by_kind(run), made([run])
    assert losses["rare"].value < losses["shuffled"].value < losses["shuffled"].high < 0 < losses["rare"].high
    assert found.sentences[-1].startswith("The kind shuffled certainly lowers the accuracy: -0.20 [-0.")
