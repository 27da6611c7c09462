"""Read samples files of the harness as a stream into few bytes per line, because a file may exceed the memory."""

from __future__ import annotations

import json
import pickle
import re
import signal
import sys
from array import array
from bisect import bisect_right
from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec
from itertools import accumulate, chain
from pathlib import Path
from shutil import rmtree
from sys import intern
from tempfile import mkdtemp
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.equivalence import CHECKER, settle
from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.likeliest import asks_for_it
from lm_eval_cora.answers.records import (
    SKIPPED,
    Record,
    Response,
    read_likelihoods,
    read_response,
    response_of,
    skipped,
)
from lm_eval_cora.bars import bar
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.packed import PackedRecords
from lm_eval_cora.metrics.responses import IDENTITIES, Ints
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.questions.question import MAX_OPTIONS, Form
from lm_eval_cora.runs.files import lines_of_samples, model_of
from lm_eval_cora.variants.probes import PROBES, Probe
from lm_eval_cora.variants.variant import REPEAT
from lm_eval_cora.workers import Pool, Worker, command, processors

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
ANOTHER_TASK = "from another task"  # reason to leave out a line that is not of an lm-eval-cora task
_WORTH_PROCESSES = 10_000_000  # bytes of all files; fewer are read sooner than processes have started
_AT_A_TIME = 4_000_000  # bytes that a process reads
_BYTES_OF_THE_HEAD = 1_000_000  # a part whose first lines up to here are all from another task is not read further
_DIGEST = 16  # number of characters of a digest that are kept


@dataclass
class Samples:
    """The samples of one filter in one or more files."""

    paths: list[tuple[Path, int]] = field(default_factory=list)  # with the numbers of samples
    records: PackedRecords = field(default_factory=PackedRecords)
    offsets: array[int] = field(default_factory=lambda: array("q"))  # of the lines of the records, in bytes
    digests: bytearray = field(default_factory=bytearray)  # of each variant and of its prompt, 16 bytes each
    form: Form = "generate"
    metrics: frozenset[str] = frozenset()  # that the run computed
    references: set[str] = field(default_factory=set)  # ids of questions with an option that refers to other options
    written: dict[str, str] = field(default_factory=dict)  # the reference answers of questions without options
    folder: object = None  # keeps the temporary folder of the files, if they are in one

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

    def record(self, number: int) -> Record:
        """A record by its number."""
        return self.records[number]

    def line(self, number: int) -> Mapping[str, Any]:
        """Read the line of a record again, by its number in `records`."""
        ends = list(accumulate(count for _, count in self.paths))
        path, _ = self.paths[bisect_right(ends, number)]
        with path.open("rb") as file:
            file.seek(self.offsets[number])
            return parsed_line(file.readline())  # type: ignore[no-any-return]

    def lines(self) -> Iterator[tuple[Record, Mapping[str, Any]]]:
        """Yield the variants with their lines. Each file is read once, from the beginning to the end."""
        seen: set[tuple[str, int]] = set()
        number = 0
        for path, count in self.paths:
            with path.open("rb") as file, of_file(path) as progress:
                for place in range(number, number + count):
                    if (key := self.records.key(place)) in seen:  # the first answer to a variant counts
                        continue
                    seen.add(key)
                    file.seek(self.offsets[place])
                    line = file.readline()
                    progress.update(len(line))
                    yield self.records[place], parsed_line(line)
            number += count

    def digests_of(self, rows: Ints) -> tuple[NDArray[np.bytes_], NDArray[np.bytes_]]:
        """The digests of the variants and of the prompts of some records."""
        both = np.frombuffer(bytes(self.digests), dtype=f"S{_DIGEST}").reshape(-1, 2)[rows]
        return both[:, 0], both[:, 1]


_Part = tuple[Path, int, int, Reader]
"""A range of bytes of a file, and how to read it: the arguments of `read_part`."""


class SamplesByFilter(NamedTuple):
    """Samples by filter, and the number of lines that were left out by reason."""

    samples: dict[str, Samples]
    broken: Counter[str]

    def add(self, other: SamplesByFilter) -> None:
        """Add what was found in other lines or in another file."""
        self.broken.update(other.broken)
        for name, samples in other.samples.items():
            self.samples.setdefault(name, Samples()).extend(samples)


def read_part(path: Path, start: int, end: int, reader: Reader) -> SamplesByFilter:
    """Read the lines of a samples file that begin in a range of bytes."""
    found = SamplesByFilter({}, Counter())
    with path.open("rb") as file:
        if start:  # the line that contains the byte before belongs to the range before
            file.seek(start - 1)
            file.readline()
        while (offset := file.tell()) < end and (line := file.readline()):
            if line.strip() and (defect := _take(line, offset, found.samples, reader)):
                found.broken[defect] += 1
            if offset - start > _BYTES_OF_THE_HEAD and not found.samples and found.broken.keys() == {ANOTHER_TASK}:
                break
    for samples in found.samples.values():
        samples.paths = [(path, len(samples.records))]
    return found


class SamplesReaders(Pool[Worker]):
    """Reads samples files in parts, one process per processor. The processes start when they are first needed."""

    def __init__(self, count: int | None = None) -> None:
        super().__init__(Worker(command("lm_eval_cora.runs.samples")) for _ in range(count or processors()))
        self._planned: deque[_Part] = deque()
        self._ahead = self.map(ask, (), 1)

    @cached_property
    def _bar(self) -> Any:
        return bar(desc="reading", unit="B", unit_scale=True, total=0)

    def close(self) -> None:
        """End the processes."""
        self._ahead.close()
        super().close()
        if "_bar" in vars(self):  # a bar is slow to import
            self._bar.close()

    def begin(self, files: Iterable[tuple[Path, Reader]]) -> None:
        """Tell which files `read` will be asked for, in this order. The processes read a few parts ahead."""
        parts: list[_Part] = []
        for path, reader in files:
            with suppress(OSError):  # `read` raises it again
                parts += _parts(path, reader)
        total = sum(end - start for _, start, end, _ in parts)
        self._bar.total += total
        if min(len(self.workers), len(parts)) > 1 and total >= _WORTH_PROCESSES:
            self._planned = deque(parts)
            self._ahead = self.map(ask, parts, len(self.workers), wait=False)

    def read(self, path: Path, reader: Reader) -> SamplesByFilter:
        """Read a samples file."""
        if not self._bar.total:
            self.begin([(path, reader)])
        found = SamplesByFilter({}, Counter())
        try:
            for part in _parts(lines_of_samples(path), reader):
                found.add(self._read(part))
                self._bar.update(part[2] - part[1])
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
        return found

    def _read(self, part: _Part) -> SamplesByFilter:
        while part in self._planned:  # those before it turned out not to be needed
            planned, found = self._planned.popleft(), next(self._ahead)
            if planned == part:
                return found
        return read_part(*part)


def _parts(path: Path, reader: Reader) -> list[_Part]:
    size = path.stat().st_size
    return [(path, start, min(start + _AT_A_TIME, size), reader) for start in range(0, size, _AT_A_TIME)]


def of_file(path: Path) -> Any:
    """The progress bar of a file that is read line by line."""
    return bar(total=path.stat().st_size, desc=path.name, unit="B", unit_scale=True)


def ask(worker: Worker, part: _Part) -> SamplesByFilter:
    """Let a process read a part of a file, with the arguments of `read_part`."""
    try:
        process = worker.start()
        pickle.dump(part, process.stdin)
        process.stdin.flush()
        found: SamplesByFilter | OSError = pickle.load(process.stdout)  # written by `serve`
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        raise UserError(
            f"{part[0]}: a process that read it was ended, probably because memory ran out. Free some memory, "
            "or pass fewer files"
        ) from None
    if isinstance(found, OSError):
        raise found
    return found


def serve() -> None:
    """Read the parts that the parent process asks for, until it closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent ends this one
    while True:
        try:
            part = pickle.load(sys.stdin.buffer)  # written by the parent process
        except EOFError:
            return
        try:
            reply: SamplesByFilter | OSError = read_part(*part)
        except OSError as error:
            reply = OSError(error.errno, error.strerror)
        pickle.dump(reply, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()


def compare_written(samples: Samples) -> None:
    """Compare all answers to questions without options to their references, at once."""
    if not (references := samples.written):
        return
    if find_spec("math_verify") is None:
        raise UserError(
            f"{samples.paths[0][0]}: comparing answers to MATH needs math-verify, which is not installed: "
            "pip install 'lm-eval-cora[math]'. Or pass only the other files"
        )
    settle(chain(references.items(), ((record.question_id, record.written) for record in samples.records)))
    compared = PackedRecords()
    for record in samples.records:
        if record.written is not None:
            record.matches = CHECKER.verdict(record.written, references[record.question_id])
        compared.append(record)
    samples.records = compared


def parsed_line(line: bytes) -> Any:
    """Parse a line of JSON, without a byte order mark and with lone surrogates replaced: they cannot be written."""
    # json.loads would decode invalid bytes to lone surrogates.
    value = json.loads(line.removeprefix(BOM_UTF8).decode("utf-8"))
    if b"\\u" in line and _SURROGATE.search(line):
        text = json.dumps(value, ensure_ascii=False)
        value = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return value


def is_ours(sample: Any) -> bool:
    """Whether a line of a samples file is of an lm-eval-cora task."""
    doc = sample.get("doc") if isinstance(sample, dict) else None
    return isinstance(doc, dict) and doc.keys() >= {"question_id", "ordinal", "variants"}


def known_response(sample: Mapping[str, Any]) -> Response:
    """Return the response of a samples line, with what the run knew about it."""
    came = sample["came"] if isinstance(sample.get("came"), str) else ""
    cut_off, opened = (sample.get(name) is True for name in ("cut_off", "opened"))
    return Response(response_of(sample["filtered_resps"]), cut_off=cut_off or None, opened=opened, came=came)


def _take(line: bytes, offset: int, found: dict[str, Samples], reader: Reader) -> str:
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
        _, how = arguments_in(sample)[0]
        form: Form = "loglikelihood" if isinstance(how, str) or asks_for_it(how) else "generate"
        # A request that the harness used as padding of a rank has several responses. The first one counts.
        if sample.get("resps") and all(received and received[0] == SKIPPED for received in sample["resps"]):
            record = skipped(doc)
        elif form == "loglikelihood":
            scores = [[number_in(response)] for response in sample["filtered_resps"]]
            record = read_likelihoods(doc, scores if isinstance(how, str) else [known_response(sample)])
        else:
            record = read_response(doc, [known_response(sample)], reader=reader)
        metrics = frozenset(map(str, sample.get("metrics", ())))
        samples = found.setdefault(str(sample.get("filter", "none")), Samples())
        samples.metrics = samples.metrics or metrics
        samples.form = form
        samples.records.append(record)
        samples.offsets.append(offset)
        for name in ("doc_hash", "prompt_hash"):
            samples.digests += str(sample.get(name, "")).encode("utf-8", "replace")[:_DIGEST].ljust(_DIGEST, b"\0")
        if doc.get("refers_to_options"):
            samples.references.add(record.question_id)
        if format_of(doc).is_open:
            samples.written.setdefault(record.question_id, doc["answer"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError):
        return "incomplete or altered"
    return ""


def _check(doc: dict[str, Any]) -> None:
    """Check that a doc is a valid variant, so that no metric fails on it later."""
    for name in ("question_id", "kind", "category", *(["cluster"] if "cluster" in doc else [])):
        doc[name] = intern(str(doc[name]))  # share equal texts between lines
    printed, choices, identities = doc["printed"], list(doc["choices"]), list(doc["printed"])
    if format_of(doc).is_open:
        doc["answer"] = intern(doc["answer"])  # TypeError for another type
    else:
        identities.append(doc["answer"])
    if not (
        all(type(number) is int for number in (doc["ordinal"], doc["variants"], *identities))
        and all(0 <= identity < IDENTITIES for identity in identities)
        and len(choices) == len(printed) <= MAX_OPTIONS
        and all(isinstance(choice, str) for choice in choices)
        and isinstance(doc["original"], bool)
        and isinstance(doc.get("longest", 0.0), float)
    ):
        raise ValueError("an altered variant")


def arguments_in(line: Mapping[str, Any]) -> list[Sequence[Any]]:
    """The arguments of each request: the prompt, and the generation settings or the scored answer."""
    requests = line.get("arguments") or {}
    return [
        (request["arg_0"], request["arg_1"]) if isinstance(request, dict) else request
        for request in (requests.values() if isinstance(requests, dict) else requests)  # older versions write a list
    ]


def contradictions(record: Record, line: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """The fields of a line that do not fit its other fields, its record, or the settings of the results file."""
    prompt, how = arguments_in(line)[0]
    texts = {
        "doc_hash": json.dumps(line["doc"], indent=2, ensure_ascii=False),  # as the harness writes it for its hash
        "prompt_hash": "".join(map(str, prompt[:1])) if isinstance(prompt, list) else prompt,
        "target_hash": line.get("target"),
    }
    written = {name: str(text).encode(errors="replace") for name, text in texts.items()}
    found: dict[str, Any] = {name: sha256(text).hexdigest() for name, text in written.items()}
    asked = {**how, **settings} if isinstance(how, dict) else settings or how
    found |= {**record.logged, "generation_kwargs": asked}
    if line.get("filter") == "none":
        resps = line.get("resps")
        lists = [each for each in (resps if isinstance(resps, list) else ()) if isinstance(each, list)]
        found["filtered_resps"] = [*chain.from_iterable(each[:1] for each in lists)]
    told = {**line, "generation_kwargs": how}
    return [name for name, value in found.items() if told.get(name, value) != value]


def prompt_in(line: Mapping[str, Any]) -> str:
    """The prompt of a samples line; of chat turns that a server formats, their texts. A file of answers has none."""
    prompt = next(iter(arguments_in(line)), [""])[0]
    try:
        turns = json.loads(prompt[0]) if isinstance(prompt, list) else prompt
        return turns if isinstance(turns, str) else "\n\n".join(str(turn["content"]) for turn in turns)
    except (ValueError, TypeError, LookupError, RecursionError):
        return str(prompt)


def response_text(line: Mapping[str, Any]) -> str:
    """Return the response of a samples line, or the scores of its answers, as text."""
    responses = line.get("filtered_resps") or [""]
    if isinstance(responses[0], str):
        return responses[0]
    values = [response[0] if isinstance(response, list) and response else response for response in responses]
    if len(values) == 1:
        return str(values[0])
    answers = format_of(line["doc"]).scored(line["doc"])
    return ", ".join(f"{answer} {value}" for answer, value in zip(answers, values, strict=False))


def number_in(response: Any) -> Any:
    """Convert a log-likelihood back to a number, because the harness writes it as text; None if it is none."""
    value = response[0] if isinstance(response, list) and response else None
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return None


class ResultsFolder:
    """A temporary folder of results of `simple_evaluate` as files, because a report reads the responses again."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="lm-eval-cora-"))
        self._count = 0
        finalize(self, rmtree, self.path, ignore_errors=True)  # with its last user

    def add(self, results: Mapping[str, Any]) -> Path:
        """Write results as `lm_eval run --output_path --log_samples` does, without other tasks."""
        samples = results.get("samples")
        if not isinstance(samples, Mapping):
            raise UserError(
                "read_runs: expected the results of simple_evaluate with samples, got results without "
                "`samples`. Pass log_samples=True to simple_evaluate"
            )
        ours = {task: lines for task, lines in samples.items() if any(map(is_ours, lines))}
        if not ours:
            raise UserError(
                "read_runs: the results have no samples of lm-eval-cora tasks, but of other tasks "
                f"({first_few(samples)}). lm-eval-cora compare reads their files"
            )
        self._count += 1
        folder, date = self.path / f"results {self._count}", datetime.now().isoformat().replace(":", "-")
        folder.mkdir()
        whole = {"model_name": model_of(results), **{key: results[key] for key in results if key != "samples"}}
        (folder / f"results_{date}.json").write_text(_as_json(whole), encoding="utf-8")
        for task, lines in ours.items():
            with (folder / f"samples_{task}_{date}.jsonl").open("w", encoding="utf-8") as file:
                for line in lines:
                    requests = line["arguments"]  # a dict if they were already saved
                    named = requests if isinstance(requests, dict) else dict(enumerate(requests))
                    file.write(f"{_as_json({**line, 'arguments': named})}\n")
        return folder


def _as_json(value: Any) -> str:
    """Write a value as JSON, with values of numpy as numbers and other objects as text."""
    return json.dumps(value, default=lambda item: item.tolist() if hasattr(item, "tolist") else str(item))


def probe_of(config: Mapping[str, Any], records: PackedRecords) -> Probe:
    """Find the probe in the results file, else by the kinds of variants; a template may have any name."""
    if named := PROBES.get(str(config.get("probe"))):
        return named
    kinds = {part.kind for part in records.parts} - {REPEAT}
    known = [probe for probe in PROBES.values() if kinds <= probe.kinds.keys()]
    templates = next(probe for probe in PROBES.values() if not probe.kinds)
    # With the option `variants`, kinds may be missing, so prefer probes that have it.
    return min(known, key=lambda probe: ("variants" not in probe.options, len(probe.kinds)), default=templates)
