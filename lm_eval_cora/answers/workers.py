"""Worker processes for comparisons that may need any time or memory. They are limited, and replaced if they die."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import LifoQueue
from threading import Event, Thread

from lm_eval_cora.answers.worker import DIFFERENT, EQUAL, READ, READY

CPU_SECONDS = 3
"""Limit on processor time per pair, which does not depend on the load of the machine. Most pairs take milliseconds,
few take more than a second."""

WALL_SECONDS = 60
"""Limit on wall-clock time per pair: for workers that wait, and for Windows, where processor time is not limited."""

MEGABYTES = 2_048
"""Limit on the address space of a worker. The libraries need about 300 of it. There is no limit on Windows."""

_PAUSES = (0.2, 1.0, 3.0, None)
"""Seconds to wait after each failed attempt to start a process, which a busy machine may refuse for a moment."""

_PAIRS_AT_A_TIME = 32
"""Number of pairs that a worker gets at once. Adjacent pairs share answers, which a worker parses once."""

Pair = tuple[str, str]

# Isolated and without `-m`, so that neither the working directory nor the environment changes what the worker imports.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from lm_eval_cora.answers.worker import serve; serve(*json.loads(sys.argv[2]))"
)


def command(limits: tuple[int, int] = (CPU_SECONDS, MEGABYTES)) -> list[str]:
    """Return the command that starts a worker."""
    return [sys.executable, "-I", "-c", _START, json.dumps(sys.path), json.dumps(limits)]


class Workers:
    """A pool of worker processes, each started when it is first needed.

    They are plain subprocesses: a fork would copy the state of an accelerator and its address space, and the other
    start methods of multiprocessing would run the user's script again.
    """

    def __init__(
        self,
        count: int,
        *,
        cpu_seconds: int = CPU_SECONDS,
        wall_seconds: float = WALL_SECONDS,
        megabytes: int = MEGABYTES,
    ) -> None:
        endless: set[str] = set()
        self._workers = [_Worker((cpu_seconds, megabytes), wall_seconds, endless) for _ in range(count)]
        self._free: LifoQueue[_Worker] = LifoQueue()  # the worker that was used last is already running
        for worker in self._workers:
            self._free.put(worker)

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.stop()

    def compare(self, pairs: Sequence[Pair], at_once: int) -> Iterator[bool | None]:
        """Compare pairs of answers, in their order."""
        chunks = [pairs[start : start + _PAIRS_AT_A_TIME] for start in range(0, len(pairs), _PAIRS_AT_A_TIME)]
        ended = Event()
        Thread(target=self._watch, args=(ended,), daemon=True).start()
        try:
            with ThreadPoolExecutor(min(at_once, len(chunks))) as threads:
                for verdicts in threads.map(self._compare, chunks):
                    yield from verdicts
        finally:
            ended.set()

    def _compare(self, pairs: Sequence[Pair]) -> list[bool | None]:
        worker = self._free.get()
        try:
            return worker.compare(pairs)
        finally:
            self._free.put(worker)

    def _watch(self, ended: Event) -> None:
        while not ended.wait(0.2):
            for worker in self._workers:
                worker.end_if_late()


class _Worker:
    """One worker process. It is started for the first pair, and again if a pair ends it."""

    def __init__(self, limits: tuple[int, int], wall_seconds: float, endless: set[str]) -> None:
        self._limits = limits
        self._wall_seconds = wall_seconds
        self._endless = endless
        self._process: subprocess.Popen[str] | None = None
        self._late = float("inf")

    def compare(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Return for each pair whether its answers are equivalent; None if the comparison failed."""
        verdicts: dict[Pair, bool | None] = {}
        while left := [pair for pair in pairs if pair not in verdicts]:
            if hopeless := [pair for pair in left if not self._endless.isdisjoint(pair)]:
                verdicts.update(dict.fromkeys(hopeless))
                continue
            replies = self._replies("".join(json.dumps(pair) + "\n" for pair in left))
            for pair in left:
                verdicts[pair] = self._verdict(pair, replies)
                if verdicts[pair] is None:  # the process died at this pair; the other pairs need a new one
                    self.stop()
                    break
        return [verdicts[pair] for pair in pairs]

    def _verdict(self, pair: Pair, replies: Iterator[str]) -> bool | None:
        for answer in pair:
            if next(replies) != READ:
                if self._process is not None:  # the process started, so it died at this answer
                    self._endless.add(answer)
                return None
        return {EQUAL: True, DIFFERENT: False}.get(next(replies))

    def _replies(self, lines: str) -> Iterator[str]:
        """Send lines to the process and yield its replies; empty ones if it has died or did not start."""
        if self._process is not None and self._process.poll() is not None:  # it died while idle
            self.stop()
        if self._process is None:
            self._start()
        if self._process is not None:
            self._late = time.monotonic() + self._wall_seconds
            assert self._process.stdin is not None
            with suppress(OSError):  # the process has died; reading its reply will show that
                self._process.stdin.write(lines)
                self._process.stdin.flush()
        while True:
            yield self._line()

    def _start(self) -> None:
        for pause in _PAUSES:
            with suppress(OSError):
                self._process = subprocess.Popen(
                    command(self._limits),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    encoding="ascii",
                )
                if self._line() == READY:
                    return
            self.stop()
            if pause:
                time.sleep(pause)

    def _line(self) -> str:
        """Return the next line that the process writes; empty if it has died."""
        if self._process is None:
            return ""
        assert self._process.stdout is not None
        self._late = time.monotonic() + self._wall_seconds
        line = self._process.stdout.readline()
        self._late = float("inf")
        return line.rstrip("\n")

    def end_if_late(self) -> None:
        """End the process if its current pair exceeds the limit on wall-clock time."""
        if (process := self._process) is not None and time.monotonic() > self._late:
            process.kill()

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # closing writes the rest of the buffer, which fails if the process has died
                    if pipe is not None:
                        pipe.close()
            process.wait()
