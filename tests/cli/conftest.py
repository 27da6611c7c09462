"""A caller of commands, and the folder of runs and files of answers in which they run."""

import pytest

from tests.support.programs import Cli
from tests.support.written import answers, otherwise, put, varied, write, write_answers, write_by_hand

GOOD = {"original": "1111111100" * 10, "x": "1111110100" * 10}
WORSE = {"original": "1111111000" * 10, "x": "1110010100" * 10}


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Runs `one` and `two` of three questions, `three` of two tasks, `seed` with another seed, and files of answers."""
    folder = tmp_path_factory.mktemp("made")
    write(folder / "one", varied, "cora_demo", {"questions": 3}, "a/one")
    write(folder / "two", otherwise, "cora_demo", {"questions": 3}, "b/two")
    for task in ("cora_demo", "cora_demo_sampling"):
        write(folder / "three", lambda doc: varied(doc, "third"), task, {"questions": 3}, "c/three")
    write(folder / "seed", varied, "cora_demo", {"questions": 3, "seed": 1}, "d/seed")
    write_by_hand(folder / "good.jsonl", GOOD)  # its mcqa is 0.8, from 0.711 to 0.867
    write_by_hand(folder / "worse.jsonl", WORSE)
    write_answers(folder / "weak.csv", answers("weak", 0.3))
    write_answers(folder / "strong.jsonl", answers("strong", 0.9))
    write_answers(folder / "middle.parquet", answers("middle", 0.6))
    put(folder / "mine.csv", ["id,ok", "1,1"])
    put(folder / "broken.jsonl", ["{"])
    put(folder / "gate.yaml", ["require: [mcqa >= 0.6]\nno_worse: [mcqa:0.05]"])
    (folder / "empty").mkdir()
    return folder


@pytest.fixture(autouse=True)
def _there(made, monkeypatch):
    """Run every test in the folder. Output goes elsewhere."""
    monkeypatch.chdir(made)
