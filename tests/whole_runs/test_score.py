"""SCORE's probes in simple_evaluate, with models whose scores can be computed by hand."""

import json
from collections import Counter
from math import isnan
from pathlib import Path

import pytest

from lm_eval_cora.answers.equivalence import CHECKER, Limits
from tests.support.messages import tells, user_error
from tests.support.simulated import Simulated, knows, run, says, scores
from tests.support.study import four_options, study_of

pytest_maths = pytest.mark.usefixtures("hub", "_math_verify")


@pytest.fixture(scope="session")
def _math_verify():
    pytest.importorskip("math_verify")


def always_a(doc):
    return "A" if doc["ask"] == "letter" else "The best answer is A."


@pytest.mark.parametrize("form", ["", "_mc"])
def test_order_always_a(form, tmp_path):
    # Four questions with the answer at A, B, C, D.
    task = f"cora_local_order{form}"
    results = run(always_a, task, four_options(tmp_path, [0, 1, 2, 3]))
    values, study = scores(results, task), study_of(results, task)
    # Right if the answer is at A: one variant of four.
    assert values["acc"] == values["acc_mean"] == values["mcqa"] == 0.25
    assert (values["acc_min"], values["acc_max"]) == (0.0, 1.0)
    assert values["acc_h"] == 0.0
    # If the answer is at A, the picks are w x y z: no pair agrees. Otherwise the answer is at A once, and the source's
    # option at A is picked three times: 3 of 6 pairs agree. (0 + 3 * 0.5) / 4.
    assert values["consistency_rate"] == pytest.approx(0.375)
    assert values["all_equal"] == 0.0
    accuracies = {kind: entry["accuracy"]["value"] for kind, entry in study["positions"].items()}
    assert accuracies == {"answer_at_A": 1.0, "answer_at_B": 0.0, "answer_at_C": 0.0, "answer_at_D": 0.0}
    assert {entry["questions"] for entry in study["positions"].values()} == {4}
    shares = {letter: (entry["share"]["value"], entry["even"]) for letter, entry in study["picks_by_letter"].items()}
    assert shares == {"A": (1.0, 0.25), "B": (0.0, 0.25), "C": (0.0, 0.25), "D": (0.0, 0.25)}
    # A test of letter preference needs ten questions per letter.
    assert isnan(values["position_chi_square"])
    assert values["position_chi_square_stderr"] == "N/A"
    assert study["position_p_value"]["value"] is None


@pytest.mark.parametrize("orders", ["swap", "cyclic", "all"])
def test_order_consistent_but_wrong(orders, tmp_path):
    task = "cora_local_order"
    wrong = {**four_options(tmp_path, [0, 1, 2, 3]), "orders": orders}
    results = run(lambda doc: says(doc, (doc["answer"] + 1) % 4), task, wrong)
    values = scores(results, task)
    assert (values["consistency_rate"], values["all_equal"]) == (1.0, 1.0)
    assert values["acc"] == values["acc_h"] == values["mcqa"] == 0.0
    assert len(results["samples"][task]) == 4 * {"swap": 4, "cyclic": 4, "all": 24}[orders]
    signature = results["configs"][task]["metadata"]["signature"]
    assert ("|orders:" in signature) == (orders != "swap")


@pytest.mark.usefixtures("hub")
def test_prompts_without_the_template_that_the_paper_drops():
    task = "cora_mmlu_pro_prompts"
    results = run(lambda doc: "Well" if doc["kind"] == "single_letter_only" else knows(doc), task)
    values, study = scores(results, task), study_of(results, task)
    assert (values["acc"], values["acc_min"], values["macro_acc_min"]) == (pytest.approx(0.9), 0.0, 0.0)
    assert values["invalid"] == pytest.approx(0.1)
    # 36 of the 45 pairs are among the nine others.
    assert values["consistency_rate"] == pytest.approx(0.8)
    for metric in ("acc_mean", "acc_min", "acc_max", "macro_acc", "macro_acc_min", "macro_acc_max"):
        assert values[f"{metric}_paper"] == pytest.approx(1.0)
    assert values["consistency_rate_paper"] == 1.0
    assert [kind for kind, entry in study["templates"].items() if entry["outlier"]] == ["single_letter_only"]
    assert set(study["by_category"]) == {"law", "physics"}
    assert study["by_category_paper"]["law"]["all_equal"]["value"] == 1.0


def test_prompts_of_ones_own(tmp_path):
    path = tmp_path / "mine.json"
    brief = {"name": "brief", "prompt": "{question}{options}\nEnd with: The best answer is X."}
    long = {"name": "long", "prompt": "Now: {question}{options}\nAs always, The best answer is X.", "fixed": True}
    path.write_text(json.dumps([brief, long]))
    options = {**four_options(tmp_path, [0, 1]), "templates": str(path)}
    results = run(knows, "cora_local_prompts", options)
    samples = results["samples"]["cora_local_prompts"]
    assert [sample["doc"]["kind"] for sample in samples] == ["brief", "long"] * 2
    assert samples[0]["arguments"][0][0] == "Which 0?\nA. w\nB. x\nC. y\nD. z\nEnd with: The best answer is X."
    assert [sample["doc"]["original"] for sample in samples] == [False, True] * 2
    assert "|templates:mine.json|" in results["configs"]["cora_local_prompts"]["metadata"]["signature"]
    for task in ("cora_local_order", "cora_local_sampling"):
        samples = run(knows, task, options)["samples"][task]
        assert all(sample["arguments"][0][0].startswith("Now: ") for sample in samples)


@pytest_maths
def test_maths_in_different_notations():
    # The made-up answers are 1 to 3: each is written in ten ways, the tenth a wrong one.
    notations = ["{n}", "{n}.0", r"\frac{{{n}}}{{1}}", r"x = {n}", "{n}+0", r"\text{{{n}}}", r"\frac{{{d}}}{{2}}"]
    notations += [r"\sqrt{{{s}}}", "{n}^1", "-{n}"]

    def rule(doc):
        n = int(doc["answer"])
        return rf"\boxed{{{notations[doc['ordinal']].format(n=n, d=2 * n, s=n * n)}}}"

    task = "cora_math_prompts"
    results = run(rule, task)
    values, study = scores(results, task), study_of(results, task)
    assert values["acc"] == pytest.approx(0.9)
    assert values["consistency_rate"] == pytest.approx(36 / 45)
    assert (values["all_equal"], values["equal@0.8"], values["timeouts"]) == (0.0, 1.0, 0.0)
    assert set(study["by_category"]) == {"Level 1", "Level 2", "Level 3"}
    assert "|math-verify:" in results["configs"][task]["metadata"]["signature"]
    assert str(results["samples"][task][1]["consistency_rate"]) == f"{results['samples'][task][1]['doc']['answer']}.0"


HOSTILE = [
    *(r"\boxed{__import__('os').mkdir('x')}", r"\boxed{9**9**9**9}", r"\boxed{9^{9^{9^{9}}}}", ""),
    *(r"\boxed{factorial(10**7)}", rf"\boxed{{{'1' * 100_000}}}", r"\boxed{" + "(" * 300 + "1" + ")" * 300 + "}"),
    *(r"\boxed" + "{" * 10_000, r"\boxed{\frac{1}{0}}", r"\boxed{" + "\ud83d" + "}"),
]


@pytest_maths
def test_hostile_maths_costs_nothing(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(CHECKER, "_limits", Limits(cpu_seconds=1))
    monkeypatch.setattr(CHECKER, "_workers", {})  # those of other tests have another limit
    task = "cora_math_prompts"
    results = run(lambda doc: HOSTILE[doc["ordinal"]], task, {"questions": 1})
    values = scores(results, task)
    assert values["acc"] == 0.0
    assert values["consistency_rate"] == 0.0
    # The answer of 100,000 characters, the box that is not closed, the empty one.
    assert values["invalid"] == pytest.approx(0.3)
    assert values["timeouts"] > 0
    assert "ran out of time or memory" in caplog.text
    assert not list(Path.cwd().rglob("x"))


def test_greedy_samples_are_refused():
    for settings in ({"do_sample": False}, {"temperature": 0.0}, {"do_sample": False, "temperature": 0.0}):
        with user_error("cora_demo_sampling:", "expected do_sample"):
            run(knows, "cora_demo_sampling", {"questions": 1}, gen_kwargs=settings)


def test_samples_never_come_from_the_cache(tmp_path):
    for _ in range(2):
        model = Simulated(knows)
        run(model, "cora_demo_sampling", {"questions": 2}, use_cache=str(tmp_path / "cache"))
        # Five requests a question, each of which reached the model, in the second run too.
        assert sorted(Counter(model.prompts).values()) == [5, 5]


def test_a_seed_goes_into_each_request_if_it_is_asked_for(tmp_path):
    def seeds(options):
        samples = run(knows, "cora_demo_sampling", {"questions": 2, **options})["samples"]["cora_demo_sampling"]
        return [sample["arguments"][0][1].get("seed") for sample in samples]

    assert seeds({}) == [None] * 10
    assert seeds({"request_seeds": True}) == [1, 2, 3, 4, 5] * 2
    assert seeds({"request_seeds": True, "seed": 2}) == [11, 12, 13, 14, 15] * 2
    # The other probes do not send any.
    samples = run(knows, "cora_demo_prompts", {"questions": 1, "request_seeds": True})["samples"]["cora_demo_prompts"]
    assert all("seed" not in sample["arguments"][0][1] for sample in samples)


def test_a_model_of_transformers_is_not_sent_a_seed(tmp_path):
    class HFLM(Simulated):
        pass

    for cache in (None, str(tmp_path / "cache")):
        with user_error("option 'request_seeds':", "'hf'"):
            run(HFLM(knows), "cora_demo_sampling", {"questions": 1, "request_seeds": True}, use_cache=cache)


def test_one_seed_for_all_samples_is_refused():
    with user_error("cora_demo_sampling: --gen_kwargs seed=5 would send this seed with every"):
        run(knows, "cora_demo_sampling", {"questions": 1}, gen_kwargs={"seed": 5})


def test_ranks_draw_different_random_numbers():
    torch = pytest.importorskip("torch")
    from lm_eval_cora.harness.compat import seed_rank

    drawn = []
    for rank in range(3):
        torch.manual_seed(1234)  # as the harness does on each rank
        seed_rank(rank)
        drawn.append(torch.rand(1).item())
    assert len(set(drawn)) == 3


@pytest_maths
def test_answers_that_are_not_scored_are_not_compared(monkeypatch):
    asked = []
    monkeypatch.setattr(CHECKER, "settle", lambda pairs, ranks=1: asked.extend(pairs))
    run(knows, "cora_math_sampling", {"questions": 2}, predict_only=True)
    assert asked == []


def test_samples_that_are_all_the_same_are_reported(caplog):
    run(knows, "cora_demo_sampling", {"questions": 5})
    assert tells(caplog.text, "all samples of each of the 5 questions", "No seeds were sent")
    caplog.clear()
    run(lambda doc: f"{doc['ordinal']} {knows(doc)}", "cora_demo_sampling", {"questions": 5})
    assert "all samples of each" not in caplog.text
