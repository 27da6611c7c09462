"""The command `guess`, which shows what guessing achieves."""

from __future__ import annotations

import argparse
from math import floor
from typing import Any

from lm_eval_cora.cli.arguments import add_command, add_json, between
from lm_eval_cora.cli.output import print_json
from lm_eval_cora.metrics.chance import CERTAIN, at_least, msgr
from lm_eval_cora.report.text import table_as_text


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "guess",
        print_guessing,
        "show what guessing achieves, and the minimum success guessing rate, MSGR (CoRA, appendix A)",
        "lm-eval-cora guess --options 5 --variants 10",
    )
    parser.add_argument("--options", type=between(2, 1_000_000), default=5, help="options per question (default: 5)")
    parser.add_argument("--variants", type=between(1, 1_000), default=10, help="variants per question (default: 10)")
    parser.add_argument("--rate", type=between(0, 1, float), help="chance of a correct answer (default: 1 / options)")
    parser.add_argument(
        "--certain",
        type=between(1e-9, 1 - 1e-9, float),
        default=CERTAIN,
        help=f"probability that counts as certain, for MSGR (default: {CERTAIN})",
    )
    add_json(parser)


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
