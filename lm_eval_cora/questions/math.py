r"""MATH, read from `EleutherAI/hendrycks_math`: seven subjects, five levels, answers in the solutions' \boxed."""

from __future__ import annotations

import re

from lm_eval_cora.questions.benchmark import Benchmark, OneByOne, Row
from lm_eval_cora.questions.question import OpenQuestion, UnusableQuestion, shorten

_ONE_OF_SEVERAL = {
    "Simplify $(5x+3) - 2(2x-4)$": "x+11",
    "Two positive numbers $p$ and $q$ have the property that their sum is equal to their product": "161",
    "Square $ABCD$ has side lengths of 13 units. Point $E$ lies in the interior": r"\frac{25}{13}",
    "An aquarium has a rectangular base that measures 100 cm by 40 cm": r"0.25\text{ cm}",
    "What number must be placed in the box in the equation below": "4",
    "I am going to buy exotic fruits": "-34 + 12x",
    r"Let $\boxed{N}$ mean the number of whole number divisors of $N$": "12",
    "On a particular map, $3$ inches on the map equates to $10$ miles": r"\frac{639}{40}",
    r"Find the coordinates of either of the vertices of the hyperbola \[16x^2": r"\left(-\tfrac52, -\tfrac52\right)",
    r"Find the coordinates of one of the foci of the hyperbola \[x^2 - 10x": "(0,0)",
    # The solution also boxes 3, as "also accepted".
    "The sum of a 15-term arithmetic series with first term 7": "-3",
    "The graph of $y = f(x)$ passes through the point $(-3,5)": "(0,0)",
}
"""Answers of the problems whose solution boxes more than the answer, by the beginning of the problem.

In all other solutions, several boxes are a list of answers. The harness' SCORE task corrects the same problems except
for the arithmetic series.
"""

BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])\s*")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_WITHOUT_BRACES = re.compile(r"-?\d+(?:\.\d+)?|\\(?!boxed|fbox)[a-zA-Z]+(?:\{[^{}]*\})*|[a-zA-Z](?![a-zA-Z])")

_DEPTHS = {"{": 1, "}": -1}
"""Change of nesting depth at each brace; an escaped brace does not change it."""


def boxes(text: str) -> list[str]:
    r"""Return the contents of all closed boxes of a text, in order; a nested box is part of the outer one.

    Example:
        >>> boxes(r"Either $\boxed{-2}$ or $\boxed{1}$.")
        ['-2', '1']
    """
    contents = []
    end = 0
    for box in BOX.finditer(text):
        if box.start() >= end and (content := box_content(text, box.end())) is not None:
            contents.append(content.strip())
            end = box.end() + len(content)
    return contents


def is_box(text: str, start: int) -> bool:
    """Whether a box begins at an index: with a brace, or without one as TeX allows."""
    return text.startswith("{", start) or _WITHOUT_BRACES.match(text, start) is not None


def box_content(text: str, start: int) -> str | None:
    """Return the content of the box that begins at an index; None if the box is not closed."""
    if not text.startswith("{", start):
        without = _WITHOUT_BRACES.match(text, start)
        return without.group() if without else ""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += _DEPTHS.get(brace.group(), 0)
        if depth == 0:
            return text[start + 1 : brace.start()]
    return None


def to_question(row: Row, default_id: str) -> OpenQuestion:
    r"""Convert a row to a question. Its category is the level."""
    return OpenQuestion(
        id=default_id, stem=row["problem"], answer=_answer(row["problem"], row["solution"]), category=row["level"] or ""
    )


def subject_of(name: str, row: Row) -> str:
    """Return the subject of a row, spelled as its configuration on the Hub."""
    return str(row.get("type")).lower().replace("&", "and").replace(" ", "_")


def _answer(problem: object, solution: object) -> str:
    if not isinstance(solution, str) or not isinstance(problem, str):
        raise UnusableQuestion("a problem or solution that is not text", f"{shorten(repr((problem, solution)))}")
    spellings: dict[str, str] = {}
    for box in boxes(solution):  # a solution may box the answer in two spellings: \frac32 and \frac{3}{2}
        spellings.setdefault(re.sub(r"[\s{}]", "", box), box)
    found = list(spellings.values())
    if not any(found):
        raise UnusableQuestion("a solution without a box", f"{shorten(solution)!r}")
    if len(found) > 1:
        corrected = [answer for beginning, answer in _ONE_OF_SEVERAL.items() if problem.startswith(beginning)]
        found = corrected or found
    return ", ".join(found)


_COLUMNS = ("problem", "level", "type", "solution")

MATH = Benchmark(
    name="math",
    reader=lambda _: OneByOne(_COLUMNS, to_question),
    columns=_COLUMNS,
    options=(0, 0),
    published_rows=5000,
    part_of=subject_of,
    score_templates="math",
)
