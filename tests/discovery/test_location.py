"""The folder of the task files, and the folders that version 0.1.0 left."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.discovery import location
from lm_eval_cora.discovery.location import tasks_folder

REPOSITORY = Path(__file__).parents[2]


def made(folder: Path, *files: str) -> Path:
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def test_in_a_checkout_it_is_beside_the_package() -> None:
    assert tasks_folder() == REPOSITORY / "tasks"


def test_installed_it_is_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another package may have a folder `tasks` beside ours.
    made(tmp_path, "lm_eval_cora/tasks/_probes/x.yaml", "tasks/_probes/x.yaml")
    monkeypatch.setattr(location, "__file__", str(tmp_path / "lm_eval_cora" / "discovery" / "location.py"))
    assert tasks_folder() == tmp_path / "lm_eval_cora" / "tasks"


def test_a_missing_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "tasks/another_package.py")
    monkeypatch.setattr(location, "__file__", str(tmp_path / "lm_eval_cora" / "discovery" / "location.py"))
    with pytest.raises(FileNotFoundError, match=r"task files: .* Install lm-eval-cora again"):
        tasks_folder()


def test_the_command_prints_the_folder_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--path"]) == 0
    assert capsys.readouterr().out == f"{REPOSITORY / 'tasks'}\n"


@pytest.mark.parametrize("others", [["--check"], ["cora_demo"]])
def test_the_folder_is_asked_for_alone(others: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["tasks", "--path", *others])
    assert "--path: expected neither TASK nor --check" in capsys.readouterr().err
