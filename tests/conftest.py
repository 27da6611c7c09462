from __future__ import annotations

import os

# No test reaches the Hub. Set before anything imports huggingface_hub, which reads it once.
os.environ["HF_HUB_OFFLINE"] = "1"
# The package may be installed, too: plain TaskManagers must not find its task files beside those of the checkout.
os.environ["LM_EVAL_CORA_AUTOLOAD"] = "0"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from collections.abc import Iterator
from pathlib import Path

import datasets
import hypothesis
import pytest

from tests.support.hub import make_hub
from tests.support.index import reading_task_files_once

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
    with reading_task_files_once():
        yield
