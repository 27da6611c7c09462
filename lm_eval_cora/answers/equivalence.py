r"""Compare written answers: first by their notation, then with math-verify in worker processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from itertools import combinations
from threading import Event, Thread
from typing import Any, NamedTuple
from weakref import finalize

from lm_eval_cora.answers.math_worker import READ, READY
from lm_eval_cora.errors import UserError
from lm_eval_cora.workers import Pool, Worker, command, processors

_PAUSES = (0.2, 1.0, 3.0, 0)  # seconds after each failed start of a process, which a busy machine may refuse
_PAIRS_AT_A_TIME = 32  # that a worker gets; adjacent pairs share answers, which it parses once
_MOST_WORKERS = 8
_WORTH_A_BAR = 200
Pair = tuple[str, str]


class Limits(NamedTuple):
    """Limits for each pair of answers. Only the one on wall-clock time holds on Windows."""

    cpu_seconds: int = 3  # does not depend on the load of the machine; most pairs take milliseconds
    wall_seconds: float = 60
    megabytes: int = 2_048  # address space of a worker; the libraries need about 300

    def command(self) -> list[str]:
        """Return the command that starts a worker."""
        return command("lm_eval_cora.answers.math_worker", self.cpu_seconds, self.megabytes)


_USUAL = Limits()


class EquivalenceChecker:
    """Compares answers and remembers the verdicts. Its worker processes end with it, or with this process.

    Equivalence is symmetric, but not transitive: "x = 5" and "y = 5" both equal "5", but not each other.
    """

    def __init__(self, limits: Limits = _USUAL) -> None:
        self._limits = limits
        self._workers: dict[int, Workers] = {}  # of each process, because a fork copies this object
        self._verdicts: dict[Pair, bool | None] = {}

    def verdict(self, one: str, other: str) -> bool | None:
        """Return whether two answers are equivalent; None if math-verify ran out of time or memory."""
        pair = _in_order((one, other))
        if pair not in self._verdicts:
            self.settle([(one, other)])
        return self._verdicts[pair]

    def settle_within(self, groups: Iterable[Iterable[str]], *, ranks: int = 1) -> None:
        """Find the verdicts on all pairs within each group of answers."""
        self.settle((pair for answers in groups for pair in combinations(sorted(set(answers)), 2)), ranks=ranks)

    def settle(self, pairs: Iterable[Pair], *, ranks: int = 1) -> None:
        """Find the verdicts on many pairs, in parallel with other ranks. Each distinct pair is compared once."""
        distinct = dict.fromkeys(map(_in_order, pairs))
        verdicts = {pair: _at_once(pair) for pair in distinct if pair not in self._verdicts}
        self._verdicts |= verdicts
        if left := [pair for pair, verdict in verdicts.items() if verdict is None]:
            compared = self._pool().compare(left, max(1, min(_MOST_WORKERS, processors() // ranks)))
            from tqdm import tqdm  # slow to import, and only needed here

            bar = tqdm(compared, "comparing answers", len(left), unit="pair", disable=len(left) < _WORTH_A_BAR)
            with suppress(RuntimeError):  # no thread can be started, but nothing may raise after the inference
                self._verdicts.update(zip(left, bar, strict=True))

    def _pool(self) -> Workers:
        """Return the workers of this process; a forked process starts its own."""
        process = os.getpid()
        if process not in self._workers:
            self._workers[process] = Workers(_MOST_WORKERS, self._limits)
            finalize(self, self._workers[process].close)
        return self._workers[process]


def _at_once(pair: Pair) -> bool | None:
    """Compare two answers in canonical notation without math-verify; None if math-verify is needed."""
    one, other = pair
    if one == other or not one:  # of two different answers, an empty one is sorted first
        return bool(one)
    same = same_number(one, other)
    return same_words(one, other) if same is None else same


def _in_order(pair: Pair) -> Pair:
    """Return two answers in canonical notation, sorted."""
    one, other = sorted(map(canonical, pair))
    return one, other


class Workers(Pool["_Comparer"]):
    """Worker processes that compare answers, with limits on time and memory; each is replaced if it dies."""

    def __init__(self, count: int, limits: Limits = _USUAL) -> None:
        endless: set[str] = set()
        super().__init__(_Comparer(limits, endless) for _ in range(count))

    def compare(self, pairs: Sequence[Pair], at_once: int) -> Iterator[bool | None]:
        """Compare pairs of answers, in their order."""
        chunks = [pairs[start : start + _PAIRS_AT_A_TIME] for start in range(0, len(pairs), _PAIRS_AT_A_TIME)]
        ended = Event()
        Thread(target=self._watch, args=(ended,), daemon=True).start()
        try:
            for verdicts in self.map(_Comparer.compare, chunks, at_once):
                yield from verdicts
        finally:
            ended.set()

    def _watch(self, ended: Event) -> None:
        """End processes whose reply is late."""
        while not ended.wait(0.2):
            for worker in self.workers:
                if (process := worker.process) and time.monotonic() > worker.late:
                    process.kill()


class _Comparer(Worker):
    """One worker process. It is started for the first pair, and again if a pair ends it."""

    def __init__(self, limits: Limits, endless: set[str]) -> None:
        super().__init__(limits.command(), stderr=subprocess.DEVNULL)
        self._wall_seconds = limits.wall_seconds
        self._endless = endless  # answers that alone exceed the limits
        self.late = float("inf")  # when the current reply is

    def compare(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Return for each pair whether its answers are equivalent; None if the comparison failed."""
        verdicts: dict[Pair, bool | None] = {}
        while left := [pair for pair in pairs if pair not in verdicts and self._endless.isdisjoint(pair)]:
            replies = self._replies(left)
            for pair in left:
                verdicts[pair] = self._verdict(pair, replies)
                if verdicts[pair] is None:  # the process died at this pair; the other pairs need a new one
                    self.stop()
                    break
        return [verdicts.get(pair) for pair in pairs]

    def _verdict(self, pair: Pair, replies: Iterator[str]) -> bool | None:
        """Return the verdict in the replies to a pair; None if the process died or did not start."""
        for answer in pair:
            if next(replies) != READ:
                if self.process is not None:  # the process started, so it died at this answer
                    self._endless.add(answer)
                return None
        return {"True": True, "False": False}.get(next(replies))

    def _replies(self, pairs: Sequence[Pair]) -> Iterator[str]:
        """Send pairs to the process and yield its replies; empty ones if it has died or did not start."""
        if self.process is None or self.process.poll() is not None:  # it died while idle
            self.stop()
            self._start()
        yield self._reply("".join(json.dumps(pair) + "\n" for pair in pairs))
        while True:
            yield self._reply()

    def _start(self) -> None:
        """Start the process, and wait until it is ready."""
        for pause in _PAUSES:
            with suppress(OSError):
                self.start()
                if self._reply() == READY:
                    return
            self.stop()
            time.sleep(pause)

    def _reply(self, sent: str = "") -> str:
        """Send text to the process and return the next line that it writes; empty if it has died or did not start."""
        if self.process is None:
            return ""
        self.late = time.monotonic() + self._wall_seconds
        with suppress(OSError):  # the process has died; reading its reply will show that
            self.process.stdin.write(sent.encode())
            self.process.stdin.flush()
        reply: bytes = self.process.stdout.readline()
        self.late = float("inf")
        return reply.decode().rstrip()


# ---- comparisons of a run
CHECKER = EquivalenceChecker()
"""Compares written answers for all tasks of the process, so that each pair is compared once."""


def check_comparison(task: str) -> None:
    """Check that math-verify can compare answers."""
    install = "pip install 'lm-eval-cora[math]'"
    if find_spec("math_verify") is None:
        raise UserError(f"{task}: comparing answers needs math-verify, which is not installed. Run {install}")
    if CHECKER.verdict("(x+1)^2", "x^2+2x+1") is not True:
        done = subprocess.run(Limits().command(), input="", capture_output=True, text=True, check=False)
        cause = "".join(f": {line}" for line in done.stderr.strip().splitlines()[-1:])
        raise UserError(
            f"{task}: a test comparison of two answers with math-verify, in a process of its own, failed{cause}. "
            "Unless this message names another cause, "
            f"reinstall math-verify and the ANTLR version that it needs: {install}"
        )


def settle(answers: Iterable[tuple[str, str | None]], *, ranks: int = 1) -> None:
    """Compare the written answers to each question, given with its id, with each other."""
    written: dict[str, set[str]] = {}
    for question, text in answers:
        if text is not None:
            written.setdefault(question, set()).add(text)
    CHECKER.settle_within(written.values(), ranks=ranks)


# ---- notation: plain numbers and words
_LONGEST = 1_000  # characters of an answer that is analysed; a longer one is compared only as text
_WRAPPER = r"\\(?:text(?:bf|it|rm)?|mbox|math(?:rm|bf|it))\{"
_REPLACED: dict[str, Any] = {  # pattern: replacement, in the order of their use
    r"\\left(?![a-zA-Z])|\\right(?![a-zA-Z])|\\(?:displaystyle|textstyle|limits)(?![a-zA-Z])": "",
    r"\\[dtc]frac(?![a-zA-Z])": r"\\frac",
    r"(?<!\\)\\!": "",
    r"(?<!\\)\\[,;:> ]|\\q?quad(?![a-zA-Z])|(?<!\\)~": " ",
    r"\\\$|\$": "",
    r"(?<!\\)\\%": "%",
    "[−–]": "-",
    "°": r"^\\circ",
    "∞": r"\\infty",
    r"\s+": " ",
    r" ?\\(?:text|mbox|mathrm)\{ ?(?:and|or) ?\} ?|(?<=[\d})]) (?:and|or) (?=[\d\\({-])": ", ",
    # A space next to anything but a letter or a digit has no meaning.
    r" ?([^\w\s\\,]) ?| (?=,)": r"\1",
    # But a space after a comma shows that the comma separates two numbers: "100, 200" against "100,200".
    r"(?<!\d), |, (?!\d{3}(?!\d))": ",",
    _WRAPPER + r"([^{}\\a-zA-Z]*)\}": r"\1",
    r"\*\*": "^",
    r"\{,\}": ",",
    r"(?<![\d,.({\[])\d{1,3}(?:,\d{3})+(?![\d,)}\]])": lambda number: number[0].replace(",", ""),
    r"^ +|[.,;: ]+(\}*)$": r"\1",
}
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_FRACTION = re.compile(r"([+-]?)(?:(\d+) ?)??(?:\\frac\{([+-]?\d+)\}\{(\d+)\}|\\frac(\d)(\d)|(?<!\d)(\d+)/(\d+))")
_REPEATING = re.compile(r"([+-]?)(\d*\.(\d*))\\overline\{(\d+)\}")
_ROUNDED = re.compile(r"\.\d*(?![\d\\])")  # a decimal that does not repeat
_BASED = re.compile(r"^(\d+)_(?=\d\Z|\{\d+\}\Z)\{?(\d+)\}?")
_SIX_DIGITS = Fraction(1, 10**6)
_WORDS = re.compile(r"[^\W\d_]+(?:[ '’-][^\W\d_]+)*")
_WORD = re.compile(r"[^\W\d_]{4}|\b(?:yes|no|odd|all|one|two|six|ten)\b", re.IGNORECASE)


@lru_cache(maxsize=100_000)
def canonical(written: str) -> str:
    r"""Remove notation without meaning: spaces, \left, \dfrac, dollar signs, a final full stop, the comma in 1,000."""
    for pattern, replacement in _REPLACED.items():
        written = re.sub(pattern, replacement, written)
    return written


def same_number(one: str, other: str) -> bool | None:
    """Compare two plain numbers: integers, decimals, fractions, mixed numbers, repeating decimals, numbers in a base.

    A decimal may be rounded: it equals another number if both round to the same six places and their relative
    difference is at most 1e-6. A base that only one of them names is ignored.
    """
    if max(len(one), len(other)) > _LONGEST:
        return one == other
    first, second = _BASED.match(one), _BASED.match(other)
    if first and second:
        with suppress(ValueError):  # an invalid base, or a digit that the base does not have
            return int(first[1], int(first[2])) == int(second[1], int(second[2]))
        return one == other
    left, right = _number(one), _number(other)
    if left is None or right is None:
        return None
    if left == right or not _ROUNDED.search(f"{one} {other}"):
        return left == right
    return round(left, 6) == round(right, 6) and abs(left - right) <= _SIX_DIGITS * max(abs(left), abs(right))


@lru_cache(maxsize=100_000)
def _number(text: str) -> Fraction | None:
    """Return the value of a plain number, without its base; None for any other text."""
    text = _BASED.sub(r"\1", text)
    if _PLAIN.fullmatch(text):
        return Fraction(text)
    if fraction := _FRACTION.fullmatch(text):
        sign, whole, *parts = fraction.groups("")
        over, under = map(int, filter(None, parts))
    elif repeating := _REPEATING.fullmatch(text):
        sign, whole, places, period = repeating.groups()
        over, under = int(period), int("9" * len(period) + "0" * len(places))
    else:
        return None
    if not under or (whole and over < 0):
        return None
    value = Fraction("0" + whole) + Fraction(over, under)
    return -value if sign == "-" else value


def same_words(one: str, other: str) -> bool | None:
    """Compare two answers that are words: for math-verify they are products of letters, and "east" equals "seat"."""
    first, second = _words(one), _words(other)
    if not (first and second and _WORD.search(f"{one} {other}")):  # it also finds the name of a command such as \text
        return None
    return first == second


@lru_cache(maxsize=100_000)
def _words(text: str) -> str:
    """Return an answer that may be words, without notation; empty if it has other characters than letters."""
    bare = " ".join(re.sub(_WRAPPER + r"([^{}\\]*)\}", r" \1 ", text).split()).rstrip(".")
    return bare.casefold() if _WORDS.fullmatch(bare) else ""
