"""Differences between two runs, paired by question, and runs that cannot be compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isnan
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.paired import Compared
from lm_eval_cora.report.comparison import compare_models, compared_metrics, matched
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.grouping import read_contestants, read_runs
from lm_eval_cora.runs.model_run import Run
from tests.support.messages import tells
from tests.support.simulated import knows, says
from tests.support.written import (
    Doc,
    Written,
    copied,
    edit,
    lines_of,
    otherwise,
    put,
    the_run,
    varied,
    write,
)


def groups_of(*paths: Path) -> tuple[list[list[Run]], list[str]]:
    return matched([contestant.runs for contestant in read_contestants(paths)])


def in_order(before: Path, after: Path) -> dict[str, Compared]:
    ((one, other),), alone = groups_of(before, after)
    assert alone == []
    assert not_comparable(one, other) == ""
    return compared_metrics(one.estimates, other.estimates)


def knowing(*numbers: int) -> Callable[[Doc], str]:
    """Answer all variants of the questions with these numbers correctly and all others wrongly."""
    order: dict[str, int] = {}

    def rule(doc: Doc) -> str:
        number = order.setdefault(doc["question_id"], len(order))
        wrong = next(identity for identity in doc["printed"] if identity != doc["answer"])
        return knows(doc) if number in numbers else says(doc, wrong)

    return rule


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Written, Written]:
    """Two runs on five questions: the second loses one and gains two."""
    folders = [tmp_path_factory.mktemp(name) for name in ("before", "after")]
    rules = [knowing(0, 1), knowing(0, 2, 3)]
    first, second = (
        write(folder, rule, "cora_demo", {"questions": 5}) for folder, rule in zip(folders, rules, strict=True)
    )
    return first, second


def test_a_difference_known_by_hand(known: tuple[Written, Written]) -> None:
    found = in_order(known[0].folder, known[1].folder)
    changes = [0, -1, 1, 1, 0]
    for name in ("mcqa", "mcqa_plus", "mv", "bmca@0.5", "bmca@1.0", "acc"):
        row = found[name]
        assert (row.before.value, row.after.value) == (pytest.approx(2 / 5), pytest.approx(3 / 5))
        assert row.change.value == pytest.approx(1 / 5)
        assert row.change.stderr == pytest.approx(stdev(changes) / 5**0.5)
        # At 0, Tango's statistic is (2 - 1)^2 / 3, far below 1.96^2.
        assert -1 < row.change.low < 0 < 0.2 < row.change.high
        assert row.change.high < 1 or name == "acc"  # 0.2 + 1.96 sqrt(0.14 + (1.2 / 5)^2) = 1.07 is cut at 1
    # Three changes, 1 : 2. The mid-p-value is 2 P(X < 1) + P(X = 1) = 2/8 + 3/8.
    assert found["mcqa"].test is not None
    assert found["mcqa"].test[:2] == (1, 2)
    assert found["mcqa"].test.p_value == 0.625
    assert found["ci"].change.value == 0.0
    # cora = m(1 - m + b) = m here.
    assert found["cora"].change.value == pytest.approx(1 / 5)
    assert found["consistency_rate"].test is None
    back = in_order(known[1].folder, known[0].folder)
    for name, row in found.items():
        assert back[name].change.value == -row.change.value
        assert back[name].change.stderr == pytest.approx(row.change.stderr, nan_ok=True)
        assert (back[name].before, back[name].after) == (row.after, row.before)


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_revas_mc", "cora_demo_sampling"])
def test_the_same_run_twice(task: str, demo: dict[str, Written]) -> None:
    for row in in_order(demo[task].folder, demo[task].samples).values():
        # If a metric is undefined (nan), its difference is undefined too.
        assert row.change.value == 0 or row.before.value != row.before.value
        # Other questions may differ, so the error is not 0.
        assert row.change.stderr > 0 or row.change.stderr != row.change.stderr
        assert row.change.low <= 0 <= row.change.high or row.change.low != row.change.low
        assert row.test is None or row.test == (0, 0, 1.0)


def test_every_metric_of_the_task_is_compared(demo: dict[str, Written], other: Written) -> None:
    found = in_order(demo["cora_demo"].folder, other.folder)
    assert list(found) == list(the_run(other.folder).estimates)
    row = found["acc_min"]
    assert row.change.value == row.after.value - row.before.value
    assert isnan(row.change.stderr)
    assert isnan(row.change.low)


def test_statistics_without_an_error_are_not_compared(demo: dict[str, Written]) -> None:
    found = in_order(demo["cora_demo_order"].folder, demo["cora_demo_order"].samples)
    assert {"acc_min", "acc_max"} <= set(found)
    assert not {"acc_range", "acc_range_by_chance", "acc_range_p"} & set(found)


def test_metrics_that_are_undefined_in_one(demo: dict[str, Written], tmp_path: Path) -> None:
    """A model that is always right has no misled questions."""
    write(tmp_path, knows, "cora_demo_revas", {"questions": 12})
    found = in_order(demo["cora_demo_revas"].folder, tmp_path)
    assert {name for name, row in found.items() if row.test is not None} >= {"mcqa", "acc_h@original"}
    assert [found[name].test for name in ("replaced_acc", "multi_share")] == [None, None]


# ---- what is refused


def refusal(before: Path, after: Path) -> str:
    ((one, other),), _ = groups_of(before, after)
    return not_comparable(one, other)


def test_other_questions(tmp_path: Path) -> None:
    few = write(tmp_path / "few", varied, "cora_demo_order", {"questions": 2})
    more = write(tmp_path / "more", varied, "cora_demo_order", {"questions": 5})
    told = refusal(few.folder, more.folder)
    assert tells(told, "3 of 5 questions", "second")
    assert "first (" not in told
    assert "3 of 5 questions are only in the first" in refusal(more.folder, few.folder)


@pytest.mark.parametrize(
    ("options", "arguments", "told"),
    [
        ({"seed": 1}, {}, "seed is 0 in the first, 1 in the second"),
        ({"nota_text": "No other"}, {}, "nota_text"),
        ({}, {"num_fewshot": 2}, "shots is 0 in the first, 2"),
    ],
)
def test_other_settings(options: dict[str, Any], arguments: dict[str, Any], told: str, tmp_path: Path) -> None:
    first = write(tmp_path / "first", varied, "cora_demo", {"categories": ["astronomy"]})
    second = write(tmp_path / "second", varied, "cora_demo", {"categories": ["astronomy"], **options}, **arguments)
    assert told in refusal(first.folder, second.folder)
    for written in (first, second):
        written.results.unlink()
    # Without the results files the hashes of the variants and of the prompts differ.
    assert ("prompts differ" if arguments else "variants differ") in refusal(first.folder, second.folder)


def test_another_form(demo: dict[str, Written], tmp_path: Path) -> None:
    for number, task in enumerate(("cora_demo_order", "cora_demo_order_mc")):
        put(tmp_path / str(number) / "samples_mine.jsonl", lines_of(demo[task].samples))
    told = refusal(tmp_path / "0", tmp_path / "1")
    assert "written" in told
    assert "scored" in told


def test_another_variant(demo: dict[str, Written], tmp_path: Path) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    lines = lines_of(written.samples)
    lines[7]["doc_hash"] = "0" * 64
    put(written.samples, lines)
    told = refusal(demo["cora_demo"].folder, tmp_path)
    assert "1 of 312 variants differ" in told
    assert lines[7]["doc"]["question_id"] in told


def test_incomplete_questions_are_reported_as_different(demo: dict[str, Written], tmp_path: Path) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    put(written.samples, lines_of(written.samples)[1:])
    assert "1 of 12 questions are only in the first" in refusal(demo["cora_demo"].folder, tmp_path)


def test_invalid_answers_and_versions_may_differ(demo: dict[str, Written], tmp_path: Path) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    edit(written.samples, lambda line: line.update(filtered_resps=[otherwise(line["doc"])]))
    results = json.loads(written.results.read_text())
    metadata = results["configs"]["cora_demo"]["metadata"]
    before = metadata["signature"]
    metadata["signature"] = before.rpartition("|")[0].rpartition("|")[0] + "|invalid:99.0%|v9.9.9"
    written.results.write_text(json.dumps(results))
    assert in_order(demo["cora_demo"].folder, tmp_path)


# ---- which data


def on_files(tmp_path: Path, *names: str) -> list[Path]:
    """Run the task once on each file; the questions of a file are named after the file without its digits."""
    folders = []
    for number, name in enumerate(names):
        folder = tmp_path / str(number)
        words = [f"{name.rstrip('0123456789')} {place}?" for place in range(3)]
        rows = [{"question": word, "choices": ["Ice", "Fog", "Mud"], "answer": 0} for word in words]
        path = put(folder / "data" / f"{name}.jsonl", rows)
        rule = otherwise if number % 2 else varied
        folders.append(write(folder / "out", rule, "cora_local_order", {"data_files": str(path)}, f"a/{number}").folder)
    return folders


def test_two_models_on_one_file_with_one_name_or_two(tmp_path: Path) -> None:
    assert in_order(*on_files(tmp_path / "one", "my", "my"))
    assert in_order(*on_files(tmp_path / "two", "my1", "my2"))


@pytest.mark.parametrize("names", [("my", "other"), ("my", "my")])
def test_one_task_on_different_data(names: tuple[str, str], tmp_path: Path) -> None:
    one, other = on_files(tmp_path, "my", "other")
    for folder, name in zip((one, other), names, strict=True):
        rename(folder, name)
    data = [the_run(folder).data for folder in (one, other)]
    assert tells(refusal(one, other), str(data[0]), "first", str(data[1]), "second")


def rename(folder: Path, name: str) -> None:
    """Set the name of the data in the results file below a folder."""
    (path,) = folder.rglob("results_*.json")
    results = json.loads(path.read_text())
    for config in results["configs"].values():
        config["metadata"]["benchmark"]["name"] = name
    path.write_text(json.dumps(results))


def test_each_data_set_is_compared_with_itself(tmp_path: Path) -> None:
    for side, names in (("before", ("b", "a")), ("after", ("a", "c", "b"))):
        for name in names:
            rows = [{"question": f"{name}?", "choices": ["Ice", "Fog"], "answer": 0}]
            path = put(tmp_path / f"{name}.jsonl", rows)
            folder = tmp_path / side / name
            write(folder, varied, "cora_local_order", {"data_files": str(path)})
            rename(folder, name)
    pairs, alone = groups_of(tmp_path / "before", tmp_path / "after")
    assert [(one.data.name, other.data.name) for one, other in pairs] == [("a", "a"), ("b", "b")]
    assert alone == ["cora_local_order (c)"]
    for one, other in pairs:
        assert not_comparable(one, other) == ""


def test_several_data_sets_without_a_common_one(tmp_path: Path) -> None:
    folders = on_files(tmp_path, "my", "other", "third")
    for folder in folders:
        rename(folder, "my")
    for path in folders[2].rglob("*_*.json*"):
        path.rename(folders[1] / "a__1" / path.name)
    results = next((folders[1] / "a__1").glob("results_*.json")).read_text()
    model = json.loads(results)["model_name"]
    for path in (folders[1] / "a__1").glob("results_*.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "model_name": model}))
    with pytest.raises(UserError) as caught:
        compare_models(folders[:2])
    digests = [run.data.digest for folder in folders[:2] for run in read_runs([folder])]
    assert len(set(digests)) == 3
    assert all(f"cora_local_order (my {digest})" in str(caught.value) for digest in digests)


def test_an_old_run_and_a_new_one_are_compared(demo: dict[str, Written], other: Written, tmp_path: Path) -> None:
    """The variants show that the questions are the same, although one run has no digest."""
    old = copied(demo["cora_demo"], tmp_path)
    results = json.loads(old.results.read_text())
    metadata = results["configs"]["cora_demo"]["metadata"]
    digest = metadata.pop("benchmark")["questions"]
    metadata["signature"] = metadata["signature"].replace(f"data:{digest}|", "")
    old.results.write_text(json.dumps(results))
    assert in_order(old.folder, other.folder)
    assert in_order(other.folder, old.folder)
