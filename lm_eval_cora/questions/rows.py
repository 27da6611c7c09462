"""Read the rows of a json, jsonl, csv, tsv or parquet file, of a pandas DataFrame, or of a `datasets.Dataset`."""

import codecs
import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import islice
from pathlib import Path
from sys import intern
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.cells import LABEL_NAMES, TEXT_NAMES, without_repeats
from lm_eval_cora.questions.messages import described, did_you_mean
from lm_eval_cora.questions.question import LocatedRow, shorten

COMPRESSED = rb"\x1f\x8b|PK\x03|BZh|\xfd7z|\x28\xb5\x2f\xfd"  # how such files begin
_READ: set[str] = set()  # the files that this process has read as inputs
AT_ONCE = 500  # rows; of more, the garbage collector would look through each several times
_HEADER = re.compile(r'(?:"[^"]*"|[^"\r\n]+)*')  # a quoted name may contain line breaks


def reading(path: Path) -> Path:
    """Record a file that is read as an input."""
    _READ.add(os.path.realpath(path))
    return path


def check_no_input(path: Path) -> None:
    """Raise a UserError if a file is an input, also through a symbolic link. Writing leaves other hard links alone."""
    if os.path.realpath(path) in _READ:
        raise UserError(f"{path}: this file was read as an input, and is not replaced. Name another output")


def read_rows(source: Any) -> Iterator[LocatedRow]:
    """Read a file or a table row by row. Text files are encoded as UTF-8, or as UTF-16 with a byte order mark."""
    if not isinstance(source, (str, os.PathLike)):
        yield from _table(source)
        return
    try:
        path = Path(source).expanduser()
        read = _READERS.get(path.suffix.lower())
        if read and path.is_file():
            yield from read(reading(path))
            return
        problem = f"there is no file {path} (working directory: {Path.cwd()})"
        if not read:
            problem = (
                f"{path} ends in {path.suffix!r}, expected {', '.join(_READERS)}. Save a spreadsheet as .csv, unpack "
                "an archive, and name a text file after its format"
            )
        others = path.parent.glob("*")
        meant = did_you_mean(path.name, (other.name for other in others if other.suffix.lower() in _READERS))
        raise UserError(f"data_files: {problem}{meant and '.'}{meant}")
    except (OSError, RuntimeError) as error:  # RuntimeError: the home folder of an unknown user
        raise UserError(f"data_files: cannot read {source}: {error}. Check the path and its permissions.") from error


def source_name(source: Any) -> str:
    """Name a source: a file by its name without the suffix, a table by its kind."""
    return Path(source).stem if isinstance(source, (str, os.PathLike)) else type(source).__name__


def _text(path: Path) -> str:
    data = path.read_bytes()
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not data.startswith(codecs.BOM_UTF32_LE)
    encoding = "utf-16" if is_utf_16 else "utf-8"
    try:
        text = data.decode(encoding)
        if "\0" not in text:
            return text.removeprefix("\ufeff")
        start = len(text.partition("\0")[0].encode(encoding))
    except UnicodeDecodeError as error:
        start = error.start
    line = data[:start].decode(encoding, "replace").count("\n") + 1
    remedy = "It is compressed: unpack it." if re.match(COMPRESSED, data) else "Save the file as UTF-8."
    raise UserError(
        f"data_files: {path}: expected {encoding.upper()} text, got the byte 0x{data[start]:02x} at position {start} "
        f"(line {line}). {remedy}"
    )


def _parse(text: str, name: str, number: int | None = None) -> Any:
    """Parse the JSON text of a file, or of the line with this number."""
    try:
        return json.loads(text, object_pairs_hook=without_repeats)
    except json.JSONDecodeError as error:
        number = (number or 1) + error.lineno - 1
        problem = f"{error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:  # a repeated key, thousands of digits or of brackets
        problem = "brackets nested too deeply" if isinstance(error, RecursionError) else str(error)
    where = f"{name} line {number}" if number else name
    raise UserError(f"data_files: {where} is not valid JSON: {problem}. Correct the line.") from None


def _row(where: str, value: Any) -> LocatedRow:
    if not isinstance(value, dict):
        raise UserError(
            f"""data_files: {where}: expected a JSON object such as {{"question": "..."}}, got """
            f"{type(value).__name__}. Write one object per row."
        )
    return where, value


def _json(path: Path) -> Iterator[LocatedRow]:
    """Read all objects of a list, or one object per line."""
    text, items = io.StringIO(_text(path), newline=None).read(), None  # every line ends in the same way
    with suppress(UserError):
        items = _items(_parse(text, path.name))
    lines = r"\s*\{.*\}[ \t]*$" if path.suffix.lower() == ".json" else r"\s*\{"
    if items is None and re.match(lines, text, re.MULTILINE):
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield _row(f"{path.name} line {number}", _parse(line.rstrip(), path.name, number))
        return
    if items is None and text.strip():
        value = _parse(text, path.name)
        _row(path.name, value)
        raise UserError(
            f"data_files: {path.name}: expected a list of objects, or an object with one such list, got an object with "
            f'the keys {shorten(", ".join(value))}. pandas writes a list with to_json(..., orient="records").'
        )
    for number, item in enumerate(items or ()):
        yield _row(f"{path.name} item {number}", item)


def _items(value: Any) -> list[Any] | None:
    """The rows in a JSON value: a list, or the only list in an object, if it contains objects other than options."""
    if not isinstance(value, dict):
        return value if isinstance(value, list) else None
    lists = [part for part in value.values() if isinstance(part, list)]
    if len(lists) != 1 or not lists[0]:
        return lists[0] if lists and len(value) == 1 else None
    row = lists[0][0]
    return lists[0] if isinstance(row, dict) and not row.keys() <= {*TEXT_NAMES, *LABEL_NAMES} else None


def _cells(path: Path) -> Any:
    """A reader of the cells of a csv file, with the number of the line."""
    text = _text(path)
    csv.field_size_limit(2**31 - 1)  # a passage may be longer than the 131,072 characters of the default
    if named := re.match(r"sep=([^\r\n])(?=[\r\n])", text):  # a first line for Excel
        text = text[named.end() :]  # with the end of this line, so that the numbers of the lines stay
    separator = named[1] if named else _separator(path, text)
    lines = io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8", newline="")  # a fourth of the memory of StringIO
    return csv.reader(lines, delimiter=separator, strict=True)


def _csv(path: Path) -> Iterator[LocatedRow]:
    reader = _cells(path)
    name, header = path.name, list[str]()
    where = f"{name} line 1"
    try:
        for cells in reader:
            if not header:
                header = [name.strip() for name in cells]
                first = 1 if header[:1] in ([""], ["Unnamed: 0"]) else 0  # the index that pandas writes
                _check_names(header[first:], where)
            elif cells and len(cells) != len(header):
                raise UserError(
                    f"data_files: {where} has more or fewer cells than the header: expected {len(header)}, got "
                    f"{len(cells)}. Put quotes around cells that contain the separator or line breaks."
                )
            elif cells:  # else an empty line
                yield where, dict(zip(header[first:], cells[first:], strict=True))
            where = f"{name} line {reader.line_num + 1}"  # where the next row begins
    except csv.Error as error:
        raise UserError(
            f"data_files: cannot read {where}: {error}. Write each quote inside a quoted cell twice, and close each "
            "quoted cell."
        ) from None


def _separator(path: Path, text: str) -> str:
    """Choose the usual separator for the suffix, unless the header line contains only a different one."""
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    header = re.match(_HEADER, text.lstrip("\r\n"))
    unquoted = re.sub(r'"[^"]*"', "", header[0] if header else "")
    present = [separator for separator in ",\t;|" if separator in unquoted]
    return present[0] if len(present) == 1 else usual


def _check_names(names: Sequence[str], where: str) -> None:
    shown = {name: repr(shorten(name, 80)) for name in names}
    if wrong := [shown[name] for name, count in Counter(names).items() if count > 1 or not name]:
        raise UserError(
            f"data_files: {where}: expected a different name for each column, got {', '.join(wrong)} repeated or "
            f"empty, in {', '.join(map(shown.__getitem__, names))}. If a csv file has no header, add a first line with "
            "the names of its columns. Otherwise rename or remove these columns."
        )


def _parquet(path: Path) -> Iterator[LocatedRow]:
    import pyarrow  # a dependency of datasets; slow to import, and only needed here
    import pyarrow.parquet

    with _readable(path):
        _check_names(pyarrow.parquet.read_schema(path).names, path.name)
        rows = pyarrow.parquet.read_table(path).to_pylist()
    for number, row in enumerate(rows):
        yield f"{path.name} row {number}", _plain(row)


_READERS: dict[str, Callable[[Path], Iterator[LocatedRow]]] = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _json),
    **dict.fromkeys((".csv", ".tsv"), _csv),
    ".parquet": _parquet,
}


def _table(source: Any) -> Iterator[LocatedRow]:
    """Read the rows of an object in memory."""
    is_dataset = hasattr(source, "with_format")
    if is_dataset and isinstance(source, dict):
        if len(source) != 1:
            raise UserError(
                "data_files: expected a DatasetDict with one split, got the splits "
                f"{', '.join(map(repr, source))}. Pass one of them: dataset['test']."
            )
        (source,) = source.values()
    with _readable(f"the rows of the {source_name(source)}"):
        if is_dataset:
            rows = source.with_format(None)
        elif is_frame(source):
            columns = columns_of(source)
            rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        elif isinstance(source, (list, tuple)) and all(isinstance(row, Mapping) for row in source):
            rows = source
        else:
            raise UserError(
                "data_files: expected the path of a file, a pandas DataFrame, a datasets.Dataset or a list of dicts, "
                f"got {type(source).__name__}."
            )
        for number, row in enumerate(rows):
            yield f"row {number}", {str(name): _plain(value) for name, value in row.items()}


@contextmanager
def _readable(what: object) -> Iterator[None]:
    """Turn an error of another library into one of the user."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # many types, for example for an unknown time zone, a broken image or deep nesting
        raise UserError(
            f"data_files: cannot read {what}: {described(error)}. Keep only columns of texts, numbers and lists."
        ) from error


def is_frame(source: Any) -> bool:
    """Whether a source is a pandas DataFrame, without an import of pandas."""
    return hasattr(source, "iloc") and hasattr(source, "columns")


def read_columns(source: Any) -> tuple[dict[str, list[Any]], Callable[[int], str]] | None:
    """The columns of a DataFrame, or of a csv file with a row in each line, and the name of the place of a row.

    They take less time and memory than rows. None for another source, and for a file that may have an error.
    """
    if is_frame(source):
        return columns_of(source), "row {}".format
    path = Path(source) if isinstance(source, (str, os.PathLike)) else Path()
    if path.suffix.lower() not in (".csv", ".tsv"):
        return None
    with suppress(ValueError, OSError, csv.Error):  # `read_rows` says what is wrong
        reader = _cells(reading(path))
        names = [name.strip() for name in next(reader, [])]
        columns: list[list[str]] = [[] for _ in names]
        while some := [*islice(reader, AT_ONCE)]:
            for column, cells in zip(columns, zip(*some, strict=True), strict=True):
                column += map(intern, cells)
        is_plain = len(set(names)) == len(names) and all(names) and names[:1] not in ([], ["Unnamed: 0"])
        if is_plain and reader.line_num == len(columns[0]) + 1:
            return dict(zip(names, columns, strict=True)), lambda row: f"{path.name} line {row + 2}"
    return None


def columns_of(frame: Any) -> dict[str, list[Any]]:
    """The columns of a pandas DataFrame, with plain Python values."""
    names = [str(name) for name in frame.columns]
    _check_names(names, "the DataFrame")
    with _readable("the rows of the DataFrame"):
        return {name: _plain_column(frame.iloc[:, place].tolist()) for place, name in enumerate(names)}


def _plain_column(values: list[Any]) -> list[Any]:
    return values if set(map(type, values)) <= {str, int, bool} else list(map(_plain, values))


def _plain(value: Any) -> Any:
    """Turn numpy values, decimals and maps (lists of pairs) into plain Python values, and missing values into None."""
    if type(value) in (str, int, bool) or (type(value) is list and set(map(type, value)) == {str}):  # most values
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    is_nan = isinstance(value, float) and value != value
    if is_nan or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if not isinstance(value, list | tuple):
        return value
    # pyarrow represents a map as a list of pairs.
    entries = [part for part in value if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str | int)]
    are_pairs = len(entries) == len(dict(entries)) == len(value) > 0
    if are_pairs and isinstance(value, list):
        return {str(key): _plain(part) for key, part in entries}
    return [_plain(part) for part in value]
