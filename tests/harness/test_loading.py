from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import datasets
import pytest

from lm_eval_cora.benchmarks import Benchmark, BenchmarkError
from lm_eval_cora.benchmarks.demo import DEMO
from lm_eval_cora.benchmarks.local import LOCAL
from lm_eval_cora.benchmarks.medqa import MEDQA
from lm_eval_cora.harness.loading import load_benchmark
from lm_eval_cora.options import OptionError, Options

MEDQA_ON_THE_HUB = {
    "benchmark": MEDQA,
    "hub_path": "lavita/medical-qa-datasets",
    "hub_config": "med-qa-en-5options-source",
    "hub_split": "test",
}


def rows_of(**arguments: Any) -> list[dict[str, Any]]:
    arguments.setdefault("options", Options())
    return list(load_benchmark(**arguments)["test"])


def ids(options: Options, benchmark: Benchmark = DEMO) -> list[str]:
    return [row["id"] for row in rows_of(options=options, benchmark=benchmark)]


def test_demo() -> None:
    rows = rows_of(benchmark=DEMO)
    assert len(rows) == 120
    assert set(rows[0]) == {"id", "question", "choices", "answer", "category"}


def test_a_sample_is_seeded_and_nested_and_keeps_the_order() -> None:
    everything = ids(Options())
    few, more, other = (ids(Options(questions=n, seed=s)) for n, s in ((10, 0), (20, 0), (10, 1)))
    assert len(few) == 10
    assert set(few) < set(more)
    assert few != other
    assert more == [one for one in everything if one in more]


def test_more_questions_than_there_are(caplog: pytest.LogCaptureFixture) -> None:
    assert len(ids(Options(questions=500))) == 120
    assert "demo: option 'questions': asked for 500, there are 120: all are used" in caplog.text


def test_categories() -> None:
    assert {one.rpartition("-")[0] for one in ids(Options(categories=("physics", "history")))} == {"physics", "history"}
    with pytest.raises(OptionError, match=r"no question has the category 'phisics'. The categories are: astronomy, "):
        ids(Options(categories=("phisics",)))


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_local_and_questions_with_option_references(tmp_path: Path) -> None:
    plain = {"question": "Which?", "choices": ["Ice", "Fog"], "answer": "A"}
    path = write(tmp_path / "my.jsonl", plain, {**plain, "choices": ["Ice", "All of the above"]})
    assert len(rows_of(benchmark=LOCAL, options=Options(data_files=(path,)))) == 2
    skipping = Options(data_files=(path,), skip_option_references=True)
    assert [row["id"] for row in rows_of(benchmark=LOCAL, options=skipping)] == ["row-0"]
    only = write(tmp_path / "only.jsonl", {**plain, "choices": ["Ice", "All of the above"]})
    with pytest.raises(OptionError, match="local: no question is left by the options"):
        rows_of(benchmark=LOCAL, options=Options(data_files=(only,), skip_option_references=True))


def test_the_demo_runs_nobody_elses_questions() -> None:
    with pytest.raises(OptionError, match="for yours there is cora_local"):
        rows_of(benchmark=DEMO, options=Options(data_files=("my.jsonl",)))


def test_several_files(tmp_path: Path) -> None:
    plain = {"question": "Which?", "choices": ["Ice", "Fog"], "answer": "A"}
    paths = tuple(write(tmp_path / name, plain) for name in ("one.jsonl", "two.jsonl"))
    assert len(rows_of(benchmark=LOCAL, options=Options(data_files=paths))) == 2


def test_local_without_a_file() -> None:
    with pytest.raises(BenchmarkError) as error:
        rows_of(benchmark=LOCAL)
    assert str(error.value) == (
        "local: no questions were given. Give a file of your own (jsonl, csv or parquet) with the columns question, "
        """choices, answer: --metadata '{"cora": {"data_files": "local.jsonl"}}'"""
    )


def test_the_hub_out_of_reach_is_one_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    with pytest.raises(BenchmarkError) as error:
        rows_of(**MEDQA_ON_THE_HUB, hub_revision="main")
    message = str(error.value)
    assert message.startswith(
        "medqa: cannot load 'lavita/medical-qa-datasets' (config 'med-qa-en-5options-source', split 'test', "
        "revision 'main') from the Hugging Face Hub.\n"
    )
    assert message.endswith(
        "with the columns question, options, answer_idx: "
        """--metadata '{"cora": {"data_files": "medqa.jsonl"}}'"""
    )


def test_a_hub_set_is_checked_and_says_what_it_got(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    row = {
        "question": "Which vitamin is missing in scurvy?",
        "options": [{"key": key, "value": f"Vitamin {key}"} for key in "ABCDE"],
        "answer_idx": "C",
    }
    twice = {**row, "options": [{"key": key, "value": "Vitamin"} for key in "ABCDE"]}
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: [row, twice, row])
    caplog.set_level(logging.INFO, logger="lm_eval.cora")
    assert [one["id"] for one in rows_of(**MEDQA_ON_THE_HUB)] == ["test-0", "test-2"]
    source = "lavita/medical-qa-datasets (med-qa-en-5options-source, test)"
    assert f"medqa: got 3 rows from {source}, the published split has 1273" in caplog.text
    assert "medqa: left out 1 of 3 questions: 1 with an option equal to the right one (row 1)" in caplog.text
    assert f"medqa: 2 of 3 questions from {source}" in caplog.text


def test_what_is_asked_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load_dataset(*arguments: Any, **keywords: Any) -> list[Any]:
        asked.append((arguments, keywords))
        return [{"question": "Which?", "options": {"A": "Ice", "B": "Fog"}, "answer_idx": "A"}]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    rows_of(**MEDQA_ON_THE_HUB, hub_revision="abc")
    assert asked == [
        ((MEDQA_ON_THE_HUB["hub_path"], MEDQA_ON_THE_HUB["hub_config"]), {"split": "test", "revision": "abc"})
    ]


def test_a_renamed_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: [{"sent1": "Which?"}])
    with pytest.raises(BenchmarkError, match="row 0 has no column 'question', 'options', 'answer_idx'; expected"):
        rows_of(**MEDQA_ON_THE_HUB)


def test_a_local_copy_replaces_the_hub(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {key: f"Vitamin {key}" for key in "ABCDE"}
    path = write(tmp_path / "test.jsonl", {"question": "Scurvy?", "options": options, "answer_idx": "C"})
    assert rows_of(**MEDQA_ON_THE_HUB, options=Options(data_files=(path,)))[0]["answer"] == 2
    assert "published" not in caplog.text  # a local copy may be a part
    # The Hub's ids, because they seed the reorderings and the sample.
    assert rows_of(**MEDQA_ON_THE_HUB, options=Options(data_files=(path,)))[0]["id"] == "test-0"
