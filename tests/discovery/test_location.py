"""Where the task files are, and what version 0.1.0 left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.discovery import location
from lm_eval_cora.discovery.location import remove_leftovers, tasks_folder

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
    # Some other package may have a folder `tasks` beside ours.
    made(tmp_path, "lm_eval_cora/tasks/_probes/x.yaml", "tasks/_probes/x.yaml")
    monkeypatch.setattr(location, "__file__", str(tmp_path / "lm_eval_cora" / "discovery" / "location.py"))
    assert tasks_folder() == tmp_path / "lm_eval_cora" / "tasks"


def test_a_missing_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "tasks/another_package.py")
    monkeypatch.setattr(location, "__file__", str(tmp_path / "lm_eval_cora" / "discovery" / "location.py"))
    with pytest.raises(FileNotFoundError, match=r"cannot find the task files: looked in .* Install lm-eval-cora again"):
        tasks_folder()


def test_the_command_prints_the_folder_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--path"]) == 0
    assert capsys.readouterr().out == f"{REPOSITORY / 'tasks'}\n"


@pytest.mark.parametrize("others", [["--check"], ["cora_demo"]])
def test_the_folder_is_asked_for_alone(others: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["tasks", "--path", *others])
    assert "--path: expected no other arguments" in capsys.readouterr().err


def test_empty_folders_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lm_eval" / "tasks").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert remove_leftovers() == []
    assert not (tmp_path / "lm_eval").exists()


@pytest.mark.parametrize(
    "files",
    [
        ["lm_eval/__init__.py", "lm_eval/tasks/manager.py", "lm_eval/tasks/arc/arc.yaml"],  # a harness
        ["lm_eval/tasks/mine.yaml"],  # a folder of the user's own
        ["lm_eval/out/results.json"],
        ["lm_eval"],
        ["other.py"],
    ],
)
def test_everything_else_stays(files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, *files)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "nowhere"), str(tmp_path / files[0])])
    before = sorted(tmp_path.rglob("*"))
    assert remove_leftovers() == []
    assert sorted(tmp_path.rglob("*")) == before


def test_an_empty_folder_of_tasks_beside_files_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "lm_eval/notes.txt")
    (tmp_path / "lm_eval" / "tasks").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert remove_leftovers() == []
    assert (tmp_path / "lm_eval" / "tasks").is_dir()


@pytest.mark.parametrize(
    ("harness", "told"), [([], "lm_eval"), (["lm_eval/__init__.py"], "lm_eval/tasks/cora")], ids=["hidden", "beside"]
)
def test_task_files_of_0_1_0_are_told(
    harness: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = made(tmp_path / "my packages", "lm_eval/tasks/cora/_probes/divergent.yaml", *harness)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    assert main(["tasks", "--path"]) == 0
    line = capsys.readouterr().err
    assert (
        line == f"lm-eval-cora: {folder / told} is left over from version 0.1.0. Delete it: rm -r '{folder / told}'\n"
    )
    subprocess.run(["sh", "-c", line.partition("Delete it: ")[2]], check=True)
    assert main(["tasks", "--path"]) == 0
    assert capsys.readouterr().err == ""
