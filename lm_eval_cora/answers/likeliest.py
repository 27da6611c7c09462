"""Scores of letters from the likeliest next tokens, of which most servers return only a few."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import exp, fsum, isnan, log, nan
from typing import Any

TOP = 20
"""Number of tokens that are asked for; most servers return at most as many."""

WRITE = "Let the model write its answers, with the task without _mc"
REASONS_FIRST = "the model begins with its reasoning, so the next token is no letter"

_UNLIKELY = -9999.0  # what some servers return in place of the log-probability of an unlikely token: it is unknown
_ROUNDING = 0.01  # of log-probabilities, and of a sum of probabilities

_FORMS = [blank + form for blank in ("", " ") for form in ("{}", "({}", "[{}", '"{}', "'{}", "{})")]
_BLANKS = str.maketrans("▁Ġ", "  ")  # marks of blanks in the names of tokens
_LEAST = 1e-300


def asks_for_it(settings: object) -> bool:
    """Whether generation settings ask for the next token with its alternatives, and not for an answer."""
    return isinstance(settings, dict) and settings.get("max_gen_toks") == 1 and "logprobs" in settings


def as_text(tokens: Iterable[tuple[Any, Any]]) -> str:
    """Write the likeliest tokens and their log-probabilities as text, in which no stop sequence such as </s> is.

    Raises:
        ValueError: If they are no texts with log-probabilities.
    """
    numbers = (each for each in tokens if isinstance(each[1], int | float))
    known = [(str(token), score) for token, score in numbers if score > _UNLIKELY]
    scores, came = [score for _, score in known], ""
    if not known:
        came = "no log-probabilities of the next token"
    elif not max(scores) <= _ROUNDING or not fsum(map(exp, scores)) <= 1 + _ROUNDING:
        came = "numbers that are no log-probabilities of the next token"
    elif all(token.startswith("token_id:") for token, _ in known):
        came = "the ids of the next tokens, not their texts"
    if came:
        raise ValueError(f"the server returns {came}. {WRITE}")
    return json.dumps([(token, round(score, 8)) for token, score in known]).replace("<", "\\u003c")


def tokens_in(text: str) -> list[tuple[str, float]]:
    """Read the tokens in a text of `as_text`; empty if there are none."""
    with suppress(ValueError, TypeError, OverflowError, RecursionError):
        return [(str(token), min(0.0, float(score))) for token, score in json.loads(text) if not isnan(score)]
    return []


def spellings(label: str) -> set[str]:
    """The tokens that are a label: with a blank, a bracket or a quote. Words count in any case, letters as printed.

    Example:
        >>> len(spellings("A")), " (A" in spellings("A"), "a" in spellings("A"), "Yes" in spellings("yes")
        (12, True, False, True)
    """
    cases = {label} if len(label) == 1 else {label.lower(), label.capitalize(), label.upper()}
    return {form.format(case) for form in _FORMS for case in cases}


def scores_of(returned: Sequence[tuple[str, float]], labels: Sequence[str], top: int = TOP) -> list[float]:
    """The log-probability that a label may have beside its returned tokens, then that of the tokens of each label.

    A label has the sum of the probabilities of its spellings; nan if none was returned. Each of the others has at most
    the probability of the last of the `top` tokens, and all have at most what is left of 1. If fewer tokens came, two
    may have had the same name, so only the second limit holds.

    Example:
        >>> some = [("A", log(0.6)), (" A", log(0.2)), ("The", log(0.1))]
        >>> [round(exp(score), 3) for score in scores_of(some, ["A", "B"], top=3)]
        [0.1, 0.8, nan]
    """
    chances, forms = defaultdict[str, float](float), [*map(spellings, labels)]
    for token, score in returned:
        chances[token.translate(_BLANKS)] += exp(score)
    largest = sorted((exp(score) for _, score in returned), reverse=True)
    limit = max(map(len, forms)) * largest[top - 1] if len(largest) >= top else 1.0
    unseen = min(limit, 1 - fsum(largest))
    sums = [fsum(map(chances.__getitem__, each & chances.keys())) for each in forms]
    return [log(max(_LEAST, unseen)), *(log(chance) if chance else nan for chance in sums)]
