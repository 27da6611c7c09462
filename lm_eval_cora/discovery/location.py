"""The folder of the task files."""

from __future__ import annotations

from collections.abc import Iterable
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
