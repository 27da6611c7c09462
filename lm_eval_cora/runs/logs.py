"""Find the logs of other programs in a file or folder, by their content, and read them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.files import files_in, find_files
from lm_eval_cora.runs.helm import is_helm, read_helm
from lm_eval_cora.runs.inspect_logs import is_inspect, read_inspect
from lm_eval_cora.runs.log_rows import Logged
from lm_eval_cora.runs.other_tasks import read_other_task

_SUFFIXES = (".eval", ".json")


def _reader_of(path: Path) -> Callable[[Path], list[Logged]] | None:
    """The function that reads a log of another program than the harness; None for another file."""
    if path.suffix not in _SUFFIXES or not path.is_file():
        return None
    if is_inspect(path):
        return read_inspect
    return read_helm if is_helm(path) else None


def is_log(path: Path) -> bool:
    """Whether a file is a log of another program than the harness."""
    return _reader_of(path) is not None


def read_logs(path: Path) -> tuple[list[tuple[Path, Logged]], list[str]]:
    """Read the logs in a file or folder, one of the same questions to a model; and why others are left out."""
    files = files_in(path, lambda name: name.endswith(_SUFFIXES)) if path.is_dir() else [path]
    newest = sorted(files, key=lambda file: file.name, reverse=True)  # their names begin with the date
    logs = [(file, partial(read, file)) for file in newest if (read := _reader_of(file))]
    if not is_log(path):
        samples = sorted(find_files(path), key=lambda file: file.date, reverse=True)
        logs += [(file.path, partial(read_other_task, file)) for file in samples]
    found: dict[Any, tuple[Path, Logged]] = {}
    left_out: list[str] = []
    for file, read in logs:
        try:
            for log in read():
                asked = frozenset((row["question"], frozenset(row["printed"])) for row in log.rows)
                first, _ = found.setdefault((log.model, log.task, asked), (file, log))
                if first != file:
                    left_out.append(f"left out {file}: {first} has answers of the same model to the same questions")
        except UserError as error:  # noqa: PERF203
            left_out.append(str(error))
    return sorted(found.values(), key=lambda each: each[1][:2]), left_out
