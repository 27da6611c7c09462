"""Runs of the harness in Python: read, scored from their answers alone, and compared."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import lm_eval_cora as cora
from lm_eval_cora.errors import UserError
from tests.support.written import Written, as_harness, put, the_run


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_order", "cora_demo_mc"])
def test_the_same_answers_have_the_numbers_of_the_harness(task: str, demo: dict[str, Written], tmp_path: Path) -> None:
    run = the_run(demo[task].folder)
    names = [f"“{number}” 選" for number in range(64)]
    lines = [
        {
            "question_id": record.question_id,
            "kind": "original" if record.original else record.kind,
            "ordinal": record.ordinal,
            "picked": None if record.picked is None else names[record.picked],
            "answer": names[record.answer],
            "options": [names[identity] for identity in record.printed],
            "category": record.category,
            "followed": record.followed,
            "reader": run.reader or "none",
        }
        for record in reversed(run.samples.records)
    ]
    scores = cora.score(put(tmp_path / "answers.jsonl", lines))
    told = demo[task].printed
    # The original of other probes is of one of their kinds here; a position is adjusted only where sizes differ.
    of_kinds = set() if "order" not in task and "prompts" not in task else {"acc_min", "acc_max", "acc_mean"}
    both = {name for name in scores if f"{name},none" in told} - of_kinds
    assert both >= {"acc", "mcqa", "ci", "cora", "consistency_rate", "invalid"}
    if task == "cora_demo":
        assert both == {key.removesuffix(",none") for key in told if key.endswith(",none") and "stderr" not in key}
    for name in both:
        value, error = scores[name]
        assert as_harness(value, "nan") == told[f"{name},none"], name
        assert as_harness(error, "N/A") == told[f"{name}_stderr,none"], name


def test_read_runs_gives_the_numbers_of_the_harness(demo: dict[str, Written]) -> None:
    (scores,) = cora.read_runs(demo["cora_demo"].folder)
    printed = demo["cora_demo"].printed
    assert "cora_demo" in scores.name
    for name in ("cora", "ci", "acc_min", "consistency_rate", "followed"):
        assert as_harness(scores[name].value, "nan") == printed[f"{name},none"]
        assert as_harness(scores[name].stderr, "N/A") == printed[f"{name}_stderr,none"]
    assert scores.to_frame().set_index("metric").value["cora"] == scores["cora"].value
    assert scores.name in repr(scores)
    assert pickle.loads(pickle.dumps(scores))["cora"] == scores["cora"]


def test_runs_are_compared_by_their_signatures(demo: dict[str, Written]) -> None:
    ((one,), (other,)) = (cora.read_runs(demo[task].folder) for task in ("cora_demo", "cora_demo_order"))
    assert cora.compare(one, one)["cora"].value == 0.0
    with pytest.raises(UserError, match="cannot be compared"):
        cora.compare(one, other)
