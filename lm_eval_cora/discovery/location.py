"""The folder of the task files, and the cleanup of the folders that version 0.1.0 left."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

STARTUP = "lm_eval_cora_startup.pth"
"""The file that imports the start-up module. It is in every folder in which the package is installed."""


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

    Args:
        folders: The user's folders.

    Returns:
        Our folder, followed by the user's folders. The user's folders are returned unchanged if one of them is our
        folder or contains it, because the harness warns about each task that it finds twice. Folders inside ours are
        left out for the same reason.

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
    """Remove the empty folders that version 0.1.0 left in site-packages.

    Version 0.1.0 installed its task files as `lm_eval/tasks/cora`. When pip upgrades it, the empty folders `lm_eval`
    and `lm_eval/tasks` remain, and they hide a harness that is installed from a clone. This function removes such
    folders in each place in which this package is installed. It never removes a file.

    Returns:
        The folders that the user must delete: task files of version 0.1.0, and empty folders that could not be removed.
    """
    found = []
    for entry in sys.path:
        if not isinstance(entry, str) or not entry:  # the import system ignores other types
            continue
        harness = Path(entry) / "lm_eval"
        files = harness / "tasks" / "cora"
        with suppress(OSError):  # for example, no permission to read the folder
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
    """Remove a folder and its subfolders. Stop at the first folder that cannot be removed."""
    inner_first = sorted(folder.rglob("*"), reverse=True)
    with suppress(OSError):
        for path in (*inner_first, folder):
            path.rmdir()
