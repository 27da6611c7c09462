"""Slow and obvious standard errors and intervals: every bootstrap sample, and searches for the ends.

They share no code with the package. Only few questions are possible.
"""

from collections import Counter
from math import factorial, inf, log, prod, sqrt

import numpy as np

Z = 1.959963984540054


def splits(total, parts):
    """All ways to write a number as a sum of so many numbers from 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in splits(total - first, parts - 1):
            yield (first, *rest)


def samples(rows):
    """(S,) probability of each bootstrap sample of N questions, and (S, K) means of the columns in it.

    How often each distinct row is drawn is multinomial: N! / (k_1! k_2! ...) (n_1 / N)^k_1 (n_2 / N)^k_2 ...
    """
    count = len(rows)
    times = Counter(map(tuple, rows))
    drawn = list(splits(count, len(times)))
    chances = [
        factorial(count)
        / prod(map(factorial, ways))
        * prod((n / count) ** k for n, k in zip(times.values(), ways, strict=True))
        for ways in drawn
    ]
    return np.array(chances), np.array(drawn) @ np.array(list(times)) / count


def _spread(chances, one, other):
    """Covariance of two numbers that are known in each sample."""
    return float(chances @ ((one - chances @ one) * (other - chances @ other)))


def bootstrap_error(statistic, rows):
    """Standard deviation of a statistic of the means over all bootstrap samples, times sqrt(N / (N - 1))."""
    chances, means = samples(rows)
    values = np.array([statistic(*row) for row in means.tolist()])
    return sqrt(max(0.0, _spread(chances, values, values)) * len(rows) / (len(rows) - 1))


def ratio_error(rows):
    """Standard error of sum k_i / sum m_i by the delta method: sqrt(n / (n - 1) sum (k_i - R m_i)^2) / sum m_i."""
    parts, wholes = zip(*rows, strict=True)
    share = sum(parts) / sum(wholes)
    squares = sum((part - share * whole) ** 2 for part, whole in rows)
    count = sum(whole > 0 for whole in wholes)
    return sqrt(count / (count - 1) * squares) / sum(wholes)


def last(is_inside, inside, limit):
    """The last value inside on the way to a limit, by halving."""
    if is_inside(limit):
        return limit
    outside = limit
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
    return inside


def paired_interval(lost, gained, questions, z=Z):
    """All differences that the score test does not reject, with the most likely chance of a loss for each of them.

    With the chances l of a loss and l + d of a gain, the variance of gained - lost is N (2 l + d - d^2).
    """
    same = questions - lost - gained

    def likelihood(loss, difference):
        chances = (loss, loss + difference, 1 - 2 * loss - difference)
        counts = (lost, gained, same)
        if any(n and p <= 0 for n, p in zip(counts, chances, strict=True)):
            return -inf
        return sum(n * log(p) for n, p in zip(counts, chances, strict=True) if n)

    def is_inside(difference):
        low, high = max(0.0, -difference), (1 - difference) / 2
        for _ in range(60):  # the likelihood has one maximum
            left, right = low + (high - low) / 3, high - (high - low) / 3
            if likelihood(left, difference) < likelihood(right, difference):
                low = left
            else:
                high = right
        loss = (low + high) / 2
        variance = questions * (2 * loss + difference - difference**2)
        return (gained - lost - questions * difference) ** 2 <= z**2 * variance

    centre = (gained - lost) / questions
    # The ends of the range are no populations with all outcomes: come as close as floats allow.
    return last(is_inside, centre, -1 + 1e-12), last(is_inside, centre, 1 - 1e-12)
