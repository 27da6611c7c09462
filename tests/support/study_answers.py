"""Answers to the variants of the REVAS study, question by question, and the error of a mean over some questions."""

from math import inf, log, sqrt
from typing import Any

import pytest

from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.metrics.responses import ResponseTable

Part = list[dict[str, Any]]
FOUR = (0, 1, 2, 3)
TEN = tuple(range(10))
NOTA = 26


def orders(kind: str, *picks: int | None, printed: tuple[int, ...] = FOUR, answer: int = 0) -> Part:
    """Return a variant per pick. The first has the order of the source; the real orders do not matter here."""
    later = "shuffled" if kind == "original" else f"{kind}_shuffled"
    shared = {"printed": printed, "answer": answer}
    return [{"kind": later if number else kind, "picked": pick, **shared} for number, pick in enumerate(picks)]


def original(*picks: int | None, printed: tuple[int, ...] = FOUR) -> Part:
    return orders("original", *picks, printed=printed)


def nota(*picks: int | None) -> Part:
    return orders("nota_answer", *picks, printed=(1, 2, 3, NOTA), answer=NOTA)


def true_or_false(*says: bool | None) -> Part:
    """Return the answers yes or no to option 0, the right one, and then to the others."""
    return [
        {
            "kind": f"true_or_false_{'wrong' if option else 'right'}",
            "printed": (option,),
            "picked": None,
            "ask": "yes_no",
            "selected": None if said is None else (option,) if said else (),
        }
        for option, said in enumerate(says)
    ]


def scored(*chances: tuple[float, float] | None) -> Part:
    """Return the same with the probabilities of yes and no, None if they are missing."""
    parts = true_or_false(*(chance and chance[0] >= chance[1] for chance in chances))
    for part, chance in zip(parts, chances, strict=True):
        if chance:
            part["yes"], part["no"] = (log(p) if p else -inf for p in chance)
    return parts


def select_all(*selected: int, said: bool = True) -> Part:
    one = {"kind": "select_all", "printed": FOUR, "picked": None, "ask": "select_all"}
    return [{**one, "selected": selected if said else None}]


def replaced(*picks: int | None) -> Part:
    """Return three variants, in which distractor 1, 2 or 3 is replaced."""
    printed = [tuple(27 + i if i == gone else i for i in FOUR) for gone in (1, 2, 3)]
    return [{"kind": "replaced", "picked": pick, "printed": p} for pick, p in zip(picks, printed, strict=True)]


def table(*asked: Part) -> ResponseTable:
    """Return a table with a question for each argument."""
    return ResponseTable.from_records(
        Record(f"q{number}", len(parts), ordinal, **{"answer": 0, "original": part["kind"] == "original", **part})
        for number, parts in enumerate(asked)
        for ordinal, part in enumerate(parts)
    )


def assert_is(estimate: Estimate, value: float, stderr: float) -> None:
    assert (estimate.value, estimate.stderr) == pytest.approx((value, stderr), nan_ok=True)


def of_some(first_order: float, questions: int, inside: int) -> float:
    """The error of a mean over n of N questions, from sqrt(N / (N - 1) sum of squares) / n."""
    return first_order * sqrt((1 - 1 / questions) / (1 - 1 / inside))
