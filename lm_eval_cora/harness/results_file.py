"""How things are written into the results file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any

import datasets

from lm_eval_cora import __version__
from lm_eval_cora.benchmarks import Benchmark
from lm_eval_cora.data import Data
from lm_eval_cora.options import Options
from lm_eval_cora.prompting.template import Template
from lm_eval_cora.responses import Record, ResponseTable


def name_callables(value: Any) -> Any:
    """Replace callables by their dotted names: the harness would print their whole source.

    Example:
        >>> name_callables({"aggregation": digest_of})
        {'aggregation': 'lm_eval_cora.harness.results_file.digest_of'}
    """
    if isinstance(value, dict):
        return {key: name_callables(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [name_callables(item) for item in value]
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else repr(value)
    return value


def signature_of(
    table: ResponseTable,
    about: Mapping[str, object],
    options: Options,
    records: Sequence[Record],
    left_out: Mapping[str, object],
    *,
    alone: bool,
) -> str:
    """What made a score, in one line.

    Args:
        table: The answers.
        about: The task: its name and version, its probe, and so on, in this order.
        options: What the user changed about it.
        records: All Records, those of incomplete questions and of skipped variants, too.
        left_out: What decided which requests were asked, if not all were.
        alone: Whether there is one filter: of several the invalid answers are those of the last one.
    """
    sizes = {record.variants for record in records}
    variants = "-".join(map(str, sorted({min(sizes), max(sizes)})))
    asked = sum(not record.skipped for record in records)
    invalid = sum(record.invalid for record in records) / max(1, asked)
    # The reader is in `about`, where answers are read at all.
    given = {"seed": options.seed, **{name: value for name, value in options.changed().items() if name != "reader"}}
    parts = {
        **about,
        **{name: in_signature(name, value) for name, value in given.items()},
        **left_out,
        **({"asked": f"{asked / len(records):.1%}"} if left_out else {}),
        "n": f"{len(table.question_ids)}x{variants}",
        # Of answers that were selected by what they are, a share of the invalid ones says nothing.
        **({"invalid": f"{invalid:.1%}"} if alone and "stop" not in left_out else {}),
    }
    return "|".join(["cora", *(f"{name}:{_escaped(value)}" for name, value in parts.items()), f"v{__version__}"])


def _escaped(value: object) -> str:
    """A value without the separator of the signature and without line breaks: file names can have both."""
    return re.sub(r"[|\n\r]", lambda found: f"%{ord(found[0]):02X}", str(value))


def in_signature(name: str, value: object) -> str:
    """An option in the signature; of a file the name without its folder, of a table in memory its type.

    Example:
        >>> in_signature("data_files", ("/home/me/one.csv", "two.csv")), in_signature("seed", 1)
        ('one.csv,two.csv', '1')
    """
    items = value if isinstance(value, tuple) else (value,)
    return ",".join(_file_name(item) if name in ("data_files", "templates") else str(item) for item in items)


def _file_name(file: object) -> str:
    return Path(file).name if isinstance(file, str | PathLike) else type(file).__name__


def digest_of(templates: Iterable[Template]) -> str:
    """What tells sets of templates apart: SCORE's are the harness' and may change with it, a user's by the user.

    Example:
        >>> digest_of([Template("brief", "{question}")]) == digest_of([Template("short", "{question}")])
        True
    """
    texts = sorted(f"{template.prompt}\0{template.options_format}" for template in templates)
    return blake2b("\0\0".join(texts).encode(), digest_size=4).hexdigest()


def questions_digest(rows: Iterable[Mapping[str, object]]) -> str:
    """Digest of questions: 8 hexadecimal digits, independent of the order of the rows.

    A row without an id is called after its number, so for such files the order counts.

    Args:
        rows: A row per question, with all that can change a prompt or a score.

    Example:
        >>> rows = [{"id": "q1", "answer": 0}, {"id": "q2", "answer": 1}]
        >>> questions_digest(rows) == questions_digest(reversed(rows)), questions_digest(rows[:1])
        (True, '871f1d04')
    """
    digests = sorted(blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).digest() for row in rows)
    return blake2b(b"".join(digests), digest_size=4).hexdigest()


def data_of(benchmark: Benchmark, dataset: datasets.Dataset) -> Data:
    """Identify the data of a task by its benchmark and the digest that `load_benchmark` puts into the description."""
    # No file can hold the lone surrogates that a file name may have.
    return Data(benchmark.name.encode("utf-8", "replace").decode(), dataset.info.description)
