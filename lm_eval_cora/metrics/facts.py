"""Facts about metrics, attached to their functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.responses import ResponseTable

LAST = 100  # the place of all other metrics
NEEDS_SEVERAL = "needs several variants of each question"


class Facts(NamedTuple):
    """Facts about a metric.

    A metric that is known early depends only on which originals are right, and which questions are right in all
    variants. It is exact as soon as each question has a wrong answer or all its answers.

    The needs are columns of the table besides right or wrong, `balanced` orders (each option is equally often at each
    letter), and `equal_prompts` (the variants have the same prompt, or the original has repeats). Answers from a file
    have the metrics whose needs they meet. A metric that needs at most `original` and `equal_prompts` is computed
    despite skipped variants, see `arrays.despite_skipped`: more right answers must not lower it.
    """

    meaning: str = ""  # in one sentence; not from the docstring, because `python -OO` removes it
    bounds: tuple[float, float] = (0.0, 1.0)  # the lowest and the highest value
    needs: tuple[str, ...] = ("unknown",)  # of a user's own function
    kinds: tuple[str, ...] = ()  # names of the kinds of variants of which it needs one; empty for any kinds
    known_early: bool = False
    means: tuple[Callable[..., Any], ...] = ()  # the metrics whose product it is; empty for the metric itself
    bootstrapped: bool = False  # whether the standard error comes from a bootstrap
    fewest: int = 1  # smallest number of questions, or of the passages that they share
    why_undefined: Callable[[ResponseTable], str] = lambda table: "no question counts for it"  # if nothing else is
    ranks_models: bool = True  # whether a better value means a better model, on the same questions for each model
    of_one_answer: bool = False  # whether it says something about a single answer to each question
    place: int = LAST  # place in the table of all scores
    spoken: str = ""  # name in a sentence; empty for that of the entry
    symbol: str = ""  # name in the tables of a paper; empty for the one in sentences

    def is_unvaried(self, table: ResponseTable) -> bool:
        """Whether the metric says nothing about a table, because all questions were asked once only."""
        prompts = table.equal_prompts if "equal_prompts" in self.needs else table
        return not self.of_one_answer and int(prompts.sizes.max(initial=0)) == 1


F = TypeVar("F", bound=Callable[..., Any])


def metric(meaning: str, *, needs: tuple[str, ...] = (), **more: Any) -> Callable[[F], F]:
    """Attach facts to the function of a metric; see `Facts`. It is undefined if nothing was varied, see `is_unvaried`.

    The function gets a table; if it takes arrays, too, `takes_arrays` stands above this decorator.
    """
    facts = Facts(meaning, needs=needs, **more)

    def attached(function: F) -> F:
        @wraps(function)
        def unless_unvaried(table: ResponseTable, *arguments: Any, **named: Any) -> Any:
            result = function(table, *arguments, **named)
            return UNDEFINED if isinstance(result, Estimate) and facts.is_unvaried(table) else result

        unless_unvaried.facts = facts  # type: ignore[attr-defined]
        return unless_unvaried  # type: ignore[return-value]

    return attached


def facts_of(function: Callable[..., Any] | None) -> Facts:
    """The facts of a metric; the defaults for a user's own function."""
    return getattr(function, "facts", Facts())
