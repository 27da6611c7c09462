"""Where a run's numbers come from, as its results file says it: the model, the data, how it was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_cora.report.files import part_of
from lm_eval_cora.report.runs import Run

_PUBLISHED = (
    *("pretrained", "model", "engine", "revision", "subfolder", "tokenizer", "dtype", "quantization", "gguf_file"),
    *("peft", "delta", "load_in_4bit", "load_in_8bit", "max_length", "max_model_len", "truncation", "add_bos_token"),
    *("prefix_token_id", "parallelize", "tensor_parallel_size", "data_parallel_size", "tp_size", "dp_size"),
    *("enable_thinking", "think_end_token", "reasoning_effort", "seed", "max_gen_toks", "attn_implementation"),
)
"""The arguments of back ends that are published: any other may hold a password, a token, an address."""


@dataclass(frozen=True)
class Dataset:
    """What the questions were read from.

    Attributes:
        name: Name of the benchmark; of the task if no results file says it.
        hub: Ids of the datasets on the Hub; empty if it was another source.
        configs: Their configurations.
        split: The split that was scored.
        revision: The commit or branch that the task pins.
        files: Names of the user's own files, without their folders.
        packaged: Whether the questions come with this package.
    """

    name: str
    hub: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    split: str = ""
    revision: str = ""
    files: tuple[str, ...] = ()
    packaged: bool = False


def dataset_of(run: Run) -> Dataset:
    """What the questions of a run were read from."""
    options, declared = options_of(run), _declared(run)
    name = str(declared.get("former_name") or run.data.name or declared.get("name") or run.name)
    if files := _texts(options.get("data_files") or declared.get("data_files")):  # they replace what the task names
        return Dataset(name, files=tuple(Path(file).name for file in files))
    source = declared | {key: options[key] for key in ("hub", "config", "split", "revision") if key in options}
    return Dataset(
        name=name,
        hub=_texts(source.get("hub")),
        configs=_texts(source.get("config")),
        split=str(source.get("split") or ""),
        revision=str(source.get("revision") or ""),
        packaged=bool(source.get("package_file")),
    )


def _declared(run: Run) -> dict[str, Any]:
    """What the task file declares about its benchmark; older versions have it in `dataset_kwargs`."""
    if former := run.config.get("dataset_kwargs"):
        name = former.get("benchmark")
        hub = {key: former.get(f"hub_{key}") for key in ("config", "split", "revision")}
        return {"former_name": name, "hub": former.get("hub_path"), **hub, "package_file": name == "demo"}
    return dict(part_of(run.config, "benchmark"))


def options_of(run: Run) -> Mapping[str, Any]:
    """The options that the task was given."""
    return (run.config.get("metadata") or {}).get("cora") or {}


def evaluation_name(run: Run) -> str:
    """Name of what was measured: the task, the data if the task does not name it, the filter if there are several."""
    return "/".join(filter(None, (run.name, run.label, run.part)))


def model_id(run: Run) -> str:
    """The model's id on the Hub or at its API; of a model in a local folder as much of the path as tells it apart."""
    name = str(run.results.get("model_name") or run.model)
    folder = _without_folders(name)
    short = run.model.partition(" (")[0]
    # Without a slash: before one stands a developer.
    return (short.replace("/", "_") if name != folder and short.endswith(folder) else folder) or "unknown"


def settings_of(run: Run) -> Mapping[str, Any]:
    """What the results file says of the whole run: back end, arguments, seeds."""
    return run.results.get("config") or {}


def model_args(arguments: Any) -> dict[str, Any]:
    """The arguments of a back end that are known to hold no secrets, and of paths the last part.

    Args:
        arguments: As the results file has them: a mapping, or text such as `pretrained=x,dtype=auto`.

    Returns:
        The arguments by name.

    Example:
        >>> model_args("pretrained=org/name,dtype=bfloat16,api_key=hush")
        {'pretrained': 'org/name', 'dtype': 'bfloat16'}
        >>> model_args({"pretrained": "/home/me/checkpoint-5", "dtype": "auto"})
        {'pretrained': 'checkpoint-5', 'dtype': 'auto'}
        >>> model_args(None)
        {}
    """
    if isinstance(arguments, str):
        pairs = (part.partition("=") for part in arguments.split(","))
        arguments = {name.strip(): value for name, equals, value in pairs if equals}
    if not isinstance(arguments, Mapping):
        return {}
    return {
        str(name): _without_folders(value) if isinstance(value, str) else value
        for name, value in arguments.items()
        if name in _PUBLISHED and not isinstance(value, Mapping)
    }


def as_texts(details: Mapping[str, Any]) -> dict[str, str]:
    """Details as texts, without those that say nothing: text stays, everything else becomes JSON.

    Example:
        >>> as_texts({"task": "cora_demo", "shots": 0, "sample": True, "seed": None, "until": []})
        {'task': 'cora_demo', 'shots': '0', 'sample': 'true', 'until': '[]'}
    """
    return {
        name: value if isinstance(value, str) else json.dumps(value, default=str)
        for name, value in details.items()
        if value is not None and value != ""
    }


def _without_folders(name: str) -> str:
    """The last part of a local path: where it lies is nobody else's business, and says nothing about the model."""
    path = Path(name)
    return path.name if path.is_absolute() or name.startswith(".") else name


def _texts(value: Any) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    several = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple(map(str, several))
