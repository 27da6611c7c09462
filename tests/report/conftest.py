from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from tests.support.documents import Models, run_models
from tests.support.written import DEMO, Written, otherwise, varied, write

QUESTIONS = 12


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Written]:
    """One run per demo task, all by one model."""
    return {task: write(tmp_path_factory.mktemp(task), varied, task, {"questions": QUESTIONS}) for task in DEMO}


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A run of the first demo task by another model."""
    folder = tmp_path_factory.mktemp("other")
    return write(folder, otherwise, "cora_demo", {"questions": QUESTIONS}, "another-org/another-model")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Runs of other tasks of the harness."""
    return run_models(tmp_path_factory.mktemp("documents"))


@pytest.fixture
def copy(models: Models, tmp_path: Path) -> Path:
    """A copy of the first model's folder, to damage it."""
    return copytree(models.one, tmp_path / "copy")
