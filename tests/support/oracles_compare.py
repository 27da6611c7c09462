"""Slow and obvious versions of guessing, resampling and comparing: plain loops, exact fractions, a plain bootstrap.

They share no code with the package. The metrics of one table are in `oracles.py` and `oracles_score.py`.
"""

from dataclasses import replace
from fractions import Fraction
from math import comb
from statistics import mean, stdev

from tests.support import oracles


def at_least(variants, rate):
    """P(at least p of M right | r), p = 0 ... M; CoRA, eq. 8-10."""
    right, all_of_it = rate.numerator, rate.denominator
    exactly = [comb(variants, p) * right**p * (all_of_it - right) ** (variants - p) for p in range(variants + 1)]
    tails, tail = [], 0
    for ways in reversed(exactly):
        tail += ways
        tails.append(Fraction(tail, all_of_it**variants))
    return tails[::-1]


def expected(hits, draws):
    """The limit of the means: the hits of one question are binomial in the draws."""
    rates = [Fraction(sum(row), len(row)) for row in hits]
    mcqa = Fraction(sum(row[0] for row in hits), len(hits))
    full = sum((rate**draws for rate in rates), Fraction(0)) / len(rates)
    majority = [at_least(draws, rate)[draws // 2 + 1] for rate in rates]
    return {
        "mcqa_plus": float(sum(rates, Fraction(0)) / len(rates)),
        "mv": float(sum(majority, Fraction(0)) / len(rates)),
        "cora": float(mcqa * (1 - (mcqa - full))),
    }


def mean_difference(before, after):
    """Mean of the differences within the questions, and its standard error."""
    differences = [new - old for old, new in zip(before, after, strict=True)]
    return mean(differences), stdev(differences) / len(differences) ** 0.5


def mcnemar(before, after):
    """Questions lost and gained, and the mid-p-value: a fair coin makes each change a loss or a gain.

    Twice the probability that the rarer one is rarer still, and once the probability of this split in one direction.
    """
    lost = sum(old and not new for old, new in zip(before, after, strict=True))
    gained = sum(new and not old for old, new in zip(before, after, strict=True))
    changes, fewer = lost + gained, min(lost, gained)
    ways = 2 * sum(comb(changes, heads) for heads in range(fewer)) + comb(changes, fewer)
    return lost, gained, float(Fraction(ways, 2**changes))


def rate_of_random_picks(members, times, rng):
    """Mean consistency_rate of a respondent that picks a random printed option, over some tries."""
    rates = []
    for _ in range(times):
        guessed = [[replace(record, picked=rng.choice(record.printed)) for record in records] for records in members]
        rates.append(oracles.consistency_rate(guessed))
    return mean(rate for rate in rates if rate is not None)
