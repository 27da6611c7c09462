"""Read the samples files of other tasks of the harness as a stream: the values of each document."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.lines import LONGEST, bounded_lines
from lm_eval_cora.runs.parts import BYTES_WORTH_A_BAR
from lm_eval_cora.runs.samples import is_ours, parsed_line

_NO_METRIC = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash"),
    "bypass",  # the placeholder of --predict_only
}
"""Keys of a line that are not metrics."""

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""The address of an object without a JSON form, such as an image or a function: another one in each run."""

_HASH = 16


class Hashes(NamedTuple):
    """The harness' hashes of a document, its target and its prompt, shortened."""

    doc: str
    target: str
    prompt: str


@dataclass
class Documents:
    """The lines of one filter of a samples file.

    Attributes:
        hashes: The hashes of each document.
        values: The value of each metric for each document.
        unusable: Reason why a metric has no mean over the documents.
        repeated: Number of further lines of a document; they are left out.
    """

    hashes: dict[int, Hashes] = field(default_factory=dict)
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    repeated: int = 0


def read_lines(path: Path) -> tuple[dict[str, Documents], Counter[str]]:
    """Read a samples file."""
    found: dict[str, Documents] = {}
    broken: Counter[str] = Counter()
    try:
        for line in _lines(path):
            if line is None:
                broken[f"longer than {LONGEST // 1_000_000} MB"] += 1
                continue
            try:
                sample = parsed_line(line)
            except (ValueError, RecursionError):
                broken["not JSON"] += 1
                continue
            if is_ours(sample):
                if not found:
                    return {}, Counter()
                broken["from an lm-eval-cora task"] += 1
            elif not _take(sample, line, found):
                broken["incomplete or altered"] += 1
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    return found, broken


def _lines(path: Path) -> Iterator[bytes | None]:
    """Yield the lines of a file that are not empty, None instead of one that is too long; with a progress bar."""
    size = path.stat().st_size
    # None hides the bar of tqdm unless stderr is a terminal.
    hidden = True if size < BYTES_WORTH_A_BAR else None
    with path.open("rb") as file, tqdm(total=size, desc=path.name, unit="B", unit_scale=True, disable=hidden) as bar:
        for _, length, line in bounded_lines(file, size):
            if line is None or line.strip():
                yield line
            bar.update(length)


def _take(sample: Any, line: bytes, found: dict[str, Documents]) -> bool:
    """Add a line to `found`; return whether it is a document with an answer."""
    key = sample.get("doc_id") if isinstance(sample, dict) else None
    if type(key) is not int or "doc" not in sample or not isinstance(sample.get("filter", "none"), str):
        return False
    try:
        hashes = Hashes(_doc_hash(sample, line), *(str(sample.get(f"{n}_hash"))[:_HASH] for n in ("target", "prompt")))
    except RecursionError:
        return False
    part = found.setdefault(sample.get("filter", "none"), Documents())
    if key in part.hashes:  # the first of several lines of a document counts
        part.repeated += 1
        return True
    part.hashes[key] = hashes
    names = sample.get("metrics", sample)  # older versions of the harness do not list the metrics
    for name in names if isinstance(names, list | dict) else ():
        if isinstance(name, str) and name in sample and name not in _NO_METRIC:
            value = number(sample[name])
            if value is None:
                part.unusable[name] = f"values of the type {type(sample[name]).__name__}"
            elif not isfinite(value):
                part.unusable.setdefault(name, "nan or infinite for some documents")
            else:
                part.values.setdefault(name, {})[key] = value
    return True


def _doc_hash(sample: Mapping[str, Any], line: bytes) -> str:
    """The harness' hash of a document; without addresses, if the document contains objects with addresses."""
    known = sample.get("doc_hash")
    if known is None or b" at 0x" in line:
        text = json.dumps(sample["doc"], sort_keys=True)
        if known is None or ADDRESS.search(text):
            known = sha256(ADDRESS.sub("", text).encode()).hexdigest()
    return str(known)[:_HASH]


def number(value: Any) -> float | None:
    """A value as a float; nan for a number that is too large; None if it is not a number."""
    if not isinstance(value, bool | int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return nan
