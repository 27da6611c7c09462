"""Answers that are kept: in memory, for repeated requests; on disk, so that an interrupted run can resume."""

import os
import pickle
import re
import sqlite3
import time
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partialmethod
from hashlib import blake2b
from io import BytesIO
from math import isnan
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from filelock import FileLock, Timeout
from lm_eval.api.instance import Instance
from lm_eval.api.model import CacheHook, CachingLM, hash_args

from lm_eval_cora.answers.records import Response
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.back_ends import is_served, listed_model, makes_batches, replicas_of_vllm
from lm_eval_cora.harness.compat import AnswerHook, ask
from lm_eval_cora.harness.limits import is_sampled
from lm_eval_cora.harness.rounds import task_of
from lm_eval_cora.harness.served import NoAnswer, warn_once
from lm_eval_cora.log import logger
from lm_eval_cora.variants.variant import REPEAT

# Model arguments about the transport of requests, which do not change answers.
_TRANSPORT = {"num_concurrent", "max_retries", "timeout", "verify_certificate", "ca_cert_path", "auth_token", "header"}
# Model arguments that may name files or folders with weights.
_WEIGHTS = {"pretrained", "peft", "delta", "lora_local_path", "gguf_file"}
_ANOTHER = "Use another file, --use_cache FILE, or keep no answers: --no_cache"
_FILES = 9  # largest number of files that are tried
_AT_A_TIME = 2048
_MOMENT = 0.1  # minimum time in seconds between two commits, because a commit can take longer than an answer


def is_answer(response: Any) -> bool:
    """Whether to store a response: a text that the server sent, or a likelihood that is a number."""
    if isinstance(response, str):
        return not isinstance(response, NoAnswer)
    likelihood = response[0] if isinstance(response, Sequence) and response else None
    return isinstance(likelihood, int | float) and not isnan(likelihood)


class _Unpickler(pickle.Unpickler):
    """Finds no classes, with which a pickle can run code. The answer of a server becomes an object of a new class."""

    def find_class(self, module: str, name: str) -> type:
        if (module, name) == (Response.__module__, "Response"):
            return type(name, (Response,), {"__slots__": ()})  # a pickle could change the class itself
        raise pickle.UnpicklingError


def _read(row: bytes, method: str) -> Any:
    """Read a stored answer, a text or numbers; raise an error if it is damaged, or anything else."""
    answer = _Unpickler(BytesIO(row)).load()
    known = {name: getattr(answer, name) for name in Response.__slots__ if hasattr(answer, name)}
    answer = Response(str(answer), **known) if known else answer
    is_plain = all(isinstance(part, str | float | int | None) for part in known.values() or answer)
    if not (is_plain and is_answer(answer) and isinstance(answer, str) == (method == "generate_until")):
        raise ValueError
    return answer


class Unusable(UserError):
    """A file of answers is damaged, or another run is using it."""


class AnswerCache(CachingLM):  # type: ignore[misc]  # the harness ships no types
    """Variant of the harness' cache, in the same file format, that does not store samples and missing answers."""

    def __init__(self, lm: Any, path: str) -> None:
        check_cache(path)
        self._lock = FileLock(f"{path}.lock")
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise Unusable(f"{path}: another run is using this file. {_ANOTHER}") from None
        except (OSError, NotImplementedError) as error:  # a file system without locks
            raise UserError(f"{path}: cannot lock the file for the answers: {error}. {_ANOTHER}") from None
        # Do not call the base class: its thread writes each answer, and waits for ever after an error such as a full
        # disk.
        self.lm, self.cache_db = lm, path
        self._file = sqlite3.connect(path, check_same_thread=False)
        self._file.execute("PRAGMA synchronous=OFF")  # as the harness: waiting for the disk can take long
        self._keys = self._stored_keys()
        self._committed = time.monotonic()
        self._is_broken = False
        # It gets the number of requests of a call whose answers are in the file.
        self.when_found: Callable[[int], None] = lambda count: None
        lm.set_cache_hook(self.get_cache_hook())

    @property
    def kept(self) -> int:
        """Write all answers, and return how many the file contains."""
        self._write(self._file.commit)
        return len(self._keys)

    def close(self) -> None:
        """Write the remaining answers, and let other runs use the file."""
        self._write(self._file.commit)
        with suppress(sqlite3.Error):
            self._file.close()
        self._lock.release()

    def adopt(self, cache: str) -> None:
        """Copy the answers that shards of the run have kept, so that one run without `--shard` sums them up."""
        with suppress(sqlite3.Error):  # a shard is still writing; its answers are asked again
            for path in sorted(Path(cache).parent.glob(f"{Path(cache).name}_shard*.db")):
                self._file.execute("ATTACH ? AS shard", (str(path),))
                self._file.execute("INSERT OR IGNORE INTO main.unnamed SELECT key, value FROM shard.unnamed")
                self._file.commit()
                self._file.execute("DETACH shard")
        self._keys = self._stored_keys()

    def get_cache_hook(self) -> CacheHook:
        """The hook that the model calls with each answer."""
        return AnswerHook(lambda method, arguments, response: self.store(key_of(method, arguments), response))

    def store(self, key: str | None, response: Any) -> None:
        """Store an answer that has a key and is not in the file. Commit at most every `_MOMENT` seconds."""
        if key is None or key in self._keys or not is_answer(response):
            return
        if not isinstance(response, str):  # some back ends return the numbers of other libraries
            response = (float(response[0]), *map(bool, response[1:]))
        row = key, pickle.dumps(response, pickle.HIGHEST_PROTOCOL)
        if self._write(lambda: self._file.execute("REPLACE INTO unnamed VALUES (?, ?)", row)):
            self._keys.add(key)
        if time.monotonic() - self._committed > _MOMENT:
            self._write(self._file.commit)
            self._committed = time.monotonic()

    def _write(self, write: Callable[[], object]) -> bool:
        """Write to the file, and return whether that worked. A full disk must not end a run."""
        if self._is_broken:
            return False
        try:
            write()
        except (sqlite3.Error, OSError) as error:
            self._is_broken = True
            with suppress(sqlite3.Error):
                self._file.rollback()
                self._keys = self._stored_keys()
            logger.warning("%s: no more answers are kept: %s. The run continues", self.cache_db, error)
        return not self._is_broken

    def _stored_keys(self) -> set[str]:
        return {key for (key,) in self._file.execute("SELECT key FROM unnamed")}

    def _stored(self, key: str | None, method: str) -> Any:
        """The answer to a request in the file; None if it has none, or none that can be read."""
        if key not in self._keys:
            return None
        with suppress(Exception):  # a damaged file; damaged pickles raise any error
            row = self._file.execute("SELECT value FROM unnamed WHERE key = ?", (key,)).fetchone()
            return _read(row[0], method)
        self._keys.discard(key)
        warn_once(self, "%s: damaged answers, and what is not a text or a likelihood, are asked again", self.cache_db)
        return None

    def _answers(self, method: str, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Return answers, from the file or else from the model."""
        keys = [key_for(method, request) for request in requests]
        responses = [self._stored(key, method) for key in keys]
        missing = [place for place, response in enumerate(responses) if response is None]
        self.when_found(len(requests) - len(missing))
        # Some back ends return no answer before they have all of them.
        late = makes_batches(self.lm) and replicas_of_vllm(self.lm) == 1
        late |= any(map(repeat_number, requests))  # the hook stores the answer to the original under its key
        size = _AT_A_TIME if late else max(1, len(missing))
        for start in range(0, len(missing), size):
            part = missing[start : start + size]
            received = ask(self.lm, method, [requests[place] for place in part], disable_tqdm=disable_tqdm)
            for place, response in zip(part, received, strict=True):
                responses[place] = response
                self.store(keys[place], response)
            self._write(self._file.commit)
        return responses

    generate_until = partialmethod(_answers, "generate_until")
    loglikelihood = partialmethod(_answers, "loglikelihood")
    loglikelihood_rolling = property(lambda self: self.lm.loglikelihood_rolling)  # not kept


def open_cache(lm: Any, cache: str, number: int = 1) -> AnswerCache:
    """Open the file of a cache; that of the next one if it is damaged, or another run is using it."""
    try:
        return AnswerCache(lm, cache_file(cache, lm.rank))
    except Unusable as error:
        if number == _FILES:
            raise
        other = f"{cache.removesuffix(f'_{number}')}_{number + 1}"
        logger.warning("%s. This run uses %s", str(error).removesuffix(f". {_ANOTHER}"), cache_file(other, lm.rank))
    return open_cache(lm, other, number + 1)


def key_of(method: str, arguments: Sequence[Any]) -> str | None:
    """The key of a request in the harness' cache."""
    if method == "generate_until" and is_sampled(arguments[1]):
        return None
    with suppress(TypeError):
        key: str = hash_args(method, arguments)
        return key
    return None


def repeat_number(request: Instance) -> int:
    """The number of a repeat, from 1, which asks an original again and may get another answer; 0 for others."""
    doc = request.doc
    is_repeat = isinstance(doc, dict) and doc.get("kind") == REPEAT and {"ordinal", "variants"} <= doc.keys()
    return doc["ordinal"] - doc["variants"] + 1 if is_repeat else 0


def key_for(method: str, request: Instance) -> str | None:
    """The key of a request; repeats have keys of their own."""
    key = key_of(method, request.args)
    number = repeat_number(request) if key else 0
    return f"{key} {request.task_name} {request.doc['question_id']} {number}" if number else key


class RepeatedRequests:
    """Remembers the answers of a run, so that identical requests to lm-eval-cora tasks are sent once."""

    def __init__(self) -> None:
        self._known: dict[str | int, Any] = {}

    def answer(
        self,
        method: str,
        requests: Sequence[Instance],
        send: Callable[..., list[Any]],
        when_known: Callable[[int], None],
        level: int,
    ) -> list[Any]:
        """Send requests, except repeated ones: they get the answer of the first."""
        # Samples and requests of other tasks are all sent, even repeated ones: their key is their place.
        ours = [None if task_of(request) is None else key_for(method, request) for request in requests]
        keys = [place if key is None else key for place, key in enumerate(ours)]
        # Each repeat of an original is in another call: back ends may merge equal requests of one call.
        calls: dict[int, dict[str | int, Instance]] = {}
        for key, request in zip(keys, requests, strict=True):
            if key not in self._known:
                calls.setdefault(repeat_number(request), {}).setdefault(key, request)
        if repeats := len(requests) - sum(map(len, calls.values())):
            logger.log(level, "%d of %d requests repeat others and are not sent again", repeats, len(requests))
            when_known(repeats)
        answers = ChainMap[str | int, Any]({}, self._known)
        for _, asked in sorted(calls.items()):
            answers.update(zip(asked, send(requests=[*asked.values()]), strict=True))
        responses = [answers[key] for key in keys]
        self._known |= {key: answer for key, answer in answers.maps[0].items() if isinstance(key, str)}
        return responses


# ---- the file
def default_cache(output_path: str, model: str, arguments: Mapping[str, Any], weights: object) -> str:
    """The default path of a run's answers, without the ending of the file name."""
    # Each model has its own file, because the key of an answer contains only the prompt and the settings.
    given = {name: value for name, value in arguments.items() if name not in _TRANSPORT}
    identity = {name: (str(value), _stamps(value) if name in _WEIGHTS else []) for name, value in given.items()}
    about = repr((model, sorted(identity.items()), weights))
    return str(output_folder(output_path) / f"answers_{blake2b(about.encode(), digest_size=6).hexdigest()}")


def of_shard(cache: str, number: int, count: int) -> str:
    """The path of the answers of a shard of a run, without the ending of the file name."""
    return f"{cache}_shard{number}of{count}"


def weights_of(model: Any) -> object:
    """What identifies the weights of a model besides its name: their commit, or the server's description."""
    if is_served(model):
        return listed_model(model)
    configs = (getattr(model, name, None) for name in ("config", "_config"))
    return [commit for config in configs if (commit := getattr(config, "_commit_hash", None))]


def cache_file(cache: str, rank: int = 0) -> str:
    """The file that the harness uses for a cache of this name, or of that of a file; each rank has its own."""
    name = re.sub(r"_rank\d+\.db\Z", "", cache)
    return f"{name}_rank{rank or int(os.environ.get('LOCAL_RANK', '0'))}.db"


def output_folder(output_path: str) -> Path:
    """The folder that the harness writes to; --output_path may also name a file in it."""
    path = Path(output_path)
    return path.parent if path.suffix == ".json" else path


def check_output(output_path: str) -> None:
    """Check that results can be written."""
    folder = output_folder(output_path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"--output_path {output_path}: "
            f"cannot write to {folder}: {error.strerror}. Choose a folder that you may write to"
        ) from None


def check_cache(path: str) -> None:
    """Check that a file can store answers."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("CREATE TABLE IF NOT EXISTS unnamed (key TEXT PRIMARY KEY, value BLOB)")
            database.execute("SELECT max(key), max(length(value)) FROM unnamed")  # reads all rows
            database.execute("COMMIT")
    except (OSError, sqlite3.Error) as error:
        kind = UserError if isinstance(error, OSError) else Unusable
        raise kind(f"{path}: cannot store answers in this file: {error}. {_ANOTHER}") from None


def _stamps(value: Any) -> list[tuple[str, int, int]]:
    """Names, sizes and dates of the file or of the files in a folder, without stored answers."""
    with suppress(TypeError, ValueError, OSError):
        path = Path(value)
        files = [file for file in (sorted(path.iterdir()) if path.is_dir() else [path]) if file.is_file()]
        stats = [(file.name, file.stat()) for file in files if not file.name.startswith("answers_")]
        return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return []
