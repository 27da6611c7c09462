"""Numbers of a report with their errors, as text."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.paired import Difference


@dataclass(frozen=True)
class Number:
    """A number in a table or a chart.

    Attributes:
        value: The number; nan if it is undefined.
        stderr: Its standard error; nan if it is unknown.
        ends: The ends of its 95% confidence interval; nan if they are unknown.
        best: Whether to mark it as the best of its row, or as one that cannot be told apart from the best.
        signed: Whether to print the sign, as for a difference.
    """

    value: float
    stderr: float = nan
    best: bool = False
    signed: bool = False
    ends: tuple[float, float] = (nan, nan)

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
        return " to ".join(map(self._digits, self.ends))

    def __str__(self) -> str:
        """Format the number as value and standard error.

        Example:
            >>> str(Number(0.744, 0.0121)), str(Number(-0.25, signed=True)), str(Number(nan))
            ('0.744 ± 0.012', '-0.250', 'n/a')
        """
        if isnan(self.value):
            return "n/a"
        error = "" if isnan(self.stderr) else f" ± {self.stderr:.3f}"
        return f"{self._digits(self.value)}{error}"

    def _digits(self, number: float) -> str:
        return f"{round(number, 3) + 0.0:{'+' if self.signed else ''}.3f}"  # no -0.000


def difference_and_interval(change: Difference) -> tuple[Number, str]:
    """The cells of a difference: its value with the standard error, and its 95% interval."""
    number = Number.of_difference(change)
    return number, number.interval
