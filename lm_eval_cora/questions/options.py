"""The options that a user passes as `--metadata '{"cora": {...}}'`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple, get_args

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions import values
from lm_eval_cora.questions.declarations import KEYS
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import Reader
from lm_eval_cora.questions.values import Check

Orders = Literal["swap", "cyclic", "all"]
"""The orders of the options that the order probe asks."""


@dataclass(frozen=True)
class Options:
    """The settings that a user can change for a run.

    Attributes:
        data_files: Files (json, jsonl, csv, tsv or parquet) that replace the benchmark's source; in Python also a
            pandas DataFrame or a `datasets.Dataset`.
        questions: Number of questions to draw by `seed`; None asks all. Samples are nested: a larger one contains
            every smaller one.
        categories: Categories whose questions are asked; empty for all.
        seed: Seed of the sample, of every reordering and of the exemplars.
        nota_text: Text of the option "None of the above".
        skip_option_references: Whether to leave out questions with options such as "All of the above" or "Both A and
            B".
        variants: 1 asks one variant of each question, drawn by `seed`, as in the cheap MCQA+. None asks all variants.
        orders: The orders of the options that the order probe asks.
        templates: Path of a file with the user's prompts for the prompts, order and sampling probes.
        prompt: The user's prompt, a Jinja template, for all probes except the prompts probe.
        request_seeds: Whether the sampling probe sends a different seed with each sample. None sends seeds to APIs with
            a seed parameter and to replicas of vLLM.
        reader: How responses are read: `flexible`, or `strict` by the papers' rules.
        declared: The user's declaration of the benchmark, with the keys of
            `lm_eval_cora.questions.declarations.KEYS`.
    """

    data_files: tuple[Any, ...] = ()
    questions: int | None = None
    categories: tuple[str, ...] = ()
    seed: int = 0
    nota_text: str = "None of the above"
    skip_option_references: bool = False
    variants: int | None = None
    orders: Orders = "swap"
    templates: str | None = None
    prompt: str | None = None
    request_seeds: bool | None = None
    reader: Reader = "flexible"
    declared: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_metadata(cls, task: str, given: object) -> Options:
        """Create options from the value of the key `cora` in the harness' metadata."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise UserError(f"{task}: expected an object with options, got {given!r}. {_HOW}")
        for key in given:
            if key not in _CHECKS:
                meant = (
                    did_you_mean(str(key).replace("_count", "s"), _CHECKS)
                    or f" The options are: {', '.join(sorted(_CHECKS))}."
                )
                raise UserError(f"{task}: unknown option {key!r}.{meant} {_HOW}")
        read: dict[str, Any] = {}
        for key, value in given.items():
            expected, check = _CHECKS[key]
            try:
                read[key] = check(value)
            except (TypeError, ValueError):
                meant = " Did you mean 'questions'?" if key == "question" and isinstance(value, int) else ""
                raise UserError(
                    f"{task}: option {key!r} is {value!r}, expected {expected}.{meant} Set it with "
                    f"""--metadata '{{"cora": {{"{key}": ...}}}}'"""
                ) from None
        declared = {key: read.pop(key) for key in KEYS if key in read}
        return cls(**read, declared=declared)

    @classmethod
    def names(cls) -> set[str]:
        """The names of all options."""
        return set(_CHECKS)

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name, without the declaration of the benchmark."""
        given = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "declared"}
        return {name: value for name, value in given.items() if value != getattr(Options, name)}


_HOW = """Set options with --metadata '{"cora": {"seed": 1}}'"""


def _one(value: object) -> int:
    if values.integer(value) != 1:
        raise ValueError
    return 1


def _sources(value: object) -> tuple[Any, ...]:
    """Accept a path, a DataFrame or a dataset, or a list of them."""
    if isinstance(value, str | list | tuple):
        several = [value] if isinstance(value, str) else value
        if not several:
            raise TypeError
        return tuple(_source(item) for item in several)
    return (_source(value),)


def _source(value: object) -> object:
    if hasattr(value, "columns") or hasattr(value, "column_names"):
        return value
    return values.line(fspath(value) if isinstance(value, PathLike) else value)


class Option(NamedTuple):
    """An option with its check and its text in the documentation.

    Attributes:
        expected: Description of the accepted values.
        read: Function that returns the checked value, or raises TypeError or ValueError.
        meaning: Effect of the option, in Markdown.
        unset: Effect of leaving the option out, if its default is None or empty.
    """

    expected: str
    read: Callable[[Any], Any]
    meaning: str
    unset: str = ""


OPTIONS: dict[str, Option] = {
    "questions": Option(
        "a whole number from 1",
        values.from_1,
        "Number of questions, drawn by `seed`. Samples are nested: a larger sample contains every smaller one. The "
        "standard errors are about other questions of the same kind, not about the full benchmark.",
        "all questions",
    ),
    "categories": Option(
        "a category, or a list of categories",
        values.lines,
        "Categories whose questions are asked.",
        "all categories",
    ),
    "seed": Option(
        "a whole number",
        values.integer,
        "Seed of the sample, of every reordering and of the exemplars.",
    ),
    "data_files": Option(
        "a path, or a list of paths",
        _sources,
        "A local copy of the benchmark, as json, jsonl, csv, tsv or parquet; in Python also a DataFrame or a "
        "`datasets.Dataset`. The exemplars are other questions of the same files.",
        "the benchmark's source",
    ),
    "revision": Option(
        *KEYS["revision"],
        "Version of the dataset on the Hub.",
        "the newest version",
    ),
    "config": Option(
        *KEYS["config"],
        "Subjects of `cora_mmlu_redux`, or the language of `cora_global_mmlu`, which is required.",
        "all subjects",
    ),
    "nota_text": Option(
        "a text of one line",
        values.line,
        'Text of the option "None of the above".',
    ),
    "skip_option_references": Option(
        "true or false",
        values.flag,
        'Whether to leave out questions with options that refer to other options, such as "All of the above" or '
        '"Both A and B".',
    ),
    "variants": Option(
        "1",
        _one,
        "1 asks one variant of each question, drawn by `seed`.",
        "all variants",
    ),
    "orders": Option(
        *values.one_of(get_args(Orders)),
        "Orders of the options. `swap`: the right option changes places with each of the others. `cyclic`: all "
        "rotations. `all`: all orders, for questions with up to five options.",
    ),
    "templates": Option(
        "a path",
        values.line,
        "A JSON file with [prompts of your own](../tasks/README.md#prompts-of-your-own).",
        "SCORE's templates for its benchmarks, ten of ours for the others",
    ),
    "prompt": Option(
        "a Jinja template",
        values.text,
        "A [prompt of your own](../tasks/README.md#prompts-of-your-own) for all variants.",
        "the prompt of the task",
    ),
    "request_seeds": Option(
        "true or false",
        values.flag,
        "Whether each request has a seed, a different one for each sample.",
        "true for APIs with a seed parameter and for replicas of vLLM, else false",
    ),
    "reader": Option(
        *values.one_of(get_args(Reader)),
        "[How responses are read](reading.md): `flexible` finds the answer wherever the response gives it, `strict` "
        "follows the papers' rules.",
    ),
}
"""The options of all tasks. The documentation is generated from them."""

_CHECKS: dict[str, Check] = {**KEYS, **{name: (option.expected, option.read) for name, option in OPTIONS.items()}}
