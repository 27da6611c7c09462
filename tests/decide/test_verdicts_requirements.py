"""Requirements as texts, and policies in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.decide.verdicts import Requirement, parse, read_requirements
from lm_eval_cora.errors import UserError
from tests.support.messages import tells

READ = {
    "cora>=0.45": Requirement("cora", ">=", 0.45),
    " invalid <= 5e-2 ": Requirement("invalid", "<=", 0.05),
    "bmca@1.0>=.3": Requirement("bmca@1.0", ">=", 0.3),
    "mcqa_plus_diff>=-0.1": Requirement("mcqa_plus_diff", ">=", -0.1),
    "cora_medqa:mcqa>=0.6": Requirement("mcqa", ">=", 0.6, "cora_medqa"),
    "cora_local (my: file) : mv <= 0.5": Requirement("mv", "<=", 0.5, "cora_local (my: file)"),
    "cora:0.02": Requirement("cora", ":", 0.02),
    "cora_medqa : bmca@1.0 : 0": Requirement("bmca@1.0", ":", 0.0, "cora_medqa"),
}


@pytest.mark.parametrize("text", READ)
def test_requirements(text: str) -> None:
    key = "no_worse" if READ[text].is_loss else "require"
    assert parse(text, key, "here") == READ[text]


@pytest.mark.parametrize(
    "text",
    [
        *("", "cora", "cora>0.45", "cora<0.45", "cora==0.45", "cora>=", ">=0.45", "cora>=x", "cora>=5%", "cora:0.45"),
        *("cora>=nan", "cora>=inf", "cora>=1e999", "cora>=0.45 or more", "cora >= 0.4 5", ":cora>=0.45", "cora>=0,45"),
        *("co ra>=0.45", "cora≥0.45", "cora>=٤", "1cora>=0.5", "two\nlines>=1:x", "\x00>=1", "\u202ecora>=1"),
    ],
)
def test_texts_that_are_not_requirements(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse(text, "require", "--require")
    assert tells(str(refused.value), "--require", "expected [TASK:]METRIC>=NUMBER", "'cora>=0.45'")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["cora", "cora:", "cora:-0.02", "cora:x", "cora>=0.02", ":0.02", "cora:0.02:", "cora:nan"]
)
def test_texts_that_are_not_losses(text: str) -> None:
    with pytest.raises(UserError, match=r"--no-worse .*expected \[TASK:\]METRIC:MARGIN"):
        parse(text, "no_worse", "--no-worse")


def read(folder: Path, content: str | bytes) -> list[str]:
    path = folder / "gate.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [str(requirement) for requirement in read_requirements([], [], path)]


def test_a_policy_and_the_command_line_without_repetition(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text("# Our limits\nno_worse: [cora:0.1]\nrequire:\n  - cora >= 0.450\n  - 'cora_medqa:mv <= 0.05'\n")
    requirements = read_requirements(["mv>=0.1", "cora>=0.45"], ["cora:0.2"], path)
    texts = ["mv >= 0.1", "cora >= 0.45", "mv <= 0.05", "cora no worse by 0.2", "cora no worse by 0.1"]
    assert [str(requirement) for requirement in requirements] == texts
    assert [requirement.task for requirement in requirements] == ["", "", "cora_medqa", "", ""]
    assert read(tmp_path, '{"require": ["cora>=0.45"]}') == ["cora >= 0.45"]


WRONG = {
    "require:\n  - cora > 0.45\n": ("gate.yaml: require:", "'cora > 0.45'", "expected [TASK:]METRIC>=NUMBER"),
    "no_worse:\n  - cora: 0.02\n": ("gate.yaml: no_worse: expected texts", "{'cora': 0.02}", "quotation marks"),
    "require: cora >= 0.45\n": ("gate.yaml: require: expected a list of texts, got 'cora >= 0.45'",),
    "requires: []\n": ("gate.yaml: expected require and no_worse", "'requires'", "Did you mean 'require'"),
    "": ("gate.yaml: expected require and no_worse", "got 'None'"),
    "require: []\n": ("gate.yaml: expected", "got no requirement"),
    "- cora >= 0.45\n": ("gate.yaml: expected require and no_worse",),
    "require: [a\n": ("gate.yaml, line 2: cannot be read as YAML",),
    "require: [cora>=0.4]\nrequire: [mv>=0.4]\n": ("gate.yaml, line 2: cannot be read", "the key 'require' is twice"),
    "require: [1.5]\n": ("gate.yaml: require: expected texts, got '1.5'",),
    "require: !!python/object/apply:os.system [x]\n": ("gate.yaml, line 1: cannot be read as YAML",),
    "a: " + "[" * 1_000: ("gate.yaml", "cannot be read as YAML"),
    "[a, b]: 1\n": ("gate.yaml", "cannot be read as YAML"),
    "\x00": ("gate.yaml: cannot be read as YAML",),
    b"\xff\xfe\x00\xd8": ("gate.yaml: cannot be read as YAML",),
}


@pytest.mark.parametrize("content", WRONG, ids=range(len(WRONG)))
def test_files_that_are_not_policies(content: str | bytes, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        read(tmp_path, content)
    assert tells(str(refused.value), str(tmp_path), *WRONG[content])
    assert len(str(refused.value).splitlines()) == 1
