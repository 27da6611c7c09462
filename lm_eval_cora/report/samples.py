"""Read samples files of the harness as a stream, because a file may be larger than the memory."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from tqdm import tqdm

from lm_eval_cora.answers import Reader
from lm_eval_cora.equivalence import EquivalenceChecker
from lm_eval_cora.formats import format_of
from lm_eval_cora.probes import PROBES, Probe
from lm_eval_cora.question import MAX_OPTIONS, Form
from lm_eval_cora.reading import SKIPPED_IN_SAMPLES, read_likelihoods, read_response, skipped
from lm_eval_cora.records import Record
from lm_eval_cora.report import ReportError
from lm_eval_cora.responses import IDENTITIES

BYTES_WORTH_A_BAR = 20_000_000
"""Size in bytes from which reading a file shows a progress bar."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Key = tuple[str, int]
"""Key of a variant: the id of its question and its number among the question's variants."""


class Place(NamedTuple):
    """File and byte offset of a line."""

    path: Path
    offset: int


class Digest(NamedTuple):
    """The harness' hashes of a variant and its prompt, shortened."""

    doc: str
    prompt: str


@dataclass
class Samples:
    """The samples of one filter in a samples file.

    Attributes:
        records: The scored variants, in the order of the file.
        places: Place of each variant's line.
        digests: Digests of each variant and its prompt.
        form: Whether answers were written or scored.
        metrics: Names of the metrics that the run computed.
        references: Ids of the questions with an option that refers to other options.
        written: The reference answer of each question without options.
    """

    records: list[Record] = field(default_factory=list)
    places: dict[Key, Place] = field(default_factory=dict)
    digests: dict[Key, Digest] = field(default_factory=dict)
    form: Form = "generate"
    metrics: frozenset[str] = frozenset()
    references: set[str] = field(default_factory=set)
    written: dict[str, str] = field(default_factory=dict)


def read_samples(path: Path, reader: Reader) -> tuple[dict[str, Samples], Counter[str]]:
    """Read a samples file.

    Args:
        path: The file, one JSON object per line.
        reader: How to read written answers.

    Returns:
        The samples of each filter, in the order of the file; empty if no line is a sample of an lm-eval-cora task. And
        the number of lines that were left out, by reason. Answers to questions without options are not compared yet
        (see `compared`).

    Raises:
        ReportError: If the file cannot be read.
    """
    found: dict[str, Samples] = {}
    broken: Counter[str] = Counter()
    try:
        for offset, line in lines_of(path):
            if defect := _take(line, Place(path, offset), found, reader):
                broken[defect] += 1
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or error}") from None
    return found, broken


def compared(parts: Sequence[Samples], checker: EquivalenceChecker) -> list[Record]:
    """Return the records of the samples, with answers to questions without options compared to their references.

    All comparisons are made at once.

    Raises:
        ReportError: If there are such answers and math-verify is not installed.
    """
    records = [record for samples in parts for record in samples.records]
    references = {question: answer for samples in parts for question, answer in samples.written.items()}
    if not references:
        return records
    if find_spec("math_verify") is None:
        raise ReportError(
            f"{next(iter(parts[0].places.values())).path}: comparing answers to MATH needs math-verify, which is not "
            "installed: pip install 'lm-eval-cora[math]'. Or pass only the other files"
        )
    groups: dict[str, list[str]] = {question: [reference] for question, reference in references.items()}
    for record in records:
        if record.written is not None:
            groups[record.question_id].append(record.written)
    checker.settle_within(groups.values())
    return [
        record
        if record.written is None
        else replace(record, matches=checker.verdict(record.written, references[record.question_id]))
        for record in records
    ]


def read_line(place: Place) -> Mapping[str, Any]:
    """Read one line of a samples file again."""
    with place.path.open("rb") as file:
        file.seek(place.offset)
        line: Mapping[str, Any] = parsed_line(file.readline())
        return line


def parsed_line(line: bytes) -> Any:
    """Parse a line of JSON and replace lone surrogates, which cannot be written to a file."""
    value = json.loads(line.decode("utf-8"))  # json.loads would decode invalid bytes to lone surrogates
    if _SURROGATE.search(line):
        text = json.dumps(value, ensure_ascii=False)
        value = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return value


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not empty, with their byte offsets; a large file shows a progress bar."""
    size = path.stat().st_size
    # None hides the bar of tqdm unless stderr is a terminal.
    hidden = True if size < BYTES_WORTH_A_BAR else None
    offset = 0
    with path.open("rb") as file, tqdm(total=size, desc=path.name, unit="B", unit_scale=True, disable=hidden) as bar:
        for line in file:
            if line.strip():
                yield offset, line
            offset += len(line)
            bar.update(len(line))


def _take(line: bytes, place: Place, found: dict[str, Samples], reader: Reader) -> str:
    """Add the sample of a line to `found`; return the reason if it cannot be used, else an empty text."""
    try:
        sample = parsed_line(line)
    except (ValueError, RecursionError):
        return "not JSON"
    doc = sample.get("doc") if isinstance(sample, dict) else None
    if not isinstance(doc, dict) or not {"question_id", "ordinal", "variants"} <= doc.keys():
        return "from another task"
    try:
        _check(doc)
        responses = sample["filtered_resps"]
        form = _form_of(sample)
        # A request that the harness used as padding of a rank has several responses. The first one counts.
        if sample.get("resps") and all(received and received[0] in SKIPPED_IN_SAMPLES for received in sample["resps"]):
            record = skipped(doc)
        elif form == "loglikelihood":
            record = read_likelihoods(doc, [_numbers(response) for response in responses])
        else:
            record = read_response(doc, responses, reader=reader)
        metrics = frozenset(map(str, sample.get("metrics", ())))
        samples = found.setdefault(str(sample.get("filter", "none")), Samples())
        key = (record.question_id, record.ordinal)
        samples.form = form
        samples.metrics = samples.metrics or metrics
        samples.records.append(record)
        if key not in samples.places:  # the first of several answers to a variant counts
            samples.places[key] = place
            samples.digests[key] = Digest(*(str(sample.get(name, ""))[:16] for name in ("doc_hash", "prompt_hash")))
        if doc.get("refers_to_options"):
            samples.references.add(record.question_id)
        if format_of(doc).is_open:
            samples.written.setdefault(record.question_id, doc["answer"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return "incomplete or altered"
    return ""


def _check(doc: dict[str, Any]) -> None:
    """Check that a doc is a valid variant, so that no metric fails on it later.

    Raises:
        ValueError: If a value is invalid.
        KeyError: If a key is missing or the answer format is unknown.
    """
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


def _numbers(response: Any) -> Sequence[Any]:
    """Convert a log-likelihood back to a number, because the harness writes it as text."""
    value = response[0] if isinstance(response, list) and response else None
    try:
        return [float(value) if isinstance(value, str) else value]
    except ValueError:
        return [None]


def probe_of(config: Mapping[str, Any], records: Iterable[Record]) -> Probe:
    """Find the probe in the results file, else by the kinds of variants; a template may have any name."""
    former = str(config.get("process_docs", "")).rpartition(".")[2]  # until version 0.2
    named = PROBES.get(str(config.get("probe", former)))
    if named is not None:
        return named
    kinds = {record.kind for record in records}
    known = [probe for probe in PROBES.values() if kinds <= probe.kinds.keys()]
    templates = next(probe for probe in PROBES.values() if not probe.kinds)
    # With the option `variants`, kinds may be missing, so prefer probes that have it.
    return min(known, key=lambda probe: ("variants" not in probe.options, len(probe.kinds)), default=templates)
