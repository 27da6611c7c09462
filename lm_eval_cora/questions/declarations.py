"""Create benchmarks from declarations: the keys under `benchmark` in a task file, or in the user's --metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions import values
from lm_eval_cora.questions.benchmark import Benchmark, Source
from lm_eval_cora.questions.columns import Columns
from lm_eval_cora.questions.fields import Field
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.repairs import REPAIRS
from lm_eval_cora.questions.right_option import FIRST, INDEX, READINGS, AnswerKey
from lm_eval_cora.questions.rows import source_name
from lm_eval_cora.questions.values import Check


def _pair(value: object) -> tuple[int, int]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise TypeError
    low, high = map(values.integer, value)
    return low, high


def _adapter(value: object) -> Benchmark:
    if not isinstance(value, Benchmark):
        raise TypeError
    return value


_FIELD = "a column, a path such as choices.text, or a Jinja template"

KEYS: dict[str, Check] = {
    "name": ("a text of one line", values.line),
    "hub": ("the id of a dataset on the Hub, or a list of them", values.lines),
    "config": ("a configuration of the dataset, or a list of them", values.lines),
    "split": ("a split of the dataset", values.line),
    "fewshot_split": ("a split of the dataset", values.line),
    "revision": ("a commit, branch or tag", values.line),
    "question": (_FIELD, values.text),
    "choices": (f"{_FIELD}, or a list of at least two of them", values.texts),
    "labels": (_FIELD, values.text),
    "answer": (_FIELD, values.text),
    "answer_from": ("a whole number, usually 0 or 1", values.integer),
    "answer_is": values.one_of(READINGS),
    "answer_check": (_FIELD, values.text),
    "id": (_FIELD, values.text),
    "category": (_FIELD, values.text),
    "separator": ("a text", values.separator),
    "shuffle": ("true or false", values.flag),
    "repairs": values.some_of(tuple(REPAIRS)),
    "keep": ("an object with the values to keep of each column", values.mapping),
    "exemplars_within_category": ("true or false", values.flag),
    "exemplars_as_published": ("true or false", values.flag),
}
"""The keys that users may set on the command line, with a check for each value."""

_IN_FILES: dict[str, Check] = {
    **KEYS,
    "open": ("true or false", values.flag),
    "configs": ("a list of configurations, of which the user chooses one", values.lines),
    "data_files": ("a path, or a list of paths", values.lines),
    "package_file": ("a file of the package", values.line),
    "adapter": ("a Benchmark", _adapter),
    "options": ("the smallest and the largest number of options", _pair),
    "published_rows": ("a whole number from 1", values.from_1),
    "score_templates": ("a folder of the harness' SCORE tasks", values.line),
    "macro_average": ("true or false", values.flag),
    "nota_text": ("a text, or a text for each configuration", lambda value: value),
}
"""The keys that task files may set."""

_ALWAYS_OPEN = ("revision",)
"""Keys that users may set for every benchmark."""


def declared(given: Any, changes: Mapping[str, Any] | None = None, data_files: tuple[Any, ...] = ()) -> Benchmark:
    """Create a benchmark from its declaration."""
    keys = _checked(given)
    changes = dict(changes or {})
    is_open = keys.pop("open", False)
    if not is_open:
        _check_changes(keys, changes)
    every = keys.get("config", ())
    published = "published_rows" in keys
    keys |= changes
    is_whole = keys.get("config", ()) == every
    _choose_language(keys)
    by_config = max(len(every), len(keys.get("config", ()))) > 1
    source = Source(**_taken(keys, Source), by_config=by_config)
    if source.hub and source.split is None and not data_files:
        raise UserError("'hub' is set, but 'split' is missing. Add it, such as 'split': 'test'")
    adapter: Benchmark | None = keys.pop("adapter", None)
    if adapter is not None:
        return replace(adapter, source=source, published_rows=adapter.published_rows if is_whole else None)
    named_files = tuple(keys.pop("data_files", ()))
    if source.hub and (named_files or (is_open and data_files)):
        raise UserError("expected one source, got both 'hub' and 'data_files'. Remove one of them")
    _check_answer(keys)
    given_name = keys.pop("name", "questions")
    own_name = _name_of(source, data_files or named_files) if is_open or "name" not in given else ""
    name = changes.get("name") or own_name or given_name
    package_file = keys.pop("package_file", None)
    about = _taken(keys, Benchmark)
    if by_config and not is_whole:
        about["published_rows"] = None
    is_named = bool(source.hub or package_file or changes.get("name") or not own_name)
    columns = _columns(name, keys, published=published, shuffle_key=name if is_named else "")
    return Benchmark(
        name=name,
        reader=columns,
        columns=tuple(dict.fromkeys(name for part in columns.named for name in part.reads)),
        source=source,
        files=named_files,
        published=published,
        package_file=Path(str(files("lm_eval_cora.questions") / package_file)) if package_file else None,
        **about,
    )


def _check_answer(keys: Mapping[str, Any]) -> None:
    """Raise an error if the keys that describe the answer contradict each other."""
    reading = keys.get("answer_is")
    if reading == FIRST and "answer" in keys:
        raise UserError("'answer_is': 'first' ignores the key 'answer'. Remove 'answer' or 'answer_is'")
    if "answer_from" in keys and reading not in (None, INDEX):
        raise UserError(f"'answer_from' is for indices, but 'answer_is' is {reading!r}. Remove one of them")


def _taken(keys: dict[str, Any], kind: type[Any]) -> dict[str, Any]:
    """Remove the keys that are fields of a dataclass, and return them with their values."""
    return {part.name: keys.pop(part.name) for part in fields(kind) if part.name in keys}


def _checked(given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise UserError(f"benchmark: expected a mapping with keys such as 'hub' and 'question', got {given!r}")
    checked = {}
    for key, value in given.items():
        if key not in _IN_FILES:
            raise UserError(f"benchmark: unknown key {key!r}.{did_you_mean(str(key), _IN_FILES)}")
        expected, read = _IN_FILES[key]
        try:
            checked[key] = read(value)
        except (TypeError, ValueError):
            raise UserError(f"benchmark: {key!r} is {value!r}, expected {expected}") from None
    return checked


def _check_changes(keys: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise an error if the user sets a key that this benchmark does not allow, or an unknown configuration."""
    name = keys.get("name", "the benchmark")
    configs = keys.get("configs") or keys.get("config", ())
    possible = [*_ALWAYS_OPEN, *(["config"] if len(configs) > 1 else [])]
    for key, value in changes.items():
        if key not in possible:
            raise UserError(
                f"option {key!r}: the source and the columns of {name} are fixed. For other data use cora_local (a "
                "file) or cora_hub (a dataset on the Hub), or change `benchmark` in your own task file"
            )
        if key == "config" and (unknown := [one for one in value if one not in configs]):
            raise UserError(
                f"option 'config': {name} has no configuration {unknown[0]!r}.{did_you_mean(unknown[0], configs)} "
                f"The configurations are: {', '.join(configs)}"
            )


def _choose_language(keys: dict[str, Any]) -> None:
    """Set the name and "None of the above" to those of the language that the user chose among `configs`."""
    configs = keys.pop("configs", ())
    nota = keys.pop("nota_text", "")
    if configs:
        chosen = keys.get("config", ())
        if len(chosen) != 1:
            example = json.dumps({"cora": {"config": configs[0]}})
            raise UserError(
                f"option 'config': {keys['name']}: expected one of {', '.join(configs)}; got "
                f"{', '.join(chosen) or 'none'}. Set it with --metadata '{example}'"
            )
        keys["name"] = f"{keys['name']}_{chosen[0]}"
        nota = nota.get(chosen[0], "") if isinstance(nota, Mapping) else nota
    keys["nota_text"] = nota


def _name_of(source: Source, data_files: tuple[Any, ...]) -> str:
    """Name a benchmark after the user's files, or after its dataset and configuration."""
    if data_files:
        names = [source_name(one) for one in data_files]
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    name = "_".join([*(tail(part) for part in source.hub[:1]), *(source.config if len(source.config) == 1 else ())])
    return f"{name} and {len(source.hub) - 1} more" if len(source.hub) > 1 else name


def tail(hub: str) -> str:
    """Return the name of a dataset without its owner.

    Example:
        >>> tail("allenai/openbookqa")
        'openbookqa'
    """
    return hub.rstrip("/").rpartition("/")[2]


def _columns(name: str, keys: dict[str, Any], *, published: bool, shuffle_key: str) -> Columns:
    parts: dict[str, Any] = {}
    try:
        for part in ("question", "labels", "answer", "answer_check", "id", "category"):
            if part in keys:
                parts[part] = Field(keys.pop(part))
        if (choices := keys.pop("choices", None)) is not None:
            parts["choices"] = Field(choices) if isinstance(choices, str) else tuple(map(Field, choices))
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    key = AnswerKey(keys.pop("answer_from", None), keys.pop("answer_is", None))
    keep = {column: frozenset(map(str, _several(kept))) for column, kept in keys.pop("keep", {}).items()}
    return Columns(name=name, key=key, keep=keep, published=published, shuffle_key=shuffle_key, **parts, **keys)


def _several(kept: Any) -> Any:
    return kept if isinstance(kept, list | tuple) else [kept]
