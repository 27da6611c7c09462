"""Files are replaced as a whole: an error leaves the previous file as it was, and nothing else beside it."""

import errno
import os
import resource
import signal
import stat
import threading
from pathlib import Path

import pytest

from lm_eval_cora.writing import replace_file, temporary_file


@pytest.fixture
def old(tmp_path):
    """A file that a failed write must leave alone, with nothing beside it."""
    path = tmp_path / "report.html"
    path.write_bytes(b"old")
    yield path
    assert [file.name for file in tmp_path.iterdir() if file.name.endswith(".partial")] == []


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_full_disk(step, old, monkeypatch):
    if step == "write":
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limit[1]))
    elif step == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    try:
        with pytest.raises(OSError, match=r"large|space") as raised:
            replace_file(old, b"x" * 100_000)
    finally:
        if step == "write":
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, handler)
    assert raised.value.filename == str(old)
    assert old.read_bytes() == b"old"


def test_a_symbolic_link_stays(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "report.html", tmp_path / "link.html"
    link.symlink_to(Path("elsewhere") / "report.html")
    for content in (b"new", b"newer"):  # the target does not exist at first
        replace_file(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content


def test_permissions(tmp_path):
    path = tmp_path / "report.html"
    mask = os.umask(0o027)
    try:
        replace_file(path, b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    replace_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_read_only_file_is_not_replaced(old, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write all files
    with pytest.raises(PermissionError) as raised:
        replace_file(old, b"new")
    assert raised.value.filename == str(old)
    assert old.read_bytes() == b"old"


def test_devices_and_pipes_are_written_directly(tmp_path):
    replace_file(Path("/dev/null"), b"gone")
    assert not Path("/dev/null").is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reading = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reading.start()
    replace_file(pipe, b"through")
    reading.join()
    assert received == [b"through"]


def test_a_temporary_file_that_is_not_renamed_is_removed(tmp_path):
    def interrupted():
        with temporary_file(tmp_path) as (path, file):
            file.write(b"half")
            assert path.exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []
