"""Servers of the demo's model: started, waited for, killed by their process id."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from urllib.request import urlopen

REPOSITORY = Path(__file__).parents[2]
MODEL = "demo"
HOST = "127.0.0.1"


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was started with `start_new_session`, and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass
class Server:
    """A server as a context: up at its beginning, killed at its end.

    Attributes:
        command: What starts it.
        log: Where its output goes; of a server that is started again, at the end of the file.
        port: Where it listens.
        progress: Name of the metric that counts what it has done.
        environment: Its variables.
        seconds: So long may it take to start.
    """

    command: Sequence[str]
    log: Path
    port: int
    progress: str
    environment: dict[str, str]
    seconds: float = 600
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def address(self) -> str:
        """The address without a path."""
        return f"http://{HOST}:{self.port}"

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            RuntimeError: If it ends, or does not answer in time.
        """
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=REPOSITORY, stdout=log, stderr=log, env=self.environment, start_new_session=True
            )
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            if self._read("/health") is not None and self._read("/v1/models") is not None:
                return
            time.sleep(1)
        self.kill()
        last = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"the server did not start, see {self.log}: {''.join(last)[:200]}")

    def kill(self) -> None:
        """Kill the server immediately."""
        if self.process is not None:
            kill(self.process)
            self.process = None

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels; 0 if there is none or the server does not answer."""
        page = self._read("/metrics") or ""
        values = re.findall(rf"^{re.escape(name)}(?:\{{.*\}})? (\S+)$", page, flags=re.MULTILINE)
        return sum(map(float, values))

    def _read(self, path: str) -> str | None:
        try:
            with urlopen(self.address + path, timeout=20) as response:
                text: str = response.read().decode()
                return text
        except OSError:
            return None


def vllm(folder: Path, log: Path, environment: dict[str, str], dtype: str = "float32") -> Server:
    """vLLM's OpenAI server. `--enforce-eager` starts it in half the time, and changes no answer."""
    port = free_port()
    command = [
        *(str(Path(sys.executable).with_name("vllm")), "serve", str(folder), "--served-model-name", MODEL),
        *("--dtype", dtype, "--max-model-len", "4096", "--enforce-eager", "--host", HOST, "--port", str(port)),
    ]
    return Server(command, log, port, "vllm:generation_tokens_total", environment)


def llama(path: Path, log: Path, environment: dict[str, str], threads: int) -> Server:
    """llama.cpp's server."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.engines.llama_server", str(path), str(port), str(threads)]
    return Server(command, log, port, "llamacpp:tokens_predicted_total", environment)
