"""Compare our equivalence check of free answers with the harness' check: time, and verdicts on 5,000 questions.

The questions imitate MATH and have 10 answers each. Every answer contains the value that it denotes, so the script
knows which verdict is right. Both checks get the same answers in one run:

- ours: `EquivalenceChecker.settle` on all pairs, then a verdict on each;
- the harness': `math_equal` of its SCORE tasks on each pair, in the way that their consistency rate calls it. It runs
  in a separate process, which is killed if a pair takes more than a minute: the harness sets its time limits with
  signals, which do not interrupt a long multiplication.

    python benchmarks/maths.py [--questions 5000] [--answers 10] [--seed 0] [--harness-questions 100]

With `--harness-questions N` both checks are timed on the first N questions, and ours also on all questions.
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

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from benchmarks.maths_answers import NOTHING, Written, made_up_answers, same
from lm_eval_cora.answers.equivalence import EquivalenceChecker

HARNESS_SECONDS = 60
SHOWN = 3

Verdicts = list[bool | None]


def ours(questions: list[list[Written]]) -> Verdicts:
    """Return our verdicts on all pairs. A missing answer does not equal any answer."""
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
    """Return the harness' verdicts on all pairs; None if the check raised an error or was killed."""
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
    """Return the consistency rate: the share of agreeing pairs of a question, averaged over questions."""
    shares = []
    done = iter(verdicts)
    for answers in questions:
        pairs = math.comb(len(answers), 2)
        shares.append(sum(next(done) is True for _ in range(pairs)) / pairs)
    return sum(shares) / len(shares)


NEAR = "the harness treats numbers within 1e-4 of each other as equal"
BRACKETS = "the harness drops brackets, so a point, an open and a closed interval are the same"
EQUAL_THERE = {
    "integer": NEAR,
    "percent": NEAR,
    "radical": NEAR + ", also a rounded and an exact one",
    "angle": NEAR + ", also a rounded and an exact one",
    "polynomial": "the harness drops outer parentheses and parses only the beginning: (x+1)(x+2) is x+1",
    "based": NEAR + ", and compares the digits, not the value in the base",
    "words": r"the harness drops an \mbox with its content, so all words in one are the same",
    "product": "the harness drops parentheses, so 2(x+1) is 2x+1",
    "point": BRACKETS,
    "interval": BRACKETS,
    "line": "the harness compares only the right side of an equation",
    "tower": "the harness drops braces, so towers of different heights are the same",
}
"""For each kind of answer, why the harness accepts different answers as equal."""

UNEQUAL_THERE = {
    "integer": "the harness does not remove a unit",
    "percent": "the harness drops a percent sign, and 16 is not 16/100",
    "decimal": "the harness does not parse the number",
    "fraction": "the harness does not parse the number",
    "radical": "the harness does not parse the number",
    "roots": "the harness compares lists in order, and treats braces or words as another list",
    "interval": "the harness does not convert an inequality to an interval",
    "line": "the harness compares equations as texts",
    "words": "the harness compares the spaces or the box around a word",
    "letter": "the harness compares the brackets or the font of a letter",
    "matrix": "the harness compares matrices as texts",
}
"""For each kind of answer, why the harness rejects equal answers."""


def why(one: Written, other: Written, mine: bool | None, theirs: bool | None) -> str:
    """Explain why the two checks differ on a pair: first which one is right, then the reason."""
    if NOTHING in (one.value, other.value):
        return f"{'OURS WRONG' if mine else 'ours right'}: no answer; the harness treats two empty boxes as equal"
    truth = same(one, other)
    kind = one.value.split()[0]
    texts = [one.text, other.text]
    if mine is None:
        return f"ours ran out of time or memory and returns not equivalent; the harness is {_right(theirs is truth)}"
    if mine is not truth:
        return f"OURS WRONG: {kind}"
    if theirs is None:
        return "ours right: the harness does not return, or raises an error"
    reason = (EQUAL_THERE if theirs else UNEQUAL_THERE).get(kind)
    if theirs and kind in ("integer", "percent") and _a_hundred_times(*texts):
        reason = "the harness treats a hundred times a number as equal, with or without a percent sign"
    if not theirs and kind == "integer" and any("=" in text for text in texts):
        reason = 'the harness does not read "x = 5" as 5'
    return f"ours right: {reason}" if reason else f"UNEXPLAINED: {kind}"


def _right(yes: bool) -> str:
    return "right" if yes else "wrong"


def _a_hundred_times(*texts: str) -> bool:
    one, other = (float(re.sub(r"[^0-9.]|\.$", "", text) or 0) for text in texts)
    return any(math.isclose(100 * less, more, rel_tol=1e-4) for less, more in ((one, other), (other, one)))


def report(questions: list[list[Written]], mine: Verdicts, theirs: Verdicts) -> None:
    """Print the pairs on which the two checks differ, grouped by reason."""
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


def print_errors(side: str, questions: list[list[Written]], verdicts: Verdicts) -> None:
    """Print how often a check is wrong, judged by the values that the answers denote."""
    wrong: Counter[str] = Counter()
    examples: dict[str, list[str]] = defaultdict(list)
    pairs = [pair for answers in questions for pair in combinations(answers, 2)]
    for (one, other), verdict in zip(pairs, verdicts, strict=True):
        truth = same(one, other)
        if verdict is not None and verdict is not truth:
            how = f"{one.value.split()[0]}, {'equal answers rejected' if truth else 'different answers accepted'}"
            wrong[how] += 1
            examples[how].append(f"{one.text!r} {other.text!r}")
    print(f"{side}: wrong on {wrong.total():,} of {len(pairs):,} pairs, ran out on {verdicts.count(None):,}")
    for how, count in wrong.most_common():
        print(f"{count:8,} {how}:", "   ".join(list(dict.fromkeys(examples[how]))[:SHOWN]))


def main() -> None:
    """Compare the two checks and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5_000)
    parser.add_argument("--answers", type=int, default=10, help="answers to each question (default: 10)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--harness-questions", type=int, help="questions for the harness (default: all; takes hours)")
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
        print_errors("ours", questions, timed(ours, questions)[1])
    my_seconds, mine = timed(ours, both)
    their_seconds, theirs = timed(harness, both)
    print(f"the harness takes {their_seconds / my_seconds:.0f} times as long")
    print_errors("ours", both, mine)
    print_errors("the harness", both, theirs)
    report(both, mine, theirs)


if __name__ == "__main__":
    main()
