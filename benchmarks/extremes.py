"""Lowest and highest accuracy of several kinds: the range by chance, tests, and coverage, on simulated models.

python benchmarks/extremes.py [--runs 400] [--questions 10 30 100 1000] [--tables coverage]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

import numpy as np

from lm_eval_cora.metrics import acc_max, acc_min, acc_range_by_chance, acc_range_p, differences_together
from lm_eval_cora.metrics.estimate import Estimate, mean_of
from lm_eval_cora.metrics.responses import ResponseTable

LEVEL = 0.05


class Model(NamedTuple):
    """A simulated model. Its answers to a question depend on a normal variable that they share.

    Attributes:
        accuracies: True accuracy of each kind.
        correlation: Correlation of the normal variables behind two answers to the same question.
        missing: Probability that a question lacks a kind. The first two kinds are always there.
        variants: Number of variants of each kind. A kind has a variable that its variants share, too.
        groups: Number of groups of kinds. The kinds of a group share a variable, so their answers are more alike.
    """

    accuracies: Sequence[float]
    correlation: float = 0.5
    missing: float = 0.0
    variants: int = 1
    groups: int = 0

    def answers(self, rng: np.random.Generator, questions: int) -> ResponseTable:
        """Answers to some questions."""
        kinds = len(self.accuracies) * self.variants
        limits = np.repeat([NormalDist().inv_cdf(accuracy) for accuracy in self.accuracies], self.variants)
        shared, own = rng.standard_normal((questions, 1)), rng.standard_normal((questions, kinds))
        if self.variants > 1 or self.groups:
            groups = np.arange(kinds) // self.variants * (self.groups or len(self.accuracies)) // len(self.accuracies)
            own = np.sqrt(0.8) * rng.standard_normal((questions, kinds))[:, groups] + np.sqrt(0.2) * own
        right = np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own < limits
        present = rng.random((questions, kinds)) >= self.missing
        present[:, :2] = True
        question, kind = np.nonzero(present)
        return ResponseTable.from_columns(
            [f"{number:06d}" for number in range(questions)],
            present.sum(axis=1),
            right[question, kind],
            kinds=[f"kind {number:02d}" for number in range(len(self.accuracies))],
            kind=kind // self.variants,
        )


def heading(title: str, *columns: str) -> None:
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def chance(runs: int, sizes: Sequence[int]) -> None:
    """The range of equally good kinds, and the range that is printed as expected by chance."""
    heading("Range of ten equally good kinds", "correlation", "accuracy", "questions", "mean range", "mean by chance")
    for correlation in (0.0, 0.5, 0.9):
        for accuracy in (0.8, 0.5):
            for questions in sizes:
                rng, model = np.random.default_rng(questions), Model([accuracy] * 10, correlation)
                tables = [model.answers(rng, questions) for _ in range(runs)]
                ranges = [(_range(table), acc_range_by_chance(table).value) for table in tables]
                row(correlation, accuracy, f"{questions:,}", *(f"{mean:.3f}" for mean in np.mean(ranges, axis=0)))


def _range(table: ResponseTable) -> float:
    """The range, without the bootstrap that `acc_range` shares with `acc_min`."""
    means = np.bincount(table.kind, table.correct) / np.bincount(table.kind)
    return float(np.ptp(means))


def tests(runs: int, sizes: Sequence[int]) -> None:
    """Level and power of Cochran's Q."""
    equal = {f"{g} equal kinds": Model([0.8] * g) for g in (2, 5, 10, 27)}
    models = {
        **equal,
        "10 equal kinds, accuracy 0.97, correlation 0.9": Model([0.97] * 10, 0.9),
        "10 equal kinds, 40% missing": Model([0.8] * 10, missing=0.4),
        "10 equal kinds in two groups that are more alike": Model([0.8] * 10, groups=2),
        "10 kinds, one 0.1 lower": Model([0.8] * 9 + [0.7]),
        "10 kinds from 0.75 to 0.85": Model(np.linspace(0.75, 0.85, 10).tolist()),
    }
    heading(f"Share of {runs:,} runs with acc_range_p <= {LEVEL}", "model", *(f"{n:,} questions" for n in sizes))
    for name, model in models.items():
        found = []
        for questions in sizes:
            rng = np.random.default_rng(questions)
            values = [acc_range_p(model.answers(rng, questions)).value <= LEVEL for _ in range(runs)]
            found.append(f"{np.mean(values):.3f}")
        row(name, *found)


def coverage(runs: int, sizes: Sequence[int]) -> None:
    """Share of the 95% intervals of acc_min and acc_max that contain the true value."""
    models = {
        "10 equal kinds": Model([0.8] * 10),
        "10 equal kinds, correlation 0.9": Model([0.8] * 10, 0.9),
        "10 kinds from 0.5 to 0.9": Model(np.linspace(0.5, 0.9, 10).tolist()),
        "27 equal kinds, accuracy 0.95": Model([0.95] * 27),
        "8 equal kinds, accuracy 0.97": Model([0.97] * 8),
        "8 equal kinds with 4 variants": Model([0.6] * 8, 0.1, variants=4),
        "8 equal kinds with 4 variants, accuracy 0.97": Model([0.97] * 8, variants=4),
        "5 equal kinds, 40% missing": Model([0.7] * 5, missing=0.4),
    }
    heading(f"Coverage of acc_min / acc_max, {runs:,} runs", "model", *(f"{n:,} questions" for n in sizes))
    for name, model in models.items():
        found = []
        for questions in sizes:
            rng, inside = np.random.default_rng(questions), np.zeros(2)
            for _ in range(runs):
                table = model.answers(rng, questions)
                ends = acc_min(table).interval, acc_max(table).interval
                truth = min(model.accuracies), max(model.accuracies)
                inside += [low <= true <= high for (low, high), true in zip(ends, truth, strict=True)]
            found.append(" / ".join(f"{share:.3f}" for share in inside / runs))
        row(name, *found)


def comparisons(runs: int, sizes: Sequence[int]) -> None:
    """Two models: the earlier interval of the difference of acc_min, and the intervals of all kinds together."""
    cases = {
        "same minimum, 8 equal kinds or 1 hard kind": (Model([0.6] * 8), Model([0.6] + [0.9] * 7)),
        "2 kinds": (Model([0.7] * 2), Model([0.8] * 2)),
        "8 kinds": (Model([0.7] * 8), Model([0.7] * 8)),
        "26 kinds": (Model([0.8] * 26), Model([0.85] * 26)),
    }
    heading(
        f"Differences of two models, {runs:,} runs",
        "case",
        "questions",
        "percentile interval of acc_min misses the true difference",
        "all intervals of the kinds hold",
    )
    for name, (one, other) in cases.items():
        truth = np.subtract(other.accuracies, one.accuracies)
        for questions in sizes:
            rng, missed, held = np.random.default_rng(questions), 0, 0
            for _ in range(runs):
                tables = one.answers(rng, questions), other.answers(rng, questions)
                low, high = _percentiles(rng, *tables)
                missed += not low <= min(other.accuracies) - min(one.accuracies) <= high
                found = differences_together(*map(_by_kind, tables))
                held += all(low <= true <= high for (*_, low, high), true in zip(found, truth, strict=True))
            row(name, f"{questions:,}", f"{missed / runs:.3f}", f"{held / runs:.3f}")


def _by_kind(table: ResponseTable) -> list[Estimate]:
    return [mean_of(column) for column in table.correct.reshape(len(table.sizes), -1).T.astype(np.float64)]


def _percentiles(rng: np.random.Generator, *tables: ResponseTable) -> tuple[float, float]:
    """The earlier interval: percentiles of the difference of acc_min in 1,000 bootstrap samples of the questions."""
    count = len(tables[0].sizes)
    weights = rng.multinomial(count, np.full(count, 1 / count), size=1_000)
    one, other = ((weights @ table.correct.reshape(count, -1) / count).min(axis=1) for table in tables)
    low, high = np.percentile(other - one, [2.5, 97.5])
    return float(low), float(high)


TABLES = {"chance": chance, "tests": tests, "coverage": coverage, "comparisons": comparisons}


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--questions", type=int, nargs="+", default=[10, 30, 100, 1_000])
    parser.add_argument("--chance", type=int, nargs="+", default=[100, 500, 2_340], help="sizes of the first table")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    arguments = parser.parse_args()
    for table in arguments.tables:
        TABLES[table](arguments.runs, arguments.chance if table == "chance" else arguments.questions)


if __name__ == "__main__":
    main()
