"""Time `lm_eval_cora.score` on a table of 100,000 answers, compared with plain Python loops that compute the same.

python benchmarks/tables.py [--questions 3847]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

import numpy as np
import pandas as pd
from metrics import seconds  # beside this file

import lm_eval_cora as cora

VARIANTS = 26


def table(questions: int) -> pd.DataFrame:
    """Return random answers: 80% right, in random order."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "question": np.repeat(np.arange(questions), VARIANTS),
            "variant": np.tile(np.arange(VARIANTS), questions),
            "correct": rng.random(questions * VARIANTS) < 0.8,
        }
    )
    frame["original"] = frame.variant == 0
    frame["picked"] = np.where(frame.correct, "a", rng.choice(list("bcd"), len(frame)))
    return frame.sample(frac=1, random_state=1)


def by_loops(frame: pd.DataFrame) -> float:
    """Compute CoRA with plain loops."""
    answers: dict[int, list[dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        answers.setdefault(row["question"], []).append(row)
    originals = [any(row["correct"] and row["original"] for row in rows) for rows in answers.values()]
    whole = [all(row["correct"] for row in rows) for rows in answers.values()]
    accuracy, consistent = sum(originals) / len(answers), sum(whole) / len(answers)
    return accuracy * (1 - accuracy + consistent)


def main() -> None:
    """Time both, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=3_847, help="with 26 variants each (default: 3,847)")
    frame = table(parser.parse_args().questions)
    right = frame.drop(columns="picked")
    printed = frame.assign(printed=[list("abcd")] * len(frame))
    assert cora.score(frame)["cora"].value == by_loops(frame)
    loops = seconds(lambda: by_loops(right), repeats=5)
    print(f"{len(frame):,} rows, median of 5; cora alone by plain loops takes {loops:.3f} s")
    for name, data in (("right or wrong", right), ("with picks", frame), ("with picks and options", printed)):
        one = seconds(lambda data=data: cora.score(data)["cora"], repeats=5)
        every = seconds(lambda data=data: dict(cora.score(data)), repeats=5)
        print(f"{name:<24} cora {one:6.3f} s ({one / loops:.2f} of the loops)   all metrics {every:6.3f} s")
    rows = right.to_dict("records")
    one = seconds(lambda: cora.score(rows)["cora"], repeats=5)
    print(f"{'a list of dicts':<24} cora {one:6.3f} s ({one / loops:.2f} of the loops)")


if __name__ == "__main__":
    main()
