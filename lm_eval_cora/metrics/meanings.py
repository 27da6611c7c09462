"""The meaning of each metric in one sentence, and its range, for the glossary of a report and for exported records.

The docstrings are not used for this, because `python -OO` removes them.
"""

from __future__ import annotations

from math import inf

MEANINGS = {
    "acc": "Share of correct answers among all variants of all questions.",
    "acc_at": "Accuracy with a given number of options in the first order: the source's order, with fillers last.",
    "acc_h": "Hard accuracy: share of questions answered correctly in all orders of a given number of options.",
    "acc_max": "Highest accuracy among the kinds of variants.",
    "acc_mean": "Mean accuracy of the kinds of variants: the mean over questions of the mean within a question.",
    "acc_min": "Lowest accuracy among the kinds of variants.",
    "acc_permuted": (
        "Accuracy of the option with the highest mean probability over all rotations of the options, which cancels a "
        "preference for letters."
    ),
    "acc_pride": "Accuracy in the original order after the model's prior for the letters is divided out (PriDe).",
    "acc_range": "Difference between the highest and the lowest accuracy of the kinds of variants.",
    "acc_range_by_chance": "Expected acc_range if all kinds of variants had the same true accuracy.",
    "acc_range_p": "P-value of Cochran's Q test that all kinds of variants have the same true accuracy.",
    "all_equal": "Share of questions whose variants all get the same answer, right or wrong.",
    "bmca": "Bare-minimum-consistency accuracy: share of questions with at least this share of their variants right.",
    "by_category": "Accuracy range, consistency rate and share of identical answers by category.",
    "ci": "Consistency index: 1 minus the share of questions that are right, but not in all variants: mcqa - bmca@1.0.",
    "confidence_ratio": "Confidence in the most likely wrong option relative to the right one: C_d / C_c.",
    "confidence_right": "Mean probability of “yes” for the right option, on questions always answered correctly: C_c.",
    "confidence_wrong": (
        "Mean of the largest probability of “yes” among the wrong options, on questions always answered correctly: C_d."
    ),
    "consistency_rate": "Mean over questions of the share of comparable pairs of variants that pick the same option.",
    "cora": "Consistency-rebalanced accuracy: mcqa * ci, the accuracy reduced by the answers that do not survive.",
    "core": "Area under the BMCA curve times its mean height.",
    "each_kind": "Accuracy of each kind of variant.",
    "equal_at": "Share of questions with at least a given share of variants that get the same answer, right or wrong.",
    "followed": "Share of responses in the requested format, which the strict reader can read.",
    "invalid": "Share of responses without a valid answer, among all variants of all questions.",
    "letter_prior": "The model's prior for each letter, whatever is printed there, by the number of options.",
    "macro_acc": "Mean of the accuracies of the categories; each category has the same weight.",
    "mcqa": "Share of questions whose original is answered correctly: the usual accuracy of a benchmark.",
    "mcqa_plus": "Mean over questions of the share of a question's variants answered correctly.",
    "mcqa_plus_diff": "Effect of the variants on the score: mcqa_plus - mcqa, paired by question.",
    "multi_share": "Share of misled questions on which the model selects several options if asked for all right ones.",
    "mv": "Majority voting: share of questions with more than half of their variants answered correctly.",
    "nota_acc": "Accuracy if NOTA replaces the right option and is printed last.",
    "nota_acc_diff": "Effect of NOTA on the accuracy: nota_acc - mcqa, paired by question.",
    "nota_acc_h": "Share of questions on which the model picks NOTA, the right option, in all orders.",
    "nota_acc_h_diff": "Effect of NOTA on the hard accuracy: nota_acc_h - acc_h, paired by question.",
    "picks_by_letter": "Share of picks of each letter, and the share if letters were picked equally often.",
    "position_chi_square": (
        "Chi-square statistic of the picks by letter (with swapped orders: of the right picks), compared with equal "
        "shares within each question."
    ),
    "position_p_value": "Probability of such a position_chi_square if the letters did not matter.",
    "recall_misleading": (
        "Share of misled questions on which the model selects the misleading option again if asked for all right ones."
    ),
    "recall_right": "Share of misled questions whose right option the model selects if asked for all right ones.",
    "recall_spread": (
        "Standard deviation over letters of the accuracy of the variants whose right option is printed at the letter."
    ),
    "recall_spread_by_chance": "Expected recall_spread if all letters had the same true recall.",
    "replaced_acc": "Accuracy on misled questions after a filler has replaced the misleading option.",
    "sc": "Consistency score: share of the orders, of a given number of options, that get the most frequent pick.",
    "sc_buckets": "Questions grouped by how often their most frequent pick occurs in the original orders.",
    "subset_sizes": "Number of questions in each part of the study.",
    "tf_right": "Share of “yes” when asked whether the right option is right, on questions always answered correctly.",
    "tf_wrong": "Share of “no” when asked whether a wrong option is right, on questions always answered correctly.",
    "ties": "Share of answers for which another answer was exactly as likely, among all variants of all questions.",
    "timeouts": "Share of comparisons of answers that ran out of time or memory; they count as not equivalent.",
    "yes_no_mass": "Mean of P(yes) + P(no) over all true-or-false variants.",
}
"""Meaning by the name of the metric's function."""

_BOUNDS = {
    "recall_spread": (0.0, 0.5),
    "mcqa_plus_diff": (-1.0, 1.0),
    "nota_acc_diff": (-1.0, 1.0),
    "nota_acc_h_diff": (-1.0, 1.0),
    "position_chi_square": (0.0, inf),
    "confidence_ratio": (0.0, inf),
}
"""Lowest and highest value of metrics that are not shares, by the function of the metric."""


def bounds_of(function: str) -> tuple[float, float]:
    """The lowest and the highest value of a metric, by the name of its function.

    Example:
        >>> bounds_of("cora"), bounds_of("confidence_ratio")
        ((0.0, 1.0), (0.0, inf))
    """
    return _BOUNDS.get(function, (0.0, 1.0))
