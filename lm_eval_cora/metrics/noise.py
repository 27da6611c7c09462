"""Equal prompts, samples or an original and its repeats: how often the answers are right, and how often they differ.

A server, or a model in bfloat16, may answer the same prompt differently. That looks like sensitivity to the options.
The option `repeats` asks the original again, unchanged. No metrics but those of equal prompts use these answers.
"""

from __future__ import annotations

from math import isnan, nan

import numpy as np

from lm_eval_cora.metrics.consistency import agreement
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import REPEATS, metric, takes_arrays
from lm_eval_cora.metrics.orders import modal_picks
from lm_eval_cora.metrics.responses import NO_PICK, ResponseTable

__all__ = ["acc_repeats", "changed_picks", "maj_at_k", "noise", "pass_hat_k"]


@metric(
    "Mean over questions of the share of right answers to equal prompts, the original and its repeats.",
    needs=("equal_prompts",),
    only=(REPEATS,),
)
def acc_repeats(table: ResponseTable) -> Estimate:
    """Mean over questions of the share of right answers to equal prompts, the original and its repeats.

    Of the k answers of question i to equal prompts c_i are right; the formula is the mean of c_i / k. If a table has no
    repeats, all its variants count as equal prompts. Its mean is then `mcqa_plus`, for samples also `acc_mean`. If k
    differs between questions, each question counts with its own; a repeat that was skipped does not count.
    Range: 0 to 1; nan if no question has an answer. Source: ours.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]])
        >>> round(acc_repeats(table).value, 4), maj_at_k(table).value, pass_hat_k(table).value
        (0.5, 0.5, 0.25)
    """
    prompts = table.equal_prompts
    return table.mean(prompts.hits / np.maximum(prompts.sizes, 1), prompts.sizes > 0)


@metric(
    "Share of questions whose most frequent answer to k equal prompts is right; if t are as frequent, it counts 1/t.",
    needs=("equal_prompts", "picked"),
    only=(REPEATS,),
)
def maj_at_k(table: ResponseTable) -> Estimate:
    """Share of questions whose most frequent answer to k equal prompts is right: the majority, maj@k.

    Invalid answers do not vote, and a question without a valid answer is wrong. If t answers are equally frequent and
    one of them is right, the question counts 1/t, the expected result of a random choice. So with k = 2 this is
    the mean if all answers are valid. Written answers are the same if they are equivalent;
    equivalence may not be transitive, so the credit is the share of the right ones among the answers with the most
    equivalent answers. The equal prompts and k are those of `acc_repeats`.
    Range: 0 to 1; nan if no question has an answer. Source: Wang et al. 2022 (self-consistency, unweighted); Lewkowycz
    et al. 2022 (maj1@k).

    Example:
        >>> maj_at_k(ResponseTable.from_hits([[1, 1, 0], [0, 0, 1], [0, 1]])).value
        0.5
    """
    prompts = table.equal_prompts
    return table.mean(modal_picks(prompts, ~prompts.skipped).credit, prompts.sizes > 0)


@takes_arrays
@metric(
    "Share of questions whose answers to k equal prompts are all right.",
    needs=("equal_prompts",),
    only=(REPEATS,),
)
def pass_hat_k(answers: ResponseTable) -> Estimate:
    """Share of questions whose answers to k equal prompts are all right: pass^k.

    This is the observed share. With c_i right ones of n answers, the unbiased estimate of the probability that k new
    answers are all right is the mean of C(c_i, k) / C(n, k). For k = n both are the same. The equal prompts and k are
    those of `acc_repeats`; if k differs between questions, those with a smaller k are easier.
    Range: 0 to 1, at most `acc_repeats`; nan if no question has an answer. Source: Yao et al. 2024 (tau-bench).

    Example:
        >>> pass_hat_k([[1, 1, 1], [1, 1, 0], [0, 0, 0]]).value == 1 / 3
        True
    """
    prompts = answers.equal_prompts
    return answers.share(prompts.hits == prompts.sizes, prompts.sizes > 0)


@metric(
    "Share of pairs of equal prompts, samples or the original and its repeats, that get different picks.",
    needs=("equal_prompts", "picked"),
    only=(REPEATS,),
    higher_is_better=False,
)
def noise(table: ResponseTable) -> Estimate:
    """Share of pairs of equal prompts, samples or the original and its repeats, that get different picks.

    With k answers a question has k (k - 1) / 2 pairs; the share is the mean over questions. An invalid answer differs
    from every answer, as in `consistency_rate`. If each answer changes with the probability q to any of the A - 1 other
    options, the share is 1 - (1 - q)^2 - q^2 / (A - 1) on average. The equal prompts are those of `acc_repeats`.
    Range: 0 to 1; nan if no prompt has two answers. Source: ours.

    Example:
        >>> round(noise(ResponseTable.from_hits([[1, 1, 1], [1, 1, 0]])).value, 4)
        0.3333
    """
    shares = 1 - agreement(table.equal_prompts)
    return table.mean(shares, np.isfinite(shares))


@metric(
    "Share of changed prompts with the options of the original that get another pick.",
    needs=("original", "picked"),
    only=(REPEATS,),
    higher_is_better=False,
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
    equal, changed = noise(table).value if table.repeats else nan, changed_picks(table).value
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
