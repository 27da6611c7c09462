"""The options and keys that a user passes as `--metadata '{"cora": {...}}'`, and the checks of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple, get_args

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import Reader, is_encodable
from lm_eval_cora.questions.repairs import REPAIRS
from lm_eval_cora.questions.right_option import READINGS

Orders = Literal["swap", "cyclic", "all"]  # of the options, in the order probe
Letters = Literal["prompt", "next_token"]  # which probabilities score letters
OptionReferences = Literal["keep", "leave_out", "ignore"]  # what happens to options that refer to others
TEXTS = ("nota_text", "abstain_text")  # options of the package, in the language of a benchmark
Check = tuple[str, Callable[[Any], Any]]
"""Description of the expected value, for errors, and a function that returns the value or raises ValueError."""


def check_values(
    given: Mapping[Any, Any], checks: Mapping[str, Check], *, place: str, what: str, advice: str = ""
) -> dict[str, Any]:
    """Check the values of options or keys; `what` says in messages which of the two they are."""
    values = {}
    for key, value in given.items():
        if key not in checks:
            meant = did_you_mean(str(key), checks)
            known = meant or f" The {what}s are: {', '.join(sorted(checks))}."
            raise UserError(f"{place}: unknown {what} {key!r}.{known}{advice}")
        expected, read = checks[key]
        try:
            values[key] = read(value)
        except ValueError:
            meant = " Did you mean 'questions'?" if key == "question" and isinstance(value, int) else ""
            raise UserError(f"{place}: {what} {key!r} is {value!r}, expected {expected}.{meant}{advice}") from None
    return values


def _where(holds: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return a check that accepts the values for which a condition holds."""

    def read(value: Any) -> Any:
        if not holds(value):
            raise ValueError
        return value

    return read


_integer = _where(lambda value: type(value) is int)  # True is no number
_text = _where(lambda value: is_encodable(value) and value.strip())
_one_line = _where(lambda value: len(_text(value).splitlines()) == 1)
_several = _where(lambda value: isinstance(value, list | tuple) and len(value) > 0)
_two_or_more = _where(lambda value: len(_several(value)) > 1)
_two_integers = _where(lambda value: len(list(map(_integer, _several(value)))) == 2)
_filled = _where(lambda value: isinstance(value, Mapping) and value)


def _line(value: Any) -> str:
    return str(_one_line(value)).strip()


def _lines(value: Any) -> tuple[str, ...]:
    return (_line(value),) if isinstance(value, str) else tuple(map(_line, _several(value)))


def _texts(value: Any) -> str | tuple[str, ...]:
    return _text(value) if isinstance(value, str) else tuple(map(_text, _two_or_more(value)))


def _mapping(value: Any) -> Mapping[str, Any]:
    return {_text(key): item for key, item in _filled(value).items()}


def _sources(value: Any) -> tuple[Any, ...]:
    """Accept a path, a DataFrame or a dataset, or a list of them."""
    given = [
        fspath(one) if isinstance(one, PathLike) else one
        for one in (_several(value) if isinstance(value, list | tuple) else [value])
    ]
    return tuple(one if hasattr(one, "columns") or hasattr(one, "column_names") else _line(one) for one in given)


def _one_of(values: Sequence[str]) -> Check:
    return " or ".join(map(repr, values)), _where(lambda value: value in values)


FLAG: Check = ("true or false", _where(lambda value: isinstance(value, bool)))
LINE: Check = ("a text of one line", _line)
TEXT: Check = ("a text", _text)
_ONE: Check = ("1", _where(lambda value: _integer(value) == 1))
_FROM_0: Check = ("a whole number from 0", _where(lambda value: _integer(value) >= 0))
_FROM_1: Check = ("a whole number from 1", _where(lambda value: _integer(value) >= 1))
_FILES: Check = ("a path, or a list of paths", _lines)
_SOURCES: Check = (_FILES[0], _sources)
_FIELD: Check = ("a column, a path such as choices.text, or a Jinja template", _text)
_SPLIT: Check = ("a split of the dataset", _line)
_known_repairs = _where(lambda names: set(names) <= set(REPAIRS))

KEYS: dict[str, Check] = {
    "name": LINE,
    "hub": ("the id of a dataset on the Hub, or a list of them", _lines),
    "config": ("a configuration of the dataset, or a list of them", _lines),
    "split": _SPLIT,
    "fewshot_split": _SPLIT,
    "revision": ("a commit, branch or tag", _line),
    "question": _FIELD,
    "choices": (f"{_FIELD[0]}, or a list of at least two of them", _texts),
    "labels": _FIELD,
    "answer": _FIELD,
    "answer_from": ("a whole number, usually 0 or 1", _integer),
    "answer_is": _one_of(READINGS),
    "answer_check": _FIELD,
    "id": _FIELD,
    "category": _FIELD,
    "cluster": _FIELD,
    "separator": ("a text", _where(lambda value: is_encodable(value) and value)),
    "shuffle": FLAG,
    "repairs": (f"a list of {', '.join(map(repr, REPAIRS))}", lambda value: _known_repairs(_lines(value))),
    "keep": ("an object with the values to keep of each column", _mapping),
    "exemplars_within_category": FLAG,
    "exemplars_as_published": FLAG,
}
"""The keys of a declaration that users may set on the command line, with a check for each value."""

IN_FILES: dict[str, Check] = {
    **KEYS,
    "open": FLAG,
    "configs": ("a list of configurations, of which the user chooses one", _lines),
    "data_files": _FILES,
    "package_file": ("a file of the package", _line),
    "adapter": ("a Benchmark", _where(lambda value: hasattr(value, "reader"))),
    "options": ("the smallest and the largest number of options", lambda value: tuple(_two_integers(value))),
    "published_rows": _FROM_1,
    "score_templates": ("a folder of the harness' SCORE tasks", _line),
    "macro_average": FLAG,
    **dict.fromkeys(TEXTS, ("a text, or a text for each configuration", lambda value: value)),
}
"""The keys that task files may set."""


class Option(NamedTuple):
    """An option: its check, its effect in Markdown, and the effect of leaving it out if it has no default."""

    expected: str
    read: Callable[[Any], Any]
    meaning: str
    unset: str = ""


OPTIONS: dict[str, Option] = {
    "task": Option(
        "the name of a task or group of the harness, or a list of names",
        _lines,
        "Multiple-choice [tasks of the harness](harness-tasks.md), for `cora_of`.",
        "required by `cora_of`",
    ),
    "questions": Option(
        *_FROM_1,
        "Number of questions, drawn by `seed`. Samples are nested: a larger sample contains every smaller one. The "
        "standard errors are about other questions of the same kind, not about the full benchmark.",
        "all questions",
    ),
    "categories": Option(
        "a category, or a list of categories", _lines, "Categories whose questions are asked.", "all categories"
    ),
    "without": Option(
        "the id of a question, or a list of ids",
        _lines,
        "Questions that are left out of all tasks that have them, such as those that a server "
        "[refuses to answer](served.md#when-something-fails). They are left out after the sample is drawn.",
        "no question",
    ),
    "seed": Option("a whole number", _integer, "Seed of the sample, of every reordering and of the exemplars."),
    "data_files": Option(
        *_SOURCES,
        "A local copy of the benchmark, as json, jsonl, csv, tsv or parquet; in Python also a DataFrame or a "
        "`datasets.Dataset`. The exemplars are other questions of the same files.",
        "the benchmark's source",
    ),
    "revision": Option(*KEYS["revision"], "Version of the dataset on the Hub.", "the newest version"),
    "config": Option(
        *KEYS["config"],
        "Subjects of `cora_mmlu_redux`, or the language of `cora_global_mmlu`, which is required.",
        "all subjects",
    ),
    "nota_text": Option(*LINE, 'Text of the option "None of the above".'),
    "abstain_text": Option(*LINE, 'Text of the option "I don\'t know".'),
    "option_references": Option(
        *_one_of(get_args(OptionReferences)),
        "What happens to [options that refer to others](../tasks/README.md#options-that-refer-to-others), such as "
        '"All of the above". `keep`: they stay last, and variants in which another option would be right are not made. '
        "`leave_out`: their questions are left out. `ignore`: they are options like others.",
    ),
    "variants": Option(*_ONE, "1 asks one variant of each question, drawn by `seed`.", "all variants"),
    "orders": Option(
        *_one_of(get_args(Orders)),
        "Orders of the options. `swap`: the right option changes places with each of the others. `cyclic`: all "
        "rotations. `all`: all orders, for questions with up to five options.",
    ),
    "templates": Option(
        "a path",
        _line,
        "A JSON file with [prompts of your own](../tasks/README.md#prompts-of-your-own).",
        "SCORE's templates for its benchmarks, ten of ours for the others",
    ),
    "prompt": Option(
        "a Jinja template",
        _text,
        "A [prompt of your own](../tasks/README.md#prompts-of-your-own) for all variants.",
        "the prompt of the task",
    ),
    "repeats": Option(
        *_FROM_0,
        "How often the original is asked again, unchanged, for [`noise`](errors.md#noise) and the other [metrics of "
        "equal prompts](metrics.md#equal-prompts). No other metric counts the repeats.",
    ),
    "request_seeds": Option(
        *FLAG,
        "Whether each request has a seed, a different one for each sample.",
        "true for APIs with a seed parameter and for replicas of vLLM, else false",
    ),
    "letters": Option(
        *_one_of(get_args(Letters)),
        "How tasks whose names end in `_mc` [score letters](how-to-ask.md#scored-letters). `next_token`: all with one "
        "request, by the likeliest tokens that follow the prompt. `prompt`: one by one after the prompt.",
        "`next_token` for servers, `prompt` for models in this process",
    ),
    "constrain": Option(
        "true, false or 'if possible'",
        _where(lambda value: isinstance(value, bool) or value == "if possible"),
        "Whether the engine lets the model write only [a valid answer](how-to-ask.md#constrained-answers). `if "
        "possible`: the run goes on without, if the engine cannot do that.",
    ),
    "reader": Option(
        *_one_of(get_args(Reader)),
        "[How responses are read](reading.md): `flexible` finds the answer wherever the response gives it, `strict` "
        "follows the papers' rules.",
    ),
}
"""The options of all tasks. The documentation is generated from them."""

_CHECKS: dict[str, Check] = {**KEYS, **{name: option[:2] for name, option in OPTIONS.items()}}


@dataclass(frozen=True)
class Options:
    """The settings of a run that a user can change; see `OPTIONS`."""

    data_files: tuple[Any, ...] = ()
    questions: int | None = None
    categories: tuple[str, ...] = ()
    seed: int = 0
    nota_text: str = "None of the above"
    option_references: OptionReferences = "keep"
    variants: int | None = None
    orders: Orders = "swap"
    templates: str | None = None
    prompt: str | None = None
    repeats: int = 0
    request_seeds: bool | None = None
    constrain: bool | str = False
    reader: Reader = "flexible"
    letters: Letters | None = None
    abstain_text: str = "I don't know"
    task: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    declared: Mapping[str, Any] = field(default_factory=dict)  # of the benchmark, by the user; with keys of `KEYS`

    @classmethod
    def from_metadata(cls, task: str, given: object) -> Options:
        """Create options from the value of the key `cora` in the harness' metadata."""
        if given is None:
            return cls()
        advice = """ Set options with --metadata '{"cora": {"seed": 1}}'"""
        if not isinstance(given, Mapping):
            raise UserError(f"{task}: expected an object with options, got {given!r}.{advice}")
        values = check_values(given, _CHECKS, place=task, what="option", advice=advice)
        declared = {key: values.pop(key) for key in KEYS if key in values}
        return cls(**values, declared=declared)

    @classmethod
    def names(cls) -> set[str]:
        """The names of all options."""
        return set(_CHECKS)

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name, without the declaration of the benchmark."""
        given = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "declared"}
        return {name: value for name, value in given.items() if value != getattr(Options, name)}
