"""Runs and records for leaderboards."""

import json
from math import sqrt
from pathlib import Path
from uuid import UUID

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.runs.model_run import NO_PROBE, Run, Scores

SIGNATURE = "cora|task:{task}@1|data:1a2b3c4d|probe:divergent|form:generate|reader:flexible|shots:{shots}|n:100x26|v1"
HOSTILE = '=<img src=x onerror=window.hacked=1>"\u202e{{ 7 * 7 }}</script><script>window.hacked=1</script>'


def entry(model, cora, *, shots=0, asked="", task="cora_x", **changes):
    """A run of 100 questions with scores only."""
    values = {"cora": Estimate(cora, sqrt(cora * (1 - cora) / 99)), "mcqa": Estimate(min(1.0, cora + 0.1), 0.05)}
    known = {
        "estimates": changes.pop("scores", values),
        "higher": changes.pop("higher", {}),
    }
    given = {
        "model": model,
        "name": task,
        "files": (Path(f"{model}.json"),),
        "data": Data("x", "1a2b3c4d"),
        "probe": NO_PROBE,
        "scores": Scores(count=100, asked=asked, **known),
        "signature": SIGNATURE.format(task=task, shots=shots),
        "reader": "flexible",
        "date": "2026-01-01T00-00-00",
    }
    return Run(**{**given, **changes})


def record(model, scores, *, shots=0, error=0.02):
    """A record as `export` writes it, with what a leaderboard reads: the CoRA of some tasks."""
    return {
        "schema_version": "0.3.0",
        "source_metadata": {"source_name": "lm-eval-cora"},
        "model_info": {"id": model},
        "evaluation_results": [
            {
                "evaluation_name": task,
                "evaluation_timestamp": "1795523547.5",
                "metric_config": {"metric_name": "cora"},
                "score_details": {
                    "score": value,
                    "uncertainty": {
                        "standard_error": {"value": error},
                        "confidence_interval": {"lower": value - 2 * error, "upper": value + 2 * error},
                    },
                    "details": {
                        "signature": SIGNATURE.format(task=task, shots=shots),
                        "data": "1a2b3c4d",
                        "probe": "divergent",
                        "reader": "flexible",
                        "questions": "100",
                    },
                },
            }
            for task, value in scores.items()
        ],
    }


def put_record(folder, number, content):
    """Write a record under a name as the schema asks for it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{UUID(int=number)}.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def state_of_helm(model, *options):
    """A run file of HELM: questions whose first option is right, and the answers to them."""
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
