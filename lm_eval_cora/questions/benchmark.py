"""A benchmark: its declaration in a task file or in the user's --metadata, and its name and digest in results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_cora.errors import UserError, naming
from lm_eval_cora.questions.columns import ColumnReader, Columns, Field
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.options import IN_FILES, TEXTS, Options, check_values
from lm_eval_cora.questions.question import MAX_OPTIONS, AnyQuestion, MissingColumn, Result, Row
from lm_eval_cora.questions.right_option import FIRST, INDEX, AnswerKey
from lm_eval_cora.questions.rows import source_name

# Parts of a question that a declaration names the fields of.
_PARTS = ("question", "choices", "labels", "answer", "answer_check", "id", "category", "cluster")


@dataclass(frozen=True)
class OneByOne:
    """Reader for adapters, which converts each row independently of the others. Every row must have the columns."""

    columns: tuple[str, ...]
    to_question: Callable[[Row, str], AnyQuestion]
    """Converts a row, or raises UnusableQuestion. The second argument is the id to use if the row has none."""

    def read(self, row: Row, default_id: str, where: str) -> AnyQuestion:
        """Convert a row to a question."""
        if missing := [column for column in self.columns if column not in row]:
            raise MissingColumn(f"no column {', '.join(map(repr, missing))}.")
        return self.to_question(row, default_id)

    def finish(self, drafts: Sequence[AnyQuestion]) -> tuple[list[Result], list[str]]:
        """Return the questions unchanged."""
        return list(drafts), []


@dataclass(frozen=True)
class Source:
    """The datasets of a benchmark on the Hugging Face Hub; none if `hub` is empty."""

    hub: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    split: str | None = None
    fewshot_split: str | None = None
    revision: str | None = None
    by_config: bool = False  # there are several: ids start with the config, which rows have in the column `config`


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: the source of its rows and their conversion to questions."""

    name: str
    reader: Callable[[Sequence[str]], ColumnReader | OneByOne]
    """Takes the columns of the first row and returns the reader of all rows."""
    columns: tuple[str, ...] = ()  # those that a row should have, for messages
    source: Source = Source()
    files: tuple[Any, ...] = ()  # files of the user that the declaration names
    package_file: Path | None = None
    published: bool = True  # whether its layout and defects are known; the user's data is not published
    published_rows: int | None = None  # of the published split; None if unknown
    part_of: Callable[[str, Row], str] | None = None
    """For a benchmark with parts, such as AGIEval's subsets: the part of a row, from the name of its dataset or file.
    Rows get it in the column `subset`, and question ids start with it."""
    exemplars_within_category: bool = False
    exemplars_as_published: bool = False  # the few-shot split is a list of exemplars: keep its order and its repeats
    options: tuple[int, int] = (2, MAX_OPTIONS)  # fewest and most of a question; (0, 0) if the model writes its answer
    score_templates: str | None = None  # folder of the harness' SCORE task
    macro_average: bool = False
    nota_text: str = ""  # "None of the above" in the language of the benchmark; empty for English
    abstain_text: str = ""  # "I don't know"

    @property
    def has_options(self) -> bool:
        """Whether the questions have options."""
        return self.options != (0, 0)

    @property
    def strict(self) -> bool:
        """Whether an unusable row is an error, as in a user's own file. In datasets such rows are left out."""
        return not self.source.hub


def declared(given: Any, changes: Mapping[str, Any] | None = None, data_files: tuple[Any, ...] = ()) -> Benchmark:
    """Create a benchmark from its declaration, the user's changes of it, and the user's files."""
    if not isinstance(given, Mapping):
        raise UserError(f"benchmark: expected a mapping with keys such as 'hub' and 'question', got {given!r}")
    keys = check_values(given, IN_FILES, place="benchmark", what="key")
    changes = changes or {}
    is_open = keys.pop("open", False)
    if not is_open:
        _check_changes(keys, changes)
    every, published = keys.get("config", ()), "published_rows" in keys
    keys |= changes
    _choose_language(keys)
    source = _source(keys, every, needs_split=not data_files)
    is_whole = source.config == every
    adapter: Benchmark | None = keys.pop("adapter", None)
    if adapter is not None:
        return replace(adapter, source=source, published_rows=adapter.published_rows if is_whole else None)
    named_files = tuple(keys.pop("data_files", ()))
    own_files = named_files or (data_files if is_open else ())
    if source.hub and own_files:
        raise UserError("expected one source, got both 'hub' and 'data_files'. Remove one of them")
    given_name = keys.pop("name", "questions")
    by_source = _name_of(source, data_files or named_files) if is_open or "name" not in given else ""
    name = changes.get("name") or by_source or given_name
    package_file = keys.pop("package_file", None)
    about = _taken(keys, Benchmark)
    if source.by_config and not is_whole:
        about["published_rows"] = None
    is_named = source.hub or package_file or changes.get("name") or not by_source
    columns = _columns(name, keys, published=published, shuffle_key=name if is_named else "")
    return Benchmark(
        name=name,
        reader=columns,
        columns=tuple(dict.fromkeys(columns.reads("question", "choices", "answer"))),
        source=source,
        files=named_files,
        published=published,
        package_file=Path(__file__).with_name(package_file) if package_file else None,
        **about,
    )


def _source(keys: dict[str, Any], every: Sequence[str], *, needs_split: bool) -> Source:
    """Remove the keys of the source; `every` are the configurations of the declaration."""
    source = Source(**_taken(keys, Source))
    if source.hub and source.split is None and needs_split:
        raise UserError("'hub' is set, but 'split' is missing. Add it, such as 'split': 'test'")
    return replace(source, by_config=max(len(every), len(source.config)) > 1)


def _taken(keys: dict[str, Any], kind: type[Any]) -> dict[str, Any]:
    """Remove the keys that are fields of a dataclass, and return them with their values."""
    return {part.name: keys.pop(part.name) for part in fields(kind) if part.name in keys}


def _check_changes(keys: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Check that the user changes only the revision, or chooses among the configurations."""
    name = keys.get("name", "the benchmark")
    configs = keys.get("configs") or keys.get("config", ())
    for key, value in changes.items():
        is_choice = key == "config" and len(configs) > 1
        if key != "revision" and not is_choice:
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
    """Set the name and the texts of options to those of the language that the user chose among `configs`."""
    if not (configs := keys.pop("configs", ())):
        return
    if len(chosen := keys.get("config", ())) != 1:
        example = json.dumps({"cora": {"config": configs[0]}})
        raise UserError(
            f"option 'config': {keys['name']}: expected one of {', '.join(configs)}; got "
            f"{', '.join(chosen) or 'none'}. Set it with --metadata '{example}'"
        )
    keys["name"] = f"{keys['name']}_{chosen[0]}"
    for name in TEXTS:
        if isinstance(texts := keys.get(name), Mapping):
            keys[name] = texts.get(chosen[0], "")


def _name_of(source: Source, data_files: tuple[Any, ...]) -> str:
    """Name a benchmark after the user's files, or after its dataset and configuration."""
    names = [source_name(one) for one in data_files] or [tail(part) for part in source.hub]
    if not data_files and len(source.config) == 1:
        names = ["_".join([*names[:1], *source.config]), *names[1:]]
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else "".join(names)


def tail(hub: str) -> str:
    """Return the name of a dataset without its owner."""
    return hub.rstrip("/").rpartition("/")[2]


def _columns(name: str, keys: dict[str, Any], *, published: bool, shuffle_key: str) -> Columns:
    reading = keys.get("answer_is")
    if reading == FIRST and "answer" in keys:
        raise UserError("'answer_is': 'first' ignores the key 'answer'. Remove 'answer' or 'answer_is'")
    if "answer_from" in keys and reading not in (None, INDEX):
        raise UserError(f"'answer_from' is for indices, but 'answer_is' is {reading!r}. Remove one of them")
    with naming(name):
        given = {part: keys.pop(part) for part in _PARTS if part in keys}
        fields = {part: tuple(map(Field, [text] if isinstance(text, str) else text)) for part, text in given.items()}
    key = AnswerKey(keys.pop("answer_from", None), keys.pop("answer_is", None))
    keep = {
        column: frozenset(map(str, kept if isinstance(kept, list | tuple) else [kept]))
        for column, kept in keys.pop("keep", {}).items()
    }
    return Columns(name=name, key=key, keep=keep, published=published, shuffle_key=shuffle_key, fields=fields, **keys)


def in_its_language(benchmark: Benchmark, options: Options) -> Options:
    """The options with "None of the above" in the language of the benchmark, unless the user has set it."""
    is_set = options.nota_text != Options.nota_text
    return options if is_set or not benchmark.nota_text else replace(options, nota_text=benchmark.nota_text)


# Parts of a signature that identify the data. Reports compare `Data` instead, because older signatures lack these.
OF_THE_DATA = ("benchmark", "data")


class Data(NamedTuple):
    """The questions of a run: the name of the benchmark and the digest of all its questions; empty if unknown."""

    name: str = ""
    digest: str = ""

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Data:
        """Read the data from `configs.<task>.metadata` of a results file. Values of the wrong type count as missing."""
        entry = metadata.get("benchmark")
        values = [entry.get(key) if isinstance(entry, Mapping) else None for key in ("name", "questions")]
        return cls(*(value if isinstance(value, str) else "" for value in values))

    def in_metadata(self) -> dict[str, dict[str, str]]:
        """Return the metadata that `of` reads; empty if neither name nor digest is known."""
        known = {key: value for key, value in zip(("name", "questions"), self, strict=True) if value}
        return {"benchmark": known} if known else {}

    def name_beside(self, task: str) -> str:
        """The name, unless that of the task contains it; a file such as order.jsonl may be named like a probe."""
        is_in_name = f"{task.removeprefix('cora_')}_".startswith(f"{self.name}_")
        return "" if is_in_name else self.name

    def in_signature(self, task: str) -> dict[str, str]:
        """Return the parts of a signature. The name is omitted if the name of the task contains it."""
        values = zip(OF_THE_DATA, (self.name_beside(task), self.digest), strict=True)
        return {key: value for key, value in values if value}

    def __str__(self) -> str:
        return " ".join(filter(None, self)) or "unknown questions"

    def differs_from(self, other: Data) -> bool:
        """Whether the questions are known to differ, by their digests only: files may have different names."""
        return bool(self.digest and other.digest) and self.digest != other.digest
