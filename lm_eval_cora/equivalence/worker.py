"""The process that compares answers: reads pairs from standard input, writes a verdict for each, until the input ends.

Answers are LaTeX that a model wrote, and math-verify may need any time and memory for them. So it runs here, under
limits of the operating system, and never in the process that holds the run.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from functools import lru_cache
from typing import Any

try:
    import resource
except ImportError:  # not on Windows: there the time on the clock is the only limit
    resource = None  # type: ignore[assignment]

READY = "ready"
EQUAL = "equal"
DIFFERENT = "different"

_TUPLE = re.compile(r"\(.*,.*\)", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+|[0-9]*\.[0-9]+|[0-9]+\.", re.ASCII)
_LIST = re.compile(r"[^()\[\]{}]*,[^()\[\]{}]*")


def serve(cpu_seconds: int, megabytes: int) -> None:
    """Answer until the standard input ends.

    Args:
        cpu_seconds: Processor time for a pair; the operating system ends the process that takes more.
        megabytes: Address space of the process; what asks for more fails and ends it.
    """
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")
    sys.stdout = sys.stderr  # a library that prints must not answer for us
    logging.disable(logging.CRITICAL)
    _refuse_python()
    _limit("RLIMIT_CORE", 0)
    _limit("RLIMIT_AS", megabytes * 2**20)
    print(READY, file=replies, flush=True)
    for line in sys.stdin:
        _limit_time(cpu_seconds)
        one, other = json.loads(line)
        print(EQUAL if equivalent(one, other) else DIFFERENT, file=replies, flush=True)


def equivalent(one: str, other: str) -> bool:
    """Compare two answers in canonical notation, either of them as the reference.

    Raises:
        MemoryError: If there is not enough.
    """
    from math_verify import verify

    if _TUPLE.fullmatch(one) and _LIST.fullmatch(other):
        other = f"({other})"
    elif _TUPLE.fullmatch(other) and _LIST.fullmatch(one):
        one = f"({one})"
    left, right = _parsed(one), _parsed(other)
    return any(verify(*pair, timeout_seconds=None) for pair in ((left, right), (right, left)))


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Any:
    """What math-verify makes of an answer: expressions, and the text itself. Its LaTeX rules alone, nothing else."""
    from math_verify import LatexExtractionConfig, parse

    latex_only = [LatexExtractionConfig(boxed_match_priority=0)]
    # math-verify knows a percent sign only behind the dollar sign.
    marked = f"${text[:-1]}$\\%" if text.endswith("%") else rf"\boxed{{{text}}}"
    return parse(marked, extraction_config=latex_only, parsing_timeout=None)


def _refuse_python() -> None:
    """Close sympy's way from text to code, `parse_expr`, which ends in Python's `eval`.

    math-verify takes it for plain expressions, which are not asked for here; but the numbers in LaTeX take it, too
    (`sympy.Number(text)` calls `sympify`). So plain numbers get through, without `eval`, and nothing else does.
    """
    import math_verify.parser
    import sympy.parsing
    import sympy.parsing.sympy_parser as sympy_parser
    import sympy.physics.units  # `simplify` imports it, and it sympifies the names of its units
    from latex2sympy2_extended import latex2sympy2
    from sympy import Float, Integer

    def number_alone(text: object, *_: Any, **__: Any) -> Any:
        if not isinstance(text, str) or not _NUMBER.fullmatch(text):
            raise ValueError("text is not evaluated here")
        return Integer(int(text)) if text.isdigit() else Float(text)

    for module in (sympy_parser, sympy.parsing, math_verify.parser, latex2sympy2):
        module.parse_expr = number_alone
    sympy_parser.eval_expr = number_alone


def _limit(name: str, value: int) -> None:
    if resource is not None and hasattr(resource, name):
        _, hard = resource.getrlimit(getattr(resource, name))
        resource.setrlimit(getattr(resource, name), (value, hard))


def _limit_time(cpu_seconds: int) -> None:
    """Let the process run for that long from now on."""
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit("RLIMIT_CPU", int(used.ru_utime + used.ru_stime) + 1 + cpu_seconds)
