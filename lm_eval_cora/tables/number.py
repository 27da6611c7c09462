"""A number with its standard error and interval, as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import falls
from lm_eval_cora.metrics.paired import Difference

_MOST_DIGITS = 9
FALLS = "↘"  # the mark of a value of `cora` where it falls with the accuracy
_NEGATIVE = re.compile(r"(?<![\w.-])-(?=\d)")


@dataclass(frozen=True)
class Number:
    """A number in a table or a chart, with its standard error and the ends of its 95% interval; nan is undefined.

    The ends are printed so that they are seen to be on one side of the `bounds`, and of 0 for a difference.
    """

    value: float
    stderr: float = nan
    best: bool = False  # the best of its row, or one that cannot be told apart from the best
    signed: bool = False
    ends: tuple[float, float] = (nan, nan)
    bounds: tuple[float, ...] = ()
    falls: bool = False  # a value of a metric that falls for better models; see `metrics.facts.falls`
    suffix: str = ""  # what follows the digits, such as stars

    @classmethod
    def of_metric(cls, name: str, scores: Mapping[str, Estimate], *, best: bool = False) -> Number:
        """Make a number of a metric of a model."""
        number = cls.of(scores.get(name, UNDEFINED), best=best)
        return replace(number, falls=falls(name, scores))

    @classmethod
    def of(cls, estimate: Estimate, *, best: bool = False, signed: bool = False) -> Number:
        """Make a number from an Estimate."""
        return cls(estimate.value, estimate.stderr, best, signed, estimate.interval)

    @classmethod
    def of_difference(cls, change: Difference) -> Number:
        """Make a number from a difference."""
        return cls(change.value, change.stderr, signed=True, ends=(change.low, change.high))

    @property
    def interval(self) -> str:
        """The 95% interval as text, signed for a difference. If it is unknown: empty, and n/a for a difference."""
        if isnan(self.ends[0]):
            return "n/a" if self.signed else ""
        bounds = (*self.bounds, 0.0) if self.signed else self.bounds
        return " to ".join(end_as_text(end, 3, self._sign, bounds) for end in self.ends)

    @property
    def with_interval(self) -> tuple[Number, str]:
        """The two cells of a number and its 95% interval."""
        return self, self.interval

    @property
    def with_ends(self) -> Number:
        """The number with its 95% interval in place of the error, if it has one."""
        ends = f" [{self.interval.replace(' to ', ', ')}]{self.suffix}"
        return self if isnan(self.ends[0]) else replace(self, stderr=nan, suffix=ends)

    def __str__(self) -> str:
        """Format the number as value and standard error.

        Example:
            >>> str(Number(0.744, 0.0121)), str(Number(-0.25, signed=True)), str(Number(nan))
            ('0.744 ± 0.012', '-0.250', 'n/a')
        """
        if isnan(self.value):
            return "n/a"
        error = "" if isnan(self.stderr) else f" ± {self.stderr:.3f}"
        return f"{end_as_text(self.value, 3, self._sign)}{error}{self.suffix}{f' {FALLS}' if self.falls else ''}"

    @property
    def _sign(self) -> str:
        return "+" if self.signed else ""


def with_minus(text: str) -> str:
    """The text with real minus signs in front of its negative numbers, for the page and its charts."""
    return _NEGATIVE.sub("\u2212", text)


def end_as_text(end: float, digits: int, sign: str = "", bounds: Sequence[float] = ()) -> str:
    """Format an end of an interval, with more digits if it would else be seen on another side of a bound, or on it."""
    side = np.sign(np.subtract(bounds, end))
    enough = (n for n in range(digits, _MOST_DIGITS) if (np.sign(np.subtract(bounds, round(end, n))) == side).all())
    digits = next(enough, digits)
    return f"{round(end, digits) + 0.0:{sign}.{digits}f}"  # no -0.000


def p_as_text(p: float) -> str:
    """Format a p-value; empty if it is unknown."""
    return "" if isnan(p) else f"{p:.3g}"
