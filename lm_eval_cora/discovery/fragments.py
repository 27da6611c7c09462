"""The YAML tag `!cora`, with which task files in any folder include fragments of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.messages import did_you_mean

_FOLDERS = ("_forms", "_benchmarks", "_probes")


def fragment(name: str) -> Path:
    """Return the path of a fragment of this package."""
    paths = {path.stem: path for folder in _FOLDERS for path in sorted((tasks_folder() / folder).glob("*.yaml"))}
    if name not in paths:
        meant = did_you_mean(name, paths) or f" The fragments are: {', '.join(paths)}"
        raise KeyError(f"!cora: unknown fragment {name!r}.{meant}")
    return paths[name]


def register_tag() -> None:
    """Register the tag with PyYAML's loaders, so that the harness reads `include: !cora [generate, divergent]`.

    The harness derives its loader from one of these loaders. It resolves an included path relative to the file that
    includes it, so the tag is replaced by absolute paths, which work everywhere.
    """
    for name in ("SafeLoader", "FullLoader", "CSafeLoader"):  # CSafeLoader needs PyYAML's C library
        if (loader := getattr(yaml, name, None)) is not None:
            loader.add_constructor("!cora", _paths)


def _paths(loader: Any, node: yaml.Node) -> str | list[str]:
    try:
        if isinstance(node, yaml.SequenceNode):
            return [str(fragment(str(name))) for name in loader.construct_sequence(node)]
        if not isinstance(node, yaml.ScalarNode):
            raise KeyError("!cora: expected a name or a list of names, such as !cora [generate, divergent]")
        return str(fragment(str(loader.construct_scalar(node))))
    except KeyError as error:
        raise yaml.constructor.ConstructorError(None, None, error.args[0], node.start_mark) from None
