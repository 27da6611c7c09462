"""What comparing free answers costs and finds: 5,000 questions of 10 answers each, and the harness' own comparison.

Questions are made up in the manner of MATH. Each answer carries the value that it denotes, so that a verdict on which
the two sides differ can be said to be right or wrong. Both sides see the same answers in one run:

- ours: `Judge.settle` on all pairs, then a verdict on each;
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
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not what is installed

from lm_eval_cora.equivalence import Judge

HARNESS_SECONDS = 60
SHOWN = 3


NOTHING = "nothing"


class Written(NamedTuple):
    """An answer: its text, None if there is none, and what it denotes."""

    text: str | None
    value: str


def same(one: Written, other: Written) -> bool:
    """Whether two answers denote the same; nothing is not the same as anything."""
    return one.value == other.value != NOTHING


Kind = Callable[[random.Random], list[list[str]]]
"""Makes a question: for each value, the right one first, how it may be written."""


def integer(rng: random.Random) -> list[list[str]]:
    right = rng.choice([rng.randint(-20, 100), rng.randint(100, 5_000), rng.randint(10_000, 2_000_000)])
    unit = rng.choice(["", "", "", r"\text{ cm}", r"\text{ units}", "^\\circ", r"\text{ hours}"])
    name = rng.choice(["x = ", "n=", ""]) if not unit else ""

    def notations(value: int) -> list[str]:
        return [str(value), f"{value:,}", f"{value}.", f"{value}{unit}", f"${value}$", f"{name}{value}"]

    wrong = {right + rng.choice([1, -1, 2, 10]), -right, right * 100, rng.randint(-20, 100)} - {right}
    return [notations(value) for value in [right, *sorted(wrong)]]


def decimal(rng: random.Random) -> list[list[str]]:
    def notations(value: Fraction) -> list[str]:
        text = f"{float(value):.2f}"
        texts = [text, text.replace("0.", ".", 1) if abs(value) < 1 else text + "0", f"{float(value):g}"]
        return [*texts, rf"\frac{{{value.numerator}}}{{{value.denominator}}}"]

    right = Fraction(rng.randint(1, 99) * 10 + rng.randint(1, 9), 100)
    return [notations(value) for value in (right, right + Fraction(1, 100), right * 10, -right)]


def fraction(rng: random.Random) -> list[list[str]]:
    def notations(value: Fraction) -> list[str]:
        over, under = abs(value.numerator), value.denominator
        sign = "-" if value < 0 else ""
        texts = [rf"{sign}{name}{{{over}}}{{{under}}}" for name in (r"\frac", r"\dfrac", r"\tfrac")]
        texts += [
            f"{sign}{over}/{under}",
            rf"\frac{{{sign}{over}}}{{{under}}}",
            rf"{sign}\frac{{{3 * over}}}{{{3 * under}}}",
        ]
        if over > under > 1:
            texts.append(rf"{sign}{over // under}\frac{{{over % under}}}{{{under}}}")
        if over < 10 and under < 10:
            texts.append(rf"{sign}\frac{over}{under}")
        return texts

    over, under = rng.sample(range(1, 30), 2)
    values = [Fraction(over, under), Fraction(under, over), Fraction(-over, under), Fraction(over, under + 1)]
    return [notations(value) for value in dict.fromkeys(values)]


def percent(rng: random.Random) -> list[list[str]]:
    """Without plain numbers of more than 1: math-verify takes "50" for "50%", too, which may be meant."""

    def notations(value: int) -> list[str]:
        return [rf"{value}\%", f"{value}%", rf"{value} \%"]

    right = rng.randint(1, 99)
    plain = [f"{right / 100:g}", rf"\frac{{{right}}}{{100}}"]
    return [notations(right) + plain, notations(100 * right), notations(right + 1)]


def radical(rng: random.Random) -> list[list[str]]:
    def notations(factor: int, under: int) -> list[str]:
        root = rf"\sqrt{{{under}}}"
        texts = [rf"{factor}{root}", rf"{factor} \cdot {root}", rf"\sqrt{{{factor * factor * under}}}"]
        return [*texts, rf"\frac{{{factor * under}}}{{{root}}}", rf"{root}\cdot {factor}"]

    factor, under = rng.randint(2, 12), rng.choice([2, 3, 5, 6, 7])
    near = factor * math.sqrt(under)
    rounded = [[f"{near:.2f}"], [f"{near:.4f}"]]  # another number, and not the one that was asked for
    return [notations(factor, under), *rounded, notations(factor + 1, under), notations(factor, under + 8)]


def polynomial(rng: random.Random) -> list[list[str]]:
    def notations(one: int, other: int) -> list[str]:
        middle, last = one + other, one * other
        expanded = f"x^2{middle:+}x{last:+}"
        return [
            f"(x{one:+})(x{other:+})",
            f"(x{other:+})(x{one:+})",
            expanded,
            f"{last}{middle:+}x+x^2",
            f"x^{{2}} {middle:+} x {last:+}",
        ]

    one, other = rng.sample(range(2, 12), 2)
    return [notations(one, other), notations(one, -other), notations(-one, -other), [f"2x{one + other:+}"]]


def product(rng: random.Random) -> list[list[str]]:
    factor, added = rng.randint(2, 9), rng.randint(1, 9)
    right = [
        f"{factor}(x+{added})",
        f"{factor}x+{factor * added}",
        f"{factor * added} + {factor}x",
        rf"{factor}\left(x+{added}\right)",
    ]
    return [
        right,
        [f"{factor}x+{added}", f"{added}+{factor}x"],
        [f"{factor}(x-{added})", f"{factor}x-{factor * added}"],
    ]


def point(rng: random.Random) -> list[list[str]]:
    def notations(one: int, other: int, opening: str = "(", closing: str = ")") -> list[str]:
        texts = [
            f"{opening}{one},{other}{closing}",
            f"{opening}{one}, {other}{closing}",
            f"{opening} {one}, {other} {closing}",
        ]
        return [*texts, rf"\left{opening}{one}, {other}\right{closing}", f"{opening}{one}, {other}.0{closing}"]

    one, other = sorted(rng.sample(range(-12, 13), 2))
    return [notations(one, other), notations(other, one), notations(one, other + 1), notations(one, other, "[", "]")]


def roots(rng: random.Random) -> list[list[str]]:
    def notations(one: int, other: int) -> list[str]:
        texts = [f"{one}, {other}", f"{other}, {one}", f"{one},{other}" if max(one, other) < 100 else f"{one}, {other}"]
        return [*texts, rf"\{{{one}, {other}\}}", rf"{one} \text{{ and }} {other}", rf"{other}\text{{ or }}{one}"]

    low, high = (-15, 15) if rng.random() < 0.9 else (100, 400)
    one, other, third = rng.sample(range(low, high), 3)
    return [notations(one, other), notations(one, third), [str(one)]]


def interval(rng: random.Random) -> list[list[str]]:
    def notations(low: int, high: int, opening: str, closing: str) -> list[str]:
        text = f"{opening}{low},{high}{closing}"
        left, right = r"\le" if opening == "[" else "<", r"\le" if closing == "]" else "<"
        texts = [text, f"{opening}{low}, {high}{closing}", rf"\left{opening}{low},{high}\right{closing}"]
        return [*texts, rf"x \in {text}", f"{low} {left} x {right} {high}"]

    low = rng.randint(-9, 9)
    high = low + rng.randint(1, 9)
    wrong = [notations(low, high, *ends) for ends in ("()", "[]")]
    return [notations(low, high, "[", ")"), *wrong, notations(low, high + 1, "[", ")")]


def line(rng: random.Random) -> list[list[str]]:
    def notations(slope: int, at: int) -> list[str]:
        return [f"y={slope}x{at:+}", f"y = {at}{slope:+}x", f"y = {slope}x {at:+}", f"{slope}x-y{at:+}=0"]

    slope, at = rng.sample(range(2, 12), 2)
    return [notations(slope, at), notations(slope, -at), notations(at, slope)]


def words(rng: random.Random) -> list[list[str]]:
    said = rng.choice([["east", "seat", "west"], ["Evelyn", "Angela", "Briana"], ["even", "odd", "neither"]])
    said = rng.sample(said, 3)
    return [[word, word.capitalize(), rf"\text{{{word}}}", rf"\text{{ {word} }}", rf"\mbox{{{word}}}"] for word in said]


def letter(rng: random.Random) -> list[list[str]]:
    said = rng.sample("ABCDE", 3)
    return [[name, f"({name})", rf"\text{{({name})}}", rf"\textbf{{({name})}}", rf"\text{{{name}}}"] for name in said]


def matrix(rng: random.Random) -> list[list[str]]:
    def notations(one: int, other: int) -> list[str]:
        body = [rf"\begin{{{name}}}{one}\\{other}\end{{{name}}}" for name in ("pmatrix", "bmatrix")]
        return [*body, rf"\begin{{pmatrix}} {one} \\ {other} \end{{pmatrix}}"]

    one, other = rng.sample(range(-9, 10), 2)
    return [notations(one, other), notations(other, one), notations(one, other + 1)]


def based(rng: random.Random) -> list[list[str]]:
    number = rng.randint(20, 400)
    base = rng.randint(2, 9)

    def digits(value: int) -> str:
        return (digits(value // base) if value >= base else "") + str(value % base)

    return [[f"{digits(value)}_{base}", f"{digits(value)}_{{{base}}}"] for value in (number, number + 1, number + base)]


def angle(rng: random.Random) -> list[list[str]]:
    def notations(over: int, under: int) -> list[str]:
        return [
            rf"\frac{{{over}\pi}}{{{under}}}",
            rf"\frac{{{over}}}{{{under}}}\pi",
            rf"{over}\pi/{under}",
            rf"\dfrac{{{over} \pi}}{{{under}}}",
        ]

    over, under = rng.choice([5, 7, 11]), rng.choice([3, 4, 6, 12])
    near = over * math.pi / under
    return [notations(over, under), notations(over + 2, under), [f"{near:.2f}"], [f"{near:.4f}"]]


def tower(rng: random.Random) -> list[list[str]]:
    def notations(top: int) -> list[str]:
        return [f"9^{{9^{{9^{{{top}}}}}}}", f"9^{{9^{{9^{top}}}}}"]

    top = rng.randint(5, 8)
    return [notations(top), notations(top + 1)]


KINDS: dict[Kind, int] = {
    integer: 400,
    fraction: 150,
    decimal: 60,
    percent: 20,
    radical: 80,
    polynomial: 40,
    product: 20,
    point: 50,
    roots: 40,
    interval: 30,
    line: 20,
    words: 30,
    letter: 20,
    matrix: 20,
    based: 10,
    angle: 20,
    tower: 1,
}
"""And how many questions in a thousand or so, about as in MATH."""


def made_up_answers(rng: random.Random, count: int) -> list[Written]:
    """The answers of a model to one question: it knows it more or less, and writes it as it likes."""
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    values = kind(rng)
    knows = rng.choice([0.95, 0.8, 0.5, 0.2])
    answers = []
    for _ in range(count):
        if rng.random() < 0.03:
            answers.append(Written(None if len(answers) % 3 else "", NOTHING))  # no box, or an empty one
            continue
        number = 0 if rng.random() < knows else rng.randrange(1, len(values))
        usual = values[number][0]
        text = usual if rng.random() < 0.5 else rng.choice(values[number])
        answers.append(Written(text, f"{kind.__name__} {number}"))
    return answers


Verdicts = list[bool | None]


def ours(questions: list[list[Written]]) -> Verdicts:
    """Our verdicts on all pairs; no answer equals nothing."""
    judge = Judge()
    texts = [[answer.text for answer in answers] for answers in questions]
    pairs = [pair for answers in texts for pair in combinations(answers, 2)]
    judge.settle([(one, other) for one, other in pairs if one is not None and other is not None])
    return [False if one is None or other is None else judge.verdict(one, other) for one, other in pairs]


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
