"""The verdicts as a table, as JSON and as JUnit XML."""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan
from xml.etree import ElementTree

import pytest

from lm_eval_cora.decide.verdicts import Outcome, Verdict, as_json, as_junit, as_table
from lm_eval_cora.report.text import table_as_text
from tests.support.by_hand import HOSTILE_NAMES
from tests.support.written import strict


def verdict(outcome: Outcome, task: str = "cora_medqa", requirement: str = "cora >= 0.45") -> Verdict:
    needed = 500 if outcome == "undecided" else None
    return Verdict(requirement, task, "cora", outcome, 0.5, 0.03, 0.44, 0.56, False, 100, needed, None, "s")


def test_junit() -> None:
    found = [verdict("pass"), verdict("fail"), verdict("undecided", "cora_mmlu")]
    root = ElementTree.fromstring(as_junit(found, "org/model"))
    assert root.tag == "testsuites"
    assert root.attrib == {"name": "lm-eval-cora gate org/model", "tests": "3", "failures": "1", "errors": "1"}
    assert [suite.attrib["name"] for suite in root] == ["cora_medqa", "cora_mmlu"]
    assert root[0].attrib == {"name": "cora_medqa", "tests": "2", "failures": "1", "errors": "0"}
    passed, failed = root[0]
    assert passed.attrib == {"classname": "cora_medqa", "name": "cora >= 0.45"}
    assert [part.tag for part in passed] == ["system-out"]
    assert failed.find("failure").attrib["message"] == found[1].reason  # type: ignore[union-attr]
    undecided = root[1][0].find("error")
    assert undecided is not None
    assert undecided.attrib["type"] == "undecided"
    assert undecided.text == found[2].reason


@pytest.mark.parametrize("name", [*HOSTILE_NAMES.values(), "\x00\x1b[2J\ud83d\ufffe", "]]>&amp;<!--"])
def test_hostile_names(name: str) -> None:
    found = [verdict("fail", task=name)]
    root = ElementTree.fromstring(as_junit(found, name))
    assert len(root.findall("./testsuite/testcase/failure")) == 1
    shown = "".join(character for character in name if character.isalnum() and character.isascii())
    kept = "".join(character for character in root[0].attrib["name"] if character.isalnum() and character.isascii())
    assert kept == shown
    text = json.dumps(as_json(found, name, []))
    assert strict(text)["requirements"][0]["task"] == name
    table = as_table(found, name)
    assert len(table_as_text(table.columns, table.rows).split("\n")) == 3


def test_json_has_no_bare_nan() -> None:
    undefined = replace(verdict("undecided"), **dict.fromkeys(("value", "stderr", "low", "high"), nan), signature=None)
    found = as_json([undefined], "m", ["a note"])
    assert (found["outcome"], found["exit_status"], found["notes"]) == ("undecided", 2, ["a note"])
    (entry,) = found["requirements"]
    assert [entry[key] for key in ("value", "stderr", "low", "high", "questions_available", "signature")] == [None] * 6
    assert entry["reason"] == "cora is undefined in this run"
    assert strict(json.dumps(found))


def test_the_table() -> None:
    table = as_table([verdict("pass"), verdict("undecided")], "m")
    assert table.title == "m: undecided"
    assert [row[0] for row in table.rows] == ["cora ≥ 0.45"] * 2
    assert [row[-1] for row in table.rows] == ["", 500]
    assert [row[2] for row in table.rows] == ["pass", "undecided"]
