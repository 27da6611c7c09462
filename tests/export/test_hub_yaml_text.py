from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.export.hub import as_yaml
from lm_eval_cora.questions.question import printable
from tests.support.exported import HOSTILE

TRICKY = ["08", "1e3", "0o7", "on", "null", "2026-11-24", "- a: b", "a: b # c", "&x", "*x", "!!python/none", "", "%"]


def test_texts_come_back() -> None:
    value = [{"texts": [*TRICKY, *HOSTILE], "number": 0.5, "nested": {"text": "on"}}]
    assert yaml.safe_load(as_yaml(value)) == value


def test_texts_that_yaml_versions_read_differently_are_quoted() -> None:
    assert as_yaml({"id": "08", "value": 1e-9}) == 'id: "08"\nvalue: 1.0e-09\n'


@given(st.text(max_size=20))
def test_any_text_printable_is_one_line_of_yaml(text: str) -> None:
    line = printable(text)
    written = as_yaml({"a": line})
    assert written.count("\n") == 1
    assert written.encode()
    assert yaml.safe_load(written) == {"a": line}
    assert printable(line) == line
