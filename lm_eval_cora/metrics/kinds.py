"""Accuracies of the kinds of variants as functions of the questions' weights, and their covariance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lm_eval_cora.responses import Bools, Floats, Ints, ResponseTable


class Kinds(NamedTuple):
    """What N questions contribute to the accuracies of G kinds.

    The accuracy of a kind is the mean of the baseline plus the mean of the deviations, over the questions that have the
    kind.

    Attributes:
        baseline: (N,) 0, or the mean of the question if the kinds are positions.
        deviations: (N, G) deviation of the kind from the baseline; 0 if the question does not have the kind.
        present: (N, G) 1 if the question has the kind, else 0.
    """

    baseline: Floats
    deviations: Floats
    present: Floats


class Category(NamedTuple):
    """The questions of a category, and where their variation is estimated.

    Attributes:
        members: Indices of its questions.
        alike: Indices of the questions whose variation is used: the same, or those of several small categories.
    """

    members: Ints
    alike: Ints


def kinds_of(table: ResponseTable, *, positions: bool = False) -> Kinds:
    """The contributions of the questions of a table.

    Example:
        >>> kinds_of(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])).deviations.tolist()
        [[1.0, 0.5], [1.0, 0.0]]
    """
    means, present = means_by_question(table, table.correct)
    baseline = means.sum(axis=1) / present.sum(axis=1) if positions else np.zeros(len(means))
    return Kinds(baseline, (means - baseline[:, None]) * present, present)


def means_by_question(table: ResponseTable, values: Bools) -> tuple[Floats, Floats]:
    """(N, kinds) mean of a value within question and kind, 0 if absent; (N, kinds) 1 if present, else 0."""
    shape = (len(table.sizes), len(table.kinds))
    cell = table.question * shape[1] + table.kind
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
    return sums / np.maximum(counts, 1), (counts > 0).astype(np.float64)


def categories_of(table: ResponseTable, *, macro: bool) -> list[Category]:
    """The categories over which accuracies are averaged: one of all questions, or those of the benchmark.

    The variation of a category with a single question is unknown. It is taken from the questions of all such
    categories, or, if there is only one, from it and the smallest other category.

    Example:
        >>> [category.members.tolist() for category in categories_of(ResponseTable.from_hits([[1], [0]]), macro=True)]
        [[0, 1]]
    """
    if not macro:
        everything = np.arange(len(table.sizes))
        return [Category(everything, everything)]
    names = np.array(table.categories)
    members = [np.flatnonzero(names == name) for name in sorted(set(table.categories))]
    single = [each for each in members if len(each) == 1]
    several = sorted((each for each in members if len(each) > 1), key=len)
    pool = np.concatenate([*single, *(several[:1] if len(single) == 1 else [])]) if single else np.array([], dtype=int)
    return [Category(each, each if len(each) > 1 else pool) for each in members]


def note_on_small_categories(table: ResponseTable) -> str:
    """Say that the variation of categories with a single question is pooled; empty if there are none.

    Example:
        >>> note_on_small_categories(ResponseTable.from_hits([[1], [0]]))
        ''
    """
    count = sum(len(category.members) == 1 for category in categories_of(table, macro=True))
    if not count or len(table.sizes) < 2:
        return ""
    return (
        f"{count} {'category has' if count == 1 else 'categories have'} one question. The errors of the macro metrics "
        "take their variation from questions of several categories"
    )


def accuracies(parts: Sequence[Kinds], members: Sequence[Ints], weights: Sequence[Floats]) -> Floats:
    """Accuracies of the kinds of one or more tables of the same questions, averaged over categories.

    Args:
        parts: The contributions from each table.
        members: Indices of the questions of each category.
        weights: (B, n) weights of these questions in B samples, for each category.

    Returns:
        (B, G) accuracies of all kinds; nan for a kind without a question of positive weight.
    """
    found = []
    for baseline, deviations, present in parts:
        with np.errstate(invalid="ignore"):
            shares = [(w @ deviations[m]) / (w @ present[m]) for m, w in zip(members, weights, strict=True)]
        base = [(w @ baseline[m]) / w.sum(axis=1) for m, w in zip(members, weights, strict=True)]
        found.append(np.mean(base, axis=0)[:, None] + _mean_of_defined(shares))
    return np.hstack(found)


def _mean_of_defined(parts: Sequence[Floats]) -> Floats:
    """Mean over the first axis of the values that are not nan; nan if all are."""
    defined = np.isfinite(parts)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(defined, parts, 0).sum(axis=0) / defined.sum(axis=0)
    return mean


def influence_on(parts: Sequence[Kinds], categories: Sequence[Category]) -> Floats:
    """(N, G) influence of each question on the accuracies of the kinds, averaged over categories.

    The influences are scaled so that their covariance / N is that of a stratified sample: the sum of s_c^2 / n_c over
    the categories, divided by the square of their number.

    Args:
        parts: The contributions of N questions from each table.
        categories: The categories.
    """
    return np.hstack([_influence_on(kinds, categories) for kinds in parts])


def _influence_on(kinds: Kinds, categories: Sequence[Category]) -> Floats:
    baseline, deviations, present = kinds
    count = len(baseline)
    have = np.array([present[category.members].any(axis=0) for category in categories])
    total: Floats = np.zeros(present.shape)
    for has, (members, alike) in zip(have, categories, strict=True):
        size, drawn = len(alike), len(members)
        if size < 2:
            continue
        on_base = (baseline[alike] - baseline[alike].mean())[:, None] / len(categories)
        number = np.maximum(present[alike].sum(axis=0), 1)
        shares = deviations[alike].sum(axis=0) / number
        on_shares = (deviations[alike] - shares * present[alike]) * (size / number)
        influence = on_base + on_shares * has / np.maximum(have.sum(axis=0), 1)
        total[alike] += influence * np.sqrt(count * (count - 1) / (drawn * (size - 1)))
    return total


def covariance_of(influence: Floats) -> Floats:
    """(G, G) covariance of G estimates from the influences of N questions on them, (N, G); N is at least 2.

    Example:
        >>> covariance_of(np.array([[1.0, 0.0], [-1.0, 0.0]])).tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """
    centred = influence - influence.mean(axis=0)
    covariance: Floats = centred.T @ centred / (len(influence) * (len(influence) - 1))
    return covariance
