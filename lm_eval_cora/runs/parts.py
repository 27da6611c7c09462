"""Read the parts of large samples files in several processes."""

from __future__ import annotations

import pickle
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.workers import Pool, Worker, command, processors
from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.samples import ANOTHER_TASK, Broken, Found, merged, read_part

BYTES_WORTH_A_BAR = 20_000_000
"""Size in bytes from which reading a file shows a progress bar and uses several processes."""

_BYTES_AT_A_TIME = 16_000_000

_BYTES_OF_THE_HEAD = 1_000_000
"""A file whose first lines up to here are all from another task is not read further."""


class SamplesReaders(Pool[Worker]):
    """Reads samples files, large ones in one process per processor. The processes start when they are first needed."""

    def __init__(self, count: int | None = None) -> None:
        super().__init__(Worker(command("lm_eval_cora.runs.parts")) for _ in range(count or processors()))

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
        def read(worker: Worker, start: int) -> tuple[Found, Broken]:
            end = min(start + _BYTES_AT_A_TIME, size)
            part = ask(worker, (path, start, end, reader)) if count > 1 else read_part(path, start, end, reader)
            bar.update(end - start)
            return part

        count = len(self.workers)
        yield from self.map(read, range(0, size, _BYTES_AT_A_TIME), count, wait=False)


def ask(worker: Worker, task: tuple[Path, int, int, Reader]) -> tuple[Found, Broken]:
    """Let a process read a part of a file."""
    try:
        process = worker.start()
        pickle.dump(task, process.stdin)
        process.stdin.flush()
        reply: Any = pickle.load(process.stdout)  # written by `serve`
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        raise UserError(
            f"{task[0]}: a process that read it was ended, probably because memory ran out. Free some memory, or "
            "pass fewer files"
        ) from None
    if isinstance(reply, OSError):
        raise reply
    found: tuple[Found, Broken] = reply
    return found


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
