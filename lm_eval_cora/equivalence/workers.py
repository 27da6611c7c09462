"""Processes of their own for what may take any time or memory: each has a limit, and one that dies is replaced."""

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

from lm_eval_cora.equivalence.worker import DIFFERENT, EQUAL, READ, READY

CPU_SECONDS = 3
"""Processor time for a pair: the same on a busy machine. A pair takes some milliseconds, few take more than one."""

WALL_SECONDS = 60
"""Time on the clock, for what waits instead of working, and where processor time cannot be limited (Windows)."""

MEGABYTES = 2_048
"""Address space of a worker, of which the libraries take about 300 (not limited on Windows)."""

_PAUSES = (0.2, 1.0, 3.0, None)
"""Seconds between attempts to start a process: a busy machine may refuse one for a moment."""

_PAIRS_AT_A_TIME = 32
"""Neighbours share answers, which a worker reads once."""

Pair = tuple[str, str]

# Not `-m`, and isolated: the modules must come from where ours came from, whatever the folder and the environment say.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from lm_eval_cora.equivalence.worker import serve; serve(*json.loads(sys.argv[2]))"
)


def command(limits: tuple[int, int] = (CPU_SECONDS, MEGABYTES)) -> list[str]:
    """What starts a worker.

    Args:
        limits: Seconds of processor time for a pair, and megabytes.
    """
    return [sys.executable, "-I", "-c", _START, json.dumps(sys.path), json.dumps(limits)]


class Workers:
    """A number of workers, each started when it is first needed.

    They are plain subprocesses: a fork would carry an accelerator's state and its address space along, and
    multiprocessing's other ways run the user's script once more.

    Args:
        count: How many, at least 1.
        cpu_seconds: Processor time for a pair.
        wall_seconds: Time on the clock for a pair.
        megabytes: Address space of a worker.
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
        self._free: LifoQueue[_Worker] = LifoQueue()  # the one that was used last is already started
        for worker in self._workers:
            self._free.put(worker)

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.stop()

    def compare(self, pairs: Sequence[Pair], at_once: int) -> Iterator[bool | None]:
        """Compare pairs of answers, in their order.

        Args:
            pairs: Answers in canonical notation; pairs with the same answers stand best side by side.
            at_once: How many workers to use at most.

        Yields:
            For each pair whether its answers are equivalent; None if it ran out of time or memory.

        Raises:
            RuntimeError: If no thread can be started.
        """
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
    """One process, started when the first pair comes and again after one that it did not survive.

    Args:
        limits: What the process gets: processor time for a pair, and address space.
        wall_seconds: Time on the clock for a pair.
        endless: Answers that were too much by themselves, without another one: pairs with them are not tried again.
    """

    def __init__(self, limits: tuple[int, int], wall_seconds: float, endless: set[str]) -> None:
        self._limits = limits
        self._wall_seconds = wall_seconds
        self._endless = endless
        self._process: subprocess.Popen[str] | None = None
        self._late = float("inf")

    def compare(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether the answers of each pair are equivalent, None if that could not be found out."""
        verdicts: dict[Pair, bool | None] = {}
        while left := [pair for pair in pairs if pair not in verdicts]:
            if hopeless := [pair for pair in left if not self._endless.isdisjoint(pair)]:
                verdicts.update(dict.fromkeys(hopeless))
                continue
            replies = self._replies("".join(json.dumps(pair) + "\n" for pair in left))
            for pair in left:
                verdicts[pair] = self._verdict(pair, replies)
                if verdicts[pair] is None:  # it died over this pair: the others need another process
                    self.stop()
                    break
        return [verdicts[pair] for pair in pairs]

    def _verdict(self, pair: Pair, replies: Iterator[str]) -> bool | None:
        for answer in pair:
            if next(replies) != READ:
                if self._process is not None:  # it did start
                    self._endless.add(answer)
                return None
        return {EQUAL: True, DIFFERENT: False}.get(next(replies))

    def _replies(self, lines: str) -> Iterator[str]:
        """What the process writes, line by line; empty when it has died or could not be started."""
        if self._process is not None and self._process.poll() is not None:  # it died while it had nothing to do
            self.stop()
        if self._process is None:
            self._start()
        if self._process is not None:
            self._late = time.monotonic() + self._wall_seconds
            assert self._process.stdin is not None
            with suppress(OSError):  # it has died: that is seen when it is read
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
        """The next line of the process."""
        if self._process is None:
            return ""
        assert self._process.stdout is not None
        self._late = time.monotonic() + self._wall_seconds
        line = self._process.stdout.readline()
        self._late = float("inf")
        return line.rstrip("\n")

    def end_if_late(self) -> None:
        """End the process if the pair that it is at takes too long on the clock."""
        if (process := self._process) is not None and time.monotonic() > self._late:
            process.kill()

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what it did not read cannot be written any more
                    if pipe is not None:
                        pipe.close()
            process.wait()
