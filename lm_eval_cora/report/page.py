"""Render a report as a self-contained HTML page that needs neither a network nor other files."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from math import isnan
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from lm_eval_cora import __version__
from lm_eval_cora.report.content import Block, Cell, Chart, Number, Report, Table
from lm_eval_cora.report.figures import draw

# HTML does not allow control characters. Show their Unicode pictures instead.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}


def render(report: Report) -> str:
    """Render a report as a page."""
    return framed("page.html.j2", report.title, ["page.js"], report=report)


def framed(template: str, title: str, scripts: Sequence[str], styles: Sequence[str] = (), **content: Any) -> str:
    """Render a template that extends the frame of our pages: head, style sheets, title and theme button."""
    script = "".join(map(_file, scripts))
    # The Content-Security-Policy allows only this script, so an injected script would not run.
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return _environment().get_template(template).render(
        title=title, version=__version__, script=Markup(script), script_hash=digest,
        style=Markup("".join(map(_file, ("style.css", *styles)))), dark=Markup(_file("dark.css")), **content,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters |= {
        "groups": _groups,
        "meanings": _meanings,
        "draw": lambda chart: Markup(draw(chart)),
        "data_value": _data_value,
        "text": lambda cell: f"{cell:,}" if isinstance(cell, int) else str(cell),
        "breakable": lambda text: Markup(escape(_visible(text)).replace("_", Markup("_<wbr>"))),
        "with_names": _with_names,
        "is_numeric": lambda cell: not isinstance(cell, str),
        "is_best": lambda cell: isinstance(cell, Number) and cell.best,
    }
    return environment


def _file(name: str) -> str:
    return (files("lm_eval_cora.report") / "templates" / name).read_text(encoding="utf-8")


def _visible(value: Any) -> Any:
    return value.translate(_CONTROLS) if type(value) is str else value


def _meanings(report: Report) -> dict[Cell, str]:
    """The meanings of the metrics, by name."""
    rows = report.glossary.rows if report.glossary else ()
    return {name: str(meaning) for called, meaning in rows for name in str(called).split(", ")}


def _groups(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Group consecutive blocks of one kind, because the page shows charts side by side where they fit."""

    def kind(block: Block) -> str:
        return "charts" if isinstance(block, Chart) else "tables" if isinstance(block, Table) else "examples"

    yield from ((name, list(group)) for name, group in groupby(blocks, kind))


def _with_names(sentence: str, names: Sequence[str]) -> Markup:
    """A sentence in which the names of models do not wrap. A name inside a word, such as the A of CoRA, is not one."""
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    name = rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?!\w)"
    parts = re.split(name, sentence) if longest_first else [sentence]
    marked = [Markup('<bdi class="model">{}</bdi>').format(part) if part in names else escape(part) for part in parts]
    return Markup("").join(marked)


def _data_value(cell: int | Number) -> str:
    """The sort key of a cell; empty if the value is undefined."""
    value = cell.value if isinstance(cell, Number) else cell
    return "" if isnan(value) else repr(value)
