"""Read whether a response begins with yes or with no."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.head import LABEL, head_of, why_nothing

_HEAD = 256

_FIRST_WORD = re.compile(r"[\W_]*([^\W\d_]+)")
_OTHER_WORD = re.compile(r"(?:\s*/\s*|\s+(?:or|and)\s+)(?:yes|no)\b", re.IGNORECASE)


def read_yes_no(response: str, printed: Sequence[int]) -> Answer:
    r"""Read whether the option that a question is about is said to be right.

    The first word decides, whatever its case: "Yes", "**No**,", "yes. Because". A label before it is skipped ("Answer:
    yes", "The right answer is yes"), and so is reasoning that ends in "</think>" or the like. "True", "Correct" and
    other languages say nothing: yes or no was asked for. Nor does "yes or no", which repeats the question.

    Args:
        response: What the model wrote; any text of any length.
        printed: Identity of the option that the question is about, alone.

    Returns:
        The option as selected for yes, none selected for no, or the reason why neither was said.

    Example:
        >>> read_yes_no("Yes, because ...", printed=[4]).selected, read_yes_no("**No**", printed=[4]).selected
        ((4,), ())
        >>> read_yes_no("Ice is water.", printed=[4]).reason.value
        'neither yes nor no'
    """
    head = head_of(response, _HEAD)
    label = LABEL.match(head)
    word = _FIRST_WORD.match(head, label.end() if label else 0)
    said = word.group(1).lower() if word else ""
    if said not in ("yes", "no") or (word and _OTHER_WORD.match(head, word.end())):
        return Answer(reason=why_nothing(head, Reason.NO_YES_OR_NO))
    return Answer(selected=tuple(printed) if said == "yes" else ())
