"""The arguments of `lm_eval run` and the tasks that they name, read before the rest of the harness is imported."""

import re
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import fields
from io import StringIO
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.config.evaluate_config import EvaluatorConfig

from lm_eval_cora.discovery.location import with_tasks_folder
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.compat import parsed
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import shorten

_PLAIN = re.compile(r"[\w.-]+", re.ASCII)  # a name that stands in a task file as it is; others may be patterns
_NAMED = re.compile(rb"""^(?:task|group) *: *["']?([\w.-]+)""", re.MULTILINE)


class UsageError(Exception):
    """The harness' parser refused the arguments. The message is the parser's."""


def harness_arguments(arguments: Sequence[str]) -> Namespace:
    """Parse arguments as `lm_eval run` does."""
    stderr = StringIO()
    try:
        with redirect_stderr(stderr):
            given: Namespace = parsed(arguments)[1]
    except SystemExit as ended:
        if not ended.code:  # it has printed a help text
            raise
        raise UsageError(stderr.getvalue().rpartition("error: ")[2].strip()) from None
    except (ValueError, RecursionError) as error:  # the parser does not catch these
        raise UsageError(shorten(" ".join(str(error).split()), 400).removesuffix(".")) from None
    after = arguments[arguments.index("--metadata") + 1 :] if "--metadata" in arguments else ()
    words = list(takewhile(lambda word: not word.startswith("--"), after))
    if len(words) > 1 and any(word.lstrip().startswith("{") for word in words):  # the harness would drop the others
        raise UsageError(f"argument --metadata: expected one JSON object, got {len(words)} values. Merge them")
    if not isinstance(given.metadata or {}, dict):  # lm-eval 0.4.12 accepts any JSON
        raise UsageError(f"argument --metadata: expected an object, got {shorten(given.metadata)}")
    return given


def harness_options() -> list[str]:
    """Return the options of `lm_eval run`."""
    return [f"--{field.name}" for field in fields(EvaluatorConfig)]


def listed(value: Any) -> list[Any]:
    """A value as a list."""
    return value if isinstance(value, list) else [value]


def check_tasks_named(settings: EvaluatorConfig) -> None:
    """Find tasks, also in the option `task`, that are in no task file."""
    options = (settings.metadata or {}).get("cora")
    others = options.get("task", []) if isinstance(options, dict) else []
    folders = listed(settings.include_path or [])
    _check_names(settings.tasks, folders, "cora_")
    _check_names(others, folders)


def _check_names(given: Any, folders: Sequence[str | Path], prefix: str = "") -> None:
    # The harness would parse all files, which takes ten seconds. A name that is in a file may still be none of a task.
    names = [name for each in listed(given) for name in str(each).split(",")]
    unknown = {name for name in names if _PLAIN.fullmatch(name) and not Path(name).exists()}
    known: set[bytes] = set()
    every = [*with_tasks_folder(folders), Path(str(lm_eval.__file__)).parent / "tasks"]
    for path in chain.from_iterable(Path(folder).rglob("*.y*ml") for folder in every):
        if not unknown:
            return
        with suppress(OSError):
            content = path.read_bytes()
            unknown = {name for name in unknown if name.encode() not in content}
            known.update(_NAMED.findall(content))
    if unknown:
        raise no_such_tasks(dict.fromkeys(sorted(unknown)), map(bytes.decode, known), prefix)


def no_such_tasks(names: Mapping[str, str | None], known: Iterable[str], prefix: str = "cora_") -> UserError:
    """The error for unknown tasks: the reason why each cannot be used, or else similar names."""
    every, found = list(known), []
    for name, reason in names.items():
        meant = did_you_mean(prefix + name.removeprefix(prefix), every) or did_you_mean(name, every)
        found.append(reason or f"there is no task {name!r}.{meant}")
    sentences = " ".join([found[0], *(text[0].upper() + text[1:] for text in found[1:])])
    return UserError(f"{sentences} `lm-eval-cora tasks` lists the tasks of this package, `lm_eval ls tasks` all")
