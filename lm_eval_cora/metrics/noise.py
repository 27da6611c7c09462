"""Noise: how often a model answers the same prompt differently, beside how often it answers a changed one differently.

A server, or a model in bfloat16, may answer the same prompt differently. That looks like sensitivity to the options.
The option `repeats` asks the original again, unchanged. No other metric uses these answers.
"""

from __future__ import annotations

from math import isnan

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, mean_of
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.responses import INVALID, NO_PICK, ResponseTable, contains

__all__ = ["changed_picks", "noise"]


@metric("Share of pairs of equal prompts, the original and its repeats, that get different picks.")
def noise(table: ResponseTable) -> Estimate:
    """Share of pairs of equal prompts, the original and its repeats, that get different picks.

    With k repeats a question has k (k + 1) / 2 pairs; the share is the mean over questions. Two invalid answers do not
    differ, because both pick nothing. If each answer changes with the probability q to any of the A - 1 other options,
    the share is 1 - (1 - q)^2 - q^2 / (A - 1) on average.
    Range: 0 to 1; nan without repeats. Source: ours.

    Example:
        >>> table = ResponseTable.from_hits([[1, 0], [1, 1]], noise=np.array([0.0, 1 / 3]))
        >>> round(noise(table).value, 4)
        0.1667
    """
    return mean_of(table.noise, np.isfinite(table.noise))


@metric("Share of changed prompts with another pick than the original, of those that print both picks.")
def changed_picks(table: ResponseTable) -> Estimate:
    """Share of changed prompts that get another pick than the original: `noise` plus sensitivity to the change.

    A variant counts if both print the pick of the other. Two invalid answers do not differ, one alone does, as in
    `noise`. The share is the mean over questions of the share within the question.
    Range: 0 to 1; nan if a question has no original, or if no question has a variant that counts. Source: ours.

    Example:
        >>> changed_picks(ResponseTable.from_hits([[1, 0, 1], [1, 1, 1]])).value
        0.25
    """
    if table.original_correct is None:
        return UNDEFINED
    first = np.flatnonzero(table.original)[table.question]  # the original of each record's question
    picks, both = table.picked, ~table.original & ~table.skipped & ~table.skipped[first]
    counts = both & (picks != NO_PICK) & (picks[first] != NO_PICK)
    for sets, pick in ((table.printed, picks[first]), (table.printed[first], picks)):
        counts &= contains(sets, pick) | (pick == INVALID)
    differs = counts & (picks != picks[first])
    written = both & table.written & table.written[first]
    equal = table.invalid & table.invalid[first]
    for one, other in (table.pairs.T, table.pairs.T[::-1]):  # equivalent answers
        equal[one] |= first[one] == other
    differs |= written & ~equal
    total = table.sum_by_question(counts | written)
    shares = table.sum_by_question(differs) / np.maximum(total, 1)
    return mean_of(shares, total > 0)


def describe_noise(table: ResponseTable) -> str:
    """Say how much of the inconsistency is noise; empty without repeats."""
    equal, changed = noise(table).value, changed_picks(table).value
    if isnan(equal):
        return ""
    if not equal:
        return "equal prompts always got the same pick, so none of the inconsistency is noise"
    told = f"equal prompts got different picks in {equal:.1%} of the pairs"
    if not changed > 0:
        return told
    return f"{told}, changed prompts in {changed:.1%}: noise explains about {min(1, equal / changed):.0%} of that"
