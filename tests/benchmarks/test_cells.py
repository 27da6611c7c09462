from __future__ import annotations

import pytest

from lm_eval_cora.benchmarks.cells import option_index, option_list
from lm_eval_cora.question import UnusableQuestion


@pytest.mark.parametrize(("answer", "expected"), [(0, 0), (3, 3), ("0", 0), ("3", 3), ("A", 0), ("D", 3)])
def test_an_index_or_a_letter(answer: object, expected: int) -> None:
    assert option_index(answer, "answer", 4) == expected


@pytest.mark.parametrize("answer", [4, -1, "4", "E", "a", "", None, True, 1.5, [1], "AB"])
def test_what_names_no_option(answer: object) -> None:
    with pytest.raises(UnusableQuestion, match=r"cop .* from 0 to 3 .* 4 options"):
        option_index(answer, "cop", 4)


def test_a_list_of_options_stays_text() -> None:
    assert option_list('["None", "N/A", "1", ""]') == ["None", "N/A", "1", ""]
    assert option_list(["nan", "null", "true"]) == ["nan", "null", "true"]


@pytest.mark.parametrize("cell", [None, "Ice, Fog", 3, {"A": "Ice"}])
def test_what_is_no_list(cell: object) -> None:
    with pytest.raises(UnusableQuestion, match="options that are no list"):
        option_list(cell)
