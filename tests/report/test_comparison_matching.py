"""Models in paths: their names, and which of their runs belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.report.comparison import matched, matched_documents
from lm_eval_cora.runs.grouping import Contestant, read_contestants
from tests.support.answers_files import answers, write_answers
from tests.support.by_hand import HOSTILE_NAMES
from tests.support.documents import Models
from tests.support.messages import tells
from tests.support.written import Written, copied, varied, write


def names(found: list[Contestant]) -> list[str]:
    for contestant in found:
        assert {run.model for run in (*contestant.runs, *contestant.documents)} == {contestant.name}
    return [contestant.name for contestant in found]


def tasks_of(groups: list[list[object]]) -> list[tuple[str, list[str]]]:
    return [(group[0].task, [run.model for run in group]) for group in groups]  # type: ignore[attr-defined]


# ---- names


def test_models_are_in_the_order_of_the_paths(demo: dict[str, Written], other: Written) -> None:
    paths = [other.folder, demo["cora_demo"].folder]
    assert names(read_contestants(paths)) == ["another-org/another-model", "some-org/some-model"]
    assert names(read_contestants(paths[::-1])) == ["some-org/some-model", "another-org/another-model"]


def test_a_folder_may_have_several_models(demo: dict[str, Written], other: Written, tmp_path: Path) -> None:
    for written in (demo["cora_demo"], demo["cora_demo_mc"], other):
        copied(written, tmp_path)
    found = read_contestants([tmp_path])
    assert sorted(names(found)) == ["another-org/another-model", "some-org/some-model"]
    assert {contestant.path for contestant in found} == {tmp_path}
    (some,) = [contestant for contestant in found if contestant.name.startswith("some")]
    assert some.tasks == ["cora_demo", "cora_demo_mc"]


def test_two_models_of_one_name_have_their_path(demo: dict[str, Written], tmp_path: Path) -> None:
    first = demo["cora_demo"].folder
    second = copied(demo["cora_demo"], tmp_path).folder
    assert names(read_contestants([first, second])) == [f"some-org/some-model ({path})" for path in (first, second)]


def test_one_path_twice(demo: dict[str, Written]) -> None:
    path = demo["cora_demo"].folder
    assert names(read_contestants([path, path, path])) == [
        *(f"some-org/some-model ({place})" for place in ("first", "second", "third"))
    ]


def test_labels_name_models(demo: dict[str, Written], other: Written) -> None:
    labels = {demo["cora_demo"].folder: "Small", other.folder: "Large"}
    assert names(read_contestants([*labels], labels=labels)) == ["Small", "Large"]


def test_hostile_names_stay_apart(demo: dict[str, Written], other: Written) -> None:
    label = HOSTILE_NAMES["line breaks"]
    found = names(
        read_contestants(
            [demo["cora_demo"].folder, other.folder],
            labels=dict.fromkeys((demo["cora_demo"].folder, other.folder), label),
        )
    )
    assert len(set(found)) == 2
    assert all(told.startswith(label) for told in found)


def test_a_label_for_two_models_is_an_error(demo: dict[str, Written], other: Written, tmp_path: Path) -> None:
    for written in (demo["cora_demo"], other):
        copied(written, tmp_path)
    with pytest.raises(UserError) as caught:
        read_contestants([tmp_path, other.folder], labels={tmp_path: "Both"})
    assert tells(str(caught.value), f"--label {tmp_path}=Both", "one model", "2", "Pass the folder of one model")
    assert "\n" not in str(caught.value)


# ---- errors


def test_a_single_model_is_an_error(demo: dict[str, Written]) -> None:
    path = demo["cora_demo"].folder
    with pytest.raises(UserError) as caught:
        read_contestants([path])
    assert tells(str(caught.value), "two or more models, got one", str(path), "some-org/some-model", "another model")


def test_a_path_without_samples_is_an_error(demo: dict[str, Written], tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read_contestants([demo["cora_demo"].folder, tmp_path])
    assert tells(str(caught.value), f"{tmp_path}: there are no samples", "--log_samples")


# ---- groups


def test_runs_of_one_task_are_a_group(demo: dict[str, Written], other: Written, tmp_path: Path) -> None:
    copied(demo["cora_demo"], tmp_path)
    copied(demo["cora_demo_mc"], tmp_path)
    third = write(tmp_path / "third", varied, "cora_demo", {"questions": 12}, "org/third")
    found = read_contestants([tmp_path / "some-org__some-model", other.folder, third.folder])
    groups, alone = matched([contestant.runs for contestant in found])
    assert tasks_of(groups) == [  # type: ignore[arg-type]
        ("cora_demo", ["some-org/some-model", "another-org/another-model", "org/third"])
    ]
    assert alone == ["cora_demo_mc"]


def test_a_task_that_the_first_model_lacks(demo: dict[str, Written], other: Written, tmp_path: Path) -> None:
    both = [
        write(tmp_path / str(number), varied, "cora_demo", {"questions": 12}, f"org/{number}").folder
        for number in range(2)
    ]
    found = read_contestants([demo["cora_demo_mc"].folder, *both])
    groups, alone = matched([contestant.runs for contestant in found])
    assert tasks_of(groups) == [("cora_demo", ["org/0", "org/1"])]  # type: ignore[arg-type]
    assert alone == ["cora_demo_mc"]


def test_files_of_answers_with_other_questions_are_still_a_group(tmp_path: Path) -> None:
    """So that the comparison can say what differs."""
    paths = [
        write_answers(tmp_path / "a.csv", answers("a")),
        write_answers(tmp_path / "b.csv", answers("b", questions=7)),
    ]
    groups, alone = matched([contestant.runs for contestant in read_contestants(paths)])
    assert [[run.model for run in group] for group in groups] == [["a", "b"]]
    assert not alone


def test_nothing_in_common(demo: dict[str, Written]) -> None:
    found = read_contestants([demo["cora_demo"].folder, demo["cora_demo_plus"].folder])
    assert matched([contestant.runs for contestant in found]) == ([], ["cora_demo", "cora_demo_plus"])
    assert matched([]) == ([], [])


def test_documents_are_matched_by_task_and_filter(models: Models) -> None:
    found = read_contestants([models.one, models.two])
    assert all(not contestant.runs for contestant in found)
    groups, alone = matched_documents([contestant.documents for contestant in found])
    assert alone == []
    assert {(group[0].name, group[0].filter) for group in groups} == {
        *(("tiny_choice", "none"), ("tiny_written", "strict"), ("tiny_written", "letter"))
    }
    assert all([run.model for run in group] == ["org/one", "org/two"] for group in groups)


def test_a_mixed_folder(models: Models, other: Written, tmp_path: Path) -> None:
    """Documents and runs of our tasks by different models, in one folder."""
    for source in (models.one, other.folder):
        (tmp_path / source.name).symlink_to(source)
    found = read_contestants([tmp_path])
    assert {contestant.name: bool(contestant.runs) for contestant in found} == {
        "another-org/another-model": True,
        "org/one": False,
    }
