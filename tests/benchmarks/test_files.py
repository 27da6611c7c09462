from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from lm_eval_cora.benchmarks import BenchmarkError
from lm_eval_cora.benchmarks.files import read_rows

ROWS = [{"question": "2 + 2?", "answer": "B"}, {"question": 'He said: "שלום"\nWhy?', "answer": "A"}]


def write(path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text(
            '{"question": "2 + 2?", "answer": "B"}\n\n{"question": "He said: \\"שלום\\"\\nWhy?", "answer": "A"}\n'
        )
    elif path.suffix == ".csv":
        path.write_text('\ufeffquestion,answer\n2 + 2?,B\n"He said: ""שלום""\nWhy?",A\n', encoding="utf-8")
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("my.jsonl", ["my.jsonl line 1", "my.jsonl line 3"]),
        ("my.csv", ["my.csv line 2", "my.csv line 4"]),
        ("my.parquet", ["my.parquet row 0", "my.parquet row 1"]),
    ],
)
def test_rows_and_where_they_stand(name: str, places: list[str], tmp_path: Path) -> None:
    assert list(read_rows(write(tmp_path / name))) == list(zip(places, ROWS, strict=True))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("my.jsonl", b'{"a": 1}\n{"a": \n', "my.jsonl line 2 is no JSON"),
        ("my.jsonl", b"[" * 100_000, "my.jsonl line 1 is no JSON"),
        ("my.jsonl", b"[1]\n", "my.jsonl line 1 is no JSON object"),
        ("my.jsonl", b'{"a": "\xff"}\n', "cannot read"),
        ("my.csv", b"a,b\n1\n", "my.csv line 2 has more or fewer cells than the header"),
        ("my.csv", b"a,b\n1,2,3\n", "my.csv line 2 has more or fewer cells than the header"),
        ("my.parquet", b"PAR1", "cannot read"),
        ("my.txt", b"", "ends in '.txt', expected .jsonl, .csv, .parquet"),
    ],
)
def test_broken_files(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BenchmarkError) as error:
        list(read_rows(tmp_path / name))
    assert message in str(error.value)


def test_no_file() -> None:
    with pytest.raises(BenchmarkError, match=r"nowhere\.jsonl .*\(.* "):
        list(read_rows(Path("nowhere.jsonl")))


def test_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "my.jsonl")
    assert len(list(read_rows("~/my.jsonl"))) == 2
    with pytest.raises(BenchmarkError, match=r"data_files: ~nobody-of-this-name/my\.jsonl: "):
        list(read_rows("~nobody-of-this-name/my.jsonl"))


def test_a_long_passage_in_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_text("question\n" + "x" * 200_000 + "\n")
    assert len(next(read_rows(tmp_path / "my.csv"))[1]["question"]) == 200_000
