"""`lm-eval-cora guess`."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from tests.support.programs import Cli
from tests.support.written import strict


def test_guessing_is_table_7(cli: Cli) -> None:
    tails = [
        sum(comb(10, j) * Fraction(1, 5) ** j * Fraction(4, 5) ** (10 - j) for j in range(p, 11)) for p in range(11)
    ]
    rows = [line.split("|") for line in cli.printed("guess").splitlines() if line.startswith("|")][2:]
    assert [float(row[2]) for row in rows] == pytest.approx([float(tail) for tail in tails], abs=5e-8)
    printed = [1, 0.89263, 0.62419, 0.32220, 0.12087, 0.03279, 0.00637, 0.00086, 0.000078, 0.0000042, 0.0000001]
    assert [float(row[2]) for row in rows] == pytest.approx(printed, abs=5e-6)
    found = strict(cli.printed("guess --json"))
    assert [row["probability"] for row in found["rows"]] == pytest.approx([float(tail) for tail in tails], rel=1e-12)
    assert (found["variants"], found["rate"]) == (10, 0.2)


@pytest.mark.parametrize(("variants", "rate"), [(1, 0), (26, 0.5), (26, 1), (26, 1e-300), (1_000, 0.2)])
def test_guessing_at_the_ends(variants: int, rate: float, cli: Cli) -> None:
    rows = strict(cli.printed(f"guess --variants {variants} --rate {rate} --json"))["rows"]
    assert len(rows) == variants + 1
    assert all(0 <= row["probability"] <= 1 and 0 <= row["msgr"] <= 1 for row in rows)
