r"""MATH, read from `EleutherAI/hendrycks_math`: seven subjects, five levels, answers in the solutions' \boxed."""

from __future__ import annotations

import re

from lm_eval_cora.answers.boxed import boxes
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
