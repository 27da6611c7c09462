"""The orders of the options of a question: accuracy in the first, agreement over all, all of them right."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate, mean_of, ratio_of, share_of
from lm_eval_cora.probes.alterations import COUNTS, ORIGINAL, shuffled, with_options
from lm_eval_cora.probes.order import POSITIONS
from lm_eval_cora.responses import IDENTITIES, Bools, Floats, Ints, ResponseTable

OptionCount = int | Literal["original"]
"""How many options are printed: a number, or the question's own."""


def acc_at(table: ResponseTable, options: OptionCount) -> Estimate:
    """Accuracy with a number of options in the first order: the source's, with fillers last.

    Args:
        table: N questions.
        options: Number of printed options; a question that has that many itself counts with its original.

    Returns:
        A share from 0 to 1; nan if no question is printed with so many.

    Example:
        >>> acc_at(ResponseTable.from_hits([[1, 0], [0, 1]]), options="original").value
        0.5

    Source: MCQA+, appendix A ("Accuracy"; REVAS, figure 3 and table 9).
    """
    first = orders(table, options) & table.is_kind(ORIGINAL, *map(with_options, COUNTS))
    return ratio_of(table.sum_by_question(first & table.correct), table.sum_by_question(first))


def acc_h(table: ResponseTable, options: OptionCount) -> Estimate:
    """Accuracy, hard: share of questions that are answered correctly in all orders of a number of options.

    Over the rotations of the options this is CircularEval's score.

    Args:
        table: N questions.
        options: Number of printed options; `original` is each question's own.

    Returns:
        A share from 0 to 1; nan if no question is printed with so many.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> kinds = ["original", "shuffled"]
        >>> records = [Record("q1", 2, i, kind, (0, 1), answer=0, picked=i) for i, kind in enumerate(kinds)]
        >>> acc_h(ResponseTable.from_records(records), options="original").value
        0.0

    Source: MCQA+, appendix A (Acc-H; REVAS, section 3.3).
    """
    return share_of(_all_right(table, options), has_orders(table, options))


def sc(table: ResponseTable, options: OptionCount) -> Estimate:
    """Consistency score: how often the most frequent pick was given, over the n orders of a number of options.

    Sc(i) = (times of the most frequent pick) / n, and the mean over questions. An invalid answer is a pick of its
    own, which no other equals: all invalid is 1 / n.

    Args:
        table: N questions.
        options: Number of printed options; `original` is each question's own.

    Returns:
        A value from 1 / n to 1, right or wrong alike; nan if no question is printed with so many.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> kinds = ["original", "shuffled"]
        >>> records = [Record("q1", 2, i, kind, (0, 1), answer=0, picked=i) for i, kind in enumerate(kinds)]
        >>> sc(ResponseTable.from_records(records), options="original").value
        0.5

    Source: MCQA+, eq. 1 and 2 (REVAS, section 3.3).
    """
    modal = _modal_picks(table, options)
    return mean_of(modal.times / np.maximum(modal.orders, 1), has_orders(table, options))


def sc_buckets(table: ResponseTable) -> dict[str, dict[str, Estimate]]:
    """Questions by how often their most frequent pick was given in the original orders, and how often it is right.

    Args:
        table: N questions.

    Returns:
        For each number of orders n and k = n, ..., 1 under the key "k/n": `share`, of the questions with n orders,
        that picked one option k times; and `accuracy`, the share of these picks that are right, where a tie between
        two picks counts one half if one of them is right (1 / t for t picks). Of n different picks none is the most
        frequent one, so the accuracy of 1/n is nan. Empty without questions.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> kinds = ["original", "shuffled"]
        >>> records = [Record("q1", 2, i, kind, (0, 1), answer=0, picked=0) for i, kind in enumerate(kinds)]
        >>> buckets = sc_buckets(ResponseTable.from_records(records))
        >>> {key: bucket["share"].value for key, bucket in buckets.items()}
        {'2/2': 1.0, '1/2': 0.0}
        >>> buckets["2/2"]["accuracy"].value
        1.0

    Source: REVAS, table 2. Its LLaMA2 column on MMLU sums to 105%: not to be matched.
    """
    modal = _modal_picks(table, "original")
    buckets = {}
    for count in np.unique(modal.orders[modal.orders > 0]).tolist():
        of_size = modal.orders == count
        for times in range(count, 0, -1):
            inside = (of_size & (modal.times == times)).astype(np.float64)
            buckets[f"{times}/{count}"] = {
                "share": ratio_of(inside, of_size.astype(np.float64)),
                "accuracy": ratio_of(inside * modal.credit, inside * (times > 1)),
            }
    return buckets


def orders(table: ResponseTable, options: OptionCount) -> Bools:
    """(R,) whether a record is one of the orders of a number of options."""
    original = table.is_kind(ORIGINAL, shuffled(ORIGINAL), *POSITIONS)
    if options == "original":
        return original
    if isinstance(options, bool) or not isinstance(options, int):
        raise ValueError(f"options is {options!r}, expected a whole number or 'original'")
    kind = with_options(options)
    resized = table.is_kind(kind, shuffled(kind))
    found: Bools = (original | resized) & (table.options == options)
    return found


def has_orders(table: ResponseTable, options: OptionCount) -> Bools:
    """(N,) whether a question is printed with that number of options."""
    return table.any_by_question(orders(table, options))


def always_right(table: ResponseTable) -> Bools:
    """(N,) whether a question is answered correctly in all orders of its own options: the papers' diamond."""
    return _all_right(table, "original") & has_orders(table, "original")


def _all_right(table: ResponseTable, options: OptionCount) -> Bools:
    return ~table.any_by_question(orders(table, options) & ~table.correct)


class _ModalPicks(NamedTuple):
    """(N,) each: number of orders, times of the most frequent pick, and how far that pick is the right one."""

    orders: Ints
    times: Ints
    credit: Floats


def _modal_picks(table: ResponseTable, options: OptionCount) -> _ModalPicks:
    chosen = orders(table, options)
    valid = chosen & (table.picked >= 0)
    # One number for a question and an identity.
    keys, counts = np.unique(table.question[valid] * IDENTITIES + table.picked[valid], return_counts=True)
    question, pick = keys // IDENTITIES, keys % IDENTITIES
    size = len(table.sizes)
    times = np.ones(size, dtype=np.int64)
    np.maximum.at(times, question, counts)
    right = table.answer[np.cumsum(table.sizes) - table.sizes]  # of the first variant
    modal = counts == times[question]
    tied = np.bincount(question[modal], minlength=size)
    hits = np.bincount(question[modal], weights=pick[modal] == right[question[modal]], minlength=size)
    return _ModalPicks(table.sum_by_question(chosen).astype(np.int64), times, hits / np.maximum(tied, 1))
