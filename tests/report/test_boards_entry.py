"""Settings of a run, which decide in which table it is."""

from __future__ import annotations

from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.report.boards import settings_of

SIGNATURE = "cora|task:cora_x@1|data_files:a.csv|shots:0|stop:exact|target:whole:0.01|n:9x20|invalid:1.0%|v0.2.0"


def test_how_much_was_asked_is_not_a_setting_but_a_sample_in_two_phases_is() -> None:
    found = settings_of(SIGNATURE, Data("x", "1a2b"), "strict", is_two_phase=True)
    assert found == {"task": "cora_x@1", "shots": "0", "target": "whole:0.01", "reader": "strict"}
    assert "target" not in settings_of(SIGNATURE, Data("x", "1a2b"), None, is_two_phase=False)


def test_files_identify_questions_without_a_digest() -> None:
    assert settings_of(SIGNATURE, Data("x"), None, is_two_phase=False)["data_files"] == "a.csv"
    assert settings_of("", Data(), None, is_two_phase=False) == {}
