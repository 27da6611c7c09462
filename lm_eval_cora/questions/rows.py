"""Read the rows of a json, jsonl, csv, tsv or parquet file, of a pandas DataFrame, or of a `datasets.Dataset`."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import LocatedRow
from lm_eval_cora.questions.cells import LABEL_NAMES, TEXT_NAMES
from lm_eval_cora.questions.lines import LARGEST, LONGEST, is_deep, too_long, whole_number
from lm_eval_cora.questions.messages import described, did_you_mean
from lm_eval_cora.questions.question import shorten

_EXAMPLE = '{"question": "..."}'

_SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}

_HEADER = re.compile(r'(?:"[^"]*"|[^"\r\n]+)*')
"""The header line. A quoted name may contain line breaks."""


def read_rows(source: Any) -> Iterator[LocatedRow]:
    """Read a file or a table row by row.

    Text files are encoded as UTF-8, or as UTF-16 with a byte order mark. A .json file contains a list of objects, an
    object with one such list, or one object per line.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield from _table(source)
        return
    try:
        path = Path(source).expanduser()
        exists = path.is_file()
        if path.suffix.lower() not in _READERS:
            raise UserError(
                f"data_files: {path} ends in {path.suffix!r}, expected {', '.join(_READERS)}. Save a spreadsheet as "
                f".csv, unpack an archive, and name a text file after its format{_similar(path, exists)}"
            )
        if not exists:
            raise UserError(
                f"data_files: there is no file {path} (working directory: {Path.cwd()}){_similar(path, exists)}"
            )
        yield from _READERS[path.suffix.lower()](path)
    except (OSError, RuntimeError) as error:  # RuntimeError: the home folder of an unknown user
        raise UserError(f"data_files: cannot read {source}: {error}. Check the path and its permissions.") from error


def source_name(source: Any) -> str:
    """Name a source: a file by its name without the suffix, a table by its kind."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).stem
    if _is(source, "pandas", "DataFrame"):
        return "DataFrame"
    return "Dataset" if _is(source, "datasets", "Dataset", "DatasetDict") else type(source).__name__


def _similar(path: Path, exists: bool) -> str:
    """Suggest a file with a similar name in the same folder."""
    try:
        names = [] if exists else [name for name in os.listdir(path.parent) if Path(name).suffix.lower() in _READERS]
    except (OSError, ValueError):
        names = []
    meant = did_you_mean(path.name, names)
    return f".{meant}" if meant else ""


def _text(path: Path) -> str:
    """Decode a text file as UTF-8, or as UTF-16 if it has that byte order mark."""
    longest = LARGEST if path.suffix.lower() == ".json" else LONGEST  # a list of objects may be a single line
    if (number := too_long(path, longest)) is not None:
        raise UserError(
            f"data_files: {path.name} line {number} is longer than {longest // 1_000_000} MB. Shorten its texts, or "
            "write one row per line."
        )
    data = path.read_bytes()
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not data.startswith(codecs.BOM_UTF32_LE)
    encoding = "utf-16" if is_utf_16 else "utf-8"
    try:
        text = data.decode(encoding)
        if "\0" not in text:
            return text.removeprefix("\ufeff")
        text = text[: text.index("\0")]
        start = len(text.encode(encoding))
    except UnicodeDecodeError as error:
        start = error.start
        text = data[:start].decode(encoding, "replace")
    raise UserError(
        f"data_files: {path}: expected {encoding.upper()} text, got the byte 0x{data[start]:02x} at position {start} "
        f"(line {text.count(chr(10)) + 1}). Save the file as UTF-8."
    )


class _Repeated(str):
    """A repeated key. It replaces the object until the row, which the error message names, is known."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    row = dict(pairs)
    return row if len(row) == len(pairs) else _Repeated(Counter(key for key, _ in pairs).most_common(1)[0][0])


def _parse(text: str, name: str, first_line: int = 1) -> Any:
    """Parse JSON text that starts in line `first_line` of the file."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_int=whole_number)
        if not is_deep(value):
            return value
        raise RecursionError
    except json.JSONDecodeError as error:
        where = f"{name} line {first_line + error.lineno - 1}"
        problem = f"{error.msg} at column {error.colno}"
    except RecursionError:
        where, problem = f"{name} line {first_line}", "brackets nested too deeply"
    except ValueError as error:  # a number with too many digits
        where, problem = f"{name} line {first_line}", str(error)
    raise UserError(f"data_files: {where} is not valid JSON: {problem}. Correct the line.") from None


def _checked(where: str, value: Any) -> LocatedRow:
    """Check that a parsed value is an object without repeated keys."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _Repeated):
            raise UserError(f"data_files: {where}: an object has the key {str(part)!r} twice. Remove one of them.")
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    if not isinstance(value, dict):
        raise UserError(
            f"data_files: {where}: expected a JSON object such as {_EXAMPLE}, got {type(value).__name__}. "
            "Write one object per row."
        )
    return where, value


def _lines(path: Path, text: str | None = None) -> Iterator[LocatedRow]:
    text = text or _text(path)
    if _is_whole(text):
        raise UserError(
            f"data_files: {path.name}: expected one object per row, such as {_EXAMPLE}, got a single object that "
            "contains the list of rows. Change the end of the file's name to .json."
        )
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        where = f"{path.name} line {number}"
        if line.lstrip().startswith("["):
            raise UserError(
                f"data_files: {where}: expected a JSON object such as {_EXAMPLE}, got a list. If the file contains one "
                "list of objects, change the end of its name to .json."
            )
        if line.strip():
            yield _checked(where, _parse(line.rstrip(), path.name, number))


def _json(path: Path) -> Iterator[LocatedRow]:
    text = _text(path)
    if not _is_whole(text) and _first_object(text) is not None:
        logger.info("data_files: %s contains one object per line and is read as JSON lines", path.name)
        yield from _lines(path, text)
        return
    value = _parse(text, path.name) if text.strip() else []
    items = _items(value)
    if items is None:
        _checked(path.name, value)
        raise UserError(
            f"data_files: {path.name}: expected a list of objects, or an object with one such list, got an object with "
            f'the keys {shorten(", ".join(value))}. pandas writes a list with to_json(..., orient="records").'
        )
    for number, item in enumerate(items):
        yield _checked(f"{path.name} item {number}", item)


def _first_object(text: str) -> dict[str, Any] | _Repeated | None:
    """The object that is the first line; None if the line is not an object."""
    first = next(filter(str.strip, io.StringIO(text, newline=None)), "")
    try:
        return json.loads(first, object_pairs_hook=_object, parse_int=whole_number) if first.strip()[0] == "{" else None
    except (ValueError, LookupError, RecursionError):
        return None


def _is_whole(text: str) -> bool:
    """Whether the only line is an object with the list of all rows."""
    return "\n" not in text.strip() and _items(_first_object(text)) is not None


def _items(value: Any) -> list[Any] | None:
    """The rows in a JSON value: a list, or the only list in an object, if it contains objects other than options."""
    if not isinstance(value, dict):
        return value if isinstance(value, list) else None
    lists = [part for part in value.values() if isinstance(part, list)]
    if len(lists) != 1 or not lists[0]:
        return lists[0] if lists and len(value) == 1 else None
    row = lists[0][0]
    return lists[0] if isinstance(row, dict) and not row.keys() <= {*TEXT_NAMES, *LABEL_NAMES} else None


def _cells(path: Path) -> Iterator[LocatedRow]:
    text = _text(path)
    csv.field_size_limit(2**31 - 1)  # a passage may be longer than the 131,072 characters of the default
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(path, text), strict=True)
    header: list[str] = []
    where = f"{path.name} line 1"
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
            where = f"{path.name} line {reader.line_num + 1}"  # where the next row begins
    except csv.Error as error:
        raise UserError(
            f"data_files: cannot read {where}: {error}. Write each quote inside a quoted cell twice, and close each "
            "quoted cell."
        ) from None


def _separator(path: Path, text: str) -> str:
    """Choose the usual separator for the suffix, unless the header line contains only a different one."""
    own = "\t" if path.suffix.lower() == ".tsv" else ","
    header = re.match(_HEADER, text.lstrip("\r\n"))
    unquoted = re.sub(r'"[^"]*"', "", header[0] if header else "")
    found = [separator for separator in _SEPARATORS if separator in unquoted]
    if own in found or len(found) != 1:
        return own
    logger.warning(
        "data_files: %s: expected a %s-separated header line, got a %s-separated one. The file is read with the "
        "separator of the header line",
        path.name,
        _SEPARATORS[own],
        _SEPARATORS[found[0]],
    )
    return found[0]


def _check_names(names: Sequence[str], where: str) -> None:
    wrong = [repr(shorten(name, 80)) for name, count in Counter(names).items() if count > 1 or not name]
    if wrong:
        raise UserError(
            f"data_files: {where}: expected a different name for each column, got {', '.join(wrong)} repeated or "
            f"empty, in {', '.join(repr(shorten(name, 80)) for name in names)}. If a csv file has no header, add a "
            "first line with the names of its columns. Otherwise rename or remove these columns."
        )


def _parquet(path: Path) -> Iterator[LocatedRow]:
    import pyarrow  # a dependency of datasets; slow to import, and only needed here
    import pyarrow.parquet

    try:
        _check_names(pyarrow.parquet.read_schema(path).names, path.name)
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except UserError:
        raise
    except Exception as error:  # many types, for example for a date out of range or an unknown time zone
        raise UserError(
            f"data_files: cannot read {path}: {described(error)}. Write the parquet file again, with columns of texts, "
            "numbers and lists only."
        ) from error
    for number, row in enumerate(rows):
        yield f"{path.name} row {number}", _plain(row)


def _table(source: Any) -> Iterator[LocatedRow]:
    """Read the rows of an object in memory."""
    if _is(source, "datasets", "DatasetDict"):
        if len(source) != 1:
            raise UserError(
                f"data_files: expected a DatasetDict with one split, got the splits {', '.join(map(repr, source))}. "
                "Pass one of them: dataset['test']."
            )
        (source,) = source.values()
    try:
        if _is(source, "datasets", "Dataset"):
            rows: Iterable[Mapping[Any, Any]] = source.with_format(None)
        elif _is(source, "pandas", "DataFrame"):
            _check_names([str(name) for name in source.columns], "the DataFrame")
            rows = source.to_dict(orient="records")
        elif isinstance(source, (list, tuple)) and all(isinstance(row, Mapping) for row in source):
            rows = source
        else:
            raise UserError(
                "data_files: expected the path of a file, a pandas DataFrame, a datasets.Dataset or a list of dicts, "
                f"got {type(source).__name__}."
            )
        for number, row in enumerate(rows):
            yield f"row {number}", {str(name): _plain(value) for name, value in row.items()}
    except UserError:
        raise
    except Exception as error:  # many types, for example for an image that cannot be decoded or deep nesting
        raise UserError(
            f"data_files: cannot read the rows of the {source_name(source)}: {described(error)}. Keep only columns of "
            "texts, numbers and lists."
        ) from error


def _is(source: Any, module: str, *names: str) -> bool:
    """Whether an object is an instance of one of these classes, without importing the module.

    If the module has not been imported, no instance of its classes exists.
    """
    kinds = [getattr(sys.modules.get(module), name, None) for name in names]
    return any(isinstance(kind, type) and isinstance(source, kind) for kind in kinds)


def _plain(value: Any) -> Any:
    """Turn numpy values, decimals and maps (lists of pairs) into plain Python values, and missing values into None."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list) and value and all(map(_is_entry, value)) and len(dict(value)) == len(value):
        return {str(key): _plain(part) for key, part in value}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _is_entry(value: Any) -> bool:
    """Whether a value is an entry of a map, as pyarrow represents it."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str | int)


_READERS: dict[str, Callable[[Path], Iterator[LocatedRow]]] = {
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".json": _json,
    ".csv": _cells,
    ".tsv": _cells,
    ".parquet": _parquet,
}
