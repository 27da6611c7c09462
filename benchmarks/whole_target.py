"""Measure what --target whole:E needs: requests, and the coverage of its intervals for the full benchmark's value.

The 16 simulated models of request_counts.py answer a benchmark of fixed questions. Each simulated run asks them in
another random order, and the code of real runs decides how many originals are asked and how many right ones are
followed. The script compares four ways to know CoRA of the full benchmark within E at 95%:

- exact: `--stop exact` on everything; the value is exact
- two phases: `--target whole:E`
- random questions: whole questions with --stop exact, until the same interval (with the finite population correction)
  is narrow enough
- --target-stderr: whole questions with --stop exact, until the standard error about other questions is E / 1.96

    python benchmarks/whole_target.py [--runs 1000] [--models 16] [--questions 1273 14042] [--widths 0.01 0.02]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from benchmarks.request_counts import MODELS, outcomes
from lm_eval_cora.harness.rounds import FIRST_LOOK, Observed, Planned, cora_error, send, until_precise
from lm_eval_cora.harness.whole import first_sizes, is_narrow, next_sizes, possible_sizes
from lm_eval_cora.metrics.estimate import IN_95_PERCENT
from lm_eval_cora.metrics.stopping import Moments, Phases, estimate

TASK = "cora"


class Benchmark(NamedTuple):
    """A model's answers to all questions of a benchmark, (N,) each, in the order of a run.

    Attributes:
        right: Whether the original is right.
        always: Whether all variants are right.
        following: Number of requests for the other variants until the first miss.
    """

    right: Any
    always: Any
    following: Any

    @classmethod
    def of(cls, hits: Any) -> Benchmark:
        """The benchmark of a model that answers as in `hits`, (N, M), the original first."""
        misses = ~hits[:, 1:]
        always = hits.all(axis=1)
        following = np.where(always, misses.shape[1], misses.argmax(axis=1) + 1)
        return cls(hits[:, 0], always, np.where(hits[:, 0], following, 0))

    def ordered(self, rng: np.random.Generator) -> Benchmark:
        """The questions in a random order."""
        order = rng.permutation(len(self.right))
        return Benchmark(*(column[order] for column in self))

    @property
    def cora(self) -> float:
        """CoRA of the full benchmark."""
        m, b = self.right.mean(), self.always.mean()
        return float(m * (1 - m + b))


class Ended(NamedTuple):
    """The end of a simulated run.

    Attributes:
        requests: Number of requests.
        low: Lower end of the interval of cora.
        high: Upper end.
        value: The estimate.
        asked: Number of originals.
        followed: Number of followed questions.
        looks: Number of tests of the interval.
    """

    requests: int
    low: float
    high: float
    value: float
    asked: int
    followed: int
    looks: int


def two_phases(run: Benchmark, width: float) -> Ended:
    """Simulate `--target whole:E`."""
    questions = len(run.right)
    rights, places = np.cumsum(run.right), np.flatnonzero(run.right)
    always = np.concatenate([[0], np.cumsum(run.always[places])])
    following = np.concatenate([[0], np.cumsum(run.following[places])])
    sizes, followed, looks = first_sizes(questions), 0, 0
    while sizes is not None:
        looks += 1
        right = int(rights[sizes.asked - 1])
        followed = max(followed, min(right, sizes.followed))
        phases = Phases(questions, sizes.asked, right, followed, int(always[followed]))
        spent = int(following[followed])
        sizes = next_sizes(phases, (1.0, max(1.0, spent / max(1, followed))), width)
    return _ended(phases, phases.asked + spent, looks)


def random_questions(run: Benchmark, width: float) -> Ended:
    """Simulate a random sample of whole questions, with the same interval and the same test as `two_phases`."""
    questions = len(run.right)
    rights, always, spent = np.cumsum(run.right), np.cumsum(run.always), np.cumsum(1 + run.following)
    sizes = [size for size in possible_sizes(questions) if size >= FIRST_LOOK]
    for asked in sizes:
        right = int(rights[asked - 1])
        phases = Phases(questions, asked, right, right, int(always[asked - 1]))
        if phases.is_complete or is_narrow(phases, width):
            break
    return _ended(phases, int(spent[asked - 1]), sizes.index(asked) + 1)


def _ended(phases: Phases, requests: int, looks: int) -> Ended:
    found = estimate("cora", phases)
    return Ended(requests, *found.interval, found.value, phases.asked, phases.followed, looks)


def target_stderr(run: Benchmark, width: float) -> Ended:
    """Simulate `--target-stderr`, with the interval value +- 1.96 standard errors about other questions."""
    rights, always, spent = np.cumsum(run.right), np.cumsum(run.always), np.cumsum(1 + run.following)
    rounds = until_precise([Planned(TASK, "", 1)] * len(run.right), width / IN_95_PERCENT)
    batch, asked, looks = next(rounds, None), 0, 0
    while batch is not None:
        asked, looks = asked + len(batch), looks + 1
        right, full = int(rights[asked - 1]), int(always[asked - 1])
        found = Moments(asked, right=right, always=full)
        batch = send(rounds, Observed(int(spent[asked - 1]), {TASK: found}))
    value, half = right / asked * (asked - right + full) / asked, IN_95_PERCENT * cora_error(found)
    return Ended(int(spent[asked - 1]), value - half, value + half, value, asked, right, looks)


WAYS: dict[str, Callable[[Benchmark, float], Ended]] = {
    "two phases": two_phases,
    "random questions": random_questions,
    "--target-stderr": target_stderr,
}


def simulate(benchmark: Benchmark, width: float, runs: int) -> Iterator[dict[str, float]]:
    """Simulate runs in each way; yield the mean requests and others, and the coverage of the value."""
    for way in WAYS.values():
        rng = np.random.default_rng(0)
        ended = [way(benchmark.ordered(rng), width) for _ in range(runs)]
        inside = [one.low - 1e-9 <= benchmark.cora <= one.high + 1e-9 for one in ended]
        yield {
            "coverage": float(np.mean(inside)),
            "bias": float(np.mean([one.value for one in ended])) - benchmark.cora,
            **{name: float(np.mean([getattr(one, name) for one in ended])) for name in Ended._fields},
        }


def main() -> None:
    """Print a table for each size of the benchmark and each width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--models", type=int, default=len(MODELS), help="number of simulated models (default: all)")
    parser.add_argument("--questions", type=int, nargs="+", default=[1_273, 14_042])
    parser.add_argument("--widths", type=float, nargs="+", default=[0.01, 0.02])
    given = parser.parse_args()
    for questions, width in product(given.questions, given.widths):
        print(f"\n{questions:,} questions, ± {width:g} at 95%, {given.runs:,} runs each: requests (coverage)\n")
        print("| model | cora | exact | two phases | originals, followed | rounds | bias | random | --target-stderr |")
        print("|---|---|---|---|---|---|---|---|---|")
        saved: list[list[float]] = []
        covered: list[list[float]] = []
        for name, levels in list(MODELS.items())[: given.models]:
            benchmark = Benchmark.of(outcomes(*levels, questions))
            exact = int(questions + benchmark.following.sum())
            found = list(simulate(benchmark, width, given.runs))
            cells = [f"{one['requests']:,.0f} ({one['coverage']:.3f})" for one in found]
            saved.append([one["requests"] / exact for one in found])
            covered.append([one["coverage"] for one in found])
            first = found[0]
            print(
                f"| {name} | {benchmark.cora:.3f} | {exact:,} | {cells[0]} | {first['asked']:,.0f}, "
                f"{first['followed']:,.0f} | {first['looks']:.0f} | {first['bias']:+.4f} | {cells[1]} | {cells[2]} |",
                flush=True,
            )
        shares = [geometric_mean(column) for column in zip(*saved, strict=True)]
        inside = [float(np.mean(column)) for column in zip(*covered, strict=True)]
        means = [f"{share:.2f} ({coverage:.3f})" for share, coverage in zip(shares, inside, strict=True)]
        print(f"| share of exact, geometric mean | | 1 | {means[0]} | | | | {means[1]} | {means[2]} |")


if __name__ == "__main__":
    main()
