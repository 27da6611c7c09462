"""Run files of HELM: what was printed, what came, HELM's own score, and files in another format."""

import json

import pytest

from lm_eval_cora.runs.helm import is_helm, read_helm
from tests.support.messages import user_error

TEXTS = ["ice", "fog", "rain", "hail"]
RIGHT = TEXTS.index("fog")
FOLDER = "mmlu:subject=all,method=multiple_choice_joint,model=org_m"


def request(number=0, said="B", texts=TEXTS, right=("fog",), result=(), instance=(), completion=(), **more):
    """An answer in the format of HELM, which does not write keys without a value."""
    references = [{"output": {"text": text}, "tags": ["correct"] if text in right else []} for text in texts]
    asked = {"input": {"text": "Which?"}, "references": references, "split": "test", "id": f"id{number}"}
    said = {"text": said, "logprob": -0.5, "tokens": [], "finish_reason": {"reason": "stop"}, **dict(completion)}
    return {
        "instance": {**asked, **dict(instance)},
        "train_trial_index": 0,
        "output_mapping": dict(zip("ABCD", texts, strict=False)),
        "request": {"model": "org/m", "prompt": "Which?\nA. ice\nB. fog\nC. rain\nD. hail\nAnswer:"},
        "result": {"success": True, "embedding": [], "completions": [said], "cached": False, **dict(result)},
        **more,
    }


def scored(number, place, logprobs, **more):
    """The request for one option, whose tokens are the last ones."""
    tokens = [{"text": text, "logprob": logprob} for text, logprob in [("Which? ", -9), *logprobs]]
    found = request(number, "", completion={"tokens": tokens}, reference_index=place, request_mode="original", **more)
    del found["output_mapping"]
    return found


def read(folder, *requests, method="multiple_choice_joint", stats=None):
    path = folder / FOLDER / "scenario_state.json"
    path.parent.mkdir()
    spec = {"method": method, "instructions": "Answer.", "model": "org/m"}
    path.write_text(json.dumps({"adapter_spec": spec, "request_states": requests}, indent=2))
    if stats:
        path.with_name("per_instance_stats.json").write_text(json.dumps(stats))
    assert is_helm(path)
    (found,) = read_helm(path)
    return found


def column(found, name):
    return [row[name] for row in found.rows]


def test_the_exact_match_of_helm_maps_the_stripped_letter(tmp_path):
    found = read(tmp_path, *map(request, range(5), [" B\n", "C", "B.", "fog", ""]))
    assert (found.model, found.task, found.own) == ("org/m", FOLDER.rpartition(",")[0], "exact_match")
    assert column(found, "own") == [1, 0, 0, 0, 0]
    assert column(found, "response") == [" B\n", "C", "B.", "fog", ""]
    assert {(row["printed"], row["answer"], row["variant"]) for row in found.rows} == {(tuple(TEXTS), RIGHT, "1")}
    assert not found.equal_prompts
    assert "kind" not in found.rows[0]


def test_scores_beside_count_and_perturbations_and_trials_are_variants(tmp_path):
    typos = {"name": "misspelling", "prob": 0.5}
    stats = [
        {"instance_id": "id0", "train_trial_index": trial, **more, "stats": [{"name": {"name": name}, "mean": mean}]}
        for trial, more, name, mean in [
            (0, {}, "chain_of_thought_correctness", 1.0),
            (0, {}, "exact_match", 0.0),
            (0, {"perturbation": typos}, "chain_of_thought_correctness", 0.25),
        ]
    ]
    requests = [request(), request(instance={"perturbation": typos}), request(train_trial_index=1)]
    found = read(tmp_path, *requests, method="multiple_choice_joint_chain_of_thought", stats=stats)
    assert found.own == "chain_of_thought_correctness"
    assert column(found, "own") == [1.0, 0.25, None]
    assert column(found, "kind") == ["original", "misspelling", "other exemplars"]
    assert column(found, "variant") == ["1", "2", "3"]


# By length: ice -2, fog (-1 - 2) / 2 = -1.5. Without it, less what the option alone has: ice -2 + 1, fog -3 + 1.
@pytest.mark.parametrize(("method", "picked"), [("original", "fog"), ("calibrated", "ice")])
def test_the_most_likely_option_is_picked(tmp_path, method, picked):
    likely = {"ice": [(" ice", -2)], "fog": [(" f", -1), ("og", -2)]}
    requests = [scored(0, place, tokens, texts=[*likely]) for place, tokens in enumerate(likely.values())]
    if method == "calibrated":
        alone = [scored(0, place, [(f" {text}", -1)], texts=[*likely]) for place, text in enumerate(likely)]
        requests += [{**one, "request_mode": "calibration"} for one in alone]
    found = read(tmp_path, *requests, method=f"multiple_choice_separate_{method}")
    assert column(found, "picked") == [picked]
    assert column(found, "own") == [picked == "fog"]


def test_options_may_stand_only_in_the_prompt(tmp_path):
    prompt = {"prompt": "Which?\n1) ice\n2) fog\n3) rain\nAnswer:"}
    (row,) = read(tmp_path, request(texts=["2"], right=["2"], output_mapping=None, request=prompt)).rows
    assert (row["printed"], row["labels"], row["answer"]) == (("ice", "fog", "rain"), ("1", "2", "3"), 1)


def test_what_came_is_told_and_what_cannot_be_used_is_counted(tmp_path):
    found = read(
        tmp_path,
        request(0, result={"success": False, "error": "no\nanswer", "completions": []}),
        request(1, completion={"finish_reason": {"reason": "length"}}),
        request(2, right=TEXTS[:2]),
        request(3, right=[]),
        request(4, instance={"split": "valid"}),
        request(5, completion={"text": 7}),
        request(6, instance={"references": None}),
    )
    assert column(found, "came") == ["an error (no answer)", ""]
    assert column(found, "cut_off") == [False, True]
    (note,) = found.notes
    assert all(part in note for part in ("2 without 2 to 26 options", "1 of another split", "2 in an unknown format"))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"adapter_spec": {', "[" * 99_999, '{"adapter_spec": {}, "request_states": []}']
    + [json.dumps({"adapter_spec": {"model": "m", "method": "x"}, "request_states": one}) for one in (7, [7], [])],
)
def test_another_file_is_one_clear_error(tmp_path, text):
    path = tmp_path / "scenario_state.json"
    path.write_text(text)
    is_helm(path)
    with user_error(str(path), "expected"):
        read_helm(path)
