"""Find the answer in JSON, in a printed Python dict, or in the arguments of a tool call."""

from __future__ import annotations

import re

_PAIR = re.compile(
    r"(?P<quote>[\"'])(?P<key>[^\"'\n]{1,40})(?P=quote)\s{0,4}:\s{0,4}(?P<list>\[\s{0,4})?"
    r"(?:\"(?P<double>(?:[^\"\\]|\\.){0,4000})\"|'(?P<single>(?:[^'\\\n]|\\.){0,4000}?)'(?=\s*[,}\]])"
    r"|(?P<bare>true|false|null|None|True|False|-?\d[\d.]{0,30}))(?P<more>(?=\s{0,4},\s{0,4}[\"'][^\"':]{0,400}[\"']\s{0,4}[,\]]))?",
)
_CALL = re.compile(
    r"\b\w{1,40}\(\s{0,4}(?P<key>[a-z_]{1,40})\s?=\s?(?P<quote>[\"'])(?P<double>[^\"'\n]{1,400})(?P=quote)\s{0,4}\)"
)
_KEYS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:final|correct|best|predicted|my|the|right|selected|chosen)?[\s_-]*answer(?:[\s_-]*(?:letter|choice|option|key|"
        r"label))?|(?:final|correct|best|selected|chosen|predicted|right)[\s_-]*(?:choice|option|letter)",
        r"[\w\s-]*(?:choice|option|letter|answer|selection|selected|prediction|chosen)[\w\s-]*",
        r"(?:result|response|output|final|value|solution|conclusion)",
    )
)
"""Keys of an answer, the clearest first."""
_NOT_KEYS = re.compile(
    r"expla|reason|rationale|thought|analy|why|comment|justif|confidence|wrong|incorrect|options|choices", re.I
)
_YES = ("true", "True", "yes", "Yes", "correct", "Correct", "right", "Right")


def values(text: str) -> list[tuple[str, int, int]] | None:
    """Return the values of a text that looks like JSON and that are answers, with their places."""
    pairs = [*_PAIR.finditer(text), *_CALL.finditer(text)]
    if not pairs:
        return None
    for keys in _KEYS:
        found = [pair for pair in pairs if keys.fullmatch(pair["key"].strip()) and not _NOT_KEYS.search(pair["key"])]
        if found:
            return _of(found[-1], text)
    verdicts = [pair for pair in pairs if re.fullmatch(r"[A-Z]", pair["key"].strip())]
    if len(verdicts) > 1:
        affirmed = [pair for pair in verdicts if (_value(pair)[0] in _YES)]
        return [(pair["key"].strip(), *pair.span("key")) for pair in affirmed or verdicts]
    if len(pairs) == 1 and re.fullmatch(r"[A-Z]", _value(pairs[0])[0]):
        return _of(pairs[0], text)
    return None


def _of(pair: re.Match[str], text: str) -> list[tuple[str, int, int]]:
    value, group = _value(pair)
    start, end = pair.span(group)
    found = [(value, start, end)]
    if pair.groupdict().get("list") and pair["more"] is not None:
        found.append(("", end, pair.end()))
    return found


def _value(pair: re.Match[str]) -> tuple[str, str]:
    groups = pair.groupdict()
    group = next(name for name in ("double", "single", "bare") if groups.get(name) is not None)
    return groups[group], group
