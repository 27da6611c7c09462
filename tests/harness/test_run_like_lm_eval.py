"""Features of `lm_eval run` in `lm-eval-cora run`: a --config file, --samples, and errors of the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from lm_eval.api.registry import register_model
from lm_eval.tasks import TaskManager

from lm_eval_cora.cli import main
from tests.support.simulated import TASKS, Simulated, knows

NAME = "goes-away"


@register_model(NAME)
class GoesAway(Simulated):
    """Knows all answers, and fails with an error at some point."""

    built = 0
    happens: BaseException | None = None

    def __init__(self, **_: Any) -> None:
        super().__init__(knows)
        type(self).built += 1

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        if self.happens is not None:
            raise self.happens
        return super().generate_until(requests)


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    GoesAway.built, GoesAway.happens = 0, None
    ours = partial(TaskManager, include_defaults=False)
    with patch("lm_eval.evaluator.add_env_info"), patch("lm_eval.tasks.TaskManager", ours):
        yield


def command(*arguments: object) -> int:
    common = ["run", "--model", NAME, "--tasks", "cora_demo", "--include_path", str(TASKS), "--stop", "exact"]
    return main([*common, *map(str, arguments)])


QUESTIONS = ("--metadata", json.dumps({"cora": {"questions": 2}}))


@pytest.mark.parametrize("error", [BrokenPipeError(), ConnectionResetError(104, "reset"), OSError(28, "no space")])
def test_what_happens_to_a_model_is_an_error(error: OSError, capsys: pytest.CaptureFixture[str]) -> None:
    # Not mistaken for a closed pipe (`| head`), which is not an error, nor for an error of standard output.
    GoesAway.happens = error
    assert command(*QUESTIONS) == 1
    assert f"the run ended: {type(error).__name__}" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("also_given", [False, True])
def test_a_cache_that_a_file_of_settings_names_lies_inside_too(tmp_path: Path, also_given: bool) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"use_cache: {tmp_path}/of_the_file\n")
    given = ("--use_cache", tmp_path / "given") if also_given else ()
    assert command("--config", settings, *given, *QUESTIONS) == 0
    # There is one cache. The command line has priority over the file.
    assert [path.name for path in tmp_path.glob("*.db")] == [f"{'given' if also_given else 'of_the_file'}_rank0.db"]


@pytest.mark.parametrize(
    "samples",
    ["nofile.json", "[1]", '{"cora_demo": 5}', '{"cora_demo": [0, "x"]}', '{"cora_demo": [true]}'],
)
def test_samples_that_are_none_are_told_before_a_model_is_built(
    samples: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--samples", samples) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("lm-eval-cora")]
    assert "--samples" in line
    assert "expected" in line
    assert GoesAway.built == 0


@pytest.mark.parametrize("several", [False, True])
def test_folders_of_the_users_own_in_a_file_of_settings(several: bool, tmp_path: Path) -> None:
    for name in ("mine", "yours"):
        (tmp_path / name).mkdir()
        text = (TASKS / "demo" / "cora_demo.yaml").read_text().replace("../_", f"{TASKS}/_")
        (tmp_path / name / f"{name}.yaml").write_text(text.replace("task: cora_demo", f"task: {name}"))
    settings = tmp_path / "settings.yaml"
    paths = [str(tmp_path / "mine"), str(tmp_path / "yours")]
    settings.write_text(json.dumps({"include_path": paths if several else paths[0]}))
    given = ("run", "--model", NAME, "--config", str(settings), *QUESTIONS)
    assert main([*given, "--tasks", "mine,cora_demo" + ",yours" * several]) == 0


def test_the_command_finds_our_tasks_by_itself() -> None:
    # Without --include_path, and in tests without the start-up module.
    assert main(["run", "--model", NAME, "--tasks", "cora_demo", *QUESTIONS]) == 0
