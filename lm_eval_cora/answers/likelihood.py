"""Pick the most likely of the scored answers."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import Any

import numpy as np

from lm_eval_cora.answers import Answer, Reason


def most_likely(loglikelihoods: Sequence[Any], printed: Sequence[int]) -> Answer:
    """Pick the option whose letter has the highest log-likelihood.

    If several letters have exactly the same log-likelihood, the first one is picked and the answer is marked as tied.
    This is common in bfloat16, which has eight bits of precision. Two letters of the same option (equal distractors)
    do not count as a tie.
    """
    values = [_number(value) for value in loglikelihoods]
    if len(values) != len(printed) or any(map(isnan, values)):
        return Answer(reason=Reason.NO_LIKELIHOOD)
    highest = max(values)
    best = [position for position, value in enumerate(values) if value == highest]
    identities = {printed[position] for position in best}
    return Answer(picked=printed[best[0]], position=best[0], tied=len(identities) > 1)


def as_bytes(loglikelihoods: Sequence[Any]) -> bytes:
    """Store log-likelihoods as 32-bit numbers, the precision of the models."""
    with np.errstate(over="ignore"):  # a number that does not fit becomes infinite
        return np.array([_number(value) for value in loglikelihoods], dtype=np.float32).tobytes()


def yes_or_no(loglikelihoods: Sequence[Any], printed: Sequence[int]) -> Answer:
    """Compare the log-likelihoods of "yes" and "no"."""
    values = [_number(value) for value in loglikelihoods]
    if len(values) != 2 or any(map(isnan, values)):
        return Answer(reason=Reason.NO_LIKELIHOOD)
    yes, no = values
    return Answer(selected=tuple(printed) if yes >= no else (), tied=yes == no, yes=yes, no=no)


def _number(value: Any) -> float:
    """Convert a number of Python, numpy or torch to float; NaN if it is not a number."""
    if value is None or isinstance(value, str | bytes | bool):
        return nan
    try:
        return float(value)
    except Exception:  # no value may raise after the inference
        return nan
