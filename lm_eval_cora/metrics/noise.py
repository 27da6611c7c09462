"""Noise: how often a model answers the same prompt differently, beside how often it answers a changed one differently.

A server, or a model in bfloat16, may answer the same prompt differently. That looks like sensitivity to the options.
The option `repeats` asks the original again, unchanged. No other metric uses these answers.
"""

from __future__ import annotations

from math import isnan

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.responses import NO_PICK, ResponseTable

__all__ = ["changed_picks", "noise"]


@metric("Share of pairs of equal prompts, the original and its repeats, that get different picks.", needs=("noise",))
def noise(table: ResponseTable) -> Estimate:
    """Share of pairs of equal prompts, the original and its repeats, that get different picks.

    With k repeats a question has k (k + 1) / 2 pairs; the share is the mean over questions. An invalid answer differs
    from every answer, as in `consistency_rate`. If each answer changes with the probability q to any of the A - 1 other
    options, the share is 1 - (1 - q)^2 - q^2 / (A - 1) on average.
    Range: 0 to 1; nan without repeats. Source: ours.

    Example:
        >>> table = ResponseTable.from_hits([[1, 0], [1, 1]], noise=np.array([0.0, 1 / 3]))
        >>> round(noise(table).value, 4)
        0.1667
    """
    return table.mean(table.noise, np.isfinite(table.noise))


@metric(
    "Share of changed prompts with the options of the original that get another pick.", needs=("original", "picked")
)
def changed_picks(table: ResponseTable) -> Estimate:
    """Share of changed prompts with the options of the original that get another pick: noise plus sensitivity.

    Variants with other options do not count: a pick that they do not print could not stay, so even a model without
    sensitivity would have another share than `noise`. An invalid answer differs from every answer. The share is the
    mean over questions of the share within the question.
    Range: 0 to 1; nan if a question has no original, or if no question has a variant that counts. Source: ours.

    Example:
        >>> changed_picks(ResponseTable.from_hits([[1, 0, 1], [1, 1, 1]])).value
        0.25
    """
    if table.original_correct is None:
        return UNDEFINED
    first = np.flatnonzero(table.original)[table.question]  # the original of each record's question
    picks = table.picked
    has_answer = ~table.skipped & (table.written | (picks != NO_PICK))
    counts = ~table.original & has_answer & has_answer[first] & (table.printed == table.printed[first])
    agrees = ~table.invalid & ~table.written & (picks == picks[first])
    for one, other in (table.pairs.T, table.pairs.T[::-1]):  # equivalent answers
        agrees[one] |= first[one] == other
    total = table.sum_by_question(counts)
    shares = table.sum_by_question(counts & ~agrees) / np.maximum(total, 1)
    return table.mean(shares, total > 0)


def describe_noise(table: ResponseTable) -> str:
    """Say how much of the inconsistency is noise; empty without repeats."""
    equal, changed = noise(table).value, changed_picks(table).value
    if isnan(equal):
        return ""
    if not equal:
        return "equal prompts always got the same pick, so none of the inconsistency is noise"
    text = f"equal prompts got different picks in {equal:.1%} of the pairs"
    if not changed > 0:
        return text
    return (
        f"{text}, changed prompts with the same options in {changed:.1%}: noise explains about "
        f"{min(1, equal / changed):.0%} of that, if changed prompts have the same noise"
    )
