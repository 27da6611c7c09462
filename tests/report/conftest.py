from __future__ import annotations

import pytest

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
