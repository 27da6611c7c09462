"""Lines of any length are read in bounded memory, and hostile JSON is refused in one line."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.cli import main
from lm_eval_cora.questions import lines
from lm_eval_cora.questions.lines import LONGEST, bounded_lines, is_deep, whole_number

ROW = {"question_id": "q", "variant": 0, "correct": True, "original": True}


@given(st.lists(st.binary(max_size=8).filter(lambda line: b"\n" not in line)), st.integers(1, 9), st.integers(0, 40))
def test_lines_are_those_of_the_file_or_too_long(parts: list[bytes], longest: int, end: int) -> None:
    data = b"\n".join(parts)
    expected, offset = [], 0
    for line in io.BytesIO(data):
        if offset < end:
            expected.append((offset, len(line), line if len(line) <= longest else None))
        offset += len(line)
    assert list(bounded_lines(io.BytesIO(data), end, longest)) == expected


def test_depth_is_measured_without_recursion() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert is_deep(value)
    assert not is_deep({"a": [{"b": [1]}] * 1_000}, deepest=4)
    assert is_deep({"a": [{"b": [1]}] * 1_000}, deepest=3)


def test_long_numbers() -> None:
    assert whole_number("9" * 300) == 10**300 - 1
    with pytest.raises(ValueError, match="a number has 301 digits, expected at most 300"):
        whole_number("9" * 301)


@pytest.mark.parametrize("cell", ["1" * 4_000, "1" * 400_000, "[" * 900, "[" * 5_000 + "]" * 5_000, "{'a':" * 3_000])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_hostile_cells_are_one_line(cell: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"answers{suffix}"
    separator = "," if suffix == ".csv" else "\t"
    for header in ("correct", "original"):
        names = ["question_id", "variant", "correct", "original"]
        row = ["q", "0", "1", "1"]
        row[names.index(header)] = cell
        path.write_text(separator.join(names) + "\n" + separator.join(row) + "\n")
        assert main(["score", str(path)]) == 1
        error = capsys.readouterr().err.removesuffix("\n")
        assert error.startswith("lm-eval-cora score: ")
        assert "\n" not in error
        assert len(error) < 500


def test_memory_for_a_long_line_is_bounded(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "lines"
    with path.open("wb") as file:
        for _ in range(20):
            file.write(b"x" * LONGEST)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with path.open("rb") as file:
        assert [line for _, _, line in bounded_lines(file, sys.maxsize)] == [None]
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert taken < 3 * lines.LONGEST / 1e6
