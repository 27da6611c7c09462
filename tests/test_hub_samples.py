"""Real rows in the layout of the Hub, where a folder with such samples lies beside the checkout."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest

from .simulated import knows, run, scores

HUB = Path(__file__).parents[2] / "shared" / "hub"

pytestmark = pytest.mark.skipif(not HUB.is_dir(), reason=f"no samples in {HUB}")


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # load_dataset("owner/name") finds a local folder of that name.
    monkeypatch.chdir(HUB)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)


def test_medqa(caplog: pytest.LogCaptureFixture) -> None:
    results = run(knows, "cora_medqa")
    assert scores(results, "cora_medqa")["cora"] == 1.0
    assert results["n-samples"]["cora_medqa"]["original"] == 60 * 26
    assert "left out" not in caplog.text
    assert "medqa: got 60 rows from lavita/medical-qa-datasets" in caplog.text
    docs = [sample["doc"] for sample in results["samples"]["cora_medqa"]]
    assert docs[0]["question_id"] == "test-0"
    assert docs[0]["choices"] == [
        "Erythromycin ointment",
        "Ketotifen eye drops",
        "Warm compresses",
        "Fluorometholone eye drops",
        "Latanoprost eye drops",
    ]
    assert docs[0]["answer"] == 1


def test_medqa_by_category() -> None:
    results = run(knows, "cora_medqa", {"categories": "step1", "questions": 5})
    assert {sample["doc"]["category"] for sample in results["samples"]["cora_medqa"]} == {"step1"}
    assert results["n-samples"]["cora_medqa"]["original"] == 5 * 26
