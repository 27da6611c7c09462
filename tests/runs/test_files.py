"""Samples files are found through links, once each, an unreadable folder is named, and settings are compared."""

import gzip
import json
import os
from pathlib import Path

from lm_eval_cora.runs.files import find_files, grouped
from tests.support.messages import user_error
from tests.support.written import digits, the_run

NAME = "samples_cora_demo_2026-01-01T00-00-00.000000.jsonl"


def put(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text("{}\n")
    return folder / NAME


def found(path):
    return [file.path for file in find_files(path)]


def test_symbolic_links_are_followed(tmp_path):
    put(tmp_path / "elsewhere" / "model")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "whole").symlink_to(tmp_path / "out")
    for out in (tmp_path / "out", tmp_path / "whole"):
        assert found(out) == [out / "link" / "model" / NAME]


def test_loops_end_and_a_folder_is_read_once(tmp_path):
    file = put(tmp_path / "m" / "model")
    links = {"m/model/up": tmp_path, "m/model/itself": ".", "a-link": "m", "z-link": "m"}
    for name, target in {**links, "one": "other", "other": "one"}.items():
        (tmp_path / name).symlink_to(target)
    assert found(tmp_path) == [file]


def test_a_link_to_a_file_is_the_same_file(tmp_path):
    file = put(tmp_path / "model")
    (tmp_path / "a-newest").mkdir()
    (tmp_path / "a-newest" / NAME).symlink_to(file)
    assert found(tmp_path) == [file]
    file.rename(tmp_path / "moved.jsonl")
    assert found(tmp_path / "model") == []


def test_a_folder_with_the_name_of_a_file_is_not_read(tmp_path):
    file = put(tmp_path / NAME)
    assert found(tmp_path) == [file]
    assert len(grouped(find_files(tmp_path))) == 1


def test_files_that_were_copied_or_written_again(demo, tmp_path):
    """They are read, or refused with the reason; nothing is left out in silence."""
    folder = demo["cora_demo"].folder
    samples, results = (next(folder.rglob(f"{name}_*")) for name in ("samples", "results"))
    text = samples.read_text()
    (tmp_path / f"{samples.stem} (1).jsonl").write_text(text, encoding="utf-8-sig")
    (tmp_path / f"{results.stem} (1).json").write_bytes(results.read_text().encode("utf-16"))
    expected, found = the_run(folder), the_run(tmp_path)
    assert (found.model, found.task, digits(found)) == (expected.model, expected.task, digits(expected))
    assert found.warnings == expected.warnings
    indented = "\n".join(json.dumps(json.loads(line), indent=1) for line in text.splitlines())
    for name, content, told in (
        (f"{samples.name}.gz", gzip.compress(text.encode()), "it is compressed"),
        ("samples_mine.jsonl", text.encode("utf-16"), "not UTF-8 but UTF-16"),
        ("samples_mine.jsonl", indented.encode(), "expected one JSON object per line"),
    ):
        path = tmp_path / "refused" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        with user_error(told):
            the_run(path.parent)
        path.unlink()


def test_the_current_folder_names_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(put(tmp_path / "my-model").parent)
    assert find_files(Path())[0].model == "my-model"


def test_an_unreadable_folder_is_named(tmp_path, monkeypatch):
    put(tmp_path / "model")
    (tmp_path / "secret").mkdir()
    scandir = os.scandir

    def denied(path):  # root may read everything
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    with user_error(f"{tmp_path}/secret: cannot be read: Permission denied"):
        find_files(tmp_path)


def test_a_path_that_cannot_be_read(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for name, told in (
        *(("x" * 5_000, "too long"), ("a\0b", "null"), ("missing", "there is no such file or folder")),
        ("loop", "loop: cannot be read: Too many levels"),
    ):
        with user_error(told):
            find_files(tmp_path / name)
