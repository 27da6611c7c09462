from __future__ import annotations

import gc
import os

# No test reaches the Hub. Set before anything imports huggingface_hub, which reads it once.
os.environ["HF_HUB_OFFLINE"] = "1"
# The package may be installed, too: plain TaskManagers must not find its task files beside those of the checkout.
os.environ["LM_EVAL_CORA_AUTOLOAD"] = "0"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# The other processors run other tests. Set before anything imports numpy or torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from pathlib import Path

import datasets
import hypothesis
import pytest

from tests.support.hub import make_hub
from tests.support.index import reading_task_files_once

# The same examples in every run, on a machine of any speed; `--hypothesis-profile random` searches for others.
hypothesis.settings.register_profile(
    "random", deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("same", hypothesis.settings.get_profile("random"), derandomize=True)
hypothesis.settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that no worker is left with one of them at the end."""
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("model", "packaging"))))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking through all modules again and again: a third of the time of a run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


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
