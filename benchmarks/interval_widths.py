"""Coverage and width of the 95% intervals, on simulated models with realistic answers and on the edges.

A simulated model has a chance of being right for each question, and answers each variant by that chance. Its quantised
copy changes a few of these answers. Another size of its family has chances that are correlated with its own. The
coverage is the share of intervals that contain the true value. The width is relative to 2 x 1.96 standard deviations of
the value over samples. The former method is the value -+ 1.96 standard errors.

    python benchmarks/interval_widths.py [--samples 2000] [--questions 40 200 1000] [--truth 50000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from tqdm import tqdm

from lm_eval_cora.metrics.accuracy import acc, bmca, mcqa, mcqa_plus, mcqa_plus_diff
from lm_eval_cora.metrics.consistency import cora, core
from lm_eval_cora.metrics.estimate import IN_95_PERCENT, Estimate
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.metrics.responses import Bools, Floats, ResponseTable

Hits = list[Bools]
"""(N, variants) right answers of one or two models."""


class Population(NamedTuple):
    """Questions of a simulated model.

    Attributes:
        name: What is simulated.
        mean: Mean chance of a right answer.
        alike: How alike the answers to a question are, from 0 to 1: the correlation of two of them.
        variants: Number of variants of a question, the smallest and the largest.
        changed: Share of the answers that a quantised copy changes; right ones twice as often. 0 for another size.
        gain: How much better another size is, on the scale of the logits. 0 for a single model.
        keeps: How often each of two models keeps a known answer in a variant; the originals of known questions are
            right. Empty for the other models.
        worse: Share of the questions that another model answers worse, and how often it loses a right answer to them.
    """

    name: str
    mean: float
    alike: float
    variants: tuple[int, int] = (26, 26)
    changed: float = 0.0
    gain: float = 0.0
    keeps: tuple[float, ...] = ()
    worse: tuple[float, ...] = ()

    @property
    def is_pair(self) -> bool:
        """Whether there are two models."""
        return bool(self.changed or self.gain or self.keeps or self.worse)

    def drawn(self, questions: int, rng: np.random.Generator) -> tuple[Floats, Hits]:
        """(N,) numbers of variants, and the answers of the models; skipped variants are False."""
        many = 1 / self.alike - 1
        chances = rng.beta(self.mean * many, (1 - self.mean) * many, questions)
        sizes = rng.choice(self.variants, questions)
        asked = np.arange(max(self.variants)) < sizes[:, None]
        first = (rng.random(asked.shape) < chances[:, None]) & asked
        if self.keeps:
            known = rng.random((questions, 1)) < self.mean
            is_first = np.arange(asked.shape[1]) == 0
            return sizes, [known & asked & (is_first | (rng.random(asked.shape) < keeps)) for keeps in self.keeps]
        if self.worse:
            is_worse, loses = (
                rng.random(shape) < p for shape, p in zip(((questions, 1), asked.shape), self.worse, strict=True)
            )
            return sizes, [first, first & ~(is_worse & loses)]
        if self.changed:
            change = rng.random(asked.shape) < np.where(first, self.changed, self.changed / 2)
            return sizes, [first, (first ^ change) & asked]
        if self.gain:
            with np.errstate(divide="ignore"):
                logits = np.log(chances) - np.log1p(-chances) + self.gain + rng.normal(size=questions)
            return sizes, [first, (rng.random(asked.shape) < 1 / (1 + np.exp(-logits[:, None]))) & asked]
        return sizes, [first]


def table(sizes: Floats, hits: Bools) -> ResponseTable:
    """The answers as a table."""
    return ResponseTable.from_hits([row[:size] for row, size in zip(hits, sizes.tolist(), strict=True)])


METRICS: dict[str, Callable[[ResponseTable], Estimate]] = {
    "mcqa": mcqa,
    "bmca@1.0": partial(bmca, level=1.0),
    "acc": acc,
    "mcqa_plus": mcqa_plus,
    "mcqa_plus_diff": mcqa_plus_diff,
    "cora": cora,
    "core": core,
}

POPULATIONS = (
    Population("middle", 0.6, 0.5),
    Population("middle, 8 or 74 variants", 0.6, 0.5, (8, 74)),
    Population("consistent", 0.8, 0.9),
    Population("no consistent question", 0.5, 0.02),
    Population("nearly always right", 0.97, 0.4),
    Population("nearly always wrong", 0.02, 0.1),
    Population("quantised, 1% of the answers", 0.7, 0.6, changed=0.01),
    Population("quantised, 3% of 4 answers", 0.7, 0.6, (4, 4), changed=0.03),
    Population("quantised, 5%", 0.9, 0.6, (14, 14), changed=0.05),
    Population("keeps 95% and 98%", 0.75, 0.5, (8, 8), keeps=(0.95, 0.98)),
    Population("another size, close", 0.6, 0.6, gain=0.3),
    Population("another size, far", 0.4, 0.4, gain=1.5),
)


def estimates(population: Population, questions: int, rng: np.random.Generator) -> dict[str, list[Estimate]]:
    """The metrics of the models of a sample."""
    sizes, models = population.drawn(questions, rng)
    tables = [table(sizes, hits) for hits in models]
    return {name: [metric(each) for each in tables] for name, metric in METRICS.items()}


def value(found: Sequence[Estimate]) -> float:
    """The value of one model, or the difference of two."""
    return found[-1].value - (found[0].value if len(found) > 1 else 0.0)


def ends(found: Sequence[Estimate]) -> tuple[float, float, float]:
    """The ends of the interval, and the standard error."""
    if len(found) == 1:
        return *found[0].interval, found[0].stderr
    change = difference(*found)
    return change.low, change.high, change.stderr


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2_000, help="samples per row (default: 2000)")
    parser.add_argument("--questions", type=int, nargs="+", default=[40, 200, 1_000], help="numbers of questions")
    parser.add_argument("--truth", type=int, default=50_000, help="questions for the true values (default: 50000)")
    given = parser.parse_args()
    print("| of | questions | coverage: mean | lowest | in | width: mean | largest | former coverage: mean | lowest |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    found: dict[tuple[str, int], list[tuple[float, float, float, str]]] = {}
    for population in POPULATIONS:
        true = estimates(population, given.truth, np.random.default_rng(1))
        truth = {name: value(each) for name, each in true.items()}
        for questions in given.questions:
            rng = np.random.default_rng(questions)
            rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in METRICS}
            for _ in tqdm(range(given.samples), f"{population.name}, {questions}", leave=False, disable=None):
                for name, each in estimates(population, questions, rng).items():
                    rows[name].append((value(each), *ends(each)))
            for name, row in rows.items():
                values, low, high, error = np.array(row).T
                if not values.std():  # nothing to cover
                    continue
                held = ((low <= truth[name] + 1e-9) & (truth[name] - 1e-9 <= high)).mean()
                former = (abs(values - truth[name]) <= IN_95_PERCENT * error).mean()
                width = (high - low).mean() / (2 * IN_95_PERCENT * values.std())
                of = f"difference of {name}" if population.is_pair else name
                found.setdefault((of, questions), []).append((held, width, former, population.name))
    for of, questions in sorted(found, key=lambda key: key[0].startswith("difference")):
        held, width, former, names = zip(*found[of, questions], strict=True)
        cells = [np.mean(held), min(held), names[held.index(min(held))], np.mean(width), max(width)]
        cells += [np.mean(former), min(former)]
        shown = [cell if isinstance(cell, str) else f"{cell:.3f}" for cell in cells]
        print(f"| {of} | {questions:,} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
