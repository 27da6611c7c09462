"""Generate answers to questions in the style of MATH, each with the value that it denotes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

NOTHING = "nothing"


class Written(NamedTuple):
    """The text of an answer (None if it is missing) and the value that it denotes."""

    text: str | None
    value: str


def same(one: Written, other: Written) -> bool:
    """Return whether two answers denote the same value. A missing answer does not equal any answer."""
    return one.value == other.value != NOTHING


Kind = Callable[[random.Random], list[list[str]]]
"""Makes a question: a list of values, the right one first, each as a list of notations."""


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
    """Leave out plain numbers above 1, because math-verify also accepts "50" for "50%", which may be intended."""

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
    rounded = [[f"{near:.2f}"], [f"{near:.4f}"]]  # other numbers than the exact one
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
"""The kinds of questions, with weights that are roughly their frequencies in MATH."""


def made_up_answers(rng: random.Random, count: int) -> list[Written]:
    """Generate the answers of a model to one question, right with a random probability and in random notations."""
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    values = kind(rng)
    knows = rng.choice([0.95, 0.8, 0.5, 0.2])
    answers = []
    for _ in range(count):
        if rng.random() < 0.03:
            answers.append(Written(None if len(answers) % 3 else "", NOTHING))  # a missing or an empty box
            continue
        number = 0 if rng.random() < knows else rng.randrange(1, len(values))
        usual = values[number][0]
        text = usual if rng.random() < 0.5 else rng.choice(values[number])
        answers.append(Written(text, f"{kind.__name__} {number}"))
    return answers
