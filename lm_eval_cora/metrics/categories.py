"""Accuracy range and consistency by category of a benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np

from lm_eval_cora.metrics.consistency import all_equal, consistency_rate
from lm_eval_cora.metrics.extremes import acc_max, acc_min, acc_range, acc_range_by_chance, acc_range_p
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.ranges import acc_mean
from lm_eval_cora.responses import ResponseTable


@metric("Accuracy range, consistency rate and share of identical answers by category.")
def by_category(table: ResponseTable, *, positions: bool = False) -> dict[str, dict[str, Any]]:
    """Accuracy range, consistency rate and share of identical answers by category (subject, subset or level).

    Args:
        table: Answers to N questions.
        positions: The kinds of variants are positions of the right option; see `acc_min`.

    Returns:
        For each category its `acc_mean`, `acc_min`, `acc_max`, `acc_range`, `acc_range_by_chance`, `acc_range_p`,
        `consistency_rate` and `all_equal`, numbers from 0 to 1, and `questions`, the number of its questions. Empty
        without questions.

    Example:
        >>> by_category(ResponseTable.from_hits([[1, 1], [0, 1]]))[""]["all_equal"].value
        0.5

    Source: SCORE, figure 6 and section 4.3.
    """
    categories = np.array(table.categories)[table.question] if len(table.sizes) else np.array([])
    parts = {category: table.where(categories == category) for category in sorted(set(table.categories))}
    return {
        category: {
            "acc_mean": acc_mean(part),
            "acc_min": acc_min(part, positions=positions),
            "acc_max": acc_max(part, positions=positions),
            "acc_range": acc_range(part, positions=positions),
            "acc_range_by_chance": acc_range_by_chance(part, positions=positions),
            "acc_range_p": acc_range_p(part),
            "consistency_rate": consistency_rate(part),
            "all_equal": all_equal(part),
            "questions": len(part.sizes),
        }
        for category, part in parts.items()
    }
