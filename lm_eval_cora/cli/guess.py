"""Show what guessing achieves, and the minimum success guessing rate, MSGR (CoRA, appendix A).

lm-eval-cora guess --options 5 --variants 10
"""

from math import floor

from lm_eval_cora.cli.console import Given, Parser, between, write_json
from lm_eval_cora.metrics.ablation import CERTAIN, at_least, msgr
from lm_eval_cora.report.text import table_as_text


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.argument("--options", None, "options per question (default: 5)", type=between(2, 1_000_000), default=5)
    parser.argument("--variants", None, "variants per question (default: 10)", type=between(1, 1_000), default=10)
    parser.argument("--rate", None, "chance of a correct answer (default: 1 / options)", type=between(0, 1, float))
    parser.argument(
        "--certain",
        None,
        f"probability that counts as certain, for MSGR (default: {CERTAIN})",
        type=between(1e-9, 1 - 1e-9, float),
        default=CERTAIN,
    )
    parser.shared("json")


def run(given: Given) -> None:
    """Print what guessing achieves."""
    rate = 1 / given.options if given.rate is None else given.rate
    rows = list(zip(at_least(given.variants, rate), msgr(given.variants, given.certain), strict=True))
    if given.json:
        keys = ("at_least", "probability", "msgr")
        values = [dict(zip(keys, (p, *map(float, row)), strict=True)) for p, row in enumerate(rows)]
        write_json({"variants": given.variants, "rate": rate, "certain": given.certain, "rows": values})
        return
    print(
        f"{given.variants} variants of a question, each answered correctly with probability {rate:.4g}.\n"
        "P(at least p): probability that at least p variants are correct.\n"
        f"MSGR(p): lowest success rate at which at least p variants are correct with probability {given.certain:g}.\n"
    )
    # Truncated instead of rounded, as in the paper's table.
    cells: list[list[str | int]] = [
        [p, f"{chance:.7f}" if chance >= 1e-7 else f"{chance:.1e}", f"{floor(least * 1e4) / 1e4:.4f}"]
        for p, (chance, least) in enumerate(rows)
    ]
    print(table_as_text(["p", "P(at least p)", "MSGR(p)"], cells))
