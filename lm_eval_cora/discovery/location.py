"""Where the task files are, and where version 0.1.0 put them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


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

    When pip upgrades that version, it leaves the folders `lm_eval` and `lm_eval/tasks` behind. Empty as they are, they
    hide a harness that is installed from a clone. They are removed. A folder that contains files is only reported.

    Returns:
        The folders that the user must delete: a folder `lm_eval` without a harness in it, or the folder
        `lm_eval/tasks/cora` of a harness, whose task files would be found beside those of this version.
    """
    found = []
    for entry in dict.fromkeys(filter(None, sys.path)):
        harness = Path(entry) / "lm_eval"
        tasks = harness / "tasks"
        with suppress(OSError):  # we may not read or remove it
            if (tasks / "cora" / "_probes").is_dir():
                found.append((tasks / "cora" if (harness / "__init__.py").is_file() else harness).resolve())
            elif list(harness.iterdir()) == [tasks]:
                tasks.rmdir()  # fails if it contains anything
                harness.rmdir()
    return found
