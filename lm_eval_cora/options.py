"""The options that a user passes as `--metadata '{"cora": {...}}'`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from lm_eval_cora.answers import Reader
from lm_eval_cora.question import is_encodable

Orders = Literal["swap", "cyclic", "all"]
"""Which orders of the options the order probe asks."""


class OptionError(ValueError):
    """An option that does not exist or has a value that it cannot have."""


@dataclass(frozen=True)
class Options:
    """What a run may change about a task.

    Attributes:
        data_files: A local copy of the benchmark (jsonl, csv or parquet), or several.
        questions: Run a sample of that many questions, drawn by `seed`; a larger sample holds a smaller one.
        categories: Run the questions of these categories only.
        seed: Seed of the sample and of every reordering.
        nota_text: How the option "None of the above" is printed.
        skip_option_references: Leave out questions with options such as "All of the above" or "Both A and B".
        variants: 1 asks one variant of each question, drawn by `seed`: the cheap MCQA+. None asks all of them.
        orders: Which orders of the options the order probe asks.
        templates: A file with prompts of the user's own for the prompts, order and sampling probes.
        request_seeds: Whether the sampling probe sends a seed with each request, another one for each sample. None
            does so where the back end is an API with such a parameter.
        reader: How written answers are read: `flexible`, or `strict` by the papers' rules.
    """

    data_files: tuple[str, ...] = ()
    questions: int | None = None
    categories: tuple[str, ...] = ()
    seed: int = 0
    nota_text: str = "None of the above"
    skip_option_references: bool = False
    variants: int | None = None
    orders: Orders = "swap"
    templates: str | None = None
    request_seeds: bool | None = None
    reader: Reader = "flexible"

    @classmethod
    def from_metadata(cls, task: str, given: object) -> Options:
        """Check the value of the key `cora` in the harness' metadata.

        Args:
            task: Name of the task, for the error message.
            given: A mapping, or None if the user gave no options.

        Returns:
            The options, defaults filled in.

        Raises:
            OptionError: If it is no mapping, or holds an unknown key or a wrong value.

        Example:
            >>> Options.from_metadata("cora_demo", {"questions": 20}).questions
            20
            >>> Options.from_metadata("cora_demo", {"question": 20})
            Traceback (most recent call last):
            ...
            lm_eval_cora.options.OptionError: cora_demo: unknown option 'question'. The options are: categories, data_files, nota_text, orders, questions, reader, request_seeds, seed, skip_option_references, templates, variants. They are given as --metadata '{"cora": {"seed": 1}}'
        """  # noqa: E501
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise OptionError(f"{task}: the options are {given!r}, expected an object. {_HOW}")
        for key in given:
            if key not in _CHECKS:
                raise OptionError(
                    f"{task}: unknown option {key!r}. The options are: {', '.join(sorted(_CHECKS))}. {_HOW}"
                )
        values = {}
        for key, value in given.items():
            expected, read = _CHECKS[key]
            try:
                values[key] = read(value)
            except (TypeError, ValueError):
                raise OptionError(f"{task}: option {key!r} is {value!r}, expected {expected}. {_HOW}") from None
        return cls(**values)

    @classmethod
    def names(cls) -> set[str]:
        """The names of all options."""
        return {field.name for field in fields(cls)}

    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name.

        Example:
            >>> Options(seed=1).changed()
            {'seed': 1}
        """
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value != getattr(Options, name)}


_HOW = """They are given as --metadata '{"cora": {"seed": 1}}'"""


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _positive_integer(value: object) -> int:
    if _integer(value) < 1:
        raise ValueError
    return _integer(value)


def _one(value: object) -> int:
    if _integer(value) != 1:
        raise ValueError
    return 1


def _one_of(values: Sequence[str]) -> tuple[str, Callable[[object], object]]:
    def read(value: object) -> object:
        if value not in values:
            raise ValueError
        return value

    return " or ".join(map(repr, values)), read


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _line(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    if not value.strip() or len(value.splitlines()) != 1 or not is_encodable(value):
        raise ValueError
    return value.strip()


def _lines(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (_line(value),)
    if not isinstance(value, list | tuple) or not value:
        raise TypeError
    return tuple(_line(item) for item in value)


_CHECKS: dict[str, tuple[str, Callable[[object], Any]]] = {
    "data_files": ("a path, or a list of paths", _lines),
    "questions": ("a whole number from 1", _positive_integer),
    "categories": ("a category, or a list of categories", _lines),
    "seed": ("a whole number", _integer),
    "nota_text": ("a text of one line", _line),
    "skip_option_references": ("true or false", _flag),
    "variants": ("1, or not to be given", _one),
    "orders": _one_of(get_args(Orders)),
    "templates": ("a path", _line),
    "request_seeds": ("true or false", _flag),
    "reader": _one_of(get_args(Reader)),
}
