"""Runs commands of `lm-eval-cora` as programs: `python -m tests.support.programs`, with their list as JSON on stdin.

Importing what commands need takes longer than the commands, so it is done once and each command is run in a copy of
this process, which ends as a program does: the interpreter flushes its streams. What became of them is printed as JSON.
"""

import gc
import importlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lm_eval_cora.cli import main
from tests.support.documented import from_start

ROOT = Path(__file__).parents[2]
CLOSED, UNREAD, FULL, KEPT = "closed", "unread", "full", "kept"
"""A stream is closed before the start, is a pipe that nobody reads, is a full disk, or is kept."""

MODULES = (
    *("pandas", "scipy.special", "scipy.stats", "matplotlib.figure", "huggingface_hub"),
    *(f"lm_eval_cora.cli.{name}" for name in ("compare", "export", "gate", "leaderboard", "read", "report", "score")),
    *("lm_eval_cora.export.every_eval_ever", "lm_eval_cora.renderers.charts", "lm_eval_cora.runs.answer_columns"),
)
"""What commands import when they need it."""


class Cli:
    """Runs a command in this process; what it wrote is in `out` and `err`."""

    def __init__(self, capsys):
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, line, *more):
        """Run a line as typed in a shell, with further arguments, and return its exit status."""
        self.capsys.readouterr()
        try:
            status = main([*shlex.split(line), *map(str, more)])
        except SystemExit as ended:
            status = ended.code or 0
        self.out, self.err = self.capsys.readouterr()
        return int(status)

    def printed(self, line, *more):
        """Run a command that succeeds, and return what it printed."""
        assert self(line, *more) == 0, self.err
        return self.out


class Command(NamedTuple):
    """A command: its arguments, its working folder and its streams."""

    arguments: Sequence[str]
    folder: str
    out: str = KEPT
    error: str = KEPT


class Ended(NamedTuple):
    """What became of a command: its exit status, and what it wrote to streams that are kept."""

    status: int
    out: str
    error: str


def run(commands):
    """Run commands in another process."""
    program = [sys.executable, "-m", "tests.support.programs"]
    done = subprocess.run(program, input=json.dumps(commands), capture_output=True, text=True, cwd=ROOT, check=True)
    return [Ended(*each) for each in json.loads(done.stdout)]


def forked(command):
    """Run a command in a copy of this process."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        child = os.fork()
        if not child:
            os.chdir(command.folder)
            sys.argv = ["lm-eval-cora", *command.arguments]
            sys.stdin = None
            sys.stdout = redirected(1, command.out, out)
            sys.stderr = redirected(2, command.error, error)
            sys.exit(main())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return Ended(status, from_start(out), from_start(error))


def redirected(number, kind, kept):
    """Redirect a file descriptor, and return the stream that Python would open for it at its start."""
    if kind == CLOSED:
        os.close(number)
        return None
    if kind == UNREAD:
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, number)
        os.close(writer)
    elif kind == FULL:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, number)
        os.close(full)
    else:
        os.dup2(kept.fileno(), number)
    return open(number, "w", encoding="utf-8", closefd=False)


def serve():
    """Run the commands that stdin lists, first those that need no modules: their process ends sooner."""
    commands = [Command(*each) for each in json.load(sys.stdin)]
    gc.freeze()
    ended = [None if needs_modules(command) else forked(command) for command in commands]
    for module in MODULES:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # a copy that collects the imported modules at its end takes five times as long
    print(json.dumps([one or forked(command) for one, command in zip(ended, commands, strict=True)]))


def needs_modules(command):
    return any("/" in argument for argument in command.arguments)


if __name__ == "__main__":
    serve()
