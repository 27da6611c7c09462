"""Make `TaskManager` search our folder. Nothing here may raise: plain `lm_eval` runs it for every task."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import wraps
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from lm_eval_cora.discovery.location import remove_leftovers, with_tasks_folder

MANAGER = "lm_eval.tasks.manager"
"""The module that defines `TaskManager`."""

SWITCH = "LM_EVAL_CORA_AUTOLOAD"
"""The environment variable that turns discovery off if it is "0"."""


class _State(threading.local):
    searching = False


_state = _State()


def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Prepare the import of a module of the harness.

    Args:
        name: Name of the module.
        path: Where the import system searches for it.
        target: Module to be reloaded, if any.

    Returns:
        For the module of `TaskManager`, the spec that the other finders return, with a loader that patches the module
        after loading it. Otherwise None, which leaves the import to the other finders.
    """
    if _state.searching or os.environ.get(SWITCH) == "0":
        return None
    if name != MANAGER:
        with suppress(Exception):
            remove_leftovers()
        return None
    _state.searching = True
    try:
        return _patching(_spec_of_others(name, path, target))
    except Exception as error:
        _warn(error)
        return None
    finally:
        _state.searching = False


def _spec_of_others(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Ask all finders, as the import system would. While this runs, our own returns None."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find and find(name, path, target)
        if spec is not None:
            return spec
    return None


def _patching(spec: ModuleSpec | None) -> ModuleSpec | None:
    if spec is not None and spec.loader is not None:
        spec.loader = _Loader(spec.loader)  # type: ignore[assignment]  # it delegates the rest of the interface
    return spec


class _Loader:
    """Loader that patches the module after the original loader has executed it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, and leave no trace of this loader on it."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        try:
            _search_our_folder(module)
            from lm_eval_cora.discovery.fragments import register_tag  # imports yaml, as the harness has by now

            register_tag()
        except Exception as error:
            _warn(error)


def _search_our_folder(manager: ModuleType) -> None:
    """Replace the `TaskIndex` through which every `TaskManager` searches its folders.

    `TaskManager.__init__` of 0.4.12 and 0.4.13 calls `TaskIndex.build` and has no list of folders that a package could
    extend.

    When it is called, the list of folders is complete. If ours is already among them, because the user named it or
    because the harness reads the entry points of the group `lm_eval.tasks`, nothing changes. Otherwise it comes after
    the harness' own folder and before those of the user, which may override its tasks.
    """
    index = manager.TaskIndex

    @wraps(index.build)
    def build(paths: Iterable[Path], *arguments: Any, **options: Any) -> Any:
        folders = list(paths)
        try:
            defaults = folders[:1] if folders[:1] == [Path(str(manager.__file__)).parent] else []
            folders = defaults + [Path(folder) for folder in with_tasks_folder(folders[len(defaults) :])]
        except Exception as error:
            _warn(error)
        return index.build(folders, *arguments, **options)

    manager.TaskIndex = type(index.__name__, (index,), {"build": staticmethod(build)})  # type: ignore[attr-defined]


def _warn(error: Exception) -> None:
    # Below the harness' logger, so that its handler prints the line.
    logging.getLogger("lm_eval.cora").warning(
        'lm-eval-cora: cannot add its tasks (%s: %s). Pass --include_path "$(lm-eval-cora tasks --path)"',
        type(error).__name__,
        error,
    )
