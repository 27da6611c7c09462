"""The model, the data and the settings of a run, from its results file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_cora.runs.files import hub_name, model_of, part_of
from lm_eval_cora.runs.model_run import Run


@dataclass(frozen=True)
class Dataset:
    """The source of the questions: datasets on the Hub, files of the user, without folders, or this package."""

    name: str
    hub: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    split: str = ""
    revision: str = ""
    files: tuple[str, ...] = ()
    packaged: bool = False


def dataset_of(run: Run) -> Dataset:
    """Find the source of the questions of a run."""
    if run.collected:
        return Dataset("unknown")
    options, declared = part_of(part_of(run.config, "metadata"), "cora"), part_of(run.config, "benchmark")
    name = str(run.data.name or declared.get("name") or run.name)
    if files := _texts(options.get("data_files") or declared.get("data_files")):  # they replace the task's source
        return Dataset(name, files=tuple(Path(file).name for file in files))
    hub, configs, split, revision = (
        _texts(options.get(key, declared.get(key))) for key in ("hub", "config", "split", "revision")
    )
    packaged = bool(declared.get("package_file"))
    return Dataset(name, hub, configs, "".join(split), "".join(revision), packaged=packaged)


def evaluation_name(run: Run) -> str:
    """Name of an evaluation: the task, the data if the task does not name it, and the filter if there are several."""
    return "/".join(filter(None, (run.name, run.label, run.part)))


def model_id(run: Run) -> str:
    """Id of the model on the Hub or in its API; for a local model, the part of its path that makes the id unique."""
    name, short = hub_name(model_of(run.results) or run.model), run.model.partition(" (")[0]
    if short.partition("@")[0] == name:  # with the revision, if several are exported
        return short
    path = Path(name)
    if not (path.is_absolute() or name.startswith(".")):
        return name or "unknown"
    # Replace slashes, because the part before a slash is the developer.
    return (short.replace("/", "_") if short.endswith(path.name) else path.name) or "unknown"


def begin_of(run: Run) -> float | None:
    """When the run began, in seconds since 1970; None if the results file does not have it."""
    date = run.results.get("date")
    return float(date) if isinstance(date, int | float) else None


def as_texts(details: Mapping[str, Any]) -> dict[str, str]:
    """Convert values to text, without empty ones. Text stays unchanged; all other values become JSON.

    Example:
        >>> as_texts({"task": "cora_demo", "shots": 0, "sample": True, "seed": None, "until": []})
        {'task': 'cora_demo', 'shots': '0', 'sample': 'true', 'until': '[]'}
    """
    return {
        name: value if isinstance(value, str) else json.dumps(value, default=str)
        for name, value in given(details).items()
        if value != ""
    }


def given(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that are not None."""
    return {name: part for name, part in parts.items() if part is not None}


def _texts(value: Any) -> tuple[str, ...]:
    several = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple(str(each) for each in several if each not in (None, ""))
