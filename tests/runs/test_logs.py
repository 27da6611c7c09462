"""Which logs of a folder are read, what they are called, and which ones are compared."""

import pytest

from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.logs import read_logs
from tests.support.messages import tells
from tests.support.written import put

HELM = "runs/v1/exam:subject={},model=org_{},groups=exam/scenario_state.json"


def state(model, *options):
    """A state of HELM: questions whose first option is right, and the answers to them."""
    requests = [
        {
            "instance": {"id": f"id{number}", "references": [{"output": {"text": one}, "tags": []} for one in each]},
            "train_trial_index": 0,
            "output_mapping": dict(zip("ABC", each, strict=False)),
            "result": {"success": True, "completions": [{"text": "A"}]},
        }
        for number, each in enumerate(options)
    ]
    for request in requests:
        request["instance"]["references"][0]["tags"].append("correct")
    return [{"adapter_spec": {"method": "multiple_choice_joint", "model": f"org/{model}"}, "request_states": requests}]


SKY, SEA = [("dew", "fog"), ("hail", "mist")], [("tide", "reef"), ("bay", "cape"), ("eel", "cod")]


@pytest.mark.parametrize(
    ("sky", "sea", "names"),
    [
        ("{1}/sky.json", "{1}/sea.json", ["sea", "sky"]),  # beside each other
        (
            HELM.format("sky", "{1}"),
            HELM.format("sea", "{1}"),
            [f"exam:subject={n},groups=exam" for n in ("sea", "sky")],
        ),
        ("a/{0}1/state.json", "b/{0}2/state.json", ["state", "state"]),  # nothing tells them apart but the questions
    ],
)
def test_states_of_helm_are_told_apart_by_their_questions(sky, sea, names, tmp_path):
    for number, model in enumerate(("small", "large")):
        for path, questions in ((sky, SKY), (sea, SEA)):
            put(tmp_path / model / path.format(number, model), state(model, *questions))
    logs, left_out = read_logs(tmp_path / "small")
    assert ([log.task for _, log in logs], left_out) == (names, [])
    assert sorted(len(log.rows) for _, log in logs) == [2, 3]
    found = compare_models([tmp_path / "small", tmp_path / "large"])
    assert sorted(value["questions"] for value in found.values) == [2, 3]


def test_a_second_log_of_the_same_questions_is_left_out(tmp_path):
    for folder in ("a", "b"):
        put(tmp_path / folder / "sky.json", state("m", *SKY))
        put(tmp_path / folder / "per_instance_stats.json", [{}])  # of which run is unknown
    put(tmp_path / "c/sky.json", state("m", *SKY[:1]))
    runs = read_runs([tmp_path])
    assert sorted(len(run.ids) for run in runs) == [1, 2]
    assert tells(" ".join(runs[0].notes), "left out", "sky.json", "the same questions")
