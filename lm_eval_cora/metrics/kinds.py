"""Accuracies of the kinds of variants as functions of the questions' weights, their errors, and normal draws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import IN_95_PERCENT, Estimate, degrees_of, equal_units, left_out, of_influence
from lm_eval_cora.metrics.responses import Bools, Floats, Ints, ResponseTable

FEW_CLUSTERS = 20  # with fewer, a cluster-robust error is uncertain itself
_SAMPLES = 20_000
Stratum = Sequence[Ints]  # question indices of one category, or of several categories that share one variance


class Contributions(NamedTuple):
    """What N questions contribute to the accuracies of G kinds: mean of the baseline + mean of the deviations.

    The baseline, (N,), is 0, or the mean of the question if the kinds are positions. The deviations, (N, G), are those
    of the questions that have the kind: `present`, (N, G), is 1, else 0.
    """

    baseline: Floats
    deviations: Floats
    present: Floats

    @classmethod
    def of(cls, table: ResponseTable, *, positions: bool = False) -> Contributions:
        """Make the contributions of the questions of a table."""
        means, present = means_by_question(table, table.correct)
        baseline = means.sum(axis=1) / present.sum(axis=1) if positions else np.zeros(len(means))
        return cls(baseline, (means - baseline[:, None]) * present, present)


class KindAccuracies(NamedTuple):
    """Accuracies of the G kinds of one or more tables of the same N questions, averaged over categories."""

    parts: Sequence[Contributions]
    strata: Sequence[Stratum]
    cluster: Ints | None = None  # (N,) the number of each question's cluster

    @classmethod
    def of(cls, table: ResponseTable, *, positions: bool = False, macro: bool = False) -> KindAccuracies:
        """Make the accuracies of the kinds of a table."""
        return cls([Contributions.of(table, positions=positions)], strata_of(table, macro=macro), table.cluster)

    @property
    def units(self) -> int:
        """Number of clusters; of questions, N, if they are not in clusters."""
        return len(self.parts[0].baseline) if self.cluster is None else int(self.cluster.max()) + 1

    @property
    def effective(self) -> float:
        """Effective number of clusters, see `equal_units`; 0 if the questions are not in clusters."""
        return 0.0 if self.cluster is None else float(equal_units(np.bincount(self.cluster)))

    @property
    def unit(self) -> list[Ints]:
        """The units of the questions of each stratum, numbered from 0."""
        members = [np.concatenate(stratum) for stratum in self.strata]
        if self.cluster is None:
            return [np.arange(len(each)) for each in members]
        return [np.unique(self.cluster[each], return_inverse=True)[1].reshape(-1) for each in members]

    def values(self, weights: Sequence[Floats] | None = None) -> Floats:
        """(B, G) accuracies with B weights for the questions of each stratum; without weights (1, G)."""
        weights = [np.ones((1, sum(map(len, stratum)))) for stratum in self.strata] if weights is None else weights
        return np.hstack([self._values(part, weights) for part in self.parts])

    def _values(self, part: Contributions, weights: Sequence[Floats]) -> Floats:
        base: Floats = np.zeros(len(weights[0]))
        shares, have = (np.zeros((len(base), part.present.shape[1])) for _ in range(2))
        for stratum, weight in zip(self.strata, weights, strict=True):
            if len(stratum) == 1:
                means = [_means(part, stratum[0], weight)]
            else:  # the sum of the accuracies varies as much as those of the strata would
                means = [_means(part, members, np.ones((1, len(members)))) for members in stratum]
                on_base, on_shares = _residuals(part, stratum)
                scale = np.sqrt(len(on_base)) / weight.sum(axis=1)
                base = base + weight @ on_base * scale
                shares = shares + weight @ on_shares * scale[:, None]
            for of_base, of_shares in means:
                defined = ~np.isnan(of_shares)
                base, shares, have = base + of_base, shares + np.where(defined, of_shares, 0), have + defined
        with np.errstate(invalid="ignore"):
            mean: Floats = (base / sum(map(len, self.strata)))[:, None] + shares / np.where(have > 0, have, nan)
        return mean

    def influence(self) -> Floats:
        """(units, G) influence of each unit on the accuracies; their covariance / N is that of a stratified sample."""
        return np.hstack([self._influence(part) for part in self.parts])

    def _influence(self, part: Contributions) -> Floats:
        categories = [members for stratum in self.strata for members in stratum]
        have = np.maximum(_have(part, categories).sum(axis=0), 1)
        total: Floats = np.zeros((self.units, part.present.shape[1]))
        for stratum, unit in zip(self.strata, self.unit, strict=True):
            on_base, on_shares = _residuals(part, stratum)
            influence = on_base[:, None] / len(categories) + on_shares / have
            members, sizes = np.concatenate(stratum), np.bincount(unit)
            inside, count = len(sizes), len(unit)
            scale = np.sqrt(self.units * (self.units - 1) / (inside - 1) * (inside / count))
            influence *= (scale * left_out(sizes, inside))[unit, None]
            np.add.at(total, members if self.cluster is None else self.cluster[members], influence)
        return total

    def draws(self) -> Floats:
        """(20000, G) normal variables with the covariance of the accuracies."""
        return normal_draws(covariance_of(self.influence()))

    def trials(self) -> Floats:
        """(G,) number of questions that have each kind; of clusters, see `equal_units`.

        With C categories, it is the size of a simple sample with the same variance of a mean, if all units vary alike:
        C^2 / sum 1 / n_c.
        """
        trials = []
        for part in self.parts:
            counts = np.array([self._effective_units(part, members) for stratum in self.strata for members in stratum])
            inverse = np.where(counts > 0, 1 / np.maximum(counts, 1), 0).sum(axis=0)
            trials.append((counts > 0).sum(axis=0) ** 2 / np.maximum(inverse, 1e-300))
        return np.concatenate(trials)

    def _effective_units(self, part: Contributions, members: Ints) -> Floats:
        """(G,) number of units of equal size that vary as much as the questions of a category with each kind."""
        present = part.present[members]
        return equal_units(present if self.cluster is None else sums_of(self.cluster[members], present))

    def estimates(self) -> list[Estimate]:
        """The accuracies as Estimates."""
        values = self.values()[0].tolist()
        if self.units < 2:
            return [Estimate(value, nan) for value in values]
        kinds = zip(values, self.influence().T, self.trials().tolist(), strict=True)
        units = self.effective
        return [of_influence(value, influence, questions=trials, units=units) for value, influence, trials in kinds]


def sums_of(groups: Ints, values: Floats) -> Floats:
    """(G, kinds) sums of the rows of each group, numbered from 0."""
    sums = np.zeros((int(groups.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, groups, values)
    return sums


def _means(part: Contributions, members: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """(B,) mean of the baseline; (B, G) mean of the deviations, nan without a question of positive weight."""
    is_whole = len(members) == len(part.baseline)  # then a copy for each call would take a third of the time
    baseline, deviations, present = part if is_whole else (each[members] for each in part)
    total = weights.sum(axis=1)
    number = total[:, None] if present.all() else weights @ present
    with np.errstate(invalid="ignore"):
        return (weights @ baseline) / total, (weights @ deviations) / number


def _residuals(part: Contributions, stratum: Stratum) -> tuple[Floats, Floats]:
    """(n,) and (n, G): centred contributions of the n questions to the sums over categories of their means.

    The sums of squares / (n - 1) are sum s^2 / n_c, with the variance s^2 of all n questions.
    """
    inside = np.concatenate(stratum)
    baseline, deviations, present = (each[inside] for each in part)
    number = present.sum(axis=0)
    share = deviations.sum(axis=0) / np.maximum(number, 1)
    scale = np.sqrt([1 / len(members) for members in stratum] @ _have(part, stratum))
    on_base = (baseline - baseline.mean()) * np.sqrt(sum(1 / len(members) for members in stratum))
    return on_base, (deviations - share * present) * (len(inside) / np.maximum(number, 1)) * scale


def _have(part: Contributions, categories: Sequence[Ints]) -> Bools:
    """(C, G) whether a category has a question with a kind."""
    return np.array([part.present[members].any(axis=0) for members in categories])


def means_by_question(table: ResponseTable, values: Bools) -> tuple[Floats, Floats]:
    """(N, kinds) mean of a value within question and kind, 0 if absent; (N, kinds) 1 if present, else 0."""
    shape = (len(table.sizes), len(table.kinds))
    cell = table.question * shape[1] + table.kind
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
    return sums / np.maximum(counts, 1), (counts > 0).astype(np.float64)


def original_kinds(table: ResponseTable) -> set[str]:
    """Names of the kinds that consist of originals only, such as `original`."""
    others = np.bincount(table.kind[~table.original], minlength=len(table.kinds))
    return {kind for kind, count in zip(table.kinds, others, strict=True) if not count}


def strata_of(table: ResponseTable, *, macro: bool) -> list[Stratum]:
    """One category of all questions, or those of the benchmark; those with one unit are pooled, see `macro_acc`."""
    if not macro:
        return [[np.arange(len(table.sizes))]]
    names, unit = np.array(table.categories), table.unit
    members = [np.flatnonzero(names == name) for name in sorted(set(table.categories))]
    members.sort(key=lambda each: (np.ptp(unit[each]) > 0, len(each)))
    pooled = sum(np.ptp(unit[each]) == 0 for each in members)
    while 0 < pooled < len(members) and np.ptp(unit[np.concatenate(members[:pooled])]) == 0:
        pooled += 1
    return [stratum for stratum in (members[:pooled], *([each] for each in members[pooled:])) if stratum]


def note_on_small_categories(table: ResponseTable) -> str:
    """Say that the variation of categories with a single question or cluster is pooled; empty if there are none."""
    count = sum(np.ptp(table.unit[members]) == 0 for each in strata_of(table, macro=True) for members in each)
    if not count or table.units < 2:
        return ""
    what = "question" if table.cluster is None else "cluster of questions"
    return (
        f"{count} {'category has' if count == 1 else 'categories have'} one {what}. The errors of the macro "
        "metrics take their variation from questions of several categories"
    )


def note_on_few_clusters(table: ResponseTable) -> str:
    """Say that there are few clusters; empty if there are enough, or none."""
    if table.cluster is None or (units := table.effective) >= FEW_CLUSTERS:
        return ""
    if table.units < 2:
        return f"{table.size}: without a second one, no error is known"
    few = "are few" if units == table.units else f"count as {units:.1f} of equal size, which are few"
    return (
        f"{table.size} {few}: intervals use Student's t distribution with {degrees_of(units):.3g} degrees of "
        "freedom, and may still be too short"
    )


def covariance_of(influence: Floats) -> Floats:
    """(G, G) covariance of G estimates from the influences of N questions on them, (N, G); N is at least 2."""
    centred = influence - influence.mean(axis=0)
    covariance: Floats = centred.T @ centred / (len(influence) * (len(influence) - 1))
    return covariance


def critical_value(influence: Floats) -> float:
    """95% quantile of the largest absolute value of G standardised estimates, if all are 0 on average; at least 1.96.

    (N, G) are the influences of N questions on them.
    """
    covariance = covariance_of(influence)
    errors = np.sqrt(np.diag(covariance))
    errors[errors == 0] = 1.0
    correlation = covariance / np.outer(errors, errors)
    np.fill_diagonal(correlation, 1.0)  # an estimate without variation in the sample may vary in the population
    largest = np.abs(normal_draws(correlation)).max(axis=1)
    return max(IN_95_PERCENT, float(np.quantile(largest, 0.95)))


def normal_draws(covariance: Floats) -> Floats:
    """(20000, G) normal variables with a covariance, (G, G), from a fixed seed."""
    size, total = len(covariance), float(np.trace(covariance))
    if not total:
        return np.zeros((_SAMPLES, size))
    root = np.linalg.cholesky(covariance / total + 1e-10 * np.eye(size))
    draws: Floats = _standard_normal(size) @ root.T * np.sqrt(total)
    return draws


@lru_cache(maxsize=4)
def _standard_normal(size: int) -> Floats:
    """(20000, size) independent standard normal variables from a fixed seed."""
    return np.random.default_rng(0).standard_normal((_SAMPLES, size))
