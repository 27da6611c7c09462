"""The commands `score`, `read` and `guess`, which need no run of the harness."""

from __future__ import annotations

import argparse
import sys
from math import floor, isnan

from lm_eval_cora.answer_columns import COLUMNS
from lm_eval_cora.answer_rows import read_answers
from lm_eval_cora.commands.output import print_json, say
from lm_eval_cora.explain import around, places, read_answer, said
from lm_eval_cora.metrics.estimate import Estimate, for_json
from lm_eval_cora.metrics.guessing import at_least, msgr
from lm_eval_cora.report.text import table_as_text
from lm_eval_cora.sources import scores_of_rows


def print_scores(given: argparse.Namespace) -> None:
    """Print the metrics of a file of answers."""
    rows = read_answers(given.file, {column: getattr(given, column) for column in COLUMNS}, "--{} ")
    scores = scores_of_rows(rows)
    if given.json:
        counts = {"questions": scores.questions, "answers": scores.answers, "readers": rows.readers}
        print_json({**counts, "metrics": for_json(dict(scores)), "undefined": scores.undefined})
        return
    cells = [
        [name, f"{estimate.value:.4f}", "±", f"{estimate.stderr:.4f}".replace("nan", "N/A"), _interval(estimate)]
        for name, estimate in scores.items()
        if name not in scores.undefined
    ]
    print(table_as_text(["Metric", "Value", "", "Stderr", "95%"], cells))
    say(scores.size)
    for note in scores.remarks:
        say(note)


def _interval(estimate: Estimate) -> str:
    low, high = estimate.interval
    return "" if isnan(low) else f"[{low:.4f}, {high:.4f}]"


def print_answer(given: argparse.Namespace) -> None:
    """Print how one response is read, and why."""
    response = sys.stdin.read() if given.response is None else given.response
    answer = read_answer(response, given.options, format=given.format, reader=given.reader, cut_off=given.cut_off)
    if answer.reason is None:
        print(f"answer: {said(answer, given.format, given.options)}")
    else:
        print(f"no answer: {answer.reason}")
    if answer.rule:
        before, decided, after = around(response, answer.span)
        print(f"rule: {answer.rule}\n\n{before}>>>{decided}<<<{after}")
    for place in places(response, answer):
        print(f"  found {place}")


def print_guessing(given: argparse.Namespace) -> None:
    """Print what guessing achieves."""
    rate = 1 / given.options if given.rate is None else given.rate
    chances, rates = at_least(given.variants, rate), msgr(given.variants, given.certain)
    if given.json:
        rows = [
            {"at_least": p, "probability": float(chance), "msgr": float(least)}
            for p, (chance, least) in enumerate(zip(chances, rates, strict=True))
        ]
        print_json({"variants": given.variants, "rate": rate, "certain": given.certain, "rows": rows})
        return
    print(
        f"{given.variants} variants of a question, each answered correctly with probability {rate:.4g}.\n"
        "P(at least p): probability that at least p variants are correct.\n"
        f"MSGR(p): lowest success rate at which at least p variants are correct with probability {given.certain:g}.\n"
    )
    # Truncated instead of rounded, as in the paper's table.
    table: list[list[str | int]] = [
        [p, f"{chance:.7f}" if chance >= 1e-7 else f"{chance:.1e}", f"{floor(least * 1e4) / 1e4:.4f}"]
        for p, (chance, least) in enumerate(zip(chances, rates, strict=True))
    ]
    print(table_as_text(["p", "P(at least p)", "MSGR(p)"], table))
