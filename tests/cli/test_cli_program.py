"""The commands as a program: closed streams, a full disk, and what is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import CLOSED, FULL, KEPT, UNREAD, Command, run
from tests.support.written import strict

PASSES, UNDECIDED = (f"gate MADE/good.jsonl --require mcqa>={least}" for least in (0.7, 0.75))

READS = "read --options Ice Fog --response A"
STATUS = {
    **dict.fromkeys(("tasks demo", "--help", READS, PASSES, "report MADE/one -o scores.json"), 0),
    "leaderboard MADE/one -o - --csv scores.csv": 0,
    f"{UNDECIDED} --json gate.json": 2,
    "report missing": 1,
    "report": 2,
}
"""Commands and their exit statuses."""

STREAMS = [(KEPT, KEPT), (CLOSED, CLOSED), (UNREAD, KEPT)]
"""Standard output and standard error of every command."""

MORE_STREAMS = [*STREAMS, (CLOSED, KEPT), (UNREAD, UNREAD), (FULL, KEPT), (FULL, CLOSED)]
STREAMS_OF = {command: MORE_STREAMS if command in (READS, "report", PASSES) else STREAMS for command in STATUS}


@pytest.fixture(scope="module")
def results(made, tmp_path_factory):
    """What became of each command, by its streams."""
    folders = {streams: str(tmp_path_factory.mktemp("_".join(streams))) for streams in MORE_STREAMS}
    each = [(command, streams) for command, kinds in STREAMS_OF.items() for streams in kinds]
    commands = [Command(c.replace("MADE", str(made)).split(), folders[streams], *streams) for c, streams in each]
    found = {command: {} for command in STATUS}
    for (command, streams), result in zip(each, run(commands), strict=True):
        found[command][streams] = result
    return found


@pytest.mark.parametrize("command", STATUS)
def test_closed_streams_and_a_full_disk(command, results, made):
    usual = results[command][KEPT, KEPT]
    assert usual.status == STATUS[command]
    for streams, ended in results[command].items():
        assert "Traceback" not in ended.error, streams
        assert "Exception ignored" not in ended.error, streams
        if FULL in streams and not usual.status:
            assert ended.status == (3 if command == PASSES else 1), streams
            if streams[1] == KEPT:
                told = f"lm-eval-cora {command.split()[0]}: standard output: No space left on device"
                assert ended.error.splitlines()[-1] == told, streams
        else:
            assert ended.status == usual.status, streams
            assert usual.error.startswith(ended.error), streams  # nothing is said of what nobody reads
        if "scores.json" in command:
            # The first file that is opened after a stream was closed would get what is written to the stream.
            assert len(strict((made.parent / f"{'_'.join(streams)}0" / "scores.json").read_text())) == 1


def test_the_harness_is_not_imported_without_need():
    line = [sys.executable, "-X", "importtime", "-m", "lm_eval_cora", "tasks"]
    ended = subprocess.run(line, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True)
    for name in ("lm_eval.api", "torch", "transformers", "matplotlib", "datasets"):
        assert f" {name}\n" not in ended.stderr
