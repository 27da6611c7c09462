"""Two-phase sampling until the value that the full benchmark would give is known well enough.

The first phase asks the originals of a random sample of the questions. The second phase follows a random sample of the
questions with a right original to their first miss. Both samples grow until the 95% interval of CoRA for all questions
is narrow enough. The sizes of the samples are chosen so that this needs as few requests as possible.
"""

from collections.abc import Sequence
from contextlib import suppress
from math import ceil, isnan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.rounds import CAUTION, FIRST_LOOK, Observed, Planned, Rounds, of_each_task, send
from lm_eval_cora.metrics.estimate import IN_95_PERCENT
from lm_eval_cora.metrics.stopping import Phases, Share, half_width, shares_of

_FIRST_FOLLOWED = 50  # number of questions that are followed before the interval is tested for the first time
# Factor between two possible sizes of a sample, and the largest one by which it grows between two tests.
_FINENESS, _MOST = 1.05, 1.25


def parse_target(text: str) -> float:
    """Read the value of --target."""
    kind, _, number = text.partition(":") if isinstance(text, str) else ("", "", "")
    with suppress(ValueError):
        if kind == "whole" and 0 < (width := float(number)) < 0.5:
            return width
    raise UserError(
        f"--target {text!r}: "
        "expected whole:E, such as whole:0.01: half the width of the 95% interval of cora for the full benchmark, "
        "above 0 and below 0.5. "
        "For a standard error about other questions of the same kind, pass --target-stderr 0.01"
    )


class Sizes(NamedTuple):
    """Number of questions whose original is asked, and of right ones that are followed, as far as there are so many."""

    asked: int
    followed: int


def first_sizes(questions: int) -> Sizes:
    """Sizes of the samples before the first test."""
    return Sizes(min(FIRST_LOOK, questions), min(_FIRST_FOLLOWED, questions))


def next_sizes(phases: Phases, costs: tuple[float, float], target: float) -> Sizes | None:
    """Decide how far the samples grow; None if the interval is narrow, or everything is asked."""
    # They grow towards the cheapest sizes that reach the target according to the shares found so far, by about a
    # quarter at most, to sizes of a fixed list. The costs are the mean numbers of requests for an original, and for the
    # other variants of a followed question.
    if phases.is_complete or is_narrow(phases, target):
        return None
    best = cheapest(phases, costs, target)
    asked = _grown(phases.asked, best.asked, phases.questions)
    followed = _grown(phases.followed, best.followed, phases.questions)
    if asked == phases.asked and min(followed, phases.right) == phases.followed:  # the plan is too optimistic
        asked, followed = (_grown(size, phases.questions, phases.questions) for size in (phases.asked, phases.followed))
    return Sizes(asked, followed)


def is_narrow(phases: Phases, target: float) -> bool:
    """Whether half the width of the interval is at most the target, also with four more questions of each outcome."""
    # A share of one question has no standard error, and the estimate no interval.
    shares = shares_of(phases)
    if any(share.trials and isnan(share.variance) for share in shares):
        return False
    return max(half_width(*shares), half_width(*_cautious(phases, *shares))) <= target


def cheapest(phases: Phases, costs: tuple[float, float], target: float) -> Sizes:
    """The cheapest sizes, not below the present ones, with which 1.96 standard errors are at most the target."""
    # For each number of originals n1 the variance that it leaves for r gives the number of followed questions n2. The
    # requests, n1 times the first cost plus n2 times the second, are smallest for one n1. All shares are cautious.
    m, r = (share.value for share in _cautious(phases, *shares_of(phases)))
    n1 = np.arange(phases.asked, phases.questions + 1, dtype=np.float64)
    of_m = m * (1 - m) * (1 / n1 - 1 / phases.questions)
    by_m = (1 - 2 * m * (1 - r)) ** 2 * of_m + 2 * (1 - r) ** 2 * of_m**2
    left = (target / IN_95_PERCENT) ** 2 - by_m
    with np.errstate(divide="ignore"):
        n2 = 1 / (np.maximum(left, 0) / (m**4 + 4 * m**2 * of_m) / (r * (1 - r)) + 1 / (m * phases.questions))
    n2 = np.maximum(n2, phases.followed)
    possible = (left >= 0) & (n2 <= m * n1 + 0.5)
    possible[-1] = True  # the full benchmark
    requests = np.where(possible, costs[0] * n1 + costs[1] * n2, np.inf)
    place = int(requests.argmin())
    return Sizes(int(n1[place]), ceil(n2[place]))


def _cautious(phases: Phases, first: Share, second: Share) -> tuple[Share, Share]:
    """The shares with a pseudo-count for each outcome: always right, right at first, never right. Exact ones stay."""
    m = (phases.right + 2 * CAUTION) / (phases.asked + 3 * CAUTION)
    r = (phases.always + CAUTION) / (phases.followed + 2 * CAUTION)
    return (
        first if first.fraction >= 1 else first._replace(value=m),
        second if second.fraction >= 1 else second._replace(value=r),
    )


def _grown(size: int, wanted: int, most: int) -> int:
    """The next size of a sample: one of a fixed list, at most a quarter larger, and not far above what is wanted."""
    if wanted <= size:
        return size
    reach = max(size * _MOST, size + 1)
    larger = [each for each in possible_sizes(most) if each > size]
    return next((each for each in larger if each >= min(wanted, reach)), most)


def possible_sizes(most: int) -> list[int]:
    """The sizes that a sample can have: each 5% larger than the one before, and all questions."""
    sizes, size = [], 20
    while size < most:
        sizes.append(size)
        size = ceil(size * _FINENESS)
    return [*sizes, most]


def until_whole(agenda: Sequence[Planned], target: float) -> Rounds:
    """Sample in two phases until the value of CoRA for all questions of each task is known well enough."""
    # The questions of a phase are the first ones of the agenda: the first n1 originals, and the first n2 of the right
    # ones. So both are random samples.
    running = [_of_task(questions, target) for questions in of_each_task(agenda).values()]
    observed: Observed | None = None
    while batches := [(rounds, batch) for rounds in running if (batch := send(rounds, observed)) is not None]:
        running = [rounds for rounds, _ in batches]
        observed = yield [planned for _, batch in batches for planned in batch]


def _of_task(questions: Sequence[Planned], target: float) -> Rounds:
    """The rounds of one task. A round has new originals, or questions to follow."""
    sizes: Sizes | None = first_sizes(len(questions))
    asked = followed = of_originals = 0
    observed = Observed()
    right: list[Planned] = []
    while sizes is not None:
        if new := questions[asked : sizes.asked]:
            observed = yield [planned._replace(part="original") for planned in new]
            of_originals += sum(observed.outcomes[planned.key].requests for planned in new)
            right += [planned for planned in new if observed.outcomes[planned.key].right]
            asked = sizes.asked
        if more := right[followed : sizes.followed]:
            observed = yield more
            followed += len(more)
        outcomes = [observed.outcomes[planned.key] for planned in questions[:asked]]
        of_variants = sum(outcome.requests for outcome in outcomes) - of_originals
        always = sum(outcome.always for outcome in outcomes)
        costs = of_originals / asked, max(1.0, of_variants / max(1, followed))
        sizes = next_sizes(Phases(len(questions), asked, len(right), followed, always), costs, target)
