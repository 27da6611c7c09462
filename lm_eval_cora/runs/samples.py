"""Read samples files of the harness as a stream into few bytes per line, because a file may exceed the memory."""

from __future__ import annotations

import json
import re
from array import array
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.equivalence import EquivalenceChecker
from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.records import SKIPPED, Response, read_likelihoods, read_response, response_of, skipped
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.packed import PackedRecords
from lm_eval_cora.metrics.responses import IDENTITIES, Ints
from lm_eval_cora.questions.lines import DEEPEST, LONGEST, bounded_lines, is_deep
from lm_eval_cora.questions.question import MAX_OPTIONS, Form
from lm_eval_cora.variants.probes import PROBES, Probe

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

ANOTHER_TASK = "from another task"
"""Reason to leave out a line that is not of an lm-eval-cora task."""

_DIGEST = 16
"""Number of characters of a digest that are kept."""


class Place(NamedTuple):
    """File and byte offset of a line."""

    path: Path
    offset: int


@dataclass
class Samples:
    """The samples of one filter in one or more files.

    Attributes:
        paths: The files, each with its number of samples.
        records: The scored variants, in the order of the files.
        offsets: Byte offset of the line of each record in its file.
        digests: The harness' hashes of each variant and of its prompt, each shortened to 16 bytes.
        form: Whether answers were written or scored.
        metrics: Names of the metrics that the run computed.
        references: Ids of the questions with an option that refers to other options.
        written: The reference answer of each question without options.
        folder: Keeps the temporary folder of the files, if they are in one.
    """

    paths: list[tuple[Path, int]] = field(default_factory=list)
    records: PackedRecords = field(default_factory=PackedRecords)
    offsets: array[int] = field(default_factory=lambda: array("q"))
    digests: bytearray = field(default_factory=bytearray)
    form: Form = "generate"
    metrics: frozenset[str] = frozenset()
    references: set[str] = field(default_factory=set)
    written: dict[str, str] = field(default_factory=dict)
    folder: object = None

    def extend(self, other: Samples) -> None:
        """Add the samples of other lines or of another file."""
        self.paths += other.paths
        self.records.extend(other.records)
        self.offsets.extend(other.offsets)
        self.digests += other.digests
        self.form = other.form
        self.metrics = self.metrics or other.metrics
        self.references |= other.references
        self.written = {**other.written, **self.written}

    def place(self, number: int) -> Place:
        """Return the place of the line of a record, by its number in `records`."""
        before = 0
        for path, count in self.paths:
            before += count
            if number < before:
                return Place(path, self.offsets[number])
        raise IndexError(number)

    def digests_of(self, rows: Ints) -> tuple[NDArray[np.bytes_], NDArray[np.bytes_]]:
        """The digests of the variants and of the prompts of some records."""
        both = np.frombuffer(bytes(self.digests), dtype=f"S{_DIGEST}").reshape(-1, 2)[rows]
        return both[:, 0], both[:, 1]


Found = dict[str, Samples]
"""Samples by filter."""

Broken = Counter[str]
"""Number of lines that were left out, by reason."""


def read_part(path: Path, start: int, end: int, reader: Reader) -> tuple[Found, Broken]:
    """Read the lines of a samples file that begin in a range of bytes."""
    found: Found = {}
    broken: Broken = Counter()
    with path.open("rb") as file:
        if start:  # the line that contains the byte before belongs to the range before
            file.seek(start - 1)
            while (skipped_part := file.readline(1 << 20)) and not skipped_part.endswith(b"\n"):
                pass
        for offset, _, line in bounded_lines(file, end):
            if line is None:
                broken[f"longer than {LONGEST // 1_000_000} MB"] += 1
            elif line.strip() and (defect := _take(line, offset, found, reader)):
                broken[defect] += 1
    for samples in found.values():
        samples.paths = [(path, len(samples.records))]
    return found, broken


def merged(parts: Iterable[tuple[Found, Broken]]) -> tuple[Found, Broken]:
    """Merge the parts of a file, in their order."""
    whole: Found = {}
    broken: Broken = Counter()
    for found, defects in parts:
        broken += defects
        for name, samples in found.items():
            whole.setdefault(name, Samples()).extend(samples)
    return whole, broken


def compared(samples: Samples, checker: EquivalenceChecker) -> PackedRecords:
    """Return the records of samples, with answers to questions without options compared to their references.

    All comparisons are made at once.
    """
    records, references = samples.records, samples.written
    if not references:
        return records
    if find_spec("math_verify") is None:
        raise UserError(
            f"{samples.paths[0][0]}: comparing answers to MATH needs math-verify, which is not "
            "installed: pip install 'lm-eval-cora[math]'. Or pass only the other files"
        )
    groups: dict[str, list[str]] = {question: [reference] for question, reference in references.items()}
    for record in records:
        if record.written is not None:
            groups[record.question_id].append(record.written)
    checker.settle_within(groups.values())
    return PackedRecords(
        record
        if record.written is None
        else replace(record, matches=checker.verdict(record.written, references[record.question_id]))
        for record in records
    )


def read_line(place: Place) -> Mapping[str, Any]:
    """Read one line of a samples file again."""
    with place.path.open("rb") as file:
        file.seek(place.offset)
        line: Mapping[str, Any] = parsed_line(file.readline())
        return line


def parsed_line(line: bytes) -> Any:
    """Parse a line of JSON, without a byte order mark and with lone surrogates replaced: they cannot be written."""
    # json.loads would decode invalid bytes to lone surrogates.
    value = json.loads(line.removeprefix(BOM_UTF8).decode("utf-8"))
    if line.count(b"[") + line.count(b"{") > DEEPEST and is_deep(value):
        raise RecursionError
    if b"\\u" in line and _SURROGATE.search(line):
        text = json.dumps(value, ensure_ascii=False)
        value = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return value


def is_ours(sample: Any) -> bool:
    """Whether a line of a samples file is of an lm-eval-cora task.

    Example:
        >>> is_ours({"doc": {"question_id": "q1", "ordinal": 0, "variants": 26}}), is_ours({"doc": {"query": "?"}})
        (True, False)
    """
    doc = sample.get("doc") if isinstance(sample, dict) else None
    return isinstance(doc, dict) and doc.keys() >= {"question_id", "ordinal", "variants"}


def known_response(sample: Mapping[str, Any]) -> Response:
    """Return the response of a samples line, with what the run knew about it."""
    came = sample.get("came")
    return Response(
        response_of(sample["filtered_resps"]),
        cut_off=sample.get("cut_off") is True or None,
        opened=sample.get("opened") is True,
        came=came if isinstance(came, str) else "",
    )


def _take(line: bytes, offset: int, found: Found, reader: Reader) -> str:
    """Add the sample of a line to `found`; return the reason if it cannot be used, else an empty text."""
    try:
        sample = parsed_line(line)
    except (ValueError, RecursionError):
        return "not JSON"
    if not is_ours(sample):
        return ANOTHER_TASK
    doc = sample["doc"]
    try:
        _check(doc)
        responses = sample["filtered_resps"]
        form = _form_of(sample)
        # A request that the harness used as padding of a rank has several responses. The first one counts.
        if sample.get("resps") and all(received and received[0] == SKIPPED for received in sample["resps"]):
            record = skipped(doc)
        elif form == "loglikelihood":
            record = read_likelihoods(doc, [_numbers(response) for response in responses])
        else:
            record = read_response(doc, [known_response(sample)], reader=reader)
        names = sample.get("metrics", ())
        samples = found.get(str(sample.get("filter", "none")))
        if samples is None or not samples.metrics:
            metrics = frozenset(map(str, names))
            samples = found.setdefault(str(sample.get("filter", "none")), Samples())
            samples.metrics = metrics
        else:
            iter(names)  # TypeError if there are no names
        samples.form = form
        samples.records.append(record)
        samples.offsets.append(offset)
        for name in ("doc_hash", "prompt_hash"):
            samples.digests += str(sample.get(name, "")).encode("utf-8", "replace")[:_DIGEST].ljust(_DIGEST, b"\0")
        if doc.get("refers_to_options"):
            samples.references.add(record.question_id)
        if format_of(doc).is_open:
            samples.written.setdefault(record.question_id, doc["answer"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        return "incomplete or altered"
    return ""


def _check(doc: dict[str, Any]) -> None:
    """Check that a doc is a valid variant, so that no metric fails on it later."""
    for name in ("question_id", "kind", "category"):
        doc[name] = intern(str(doc[name]))  # share equal texts between lines
    is_open = format_of(doc).is_open
    choices, printed = list(doc["choices"]), doc["printed"]
    identities = [*doc["printed"], *([] if is_open else [doc["answer"]])]
    if is_open and isinstance(doc["answer"], str):
        doc["answer"] = intern(doc["answer"])
    if (
        not all(type(number) is int for number in (doc["ordinal"], doc["variants"], *identities))
        or not all(0 <= identity < IDENTITIES for identity in identities)
        or not len(choices) == len(printed) <= MAX_OPTIONS
        or not all(isinstance(choice, str) for choice in choices)
        or not isinstance(doc["original"], bool)
        or (is_open and not isinstance(doc["answer"], str))
    ):
        raise ValueError("an altered variant")


def _form_of(sample: Mapping[str, Any]) -> Form:
    """Form of a sample. The second argument of a request is the scored answer, or the generation settings."""
    (first, *_) = sample["arguments"].values()
    settings = first["arg_1"] if isinstance(first, dict) else first[1]
    return "loglikelihood" if isinstance(settings, str) else "generate"


def prompt_in(line: Mapping[str, Any]) -> str:
    """The prompt of a samples line; of chat turns that a server formats, their texts. A file of answers has none."""
    first = next(iter((line.get("arguments") or {}).values()), [""])
    prompt = first["arg_0"] if isinstance(first, dict) else first[0]
    try:
        turns = json.loads(prompt[0]) if isinstance(prompt, list) else prompt
        return turns if isinstance(turns, str) else "\n\n".join(str(turn["content"]) for turn in turns)
    except (ValueError, TypeError, LookupError, RecursionError):
        return str(prompt)


def _numbers(response: Any) -> Sequence[Any]:
    """Convert a log-likelihood back to a number, because the harness writes it as text."""
    value = response[0] if isinstance(response, list) and response else None
    try:
        return [float(value) if isinstance(value, str) else value]
    except ValueError:
        return [None]


def probe_of(config: Mapping[str, Any], records: PackedRecords) -> Probe:
    """Find the probe in the results file, else by the kinds of variants; a template may have any name."""
    named = PROBES.get(str(config.get("probe")))
    if named is not None:
        return named
    kinds = {part.kind for part in records.parts}
    known = [probe for probe in PROBES.values() if kinds <= probe.kinds.keys()]
    templates = next(probe for probe in PROBES.values() if not probe.kinds)
    # With the option `variants`, kinds may be missing, so prefer probes that have it.
    return min(known, key=lambda probe: ("variants" not in probe.options, len(probe.kinds)), default=templates)
