"""The bias of scores from a budget: with early stopping, the number of questions depends on the answers."""

from __future__ import annotations

from typing import NamedTuple

ENOUGH = 300
"""Number of questions from which the bias of a budget is small compared with the standard error."""


class Moments(NamedTuple):
    """Sums over the questions of a task.

    Attributes:
        questions: Number of questions asked, n.
        requests: Sum of their requests, c_i.
        right: Number of questions whose original is right, sum of x_i.
        requests_of_right: Requests for these questions, sum of c_i x_i.
        always: Number of questions that are right in all variants, sum of y_i.
        requests_of_always: Requests for these questions, sum of c_i y_i.
    """

    questions: int = 0
    requests: int = 0
    right: int = 0
    requests_of_right: int = 0
    always: int = 0
    requests_of_always: int = 0


class Bias(NamedTuple):
    """By how much scores are too high.

    Attributes:
        mcqa: Bias of mcqa.
        bmca: Bias of bmca@1.0.
    """

    mcqa: float = 0.0
    bmca: float = 0.0


def bias_of_budget(moments: Moments) -> Bias:
    """Estimate by how much shares of questions are too high because a budget decided the number of questions.

    Questions that are right in all variants need the most requests. If many of the first questions are like this,
    fewer others follow that could outweigh them. To first order the bias of a share is Cov(c, x) / B. Here c_i is the
    number of requests for question i, x_i is 1 if it counts, and B is the number of requests of the task. It is of the
    order 1 / n.
    """
    n, requests, right, of_right, always, of_always = moments
    if n < 2 or not requests:
        return Bias()
    return Bias(
        *(
            (of_part - requests * part / n) / (n - 1) / requests
            for part, of_part in ((right, of_right), (always, of_always))
        )
    )
