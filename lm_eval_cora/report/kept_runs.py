"""What the leaderboard keeps of a run in the user's cache, so that an unchanged run is not read again."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora import __version__
from lm_eval_cora.answers import Reader
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.report.boards import Standing
from lm_eval_cora.report.writing import temporary_file
from lm_eval_cora.runs.files import SamplesFile

VARIABLE = "LM_EVAL_CORA_CACHE"  # environment variable with the folder; nothing is kept if it is empty
_MOST_BYTES = 200_000_000  # of all files; those that were used longest ago are removed
_PACKAGE = Path(__file__).parents[1]


class KeptRun(NamedTuple):
    """The scores of a run, one for each filter, and the notes about its files."""

    notes: Sequence[str]
    entries: Sequence[Standing]


def folder() -> Path:
    """The folder of the kept runs; FileNotFoundError if nothing is kept."""
    own = os.environ.get(VARIABLE)
    if own == "":
        raise FileNotFoundError(VARIABLE)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    usual = Path(shared if os.path.isabs(shared) else os.path.expanduser("~/.cache"), "lm-eval-cora", "leaderboard")
    return usual if own is None else Path(own)


def _path(key: str) -> Path:
    return folder() / f"{key}.json"


def key_of(files: Sequence[SamplesFile], reader: Reader | None) -> str:
    """Digest of all that the scores of a run depend on; empty if a file cannot be read."""
    # The name of the model is not part of it: it depends on the other runs of the leaderboard.
    try:
        stamps = [(str(file.path), *_stamp(file.path), file.date, file.task) for file in files]
    except OSError:
        return ""
    results = [json.dumps(file.results, sort_keys=True, default=str) for file in files]
    return sha256(repr((stamps, results, reader, _code())).encode("utf-8", "backslashreplace")).hexdigest()


def _stamp(path: Path) -> tuple[str, int, int]:
    """Path, size and date of a file."""
    stat = path.stat()
    return os.path.realpath(path), stat.st_size, stat.st_mtime_ns


@cache
def _code() -> str:
    """The version of this package, and the dates of its files, because a checkout changes without a new version."""
    files = sorted(path for path in _PACKAGE.rglob("*") if path.suffix in (".py", ".yaml"))
    return repr((__version__, np.__version__, list(map(_stamp, files))))


def load(key: str) -> KeptRun | None:
    """Read a kept run; None if there is none, or if its file is not what `store` writes."""
    try:
        path = _path(key)
        kept = json.loads(path.read_bytes())
        found = KeptRun([*map(str, kept["notes"])], [_entry(entry) for entry in kept["entries"]])
        os.utime(path)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return found


def store(key: str, run: KeptRun) -> None:
    """Keep a run if the folder can be written. Several processes may do so at once."""
    kept = {"notes": run.notes, "entries": [vars(entry) for entry in run.entries]}
    with suppress(OSError):
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with temporary_file(path.parent) as (partial, file):
            file.write(json.dumps(kept, default=_encoded).encode())
            file.flush()
            partial.replace(path)


def remove_old() -> None:
    """Remove the runs that were used longest ago if all together are too large."""
    with suppress(OSError):
        files = [(path.stat(), path) for path in folder().iterdir() if path.suffix in (".json", ".partial")]
        left = _MOST_BYTES
        for stat, path in sorted(files, key=lambda each: -each[0].st_mtime):
            left -= stat.st_size
            if left < 0:
                path.unlink(missing_ok=True)


def _encoded(value: Any) -> Any:
    """Turn a value into what JSON has."""
    if isinstance(value, Estimate):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return str(value) if isinstance(value, Path) else value.tolist()  # of numpy


def _entry(kept: Mapping[str, Any]) -> Standing:
    scores = {name: _estimate(score) for name, score in kept["scores"].items()}
    more = {"data": Data(*kept["data"]), "source": Path(kept["source"]), "ranked_by": tuple(kept["ranked_by"])}
    return Standing(**{**kept, **more, "scores": scores})


def _estimate(kept: Mapping[str, Any]) -> Estimate:
    arrays = {name: np.array(kept[name]) for name in ("influence", "outcomes", "members") if kept[name] is not None}
    pairs = {name: tuple(kept[name]) for name in ("between", "ends") if kept[name] is not None}
    products = tuple((weight, np.array(one), np.array(other)) for weight, one, other in kept["products"])
    return Estimate(**{**kept, **arrays, **pairs, "products": products})
