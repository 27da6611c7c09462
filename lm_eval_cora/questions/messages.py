"""Parts of messages: numbers with a noun, errors of other libraries, and the first few of many names."""

from collections.abc import Iterable
from difflib import get_close_matches
from traceback import extract_tb

_SHOWN = 3
_LONGEST = 100  # longer words are not typing errors, and comparing them is slow
_CLOSE = 0.7  # smallest similarity of a suggestion, from 0 to 1: high, because all our task names share a prefix
_SHORTEST_PART = 3  # shorter words are not searched inside longer ones


def counted(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def left_out_for_references(number: object) -> str:
    """How many questions are left out because their options refer to others."""
    return f"questions left out because their options refer to others: {number}"


def described(error: BaseException) -> str:
    """The type of another library's error, and its text or else the function that raised it."""
    kind, text = type(error).__name__, str(error).strip()
    raised = [f" in {frame.name} of {frame.filename}" for frame in extract_tb(error.__traceback__)]
    return f"{kind}: {text}" if text else kind + "".join(raised[-1:])


def first_few(names: Iterable[object], most: int = _SHOWN) -> str:
    """The first three of some names, or more of them."""
    texts = list(map(str, names))
    return ", ".join([*texts[:most], *(["…"] if len(texts) > most else [])])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest known words that are similar to an unknown one or, if there are none, that contain it, in any case."""
    if len(word) > _LONGEST:
        return ""
    # Of words that differ only in case, the first in order stays.
    spelled = {name.casefold(): name for name in sorted(set(known), reverse=True)}
    folded = word.casefold()
    close = get_close_matches(folded, sorted(spelled), n=_SHOWN, cutoff=_CLOSE)
    if not close and len(folded) >= _SHORTEST_PART:
        close = sorted((name for name in spelled if folded in name), key=lambda name: (len(name), name))[:_SHOWN]
    return f" Did you mean {', '.join(repr(spelled[name]) for name in close)}?" if close else ""
