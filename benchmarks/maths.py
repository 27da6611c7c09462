"""What comparing free answers costs and finds: 5,000 questions of 10 answers each, and the harness' own comparison.

Questions are made up in the manner of MATH. Each answer carries the value that it denotes, so that a verdict on which
the two sides differ can be said to be right or wrong. Both sides see the same answers in one run:

- ours: `EquivalenceChecker.settle` on all pairs, then a verdict on each;
- the harness': `math_equal` of its SCORE tasks on each pair, as their consistency rate calls it. It runs in a process
  of its own, which is ended if a pair takes more than a minute: its own time limits are signals, and do not end a long
  multiplication.

    python benchmarks/maths.py [--questions 5000] [--answers 10] [--seed 0] [--harness-questions 100]

With `--harness-questions` both sides are timed on these first questions, and ours on all of them besides.
Needs math-verify and antlr4-python3-runtime==4.11.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not what is installed

from benchmarks.maths_answers import NOTHING, Written, made_up_answers, same
from lm_eval_cora.equivalence import EquivalenceChecker

HARNESS_SECONDS = 60
SHOWN = 3

Verdicts = list[bool | None]


def ours(questions: list[list[Written]]) -> Verdicts:
    """Our verdicts on all pairs; no answer equals nothing."""
    checker = EquivalenceChecker()
    texts = [[answer.text for answer in answers] for answers in questions]
    pairs = [pair for answers in texts for pair in combinations(answers, 2)]
    checker.settle([(one, other) for one, other in pairs if one is not None and other is not None])
    return [False if one is None or other is None else checker.verdict(one, other) for one, other in pairs]


def _serve_harness(pipe: Any) -> None:
    from lm_eval.tasks.score.math.math_grader import math_equal

    while True:
        pipe.send(bool(math_equal(*pipe.recv())))


def harness(questions: list[list[Written]]) -> Verdicts:
    """The harness' verdicts on all pairs; None for a pair that had to be ended from outside, or raised."""
    verdicts: Verdicts = []
    process = None
    pairs = [pair for answers in questions for pair in combinations(answers, 2)]
    for one, other in tqdm(pairs, "the harness", unit="pair", mininterval=10):
        if process is None:
            here, there = multiprocessing.Pipe()
            process = multiprocessing.get_context("spawn").Process(target=_serve_harness, args=(there,), daemon=True)
            process.start()
            there.close()
        here.send((one.text, other.text))
        try:
            verdicts.append(here.recv() if here.poll(HARNESS_SECONDS) else None)
        except EOFError:
            verdicts.append(None)
        if verdicts[-1] is None:
            process.kill()
            process.join()
            process = None
    if process is not None:
        process.kill()
        process.join()
    return verdicts


def rate(verdicts: Verdicts, questions: list[list[Written]]) -> float:
    """The consistency rate: the mean over questions of the share of their pairs that agree."""
    shares = []
    done = iter(verdicts)
    for answers in questions:
        pairs = math.comb(len(answers), 2)
        shares.append(sum(next(done) is True for _ in range(pairs)) / pairs)
    return sum(shares) / len(shares)


NEAR = "numbers within 1e-4 of each other count as equal there"
BRACKETS = "brackets are dropped there, so a point, an open and a closed interval are the same"
EQUAL_THERE = {
    "integer": NEAR,
    "percent": NEAR,
    "radical": NEAR + ", so a rounded one is the exact one",
    "angle": NEAR + ", so a rounded one is the exact one",
    "polynomial": "outer parentheses are dropped there, and what is left is read as far as it goes: (x+1)(x+2) is x+1",
    "based": NEAR + ", and the digits count, not the value in the base",
    "words": r"an \mbox and what is in it are dropped there, so all words in one are the same",
    "product": "parentheses are dropped there, so 2(x+1) is 2x+1",
    "point": BRACKETS,
    "interval": BRACKETS,
    "line": "an equation is its right side there",
    "tower": "braces are dropped there, so towers of other heights are the same",
}
"""Why the harness finds answers of a kind equal that are not."""

UNEQUAL_THERE = {
    "integer": "a unit is not taken off there",
    "percent": "a percent sign is dropped there, and 16 is not 16/100",
    "decimal": "not read as a number there",
    "fraction": "not read as a number there",
    "radical": "not read there",
    "roots": "lists are compared in order there, and braces or words make another list",
    "interval": "an inequality is not its interval there",
    "line": "equations are compared as texts there",
    "words": "the spaces or the box around a word count there",
    "letter": "the brackets or the font of a letter count there",
    "matrix": "matrices are compared as texts there",
}
"""Why the harness finds answers of a kind unequal that are the same."""


def why(one: Written, other: Written, mine: bool | None, theirs: bool | None) -> str:
    """Why the two sides differ over a pair, starting with who is right."""
    if NOTHING in (one.value, other.value):
        return f"{'OURS WRONG' if mine else 'ours right'}: nothing equals nothing; an empty box equals another there"
    truth = same(one, other)
    kind = one.value.split()[0]
    texts = [one.text, other.text]
    if mine is None:
        return (
            f"ours ran out of time or memory, and counts it as not equivalent; the harness is {_right(theirs is truth)}"
        )
    if mine is not truth:
        return f"OURS WRONG: {kind}"
    if theirs is None:
        return "ours right: the harness does not come back, or raises"
    reason = (EQUAL_THERE if theirs else UNEQUAL_THERE).get(kind)
    if theirs and kind in ("integer", "percent") and _a_hundred_times(*texts):
        reason = "a hundred times as much counts as equal there, whether or not there is a percent sign"
    if not theirs and kind == "integer" and any("=" in text for text in texts):
        reason = '"x = 5" is not 5 there'
    return f"ours right: {reason}" if reason else f"UNEXPLAINED: {kind}"


def _right(yes: bool) -> str:
    return "right" if yes else "wrong"


def _a_hundred_times(*texts: str) -> bool:
    one, other = (float(re.sub(r"[^0-9.]|\.$", "", text) or 0) for text in texts)
    return any(math.isclose(100 * less, more, rel_tol=1e-4) for less, more in ((one, other), (other, one)))


def report(questions: list[list[Written]], mine: Verdicts, theirs: Verdicts) -> None:
    """Print where the two sides differ, and by which right."""
    groups: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    pairs = [pair for answers in questions for pair in combinations(answers, 2)]
    for (one, other), my, their in zip(pairs, mine, theirs, strict=True):
        if my is not their:
            shown = sorted((repr(one.text), repr(other.text)))
            groups[why(one, other, my, their)][shown[0], shown[1]] += 1
    print(f"differing verdicts: {sum(map(Counter.total, groups.values())):,} of {len(pairs):,}")
    for reason, found in sorted(groups.items(), key=lambda item: -item[1].total()):
        print(f"{found.total():8,} pairs, {len(found):,} distinct: {reason}")
        for pair, _ in found.most_common(None if "UNEXPLAINED" in reason or "WRONG" in reason else SHOWN):
            print("                ", *pair)


def say_how_right(side: str, questions: list[list[Written]], verdicts: Verdicts) -> None:
    """Print how often a side is wrong, by the values that the answers denote."""
    wrong: Counter[str] = Counter()
    examples: dict[str, list[str]] = defaultdict(list)
    pairs = [pair for answers in questions for pair in combinations(answers, 2)]
    for (one, other), verdict in zip(pairs, verdicts, strict=True):
        truth = same(one, other)
        if verdict is not None and verdict is not truth:
            how = f"{one.value.split()[0]}, {'the same, and not equal' if truth else 'equal, and not the same'}"
            wrong[how] += 1
            examples[how].append(f"{one.text!r} {other.text!r}")
    print(f"{side}: wrong on {wrong.total():,} of {len(pairs):,} pairs, ran out on {verdicts.count(None):,}")
    for how, count in wrong.most_common():
        print(f"{count:8,} {how}:", "   ".join(list(dict.fromkeys(examples[how]))[:SHOWN]))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5_000)
    parser.add_argument("--answers", type=int, default=10, help="to each question (default: 10)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--harness-questions", type=int, help="so many for the harness (default: all; takes hours)")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    questions = [made_up_answers(rng, given.answers) for _ in range(given.questions)]
    both = questions if given.harness_questions is None else questions[: given.harness_questions]

    def timed(side: Callable[[list[list[Written]]], Verdicts], some: list[list[Written]]) -> tuple[float, Verdicts]:
        start = time.perf_counter()
        verdicts = side(some)
        seconds = time.perf_counter() - start
        name = f"{side.__name__}, {len(some):,} questions, {len(verdicts):,} pairs"
        print(f"{name:50}{seconds:10.1f} s   consistency rate {rate(verdicts, some):.4f}", flush=True)
        return seconds, verdicts

    denoted: Verdicts = [same(*pair) for answers in questions for pair in combinations(answers, 2)]
    name = f"by the values denoted, {len(questions):,} questions"
    print(f"{name:50}{'':12}   consistency rate {rate(denoted, questions):.4f}")
    if len(both) < len(questions):
        say_how_right("ours", questions, timed(ours, questions)[1])
    my_seconds, mine = timed(ours, both)
    their_seconds, theirs = timed(harness, both)
    print(f"the harness takes {their_seconds / my_seconds:.0f} times as long")
    say_how_right("ours", both, mine)
    say_how_right("the harness", both, theirs)
    report(both, mine, theirs)


if __name__ == "__main__":
    main()
