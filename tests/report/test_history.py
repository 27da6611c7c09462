"""The versions of a model over time."""

import json
from dataclasses import replace

import numpy as np
import pytest

from lm_eval_cora.metrics import difference
from lm_eval_cora.metrics.consistency import CORA_FALLS
from lm_eval_cora.metrics.estimate import mean_of
from lm_eval_cora.renderers.canvas import short_labels
from lm_eval_cora.renderers.markdown import as_markdown
from lm_eval_cora.report.history import (
    TaskHistory,
    Version,
    as_json,
    chart_of,
    read_history,
    report_of,
    summary_of,
    tables_of,
)
from lm_eval_cora.runs.grouping import read_runs
from tests.support.leaderboards import SKY, entry, state_of_helm
from tests.support.messages import tells, user_error
from tests.support.simulated import knows
from tests.support.written import otherwise, put, varied, write


def put_run(folder, rule, task, month, model, **options):  # type: ignore[no-untyped-def]
    """Write a run with a date."""
    written = write(folder, rule, task, {"questions": 5, **options}, model)
    for path in (written.samples, written.results):
        head, _, tail = path.name.rpartition("_")
        path.rename(path.with_name(f"{head}_2026-{month:02}{tail[7:]}"))


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
    histories, notes = read_history([versions])
    return histories, [note for note in notes if "follow the format" not in note]


def test_versions_are_sorted_by_date_and_compared_with_the_one_before(history, versions):
    (order, prompts), _ = history
    assert [version.label for version in order.versions] == ["org/v3"]
    assert [version.label for version in prompts.versions] == ["org/v1", "org/v2", "org/v3", "org/v4"]
    estimates = {run.model: run.estimates["cora"] for run in read_runs([versions]) if run.name == "cora_demo_prompts"}
    for version in prompts.versions:
        assert tuple(version.estimate("cora")) == tuple(estimates[version.label])
        assert len(version.run.ids) == 0  # it does not keep the answers
    changes = prompts.differences["cora"]
    assert changes.keys() == {(0, 1), (1, 2), (0, 2)}
    for (before, after), together in changes.items():
        alone = difference(*(estimates[prompts.versions[place].label] for place in (before, after)))
        assert together[:2] == alone[:2]
        assert together.low <= alone.low <= alone.high <= together.high  # it holds for all differences together


def test_other_settings_break_the_line_and_are_named(history):
    (_, prompts), notes = history
    reason = "their settings differ: seed is 0 in the first, 1 in the second"
    assert notes == [f"cora_demo_prompts: org/v3 and org/v4 are not comparable: {reason}"]
    assert prompts.versions[3].not_comparable in notes[0]
    assert tables_of([prompts])[0].rows[3][4:] == ["not comparable", ""]
    assert list(chart_of([prompts]).lines[0].breaks) == [3]


def versions_of(*values, higher=True, places=100):
    """Versions with these shares of 100 questions, of which the first ones are right."""
    right = [np.arange(places) < round(places * value) for value in values]
    scores = [{"cora": mean_of(each.astype(float))} for each in right]
    runs = [entry(f"v{place}", 0, scores=own, higher={"cora": higher}) for place, own in enumerate(scores, start=1)]
    return TaskHistory("t", ["cora"], list(map(Version, runs)))


def test_the_summary_names_the_best_version_the_last_one_and_certain_changes():
    assert summary_of([versions_of(0.3, 0.6, 0.58)]) == (
        "t, CoRA: Best: v2 (0.600 ± 0.049). Last: v3 (0.580 ± 0.050), not certainly different from it. "
        "Since v1: +0.280 ± 0.045 (+0.190 to +0.392). Certain changes: v1 to v2 (+0.300), v1 to v3 (+0.280)."
    )
    fallen = summary_of([versions_of(0.3, 0.6, 0.58, 0.2, higher=False)])  # where a higher CoRA is not better
    assert tells(fallen, "Highest: v2 (", "Last: v4 (0.200 ± 0.040), certainly lower.", "v1 to v2", "v3 to v4 (-0.380)")
    assert fallen.endswith(CORA_FALLS)
    first, last = versions_of(0.3, 0.2, higher=False).versions
    alone = TaskHistory("t", ["cora"], [first, replace(last, not_comparable="another seed")])
    assert tells(summary_of([alone]), "Highest: v2 (", "Last: v2 (0.200 ± 0.040). Certain changes: none.")


def test_a_slow_drift_is_seen():
    """No version differs certainly from the one before, but the last one does from the first one."""
    drift = versions_of(0.5, 0.54, 0.58, 0.62)
    assert summary_of([drift]).endswith("Certain changes: v1 to v4 (+0.120).")
    (found,) = as_json([drift])
    first = found["versions"][0]["metrics"]["cora"]
    assert first["to_last"]["low"] > 0
    assert first["difference"]["value"] is None


def test_logs_and_answers_are_versions_too(tmp_path):
    """Without a date in their names they are in the order of the arguments, and labels name them."""
    lines = ["question,picked,answer", *(f"q{number},a,a" for number in range(9))]
    paths = [put(tmp_path / f"{name}.csv", [*lines, f"x,{name},a"]) for name in "ba"]
    (answers,), _ = read_history(paths, labels={paths[0]: "First"})
    assert [(version.label, version.estimate("acc").value) for version in answers.versions] == [
        ("First", 0.9),
        ("a", 1),
    ]
    for version, text in (("v1", "B"), ("v2", "A")):
        state = json.dumps(state_of_helm("m", *SKY)[0]).replace('"text": "A"', f'"text": "{text}"')
        put(tmp_path / "runs" / version / "sky" / "scenario_state.json", [state])
    (sky,), _ = read_history([tmp_path / "runs" / version for version in ("v1", "v2")])
    assert (sky.task, [(version.label, version.estimate("acc").value) for version in sky.versions]) == (
        "sky",
        [("1", 0), ("2", 1)],
    )


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


def test_the_page_and_json_have_the_same_numbers(history):
    histories, notes = history
    page = as_markdown(report_of(histories, notes, "History"))
    for task in as_json(histories):
        for version in task["versions"]:
            assert f"{version['metrics']['cora']['value']:.3f}" in page
    assert f"- {notes[0]}" in page
    assert as_json(histories)[1]["versions"][3]["metrics"]["cora"]["difference"]["value"] is None
