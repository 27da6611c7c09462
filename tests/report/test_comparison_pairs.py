"""Differences between two runs, paired by question, and runs that cannot be compared."""

import json
from dataclasses import replace
from statistics import stdev

import pytest

from lm_eval_cora.report.comparison import compare_models, matched
from lm_eval_cora.report.pair_views import compared_metrics
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.grouping import read_contestants, read_runs
from tests.support.messages import tells, user_error
from tests.support.written import copied, edit, lines_of, otherwise, put, the_run, varied, write, write_by_hand


def groups_of(*paths):
    return matched([contestant.runs for contestant in read_contestants(paths)])


def in_order(before, after):
    ((one, other),), alone = groups_of(before, after)
    assert alone == []
    assert not_comparable(one, other) == ""
    pairs = compared_metrics([one.estimates, other.estimates])
    return {name: found[0, 1] for name, found in pairs.items()}


def test_a_difference_known_by_hand(tmp_path):
    """The second model loses one of five questions and gains two, each in all variants."""
    known = [
        write_by_hand(tmp_path / f"{marks}.jsonl", dict.fromkeys(("original", "a", "b"), marks))
        for marks in ("11000", "10110")
    ]
    found = in_order(*known)
    changes = [0, -1, 1, 1, 0]
    for name in ("mcqa", "mcqa_plus", "mv", "bmca@0.5", "bmca@1.0", "acc"):
        row = found[name]
        assert (row.before.value, row.after.value) == pytest.approx((2 / 5, 3 / 5))
        assert row.change[:2] == pytest.approx((1 / 5, stdev(changes) / 5**0.5))
        # At 0, Tango's statistic is (2 - 1)^2 / 3, far below 1.96^2.
        assert -1 < row.change.low < 0 < 0.2 < row.change.high
        assert row.change.high < 1 or name == "acc"  # 0.2 + 1.96 sqrt(0.14 + (1.2 / 5)^2) = 1.07 is cut at 1
    # Three changes, 1 : 2. The mid-p-value is 2 P(X < 1) + P(X = 1) = 2/8 + 3/8.
    assert found["mcqa"].test == (1, 2, 0.625)
    assert found["ci"].change.value == 0.0
    assert found["cora"].change.value == pytest.approx(1 / 5)  # cora = m(1 - m + b) = m here
    back = in_order(known[1], known[0])
    for name, row in found.items():
        assert back[name].change[:2] == pytest.approx((-row.change.value, row.change.stderr), nan_ok=True)


def refusal(before, after):
    ((one, other),), _ = groups_of(before, after)
    return not_comparable(one, other)


def test_other_questions(tmp_path):
    few, more = (write(tmp_path / str(n), varied, "cora_demo_order", {"questions": n}).folder for n in (2, 5))
    told = refusal(few, more)
    assert tells(told, "3 of 5 questions", "second")
    assert "3 of 5 questions are only in the first" in refusal(more, few)


@pytest.mark.parametrize(
    ("options", "arguments", "told"),
    [
        ({"seed": 1}, {}, "seed is 0 in the first, 1 in the second"),
        ({"nota_text": "No other"}, {}, "nota_text"),
        ({}, {"num_fewshot": 2}, "shots is 0 in the first, 2"),
    ],
)
def test_other_settings(options, arguments, told, tmp_path):
    first = write(tmp_path / "first", varied, "cora_demo", {"categories": ["astronomy"]})
    second = write(tmp_path / "second", varied, "cora_demo", {"categories": ["astronomy"], **options}, **arguments)
    assert told in refusal(first.folder, second.folder)
    for written in (first, second):
        written.results.unlink()
    # Without the results files the hashes of the variants and of the prompts differ.
    assert ("prompts differ" if arguments else "variants differ") in refusal(first.folder, second.folder)


def test_written_and_scored_answers_without_results_files(demo):
    run = replace(the_run(demo["cora_demo_order"].folder), signature="", reader=None)
    told = not_comparable(run, replace(run, form="loglikelihood"))
    assert told == "the first has written answers, the second has scored answers"


def test_another_variant_and_an_incomplete_question(demo, tmp_path):
    written = copied(demo["cora_demo"], tmp_path)
    lines = lines_of(written.samples)
    lines[7]["doc_hash"] = "0" * 64
    put(written.samples, lines)
    told = refusal(demo["cora_demo"].folder, tmp_path)
    assert tells(told, "1 of 312 variants differ", lines[7]["doc"]["question_id"])
    put(written.samples, lines[1:])
    assert "1 of 12 questions are only in the first" in refusal(demo["cora_demo"].folder, tmp_path)


def edit_results(folder, change):
    """Change the metadata of each task in the results files below a folder."""
    for path in folder.rglob("results_*.json"):
        results = json.loads(path.read_text())
        for config in results["configs"].values():
            change(config["metadata"])
        path.write_text(json.dumps(results))


def test_invalid_answers_and_versions_may_differ(demo, tmp_path):
    def other_end(data):
        data["signature"] = data["signature"].rsplit("|", 2)[0] + "|invalid:99.0%|v9.9.9"

    written = copied(demo["cora_demo"], tmp_path)
    edit(written.samples, lambda line: line.update(filtered_resps=[otherwise(line["doc"])]))
    edit_results(tmp_path, other_end)
    assert in_order(demo["cora_demo"].folder, tmp_path)


def on_file(folder, name, model="some-org/some-model"):
    """Run the task on a file whose questions are named after the file without its digits."""
    words = [f"{name.rstrip('0123456789')} {place}?" for place in range(3)]
    path = put(
        folder / f"{name}.jsonl", [{"question": w, "choices": ["Ice", "Fog", "Mud"], "answer": 0} for w in words]
    )
    return write(folder / "out", varied, "cora_local_order", {"data_files": str(path)}, model).folder


def on_files(tmp_path, *names):
    return [on_file(tmp_path / str(number), name, f"a/{number}") for number, name in enumerate(names)]


def test_two_models_on_one_file_with_one_name_or_two(tmp_path):
    assert in_order(*on_files(tmp_path / "one", "my", "my"))
    assert in_order(*on_files(tmp_path / "two", "my1", "my2"))


def rename(folder, name):
    """Set the name of the data in the results file below a folder."""
    edit_results(folder, lambda data: data["benchmark"].update(name=name))


def test_one_task_on_different_data(tmp_path):
    folders = on_files(tmp_path, "my", "other")
    for name in ("other", "my"):
        rename(folders[1], name)
        data = [str(the_run(folder).data) for folder in folders]
        assert tells(refusal(*folders), data[0], "first", data[1], "second")


def test_each_data_set_is_compared_with_itself(tmp_path):
    for side, names in (("before", ("b", "a")), ("after", ("a", "c", "b"))):
        for name in names:
            rename(on_file(tmp_path / side / name, name), name)
    pairs, alone = groups_of(tmp_path / "before", tmp_path / "after")
    assert [(one.data.name, other.data.name) for one, other in pairs] == [("a", "a"), ("b", "b")]
    assert alone == ["cora_local_order (c)"]
    assert [not_comparable(one, other) for one, other in pairs] == ["", ""]


def test_several_data_sets_without_a_common_one(tmp_path):
    """They are named by their digests if they have one name."""
    sides = [tmp_path / "before", tmp_path / "after"]
    for place, name in enumerate(("my", "other", "third")):
        side = sides[place > 0]
        rename(on_file(side / name, name, f"org/{side.name}"), "my")
    digests = [run.data.digest for run in read_runs(sides)]
    assert len(set(digests)) == 3
    for digest in digests:
        with user_error(f"cora_local_order (my {digest})"):
            compare_models(sides)


def test_an_old_run_and_a_new_one_are_compared(demo, other, tmp_path):
    """The variants show that the questions are the same, although one run has no digest."""

    def without_digest(data):
        digest = data.pop("benchmark")["questions"]
        data["signature"] = data["signature"].replace(f"data:{digest}|", "")

    old = copied(demo["cora_demo"], tmp_path)
    edit_results(tmp_path, without_digest)
    assert in_order(old.folder, other.folder)
    assert in_order(other.folder, old.folder)


def names(found):
    for contestant in found:
        assert {run.model for run in contestant.runs} == {contestant.name}
    return [contestant.name for contestant in found]


def test_models_are_in_the_order_of_the_paths_and_named_by_labels(demo, other):
    paths = [other.folder, demo["cora_demo"].folder]
    assert names(read_contestants(paths)) == ["another-org/another-model", "some-org/some-model"]
    assert names(read_contestants(paths[::-1])) == ["some-org/some-model", "another-org/another-model"]
    labels = dict(zip(paths, ("Small", "Large"), strict=True))
    assert names(read_contestants(paths, labels=labels)) == ["Small", "Large"]


def test_two_models_of_one_name_have_their_path(demo, tmp_path):
    first = demo["cora_demo"].folder
    second = copied(demo["cora_demo"], tmp_path).folder
    for paths, told in (([first, second], (first, second)), ([first] * 3, (1, 2, 3))):
        assert names(read_contestants(paths)) == [f"some-org/some-model ({each})" for each in told]


def test_errors(demo, tmp_path):
    path = demo["cora_demo"].folder
    with user_error("two or more models, got one", str(path), "some-org/some-model", "another model"):
        read_contestants([path])
    with user_error(f"{tmp_path}: there are no samples", "--log_samples"):
        read_contestants([path, tmp_path])


def test_runs_of_one_task_are_a_group(demo, other, tmp_path):
    """Also those of a task that the first model lacks."""
    third = write(tmp_path, varied, "cora_demo", {"questions": 12}, "org/third")
    for first, expected in (
        ("cora_demo", ["some-org/some-model", "another-org/another-model", "org/third"]),
        ("cora_demo_mc", ["another-org/another-model", "org/third"]),
    ):
        (group,), alone = groups_of(demo[first].folder, other.folder, third.folder)
        assert {run.task for run in group} == {"cora_demo"}
        assert [run.model for run in group] == expected
        assert alone == ["cora_demo_mc"] * first.endswith("mc")
    assert groups_of(demo["cora_demo"].folder, demo["cora_demo_plus"].folder) == ([], ["cora_demo", "cora_demo_plus"])
