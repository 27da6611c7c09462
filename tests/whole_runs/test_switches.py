"""Every option of `lm_eval run` with these tasks: it works, or an error explains why not before a request."""

import json
from unittest.mock import patch

import pytest
from lm_eval._cli import HarnessCLI

from lm_eval_cora.harness.versions import IS_5
from tests.support.messages import tells
from tests.support.simulated import TASKS, Simulated, knows, quickly, run, scores
from tests.support.tables import without_variation

FORMS = ["cora_demo", "cora_demo_mc"]
M = 26
both_forms = pytest.mark.parametrize("task", FORMS)


@both_forms
def test_a_limit_counts_questions(task):
    results = run(knows, task, limit=2)
    assert [sample["doc_id"] for sample in results["samples"][task]] == list(range(2 * M))
    assert results["n-samples"][task] == {"original": 120 * M, "effective": 2 * M}
    assert scores(results, task)["cora_stderr"] == pytest.approx(without_variation(2))
    assert "|limit:2|seed:0|n:2x26|" in results["configs"][task]["metadata"]["signature"]


@both_forms
def test_samples_are_numbers_of_questions(task):
    given = {task: [3, 1]}
    first, again = run(knows, task, samples=given), run(knows, task, samples=given)  # a caller may use its dict again
    assert scores(first, task)["cora"] == 1.0
    for samples in (first["samples"][task], again["samples"][task]):
        assert [sample["doc_id"] for sample in samples] == [*range(M, 2 * M), *range(3 * M, 4 * M)]
        assert {sample["doc"]["question_id"] for sample in samples} == {"astronomy-02", "astronomy-04"}
    signatures = [one["configs"][task]["metadata"]["signature"] for one in (first, again)]
    assert "|samples:" in signatures[0] == signatures[1]


def test_the_seed_of_the_harness_moves_nothing_but_exemplars():
    def prompts(seed, shots):
        model = Simulated(knows)
        seeds = dict.fromkeys(["random_seed", "numpy_random_seed", "torch_random_seed", "fewshot_random_seed"], seed)
        run(model, options={"questions": 2}, num_fewshot=shots, **seeds)
        return model.prompts

    assert prompts(1, 0) == prompts(2, 0)
    assert prompts(1, 2) != prompts(2, 2)


@both_forms
def test_predictions_only(task):
    results = run(knows, task, limit=2, predict_only=True, num_fewshot=1)
    assert [sample["doc_id"] for sample in results["samples"][task]] == list(range(2 * M))
    # No score: the generate form gets the placeholder of lm-eval 0.4, everything else gets nothing.
    values = scores(results, task)
    signature = results["configs"][task]["metadata"]["signature"]
    assert tells(signature, "|shots:1@", "|limit:2|", "|n:2x26|v")  # no score, so no share of invalid answers
    assert values == ({"bypass": 999, "bypass_stderr": "N/A"} if task == "cora_demo" and not IS_5 else {})


def test_write_out_prints_a_whole_prompt(caplog):
    caplog.set_level("INFO")
    run(knows, options={"questions": 1}, write_out=True, num_fewshot=1)
    (line,) = [record.getMessage() for record in caplog.records if "context prompt" in record.getMessage()]
    assert line.count("Question: ") == 2
    assert "\nAnswer:\n(end of prompt on previous line)" in line


@pytest.mark.parametrize(
    ("given", "limit", "until"),
    [
        ("max_gen_toks=4096,until=STOP", 4096, "STOP"),
        # The harness prefers max_gen_toks, which the task file sets.
        *((f"{name}=4096", 4096, []) for name in ("max_new_tokens", "max_tokens", "max_completion_tokens")),
        # Of several, the one that the harness prefers.
        ({"max_completion_tokens": 1, "max_new_tokens": 30, "max_tokens": 20}, 30, []),
    ],
)
def test_generation_arguments_are_added_to_ours(given, limit, until):
    results = run(knows, "cora_demo", {"questions": 1}, gen_kwargs=given)
    arguments = results["samples"]["cora_demo"][0]["arguments"][0][1]
    assert arguments == {"do_sample": False, "temperature": 0.0, "max_gen_toks": limit, "until": until}


def test_generation_arguments_leave_the_loglikelihood_form_alone():
    assert scores(run(knows, "cora_demo_mc", {"questions": 1}, gen_kwargs="max_gen_toks=4"), "cora_demo_mc")["acc"] == 1


def test_cache_requests_is_not_used_and_says_so(tmp_path, monkeypatch, caplog):
    # The cache key contains the task, the shots and the template, but not the options.
    monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path))
    run(first := Simulated(knows), options={"questions": 1}, cache_requests=True)
    run(other := Simulated(knows), options={"questions": 1, "seed": 1}, cache_requests=True)
    assert first.prompts != other.prompts
    assert list(tmp_path.iterdir()) == []
    assert "cora_demo: --cache_requests is disabled" in caplog.text


def test_answers_from_the_cache_are_those_of_the_model(tmp_path):
    first, second, third = Simulated(knows), Simulated(knows), Simulated(knows)
    cache = str(tmp_path / "answers")
    one, other = (run(model, options={"questions": 2}, use_cache=cache) for model in (first, second))
    assert second.prompts == []
    assert scores(one) == scores(other)
    # Another seed makes other prompts, which the cache does not contain.
    run(third, options={"questions": 2, "seed": 1}, use_cache=cache)
    assert third.prompts
    assert not set(third.prompts) & set(first.prompts)


@pytest.mark.usefixtures("hub")
def test_all_of_them_on_the_command_line(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    command = [
        *("lm_eval", "run", "--model", "dummy", "--include_path", str(TASKS)),
        *("--tasks", "cora_mmlu,cora_mmlu_mc", "--metadata", json.dumps({"cora": {"questions": 3, "seed": 4}})),
        *("--limit", "0.4", "--num_fewshot", "2", "--seed", "1,2,3,4", "--gen_kwargs", "max_gen_toks=16"),
        *("--system_instruction", "Be brief.", "--cache_requests", "true", "--write_out"),
        *("--output_path", str(tmp_path / "out"), "--log_samples"),
    ]
    monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path / "cache"))
    with patch("sys.argv", command), quickly():
        cli = HarnessCLI()
        cli.execute(cli.parse_args())
    # Two of three questions, each with 8 * 4 + 6 * 2 + 6 * 3 = 62 letters.
    assert "cora_mmlu: --cache_requests is disabled" in caplog.text
    assert "cora_mmlu_mc: 2 questions, 40 variants, 124 requests, one per letter, about" in caplog.text
    (file,) = (tmp_path / "out").rglob("results_*.json")
    results = json.loads(file.read_text())
    forms = {"cora_mmlu": "generate|reader:flexible", "cora_mmlu_mc": "loglikelihood"}
    for task, form in forms.items():
        signature = results["configs"][task]["metadata"]["signature"]
        assert signature.startswith(f"cora|task:{task}@1|data:")
        how = f"|probe:divergent|option_references:keep|form:{form}|shots:2@4|exemplars:ff6e55db-category-published|"
        assert how in signature
        assert "|limit:0.4|seed:4|questions:3|n:2x20|invalid:" in signature
        (samples,) = (tmp_path / "out").rglob(f"samples_{task}_2*.jsonl")
        lines = [json.loads(line) for line in samples.read_text().splitlines()]
        assert len(lines) == 40
        assert lines[0]["arguments"]["gen_args_0"]["arg_0"].startswith("Be brief.\n\nQuestion: In dev ")
