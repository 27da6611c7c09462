"""Lines of any length are read in bounded memory, and hostile JSON is refused in one line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.cli import main
from lm_eval_cora.questions import lines
from lm_eval_cora.questions import rows as files
from lm_eval_cora.questions.lines import LONGEST, bounded_lines, is_deep, too_long, whole_number

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


def test_the_first_line_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\n" + b"x" * 10 + b"\ntwo\n" + b"x" * 20)
    assert [too_long(path, longest) for longest in (100, 20, 11, 10, 3)] == [None, None, 4, 2, 1]


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


def hostile(name: str) -> str:
    return {
        "digits": json.dumps(ROW).replace("true", "1" * 4_000),
        "digits of the variant": json.dumps(ROW).replace('"variant": 0', f'"variant": {"1" * 4_000}'),
        "more digits": json.dumps(ROW).replace("true", "1" * 400_000),
        "depth": json.dumps(ROW).replace("true", "[" * 200 + "]" * 200),
        "more depth": json.dumps(ROW).replace("true", "[" * 900 + "]" * 900),
        "most depth": json.dumps(ROW).replace("true", "[" * 100_000 + "]" * 100_000),
        "long line": json.dumps({**ROW, "text": "x" * LONGEST}),
    }[name]


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".ndjson"])
@pytest.mark.parametrize(
    "name", ["digits", "digits of the variant", "more digits", "depth", "more depth", "most depth", "long line"]
)
def test_hostile_json_is_one_line(
    name: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST", LONGEST)  # a json file of this size takes too long for a test
    path = tmp_path / f"answers{suffix}"
    path.write_text(json.dumps(ROW) + "\n" + hostile(name) + "\n")
    assert main(["score", str(path)]) == 1
    error = capsys.readouterr().err.removesuffix("\n").split("\n")[-1]
    assert error.startswith(f"lm-eval-cora score: {path.name} line 2 is ")
    assert len(error) < 200


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


def test_a_long_line_of_a_csv_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("question_id,variant,correct\nq,0,1\nq,1," + "x" * LONGEST + "\n")
    assert main(["score", str(path)]) == 1
    assert capsys.readouterr().err.startswith("lm-eval-cora score: answers.csv line 3 is longer than 16 MB. ")


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
