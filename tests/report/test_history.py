"""The versions of a model over time."""

from dataclasses import replace

import numpy as np
import pytest

from lm_eval_cora.metrics import difference
from lm_eval_cora.metrics.consistency import CORA_FALLS
from lm_eval_cora.metrics.estimate import mean_of
from lm_eval_cora.report.history import (
    TaskHistory,
    Version,
    as_json,
    chart_of,
    read_history,
    report_of,
    short_labels,
    summary_of,
    tables_of,
)
from lm_eval_cora.report.markdown import as_markdown
from lm_eval_cora.runs.grouping import read_runs
from tests.support.messages import tells, user_error
from tests.support.simulated import knows
from tests.support.written import otherwise, put, varied, write


def put_run(folder, rule, task, month, model, **options):  # type: ignore[no-untyped-def]
    """Write a run with a date."""
    written = write(folder, rule, task, {"questions": 5, **options}, model)
    for path in (written.samples, written.results):
        head, _, tail = path.name.rpartition("_")
        path.rename(path.with_name(f"{head}_2026-{month:02}{tail[7:]}"))


Read = tuple[list[TaskHistory], list[str]]


def better(doc):
    """Like `varied`, but with every third question right in all variants."""
    return knows(doc) if sum(map(ord, doc["question_id"])) % 3 == 0 else varied(doc)


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Four versions by date, whose folders are in another order. The last one has another seed."""
    folder = tmp_path_factory.mktemp("versions")
    for place, (rule, month, seed) in enumerate([(better, 3, 0), (varied, 1, 0), (otherwise, 2, 0), (varied, 4, 1)]):
        put_run(folder / str(place), rule, "cora_demo_prompts", month, f"org/v{month}", seed=seed)
    put_run(folder / "0", better, "cora_demo_order", 3, "org/v3")
    return folder


@pytest.fixture(scope="module")
def history(versions):
    return read_history([versions])


def test_versions_are_sorted_by_date_and_compared_with_the_one_before(history, versions):
    (order, prompts), _ = history
    assert [version.label for version in order.versions] == ["org/v3"]
    assert [version.label for version in prompts.versions] == ["org/v1", "org/v2", "org/v3", "org/v4"]
    estimates = {run.model: run.estimates["cora"] for run in read_runs([versions]) if run.name == "cora_demo_prompts"}
    for version in prompts.versions:
        assert tuple(version.estimates["cora"]) == tuple(estimates[version.label])
    for before, after in zip(prompts.versions[:2], prompts.versions[1:3], strict=True):
        alone = difference(estimates[before.label], estimates[after.label])
        together = after.changes["cora"]
        assert together[:2] == alone[:2]
        assert together.low <= alone.low <= alone.high <= together.high  # it holds for both differences together
    assert not prompts.versions[0].changes


def test_other_settings_break_the_line_and_are_named(history):
    (_, prompts), notes = history
    reason = "their settings differ: seed is 0 in the first, 1 in the second"
    assert notes == [f"cora_demo_prompts: org/v3 and org/v4 are not comparable: {reason}"]
    assert prompts.versions[3].not_comparable in notes[0]
    assert tables_of([prompts])[0].rows[3][4:] == ["not comparable", ""]
    chart = chart_of([prompts])
    assert list(chart.versions) == ["v1", "v2", "v3", "v4"]  # without what all names have in common
    assert list(chart.lines[0].breaks) == [3]


def of(label, value, *, better=("cora",), before=None):
    """A version with 100 questions, of which the first ones are right."""
    right = (np.arange(100) < round(100 * value)).astype(float)
    estimates = {"cora": mean_of(right)}
    changes = {"cora": difference(before.estimates["cora"], estimates["cora"])} if before else {}
    return Version(label, "", estimates, "", changes=changes, better=better)


def test_the_summary_names_the_best_version_the_last_one_and_certain_changes():
    first = of("v1", 0.3)
    second = of("v2", 0.6, before=first)
    third = of("v3", 0.58, before=second)
    history = TaskHistory("t", ["cora"], [first, second, third])
    assert summary_of([history]) == (
        "t, CoRA: Best: v2 (0.600 ± 0.049). Last: v3 (0.580 ± 0.050), not certainly different from it. "
        "Certain changes: v1 to v2 (+0.300)."
    )
    lower = of("v4", 0.2, before=third, better=())  # where a higher CoRA is not better
    fallen = summary_of([replace(history, versions=[first, second, third, lower])])
    assert tells(fallen, "Highest: v2 (", "Last: v4 (0.200 ± 0.040), certainly lower.", "v1 to v2", "v3 to v4 (-0.380)")
    assert fallen.endswith(CORA_FALLS)
    alone = replace(lower, not_comparable="another seed", changes={})
    text = summary_of([replace(history, versions=[first, alone])])
    assert tells(text, "Highest: v4 (", "Last: v4 (0.200 ± 0.040). Certain changes: none.")


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["org/m-step-10-chat", "org/m-step-200-chat"], ["10", "200"]),
        (["2026-01-02 03:04:05", "2026-03-02 03:04:05"], ["01", "03"]),
        (["org/a", "org/b c"], ["a", "b c"]),
        (["m-", "m-2"], ["m-", "m-2"]),  # nothing would be left of one
        (["m"], ["m"]),
        ([], []),
    ],
)
def test_labels_without_what_all_have_in_common(labels, shown):
    assert short_labels(labels) == shown


def test_a_task_that_some_versions_lack_has_its_points_at_their_versions(history):
    chart = chart_of(history[0])
    points = {line.name: [place for place, _ in line.points] for line in chart.lines}
    assert points == {"cora_demo_order": [2], "cora_demo_prompts": [0, 1, 2, 3]}
    assert chart.y_label == "CoRA"


def test_chosen_metrics(versions):
    found, _ = read_history([versions], metrics=["mcqa", "acc"])
    titles = [f"cora_demo_prompts: {metric} of the versions" for metric in ("MCQA", "accuracy")]
    assert [table.title for table in tables_of(found[1:])] == titles
    assert len(chart_of(found).lines) == 4
    with user_error("--metric core: there is no such metric. Did you mean 'cora'?", "acc"):
        read_history([versions], metrics=["core"])
    with user_error("--metric templates"):  # a table
        read_history([versions], metrics=["templates"])


def test_a_model_with_several_dates_is_named_by_them(tmp_path):
    for month in (1, 2):
        put_run(tmp_path / str(month), varied, "cora_demo_prompts", month, "org/m")
    (alone,), _ = read_history([tmp_path])
    assert [version.label[:7] for version in alone.versions] == ["2026-01", "2026-02"]
    put_run(tmp_path / "3", varied, "cora_demo_prompts", 3, "org/other")
    (both,), _ = read_history([tmp_path])
    assert [version.label[:13] for version in both.versions] == ["org/m 2026-01", "org/m 2026-02", "org/other"]
    (named,), _ = read_history([tmp_path / "1", tmp_path / "3"], labels={tmp_path / "1": "First"})
    assert [version.label for version in named.versions] == ["First", "org/other"]


def test_one_version_is_an_error(versions, tmp_path):
    with user_error("--history: expected two or more runs of the same", "got one of", "org/v1"):
        read_history([versions / "1"])
    with user_error("got none in"):
        read_history([tmp_path])
    with user_error("a file of answers has no date"):
        read_history([put(tmp_path / "answers.csv", ["question,picked,answer", "q,a,a"])])


def test_the_page_and_json_have_the_same_numbers(history):
    histories, notes = history
    page = as_markdown(report_of(histories, notes, "History"))
    for task in as_json(histories):
        for version in task["versions"]:
            assert f"{version['metrics']['cora']['value']:.3f}" in page
    assert f"- {notes[0]}" in page
    assert as_json(histories)[1]["versions"][3]["metrics"]["cora"]["difference"]["value"] is None
