"""Runs of a leaderboard that are kept, so that an unchanged run is not read again."""

import os
from dataclasses import asdict
from shutil import copytree

import numpy as np
import pytest

from lm_eval_cora.report import kept_runs
from lm_eval_cora.report.board_sources import Sources
from lm_eval_cora.runs.grouping import RunReader
from tests.support.written import varied, write


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("one", "two"):
        write(folder / name, varied, "cora_demo", {"questions": 3}, f"org/{name}")
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(kept_runs.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "leaderboard"


@pytest.fixture
def read(monkeypatch):
    """Make the boards of paths; return the entries and notes, and the names of the models that were read."""
    own, models = RunReader.merged, []
    monkeypatch.setattr(RunReader, "merged", lambda self, files: models.append(files[0].model) or own(self, files))

    def reading(*paths, reader=None, use=None):
        models.clear()
        sources = Sources(paths, reader, {})
        rows = [row for board in sources.boards(use) for row in board.rows]
        return {row.entry.model: asdict(row.entry) for row in rows}, sources.notes, sorted(models)

    return reading


def is_same(one, other):
    np.testing.assert_equal(one[:2], other[:2])
    return True


def test_only_new_and_changed_runs_are_read(written, tmp_path, cache, read):
    folder = copytree(written, tmp_path / "copy")
    first = read(folder)
    assert (first[2], len(list(cache.iterdir()))) == (["org/one", "org/two"], 2)
    again = read(folder)
    assert is_same(first, again)
    assert again[2] == []
    write(folder / "three", varied, "cora_demo", {"questions": 3}, "org/three")
    assert read(folder)[2] == ["org/three"]
    samples = next((folder / "one").rglob("samples_*"))
    samples.write_bytes(samples.read_bytes() + b"{\n")
    changed = read(folder)
    assert (changed[2], "left out 1 line" in changed[1][0]) == (["org/one"], True)
    assert is_same(changed, read(folder))
    results = next((folder / "two").rglob("results_*"))
    results.write_text(results.read_text().replace("org/two", "org/2"))
    assert read(folder)[2] == ["org/2"]
    assert len(read(folder, reader="strict")[2]) == 3
    assert len(read(folder, use=lambda run: None)[2]) == 3  # a page needs the run itself
    assert read(folder, reader="strict")[2] == []


def test_what_cannot_be_used_is_read_again(written, cache, read, monkeypatch):
    known = read(written)
    for damage in (b"", b"\x80", b"garbage"):
        for file in cache.iterdir():
            file.write_bytes(damage)
        assert is_same(known, found := read(written))
        assert len(found[2]) == 2
    cache.chmod(0o777)  # a file of another user could run code
    assert len(read(written)[2]) == 2
    cache.chmod(0o700)
    assert read(written)[2] == []
    monkeypatch.setattr(kept_runs, "_code", lambda: "another version")
    assert len(read(written)[2]) == 2


@pytest.mark.parametrize("place", [os.devnull, "file"])
def test_without_a_folder_nothing_is_kept(place, written, tmp_path, read, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(kept_runs.VARIABLE, str(tmp_path / place))
    assert len(read(written)[2]) == len(read(written)[2]) == 2


def test_the_folder_of_the_user(cache, monkeypatch, tmp_path):
    monkeypatch.delenv(kept_runs.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    kept_runs.store([], None, ([], []))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    kept_runs.store([], None, ([], []))
    for folder in ("xdg/lm-eval-cora", "home/.cache/lm-eval-cora"):
        assert len(list((tmp_path / folder / "leaderboard").iterdir())) == 1
    assert (tmp_path / "xdg/lm-eval-cora/leaderboard").stat().st_mode & 0o077 == 0


def test_runs_that_were_used_longest_ago_are_removed(cache, monkeypatch):
    cache.mkdir(parents=True, mode=0o700)
    for age, name in enumerate(("new", "old", "oldest")):
        (cache / name).write_bytes(b"12345")
        os.utime(cache / name, (1_000 - age, 1_000 - age))
    monkeypatch.setattr(kept_runs, "_MOST_BYTES", 10)
    kept_runs.remove_old()
    assert {file.name for file in cache.iterdir()} == {"new", "old"}
