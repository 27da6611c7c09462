"""What reports, exports and stopping rules need to know about a metric, attached to its function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar


class Facts(NamedTuple):
    """Facts about a metric.

    Attributes:
        meaning: The metric in one sentence. Docstrings are not used for this, because `python -OO` removes them.
        bounds: The lowest and the highest value.
        needs: Columns that an answer collected without the harness needs, besides right or wrong.
        known_early: Whether the metric depends only on which originals are right, and which questions are right in all
            variants. It is then exact as soon as each question has a wrong answer or all its answers.
        bootstrapped: Whether the standard error comes from a bootstrap.
    """

    meaning: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)
    needs: tuple[str, ...] = ()
    known_early: bool = False
    bootstrapped: bool = False


F = TypeVar("F", bound=Callable[..., Any])


def metric(meaning: str, **more: Any) -> Callable[[F], F]:
    """Attach facts to the function of a metric; see `Facts`."""

    def attached(function: F) -> F:
        function.facts = Facts(meaning, **more)  # type: ignore[attr-defined]
        return function

    return attached


def facts_of(function: Callable[..., Any]) -> Facts:
    """The facts of a metric; the defaults for a user's own function."""
    found: Facts = getattr(function, "facts", Facts())
    return found
