"""The YAML tag `!cora`: names fragments of this package in task files that are in any other folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.suggestions import did_you_mean

_FOLDERS = ("_forms", "_benchmarks", "_probes")


def fragment(name: str) -> Path:
    """Find a fragment of this package.

    Args:
        name: Its file name without the suffix: of a form, a benchmark or a probe.

    Returns:
        Its path.

    Raises:
        KeyError: If there is none.

    Example:
        >>> fragment("generate").relative_to(tasks_folder()).as_posix()
        '_forms/generate.yaml'
        >>> fragment("divergant")
        Traceback (most recent call last):
        ...
        KeyError: "!cora: there is no fragment 'divergant'. Did you mean 'divergent'?"
    """
    paths = {path.stem: path for folder in _FOLDERS for path in sorted((tasks_folder() / folder).glob("*.yaml"))}
    if name not in paths:
        meant = did_you_mean(name, paths) or f" There are {', '.join(paths)}"
        raise KeyError(f"!cora: there is no fragment {name!r}.{meant}")
    return paths[name]


def register_tag() -> None:
    """Teach PyYAML's loaders the tag, so that the harness reads `include: !cora [generate, divergent]`.

    The harness derives its loader from one of these three and resolves an include against the folder of the file that
    has it. An absolute path works everywhere, so the tag stands for the paths of the fragments.
    """
    for name in ("SafeLoader", "FullLoader", "CSafeLoader"):  # the last one only with the C library
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
