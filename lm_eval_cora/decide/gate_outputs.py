"""The verdicts of a gate as a table, as JSON, and as JUnit XML for CI systems."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from lm_eval_cora.decide.verdicts import EXIT_STATUS, Verdict, overall
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.report.content import Cell, Number, Table

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain, not even escaped."""


def as_table(verdicts: Sequence[Verdict], model: str) -> Table:
    """The verdicts as a table."""
    rows: list[list[Cell]] = []
    for verdict in verdicts:
        number = Number(verdict.value, verdict.stderr, signed=verdict.is_difference, ends=(verdict.low, verdict.high))
        more: Cell = "" if verdict.outcome != "undecided" else verdict.needed or "n/a"
        name = verdict.requirement.replace(">=", "≥").replace("<=", "≤")  # Markdown would escape the characters
        rows.append([name, verdict.task, verdict.outcome, number, number.interval or "n/a", verdict.questions, more])
    columns = ["requirement", "task", "outcome", "value", "95%", "questions", "would decide it"]
    return Table(f"{model}: {overall(verdicts)}", columns, rows)


def as_json(verdicts: Sequence[Verdict], model: str, notes: Sequence[str]) -> dict[str, Any]:
    """The verdicts with all digits, undefined numbers as null."""
    outcome = overall(verdicts)
    return {
        "model": model,
        "outcome": outcome,
        "exit_status": EXIT_STATUS[outcome],
        "requirements": [_as_json(verdict) for verdict in verdicts],
        "notes": list(notes),
    }


def _as_json(verdict: Verdict) -> dict[str, Any]:
    numbers: Mapping[str, float] = {name: getattr(verdict, name) for name in ("value", "stderr", "low", "high")}
    return {
        "requirement": verdict.requirement,
        "task": verdict.task,
        "metric": verdict.metric,
        "outcome": verdict.outcome,
        **for_json(numbers),
        "is_difference": verdict.is_difference,
        "questions": verdict.questions,
        "questions_to_decide": verdict.needed,
        "questions_available": verdict.available,
        "reason": verdict.reason or None,
        "signature": verdict.signature or None,
    }


def as_junit(verdicts: Sequence[Verdict], model: str) -> bytes:
    """The verdicts as JUnit XML: a suite per task, a case per requirement.

    A requirement that fails is a `failure`. An undecided one is an `error` of the type `undecided`, because CI systems
    show skipped cases as successful.
    """
    root = ElementTree.Element("testsuites", {"name": _plain(f"lm-eval-cora gate {model}"), **_counts(verdicts)})
    for task in dict.fromkeys(verdict.task for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.task == task]
        suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(task), **_counts(own)})
        for verdict in own:
            case = ElementTree.SubElement(suite, "testcase", classname=_plain(task), name=_plain(verdict.requirement))
            if verdict.outcome != "pass":
                tag = "failure" if verdict.outcome == "fail" else "error"
                reason = _plain(verdict.reason)
                ElementTree.SubElement(case, tag, type=verdict.outcome, message=reason).text = reason
            if verdict.signature:
                ElementTree.SubElement(case, "system-out").text = _plain(verdict.signature)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    outcomes = [verdict.outcome for verdict in verdicts]
    numbers = {"tests": len(outcomes), "failures": outcomes.count("fail"), "errors": outcomes.count("undecided")}
    return {name: str(number) for name, number in numbers.items()}


def _plain(text: str) -> str:
    r"""Replace the characters that XML cannot contain.

    Example:
        >>> _plain("a\x00b") == "a\ufffdb"
        True
    """
    return _NOT_IN_XML.sub("\ufffd", text)
