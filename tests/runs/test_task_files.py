"""The descriptions of the tasks, read without the harness."""

import pytest

from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.metrics.entries import is_printed
from lm_eval_cora.runs.task_files import probe_metrics, task_list
from lm_eval_cora.variants.probes import PROBES
from tests.support.names import NAMES, benchmark_of, probe_of
from tests.support.simulated import knows
from tests.support.written import put, the_run, write

TASKS = {task.name: task for task in task_list()}


@pytest.fixture(autouse=True)
def _no_inventory(monkeypatch):
    """Skip the list of installed packages that the harness requests from pip: it takes longer than our runs."""
    monkeypatch.setattr("lm_eval.evaluator.add_env_info", lambda results: None)


def test_the_tasks():
    assert sorted(TASKS) == NAMES
    assert set(PROBES) == {path.stem for path in (tasks_folder() / "_probes").iterdir()}
    for name, task in TASKS.items():
        language = "_am" if "global_mmlu" in name else ""
        assert (task.benchmark.name, task.probe) == (f"{benchmark_of(name)}{language}", probe_of(name))
        assert task.form == ("loglikelihood" if name.endswith("_mc") else "generate")
        assert task.form in PROBES[task.probe].formats


def test_divergent_has_two_and_six_for_each_distractor():
    for benchmark, (fewest, most) in {"medqa": (5, 5), "arc_challenge": (3, 5), "local": (2, 26)}.items():
        assert TASKS[f"cora_{benchmark}_mc"].docs_per_question() == (2 + 6 * (fewest - 1), 2 + 6 * (most - 1))


def test_the_metrics_of_a_probe_can_be_called():
    for entries in map(probe_metrics, PROBES):
        assert all(callable(entry["aggregation"]) for entry in entries)
        assert len({entry["metric"] for entry in entries}) == len(entries)


@pytest.mark.parametrize("orders", ["swap", "cyclic"])
def test_a_run_has_the_features_of_its_task(orders, tmp_path):
    """The two orders of two options are all rotations, too, but only `cyclic` prints the letter bias."""
    rows = [{"question": f"{n}?", "choices": ["Ice", "Fog"], "answer": n % 2} for n in range(3)]
    options = {"data_files": str(put(tmp_path / "q.jsonl", rows)), "orders": orders}
    found = the_run(write(tmp_path / "out", knows, "cora_local_order_mc", options).folder)
    assert ("acc_permuted" in found.estimates) == ("letter_prior" in found.studies) == (orders == "cyclic")
    assert {entry["metric"] for entry in found.entries if is_printed(entry)} == {
        name for name in found.source.metrics if not name.endswith("_stderr")
    }
