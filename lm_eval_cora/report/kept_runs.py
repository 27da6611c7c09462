"""What the leaderboard keeps of each run in the user's cache, so that an unchanged run is not read again."""

import json
import os
import pickle
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from lm_eval_cora import __version__
from lm_eval_cora.answers import Reader
from lm_eval_cora.report.boards import Standing
from lm_eval_cora.report.writing import write_file
from lm_eval_cora.runs.files import SamplesFile

VARIABLE = "LM_EVAL_CORA_CACHE"  # environment variable with the folder; nothing is kept if it is not one, as /dev/null
_MOST_BYTES = 200_000_000  # of all files; those that were used longest ago are removed
_PACKAGE = Path(__file__).parents[1]
_UNUSABLE = (OSError, AttributeError)  # errors of the folder: Windows has no owners
Settings = tuple[Reader | None, str]  # the reader, and the metric that ranks the models
Kept = tuple[Sequence[str], Sequence[Standing]]  # the notes about the files of a run, and its scores by filter


def load(files: Sequence[SamplesFile], settings: Settings) -> Kept | None:
    """Return what is kept of a run; None if nothing is, or if it cannot be read."""
    with suppress(Exception):  # a damaged pickle raises any error
        path = _path(files, settings)
        kept: Kept = pickle.loads(path.read_bytes())  # in a folder that only this user can write to
        os.utime(path)
        return kept
    return None


def store(files: Sequence[SamplesFile], settings: Settings, kept: Kept) -> None:
    """Keep a run if the folder can be written."""
    with suppress(*_UNUSABLE):
        write_file(_path(files, settings), pickle.dumps(kept))


def remove_old() -> None:
    """Remove the runs that were used longest ago if all together are too large."""
    left = _MOST_BYTES
    with suppress(*_UNUSABLE):
        for path in sorted(_folder().iterdir(), key=lambda path: -path.stat().st_mtime):
            left -= path.stat().st_size
            if left < 0:
                path.unlink()


def _folder() -> Path:
    """The folder of the kept runs; an error if it cannot be made, or if others can write to it."""
    shared = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(os.environ.get(VARIABLE) or f"{shared}/lm-eval-cora").expanduser() / "leaderboard"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stat = folder.stat()
    if stat.st_uid != os.getuid() or stat.st_mode & 0o022:
        raise PermissionError(folder)
    return folder


def _path(files: Sequence[SamplesFile], settings: Settings) -> Path:
    """The file that keeps a run. Its name is a digest of all that the scores depend on, but for the model's name."""
    key = repr((settings, _code()))
    for file in files:
        stat = file.path.stat()
        key += repr((file.path, file.path.resolve(), stat.st_size, stat.st_mtime_ns, json.dumps(file.results)))
    return _folder() / sha256(key.encode(errors="backslashreplace")).hexdigest()


@cache
def _code() -> tuple[str, int]:
    """The version of this package, and the date of its newest file, because a checkout keeps its version."""
    return __version__, max(path.stat().st_mtime_ns for path in _PACKAGE.rglob("*.[py]*[!c]"))
