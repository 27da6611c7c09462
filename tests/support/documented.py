"""Runs the code blocks of pages of the documentation: `python -m tests.support.documented PAGE FOLDER PAGE FOLDER ...`.

Each page is run in a folder and a process of its own, which begins with the harness imported. What went wrong with
`PAGE` is in the file `PAGE.failed` in its folder.

A comment directly before a block of bash, console or Python says what happens to it:

    <!-- run -->                     it is run, in the working folder
    <!-- run: a remark -->           the same
    <!-- run as: COMMAND -->         the command is run in its place
    <!-- not run: the reason -->     it is not run

All Python blocks of a page share their names. A block with `>>>` is a doctest. In a console block, lines after a `$`
are commands and the other lines are their output. A text block directly after a block that is run is its output, and
is compared; `...` matches any text.
"""

import contextlib
import doctest
import functools
import gc
import importlib.util
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from tests.support.markdown import blocks

RUN = ("bash", "console", "python")
MARK = re.compile(r"(?P<how>run as|run|not run)(?:: (?P<rest>.+))?", re.DOTALL)
STATEMENT = re.compile(r"(?:.*\\\n)*.*<<'END'\n(?:.*\n)*?END\n?|(?:.*\\\n)*.+\n?")
"""A line, with the lines that continue it or its here-document. Lines are run one by one and share no variables."""

OUTPUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class WrongOutput(Exception):
    """A block printed something else than the page says."""


def complaint(block):
    """Why a block cannot be on a page; empty if it can."""
    if not block.language:
        return "name the language of the block after the fence; do not indent a block"
    if block.language in ("sh", "shell", "py", "pycon"):
        return "write bash, console or python"
    if block.language not in RUN:
        return ""
    mark = MARK.fullmatch(block.comment)
    if mark is None:
        return "write a comment directly before the block: run, run as: COMMAND, or not run: REASON"
    if mark["how"] != "run" and not mark["rest"]:
        return f"{mark['how']!r} needs a colon and a text"
    return ""


def runs(block):
    """Whether a block is run as it is."""
    return block.language in RUN and (MARK.fullmatch(block.comment) or {"how": ""})["how"] == "run"


def run(page):
    """Run the blocks of a page. The place of one that fails is printed."""
    names = {"__name__": "__main__"}
    printed = None
    for block in blocks(page.read_text()):
        with _named(f"{page.name}:{block.line}", block.code):
            if block.language == "text" and block.is_output and printed is not None:
                compare(block.code, printed)
            printed = None
            if runs(block):
                printed = python(block, names) if block.language == "python" else shell(block)
            elif block.comment.startswith("run as: "):
                command(block.comment.removeprefix("run as: "))


@contextlib.contextmanager
def _named(place, code):
    try:
        yield
    except BaseException:
        print(f"{place}: this block failed:\n{code}", file=sys.stderr)
        raise


def python(block, names):
    """Run a block of Python, and return what it prints."""
    printed = io.StringIO()
    if ">>> " in block.code:
        test = doctest.DocTestParser().get_doctest(block.code, names, "the page", None, block.line)
        runner = doctest.DocTestRunner(optionflags=OUTPUT)
        if runner.run(test, out=printed.write, clear_globs=False).failed:
            raise WrongOutput(printed.getvalue())
        names.update(test.globs)
        return ""
    with contextlib.redirect_stdout(printed):
        exec(compile(block.code, "<the page>", "exec"), names)  # the page is part of the repository
    return printed.getvalue()


def shell(block):
    """Run a block of a shell, and return what it prints."""
    if block.language == "bash":
        return command(block.code)
    for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        # A line that ends in a backslash goes on in the next one.
        line, output = re.fullmatch(r"((?:.*\\\n)*.*\n?)((?:.*\n?)*)", part).groups()
        compare(output, command(line))
    return ""


def command(text):
    """Run a text as a shell does, and return what it prints. Ends with the first command that fails."""
    printed = []
    for statement in STATEMENT.findall(text):
        first, is_or, second = statement.partition(" || ")
        plain = plain_commands(first)
        for line in [statement] if plain is None else plain:
            status, out, error = in_bash(line) if isinstance(line, str) else in_fork(line)
            printed.append(out)
            if status and is_or and plain is not None:
                status, out, error = in_bash(f"(exit {status}) || {second}")
                printed.append(out)
            if status:
                raise RuntimeError(f"status {status} of:\n{text}\n{out[-3000:]}\n{error[-3000:]}")
    return "".join(printed)


def plain_commands(text):
    """The arguments of the commands in a text, if they are all ours or the harness' and need nothing of a shell.

    Example:
        >>> plain_commands("lm-eval-cora report out  # a page\\nlm_eval ls \\\\\\n  tasks && lm_eval validate")
        [['lm-eval-cora', 'report', 'out'], ['lm_eval', 'ls', 'tasks'], ['lm_eval', 'validate']]
        >>> plain_commands("lm-eval-cora tasks | head")
    """
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        reader = shlex.shlex(line, posix=True, punctuation_chars=True)
        reader.wordchars += ",:@%+"
        reader.whitespace_split = True
        for is_and, words in itertools.groupby(reader, "&&".__eq__):
            if not is_and:
                found.append(list(words))
    is_plain = all(words[0] in PROGRAMS and not any(set(word) <= set("();<>|&") for word in words) for words in found)
    return found if is_plain and not set("$*?~`") & set(text) else None


def in_bash(text):
    """Run a text in bash: status, output, errors."""
    found = subprocess.run(["bash", "-euo", "pipefail", "-c", text], capture_output=True, encoding="utf-8", check=False)
    return found.returncode, found.stdout, found.stderr


def in_fork(words):
    """Run a command in a process with the harness imported: status, output, errors."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        status = forked(lambda: PROGRAMS[words[0]](words), out.fileno(), error.fileno())
        return status, from_start(out), from_start(error)


def from_start(file):
    """The whole text of a file that another process wrote."""
    file.seek(0)
    return file.read().decode()


def forked(action, out, error):
    """Do something in a copy of this process, with other streams, and return its exit status."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        os.dup2(out, 1)
        os.dup2(error, 2)
        status = action() or 0
    except SystemExit as ended:
        status = ended.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def _ours(words):
    from lm_eval_cora.cli import main

    sys.argv = words
    return main(words[1:])


def _harness(words):
    from lm_eval._cli import HarnessCLI

    sys.argv = words
    cli = HarnessCLI()
    cli.execute(cli.parse_args())


MODULES = (
    *("lm_eval._cli", "lm_eval_cora.cli", "lm_eval_cora.harness.task"),
    *("pandas", "matplotlib.pyplot", "scipy.special", "pytablewriter", "lm_eval.models", "multiprocessing.synchronize"),
    *("torch", "transformers.models.auto.tokenization_auto"),
)
"""What commands import."""

PROGRAMS = {"lm-eval-cora": _ours, "lm_eval": _harness, "lm-eval": _harness}


def compare(expected, got):
    """Refuse another output than the page has."""
    if not doctest.OutputChecker().check_output(expected.strip() + "\n", got.strip() + "\n", OUTPUT):
        raise WrongOutput(f"The page says:\n{expected}\nThe block prints:\n{got}")


def main(arguments):
    """Run pages, each in its folder."""
    gc.disable()
    import_harness()

    from lm_eval.tasks import TaskManager

    from tests.support.index import reading_task_files_once

    with reading_task_files_once():
        TaskManager()  # reads them
        gc.freeze()  # otherwise each copy looks through what is imported
        gc.enable()
        gc.set_threshold(50_000, 20, 20)
        for page, folder in zip(arguments[::2], arguments[1::2], strict=True):
            os.chdir(folder)
            with Path(f"{Path(page).name}.failed").open("wb") as file:
                if forked(functools.partial(run, Path(page)), file.fileno(), file.fileno()) == 0:
                    file.truncate(0)


def import_harness():
    """Import what all commands need, and leave out what takes longer than the commands.

    The harness looks for our tasks only: its own take half a minute. It does not ask pip for all versions.
    """
    from lm_eval import evaluator, tasks

    evaluator.TaskManager = tasks.TaskManager = functools.partial(tasks.TaskManager, include_defaults=False)
    evaluator.add_env_info = lambda results: None
    for module in MODULES:
        if importlib.util.find_spec(module.partition(".")[0]) is not None:
            importlib.import_module(module)


if __name__ == "__main__":
    main(sys.argv[1:])
