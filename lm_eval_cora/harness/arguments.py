"""The arguments of `lm_eval run`, read before the rest of the harness is imported."""

from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import fields
from io import StringIO
from itertools import takewhile
from typing import Any

from lm_eval.config.evaluate_config import EvaluatorConfig

from lm_eval_cora.harness.compat import parsed
from lm_eval_cora.questions.question import shorten


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
