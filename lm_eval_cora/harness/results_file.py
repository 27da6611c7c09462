"""Values for the results file: names of functions, the signature and the digest of templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any

from lm_eval_cora import __version__
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.options import Options
from lm_eval_cora.runs.signature import format_signature
from lm_eval_cora.variants.template import Template


def name_callables(value: Any) -> Any:
    """Replace callables by their dotted names: the harness would write their source code.

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
    """Describe in one line everything that determines a score."""
    sizes = {record.variants for record in records}
    variants = "-".join(map(str, sorted({min(sizes), max(sizes)})))
    asked = sum(not record.skipped for record in records)
    questions = table.question_ids if asked else {record.question_id for record in records}
    invalid = sum(record.invalid for record in records) / max(1, asked)
    # The reader is in `about`, if answers are read, and the digest of the prompts, and the tasks of `cora_of`.
    changed = {name: value for name, value in options.changed().items() if name not in ("reader", "prompt", "task")}
    given = {"seed": options.seed, **changed}
    parts = {
        **about,
        **{name: in_signature(name, value) for name, value in given.items()},
        **left_out,
        **({"asked": f"{asked / len(records):.1%}"} if left_out and asked else {}),
        **({"n": f"{len(questions)}x{variants}"} if asked or not left_out else {}),
        # Early stopping selects answers by correctness, so the share of invalid ones would be misleading.
        **({"invalid": f"{invalid:.1%}"} if alone and asked and "stop" not in left_out else {}),
    }
    return format_signature(parts, f"v{__version__}")


def in_signature(name: str, value: object) -> str:
    """Write an option for the signature: a file without its folder, a table in memory as its type."""
    items = value if isinstance(value, tuple) else (value,)
    if name in ("data_files", "templates"):
        items = tuple(Path(file).name if isinstance(file, str | PathLike) else type(file).__name__ for file in items)
    return ",".join(map(str, items))


def digest_of(templates: Iterable[Template]) -> str:
    """Digest of a set of templates: SCORE's may change with the harness, and a user's file at any time."""
    texts = sorted({f"{template.prompt}\0{template.options_format}" for template in templates})
    return blake2b("\0\0".join(texts).encode(), digest_size=4).hexdigest()
