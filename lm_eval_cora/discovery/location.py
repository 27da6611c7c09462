"""Where the task files are, and where version 0.1.0 put them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

STARTUP = "lm_eval_cora_startup.pth"
"""The file that imports the start-up module. It is in each folder where the package is installed."""


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
        f"cannot find the task files: looked in {' and '.join(map(str, places))}. Install lm-eval-cora again"
    )


def with_tasks_folder(folders: Iterable[str | Path]) -> list[str | Path]:
    """Put our folder before the folders that the harness searches for task files.

    The harness lets later folders override earlier ones, so a task of the user's wins over ours of the same name.

    Args:
        folders: The user's folders, in any number.

    Returns:
        The same folders with ours in front. They stay as they are if one of them is our folder or contains it, because
        the harness warns about each task that it finds twice. Folders inside ours are left out for the same reason.

    Raises:
        FileNotFoundError: If our folder is missing.

    Example:
        >>> with_tasks_folder(["mine"]) == [tasks_folder(), "mine"]
        True
        >>> with_tasks_folder([tasks_folder()]) == [tasks_folder()]
        True
    """
    folder, given = tasks_folder(), list(folders)
    ours = folder.resolve()
    if any(ours.is_relative_to(Path(other).resolve()) for other in given):
        return given
    return [folder, *(other for other in given if not Path(other).resolve().is_relative_to(ours))]


def remove_leftovers() -> list[Path]:
    """Clean up after version 0.1.0, which installed its task files as `lm_eval/tasks/cora` into site-packages.

    When pip upgrades that version, it leaves the folders `lm_eval` and `lm_eval/tasks` behind. Although empty, they
    hide a harness that is installed from a clone. This function removes them where this package is installed. It
    never removes a file.

    Returns:
        The folders that the user must delete: task files of version 0.1.0, and empty folders that could not be removed.
    """
    found = []
    for entry in sys.path:
        if not isinstance(entry, str) or not entry:  # the import system ignores what is not a string
            continue
        harness = Path(entry) / "lm_eval"
        files = harness / "tasks" / "cora"
        with suppress(OSError):  # a folder that we may not read
            if (files / "_probes").is_dir():
                found.append(files)
            elif (Path(entry) / STARTUP).is_file() and _contains_only_folders(harness):
                _remove(harness)
                if harness.is_dir():
                    found.append(harness)
    return list(dict.fromkeys(found))


def _contains_only_folders(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink() and all(path.is_dir() for path in folder.rglob("*"))


def _remove(folder: Path) -> None:
    """Remove a folder and the folders in it, as far as they are empty and we may."""
    inner_first = sorted(folder.rglob("*"), reverse=True)
    with suppress(OSError):
        for path in (*inner_first, folder):
            path.rmdir()
