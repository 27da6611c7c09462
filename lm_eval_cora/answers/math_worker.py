"""Worker process that compares answers: it reads pairs from standard input and writes a verdict for each.

The answers are LaTeX from a model, and math-verify may need any amount of time and memory for them. It therefore runs
here, under limits of the operating system, and never in the main process.
"""

import json
import logging
import os
import re
import sys
from cmath import isfinite
from contextlib import suppress
from functools import lru_cache, partial
from time import process_time
from typing import Any
from zlib import crc32

try:
    import resource
except ImportError:  # on Windows, where wall-clock time is the only limit
    resource = None  # type: ignore[assignment]

READY, READ = "ready", "read"  # the replies before a verdict
_NUMBER = re.compile(r"[0-9]+|[0-9]*\.[0-9]+|[0-9]+\.")
_TUPLE = re.compile(r"\(.*,.*\)", re.DOTALL)
_LIST = re.compile(r"[^()\[\]{}]*,[^()\[\]{}]*")
_SET = re.compile(r"\\\{[^()]*\\\}", re.DOTALL)
_APART = 2e-6  # values that differ by more than this are not equal; math-verify rounds decimals to six places
_DIGITS = 1e-9  # the same for large values, as a relative difference


def serve(cpu_seconds: int, megabytes: int) -> None:
    """Compare pairs until standard input ends."""
    reply = partial(print, file=sys.stdout, flush=True)
    sys.stdout = sys.stderr  # keep output of libraries out of the replies
    logging.disable(logging.CRITICAL)
    _refuse_python()
    _end_without_memory()
    _limit("RLIMIT_CORE", 0)
    _limit("RLIMIT_AS", megabytes * 2**20)
    reply(READY)
    for line in sys.stdin:
        _limit("RLIMIT_CPU", int(process_time()) + 1 + cpu_seconds)  # the system ends a process that exceeds it
        pair = json.loads(line)
        for answer in pair:  # the missing reply shows which answer alone exceeds the limits
            _value(answer)
            reply(READ)
        reply(equivalent(*pair))


def equivalent(one: str, other: str) -> bool:
    """Compare two answers in canonical notation, with each of them as the reference."""
    from math_verify import verify

    if _TUPLE.fullmatch(other):
        one, other = other, one
    if _TUPLE.fullmatch(one):
        if _SET.fullmatch(other):
            return False  # math-verify ignores the braces, but a set is not a point or an interval
        if _LIST.fullmatch(other):
            other = f"({other})"
    first, second = _value(one), _value(other)
    if _apart(first, second):
        return False
    left, right = _parsed(one), _parsed(other)
    if verify(left, right, timeout_seconds=None):
        return True
    # math-verify takes the difference of two expressions, so the other direction would give the same result.
    symmetric = first is not None and second is not None
    return not symmetric and bool(verify(right, left, timeout_seconds=None))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Any:
    """Parse an answer with math-verify, only by its LaTeX rules: into expressions and the text itself."""
    from math_verify import LatexExtractionConfig, parse

    latex_only = [LatexExtractionConfig(boxed_match_priority=0)]
    # math-verify recognizes a percent sign only after the dollar sign.
    marked = f"${text[:-1]}$\\%" if text.endswith("%") else rf"\boxed{{{text}}}"
    return parse(marked, extraction_config=latex_only, parsing_timeout=None)


def _apart(first: Any, second: Any) -> bool:
    """Return whether two values are certainly different."""
    with suppress(Exception):  # one of them is None, or two sympy numbers cannot be ordered
        distance = abs(first - second)
        return bool(distance > _APART and distance > _DIGITS * max(abs(first), abs(second)))
    return False


@lru_cache(maxsize=4096)
def _value(text: str) -> Any:
    """Evaluate an expression, with a fixed number for each symbol.

    Different values reject most wrong answers a hundred times as fast as simplifying a difference, as math-verify does.
    """
    from sympy import Expr, MatrixExpr, Symbol, UnevaluatedExpr

    parsed = next(iter(_parsed(text)), None)
    # math-verify compares symbols by name, ignoring case, and a percentage may equal its number without the sign.
    if not isinstance(parsed, Expr) or isinstance(parsed, Symbol | MatrixExpr) or parsed.has(UnevaluatedExpr):
        return None
    # A number from 1 to 2 that depends on the name; two expressions are unlikely to have equal values by chance.
    numbers = {symbol: 1 + crc32(symbol.name.encode()) / 2**32 for symbol in parsed.free_symbols}
    with suppress(Exception):  # a pole, a sum that diverges, the floor of a symbol, ...
        value = parsed.evalf(subs=numbers)
        if value.is_number and value.is_finite:  # otherwise an undefined function, a division by zero, ...
            return number if isfinite(number := complex(value)) else value
    return None


def _refuse_python() -> None:
    """Disable sympy's `parse_expr`, which passes text to Python's `eval`.

    Numbers in LaTeX use it, because `sympy.Number(text)` calls `sympify`. The replacement converts plain numbers
    without `eval` and raises for any other text.
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
        return Float(text) if "." in text else Integer(text)

    for module in (sympy_parser, sympy.parsing, math_verify.parser, latex2sympy2):
        module.parse_expr = number_alone
    sympy_parser.eval_expr = number_alone


def _end_without_memory() -> None:
    """End the process if memory runs out, because math-verify would read the error as a difference."""
    from math_verify import grader, parser
    from sympy import Expr

    def doit(expression: Any) -> Any:
        try:
            return _ending(expression.doit)()
        except Exception:  # as math-verify does
            return expression

    grader.safe_sympy_doit = doit
    for owner, names in ((grader, "simplify solve"), (parser, "latex2sympy"), (Expr, "evalf round __sub__")):
        for name in names.split():
            setattr(owner, name, _ending(getattr(owner, name)))


def _ending(function: Any) -> Any:
    """Return the function, with the end of the process in place of a MemoryError."""

    def ending(*arguments: Any, **more: Any) -> Any:
        try:
            return function(*arguments, **more)
        except MemoryError:
            os._exit(1)

    return ending


def _limit(name: str, value: int) -> None:
    """Set a limit of the operating system, if it has this one; a lower one that already exists is kept."""
    if (limit := getattr(resource, name, None)) is not None:
        _, hard = resource.getrlimit(limit)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (allowed, hard))
