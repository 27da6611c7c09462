"""Run files of HELM (`scenario_state.json`) as rows of answers."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.inputs import reading
from lm_eval_cora.questions.messages import described
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.foreign import Logged
from lm_eval_cora.runs.log_rows import begins_with, logged, options_in, options_of

_EXACT = "exact_match"
_OWN = ("chain_of_thought_correctness", _EXACT, "quasi_exact_match")  # the first of these metrics that a run has
_TRIALS = ("original", "other exemplars")  # kinds of variants: the first trial, and those with other exemplars

is_helm = partial(begins_with, rb'\s*\{[^{]*"adapter_spec"\s*:\s*\{')


def read_helm(path: Path) -> list[Logged]:
    """Read the answers of a `scenario_state.json` of HELM.

    `own` comes from `per_instance_stats.json` if this file is beside it. Otherwise it is HELM's exact match, which
    chains of thought do not have.
    """
    beside = path.with_name("per_instance_stats.json")
    stats: dict[Any, dict[str, float]] = defaultdict(dict)
    try:
        state = json.loads(reading(path).read_bytes())
        spec, every = state["adapter_spec"], state["request_states"]
        model, method = str(spec["model"]), str(spec["method"])
        # HELM reports the test split if there is one. The requests of each option together are an answer.
        tested = [one for one in every if one["instance"].get("split") == "test"] or every
        answers = grouped_by(tested, lambda one: _key(one["instance"]["id"], one["instance"], one))
        for entry in json.loads(reading(beside).read_bytes()) if beside.exists() else []:
            values = {stat["name"]["name"]: stat["mean"] for stat in entry["stats"] if "mean" in stat}
            stats[_key(entry["instance_id"], entry, entry)] |= values
    except Exception as error:  # of another format, any
        raise UserError(
            f"{path}: expected the format of HELM, with adapter_spec and request_states, also in {beside.name}, "
            f"got {shorten(described(error), 300)}. Pass the files as HELM wrote them"
        ) from error
    is_exact = not stats and "thought" not in method and not spec.get("output_mapping_pattern")
    metrics = (name for name in _OWN if any(name in values for values in stats.values()))
    own = _EXACT if is_exact else next(metrics, "")
    rows, left_out = [], Counter({"of another split than test": len(every) - len(tested)})
    for key, requests in answers.items():
        is_joint = "reference_index" not in requests[0]
        for part in [[request] for request in requests] if is_joint else [requests]:
            try:
                row = _row(part, method, stats[key])
            except Exception as error:  # noqa: PERF203  # of a request in another format, any
                left_out[getattr(error, "reason", "in an unknown format")] += 1
            else:
                rows.append(row if is_exact else {**row, "own": stats[key].get(own)})
    task, *_ = re.split("[:,]model=", path.absolute().parent.name)
    return logged(path, Logged(model, task, rows, [], own=own), left_out)


def _key(instance: Any, perturbed: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the requests for one answer share: instance, perturbation, and trial of the exemplars."""
    return instance, str(perturbed.get("perturbation")), request.get("train_trial_index")


def _row(requests: Sequence[Mapping[str, Any]], method: str, stats: Mapping[str, float]) -> dict[str, Any]:
    """The columns of one answer: to a request with all options, or to a request for each of them."""
    first = requests[0]
    instance, result, mapping = first["instance"], first.get("result") or {}, first.get("output_mapping") or {}
    references = instance["references"]
    texts = [reference["output"]["text"] for reference in references]
    correct = [place for place, reference in enumerate(references) if "correct" in reference["tags"]]
    name = [*(mapping or texts)][correct[0]] if len(correct) == 1 else ""
    row = {
        "question": str(instance["id"]),
        "kind": instance.get("perturbation", {}).get("name") or _TRIALS[first["train_trial_index"] > 0],
        "came": "" if result.get("success") else f"an error ({shorten(result.get('error', 'no result'), 80)})",
    }
    if "reference_index" not in first:
        options = (
            options_of([*mapping.values()], name, [*mapping])
            if mapping
            else options_in(first["request"]["prompt"], name)
        )
        completions = result.get("completions") or [{"text": ""}]
        completion = max(completions, key=lambda one: one.get("logprob", 0))  # as HELM
        said = completion["text"].strip()
        said = mapping.get(said, "") if mapping else said
        is_cut_off = (completion.get("finish_reason") or {}).get("reason") == "length"
        own = float(said.strip() == texts[correct[0]].strip() != "")
        return {**row, **options, "response": completion["text"], "cut_off": is_cut_off, "own": own}
    options = options_of(texts, name, ())
    likely = Counter[int]()
    for request in requests:
        place, tokens = request["reference_index"], request["result"]["completions"][0]["tokens"]
        # The last tokens are those of the option.
        ends = accumulate(len(token["text"]) for token in reversed(tokens))
        count = 1 + sum(end < len(texts[place]) for end in ends)
        likelihood = sum(token["logprob"] for token in tokens[-count:])
        is_calibration = request.get("request_mode") == "calibration"
        likely[place] += -likelihood if is_calibration else likelihood / (1 if "calibrated" in method else count)
    best = [place for place, value in likely.items() if value == max(likely.values())]
    picked = texts[int(stats.get("predicted_index", best[0]))]
    return {**row, **options, "picked": picked, "own": (correct[0] in best) / len(best)}
