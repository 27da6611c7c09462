"""The answers of a run on disk, so that a run that died can go on where it ended."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from hashlib import blake2b
from math import isnan
from operator import setitem
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from filelock import FileLock, Timeout
from lm_eval.api.instance import Instance
from lm_eval.api.model import CacheHook, CachingLM, hash_args
from sqlitedict import SqliteDict

from lm_eval_cora.harness.forwarding import ask
from lm_eval_cora.harness.limits import is_sampled
from lm_eval_cora.harness.log import logger
from lm_eval_cora.harness.payloads import is_served, is_vllm, listed_model, replicas_of_vllm
from lm_eval_cora.harness.served import NoAnswer
from lm_eval_cora.options import OptionError

_TRANSPORT = {"num_concurrent", "max_retries", "timeout", "verify_certificate", "ca_cert_path", "auth_token", "header"}
"""Model arguments that change how requests travel, and no answer."""

_WEIGHTS = {"pretrained", "peft", "delta", "lora_local_path", "gguf_file"}
"""Model arguments that may name files with weights."""

_AT_A_TIME = 2048
"""In requests. Back ends that return nothing before they have answered everything are asked for so many at a time."""

_MOMENT = 0.1
"""Seconds between two writes to the disk: each takes longer than many answers do."""


def is_answer(response: Any) -> bool:
    """Whether a response is worth keeping: some text, or a likelihood that is a number.

    Example:
        >>> is_answer("B"), is_answer(""), is_answer(NoAnswer()), is_answer(None), is_answer((float("nan"), False))
        (True, True, False, False, False)
    """
    if isinstance(response, str):
        return not isinstance(response, NoAnswer)
    likelihood = response[0] if isinstance(response, Sequence) and response else None
    return isinstance(likelihood, int | float) and not isnan(likelihood)


class _Hook(CacheHook):  # type: ignore[misc]  # the harness ships no types
    """Stores each answer as soon as the back end has it."""

    def __init__(self, cache: AnswerCache) -> None:
        super().__init__(cache)
        self._cache = cache

    def add_partial(self, attr: str, req: Sequence[Any], res: Any) -> None:
        self._cache.store(key_of(attr, req), res)


class AnswerCache(CachingLM):  # type: ignore[misc]  # the harness ships no types
    """The harness' cache, in its own format, without what must be asked again: samples and missing answers.

    Attributes:
        found: Number of answers that were read from the file.
        stored: Number of answers that this run added.
        when_found: Is told how many requests of a call were answered before.
    """

    def __init__(self, lm: Any, path: str) -> None:
        """Open the file, and have the model store each answer in it.

        Args:
            lm: The model.
            path: The file. No other process may use it.

        Raises:
            OptionError: If it cannot be opened, or another run uses it.
        """
        check_cache(path)
        self._lock = FileLock(f"{path}.lock")
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise OptionError(f"{path}: another run keeps its answers there") from None
        except (OSError, NotImplementedError) as error:  # a file system without locks
            raise OptionError(f"{path} cannot keep the answers: {error}") from None
        # Not the base class', which commits after each answer: that takes longer than many answers do.
        self.lm, self.cache_db = lm, path
        self.dbdict = SqliteDict(path, outer_stack=False)  # noting the stack takes longer than writing an answer
        self._keys = set(self.dbdict.keys())
        self._committed = time.monotonic()
        self._is_broken = False
        self.found = self.stored = 0
        self.when_found: Callable[[int], None] = lambda count: None
        lm.set_cache_hook(self.get_cache_hook())

    @property
    def kept(self) -> int:
        """Number of answers in the file, once all are written."""
        self._write(self.dbdict.commit)
        return len(self._keys)

    def close(self) -> None:
        """Write what is left, and let other runs use the file."""
        self._write(self.dbdict.commit)
        self._write(self.dbdict.close)
        self._lock.release()

    def get_cache_hook(self) -> CacheHook:
        """What the model calls with each answer."""
        return _Hook(self)

    def store(self, key: str | None, response: Any) -> None:
        """Keep an answer, unless it has no key. It is on disk at the latest with the next one a moment later."""
        if key is None or key in self._keys or not is_answer(response):
            return
        if not self._write(partial(setitem, self.dbdict, key, response)):
            return
        self._keys.add(key)
        self.stored += 1
        if time.monotonic() - self._committed > _MOMENT:
            self._write(partial(self.dbdict.commit, blocking=False))
            self._committed = time.monotonic()

    def _write(self, write: Callable[[], object]) -> bool:
        """Write to the file; whether it could be done. A full disk must not end a run."""
        if self._is_broken:
            return False
        try:
            write()
        except (sqlite3.Error, OSError) as error:
            self._is_broken = True
            logger.warning("%s: no more answers are kept: %s. The run goes on", self.cache_db, error)
        return not self._is_broken

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Have answers written that are not in the file."""
        return self._answers("generate_until", requests, disable_tqdm)

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Have answers scored that are not in the file."""
        return self._answers("loglikelihood", requests, disable_tqdm)

    def _answers(self, method: str, requests: Sequence[Instance], disable_tqdm: bool) -> list[Any]:
        keys = [key_of(method, request.args) for request in requests]
        responses = [self.dbdict[key] if key in self._keys else None for key in keys]
        missing = [place for place, response in enumerate(responses) if response is None]
        self.found += len(requests) - len(missing)
        self.when_found(len(requests) - len(missing))
        for part in self._parts(missing):
            received = ask(self.lm, method, [requests[place] for place in part], disable_tqdm=disable_tqdm)
            for place, response in zip(part, received, strict=True):
                responses[place] = response
                self.store(keys[place], response)
            self._write(self.dbdict.commit)
        return responses

    def _parts(self, places: list[int]) -> list[list[int]]:
        """The places of requests that are asked together; none if there are none."""
        late = (is_vllm(self.lm) or type(self.lm).__name__ == "SGLangLM") and replicas_of_vllm(self.lm) == 1
        size = _AT_A_TIME if late else max(1, len(places))
        return [places[start : start + size] for start in range(0, len(places), size)]


def key_of(method: str, arguments: Sequence[Any]) -> str | None:
    """The key under which the harness' cache has the answer to a request.

    Args:
        method: `generate_until` or `loglikelihood`.
        arguments: Those of the request.

    Returns:
        The key; None if chance is in the answer, or the request holds something that is not JSON.
    """
    if method == "generate_until" and is_sampled(arguments[1]):
        return None
    try:
        key: str = hash_args(method, arguments)
    except TypeError:
        return None
    return key


# ---- the file


def default_cache(output_path: str, model: str, arguments: Mapping[str, Any], weights: object) -> str:
    """Name the file, without its end, in which a run keeps its answers.

    Another model has another file: the answers are found by the prompt alone.

    Args:
        output_path: The run's.
        model: Name of the back end.
        arguments: Arguments of the model. Of those that name a file or folder of weights the dates and sizes count,
            too: there may be other weights in it tomorrow.
        weights: What else tells the weights from others.
    """
    told = {
        name: (str(value), _stamps(value) if name in _WEIGHTS else [])
        for name, value in arguments.items()
        if name not in _TRANSPORT
    }
    about = repr((model, sorted(told.items()), weights))
    return str(output_folder(output_path) / f"answers_{blake2b(about.encode(), digest_size=6).hexdigest()}")


def weights_of(model: Any) -> object:
    """What tells the weights of a model from others, beside its name: their commit, or what its server says of it."""
    if is_served(model):
        return listed_model(model)
    configs = (getattr(model, name, None) for name in ("config", "_config"))
    return [commit for config in configs if (commit := getattr(config, "_commit_hash", None))]


def cache_file(cache: str, rank: int = 0) -> str:
    """The file that the harness makes of the name of a cache, for each rank another one."""
    return f"{cache}_rank{rank or int(os.environ.get('LOCAL_RANK', '0'))}.db"


def output_folder(output_path: str) -> Path:
    """The folder that the harness writes to; --output_path may name a file in it, too."""
    path = Path(output_path)
    return path.parent if path.suffix == ".json" else path


def check_output(output_path: str) -> None:
    """See that results can be written.

    Raises:
        OptionError: If they cannot.
    """
    folder = output_folder(output_path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OptionError(
            f"--output_path {output_path}: {folder} cannot be written to: {error.strerror}. Name a folder that you "
            "may write to"
        ) from None


def check_cache(path: str) -> None:
    """See that a file can keep answers.

    Args:
        path: The file.

    Raises:
        OptionError: If it cannot be opened, holds something else, or is locked.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("CREATE TABLE IF NOT EXISTS unnamed (key TEXT PRIMARY KEY, value BLOB)")
            database.execute("SELECT key, value FROM unnamed LIMIT 1")
            database.execute("COMMIT")
    except (OSError, sqlite3.Error) as error:
        raise OptionError(f"{path} cannot keep the answers: {error}") from None


def _stamps(value: Any) -> list[tuple[str, int, int]]:
    """Names, sizes and dates of the files that a path stands for, without those of kept answers."""
    try:
        path = Path(value)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return [
            (file.name, file.stat().st_size, file.stat().st_mtime_ns)
            for file in files
            if file.is_file() and not file.name.startswith("answers_")
        ]
    except (TypeError, ValueError, OSError):
        return []
