"""Processes of their own for what may take any time or memory: each has a limit, and one that dies is replaced."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Timer

from lm_eval_cora.equivalence.worker import DIFFERENT, EQUAL, READY

CPU_SECONDS = 3
"""Processor time for a pair: the same on a busy machine. A pair takes some milliseconds, few take more than one."""

WALL_SECONDS = 60
"""Time on the clock, for what waits instead of working, and where processor time cannot be limited (Windows)."""

MEGABYTES = 2_048
"""Address space of a worker, of which the libraries take about 300 (not limited on Windows)."""

Pair = tuple[str, str]

# Not `-m`: the modules must come from where ours came from, whatever the folder and the environment say.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from lm_eval_cora.equivalence.worker import serve; serve(*json.loads(sys.argv[2]))"
)


class Workers:
    """A number of workers, started when they are needed and ended with the `with` block.

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
        self._count = count
        self._limits = (cpu_seconds, megabytes)
        self._wall_seconds = wall_seconds
        self._workers: SimpleQueue[_Worker] = SimpleQueue()

    def __enter__(self) -> Workers:
        for _ in range(self._count):
            self._workers.put(_Worker(self._limits, self._wall_seconds))
        return self

    def __exit__(self, *_: object) -> None:
        for _worker in range(self._count):
            self._workers.get().stop()

    def compare(self, pairs: Iterable[Pair]) -> Iterator[bool | None]:
        """Compare pairs of answers, in their order.

        Args:
            pairs: Answers in canonical notation.

        Yields:
            For each pair whether its answers are equivalent; None if it ran out of time or memory.
        """
        with ThreadPoolExecutor(self._count) as threads:
            yield from threads.map(self._compare, pairs)

    def _compare(self, pair: Pair) -> bool | None:
        worker = self._workers.get()
        try:
            return worker.compare(pair)
        finally:
            self._workers.put(worker)


class _Worker:
    """One process, started when the first pair comes and again after one that it did not survive."""

    def __init__(self, limits: tuple[int, int], wall_seconds: float) -> None:
        self._limits = limits
        self._wall_seconds = wall_seconds
        self._process: subprocess.Popen[str] | None = None

    def compare(self, pair: Pair) -> bool | None:
        """Whether the answers of a pair are equivalent, None if that could not be found out."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path), json.dumps(self._limits)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="ascii",
            )
            if self._reply(self._process, "") != READY:
                self.stop()
                return None
        reply = self._reply(self._process, json.dumps(pair) + "\n")
        if reply not in (EQUAL, DIFFERENT):
            self.stop()
            return None
        return reply == EQUAL

    def _reply(self, process: subprocess.Popen[str], line: str) -> str:
        """The next line that the process writes, empty if it dies or is ended for taking too long."""
        assert process.stdin is not None
        assert process.stdout is not None
        clock = Timer(self._wall_seconds, process.kill)
        clock.daemon = True
        clock.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            return process.stdout.readline().rstrip("\n")
        except OSError:  # it has died in between
            return ""
        finally:
            clock.cancel()

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with self._process:  # closes the pipes and waits
                pass
            self._process = None
