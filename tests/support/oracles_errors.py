"""Slow and obvious standard errors and intervals: every bootstrap sample, and a search through all populations.

They share no code with the package. Only few questions are possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import factorial, inf, log, prod, sqrt

import numpy as np
from scipy.optimize import minimize

Row = Sequence[float]
Statistic = Callable[..., float]

Z = 1.959963984540054


def splits(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of so many numbers from 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in splits(total - first, parts - 1):
            yield (first, *rest)


def samples(rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
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


def _spread(chances: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """Covariance of two numbers that are known in each sample."""
    return float(chances @ ((one - chances @ one) * (other - chances @ other)))


def bootstrap_error(statistic: Statistic, rows: Sequence[Row]) -> float:
    """Standard deviation of a statistic of the means over all bootstrap samples, times sqrt(N / (N - 1))."""
    chances, means = samples(rows)
    values = np.array([statistic(*row) for row in means.tolist()])
    return sqrt(max(0.0, _spread(chances, values, values)) * len(rows) / (len(rows) - 1))


def ratio_error(rows: Sequence[Row], weights: Sequence[float] = (1.0,)) -> float:
    """Standard error of a weighted sum of ratios, whose columns are k_1, m_1, k_2, m_2, ...

    A ratio that is undefined in a bootstrap sample counts as that of all questions.
    """
    parts, wholes = np.sum(rows, axis=0).reshape(-1, 2).T
    defaults = parts / wholes

    def total(*means: float) -> float:
        pairs = zip(means[::2], means[1::2], defaults, weights, strict=True)
        return sum(weight * (part / whole if whole else default) for part, whole, default, weight in pairs)

    return bootstrap_error(total, rows)


def ratio_series_error(rows: Sequence[Row], weights: Sequence[float] = (1.0,)) -> float:
    """Approximation of `ratio_error` for many questions: the first terms of the Taylor series.

    With e = mean(k - R m) / mean(m) in the sample and s = mean(m in a bootstrap sample) / mean(m) - 1, the ratio in a
    bootstrap sample is R + e / (1 + s) = R + e - e s + e s^2 - ... The variance is that of e - e s, and twice the
    covariance of e and e s^2; at least half of the variance of e.
    """
    chances, means = samples(rows)
    centre = np.mean(rows, axis=0)
    linear, quadratic, cubic = np.zeros((3, len(chances)))
    for number, weight in enumerate(weights):
        part, whole = centre[2 * number], centre[2 * number + 1]
        residual = weight * (means[:, 2 * number] - part / whole * means[:, 2 * number + 1]) / whole
        size = means[:, 2 * number + 1] / whole - 1
        linear += residual
        quadratic -= residual * size
        cubic += residual * size**2
    both = linear + quadratic
    variance = _spread(chances, both, both) + 2 * _spread(chances, linear, cubic)
    least = _spread(chances, linear, linear) / 2
    return sqrt(max(variance, least) * len(rows) / (len(rows) - 1))


def last(is_inside: Callable[[float], bool], inside: float, limit: float) -> float:
    """The last value inside on the way to a limit, by halving."""
    if is_inside(limit):
        return limit
    outside = limit
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
    return inside


def share_interval(successes: int, trials: int, z: float = Z) -> tuple[float, float]:
    """All p that a score test of the share does not reject: |s / n - p| <= z sqrt(p (1 - p) / n)."""
    share = successes / trials

    def is_inside(p: float) -> bool:
        return (share - p) ** 2 <= z**2 * p * (1 - p) / trials

    return last(is_inside, share, 0.0), last(is_inside, share, 1.0)


def paired_interval(lost: int, gained: int, questions: int, z: float = Z) -> tuple[float, float]:
    """All differences that the score test does not reject, with the most likely chance of a loss for each of them.

    With the chances l of a loss and l + d of a gain, the variance of gained - lost is N (2 l + d - d^2).
    """
    same = questions - lost - gained

    def likelihood(loss: float, difference: float) -> float:
        chances = (loss, loss + difference, 1 - 2 * loss - difference)
        counts = (lost, gained, same)
        if any(n and p <= 0 for n, p in zip(counts, chances, strict=True)):
            return -inf
        return sum(n * log(p) for n, p in zip(counts, chances, strict=True) if n)

    def is_inside(difference: float) -> bool:
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


def extremes(statistic: Statistic, rows: Sequence[Row], others: Sequence[Row], z: float = Z) -> tuple[float, float]:
    """Smallest and largest value of a statistic of the means in all populations that agree with the sample.

    A population gives a probability p_i to each distinct row of the sample, with share s_i, and to the other rows that
    are possible. It agrees if sum s_i^2 / p_i <= 1 + z^2 / N. The search is a general one, from several starts.
    """
    times = Counter(map(tuple, rows))
    possible = np.array([*times, *(row for row in map(tuple, others) if row not in times)])
    shares = np.array([times.get(tuple(row), 0) / len(rows) for row in possible.tolist()])
    seen = shares > 0
    most = 1 + z**2 / len(rows)

    def left(chances: np.ndarray) -> float:
        return float(most - (shares[seen] ** 2 / np.maximum(chances[seen], 1e-12)).sum())

    generator = np.random.default_rng(0)
    ends = []
    for sign in (1, -1):
        values = [sign * statistic(*(shares @ possible))]
        for start in range(12):
            toward = (
                generator.dirichlet(np.full(len(possible), 0.5)) if start else np.full_like(shares, 1 / len(shares))
            )
            step = 1.0
            while left((1 - step) * shares + step * toward) < 0:
                step *= 0.8
            found = minimize(
                lambda chances, sign=sign: sign * statistic(*(chances @ possible)),
                (1 - step) * shares + step * toward,
                method="SLSQP",
                bounds=[(1e-9 if inside else 0.0, 1.0) for inside in seen],
                constraints=[
                    {"type": "eq", "fun": lambda chances: chances.sum() - 1},
                    {"type": "ineq", "fun": left},
                ],
                options={"maxiter": 300, "ftol": 1e-13},
            )
            if abs(found.x.sum() - 1) < 1e-8 and left(found.x) > -1e-7:
                values.append(float(found.fun))
        ends.append(sign * min(values))
    return ends[0], ends[1]


def extremes_of_cora(counts: Sequence[int], z: float = Z) -> tuple[float, float]:
    """`extremes` of cora from the number of questions of each outcome: right in all variants, in the original, wrong.

    With the probability p of the second outcome, cora is (1 - p)(1 - q), where q is that of the third one. The
    condition s_1^2 / (1 - p - q) + s_3^2 / q <= K, where K = 1 + z^2 / N - s_2^2 / p, is quadratic in q. So only p is
    searched for, on finer and finer grids.
    """
    total = sum(counts)
    all_of_them, original, wrong = (count / total for count in counts)
    ends = []
    for sign in (-1, 1):
        low, high = share_interval(counts[1], total, z)
        limits, best = (low, high), -inf
        for _ in range(6):
            p = np.linspace(low, high, 401)
            k = 1 + z**2 / total - np.divide(original**2, p, out=np.zeros(401), where=p > 0)
            half = (all_of_them**2 - wrong**2 - k * (1 - p)) / 2
            root = half**2 - k * wrong**2 * (1 - p)
            possible = (k > 0) & (root >= 0)
            spread = np.sqrt(np.where(possible, root, 0))
            k = np.where(possible, k, 1)
            found = [np.where(possible, sign * (1 - p) * (1 - (-half + side * spread) / k), -inf) for side in (-1, 1)]
            values = np.maximum(*found)
            place = int(values.argmax())
            best = max(best, float(values[place]))
            reach = 3 * (high - low) / 400
            low, high = max(limits[0], p[place] - reach), min(limits[1], p[place] + reach)
        ends.append(sign * best)
    return ends[0], ends[1]
