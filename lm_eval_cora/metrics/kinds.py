"""Accuracies of the kinds of variants as functions of the questions' weights, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate, of_influence
from lm_eval_cora.metrics.responses import Bools, Floats, Ints, ResponseTable

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

    @classmethod
    def of(cls, table: ResponseTable, *, positions: bool = False, macro: bool = False) -> KindAccuracies:
        """Make the accuracies of the kinds of a table."""
        return cls([Contributions.of(table, positions=positions)], strata_of(table, macro=macro))

    @property
    def questions(self) -> int:
        """Number of questions, N."""
        return len(self.parts[0].baseline)

    def values(self, weights: Sequence[Floats] | None = None) -> Floats:
        """(B, G) accuracies with B weights for the questions of each stratum; without weights (1, G)."""
        weights = [np.ones((1, sum(map(len, stratum)))) for stratum in self.strata] if weights is None else weights
        return np.hstack([self._values(part, weights) for part in self.parts])

    def _values(self, part: Contributions, weights: Sequence[Floats]) -> Floats:
        base = np.zeros(len(weights[0]))
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
            mean: Floats = (base / sum(map(len, self.strata)))[:, None] + shares / np.where(have > 0, have, np.nan)
        return mean

    def influence(self) -> Floats:
        """(N, G) influence of each question on the accuracies; their covariance / N is that of a stratified sample."""
        return np.hstack([self._influence(part) for part in self.parts])

    def _influence(self, part: Contributions) -> Floats:
        categories = [members for stratum in self.strata for members in stratum]
        have = np.maximum(_have(part, categories).sum(axis=0), 1)
        total: Floats = np.zeros(part.present.shape)
        for stratum in self.strata:
            on_base, on_shares = _residuals(part, stratum)
            influence = on_base[:, None] / len(categories) + on_shares / have
            total[np.concatenate(stratum)] = influence * np.sqrt(
                self.questions * (self.questions - 1) / (len(on_base) - 1)
            )
        return total

    def trials(self) -> Floats:
        """(G,) number of questions that have each kind.

        With C categories, it is the size of a simple sample with the same variance of a mean, if all questions vary
        alike: C^2 / sum 1 / n_c.
        """
        trials = []
        for part in self.parts:
            counts = np.array([part.present[members].sum(axis=0) for stratum in self.strata for members in stratum])
            inverse = np.where(counts > 0, 1 / np.maximum(counts, 1), 0).sum(axis=0)
            trials.append((counts > 0).sum(axis=0) ** 2 / np.maximum(inverse, 1e-300))
        return np.concatenate(trials)

    def estimates(self) -> list[Estimate]:
        """The accuracies as Estimates."""
        values = self.values()[0].tolist()
        if self.questions < 2:
            return [Estimate(value, nan) for value in values]
        kinds = zip(values, self.influence().T, self.trials().tolist(), strict=True)
        return [of_influence(value, influence, questions=trials) for value, influence, trials in kinds]


def _means(part: Contributions, members: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """(B,) mean of the baseline; (B, G) mean of the deviations, nan without a question of positive weight."""
    baseline, deviations, present = (each[members] for each in part)
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
    """One category of all questions, or those of the benchmark; single questions are pooled, see `macro_acc`."""
    if not macro:
        return [[np.arange(len(table.sizes))]]
    names = np.array(table.categories)
    members = sorted((np.flatnonzero(names == name) for name in sorted(set(table.categories))), key=len)
    single = sum(len(each) == 1 for each in members)
    pooled = 2 if single == 1 else single
    return [*([members[:pooled]] if pooled else []), *([each] for each in members[pooled:])]


def note_on_small_categories(table: ResponseTable) -> str:
    """Say that the variation of categories with a single question is pooled; empty if there are none."""
    count = sum(len(members) == 1 for stratum in strata_of(table, macro=True) for members in stratum)
    if not count or len(table.sizes) < 2:
        return ""
    return (
        f"{count} {'category has' if count == 1 else 'categories have'} one question. The errors of the macro metrics "
        "take their variation from questions of several categories"
    )


def covariance_of(influence: Floats) -> Floats:
    """(G, G) covariance of G estimates from the influences of N questions on them, (N, G); N is at least 2."""
    centred = influence - influence.mean(axis=0)
    covariance: Floats = centred.T @ centred / (len(influence) * (len(influence) - 1))
    return covariance
