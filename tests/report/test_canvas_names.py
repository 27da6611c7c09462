from __future__ import annotations

import pytest

from lm_eval_cora.questions.question import printable
from lm_eval_cora.report.canvas import columns, wrapped


@pytest.mark.parametrize("text", ["a-long-name/of a_model", "日本語のモデル" * 5, "x" * 100, "_hidden", "", "a\u202eb"])
@pytest.mark.parametrize("width", [8, 18, 42])
def test_lines_fit_and_nothing_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width).split("\n")
    assert max(map(columns, lines)) <= max(16, width)
    assert "".join("".join(lines).split()) == "".join((printable(text) or "-").split())


@pytest.mark.parametrize("text", ["a-long-name/of a_model", "日本語のモデル" * 50, "x" * 100_000])
def test_the_number_of_lines_can_be_limited(text: str) -> None:
    lines = wrapped(text, 8, 2).split("\n")
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert len(lines[1]) <= 8
    assert printable(text).startswith(lines[0])


def test_a_name_that_fits_has_no_ellipsis() -> None:
    assert wrapped("small-7b", 8, 1) == "small-7b"
    assert wrapped("small-7b-chat", 8, 2) == "small-\n7b-chat"
