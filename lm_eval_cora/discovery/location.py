"""The folder of the task files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from lm_eval_cora.questions.messages import did_you_mean


def tasks_folder() -> Path:
    """Return the folder of the task files.

    The wheel installs it inside the package. In a checkout, and with an editable install, it is beside the package.
    The location does not depend on the harness. This function is also the entry point of the group `lm_eval.tasks`.

    Returns:
        The folder, as an absolute path.

    Raises:
        FileNotFoundError: If the folder is missing in both places.

    Example:
        >>> (tasks_folder() / "medqa" / "cora_medqa.yaml").is_file()
        True
    """
    package = Path(__file__).parents[1]
    places = (package / "tasks", package.parent / "tasks")
    for place in places:
        if (place / "_probes").is_dir():
            return place
    raise FileNotFoundError(
        f"cannot find the task files: expected them in {' or '.join(map(str, places))}. Install lm-eval-cora again"
    )


def with_tasks_folder(folders: Iterable[str | Path]) -> list[str | Path]:
    """Put our folder before the folders that the harness searches for task files.

    In the harness, later folders override earlier ones. A user's task therefore overrides our task of the same name.
    """
    # The harness warns about each task that it finds twice, so our folder is never given beside one that contains it.
    folder, given = tasks_folder(), list(folders)
    ours = folder.resolve()
    if any(ours.is_relative_to(Path(other).resolve()) for other in given):
        return given
    return [folder, *(other for other in given if not Path(other).resolve().is_relative_to(ours))]


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
