"""SCORE's aggregated row: one result for a benchmark from all probes that were run on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.consistency import agreement, all_equal, consistency_rate
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import detail
from lm_eval_cora.metrics.kinds import Contributions, KindAccuracies, strata_of
from lm_eval_cora.metrics.ranges import (
    acc_max,
    acc_mean,
    acc_min,
    acc_range,
    acc_range_by_chance,
    acc_range_p,
    lowest_and_highest,
    mean_of_kinds,
)
from lm_eval_cora.metrics.responses import Floats, ResponseTable
from lm_eval_cora.variants.prompts import SINGLE_LETTER

__all__ = ["Aggregated", "aggregated", "by_category"]
_OF_KINDS = (acc_mean, acc_min, acc_max, acc_range, acc_range_by_chance)


class Aggregated(NamedTuple):
    """Accuracy range and consistency rates of a benchmark over several probes, as `aggregated` returns them.

    Attributes:
        acc_mean: Mean of the accuracies of all predictions; `acc_min` and `acc_max` are the lowest and the highest one.
            If some questions lack positions, this is not the mean of the probes' own acc_mean.
        cr_all: Mean of the consistency rates of all probes, as in the text of the paper.
        cr_prompts_order: The same for the prompts and the order probe only, as in the paper's numbers for MMLU-Pro and
            AGIEval. Undefined without both probes.
        predictions: Number of accuracies: templates, positions and samples.
        questions: Number of questions that all probes have.
    """

    acc_mean: Estimate
    acc_min: Estimate
    acc_max: Estimate
    cr_all: Estimate
    cr_prompts_order: Estimate
    predictions: int
    questions: int


def aggregated(
    *,
    prompts: ResponseTable | None = None,
    order: ResponseTable | None = None,
    sampling: ResponseTable | None = None,
    macro: bool = False,
) -> Aggregated:
    """Summarize SCORE's probes on one benchmark, over the questions that all of them have.

    The accuracies of all predictions are pooled: one per template (without the template that the paper drops), one per
    position (adjusted if some questions lack it), one per sample. On MMLU-Pro these are 9 + 10 + 5 = 24. Consistency
    rates use all templates and are averaged over probes.

    Args:
        prompts: Table of the prompts probe; None if it was not run.
        order: Table of the order probe; None if it was not run.
        sampling: Table of the sampling probe; None if it was not run.
        macro: Whether accuracies are means over categories, as in the paper for MMLU-Pro.

    Returns:
        The row. All values are shares from 0 to 1, nan without a probe or a common question. The errors of `acc_min`
        and `acc_max` are bootstrapped. Source: SCORE, table 7 and section 4.4.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1], [0, 1]])
        >>> row = aggregated(sampling=table)
        >>> row.acc_mean.value, row.cr_all.value, row.predictions
        (0.75, 0.5, 2)
    """
    ids = [set(table.question_ids) for table in (prompts, order, sampling) if table is not None]
    if not (common := set.intersection(*ids) if ids else set()):
        return Aggregated(UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED, predictions=0, questions=0)
    prompts, order, sampling = (
        table and table.where(np.array([name in common for name in table.question_ids])[table.question])
        for table in (prompts, order, sampling)
    )
    kept = [table.where(~table.is_kind(SINGLE_LETTER)) for table in (prompts, sampling) if table is not None]
    parts = [Contributions.of(table) for table in kept]
    if order is not None:
        parts.append(Contributions.of(order, positions=True))
    given = [table for table in (prompts, order, sampling) if table is not None]
    accuracies = KindAccuracies(parts, strata_of(given[0], macro=macro), given[0].cluster)
    rates = [agreement(table) for table in given]
    lowest, highest = lowest_and_highest(accuracies)
    return Aggregated(
        acc_mean=mean_of_kinds(accuracies),
        acc_min=lowest,
        acc_max=highest,
        cr_all=_mean_rate(rates, given[0]),
        cr_prompts_order=UNDEFINED if prompts is None or order is None else _mean_rate(rates[:2], given[0]),
        predictions=accuracies.values().shape[1],
        questions=len(common),
    )


def _mean_rate(rates: Sequence[Floats], table: ResponseTable) -> Estimate:
    means = np.mean(rates, axis=0)
    return table.mean(means, np.isfinite(means))


@detail("Accuracy range, consistency rate and share of identical answers by category.")
def by_category(table: ResponseTable, *, positions: bool = False) -> dict[str, dict[str, Any]]:
    """Accuracy range, consistency rate and share of identical answers by category (subject, subset or level).

    Args:
        table: Answers to N questions.
        positions: Whether the kinds are positions of the right option; see `acc_min`.

    Returns:
        For each category its `acc_mean`, `acc_min`, `acc_max`, `acc_range`, `acc_range_by_chance`, `acc_range_p`,
        `consistency_rate` and `all_equal`, numbers from 0 to 1, and `questions`, the number of its questions. Empty
        without questions. Source: SCORE, figure 6 and section 4.3.

    Example:
        >>> by_category(ResponseTable.from_hits([[1, 1], [0, 1]]))[""]["all_equal"].value
        0.5
    """
    found: dict[str, dict[str, Any]] = {}
    for category in sorted(set(table.categories)):
        part = table.where((np.array(table.categories) == category)[table.question])
        found[category] = {
            **{each.__name__: each(part, positions=positions) for each in _OF_KINDS},
            **{each.__name__: each(part) for each in (acc_range_p, consistency_rate, all_equal)},
            "questions": len(part.sizes),
        }
    return found
