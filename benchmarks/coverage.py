"""Coverage of the 95% intervals, accuracy of the standard errors, and level and power of the comparison of two models.

The populations form a grid of 300: `mcqa` from 0.02 to 1, the share of these questions that are right in all variants
from 0 to 1, and two distributions of the other answers. A sample has 10 to 10,000 questions. The former method is the
value +- 1.96 first-order standard errors, and McNemar's exact test.

    python benchmarks/coverage.py [--runs 400] [--populations 300] [--part errors coverage compare]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import comb, sqrt
from pathlib import Path

import numpy as np
from scipy.stats import betabinom, binom, multinomial

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.metrics.consistency import OUTCOMES
from lm_eval_cora.metrics.estimate import Estimate, mean_of, of_terms, product_of, ratio_of, share_of, standard_error
from lm_eval_cora.metrics.intervals import IN_95_PERCENT, wilson
from lm_eval_cora.metrics.paired import difference, mcnemar
from lm_eval_cora.metrics.terms import negated
from lm_eval_cora.responses import Floats

SIZES = (8, 14, 26, 74)
MCQA = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
KEPT = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
CORRELATED = (0.1, 0.7)

ALIKE = 0.6
"""Share of the questions on which the second model of a pair repeats the outcome of the first."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Population:
    """Questions of which a share m is right in the original, and a share r of these in all variants."""

    m: float
    r: float
    correlated: float

    @cached_property
    def outcomes(self) -> Floats:
        """(3,) probabilities: right in all variants, right in the original only, wrong in the original."""
        return np.array([self.m * self.r, self.m * (1 - self.r), 1 - self.m])

    @cached_property
    def rows(self) -> tuple[Floats, Floats]:
        """(U, 3) outcome, number of right answers and number of variants; (U,) their probabilities."""
        spread = 1 / self.correlated - 1
        rows, chances = [], []
        for size in SIZES:
            for outcome, chance in enumerate(self.outcomes):
                if outcome == 0:
                    hits, shares = np.array([size]), np.array([1.0])
                else:  # an original that is right adds one, and one variant at least is wrong
                    most = size - 2 if outcome == 1 else size - 1
                    hits = np.arange(most + 1) + (outcome == 1)
                    shares = betabinom.pmf(np.arange(most + 1), most, 0.6 * spread, 0.4 * spread)
                rows.append(np.stack([np.full(len(hits), outcome), hits, np.full(len(hits), size)], axis=1))
                chances.append(shares / shares.sum() * chance / len(SIZES))
        kept = np.concatenate(chances) > 0
        return np.concatenate(rows)[kept], np.concatenate(chances)[kept] / np.concatenate(chances)[kept].sum()


_ORDERED = [Population(m, r, correlated) for correlated in CORRELATED for r in KEPT for m in MCQA]

GRID = [_ORDERED[place] for place in np.random.default_rng(0).permutation(len(_ORDERED))]
"""The populations in random order, so that the first ones are a sample of the grid."""


def mcqa(rows: Floats) -> Estimate:
    """Share of originals that are right."""
    return share_of(rows[:, 0] < 2)


def bmca(rows: Floats) -> Estimate:
    """Share of questions that are right in all variants."""
    return share_of(rows[:, 0] == 0)


def cora(rows: Floats) -> Estimate:
    """Product of mcqa and ci."""
    first, second = OUTCOMES[rows[:, 0].astype(int)].T
    return product_of(first, second, OUTCOMES)


def core(rows: Floats) -> Estimate:
    """Area under the BMCA curve times its mean height."""
    reached = 10 * rows[:, 1] // rows[:, 2]
    extremes = np.array([[0.05, 0.0], [1.0, 1.0]])
    return product_of(np.minimum((reached + 0.5) / 10, 1.0), reached / 10, extremes)


def acc(rows: Floats) -> Estimate:
    """Pooled share of right answers; the questions have different numbers of variants."""
    return ratio_of(rows[:, 1].astype(float), rows[:, 2].astype(float))


def mcqa_plus(rows: Floats) -> Estimate:
    """Mean share of right answers."""
    return mean_of(rows[:, 1] / rows[:, 2])


def mcqa_plus_diff(rows: Floats) -> Estimate:
    """mcqa_plus - mcqa."""
    return mean_of(rows[:, 1] / rows[:, 2] - (rows[:, 0] < 2), between=(-1.0, 1.0))


METRICS: dict[str, Callable[[Floats], Estimate]] = {
    each.__name__: each for each in (mcqa, bmca, cora, core, acc, mcqa_plus, mcqa_plus_diff)
}


def truth(metric: Callable[[Floats], Estimate], *parts: tuple[Population, float]) -> float:
    """The true value of a metric in a mixture of populations."""
    rows = np.concatenate([population.rows[0] for population, _ in parts])
    chances = np.concatenate([share * population.rows[1] for population, share in parts])
    (term,) = metric(rows).terms
    return float(term.value(*(chances @ term.columns)))


def former(estimate: Estimate) -> Interval:
    """Value +- 1.96 first-order standard errors."""
    assert estimate.influence is not None
    half = IN_95_PERCENT * standard_error(estimate.influence)
    return estimate.value - half, estimate.value + half


def drawn(population: Population, questions: int, rng: np.random.Generator) -> Floats:
    """(N, 3) a sample."""
    rows, chances = population.rows
    return np.repeat(rows, rng.multinomial(questions, chances), axis=0)


def pair(one: Population, other: Population, alike: float, questions: int, rng: np.random.Generator) -> list[Floats]:
    """Two samples of the same questions. A share of them has the first model's answers in both."""
    before = one.rows[0][rng.choice(len(one.rows[1]), size=questions, p=one.rows[1])]
    rows, chances = other.rows
    after = before.copy()
    changes = rng.random(questions) >= alike
    for size in SIZES:  # the two have the same number of variants of a question
        places, of_size = np.flatnonzero(changes & (before[:, 2] == size)), rows[:, 2] == size
        chosen = rng.choice(of_size.sum(), size=len(places), p=chances[of_size] / chances[of_size].sum())
        after[places] = rows[of_size][chosen]
    return [before, after]


def partner(number: int) -> Population:
    """The population of the second model of a pair."""
    return GRID[(37 * number + 11) % len(GRID)]


def in_bootstrap(estimate: Estimate, rng: np.random.Generator, replicates: int) -> float:
    """Standard error from a bootstrap over questions, times sqrt(N / (N - 1))."""
    rows = np.hstack([term.columns for term in estimate.terms])
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    means = rng.multinomial(len(rows), counts / len(rows), size=replicates) / len(rows) @ distinct
    parts = [term.value(means[:, 2 * k], means[:, 2 * k + 1]) for k, term in enumerate(estimate.terms)]
    return float(np.std(np.sum(parts, axis=0))) * sqrt(len(rows) / (len(rows) - 1))


def paired(metric: Callable[[Floats], Estimate], samples: Sequence[Floats]) -> Estimate:
    """The difference of a metric as an estimate."""
    before, after = map(metric, samples)
    return of_terms(*after.terms, *negated(before.terms))


def errors(populations: Sequence[Population], replicates: int) -> None:
    """Print the ratio of the standard error to that of a bootstrap."""
    print(f"## Standard errors relative to a bootstrap with {replicates:,} replicates\n")
    print("| metric | N | samples | median | lowest | highest | former: lowest | former: highest |")
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(1)
    kinds: dict[str, Callable[[list[Floats]], Estimate]] = {
        **{name: lambda samples, metric=METRICS[name]: metric(samples[0]) for name in ("cora", "core", "acc")},
        **{
            f"difference of {name}": lambda samples, metric=METRICS[name]: paired(metric, samples)
            for name in ("cora", "acc")
        },
    }
    for name, estimate_of in kinds.items():
        for questions in (10, 30, 100, 1_000, 10_000):
            ratios, firsts = [], []
            for number, population in enumerate(populations):
                estimate = estimate_of(pair(population, partner(number), ALIKE, questions, rng))
                bootstrapped = in_bootstrap(estimate, rng, replicates)
                if bootstrapped > 1e-12:  # 0 if no question of the sample differs
                    ratios.append(estimate.stderr / bootstrapped)
                    firsts.append(standard_error(estimate.influence) / bootstrapped)
            print(
                f"| {name} | {questions:,} | {len(ratios)} | {np.median(ratios):.3f} | {min(ratios):.3f} | "
                f"{max(ratios):.3f} | {min(firsts):.3f} | {max(firsts):.3f} |",
                flush=True,
            )


@cache
def of_outcomes(counts: tuple[int, int, int]) -> tuple[Interval, Interval]:
    """The interval of cora, and the former one, for the numbers of questions of each outcome."""
    estimate = cora(np.repeat(np.arange(3.0), counts)[:, None])
    return estimate.interval, former(estimate)


def all_counts(questions: int) -> list[tuple[int, int, int]]:
    """All ways to divide questions into three outcomes."""
    return [(i, j, questions - i - j) for i in range(questions + 1) for j in range(questions + 1 - i)]


def is_inside(ends: Floats, truth: float) -> Floats:
    """Whether a value is inside intervals, (..., 2)."""
    return (ends[..., 0] <= truth + 1e-9) & (truth - 1e-9 <= ends[..., 1])


def exact(populations: Sequence[Population], questions: int, name: str) -> list[tuple[float, float]]:
    """Coverage of the two methods in each population, summed over all possible samples."""
    if name == "cora":
        cases = all_counts(questions)
        intervals = np.array([of_outcomes(counts) for counts in cases])
        chances = [multinomial.pmf(cases, questions, population.outcomes) for population in populations]
        truths = [p.m * (1 - p.m + p.m * p.r) for p in populations]
    else:
        shares = [p.m if name == "mcqa" else p.m * p.r for p in populations]
        hits = np.arange(questions + 1)
        half = IN_95_PERCENT * np.sqrt(hits / questions * (1 - hits / questions) / max(1, questions - 1))
        naive = np.stack([hits / questions - half, hits / questions + half], axis=1)
        intervals = np.stack([np.array([wilson(k, questions) for k in hits]), naive], axis=1)
        chances, truths = [binom.pmf(hits, questions, share) for share in shares], shares
    found = [chance @ is_inside(intervals, truth) for chance, truth in zip(chances, truths, strict=True)]
    return [(float(ours), float(old)) for ours, old in found]


def simulated(
    populations: Sequence[Population], questions: int, name: str, runs: int, rng: np.random.Generator
) -> Iterator[tuple[float, float]]:
    """Coverage of the two methods in each population, over simulated samples."""
    metric = METRICS[name.removeprefix("difference of ")]
    for number, population in enumerate(populations):
        other = partner(number)
        value = truth(metric, (population, 1.0))
        if name.startswith("difference"):
            value = truth(metric, (population, ALIKE), (other, 1 - ALIKE)) - value
        found = []
        for _ in range(runs):
            if name.startswith("difference"):
                before, after = map(metric, pair(population, other, ALIKE, questions, rng))
                change = difference(before, after)
                error = standard_error(after.influence - before.influence)
                old = (change.value - IN_95_PERCENT * error, change.value + IN_95_PERCENT * error)
                found.append(((change.low, change.high), old))
            else:
                estimate = metric(drawn(population, questions, rng))
                found.append((estimate.interval, former(estimate)))
        ours, old_share = is_inside(np.array(found), value).mean(axis=0)
        yield float(ours), float(old_share)


def coverage(populations: Sequence[Population], runs: int, sizes: Sequence[int]) -> None:
    """Print the coverage of the intervals."""
    print("\n## Coverage of 95% intervals\n")
    print(
        "| metric | N | populations | mean | lowest | in 0.93 to 0.97 | at least 0.93 | former: mean | former: lowest |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(2)
    simulated_names = [name for name in METRICS if name not in ("mcqa", "bmca", "cora")]
    names = [
        "mcqa",
        "bmca",
        "cora",
        *simulated_names,
        "difference of mcqa",
        "difference of cora",
        "difference of mcqa_plus",
    ]
    for name in names:
        for questions in sizes:
            if name in ("mcqa", "bmca") or (name == "cora" and questions <= 100):
                chosen = populations
                found = exact(chosen, questions, name)
            else:  # a fifth of the populations, each with all runs
                chosen = populations[: max(5, len(populations) // 5)]
                found = list(simulated(chosen, questions, name, runs, rng))
            ours, old = np.array(found).T
            inside = np.mean((ours >= 0.93) & (ours <= 0.97))
            print(
                f"| {name} | {questions:,} | {len(chosen)} | {ours.mean():.3f} | {ours.min():.3f} | {inside:.2f} | "
                f"{np.mean(ours >= 0.93):.2f} | {old.mean():.3f} | {old.min():.3f} |",
                flush=True,
            )


def exact_mcnemar(lost: int, gained: int) -> float:
    """The former test: the exact p-value."""
    changed = lost + gained
    tail = sum(comb(changed, k) for k in range(min(lost, gained) + 1)) / 2**changed if changed else 1.0
    return min(1.0, 2 * tail)


def compare(runs: int) -> None:
    """Print how often a comparison of two models says that they differ."""
    print("\n## Comparison of two models: share of runs that say they differ\n")
    print("| N | mcqa | cora | mcqa: mid-p | mcqa: interval | former: exact | cora: interval | former |")
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(3)
    base = Population(0.7, 0.4, 0.1)
    for questions in (30, 100, 1_000):
        for gain in (0.0, 0.05, 0.1, 0.2):
            other = Population(base.m + gain, base.r + gain, 0.1)
            said = []
            for _ in range(runs):
                samples = pair(base, other, 0.0, questions, rng)
                before, after = map(mcqa, samples)
                test, change = mcnemar(before, after), difference(before, after)
                assert test is not None
                of_cora = difference(*map(cora, samples))
                one, two = (cora(sample).influence for sample in samples)
                half = IN_95_PERCENT * standard_error(two - one)
                said.append(
                    (
                        test.p_value < 0.05,
                        not change.low <= 0 <= change.high,
                        exact_mcnemar(test.lost, test.gained) < 0.05,
                        not of_cora.low <= 0 <= of_cora.high,
                        abs(of_cora.value) > half,
                    )
                )
            gained = truth(cora, (other, 1.0)) - truth(cora, (base, 1.0))
            shares = " | ".join(f"{share:.3f}" for share in np.mean(said, axis=0))
            print(f"| {questions:,} | {gain:.2f} | {gained:.3f} | {shares} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400, help="samples of each population")
    parser.add_argument("--populations", type=int, default=len(GRID), help="how many of the grid (default: 300)")
    parser.add_argument("--sizes", type=int, nargs="+", default=(10, 40, 200, 1_273), help="questions of a sample")
    parser.add_argument("--replicates", type=int, default=20_000, help="bootstrap samples")
    parts = ("errors", "coverage", "compare")
    parser.add_argument("--part", nargs="+", choices=parts, default=parts)
    given = parser.parse_args()
    populations = GRID[: given.populations]
    if "errors" in given.part:
        errors(populations, given.replicates)
    if "coverage" in given.part:
        coverage(populations, given.runs, given.sizes)
    if "compare" in given.part:
        compare(given.runs)


if __name__ == "__main__":
    main()
