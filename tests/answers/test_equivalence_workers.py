"""Worker processes and their limits, with hostile answers and with answers that take too long."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from itertools import count
from threading import Event, Thread
from types import SimpleNamespace

import pytest

pytest.importorskip("math_verify")

from lm_eval_cora.answers import equivalence
from lm_eval_cora.answers.equivalence import _PAIRS_AT_A_TIME, EquivalenceChecker, Limits, Workers

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="processor time and memory are only limited on POSIX")
PS = pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps to find child processes")


HOSTILE = [
    *("__import__('os').mkdir('x')", "__import__('os').system('mkdir x')", "().__class__.__base__.__subclasses__()"),
    *("exec(open('x','w').close())", r"\operatorname{__import__}('os').mkdir('x')"),
    *(r"\text{__import__('os').mkdir('x')}", r"\write18{mkdir x}", "9**9**9**9", "9^{9^{9^{9}}}", "factorial(10**7)"),
    *("(10^7)!", "1" * 100_000, "x+" * 50_000 + "1", "(" * 5_000 + "x" + ")" * 5_000),
    *(r"\frac{1}{" * 5_000 + "x" + "}" * 5_000, "{" * 10_000, "\x00", "\n", "\ud83d"),
]


def processor_time():
    """Return the processor time of all child processes that have ended, in seconds."""
    return os.times().children_user + os.times().children_system


@POSIX
def test_hostile_answers_are_not_run_and_do_not_block_the_checker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checker = EquivalenceChecker(Limits(cpu_seconds=1, wall_seconds=3_600))
    before = processor_time()
    checker.settle([(text, "y+2") for text in HOSTILE])
    # At most two seconds each, and a few more for a new worker.
    assert processor_time() - before < 10 * len(HOSTILE)
    assert {checker.verdict(text, "y+2") for text in HOSTILE} <= {False, None}
    assert checker.verdict("9^{9^{9^{9}}}", "y+2") is None
    # Equal texts are compared without math-verify.
    assert all(checker.verdict(text, text) for text in HOSTILE if text.strip())
    assert checker.verdict("y+2", "2+y") is True
    assert list(tmp_path.iterdir()) == []


@POSIX
def test_memory_is_limited_and_later_pairs_are_compared():
    checker = EquivalenceChecker(Limits(cpu_seconds=60, wall_seconds=3_600, megabytes=400))
    before = processor_time()
    # Rounded values do not distinguish the two, and in full each needs 1.25 gigabytes.
    checker.settle([("2^{10^{10}}", r"4^{5\cdot 10^9}"), ("x+2", "2+x"), ("x+2", "x+3")])
    assert processor_time() - before < 55  # so memory was the limit, not time
    assert checker.verdict("2^{10^{10}}", r"4^{5\cdot 10^9}") is None
    assert (checker.verdict("x+2", "2+x"), checker.verdict("x+2", "x+3")) == (True, False)


SLOW = r"\sum_{n=1}^{10^9} n^n"
"""Takes minutes."""


def test_wall_clock_time_is_limited(monkeypatch):
    # The test has its own clock, which runs only while the slow pair is compared.
    now, slow, verdict = count(step=5), Event(), equivalence._Comparer._verdict

    def timed(worker, pair, replies):
        slow.set() if any("sum" in answer for answer in pair) else slow.clear()
        return verdict(worker, pair, replies)

    clock = SimpleNamespace(monotonic=lambda: float(next(now)) if slow.is_set() else 0.0, sleep=time.sleep)
    monkeypatch.setattr(equivalence, "time", clock)
    monkeypatch.setattr(equivalence._Comparer, "_verdict", timed)
    checker = EquivalenceChecker(Limits(cpu_seconds=600, wall_seconds=4))
    # The first pair waits for a worker to start, the last one for its replacement.
    checker.settle([("y+2", "2+y"), (SLOW, "y"), ("x+2", "2+x")])
    assert [checker.verdict(*pair) for pair in [("y+2", "2+y"), (SLOW, "y"), ("x+2", "2+x")]] == [True, None, True]


def children():
    """Return the ids of the child processes of this process."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    found = [line.split(maxsplit=2) for line in listed.splitlines()]
    return {int(pid) for pid, parent, name in found if int(parent) == os.getpid() and name.strip() != "ps"}


@POSIX
@PS
def test_a_worker_that_is_killed_is_replaced():
    before = children()
    verdicts = []
    compared = Event()
    # A worker returns the verdicts of a whole share of pairs. The slow pair is the first one of the second share.
    share = [(f"x+{number}", f"{number}+x") for number in range(_PAIRS_AT_A_TIME)]
    pairs = [*share, (SLOW, "y"), ("x+2", "2+x"), ("x+2", "x+3")]

    def ask():
        for verdict in workers.compare(pairs, 1):
            verdicts.append(verdict)
            compared.set()

    with closing(Workers(1, Limits(cpu_seconds=600, wall_seconds=3_600))) as workers:
        asking = Thread(target=ask)
        asking.start()
        compared.wait()
        (worker,) = children() - before
        os.kill(worker, signal.SIGKILL)
        asking.join()
        assert verdicts == [True] * len(share) + [None, True, False]
        (another,) = children() - before
        assert another != worker
    assert children() == before


@PS
def test_a_checker_reuses_its_processes_replaces_dead_ones_and_ends_them():
    before = children()
    checker = EquivalenceChecker()
    checker.settle([("x+1", "1+x"), ("x+1", "x+2")])
    (worker,) = children() - before
    checker.settle([("x+1", "x+3")])
    assert children() - before == {worker}
    os.kill(worker, signal.SIGKILL)  # while it is idle
    os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)
    assert checker.verdict("x+2", "2+x") is True
    assert worker not in children()
    del checker
    assert children() == before


@PS
def test_closing_does_not_wait_for_unread_verdicts():
    before = children()
    with closing(Workers(2)) as workers:
        verdicts = workers.compare([("x+1", "1+x"), ("x+1", "x+2"), ("x+3", "x+2")], 2)
        assert next(verdicts) is True
        assert children() > before
    assert children() == before


@pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="needs pidfd_open (Linux) to wait for a process that is not a child"
)
def test_workers_end_with_the_process_that_started_them():
    code = (
        "import os, sys; from lm_eval_cora.answers.equivalence import Workers; "
        "workers = Workers(1); assert list(workers.compare([('x+1', '1+x')], 1)) == [True]; "
        "worker = workers.workers[0].process; print(worker.pid, flush=True); os._exit(1)"
    )
    printed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout
    try:
        worker = os.pidfd_open(int(printed))
    except ProcessLookupError:  # it has already ended
        return
    ended, _, _ = select.select([worker], [], [], 600)
    os.close(worker)
    assert ended, "the worker still runs"


@POSIX
def test_lower_limits_that_already_exist_are_kept():
    # A batch system may set lower limits than ours, and raising them fails.
    code = (
        "from resource import *; setrlimit(RLIMIT_AS, (2**30, 2**30)); setrlimit(RLIMIT_CPU, (30, 30)); "
        "from lm_eval_cora.answers.equivalence import EquivalenceChecker, Limits; "
        "print(EquivalenceChecker(Limits(cpu_seconds=60)).verdict('x+1', '1+x'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


NUMBERS = """
import sympy
from sympy.parsing.sympy_parser import eval_expr, parse_expr
from math_verify.parser import parse_expr as theirs
for text in ("__import__('os').mkdir('x')", "x", "1+1", "9**9**9**9", "0x10", "1_000", "1e5", "lambda: 0", "", "()"):
    for read in (sympy.sympify, sympy.S, sympy.Number, parse_expr, theirs, eval_expr):
        try:
            print(read.__name__, repr(text), read(text))
        except Exception:
            pass
print(sympy.sympify("3") == 3, sympy.Number("2.5") == 2.5, sympy.sympify("007") == 7, parse_expr(".5") == 0.5)
"""

MARKED = [
    *("wombat", "wombat+31337", r"\text{wombat}", r"\mathrm{wombat}^2", r"\operatorname{wombat}(31337)", r"\wombat"),
    *("wombat_1", "wombat_{31337}", "(wombat,1)", r"\frac{wombat}{31337}", r"\sqrt[31337]{wombat}", "31337^{2.31337}"),
    *(r"\int_0^1 wombat dx", "wombat(31337)", "wombat=31337", "31337<wombat"),
    r"\begin{pmatrix}31337\\\\1\end{pmatrix}",
    *("f(wombat)=31337", r"31337\%", r"0.\overline{31337}", "31337_{12}", "__import__('os').mkdir('wombat')"),
]


def test_only_plain_numbers_are_converted_and_no_part_of_an_answer_is_compiled(tmp_path):
    # In a process in which `parse_expr` is disabled as in a worker.
    # Python calls audit hooks before it compiles a text. sympy compiles some texts that it generates itself.
    code = f"""
from lm_eval_cora.answers import math_worker as worker
worker._refuse_python()
{NUMBERS}
import sys
compiled = []
sys.addaudithook(lambda event, given: compiled.append(str(given)) if event == "compile" else None)
for one in {MARKED!r}:
    worker.equivalent(one, "x^2+31337")
print([text for text in compiled if "wombat" in text or "31337" in text])
eval("31337")
print(len([text for text in compiled if "31337" in text]))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True True True True\n[]\n1\n"
    assert list(tmp_path.iterdir()) == []


def test_starting_is_retried_and_imports_no_files_in_the_working_directory(tmp_path, monkeypatch):
    for name in ("json", "sympy", "re"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.chdir(tmp_path)
    start, failed = subprocess.Popen, []

    def busy(*arguments, **more):
        if not failed:
            failed.append(True)
            raise BlockingIOError("resource temporarily unavailable")
        return start(*arguments, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", busy)
    assert EquivalenceChecker().verdict("x+2", "2+x") is True
    assert failed
