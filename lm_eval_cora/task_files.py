"""Where the task files lie, and which metrics they give a probe: the one list that the harness and the report share."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

_PACKAGE = "lm_eval_cora"


def tasks_folder() -> Path:
    """The folder of the task files: beside the package in a checkout, else in the harness, where pip puts them.

    Raises:
        FileNotFoundError: If they are in neither place.
    """
    places = [Path(__file__).parents[1] / "tasks"]
    harness = find_spec("lm_eval")
    places += [Path(folder) / "tasks" / "cora" for folder in (harness and harness.submodule_search_locations) or ()]
    for place in places:
        if (place / "_probes").is_dir():
            return place
    raise FileNotFoundError(
        f"the task files are missing: looked for {' and '.join(map(str, places))}. Install the package again, in the "
        "environment of the harness"
    )


def probes() -> list[str]:
    """Names of the probes."""
    return sorted(path.stem for path in (tasks_folder() / "_probes").glob("*.yaml"))


@lru_cache
def probe_metrics(probe: str) -> tuple[dict[str, Any], ...]:
    """The `metric_list` of a probe, its aggregations as functions.

    Args:
        probe: One of `probes()`.

    Example:
        >>> [entry["metric"] for entry in probe_metrics("divergent")][:3]
        ['acc', 'cora', 'ci']
    """
    text = (tasks_folder() / "_probes" / f"{probe}.yaml").read_text(encoding="utf-8")
    return tuple(yaml.load(text, Loader=_Loader)["metric_list"])


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML ships no types
    """Reads `!function` where it names something of this package."""


def _function(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    module, _, name = str(loader.construct_scalar(node)).rpartition(".")
    if module.partition(".")[0] != _PACKAGE:
        raise yaml.constructor.ConstructorError(None, None, f"{module}.{name} is not of {_PACKAGE}", node.start_mark)
    # The task class and the hooks need the harness, which takes seconds to import; the metrics do not.
    return getattr(import_module(module), name) if ".harness" not in module else f"{module}.{name}"


_Loader.add_constructor("!function", _function)
