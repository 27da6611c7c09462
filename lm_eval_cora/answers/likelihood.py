"""Read the most likely of the answers that were scored."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import Any

from lm_eval_cora.answers import Answer, Reason


def most_likely(loglikelihoods: Sequence[Any], printed: Sequence[int]) -> Answer:
    """Pick the option whose letter is the most likely.

    Of letters that are exactly as likely the first is picked, and the answer is marked as tied: in bfloat16, with
    its eight bits of precision, this is common. Two letters of one option (equal distractors) are no tie.

    Args:
        loglikelihoods: Log-likelihood of each printed letter, in printed order.
        printed: Identity of each printed option, in printed order.

    Returns:
        The identity of the option picked. A model that overflows gives no number, and a likelihood may be missing:
        then the answer is invalid instead of a pick by chance.

    Example:
        >>> most_likely([-2.0, -0.5, -1.0], printed=[0, 4, 2]).picked
        4
        >>> answer = most_likely([-0.5, -0.5], printed=[0, 4])
        >>> answer.picked, answer.tied
        (0, True)
        >>> most_likely([float("nan"), -0.5], printed=[0, 4]).reason.value
        'no likelihood'

    Source: what the harness' own multiple choice tasks do; counting the ties and refusing what is no number is ours.
    """
    values = [_number(value) for value in loglikelihoods]
    if len(values) != len(printed) or any(map(isnan, values)):
        return Answer(reason=Reason.NO_LIKELIHOOD)
    highest = max(values)
    best = [position for position, value in enumerate(values) if value == highest]
    identities = {printed[position] for position in best}
    return Answer(picked=printed[best[0]], position=best[0], tied=len(identities) > 1)


def yes_or_no(loglikelihoods: Sequence[Any], printed: Sequence[int]) -> Answer:
    """Read whether "yes" is more likely than "no".

    Args:
        loglikelihoods: Log-likelihood of "yes" and of "no".
        printed: Identity of the option that the question is about, alone.

    Returns:
        The option as selected if "yes" is at least as likely, none selected if "no" is, and both log-likelihoods. If
        both are equal the answer is marked as tied; what is no number makes it invalid.

    Example:
        >>> yes_or_no([-0.25, -1.5], printed=[4]).selected, yes_or_no([-1.5, -0.25], printed=[4]).selected
        ((4,), ())

    Source: REVAS, section 4 (option probability analysis).
    """
    values = [_number(value) for value in loglikelihoods]
    if len(values) != 2 or any(map(isnan, values)):
        return Answer(reason=Reason.NO_LIKELIHOOD)
    yes, no = values
    return Answer(selected=tuple(printed) if yes >= no else (), tied=yes == no, yes=yes, no=no)


def _number(value: Any) -> float:
    """A back end's number: Python's own, or a scalar of numpy or torch."""
    if value is None or isinstance(value, str | bytes | bool):
        return nan
    try:
        return float(value)
    except Exception:  # whatever it is, the answers have been paid for
        return nan
