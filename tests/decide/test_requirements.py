"""Requirements as texts, and policies in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.decide.requirements import (
    NoWorse,
    Policy,
    Requirement,
    parse_no_worse,
    parse_requirement,
    policy_of,
    read_policy,
)
from lm_eval_cora.errors import UserError
from tests.support.messages import tells

READ = {
    "cora>=0.45": Requirement("cora", ">=", 0.45),
    " invalid <= 5e-2 ": Requirement("invalid", "<=", 0.05),
    "bmca@1.0>=.3": Requirement("bmca@1.0", ">=", 0.3),
    "sc@original >= 1": Requirement("sc@original", ">=", 1.0),
    "mcqa_plus_diff>=-0.1": Requirement("mcqa_plus_diff", ">=", -0.1),
    "cora_medqa:mcqa>=0.6": Requirement("mcqa", ">=", 0.6, "cora_medqa"),
    "cora_local (my: file) : mv <= 0.5": Requirement("mv", "<=", 0.5, "cora_local (my: file)"),
}


@pytest.mark.parametrize("text", READ)
def test_requirements(text: str) -> None:
    assert parse_requirement(text) == READ[text]


@pytest.mark.parametrize(
    "text",
    [
        *("", "cora", "cora>0.45", "cora<0.45", "cora=0.45", "cora==0.45", "cora>=", ">=0.45", "cora>=x", "cora>=5%"),
        *("cora>=nan", "cora>=inf", "cora>=1e999", "cora>=0.45 or more", "cora >= 0.4 5", ":cora>=0.45", "cora>=0,45"),
        *("cora>=0.45;rm", "co ra>=0.45", "cora≥0.45", "cora>=٤", "1cora>=0.5", "x" * 600 + ">=1", ":" * 499 + "!"),
        *("two\nlines>=1:x", "\x00>=1", "\ud83d>=1", "\u202ecora>=1", "<b>cora</b>>=1"),
    ],
)
def test_texts_that_are_not_requirements(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_requirement(text)
    assert tells(str(refused.value), "--require", "expected [TASK:]METRIC>=NUMBER", "'cora>=0.45'")
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)


def test_losses() -> None:
    assert parse_no_worse("cora:0.02") == NoWorse("cora", 0.02)
    assert parse_no_worse("cora_medqa : bmca@1.0 : 0") == NoWorse("bmca@1.0", 0.0, "cora_medqa")
    for text in ("cora", "cora:", "cora:-0.02", "cora:x", "cora>=0.02", ":0.02", "cora:0.02:", "cora:nan"):
        with pytest.raises(UserError, match=r"--no-worse .*expected \[TASK:\]METRIC:MARGIN"):
            parse_no_worse(text)


def test_requirements_as_text() -> None:
    assert str(parse_requirement("cora>=0.450")) == "cora >= 0.45"
    assert str(parse_no_worse("cora:0.02")) == "cora no worse by 0.02"


def test_policies_are_added_without_repetition() -> None:
    both = policy_of(["cora>=0.45", "mv>=0.1"], ["cora:0.1"]) + policy_of(["cora >= 0.45"], ["cora:0.2"])
    assert [str(each) for each in both.require] == ["cora >= 0.45", "mv >= 0.1"]
    assert [each.margin for each in both.no_worse] == [0.1, 0.2]


# ---- files


def read(folder: Path, text: str | bytes) -> Policy:
    path = folder / "gate.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_policy(path)


def test_a_policy(tmp_path: Path) -> None:
    text = "# Our limits\nrequire:\n  - cora >= 0.45\n  - 'cora_medqa:invalid <= 0.05'\nno_worse: [cora:0.02]\n"
    assert read(tmp_path, text) == policy_of(["cora>=0.45", "cora_medqa:invalid<=0.05"], ["cora:0.02"])
    assert read(tmp_path, '{"require": ["cora>=0.45"]}') == policy_of(["cora>=0.45"], [])


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
    "a: &a [x, x]\nrequire: *b\n": ("gate.yaml, line 2: cannot be read as YAML",),
    "[a, b]: 1\n": ("gate.yaml", "cannot be read as YAML"),
    "\x00": ("gate.yaml: cannot be read as YAML",),
    "x" * 100_001: ("gate.yaml: expected a policy, got a file of more than 100,000 bytes",),
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_files_that_are_not_policies(text: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        read(tmp_path, text)
    message = str(refused.value)
    assert tells(message, str(tmp_path), *WRONG[text])
    assert len(message.splitlines()) == 1


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read as YAML"):
        read(tmp_path, b"\xff\xfe\x00\xd8")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected a YAML file, got a folder"):
        read_policy(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_policy(tmp_path / "none.yaml")
