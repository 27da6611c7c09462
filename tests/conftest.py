from __future__ import annotations

import os

# No test reaches the Hub. Set before anything imports huggingface_hub, which reads it once.
os.environ["HF_HUB_OFFLINE"] = "1"
# The package may be installed, too: plain TaskManagers must not find its task files beside those of the checkout.
os.environ["LM_EVAL_CORA_AUTOLOAD"] = "0"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import datasets
import hypothesis
import pytest
from lm_eval.tasks import _index

from tests.support.hub import make_hub
from tests.support.simulated import TASKS

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(scope="session")
def made_up_hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the ids of all benchmarks are found."""
    folder = tmp_path_factory.mktemp("hub")
    make_hub(folder)
    return folder


@pytest.fixture
def hub(made_up_hub: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder as the working folder, and a cache of its own for what is read from there."""
    monkeypatch.chdir(made_up_hub)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", made_up_hub / "cache")
    return made_up_hub


@pytest.fixture(scope="session", autouse=True)
def index_of_task_files() -> Iterator[None]:
    """Read each task file of the checkout once. A `TaskManager` reads all of them, which takes longer than most runs.

    Only its index is kept; a task that is built reads its file again.
    """
    read, known = _index.load_yaml, {}

    def load_yaml(path: Path, **options: bool) -> dict[str, Any]:
        if not path.is_relative_to(TASKS) or options.get("resolve_func", True):
            return read(path, **options)
        key = path, *sorted(options.items())
        if key not in known:
            known[key] = pickle.dumps(read(path, **options))
        return pickle.loads(known[key])

    with patch.object(_index, "load_yaml", load_yaml):
        yield
