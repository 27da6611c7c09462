"""Processes that work for this one: they compare answers, or read parts of large files."""

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import LifoQueue
from typing import Any, Generic, TypeVar

W = TypeVar("W", bound="Worker")
R = TypeVar("R")
P = TypeVar("P", bound="Pool[Any]")

# Isolated and without `-m`, so that neither the working directory nor the environment changes what the worker imports.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from {module} import serve; serve(*json.loads(sys.argv[2]))"
)


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def command(module: str, *arguments: Any) -> list[str]:
    """Return the command that calls the function `serve` of a module."""
    return [sys.executable, "-I", "-c", _START.format(module=module), json.dumps(sys.path), json.dumps(arguments)]


class Worker:
    """A process that runs a command; it is started when it is first needed.

    It is a plain subprocess: a fork would copy the state of an accelerator and its address space, and the other start
    methods of multiprocessing would run the user's script again.
    """

    def __init__(self, command: list[str], stderr: int | None = None) -> None:
        self._command, self._stderr = command, stderr
        self.process: Any = None

    def start(self) -> Any:
        """Return the process, which is started if there is none."""
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=self._stderr)
        return self.process

    def stop(self) -> None:
        """End the process."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()


class Pool(Generic[W]):
    """Workers that threads share."""

    def __init__(self, workers: Iterable[W]) -> None:
        self.workers = list(workers)
        self._free: LifoQueue[W] = LifoQueue()  # the worker that was used last is already running
        for worker in self.workers:
            self._free.put(worker)

    def __enter__(self: P) -> P:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.stop()

    def map(
        self, work: Callable[[W, Any], R], items: Iterable[Any], at_once: int, *, wait: bool = True
    ) -> Generator[R, None, None]:
        """Call a function with a free worker and each item; yield the results in order.

        Only a few calls are ahead of the caller. If it reads no further, calls that have begun end before this returns,
        unless `wait` is False.
        """

        def call(item: Any) -> R:
            worker = self._free.get()
            try:
                return work(worker, item)
            finally:
                self._free.put(worker)

        threads = ThreadPoolExecutor(at_once)
        begun: deque[Future[R]] = deque()
        try:
            for item in items:
                begun.append(threads.submit(call, item))
                if len(begun) > 2 * at_once:
                    yield begun.popleft().result()
            for left in begun:
                yield left.result()
        finally:
            threads.shutdown(wait=wait, cancel_futures=True)
