"""Run files of HELM: the options, the responses, the score that HELM gives, and files in another format."""

import json

import pytest

from lm_eval_cora.runs.helm import is_helm, read_helm
from tests.support.messages import user_error

TEXTS = ["ice", "fog", "rain", "hail"]
FOLDER = "mmlu:subject=all,method=multiple_choice_joint,model=org_m"


def request(number=0, said="B", texts=TEXTS, right=("fog",), instance=(), result=(), **more):
    """An answer in the format of HELM, which does not write keys without a value."""
    references = [{"output": {"text": text}, "tags": ["correct"] if text in right else []} for text in texts]
    asked = {"input": {"text": "Which?"}, "references": references, "split": "test", "id": f"id{number}"}
    completion = {"text": said, "logprob": -0.5, "tokens": [], "finish_reason": {"reason": "length"}}
    return {
        "instance": asked | dict(instance),
        "train_trial_index": 0,
        "output_mapping": dict(zip("ABCD", texts, strict=False)),
        "request": {"model": "org/m", "prompt": "Which?\n1) ice\n2) fog\n3) rain\nAnswer:"},
        "result": {"success": True, "completions": [completion]} | dict(result),
        **more,
    }


def scored(place, logprobs, mode="original"):
    """The request for one of two options, whose tokens are the last ones."""
    tokens = [{"text": text, "logprob": logprob} for text, logprob in [("Which? ", -9), *logprobs]]
    more = {"output_mapping": None, "reference_index": place, "request_mode": mode}
    return request(texts=TEXTS[:2], result={"completions": [{"text": "", "tokens": tokens}]}, **more)


def read(folder, *requests, method="multiple_choice_joint", stats=()):
    path = folder / FOLDER / "scenario_state.json"
    path.parent.mkdir()
    spec = {"method": method, "model": "org/m"}
    path.write_text(json.dumps({"adapter_spec": spec, "request_states": requests}, indent=2))
    path.with_name("per_instance_stats.json").write_text(json.dumps(stats))
    assert is_helm(path)
    (found,) = read_helm(path)
    return found


def column(found, name):
    return [row[name] for row in found.rows]


def test_the_exact_match_of_helm_maps_the_stripped_letter(tmp_path):
    said = [" B\n", "C", "B.", "fog", ""]
    found = read(tmp_path, *map(request, range(5), said))
    assert found[:2] + found[3:] == ("org/m", FOLDER.rpartition(",")[0], [], False, "exact_match")
    assert column(found, "own") == [1, 0, 0, 0, 0]
    assert column(found, "response") == said
    columns = {"came": "", "cut_off": True, "printed": (*TEXTS,), "answer": 1, "question": "id4", "variant": "1"}
    assert found.rows[4] == {"response": "", "own": 0, **columns}


def test_scores_beside_count_and_perturbations_and_trials_are_variants(tmp_path):
    typos = {"perturbation": {"name": "misspelling", "prob": 0.5}}
    stats = [
        {"instance_id": "id0", "train_trial_index": 0, **more, "stats": [{"name": {"name": name}, "mean": mean}]}
        for more, name, mean in [({}, "exact_match", 0), ({}, "quasi_exact_match", 1), (typos, "exact_match", 1)]
    ]
    found = read(tmp_path, request(), request(instance=typos), request(train_trial_index=1), stats=stats)
    assert column(found, "own") == [0, None, 1]
    assert column(found, "kind") == ["original", "misspelling", "other exemplars"]


def test_chains_of_thought_have_no_exact_match(tmp_path):
    found = read(tmp_path, request(), request(), method="multiple_choice_joint_chain_of_thought")
    assert (found.own, column(found, "own"), column(found, "variant")) == ("", [None, None], ["1", "2"])
    assert found.equal_prompts


# By length: ice -2, fog (-1 - 2) / 2 = -1.5. Without it, less what the option alone has: ice -2 + 1, fog -3 + 1.
@pytest.mark.parametrize(("method", "picked"), [("original", "fog"), ("calibrated", "ice")])
def test_the_most_likely_option_is_picked(tmp_path, method, picked):
    requests = [scored(0, [(" ice", -2)]), scored(1, [(" f", -1), ("og", -2)])]
    if method == "calibrated":
        requests += [scored(place, [(f" {TEXTS[place]}", -1)], "calibration") for place in (0, 1)]
    (row,) = read(tmp_path, *requests, method=f"multiple_choice_separate_{method}").rows
    assert (row["picked"], row["own"]) == (picked, picked == "fog")


def test_options_may_stand_only_in_the_prompt(tmp_path):
    (row,) = read(tmp_path, request(texts=["2"], right=["2"], output_mapping=None)).rows
    assert (row["printed"], row["labels"], row["answer"]) == (("ice", "fog", "rain"), ("1", "2", "3"), 1)


def test_what_cannot_be_used_is_counted(tmp_path):
    other = request(4, instance={"split": "valid"})
    broken = [request(said=7), request(instance={"references": None}), request(output_mapping=[1])]
    failed = request(result={"success": False, "error": "no\nanswer", "completions": []})
    found = read(tmp_path, failed, request(right=TEXTS[:2]), request(right=[]), other, *broken)
    assert column(found, "came") == ["an error (no answer)"]
    (note,) = found.notes
    assert all(part in note for part in ("2 without 2 to 26 options", "1 of another split", "3 in an unknown format"))


OTHERS = [{}, {"adapter_spec": {"model": "m", "method": "x"}, "request_states": [7]}]


@pytest.mark.parametrize("text", ["", "[" * 99_999, *map(json.dumps, OTHERS)])
def test_another_file_is_one_clear_error(tmp_path, text):
    path = tmp_path / "scenario_state.json"
    path.write_text(text)
    with user_error(str(path), "expected"):
        read_helm(path)
