"""Make `TaskManager` search our folder. This code must not raise: plain `lm_eval` runs it with every task."""

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

from lm_eval_cora.discovery.location import with_tasks_folder

MANAGER = "lm_eval.tasks.manager"
"""The module that defines `TaskManager`."""

SWITCH = "LM_EVAL_CORA_AUTOLOAD"
"""The environment variable that disables discovery if its value is "0"."""


class _State(threading.local):
    searching = False


_state = _State()


def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Prepare the import of a module of the harness."""
    if name != MANAGER or _state.searching or os.environ.get(SWITCH) == "0":
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
    """Query all finders as the import system does. Our own finder returns None during this search."""
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
        if name == "_loader":  # while the object is copied, before the attribute exists
            raise AttributeError(name)
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with its original loader, and patch it. The module does not refer to this loader."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        try:
            _search_our_folder(module)
            from lm_eval_cora.discovery.location import register_tag  # imports yaml, which the harness also imports

            register_tag()
        except Exception as error:
            _warn(error)


def _search_our_folder(manager: ModuleType) -> None:
    """Replace the `TaskIndex` through which every `TaskManager` searches its folders.

    `TaskManager.__init__` of 0.4.12 and 0.4.13 calls `TaskIndex.build` and has no list of folders that a package could
    extend.

    The list of folders is complete when `build` is called. The list stays unchanged if it contains our folder, because
    the user named it or the harness reads the entry points of the group `lm_eval.tasks`. Otherwise our folder is
    inserted after the harness' own folder and before the user's folders, whose tasks may override ours.
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
    # A child of the harness' logger, so that the harness' handler prints the line.
    logging.getLogger("lm_eval.cora").warning(
        'lm-eval-cora: cannot add its tasks (%s: %s). Pass --include_path "$(lm-eval-cora tasks --path)"',
        type(error).__name__,
        error,
    )
