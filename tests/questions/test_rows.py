import codecs
import gzip
from decimal import Decimal
from pathlib import Path
from unittest.mock import Mock

import datasets
import numpy
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.rows import read_rows
from tests.support.messages import tells

ROWS = [{"question": "2 + 2?", "answer": "B"}, {"question": 'He said: "שלום"\nWhy?', "answer": "A"}]
LINES = '{"question": "2 + 2?", "answer": "B"}\n\n{"question": "He said: \\"שלום\\"\\nWhy?", "answer": "A"}\n'
LIST = '[\n  {"question": "2 + 2?", "answer": "B"},\n  {"question": "He said: \\"שלום\\"\\nWhy?", "answer": "A"}\n]\n'
CSV = 'question,answer\n2 + 2?,B\n\n"He said: ""שלום""\nWhy?",A\n'
CONTENTS = {".jsonl": LINES, ".ndjson": LINES, ".json": LIST, ".csv": CSV, ".tsv": CSV.replace(",", "\t")}
PLACES = {".json": ("item 0", "item 1"), ".csv": ("line 2", "line 4"), ".tsv": ("line 2", "line 4")}


def rows_of(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [row for _, row in read_rows(path)]


def error_of(source):
    with pytest.raises(UserError) as error:
        list(read_rows(source))
    assert str(error.value).startswith("data_files: ")
    return str(error.value)


@pytest.mark.parametrize("suffix", CONTENTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_rows_and_where_they_stand(suffix, encoding, line_end, tmp_path):
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    path = tmp_path / f"my{suffix}"
    path.write_bytes(mark + CONTENTS[suffix].replace("\n", line_end).encode(encoding))
    rows = [{**row, "question": row["question"].replace("\n", line_end)} for row in ROWS] if "sv" in suffix else ROWS
    places = [f"my{suffix} {place}" for place in PLACES.get(suffix, ("line 1", "line 3"))]
    assert list(read_rows(path)) == list(zip(places, rows, strict=True))


@pytest.mark.parametrize("suffix", CONTENTS)
def test_a_file_without_rows(suffix, tmp_path):
    header = {".csv": "a,b\n", ".tsv": "a\tb"}.get(suffix, '{"data": []}')
    for content in ("", "\ufeff", "\n\n", "\r\n", header):
        assert rows_of(tmp_path / f"my{suffix}", content) == []


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("my.jsonl", '{"a":' * 100_000, ["my.jsonl line 1", "JSON", "deep"]),
        ("my.jsonl", '{"a": ' + "1" * 5_000 + "}", ["my.jsonl line 1", "JSON", "5000 digits"]),
        ("my.jsonl", "3\n", ["my.jsonl", "expected a JSON object", "got int"]),
        ("my.jsonl", '{"a": 1}\n[1]\n', ["my.jsonl line 2", "expected a JSON object", "got list"]),
        ("my.jsonl", '{"a": 1\n{"a": 2}', ["my.jsonl line 1", "JSON", "column 8"]),
        ("my.jsonl", '{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n', ["my.jsonl line 2", "'a' occurs twice"]),
        ("my.json", "3", ["my.json", "expected a JSON object", "got int"]),
        ("my.json", '{\n"a": 1,\n"b": {}}', ["my.json", "list of objects", "keys a, b", "records"]),
        ("my.json", '[{"a": 1},\n {"a": 1,}]', ["my.json line 2", "JSON"]),
        ("my.json", "[" * 100_000, ["my.json", "JSON", "deep"]),
        ("my.csv", "a,b\n1\n", ["my.csv line 2", "header", "expected 2", "got 1"]),
        ("my.csv", "a,b\n1,2\n\n1,2,3\n", ["my.csv line 4", "header", "expected 2", "got 3"]),
        ("my.csv", "a,b,a ,c,b\n", ["my.csv line 1", "'a', 'b'", "'a', 'b', 'a', 'c', 'b'"]),
        ("my.csv", "a,,c\n", ["my.csv line 1", "''", "'a', '', 'c'"]),
        ("my.csv", 'a,b\n1,"2\n3,4\n', ["my.csv line 2", "quote"]),
        ("my.tsv", "x" * 999 + "\ta\ta\n", ["my.tsv line 1", "'a'", "x" * 79 + "…'", "no header"]),
        ("my.parquet", "PAR1", ["cannot read", "my.parquet"]),
        ("my.txt", "", ["my.txt", "'.txt'", "expected .jsonl, .ndjson, .json, .csv, .tsv, .parquet", "unpack"]),
    ],
    ids=lambda part: repr(part)[:40],
)
def test_broken_files(name, content, parts, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert tells(error_of(tmp_path / name), *parts)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b'{"a": "\xe9"}\n', ["UTF-8", "0xe9", "position 7", "line 1"]),
        (b"\xef\xbb\xbfa,b\nIce,\n\xff", ["UTF-8", "0xff", "position 12", "line 3"]),
        ("a,b\nIce,é".encode("cp1252"), ["UTF-8", "0xe9", "position 8", "line 2"]),
        ("a,b".encode("utf-16-le"), ["UTF-8", "0x00", "position 1", "line 1"]),
        ("a,b".encode("utf-32"), ["UTF-8", "0xff", "position 0", "line 1"]),
        ("a,b\n".encode("utf-16") + b"x", ["UTF-16", "0x78", "position 10", "line 2"]),
        ("a,b\n\0".encode("utf-16"), ["UTF-16", "0x00", "position 10", "line 2"]),
        (b'{"a": 1}\n{"a": "\0"}', ["UTF-8", "0x00", "position 16", "line 2"]),
    ],
    ids=lambda part: repr(part)[:40],
)
def test_other_encodings(suffix, content, parts, tmp_path):
    path = tmp_path / f"my{suffix}"
    path.write_bytes(content)
    assert tells(error_of(path), str(path), *parts, "Save the file as UTF-8")
    path.write_bytes(gzip.compress(content))
    assert tells(error_of(path), str(path), "0x8b at position 1", "It is compressed: unpack it")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, '{"data": [{"a": 1}, {"a": 2}]}\n') for name in ("my.json", "my.jsonl")),
        *(("my.json", '{"version": 1,\n"data": [{"a": 1}, {"a": 2}]}'), ("my.jsonl", '[{"a": 1}, {"a": 2}]')),
    ],
)
def test_the_only_list_contains_the_rows(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    assert list(read_rows(tmp_path / name)) == [(f"{name} item 0", {"a": 1}), (f"{name} item 1", {"a": 2})]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"a": 1, "b": 2}\n\n{"a": 3, "b": 4}\n', [("line 1", {"a": 1, "b": 2}), ("line 3", {"a": 3, "b": 4})]),
        ('\n{"a": 1, "b": "x\u2028y"}', [("line 2", {"a": 1, "b": "x\u2028y"})]),
        ('{"a": 1, "b": [{"key": "A", "value": "Ice"}]}', [("line 1", {"a": 1, "b": [{"key": "A", "value": "Ice"}]})]),
        ('{"a": 1}\r{"a": 2}\r', [("line 1", {"a": 1}), ("line 2", {"a": 2})]),
    ],
)
def test_json_lines_in_a_json_file(content, expected, tmp_path):
    (tmp_path / "my.json").write_bytes(content.encode())
    assert list(read_rows(tmp_path / "my.json")) == [(f"my.json {place}", row) for place, row in expected]


def test_a_first_line_for_excel_names_the_separator(tmp_path):
    (tmp_path / "my.csv").write_bytes(b'sep=;\r\na;b\r\n"1;,";2')
    assert list(read_rows(tmp_path / "my.csv")) == [("my.csv line 3", {"a": "1;,", "b": "2"})]


@pytest.mark.parametrize(
    ("name", "header", "expected", "separator"),
    [
        ("my.csv", "a,b", ["a", "b"], ","),
        ("my.csv", ' a , "b"', ["a", '"b"'], ","),
        *(("my.csv", header, ["a", "b"], "\t") for header in ("a\tb", "\ta\tb")),
        ("my.csv", "a;b", ["a", "b"], ";"),
        *(("my.csv", header, [header.strip('"')], ",") for header in ("a;b\tc", "a", '"a;b"')),
        ("my.csv", '"a\t""b""\n",c', ['a\t"b"', "c"], ","),
        ("my.csv", 'a;"b,c\n"', ["a", "b,c"], ";"),
        ("my.tsv", "a,b", ["a", "b"], ","),
        ("MY.TSV", "a;b", ["a", "b"], ";"),
    ],
)
def test_the_header_line_decides_on_the_separator(name, header, expected, separator, tmp_path):
    cells = ["x", *expected] if header.startswith("\t") else expected
    (row,) = rows_of(
        tmp_path / name, f"\n{header}\n" + separator.join(f'"{number};,"' for number, _ in enumerate(cells))
    )
    assert list(row) == expected


def test_what_pandas_writes(tmp_path):
    for index in ("", "Unnamed: 0", '""', " "):  # is left out
        rows = rows_of(tmp_path / "my.csv", f"{index},a,b\n0,x,y\n1,,\n")
        assert rows == [{"a": "x", "b": "y"}, {"a": "", "b": ""}]
    frame = pandas.DataFrame({"a": ["x" * 200_000, 'y, "z"\n'], "b": ["1", "2"]})
    rows = frame.to_dict(orient="records")
    frame.to_csv(tmp_path / "my.csv")
    frame.to_csv(tmp_path / "my.tsv", sep="\t", encoding="utf-16")
    frame.to_json(tmp_path / "my.json", orient="records")
    frame.to_json(tmp_path / "my.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "my.parquet")
    for path in tmp_path.iterdir():
        assert [row for _, row in read_rows(path)] == rows
    frame.to_json(tmp_path / "my.json", orient="split", indent=1)
    assert tells(error_of(tmp_path / "my.json"), "my.json", "records")


def test_a_parquet_file(tmp_path):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "MY.PARQUET")
    assert list(read_rows(tmp_path / "MY.PARQUET")) == [("MY.PARQUET row 0", ROWS[0]), ("MY.PARQUET row 1", ROWS[1])]
    columns = {
        "whole": pyarrow.array([Decimal(1)]),
        "part": pyarrow.array([Decimal("2.50")]),
        "map": pyarrow.array([[("A", "Ice"), ("B", "Fog")]], pyarrow.map_(pyarrow.string(), pyarrow.string())),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "my.parquet")
    ((_, row),) = read_rows(tmp_path / "my.parquet")
    assert repr(row) == repr({"whole": 1, "part": 2.5, "map": {"A": "Ice", "B": "Fog"}})
    twice = pyarrow.Table.from_arrays([pyarrow.array(["x"]), pyarrow.array(["y"])], ["a", "a"])
    pyarrow.parquet.write_table(twice, tmp_path / "my.parquet")
    assert tells(error_of(tmp_path / "my.parquet"), "my.parquet", "'a'")


def test_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("question.jsonl", "nowhere/question.jsonl", "question.jsonl\0", f"{'x' * 300}.jsonl"):
        message = error_of(name)
        assert tells(message, name)
        assert not tells(message, "Did you mean")
    assert tells(error_of("question.jsonl"), "no file question.jsonl", str(tmp_path))
    Path("folder.jsonl").mkdir()
    assert tells(error_of("folder.jsonl"), "no file folder.jsonl")
    for other in ("questions.jsonl", "questions.jsonl.bak", "zebras.csv"):
        (tmp_path / other).touch()
    for name in ("question.jsonl", "questions.json", "questions.jsnl", "quetsions.csv"):
        assert tells(error_of(tmp_path / name), name, "Did you mean 'questions.jsonl'?")


def test_the_home_folder_and_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(rows_of(tmp_path / "my.jsonl", LINES)) == len(list(read_rows("~/my.jsonl"))) == 2
    assert tells(error_of("~nobody-of-this-name/my.jsonl"), "~nobody-of-this-name/my.jsonl", "home")
    refusal = PermissionError(13, "Permission denied", "my.jsonl")
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=refusal))
    assert tells(error_of("~/my.jsonl"), "cannot read", "my.jsonl", "Permission denied", "permissions")


@given(content=st.binary() | st.text(alphabet='[]{}",:;\t\n\ra0 ').map(str.encode))
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".parquet"])
def test_any_content_gives_rows_or_an_error(suffix, content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(content)
    try:
        assert all(isinstance(row, dict) for _, row in read_rows(path))
    except UserError as error:
        assert tells(str(error), "data_files: ", path.name)  # noqa: PT017


@given(rows=st.lists(st.lists(st.text().filter(lambda text: "\0" not in text), min_size=2, max_size=2)))
def test_any_texts_survive_in_a_csv_file(rows, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "texts.csv"
    lines = [["a", "b"], *rows]
    quoted = "".join(",".join('"' + cell.replace('"', '""') + '"' for cell in line) + "\r\n" for line in lines)
    path.write_bytes(quoted.encode("utf-8"))
    assert [list(row.values()) for _, row in read_rows(path)] == rows


FRAME = pandas.DataFrame(
    {
        "question": ["Ice?", pandas.NA],
        "number": numpy.array([1, 2], dtype="int32"),
        "score": [0.5, float("nan")],
        "when": [pandas.NaT, pandas.NaT],
        "choices": [numpy.array(["Ice", None], dtype=object), {"text": numpy.array([1.0, float("nan")])}],
        7: [None, (numpy.str_("Ice"), numpy.float32("nan"), [numpy.bool_(True)])],
    }
)
IN_FRAME = [
    {"question": "Ice?", "number": 1, "score": 0.5, "when": None, "choices": ["Ice", None], "7": None},
    {"question": None, "number": 2, "score": None, "when": None, "choices": {"text": [1.0, None]}}
    | {"7": ["Ice", None, [True]]},
]


def test_a_data_frame():
    rows = read_rows(FRAME.set_index(pandas.Index(["x", "x"])))
    # Numpy scalars are equal to Python's, but print differently.
    assert repr(list(rows)) == repr([("row 0", IN_FRAME[0]), ("row 1", IN_FRAME[1])])


@pytest.mark.parametrize("output", [None, "numpy", "pandas"])
@pytest.mark.parametrize("wrap", [lambda data: data, lambda data: datasets.DatasetDict(test=data)])
def test_a_dataset(output, wrap):
    row = {"question": "Ice?", "choices": ["Ice", "Fog"], "answer": 1, "score": float("nan")}
    located = read_rows(wrap(datasets.Dataset.from_list([row]).with_format(output)))
    assert repr(list(located)) == repr([("row 0", {**row, "score": None})])
    assert list(read_rows(datasets.Dataset.from_dict({"a": []}))) == []


ENDLESS = []
ENDLESS.append(ENDLESS)
DATASET = datasets.Dataset.from_list([{"a": 1}])


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        (None, ["path", "DataFrame", "Dataset", "NoneType"]),
        (["Ice?"], ["path", "DataFrame", "Dataset", "list of dicts", "got list"]),
        (b"my.jsonl", ["path", "bytes"]),
        (pandas.Series(["Ice?"]), ["DataFrame", "Series"]),
        (pandas.DataFrame([[1, 2]], columns=["a", "a"]), ["DataFrame", "'a'"]),
        (pandas.DataFrame({"a": [ENDLESS]}), ["DataFrame", "RecursionError"]),
        (datasets.DatasetDict(), ["one split"]),
        (datasets.DatasetDict(train=DATASET, test=DATASET), ["one split", "'train', 'test'"]),
    ],
    ids=lambda part: type(part).__name__,
)
def test_other_objects(source, parts):
    assert tells(error_of(source), *parts)
