"""Read the parts of large samples files in several processes."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import LifoQueue
from types import TracebackType
from typing import Any

from tqdm import tqdm

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.samples import ANOTHER_TASK, Broken, Found, merged, read_part

BYTES_WORTH_A_BAR = 20_000_000
"""Size in bytes from which reading a file shows a progress bar and uses several processes."""

_BYTES_AT_A_TIME = 16_000_000

_BYTES_OF_THE_HEAD = 1_000_000
"""A file whose first lines up to here are all from another task is not read further."""

# As in `answers.workers`: plain subprocesses, which import the same package and do not run the user's script again.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from lm_eval_cora.runs.parts import serve; serve()"


class SamplesReaders:
    """Reads samples files, large ones in one process per processor. The processes start when they are first needed."""

    def __init__(self, count: int | None = None) -> None:
        self._count = count or processors()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._free: LifoQueue[subprocess.Popen[bytes] | None] = LifoQueue()
        for _ in range(self._count):
            self._free.put(None)

    def __enter__(self) -> SamplesReaders:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()

    def read(self, path: Path, reader: Reader) -> tuple[Found, Broken]:
        """Read a samples file."""
        try:
            size = path.stat().st_size
            if size < BYTES_WORTH_A_BAR:
                return read_part(path, 0, size, reader)
            head = read_part(path, 0, _BYTES_OF_THE_HEAD, reader)
            if not head[0] and head[1].keys() == {ANOTHER_TASK}:
                return head
            # None hides the bar of tqdm unless stderr is a terminal.
            with tqdm(total=size, desc=path.name, unit="B", unit_scale=True, disable=None) as bar:
                return merged(self._parts(path, size, reader, bar))
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None

    def _parts(self, path: Path, size: int, reader: Reader, bar: Any) -> Iterator[tuple[Found, Broken]]:
        def read(start: int) -> tuple[Found, Broken]:
            end = min(start + _BYTES_AT_A_TIME, size)
            part = self._ask((path, start, end, reader)) if self._count > 1 else read_part(path, start, end, reader)
            bar.update(end - start)
            return part

        threads = ThreadPoolExecutor(self._count)
        try:
            yield from threads.map(read, range(0, size, _BYTES_AT_A_TIME))
        finally:
            threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, task: tuple[Path, int, int, Reader]) -> tuple[Found, Broken]:
        process = self._free.get()
        try:
            if process is None:
                process = _start()
                self._processes.append(process)
            assert process.stdin is not None
            assert process.stdout is not None
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            reply: Any = pickle.load(process.stdout)  # written by `serve`
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise UserError(
                f"{task[0]}: a process that read it was ended, probably because memory ran out. Free some memory, or "
                "pass fewer files"
            ) from None
        finally:
            self._free.put(process)
        if isinstance(reply, OSError):
            raise reply
        found: tuple[Found, Broken] = reply
        return found


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-c", _START, json.dumps(sys.path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def serve() -> None:
    """Read the parts that the parent process asks for, until it closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent ends this one
    output = sys.stdout.buffer
    while True:
        try:
            path, start, end, reader = pickle.load(sys.stdin.buffer)  # written by the parent process
        except EOFError:
            return
        try:
            reply: Any = read_part(path, start, end, reader)
        except OSError as error:
            reply = OSError(error.errno, error.strerror)
        pickle.dump(reply, output, protocol=pickle.HIGHEST_PROTOCOL)
        output.flush()
