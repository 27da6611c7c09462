"""Find the logs of other programs in a file or folder, by their content, and read them."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.files import files_in, find_files
from lm_eval_cora.runs.foreign import Logged
from lm_eval_cora.runs.helm import is_helm, read_helm
from lm_eval_cora.runs.inspect_logs import is_inspect, read_inspect
from lm_eval_cora.runs.other_tasks import read_other_task

_KINDS: tuple[tuple[Callable[[Path], bool], Callable[[Path], list[Logged]]], ...] = (
    (is_inspect, read_inspect),
    (is_helm, read_helm),
)
_SUFFIXES = (".eval", ".json")


def is_log(path: Path) -> bool:
    """Whether a file is a log of another program than the harness."""
    return path.suffix in _SUFFIXES and path.is_file() and any(is_kind(path) for is_kind, _ in _KINDS)


def read_logs(path: Path) -> tuple[list[tuple[Path, Logged]], list[str]]:
    """Read the newest log of each model and task in a file or folder; and the reasons why others are left out."""
    found: dict[tuple[str, str], tuple[Path, Logged]] = {}
    left_out: list[str] = []
    for file, read in _readers(path):
        try:
            logs = read()
        except UserError as error:
            left_out.append(str(error))
            continue
        for log in logs:
            key = log.model, log.task
            if key in found:
                left_out.append(f"left out {file}, older than {found[key][0]}")
            elif log.rows:
                found[key] = file, log
    return [found[key] for key in sorted(found)], left_out


def _readers(path: Path) -> Iterator[tuple[Path, Callable[[], list[Logged]]]]:
    """The files that may be logs, the newest first, each with the function that reads it."""
    files = files_in(path, lambda name: name.endswith(_SUFFIXES)) if path.is_dir() else [path]
    for file in sorted(files, key=lambda file: file.name, reverse=True):
        if is_log(file):
            yield file, partial(next(read for is_kind, read in _KINDS if is_kind(file)), file)
    for samples in [] if is_log(path) else sorted(find_files(path), key=lambda file: file.date, reverse=True):
        yield samples.path, partial(read_other_task, samples)
