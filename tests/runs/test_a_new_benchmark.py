"""What CONTRIBUTING says about adding a benchmark, done word for word in a folder of its own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import datasets
import pytest

from lm_eval_cora import benchmarks
from tests.support.simulated import TASKS, knows, run, scores

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def files_of_the_guide() -> dict[str, str]:
    """The files that the guide shows: each block begins with its name in a comment."""
    (section,) = re.findall(r"^## Add a benchmark$(.*?)^## ", GUIDE, flags=re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", section, flags=re.DOTALL | re.MULTILINE)
    return dict(blocks)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The guide's files, the fragments that are there already, and rows where the Hub would have them."""
    for name, text in files_of_the_guide().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for fragment in ("_forms", "_probes"):
        (tmp_path / "tasks" / fragment).symlink_to(TASKS / fragment)
    rows = [
        {"riddle": f"What follows {number}?", "answers": [str(number + 1), "0", "-1"], "solution": 0, "topic": "sums"}
        for number in range(1, 7)
    ]
    hub = tmp_path / "somebody" / "riddles"
    for split in ("test", "train"):
        hub.mkdir(parents=True, exist_ok=True)
        (hub / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[split == "train" :]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    # The adapter is a module of the package; here it lies in the temporary folder.
    monkeypatch.setattr(benchmarks, "__path__", [*benchmarks.__path__, str(tmp_path / "lm_eval_cora" / "benchmarks")])
    monkeypatch.delitem(sys.modules, "lm_eval_cora.benchmarks.riddles", raising=False)
    return tmp_path


def test_one_adapter_one_fragment_and_the_task_files_are_enough(folder: Path) -> None:
    names = files_of_the_guide()
    assert [Path(name).name for name in names] == [
        *("riddles.py", "riddles.yaml", "cora_riddles.yaml", "cora_riddles_mc.yaml")
    ]
    for task in ("cora_riddles", "cora_riddles_mc"):
        results = run(knows, task, {"questions": 4}, folder / "tasks", num_fewshot=2)
        assert scores(results, task)["cora"] == 1.0
        assert results["n-samples"][task]["effective"] == 4 * 14
        assert all(sample["arguments"][0][0].count("\nAnswer: ") == 2 for sample in results["samples"][task])
