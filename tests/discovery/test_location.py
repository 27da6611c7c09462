"""The folder of the task files."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.discovery import location
from lm_eval_cora.discovery.location import tasks_folder


def test_the_folder_of_the_task_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tasks_folder() == Path(__file__).parents[2] / "tasks"  # in a checkout
    monkeypatch.setattr(location, "__file__", str(tmp_path / "lm_eval_cora" / "discovery" / "location.py"))
    (tmp_path / "tasks").mkdir()  # of another package
    with pytest.raises(FileNotFoundError, match=r"task files: .* Install lm-eval-cora again"):
        tasks_folder()
    for folder in ("lm_eval_cora/tasks/_probes", "tasks/_probes"):
        (tmp_path / folder).mkdir(parents=True)
    assert tasks_folder() == tmp_path / "lm_eval_cora" / "tasks"  # installed
