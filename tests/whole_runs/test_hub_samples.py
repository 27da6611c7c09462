"""Real rows in the layout of the Hub; skipped without the folder of samples beside the checkout."""

import re
from pathlib import Path

import datasets
import pytest

from lm_eval_cora.questions.question import FIRST_FILLER
from lm_eval_cora.runs.task_files import benchmark
from tests.support.building import build
from tests.support.hub import rows_in
from tests.support.simulated import knows, run, scores

HUB = Path(__file__).parents[3] / "shared" / "hub"
pytestmark = pytest.mark.skipif(not HUB.is_dir(), reason=f"no samples in {HUB}")


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path_factory, monkeypatch):
    # load_dataset("owner/name") finds a local folder of that name.
    monkeypatch.chdir(HUB)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.getbasetemp() / "samples")
    monkeypatch.setattr(datasets, "load_dataset", rows_in(HUB))


RIGHT = {
    "mmlu": lambda row: row["choices"][row["answer"]],
    "arc_challenge": lambda row: row["choices"]["text"][row["choices"]["label"].index(row["answerKey"])],
    "truthfulqa": lambda row: row["mc1_targets"]["choices"][0],
    "medqa": lambda row: row["answer"],
    "medmcqa": lambda row: row[("opa", "opb", "opc", "opd")[row["cop"]]],
    "mmlu_pro": lambda row: row["options"]["ABCDEFGHIJ".index(row["answer"])],
    "agieval": lambda row: row["choices"][row["gold"][0]][3:],
}
"""The right answer's text, read from the row itself."""


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_answer_is_the_sources(name):
    task = build(f"cora_{name}", option_references="ignore")
    source = benchmark(name).source
    parts = [datasets.load_dataset(path, *source.config, split=source.split) for path in source.hub]
    rows = [row for part in parts for row in part]
    originals = [doc for doc in task.eval_docs if doc["kind"] == "original"]
    assert len(originals) == len(rows)
    for doc, row in zip(originals, rows, strict=True):
        on_one_line = " ".join(RIGHT[name](row).split())
        assert doc["choices"][doc["printed"].index(doc["answer"])] == on_one_line


ROWS = {
    "mmlu": (96, {4}),
    "arc_challenge": (60, {3, 4}),
    "truthfulqa": (60, set(range(2, 12))),
    "medqa": (60, {5}),
    "medmcqa": (60, {4}),
    "mmlu_pro": (84, {4, 5, 8, 9, 10}),
    "agieval": (150, {4, 5}),
}
"""The number of rows of each benchmark, and the numbers of options they have."""

PAIRS = [(name, "") for name in ROWS]
PAIRS += [("truthfulqa", form) for form in ("_plus_mc", "_revas", "_prompts", "_order_mc", "_sampling")]
PAIRS += [("agieval", "_plus_mc"), ("medqa", "_revas"), ("mmlu_pro", "_prompts"), ("arc_challenge", "_order_mc")]
"""Every benchmark in one form, and each other probe on two: TruthfulQA has from 2 to 11 options."""


@pytest.mark.parametrize(("benchmark", "form"), PAIRS)
def test_every_row_can_be_asked(benchmark, form, caplog):
    """The prompts of all rows are made. Those of twelve are answered."""
    caplog.set_level("INFO")
    rows, sizes = ROWS[benchmark]
    name = f"cora_{benchmark}{form}"
    task = build(name)
    # Samples have no original, and all have the same prompt.
    originals = [doc for doc in task.eval_docs if doc["original"] or doc["kind"] == "sample_1"]
    left_out = sum(
        map(int, re.findall(rf"{benchmark}: (?:left out (?=\d+ of)|questions left out .*: )(\d+)", caplog.text))
    )
    assert len(originals) + left_out == rows
    assert left_out <= 1
    assert {len(doc["choices"]) for doc in originals} == sizes
    assert f"{benchmark}: got {rows} rows from" in caplog.text
    for doc in task.eval_docs:
        prompt = task.doc_to_text(doc)
        # The prompt contains every text unchanged.
        assert doc["question"] in prompt
        assert all(choice in prompt for choice in doc["choices"])
        for choice, identity in zip(doc["choices"], doc["printed"], strict=True):
            assert identity < FIRST_FILLER or choice.casefold() not in doc["question"].casefold()
    results = run(knows, name, {"questions": 12})
    values = scores(results, name)
    assert values["acc"] == values.get("mcqa", 1.0) == 1.0
    assert all(each["arguments"][0][0].endswith(task.doc_to_text(each["doc"])) for each in results["samples"][name])


def test_every_problem_of_math_can_be_asked():
    pytest.importorskip("math_verify")
    for task, variants in (("cora_math_prompts", 10), ("cora_math_sampling", 5)):
        results = run(knows, task)
        values = scores(results, task)
        # The reference is equivalent to itself, so math-verify or the notation can read it.
        assert (values["acc"], values["consistency_rate"], values["timeouts"]) == (1.0, 1.0, 0.0)
        assert len(results["samples"][task]) == 84 * variants
    answers = {sample["doc"]["question_id"]: sample["doc"]["answer"] for sample in results["samples"][task]}
    assert answers["algebra-test-9"] == r"100\%"
    assert r"3, \frac{2}{5}" in answers.values()
