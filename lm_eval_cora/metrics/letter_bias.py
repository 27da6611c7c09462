"""Letter bias (Zheng et al. 2024, arXiv:2309.03882): accuracy after its removal, and the model's prior for the letters.

Symbols: P_i(d | o) is the probability of letter d for question i with its options in order o, normalised over the
printed letters. The orders are the A rotations of the A options (`orders: cyclic`): each option is once at each letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import hypot, inf, nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, of_influence, share_of
from lm_eval_cora.metrics.facts import CYCLIC_ORDERS, detail, metric
from lm_eval_cora.metrics.positions import has_letters_as_kinds, right_letters
from lm_eval_cora.metrics.ranges import FEWEST
from lm_eval_cora.metrics.responses import Floats, Ints, ResponseTable
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.questions.randomness import draw

__all__ = ["acc_permuted", "acc_pride", "brier_permuted", "letter_prior"]
PARTS = 10  # of the questions; the prior for each part comes from the others
_ROUNDING = 1e-9  # values that differ by less are tied, and the first one counts


@metric(
    "Accuracy of the option with the highest mean probability over all rotations of the options, which "
    "cancels a preference for letters.",
    needs=("likelihoods",),
    form="loglikelihood",
    only=(CYCLIC_ORDERS,),
)
def acc_permuted(table: ResponseTable) -> Estimate:
    """Accuracy of the option with the highest mean probability over all rotations of the options.

    The pick of question i is the option j that maximises (1 / A) sum over o of P_i(letter of j in o | o). A preference
    for a letter favours each option once, so it cancels. Equal distractors count separately.
    Range: 0 to 1. Ties take the first option. A question with an unscored letter counts as wrong. nan for other orders,
    and for written answers. Source: Zheng et al. 2024, debiasing by cyclic permutations.

    Example:
        >>> orders = {"kinds": ("answer_at_A", "answer_at_B"), "likelihoods": np.log([[0.6, 0.4], [0.9, 0.1]] * 10)}
        >>> table = ResponseTable.from_hits([[1, 0]] * 10, **orders)
        >>> acc_permuted(table).value  # the means of the options are 0.35 and 0.65
        0.0
        >>> acc_pride(table).value  # A is picked, but it has a prior of 0.79
        0.0
        >>> round(letter_prior(table)["2"]["A"].value, 2)  # odds: the root of 6/4 * 9/1
        0.79
    """
    if not _is_scored(table):
        return UNDEFINED
    right = np.zeros(len(table.sizes), dtype=np.bool_)
    for group in _groups(table):
        right[group.members] = _first_best(_permuted(group)) == group.right
    return table.share(right)


@metric(
    "Brier score of the mean probabilities of the options over all rotations.",
    needs=("likelihoods",),
    higher_is_better=False,
    bounds=(0.0, 2.0),
    form="loglikelihood",
    only=(CYCLIC_ORDERS,),
    in_table=None,
)
def brier_permuted(table: ResponseTable) -> Estimate:
    """Mean over questions of the sum over options of (p - right)^2.

    Here p is the mean probability of an option over all rotations, as in `acc_permuted`, and right is 1 for the right
    option, else 0. It shows what a preference for letters costs, beside `brier`.
    Range: 0 to 2, lower is better. nan if a letter has no score, for other orders, and for written answers.
    Sources: Brier 1950; Zheng et al. 2024, debiasing by cyclic permutations.

    Example:
        >>> orders = {"kinds": ("answer_at_A", "answer_at_B"), "likelihoods": np.log([[0.6, 0.4], [0.9, 0.1]] * 10)}
        >>> round(brier_permuted(ResponseTable.from_hits([[1, 0]] * 10, **orders)).value, 3)  # 2 * (1 - 0.35)^2
        0.845
    """
    scores = np.full(len(table.sizes), nan)
    for group in _groups(table):
        is_right = np.arange(group.logs.shape[2]) == group.right[:, None]
        scores[group.members] = np.square(_permuted(group) - is_right).sum(axis=1)
    return UNDEFINED if np.isnan(scores).any() else table.mean(scores, between=(0.0, 2.0))


@metric(
    "Accuracy in the original order after the model's prior for the letters is divided out (PriDe).",
    needs=("likelihoods",),
    fewest=FEWEST,
    form="loglikelihood",
    only=(CYCLIC_ORDERS,),
)
def acc_pride(table: ResponseTable) -> Estimate:
    """Accuracy in the original order after the model's prior for the letters is divided out (PriDe).

    The pick of question i is the letter d that maximises log P_i(d | original order) - log prior(d). The prior is the
    mean of the `letter_prior` q_i of the other questions with as many options. It is cross-fitted: the questions are
    divided into tenths by a hash of their ids, and the prior of a tenth comes from the other nine. The paper estimates
    it on 5% of the questions, and answers those by `acc_permuted`. With fewer than ten questions of a number of
    options, their prior is unknown, and their answers do not change.

    The standard error contains the error of the prior: the influence of question i is x_i + sum over d of
    g_d (q_i(d) - prior(d)) / prior(d), with x_i = 1 if i is right, and g_d the derivative by log prior(d) of the
    accuracy on the n questions with as many options. The derivative is a central difference with steps of n^(-1/5).
    Range: 0 to 1. Ties take the first letter. A question with an unscored letter counts as wrong. nan if no number of
    options has ten questions, for other orders, and for written answers. Source: Zheng et al. 2024, PriDe: the prior of
    a question, its mean, and the division by it. Cross-fitting and the standard error are ours.
    """
    groups = list(_groups(table))
    if not any(len(group.members) >= FEWEST for group in groups):
        return UNDEFINED
    right, by_prior = np.zeros(len(table.sizes), dtype=np.bool_), np.zeros(len(table.sizes))
    for group in groups:
        first, own = group.logs[:, 0], _own_priors(group.logs)
        if len(group.members) < FEWEST:
            right[group.members] = _first_best(first) == group.right
            continue
        with np.errstate(divide="ignore"):
            logs = np.log(_priors_of_others(own, _parts(table, group.members)))
        right[group.members] = _without_prior(first, logs) == group.right
        prior = own.mean(axis=0)
        slopes = _slopes(first, logs, group.right) / len(group.members)
        deviations = np.divide(own - prior, prior, out=np.zeros_like(own), where=prior > 0)
        by_prior[group.members] = deviations @ slopes
    influence = right + by_prior
    share = of_influence(float(right.mean()), influence - influence.mean())
    if share.ends is None and not 0 < share.value < 1:  # no question differs, but others could
        share = replace(share, stderr=hypot(share.stderr, share_of(right).stderr))
    return table.clustered(share)  # without influence of the prior, the error is that of a share


@detail(
    "The model's prior for each letter, whatever is printed there, by the number of options.",
    needs=("likelihoods",),
    form="loglikelihood",
    only=(CYCLIC_ORDERS,),
)
def letter_prior(table: ResponseTable) -> dict[str, dict[str, Estimate]]:
    """The model's prior for the letters, whatever is printed there, by the number of options.

    The prior of question i is q_i(d) = softmax over d of the mean over o of log P_i(d | o). Each option is printed once
    at each letter, so the options add the same constant to all letters. The prior is the mean of q_i.

    Returns:
        For each number of options, such as "4", the prior of each letter, from 0 to 1, without the questions with an
        unscored letter. Empty for other orders, and for written answers. Source: Zheng et al. 2024, PriDe (on 5% of the
        questions).
    """
    found = {}
    for group in _groups(table):
        columns = _own_priors(group.logs).T
        part = table.where(np.isin(table.question, group.members))
        found[str(len(columns))] = {letter: part.mean(column) for letter, column in zip(LETTERS, columns, strict=False)}
    return found


def has_cyclic_orders(table: ResponseTable) -> bool:
    """Whether the variants of each question are the rotations of its options, starting with the original order."""
    if not has_letters_as_kinds(table) or not (table.sizes[table.question] == table.options).all():
        return False
    right = right_letters(table)
    turns = np.arange(len(right)) - table.starts[table.question]
    return bool(((right + turns - right[table.starts][table.question]) % table.options == 0).all())


class _Group(NamedTuple):
    """The n scored questions with A options: indices, log P_i(d | o) (n, A, A), the right letter in the first order."""

    members: Ints
    logs: Floats
    right: Ints


def _is_scored(table: ResponseTable) -> bool:
    """Whether the letters of cyclic orders were scored. Some of the scores may be missing."""
    return table.likelihoods.shape[1] > 0 and has_cyclic_orders(table)


def _groups(table: ResponseTable) -> Iterator[_Group]:
    """Yield the questions with all scores, by their number of options."""
    right = right_letters(table)
    for options in np.unique(table.sizes).tolist() if _is_scored(table) else ():
        members = np.flatnonzero(table.sizes == options)
        rows = table.starts[members][:, None] + np.arange(options)
        scores = table.likelihoods[rows, :options].astype(np.float64)
        scored = ~np.isnan(scores).any(axis=(1, 2))
        members = members[scored]
        if len(members):
            yield _Group(members, normalised(scores[scored]), right[table.starts[members]])


def normalised(scores: Floats) -> Floats:
    """Log-probabilities over the last axis. Infinite scores share the probability; so do scores that are all -inf."""
    with np.errstate(invalid="ignore"):
        shifted = np.nan_to_num(scores - scores.max(axis=-1, keepdims=True), nan=0.0, neginf=-inf)
    logs: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return logs


def _permuted(group: _Group) -> Floats:
    """(n, A) mean probability of each option over the rotations: rotation o prints option j at letter j - o."""
    options = np.arange(group.logs.shape[2])
    by_option = np.exp(group.logs)[:, options[:, None], (options - options[:, None]) % len(options)]
    mean: Floats = by_option.mean(axis=1)
    return mean


def _own_priors(logs: Floats) -> Floats:
    """(n, A) the prior that each question alone gives."""
    return np.exp(normalised(logs.mean(axis=1)))


def _parts(table: ResponseTable, members: Ints) -> Ints:
    """(n,) the tenth of each question, from a hash of its id."""
    keys = [draw(2**64, "letter bias", table.question_ids[number]) for number in members.tolist()]
    return np.argsort(np.argsort(np.array(keys, dtype=np.uint64), kind="stable")) % PARTS


def _priors_of_others(own: Floats, parts: Ints) -> Floats:
    """(n, A) for each question the mean of the priors of the questions in other parts."""
    sums = np.stack([own[parts == part].sum(axis=0) for part in range(PARTS)])
    counts = np.bincount(parts, minlength=PARTS)
    priors: Floats = ((sums.sum(axis=0) - sums) / (len(own) - counts)[:, None])[parts]
    return priors.clip(0)


def _without_prior(logs: Floats, priors: Floats) -> Ints:
    """(n,) the letter with the highest log-probability without the prior. An impossible letter stays impossible."""
    with np.errstate(invalid="ignore"):
        return _first_best(np.where(logs == -inf, -inf, logs - priors))


def _first_best(values: Floats) -> Ints:
    """(n,) index of the highest value in each row; of several, the first one."""
    with np.errstate(invalid="ignore"):
        best = values.max(axis=1, keepdims=True)
        found: Ints = ((values == best) | (values >= best - _ROUNDING)).argmax(axis=1)
    return found


def _slopes(logs: Floats, priors: Floats, right: Ints) -> Floats:
    """(A,) derivative of the number of right answers by the logarithm of each letter's prior."""
    step = len(right) ** -0.2
    slopes = []
    for change in step * np.eye(logs.shape[1]):
        lower, higher = ((_without_prior(logs, priors + sign * change) == right).sum() for sign in (-1, 1))
        slopes.append((higher - lower) / (2 * step))
    return np.array(slopes)
