import csv
import json
import logging
from types import SimpleNamespace
from unittest.mock import Mock, patch

import datasets
import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.compat import slim
from lm_eval_cora.harness.docs import chosen_docs, doc_to_text, load_benchmark, process_docs
from lm_eval_cora.questions.options import Options
from lm_eval_cora.runs.task_files import benchmark
from lm_eval_cora.variants.probes import PROBES
from tests.support.messages import tells
from tests.support.rows import LOCAL, on_the_hub, write
from tests.support.simulated import Simulated, knows, run, scored

DEMO = benchmark("demo")
MEDQA = benchmark("medqa")
MMLU = benchmark("mmlu")
AGIEVAL = on_the_hub(benchmark("agieval"), hub=("hails/agieval-sat-en", "hails/agieval-lsat-ar"))
PLAIN = {"question": "Which?", "choices": ["Ice", "Fog"], "answer": "A"}


def loaded(benchmark, **options):
    return list(load_benchmark(benchmark=benchmark, options=Options(**options))[0])


def ids(benchmark=DEMO, **options):
    return [question.id for question in loaded(benchmark, **options)]


def test_a_sample_is_seeded_and_nested_and_keeps_the_order(caplog):
    everything = ids()
    few, more, other = ids(questions=10), ids(questions=20), ids(questions=10, seed=1)
    assert (len(everything), len(few)) == (120, 10)
    assert set(few) < set(more)
    assert few != other
    assert more == [one for one in everything if one in more]
    assert ids(questions=500) == everything
    assert tells(caplog.text, "demo: option 'questions': ", "500", "120")


def test_categories():
    assert {one.rpartition("-")[0] for one in ids(categories=("physics", "history"))} == {"physics", "history"}
    with pytest.raises(UserError, match=r"'phisics'.*: astronomy, "):
        ids(categories=("phisics",))


def test_local_and_questions_with_option_references(tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="lm_eval.cora")
    referring = {**PLAIN, "choices": ["Ice", "All of the above"]}
    path, only = write(tmp_path / "my.jsonl", PLAIN, referring), write(tmp_path / "only.jsonl", referring)
    assert ids(LOCAL, data_files=(path,)) == ["row-0", "row-1"]
    assert ids(LOCAL, data_files=(path,), option_references="leave_out") == ["row-0"]
    assert "local: questions left out because their options refer to others: 1" in caplog.text
    with pytest.raises(UserError, match="local: no question is left by the options"):
        ids(LOCAL, data_files=(only,), option_references="leave_out")


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_texts_of_every_kind_survive_the_way_from_file_to_prompt(suffix, tmp_path):
    choices = ["None", "N/A", "0", '"שלום" $\\frac{1}{2}$\nline two ']
    printed = ["None", "N/A", "0", '"שלום" $\\frac{1}{2}$ line two']
    row = {"question": "x" * 30_000 + "\n{{ 7 * 7 }}", "subject": "null", "choices": choices, "answer": 3}
    path = tmp_path / f"mine.{suffix}"
    if suffix == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([row, {**row, "choices": json.dumps(choices)}.values()])
    elif suffix == "parquet":
        datasets.Dataset.from_list([row]).to_parquet(path)
    else:
        write(path, row)
    (question,) = loaded(MMLU, data_files=(str(path),))
    assert (question.stem, [*question.choices], question.category) == (row["question"], printed, "null")
    doc = process_docs([question], PROBES["divergent"])[0]
    end = f"Question: {row['question']}\nChoices:\nA. None\nB. N/A\nC. 0\nD. {printed[3]}\nAnswer:"
    assert doc_to_text(doc).endswith(end)


def test_a_hub_set_is_checked_and_says_what_it_got(monkeypatch, caplog):
    options = [{"key": key, "value": f"Vitamin {key}"} for key in "ABCDE"]
    row = {"question": "Which vitamin is missing in scurvy?", "options": options, "answer_idx": "C"}
    twice = {**row, "options": [{"key": key, "value": "Vitamin"} for key in "ABCDE"]}
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: [row, twice, row])
    caplog.set_level(logging.INFO, logger="lm_eval.cora")
    assert ids(MEDQA) == ["test-0", "test-2"]
    source = "lavita/medical-qa-datasets (med-qa-en-5options-source, test)"
    assert f"medqa: got 3 rows from {source}, the published split has 1273" in caplog.text
    assert tells(caplog.text, "medqa: left out 1 of 3 questions: ", "option", "(row 1)")
    assert f"medqa: 2 of 3 questions from {source}" in caplog.text
    assert "'Which vitamin is missing in scurvy?' -> 'Vitamin C'" in caplog.text


def test_what_is_asked_of_the_hub(monkeypatch):
    rows = [{"question": "Which?", "options": {"A": "Ice", "B": "Fog"}, "answer_idx": "A"}]
    monkeypatch.setattr(datasets, "load_dataset", hub := Mock(return_value=rows))
    ids(on_the_hub(MEDQA, revision="abc"))
    hub.assert_called_once_with(*MEDQA.source.hub, *MEDQA.source.config, split="test", revision="abc")


@pytest.mark.usefixtures("hub")
def test_a_benchmark_in_several_parts_and_a_local_copy_of_it(tmp_path):
    # A part that is missing is an error, not a smaller benchmark.
    with pytest.raises(UserError, match=r"agieval: cannot load 'hails/.*-lsat-xy'(?s:.*)--metadata"):
        ids(on_the_hub(AGIEVAL, hub=(AGIEVAL.source.hub[0], "hails/agieval-lsat-xy")))
    parts, from_the_hub = ("sat-en", "lsat-ar"), loaded(AGIEVAL)
    assert [one.id for one in from_the_hub] == [f"{part}-test-{n}" for part in parts for n in range(5)]
    assert all(one.id.partition("-test")[0] == one.category for one in from_the_hub)
    rows = {part: datasets.load_dataset(f"hails/agieval-{part}", split="test").to_list() for part in parts}
    files = []
    for part in parts:  # each in two files
        (tmp_path / part).mkdir()
        files += [write(tmp_path / part / f"{half}.jsonl", *rows[part][3 * half :][:3]) for half in (0, 1)]
    assert loaded(AGIEVAL, data_files=tuple(files)) == from_the_hub
    # One file for all, in any order: a column says it.
    pairs = zip(*rows.values(), strict=True)
    mixed = [{**row, "subset": part} for pair in pairs for part, row in zip(parts, pair, strict=True)]
    assert loaded(AGIEVAL, data_files=(write(tmp_path / "mine.jsonl", *mixed),)) == from_the_hub


def test_a_local_copy_replaces_the_hub(tmp_path, caplog):
    options = {key: f"Vitamin {key}" for key in "ABCDE"}
    path = write(tmp_path / "test.jsonl", {"question": "Scurvy?", "options": options, "answer_idx": "C"})
    (question,) = loaded(MEDQA, data_files=(path,))
    assert (question.answer, question.id) == (2, "test-0")  # the Hub's id, because it seeds the reorderings
    assert "published" not in caplog.text  # a local copy may be a part


@pytest.mark.usefixtures("hub")
def test_a_benchmark_of_several_configurations_has_them_in_its_ids(caplog):
    both = loaded(benchmark("mmlu_redux", {"config": ("anatomy", "virology")}))
    assert [one.id for one in both] == [f"{part}-test-{n}" for part in ("anatomy", "virology") for n in range(3)]
    assert [one.category for one in both] == ["anatomy"] * 3 + ["virology"] * 3
    assert tells(caplog.text, "left out 2 of 8", "error_type 'wrong_groundtruth'", "(anatomy row 3, virology row 3)")
    assert "published" not in caplog.text  # it is a part of the benchmark
    # The ids of a part do not depend on the others: they seed the variants.
    assert loaded(benchmark("mmlu_redux", {"config": ("virology",)})) == both[3:]


def test_columns_of_another_source_point_to_the_task_for_them(tmp_path):
    path = write(tmp_path / "mine.jsonl", {"question": "Which?", "A": "Ice", "B": "Fog", "answer": "A"})
    with pytest.raises(UserError) as error:
        ids(MEDQA, data_files=(path,))
    assert tells(str(error.value), "medqa: ", "'options'", "question, A, B, answer", "mine.jsonl", "cora_local")


TWICE = {"hub": ("a/riddles",), "config": ("one", "two"), "split": "test"}
MEDQA_FILE = """--metadata '{"cora": {"data_files": "medqa.jsonl"}}'"""
GATED = type("DatasetNotFoundError", (Exception,), {})("Dataset 'Idavidrein/gpqa' is a gated dataset on the Hub")
CAUSED = RuntimeError("An error occurred while generating the dataset")
CAUSED.__cause__ = ValueError("column names\ndon't match")

REFUSED = {
    "out of reach": (
        ConnectionError("Couldn't reach it"),
        on_the_hub(MEDQA, revision="main"),
        (
            "medqa: cannot load 'lavita/medical-qa-datasets' (config 'med-qa-en-5options-source', split 'test', ",
            "revision 'main') from the Hugging Face Hub.\n  ConnectionError: Couldn't reach it",
            f"with the columns question, options, answer_idx: {MEDQA_FILE}",
        ),
    ),
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
def test_what_is_wrong_with_the_rows_of_the_hub(what, monkeypatch):
    rows, source, parts = REFUSED[what]
    hub = Mock(side_effect=rows) if isinstance(rows, Exception) else Mock(return_value=rows)
    monkeypatch.setattr(datasets, "load_dataset", hub)
    with pytest.raises(UserError) as error:
        ids(source)
    assert tells(str(error.value), *parts)
    assert source.name in ("medqa", "agieval") or "data_files" not in str(error.value)


@pytest.mark.parametrize(
    ("declared", "name", "expected"),
    [
        ({**TWICE, "id": "{{ config }}-{{ id }}"}, "riddles", ["one-1", "two-1"]),
        ({"hub": ("a/one", "a/two"), "split": "test"}, "one and 1 more", ["one-test-0", "two-test-0"]),
    ],
)
def test_ids_of_two_parts_do_not_meet(declared, name, expected, monkeypatch):
    key = {"id": 1} if "id" in declared else {}
    monkeypatch.setattr(datasets, "load_dataset", lambda path, *_, **__: [{**key, **PLAIN, "question": f"{path}?"}])
    both = benchmark("hub", declared)
    assert (both.name, ids(both)) == (name, expected)


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
def test_what_is_wrong_with_files(source, files, parts, tmp_path):
    write(tmp_path / "my.jsonl", PLAIN)
    write(tmp_path / "empty.jsonl")
    with pytest.raises(UserError) as error:
        ids(source, data_files=tuple(str(tmp_path / name) for name in files))
    assert tells(str(error.value), *parts)


# ---- the docs of a run
def test_equal_settings_become_one_object_and_prompts_go_if_nobody_reads_them():
    instances = [SimpleNamespace(arguments=(f"prompt {n}", {"until": [], "limit": n // 2})) for n in range(4)]
    for freed in (False, True):
        slim(instances, freed)
        expected = [("" if freed else f"prompt {n}", {"until": [], "limit": n // 2}) for n in range(4)]
        assert [instance.arguments for instance in instances] == expected
    assert instances[0].arguments[1] is instances[1].arguments[1] is not instances[2].arguments[1]


def test_prompts_are_freed_after_the_inference():
    for logged in (True, False):
        model = Simulated(knows)
        with patch.object(model, "generate_until", wraps=model.generate_until) as asked:
            run(model, "cora_demo", {"questions": 1}, log_samples=logged)
        (requests,) = asked.call_args.args
        assert [request.args[0] for request in requests] == (model.prompts if logged else [""] * 26)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"limit": 0}, "mine: --limit 0: expected a number of questions from 1"),
        ({"limit": "2"}, "mine: --limit '2': expected a number of questions"),
        ({"limit": float("nan")}, "mine: --limit nan: expected"),
        ({"limit": float("inf")}, "mine: --limit inf: expected"),
        ({"samples": [1, 3]}, "mine: --samples 3: expected the number of a question, from 0 to 2"),
        ({"samples": [True]}, "mine: --samples True: expected"),
    ],
)
def test_docs_that_cannot_be_chosen(asked, message):
    with pytest.raises(UserError, match=message):
        chosen_docs("mine", [{"question_id": name} for name in "abc"], **asked)


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"limit": 1}, [0, 1]),
        ({"limit": 2.0}, [0, 1, 2]),
        ({"limit": 99}, [0, 1, 2, 3, 4, 5]),
        ({"limit": 1 / 3}, [0, 1]),
        ({"limit": 0.34}, [0, 1, 2]),  # 1.02 questions, rounded up as in the harness
        ({"samples": [2, 0, 2]}, [0, 1, 3, 4, 5]),
    ],
    ids=str,
)
def test_whole_questions_are_chosen(asked, chosen):
    docs = [{"question_id": question} for question in "aabccc"]
    assert chosen_docs("mine", docs, **asked) == chosen


def test_a_sample_of_variants_has_whole_questions():
    found = scored(knows, "cora_demo_plus", {"variants": 1}, limit=3)
    assert float(found["acc"]) == 1
