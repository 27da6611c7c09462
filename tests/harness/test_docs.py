from __future__ import annotations

import csv
import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import datasets
import pytest

from lm_eval_cora.discovery.task_files import benchmark
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.compat import slim
from lm_eval_cora.harness.docs import chosen_docs, doc_to_text, load_benchmark, process_docs
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.options import Options
from lm_eval_cora.variants.probes import PROBES
from tests.support.messages import tells
from tests.support.rows import LOCAL, on_the_hub, write
from tests.support.simulated import Simulated, knows, run, scores

DEMO = benchmark("demo")
MEDQA = benchmark("medqa")
MMLU = benchmark("mmlu")


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
    assert tells(caplog.text, "demo: option 'questions': ", "500", "120")


def test_categories() -> None:
    assert {one.rpartition("-")[0] for one in ids(Options(categories=("physics", "history")))} == {"physics", "history"}
    with pytest.raises(UserError, match=r"'phisics'.*: astronomy, "):
        ids(Options(categories=("phisics",)))


def test_local_and_questions_with_option_references(tmp_path: Path) -> None:
    plain = {"question": "Which?", "choices": ["Ice", "Fog"], "answer": "A"}
    path = write(tmp_path / "my.jsonl", plain, {**plain, "choices": ["Ice", "All of the above"]})
    assert len(rows_of(benchmark=LOCAL, options=Options(data_files=(path,)))) == 2
    skipping = Options(data_files=(path,), skip_option_references=True)
    assert [row["id"] for row in rows_of(benchmark=LOCAL, options=skipping)] == ["row-0"]
    only = write(tmp_path / "only.jsonl", {**plain, "choices": ["Ice", "All of the above"]})
    with pytest.raises(UserError, match="local: no question is left by the options"):
        rows_of(benchmark=LOCAL, options=Options(data_files=(only,), skip_option_references=True))


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_texts_of_every_kind_survive_the_way_from_file_to_prompt(suffix: str, tmp_path: Path) -> None:
    choices = ["None", "N/A", "0", '"שלום" $\\frac{1}{2}$\nline two ']
    printed = ["None", "N/A", "0", '"שלום" $\\frac{1}{2}$ line two']
    row = {"question": "x" * 30_000 + "\n{{ 7 * 7 }}", "subject": "null", "choices": choices, "answer": 3}
    path = tmp_path / f"mine.{suffix}"
    if suffix == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerow({**row, "choices": json.dumps(choices)})
    elif suffix == "parquet":
        datasets.Dataset.from_list([row]).to_parquet(path)
    else:
        write(path, row)
    (loaded,) = rows_of(benchmark=MMLU, options=Options(data_files=(str(path),)))
    assert (loaded["question"], loaded["choices"], loaded["category"]) == (row["question"], printed, "null")
    doc = process_docs([loaded], PROBES["divergent"])[0]
    assert doc_to_text(doc).endswith(
        f"Question: {row['question']}\nChoices:\nA. None\nB. N/A\nC. 0\nD. {printed[3]}\nAnswer:"
    )


def test_the_hub_out_of_reach_is_one_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    with pytest.raises(UserError) as error:
        rows_of(benchmark=on_the_hub(MEDQA, revision="main"))
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
    assert [one["id"] for one in rows_of(benchmark=MEDQA)] == ["test-0", "test-2"]
    source = "lavita/medical-qa-datasets (med-qa-en-5options-source, test)"
    assert f"medqa: got 3 rows from {source}, the published split has 1273" in caplog.text
    assert tells(caplog.text, "medqa: left out 1 of 3 questions: ", "option", "(row 1)")
    assert f"medqa: 2 of 3 questions from {source}" in caplog.text


def test_what_is_asked_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load_dataset(*arguments: Any, **keywords: Any) -> list[Any]:
        asked.append((arguments, keywords))
        return [{"question": "Which?", "options": {"A": "Ice", "B": "Fog"}, "answer_idx": "A"}]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    rows_of(benchmark=on_the_hub(MEDQA, revision="abc"))
    assert asked == [((*MEDQA.source.hub, *MEDQA.source.config), {"split": "test", "revision": "abc"})]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"split": "dev"}, r"\(config 'med-qa-en-5options-source', split 'dev'\) .*\n  ValueError: Unknown split"),
        (
            {"config": ("v2",)},
            r"\(config 'v2', split 'test'\) from the Hugging Face Hub\.\n  ValueError: BuilderConfig",
        ),
        ({"hub": ("lavita/renamed",)}, r"medqa: cannot load 'lavita/renamed' \(config .*, split 'test'\) from the Hug"),
    ],
)
def test_what_the_hub_no_longer_offers(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        rows_of(benchmark=on_the_hub(MEDQA, **changed))
    assert str(error.value).count("--metadata") == 1


AGIEVAL = on_the_hub(benchmark("agieval"), hub=("hails/agieval-sat-en", "hails/agieval-lsat-ar"))


@pytest.mark.usefixtures("hub")
def test_a_benchmark_in_several_parts() -> None:
    rows = rows_of(benchmark=AGIEVAL)
    assert [row["id"] for row in rows] == [f"{part}-test-{n}" for part in ("sat-en", "lsat-ar") for n in range(5)]
    assert {row["id"].partition("-test")[0] == row["category"] for row in rows} == {True}


@pytest.mark.usefixtures("hub")
def test_a_local_copy_in_several_parts_has_the_same_ids(tmp_path: Path) -> None:
    on_the_hub = rows_of(benchmark=AGIEVAL)
    for part in ("sat-en", "lsat-ar"):
        for number in range(2):  # each in two files
            (tmp_path / part).mkdir(exist_ok=True)
            rows = datasets.load_dataset(f"hails/agieval-{part}", split="test").to_list()
            write(tmp_path / part / f"{number}.jsonl", *(rows[:3] if number == 0 else rows[3:]))
    files = tuple(str(tmp_path / part / f"{number}.jsonl") for part in ("sat-en", "lsat-ar") for number in range(2))
    assert rows_of(benchmark=AGIEVAL, options=Options(data_files=files)) == on_the_hub
    # One file for all, in any order: a column says it.
    mixed = [
        {**row, "subset": part}
        for pair in zip(
            *(datasets.load_dataset(f"hails/agieval-{part}", split="test").to_list() for part in ("sat-en", "lsat-ar")),
            strict=True,
        )
        for part, row in zip(("sat-en", "lsat-ar"), pair, strict=True)
    ]
    path = write(tmp_path / "mine.jsonl", *mixed)
    assert rows_of(benchmark=AGIEVAL, options=Options(data_files=(path,))) == on_the_hub


@pytest.mark.usefixtures("hub")
def test_a_part_that_is_missing_is_an_error_and_not_a_smaller_benchmark() -> None:
    changed = on_the_hub(AGIEVAL, hub=("hails/agieval-sat-en", "hails/agieval-lsat-xy"))
    with pytest.raises(UserError, match="agieval: cannot load 'hails/agieval-lsat-xy'"):
        rows_of(benchmark=changed)


def test_rows_of_mmlu_pro_that_contradict_themselves_are_left_out_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    row = {"question": "Which?", "options": ["Ice", "Fog", "Dew"], "answer": "B", "category": "law"}
    rows = [{**row, "question_id": n, "answer_index": 1 + n % 2} for n in range(4)]
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: rows)
    kept = rows_of(benchmark=benchmark("mmlu_pro"))
    assert [one["id"] for one in kept] == ["0", "2"]
    assert tells(caplog.text, "mmlu_pro: left out 2 of 4 questions: ", "contradict", "(row 1, row 3)")


def test_a_local_copy_replaces_the_hub(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {key: f"Vitamin {key}" for key in "ABCDE"}
    path = write(tmp_path / "test.jsonl", {"question": "Scurvy?", "options": options, "answer_idx": "C"})
    assert rows_of(benchmark=MEDQA, options=Options(data_files=(path,)))[0]["answer"] == 2
    assert "published" not in caplog.text  # a local copy may be a part
    # The Hub's ids, because they seed the reorderings and the sample.
    assert rows_of(benchmark=MEDQA, options=Options(data_files=(path,)))[0]["id"] == "test-0"


@pytest.mark.usefixtures("hub")
def test_a_benchmark_of_several_configurations_has_them_in_its_ids(caplog: pytest.LogCaptureFixture) -> None:
    both = rows_of(benchmark=benchmark("mmlu_redux", {"config": ("anatomy", "virology")}))
    assert [row["id"] for row in both] == [f"{part}-test-{n}" for part in ("anatomy", "virology") for n in range(3)]
    assert [row["category"] for row in both] == ["anatomy"] * 3 + ["virology"] * 3
    assert tells(caplog.text, "left out 2 of 8", "error_type 'wrong_groundtruth'", "(anatomy row 3, virology row 3)")
    assert "published" not in caplog.text  # it is a part of the benchmark
    # The ids of a part do not depend on the others: they seed the variants.
    assert rows_of(benchmark=benchmark("mmlu_redux", {"config": ("virology",)})) == both[3:]


def test_columns_of_another_source_point_to_the_task_for_them(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", {"question": "Which?", "A": "Ice", "B": "Fog", "answer": "A"})
    with pytest.raises(UserError) as error:
        rows_of(benchmark=MEDQA, options=Options(data_files=(path,)))
    assert tells(str(error.value), "medqa: ", "'options'", "question, A, B, answer", "mine.jsonl", "cora_local")


def test_two_datasets_are_parts_and_their_ids_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"question": "Which?", "choices": ["Ice", "Fog"], "answer": "A"}
    monkeypatch.setattr(datasets, "load_dataset", lambda path, *_, **__: [{**row, "question": f"{path}?"}] * 2)
    both = benchmark("hub", {"hub": ("a/one", "a/two"), "split": "test"})
    assert both.name == "one and 1 more"
    assert [one["id"] for one in rows_of(benchmark=both)] == ["one-test-0", "one-test-1", "two-test-0", "two-test-1"]


PLAIN = {"question": "Which?", "choices": ["Ice", "Fog"], "answer": "A"}
TWICE = {"hub": ("a/riddles",), "config": ("one", "two"), "split": "test"}
MEDQA_FILE = """--metadata '{"cora": {"data_files": "medqa.jsonl"}}'"""
GATED = type("DatasetNotFoundError", (Exception,), {})("Dataset 'Idavidrein/gpqa' is a gated dataset on the Hub")
CAUSED = RuntimeError("An error occurred while generating the dataset")
CAUSED.__cause__ = ValueError("column names\ndon't match")

REFUSED: dict[str, tuple[Any, Benchmark, tuple[str, ...]]] = {
    "a renamed column": (
        [{"sent1": "Which?"}],
        MEDQA,
        ("medqa: row 0", "'question'", "sent1\n", "(med-qa-en-5options-source, test)\n", "answer_idx", MEDQA_FILE),
    ),
    "a part without rows": ([], AGIEVAL, ("agieval: there are no rows in hails/agieval-sat-en",)),
    "a cause": (CAUSED, MEDQA, ("generating the dataset\n  ValueError: column names don't match\n",)),
    "no such dataset": (
        FileNotFoundError("not there"),
        benchmark("hub", {"hub": ("nobody/nothing",), "split": "test"}),
        ("nothing: cannot load 'nobody/nothing'", "'hub', 'config', 'split' and 'revision'"),
    ),
    "a wrong column": (
        [{"Stem": "Which?"}],
        benchmark("hub", {"hub": ("a/riddles",), "split": "test", "question": "stm"}),
        ("riddles: row 0: no column 'stm'. Did you mean 'Stem'?", "columns are: Stem"),
    ),
    "no access": (
        GATED,
        benchmark("gpqa_main"),
        ("gpqa_main: cannot load 'Idavidrein/gpqa'", "https://huggingface.co/datasets/Idavidrein/gpqa", "HF_TOKEN"),
    ),
    "an id twice": ([{"id": 1, **PLAIN}], benchmark("hub", TWICE), ("riddles: ", "'1'", "one, two", "{{ config }}")),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_with_the_rows_of_the_hub(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, source, parts = REFUSED[what]
    hub = Mock(side_effect=rows) if isinstance(rows, Exception) else Mock(return_value=rows)
    monkeypatch.setattr(datasets, "load_dataset", hub)
    with pytest.raises(UserError) as error:
        rows_of(benchmark=source)
    assert tells(str(error.value), *parts)
    assert source in (MEDQA, AGIEVAL) or "data_files" not in str(error.value)


def test_ids_of_two_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: [{"id": 1, **PLAIN}])
    found = rows_of(benchmark=benchmark("hub", {**TWICE, "id": "{{ config }}-{{ id }}"}))
    assert [one["id"] for one in found] == ["one-1", "two-1"]


HOW = """--metadata '{"cora": {"data_files": "my.jsonl"}}'"""


@pytest.mark.parametrize(
    ("source", "files", "parts"),
    [
        (DEMO, ("my.jsonl",), ("demo: ", "'data_files'", " cora_local")),
        (LOCAL, ("empty.jsonl",), ("local: there are no rows\n  in ", "empty.jsonl")),
        (LOCAL, (), (HOW, "question, choices and answer")),
        (LOCAL, ("my.jsonl", "my.jsonl"), ("my.jsonl is named twice",)),
    ],
)
def test_what_is_wrong_with_files(source: Benchmark, files: tuple[str, ...], parts: Any, tmp_path: Path) -> None:
    write(tmp_path / "my.jsonl", PLAIN)
    write(tmp_path / "empty.jsonl")
    with pytest.raises(UserError) as error:
        rows_of(benchmark=source, options=Options(data_files=tuple(str(tmp_path / name) for name in files)))
    assert tells(str(error.value), *parts)


def test_several_files(tmp_path: Path) -> None:
    paths = tuple(write(tmp_path / name, PLAIN) for name in ("one.jsonl", "two.jsonl"))
    assert len(rows_of(benchmark=LOCAL, options=Options(data_files=paths))) == 2


# ---- the docs of a run


def test_equal_settings_become_one_object_and_prompts_go_if_nobody_reads_them() -> None:
    instances = [SimpleNamespace(arguments=(f"prompt {n}", {"until": [], "limit": n // 2})) for n in range(4)]
    slim(instances, False)
    assert [instance.arguments[0] for instance in instances] == ["prompt 0", "prompt 1", "prompt 2", "prompt 3"]
    assert instances[0].arguments[1] is instances[1].arguments[1] is not instances[2].arguments[1]
    slim(instances, True)
    assert [instance.arguments for instance in instances] == [("", {"until": [], "limit": n // 2}) for n in range(4)]


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc", "cora_demo_revas"])
def test_prompts_are_kept_for_samples_and_scores_do_not_depend_on_them(task: str) -> None:
    logged = run(knows, task, {"questions": 2}, log_samples=True)
    for sample in logged["samples"][task]:
        assert "Question: " in sample["arguments"][0][0]
    assert scores(run(knows, task, {"questions": 2}, log_samples=False), task) == scores(logged, task)


class Keeping(Simulated):
    """Stores the request objects."""

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        self.requests = requests
        return super().generate_until(requests, disable_tqdm)


@pytest.mark.parametrize("logged", [True, False])
def test_prompts_are_freed_after_the_inference(logged: bool) -> None:
    model = Keeping(knows)
    run(model, "cora_demo", {"questions": 1}, log_samples=logged)
    assert [request.args[0] for request in model.requests] == (model.prompts if logged else [""] * 26)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"limit": 0}, "mine: --limit 0: expected a number of questions from 1"),
        ({"limit": "2"}, "mine: --limit '2': expected a number of questions"),
        ({"limit": float("nan")}, "mine: --limit nan: expected"),
        ({"limit": float("inf")}, "mine: --limit inf: expected"),
        ({"samples": [1, 3]}, "mine: --samples 3: expected the number of a question, from 0 to 2"),
        ({"samples": [True]}, "mine: --samples True: expected"),
        ({"world_size": 4}, "mine: expected at least one variant per process, got 3 variants for 4 processes"),
    ],
)
def test_docs_that_cannot_be_chosen(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        chosen_docs("mine", [{"question_id": name} for name in "abc"], **asked)


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"limit": 1}, [0, 1]),
        ({"limit": 2.0, "rank": 0}, [0, 1, 2]),
        ({"limit": 99}, [0, 1, 2, 3, 4, 5]),
        ({"limit": 1 / 3}, [0, 1]),
        ({"limit": 0.34}, [0, 1, 2]),  # 1.02 questions, rounded up as in the harness
        ({"samples": [2, 0, 2]}, [0, 1, 3, 4, 5]),
    ],
    ids=str,
)
def test_whole_questions_are_chosen(asked: dict[str, Any], chosen: list[int]) -> None:
    docs = [{"question_id": question} for question in "aabccc"]
    assert chosen_docs("mine", docs, **asked) == chosen


def test_a_sample_of_variants_has_whole_questions() -> None:
    found = scores(run(knows, "cora_demo_plus", {"variants": 1}, limit=3), "cora_demo_plus")
    assert float(found["acc"]) == 1
