"""The script that writes the task files. The task files in the repository equal its output."""

from pathlib import Path

import pytest

from scripts import write_tasks

ROOT = Path(__file__).parents[1]
TASKS = ROOT / "tasks"


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """Copy the task files and make the script write to the copy."""
    folder = tmp_path / "tasks"
    for name, content in written(TASKS).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "_benchmarks").symlink_to(TASKS / "_benchmarks")
    monkeypatch.setattr(write_tasks, "TASKS", folder)
    return folder


def written(folder):
    """Return the content of each task file, by its path in the folder."""
    paths = folder.glob("[a-z]*/cora_*.yaml")
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def test_the_task_files_are_those_of_the_script():
    files = list(write_tasks.task_files())
    assert {str(path.relative_to(TASKS)): content for path, content in files} == written(TASKS)
    assert len({path for path, _ in files}) == len(files)


def test_nothing_is_written_if_all_files_are_up_to_date(copy, capsys):
    write_tasks.main()
    assert capsys.readouterr().out == ""
    assert written(copy) == written(TASKS)


@pytest.mark.parametrize("deleted", ["openbookqa/cora_openbookqa_order.yaml", "openbookqa/"])
def test_deleted_files_are_written_again(deleted, copy, capsys):
    names = sorted(name for name in written(copy) if name.startswith(deleted))
    for name in names:
        (copy / name).unlink()
    if deleted.endswith("/"):
        (copy / deleted).rmdir()
    write_tasks.main()
    assert sorted(capsys.readouterr().out.splitlines()) == [f"wrote tasks/{name}" for name in names]
    assert written(copy) == written(TASKS)


def test_a_changed_file_is_corrected_and_keeps_its_version(copy):
    path = copy / "mmlu/cora_mmlu_plus.yaml"
    path.write_text("task: something_else\nmetadata: {version: 17}\n")
    write_tasks.main()
    assert path.read_text() == (
        "task: cora_mmlu_plus\n"
        "include: [../_forms/generate.yaml, ../_benchmarks/mmlu.yaml, ../_probes/plus.yaml]\n"
        "metadata: {version: 17}\n"
    )
