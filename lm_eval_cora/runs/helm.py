"""Run files of HELM (`scenario_state.json`) as rows of answers."""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.program_rows import Columns, Logged, begins_with, logged, options_in, options_of, readable

_STATE = "scenario_state"  # HELM's name of the file
_EXACT = "exact_match"
_OWN = ("chain_of_thought_correctness", _EXACT, "quasi_exact_match")  # metrics, of which the first one that exists
_TRIALS = ("original", "other exemplars")  # kinds of variants: the first trial, and those with other exemplars

is_helm = partial(begins_with, rb'\s*\{[^{]*"adapter_spec"\s*:\s*\{')


def read_helm(path: Path) -> list[Logged]:
    """Read the answers of a `scenario_state.json` of HELM.

    `own` comes from `per_instance_stats.json` if this file is beside it. Otherwise it is HELM's exact match, which
    chains of thought do not have. As in HELM's tables, perturbed questions do not count in it; here they are variants.
    """
    beside = path.with_name(path.name.replace(_STATE, "per_instance_stats"))
    stats: dict[Any, dict[str, float]] = defaultdict(dict)
    with readable(path, "the format of HELM (adapter_spec and request_states), also in a per_instance_stats.json"):
        state = json.loads(path.read_bytes())
        spec, requests = state["adapter_spec"], state["request_states"]
        model, method = str(spec["model"]), spec["method"]
        for entry in json.loads(beside.read_bytes()) if beside.exists() and beside != path else []:
            key = entry["instance_id"], str(entry.get("perturbation")), entry["train_trial_index"]
            stats[key] |= {stat["name"]["name"]: float(stat["mean"]) for stat in entry["stats"] if "mean" in stat}
        # HELM reports the test split if there is one.
        tested = [one for one in requests if one["instance"].get("split") == "test"] or requests
        answers = [*grouped_by(tested, _key).values()] if "separate" in method else [[one] for one in tested]
    is_exact = not (stats or "thought" in method or spec.get("output_mapping_pattern"))
    metrics = {*chain(*stats.values()), *([_EXACT] if is_exact else [])}
    own = next(filter(metrics.__contains__, _OWN), "")
    row_of = partial(_row, is_calibrated="calibrated" in method, stats=stats, own=own)
    # HELM's folder has the name of the run.
    name = path.absolute().parent.name if path.stem == _STATE else path.stem
    found = Logged(model, re.sub("[:,]model=[^,]*", "", name), [], [], own=own)
    return logged(path, found, answers, row_of, len(requests) - len(tested))


def _key(request: Any) -> Any:
    """What the requests for one answer share: instance, perturbation, and trial of the exemplars."""
    instance = request["instance"]
    return instance["id"], str(instance.get("perturbation")), request["train_trial_index"]


def _row(requests: Sequence[Any], is_calibrated: bool, stats: Any, own: str) -> Columns:
    """The columns of one answer: to a request with all options, or to a request for each of them."""
    request, known = requests[0], stats.get(_key(requests[0]), {})
    instance, result, mapping = request["instance"], request.get("result") or {}, request.get("output_mapping")
    texts = [reference["output"]["text"] for reference in instance["references"]]
    correct = [place for place, reference in enumerate(instance["references"]) if "correct" in reference["tags"]]
    right = correct[0] if len(correct) == 1 else -1
    answer: Columns
    if request.get("reference_index") is not None:
        options = options_of(texts, right)
        likely = _likelihoods(requests, texts, is_calibrated)
        best = int(known.get("predicted_index", max(likely, key=likely.__getitem__)))
        answer = {"picked": options["printed"][best]}
        exact = float(best == right)
    else:
        completions = result.get("completions") or [{"text": ""}]
        completion = max(completions, key=lambda one: one.get("logprob", 0))  # as HELM
        said = completion["text"].strip()
        if mapping:
            options = options_of([*mapping.values()], right, [*mapping])
            said = mapping.get(said, "").strip()
        else:
            options = options_in(request["request"]["prompt"], [*texts, ""][right])
        finish = completion.get("finish_reason") or {}
        answer = {"response": completion["text"], "cut_off": finish.get("reason") == "length"}
        exact = float(said == texts[right].strip() != "")
    return {
        **options,
        **answer,
        "question": str(instance["id"]),
        "kind": (instance.get("perturbation") or {}).get("name") or _TRIALS[request["train_trial_index"] > 0],
        "came": "" if result.get("success") else f"an error ({shorten(result.get('error', 'no result'), 80)})",
        "own": None if instance.get("perturbation") else {_EXACT: exact, **known}.get(own),
    }


def _likelihoods(requests: Sequence[Any], texts: Sequence[str], is_calibrated: bool) -> dict[int, float]:
    """The likelihood of each option, from the requests that score them one by one."""
    likely: dict[int, float] = defaultdict(float)
    for each in requests:
        place, tokens = each["reference_index"], each["result"]["completions"][0]["tokens"]
        # The last tokens are those of the option.
        ends = accumulate(len(token["text"]) for token in reversed(tokens))
        count = 1 + sum(end < len(texts[place]) for end in ends)
        likelihood = sum(token["logprob"] for token in tokens[-count:])
        is_calibration = each.get("request_mode") == "calibration"
        likely[place] += -likelihood if is_calibration else likelihood / (1 if is_calibrated else count)
    return likely
