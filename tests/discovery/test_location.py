"""The folder of the task files, and the folders that version 0.1.0 left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.discovery import location
from lm_eval_cora.discovery.location import STARTUP, remove_leftovers, tasks_folder
from tests.support.messages import tells

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


def test_empty_folders_are_removed_where_the_package_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, own = made(tmp_path / "site", STARTUP), tmp_path / "project"
    for folder in (installed, own):
        (folder / "lm_eval" / "tasks").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [None, "", str(own), str(installed), str(installed), str(tmp_path / "nowhere")])
    assert remove_leftovers() == []
    assert not (installed / "lm_eval").exists()
    assert (own / "lm_eval" / "tasks").is_dir()  # a folder of the user's own


@pytest.mark.parametrize(
    "files",
    [
        ["lm_eval/__init__.py", "lm_eval/tasks/manager.py", "lm_eval/tasks/arc/arc.yaml"],  # a harness
        ["lm_eval/tasks/mine.yaml"],
        ["lm_eval/notes.txt"],
        ["lm_eval"],
        ["other.py"],
    ],
)
def test_everything_else_stays(files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, STARTUP, *files)
    if files != ["lm_eval"]:
        (tmp_path / "lm_eval" / "tasks" / "empty").mkdir(parents=True, exist_ok=True)
        made(tmp_path / "lm_eval", *(["file"] if files == ["other.py"] else []))
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / files[0])])
    before = sorted(tmp_path.rglob("*"))
    assert remove_leftovers() == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = made(tmp_path / "site", STARTUP)
    (tmp_path / "own" / "tasks").mkdir(parents=True)
    (site / "lm_eval").symlink_to(tmp_path / "own")
    monkeypatch.setattr(sys, "path", [str(site)])
    assert remove_leftovers() == []
    assert (tmp_path / "own" / "tasks").is_dir()


def test_empty_folders_that_cannot_be_removed_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError

    site = made(tmp_path, STARTUP)
    (site / "lm_eval" / "tasks").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(site)])
    monkeypatch.setattr(Path, "rmdir", refuse)
    assert remove_leftovers() == [site / "lm_eval"]


@pytest.mark.parametrize("harness", [[], ["lm_eval/__init__.py"]], ids=["hidden", "beside"])
def test_task_files_of_0_1_0_are_told(
    harness: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / "my packages" / "lm_eval" / "tasks" / "cora"
    folder = made(tmp_path / "my packages", STARTUP, "lm_eval/tasks/cora/_probes/divergent.yaml", *harness)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    assert main(["tasks", "--path"]) == 0
    line = capsys.readouterr().err
    assert tells(line, f"lm-eval-cora: {left} ", "0.1.0", f": rm -r '{left}'\n")
    subprocess.run(["sh", "-c", line.partition("Delete it: ")[2]], check=True)
    assert main(["tasks", "--path"]) == 0
    assert capsys.readouterr().err == ""
    assert (folder / "lm_eval").exists() is bool(harness)


def test_files_beside_those_of_0_1_0_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, STARTUP, "lm_eval/tasks/cora/_probes/divergent.yaml", "lm_eval/tasks/mine/mine.yaml")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert remove_leftovers() == [tmp_path / "lm_eval" / "tasks" / "cora"]
