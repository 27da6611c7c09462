"""The folder of the task files, and how the harness finds it. Plain `lm_eval` runs the patch with every task."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from functools import wraps
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from lm_eval_cora.log import hide_secrets, logger
from lm_eval_cora.questions.messages import did_you_mean

SWITCH = "LM_EVAL_CORA_AUTOLOAD"  # the environment variable that disables discovery if its value is "0"


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
    places = [folder / "tasks" for folder in Path(__file__).parents[1:3]]
    if found := next((place for place in places if (place / "_probes").is_dir()), None):
        return found
    expected = " or ".join(map(str, places))
    raise FileNotFoundError(f"cannot find the task files: expected them in {expected}. Install lm-eval-cora again")


def with_tasks_folder(folders: Iterable[str | Path]) -> list[str | Path]:
    """Put our folder before the folders that the harness searches for task files."""
    # In the harness, later folders override earlier ones. A user's task therefore overrides our task of the same name.
    # The harness warns about each task that it finds twice, so our folder is never given beside one that contains it.
    folder, given = tasks_folder(), list(folders)
    ours = folder.resolve()
    if any(ours.is_relative_to(Path(other).resolve()) for other in given):
        return given
    return [folder, *(other for other in given if not Path(other).resolve().is_relative_to(ours))]


# ---- the tag !cora
def register_tag() -> None:
    """Register the tag with PyYAML's loaders, so that the harness reads `include: !cora [generate, divergent]`."""
    # The harness derives its loader from one of these loaders. It resolves an included path relative to the file that
    # includes it, so the tag is replaced by absolute paths, which work everywhere.
    for name in {"SafeLoader", "FullLoader", "CSafeLoader"} & {*dir(yaml)}:  # CSafeLoader needs PyYAML's C library
        getattr(yaml, name).add_constructor("!cora", _paths)


def _paths(loader: Any, node: yaml.Node) -> str | list[str]:
    is_list = isinstance(node, yaml.SequenceNode)
    names = list(map(str, loader.construct_sequence(node) if is_list else [loader.construct_scalar(node)]))
    folders = ("_forms", "_benchmarks", "_probes")
    known = {path.stem: str(path) for folder in folders for path in sorted((tasks_folder() / folder).glob("*.yaml"))}
    for name in (name for name in names if name not in known):
        meant = did_you_mean(name, known) or f" The fragments are: {', '.join(known)}"
        problem = f"!cora: unknown fragment {name!r}.{meant}"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
    return [known[name] for name in names] if is_list else known[names[0]]


# ---- the import hook: it stands here and not in `harness/`, because it must not import the harness
_state = threading.local()


def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Find the harness' module of `TaskManager` as the import system does, and patch it when it is executed."""
    # In an editable install the start-up module is a copy, which may be older than this one.
    is_off = os.environ.get(SWITCH) == "0" or getattr(_state, "searching", False)
    if is_off or name != "lm_eval.tasks.manager":
        return None
    _state.searching = True  # our own finder returns None during this search
    try:
        finders = (find for finder in sys.meta_path if (find := getattr(finder, "find_spec", None)))
        spec: ModuleSpec | None = next(filter(None, (find(name, path, target) for find in finders)), None)
        if spec is not None and spec.loader is not None:
            _patch_after(spec.loader)
        return spec
    except Exception as error:
        _warn(error)
        return None
    finally:
        _state.searching = False


def _patch_after(loader: Any) -> None:
    """Let a loader patch the module after it has executed it."""
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module  # the module looks as if it had been loaded without us
        execute(module)
        try:
            _search_our_folder(module)
            register_tag()
        except Exception as error:
            _warn(error)

    loader.exec_module = exec_module


def _search_our_folder(manager: ModuleType) -> None:
    """Replace the `TaskIndex` through which every `TaskManager` searches its folders."""
    # `TaskManager.__init__` of 0.4 and 0.5.0.dev1 has no list of folders that a package could extend, but calls `build`
    # with the complete list. Our folder is inserted after the harness' own folder and before the user's, unless the
    # list contains it, because the user named it or the harness reads the entry points of the group `lm_eval.tasks`.
    index = manager.TaskIndex

    @wraps(index.build)
    def build(paths: Iterable[Path], *arguments: Any, **options: Any) -> Any:
        folders = list(paths)
        try:
            defaults = folders[:1] if folders[:1] == [Path(str(manager.__file__)).parent] else []
            folders = defaults + [Path(folder) for folder in with_tasks_folder(folders[len(defaults) :])]
            logging.getLogger("lm_eval.evaluator").addFilter(hide_secrets)
        except Exception as error:
            _warn(error)
        return index.build(folders, *arguments, **options)

    manager.TaskIndex = type(index.__name__, (index,), {"build": staticmethod(build)})  # type: ignore[attr-defined]


def _warn(error: Exception) -> None:
    problem = f"{type(error).__name__}: {error}"
    logger.warning(
        f'lm-eval-cora: cannot add its tasks ({problem}). Pass --include_path "$(lm-eval-cora tasks --path)"'
    )
