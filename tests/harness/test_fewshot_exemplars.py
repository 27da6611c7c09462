from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import datasets
import pytest

from lm_eval_cora.discovery.task_files import benchmark
from lm_eval_cora.harness.docs import load_benchmark
from lm_eval_cora.harness.fewshot import load_exemplars
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Question
from tests.support.messages import tells
from tests.support.rows import on_the_hub, write

AGIEVAL = on_the_hub(benchmark("agieval"), hub=("hails/agieval-sat-en", "hails/agieval-lsat-ar"))
MEDQA = benchmark("medqa")
MMLU = benchmark("mmlu")


@pytest.mark.usefixtures("hub")
def test_exemplars_come_from_the_fewshot_split_and_from_the_scored_one_where_there_is_none() -> None:
    asked = Question("x", "Which?", ("Ice", "Fog"), 0, "sat-en")
    of_medqa = load_exemplars(options=Options(questions=1), benchmark=MEDQA)
    assert {one.id for one in of_medqa.draw(asked, 8, 0)} == {f"train-{n}" for n in range(8)}
    of_agieval = load_exemplars(options=Options(questions=1), benchmark=AGIEVAL)
    assert {one.id for one in of_agieval.draw(asked, 5, 0)} == {f"sat-en-test-{n}" for n in range(5)}


def test_exemplars_of_a_local_copy_are_scored_questions_and_a_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = {key: f"Vitamin {key}" for key in "ABCDE"}
    path = write(
        tmp_path / "test.jsonl",
        *({"question": f"Scurvy, {n}?", "options": options, "answer_idx": "C"} for n in range(3)),
    )
    load_exemplars(
        options=Options(data_files=(path,)), benchmark=on_the_hub(MEDQA, fewshot_split=None)
    )  # no split of its own: nothing to say
    assert "scored" not in caplog.text
    load_exemplars(options=Options(data_files=(path,)), benchmark=MEDQA)
    assert tells(caplog.text, "medqa: exemplars", "scored", "'train'")


def test_a_row_that_cannot_be_an_exemplar_is_left_out_with_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"question": "Which?", "subject": "law", "choices": ["Ice", "Fog", "Dew", "Fog"], "answer": 0}
    write(tmp_path / "test.jsonl", row)
    write(tmp_path / "train.jsonl", row, {**row, "answer": 1}, {**row, "question": "Why?"})
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    source = on_the_hub(MMLU, hub=(str(tmp_path),), config=(), fewshot_split="train")
    pool = load_exemplars(options=Options(), benchmark=source)
    asked = Question("q", "Who?", ("Ice", "Fog"), 0, "law")
    assert [one.stem for one in pool.draw(asked, 5, 0)] == ["Which?", "Why?"]
    lines = [record.getMessage() for record in caplog.records if "possible exemplars" in record.getMessage()]
    assert len(lines) == 1
    assert tells(lines[0], "mmlu: left out 1 of 3 ", "option", "(row 1)")


def test_a_file_of_ones_own_is_not_shown_as_published(tmp_path: Path) -> None:
    row = {"question": "Which?", "subject": "law", "choices": ["Ice", "Fog", "Dew", "Hail"], "answer": 0}
    path = write(tmp_path / "mine.jsonl", row)
    pool = load_exemplars(options=Options(data_files=(path,)), benchmark=MMLU)
    assert not pool.as_published


def test_notes_on_exemplars_are_given(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    row = {"choices": ["Ice", "Fog", "Dew"]}
    splits = {
        "test": [{**row, "question": f"{n}?", "answer": "ABC"[n % 3]} for n in range(12)],
        "train": [{**row, "question": f"{n}!", "answer": 1} for n in range(12)],
    }
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, split, **__: splits[split])
    source = benchmark("hub", {"hub": ("a/riddles",), "split": "test", "fewshot_split": "train"})
    load_benchmark(options=Options(), benchmark=source)
    assert "answer_from" not in caplog.text
    with_train = load_exemplars(options=Options(), benchmark=source)
    assert tells(caplog.text, "riddles: exemplars: ", "'answer_from': 1")
    # What the exemplars are drawn from, and how, is part of the signature.
    of_test = load_exemplars(options=Options(), benchmark=on_the_hub(source, fewshot_split=None))
    as_published = load_exemplars(options=Options(), benchmark=replace(source, exemplars_as_published=True))
    assert len({with_train.signature, of_test.signature, as_published.signature}) == 3
