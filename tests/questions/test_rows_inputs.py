"""No command replaces a file that it has read, also through links."""

import os
import shlex

import pytest

import lm_eval_cora as cora
from lm_eval_cora.cli import main
from lm_eval_cora.errors import UserError
from tests.support.written import answers, write_answers


@pytest.mark.parametrize(
    "line",
    [
        "report a.jsonl --format json -o a.jsonl",
        "export a.jsonl --format csv -o soft.csv",
        "leaderboard a.jsonl -o new.html --csv soft.csv",
        "gate a.jsonl --policy p.yaml --json p.yaml",
        "compare a.jsonl b.jsonl --changed -o soft.csv",
    ],
)
def test_an_input_is_not_replaced(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text("require: [acc>=0.1]")
    inputs = [write_answers(tmp_path / "a.jsonl", answers()), tmp_path / "p.yaml"]
    write_answers(tmp_path / "b.jsonl", answers("b", 0.5))
    os.symlink("a.jsonl", "soft.csv")
    before = [path.read_bytes() for path in inputs]
    assert main(shlex.split(line)) in (1, 3)
    assert [path.read_bytes() for path in inputs] == before
    os.symlink("a.jsonl", "a.md")
    with pytest.raises(UserError, match="was read as an input, and is not replaced"):
        cora.write_report(cora.read_runs(inputs[0]), tmp_path / "a.md")


def test_files_of_the_harness(demo):
    folder = demo["cora_demo"].folder
    for name in ("samples*", "results*"):
        assert main(["gate", str(folder), "--require", "acc>=0", "--json", str(next(folder.rglob(name)))]) == 3
