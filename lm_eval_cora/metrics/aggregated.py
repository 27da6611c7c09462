"""SCORE's aggregated row: one result for a benchmark from all probes that were run on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.consistency import agreement
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, mean_of, standard_error
from lm_eval_cora.metrics.ranges import group_accuracies, influences, lowest_and_highest, members_by_category
from lm_eval_cora.probes.prompts import SINGLE_LETTER
from lm_eval_cora.responses import Floats, ResponseTable


class Aggregated(NamedTuple):
    """Accuracy range and consistency rates of a benchmark over several probes.

    `aggregated` returns it; see there for an example.

    Attributes:
        acc_mean: Mean of the accuracies of all predictions. Each position is one prediction. If some questions lack
            positions, this is not the mean of the probes' own acc_mean.
        acc_min: Lowest of these accuracies.
        acc_max: Highest of these accuracies.
        cr_all: Mean of the consistency rates of all probes, as in the text of the paper.
        cr_prompts_order: Mean of the consistency rates of the prompts and the order probe only, as in the paper's
            numbers for MMLU-Pro and AGIEval. Undefined without both probes.
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
        The row. All values are shares from 0 to 1, nan without a probe or a common question. The unit of the standard
        errors is the question; those of `acc_min` and `acc_max` are bootstrapped.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1], [0, 1]])
        >>> row = aggregated(sampling=table)
        >>> row.acc_mean.value, row.cr_all.value, row.predictions
        (0.75, 0.5, 2)

    Source: SCORE, table 7 and section 4.4.
    """
    given = [table for table in (prompts, order, sampling) if table is not None]
    common = set.intersection(*(set(table.question_ids) for table in given)) if given else set()
    if not common:
        return Aggregated(UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED, predictions=0, questions=0)
    prompts, order, sampling = (None if table is None else _of(table, common) for table in (prompts, order, sampling))
    probes = [(table, False) for table in (prompts, sampling) if table is not None]
    kept = [(table.where(~table.is_kind(SINGLE_LETTER)), positions) for table, positions in probes]
    kept += [(order, True)] if order is not None else []
    rates = [agreement(table) for table in (prompts, order, sampling) if table is not None]
    both = [agreement(table) for table in (prompts, order) if table is not None]
    lowest, highest = _range(kept, macro)
    return Aggregated(
        acc_mean=_mean(kept, macro),
        acc_min=lowest,
        acc_max=highest,
        cr_all=_mean_rate(rates),
        cr_prompts_order=_mean_rate(both) if len(both) == 2 else UNDEFINED,
        predictions=sum(len(table.kinds) for table, _ in kept),
        questions=len(common),
    )


_Part = tuple[ResponseTable, bool]
"""A probe's table, and whether its kinds are positions."""


def _of(table: ResponseTable, questions: set[str]) -> ResponseTable:
    inside = np.array([question in questions for question in table.question_ids], dtype=np.bool_)
    return table.where(inside[table.question])


def _mean_rate(rates: Sequence[Floats]) -> Estimate:
    means = np.mean(rates, axis=0)
    return mean_of(means, np.isfinite(means))


def _mean(parts: Sequence[_Part], macro: bool) -> Estimate:
    """Mean of all accuracies, with the standard error of the delta method. All parts have the same questions."""
    first, _ = parts[0]
    members = members_by_category(first) if macro else [np.ones(len(first.sizes), dtype=np.bool_)]
    count = sum(len(table.kinds) for table, _ in parts)
    value = 0.0
    on_mean = [np.zeros(int(inside.sum())) for inside in members]
    for table, positions in parts:
        found = [influences(table, inside, positions=positions) for inside in members]
        defined = np.isfinite([part.deviations for part in found])
        weights = defined / (count * defined.sum(axis=0))  # a kind is the mean of the categories that have it
        of_baseline = len(table.kinds) / (count * len(members))
        for number, (part, weight) in enumerate(zip(found, weights, strict=True)):
            value += of_baseline * part.baseline + float(np.nan_to_num(part.deviations) @ weight)
            on_mean[number] += of_baseline * part.on_baseline + np.nan_to_num(part.on_deviations) @ weight
    return Estimate(value, float(np.linalg.norm([standard_error(influence) for influence in on_mean])))


def _range(parts: Sequence[_Part], macro: bool) -> tuple[Estimate, Estimate]:
    accuracies = [group_accuracies(table, positions=positions, macro=macro) for table, positions in parts]
    first, _ = parts[0]
    return lowest_and_highest(lambda weights: np.hstack([part(weights) for part in accuracies]), len(first.sizes))
