"""Follow the steps in CONTRIBUTING for a new benchmark, probe and answer format, with the files of the guide."""

import json
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

import datasets
import pytest

from lm_eval_cora import answers, questions, variants
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.cli import main
from lm_eval_cora.questions.benchmark import declared
from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.runs import task_files
from lm_eval_cora.variants import template
from lm_eval_cora.variants.probes import PROBES
from tests.support import written
from tests.support.simulated import TASKS, knows, run, scores

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()


def files_of_the_guide(what):
    """The files in a section of the guide. Each block starts with its name in a comment."""
    (section,) = re.findall(rf"^## Add {what}$(.*?)^## ", GUIDE, flags=re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", section, flags=re.DOTALL | re.MULTILINE)
    return dict(blocks)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files of the guide, the existing fragments, and rows in a local folder instead of the Hub."""
    write(tmp_path, files_of_the_guide("a benchmark"))
    for fragment in ("_forms", "_probes"):
        (tmp_path / "tasks" / fragment).symlink_to(TASKS / fragment)
    rows = [
        {"riddle": f"What follows {number}?", "answers": [str(number + 1), "0", "-1"], "solution": 0, "topic": "sums"}
        for number in range(1, 7)
    ]
    hub = tmp_path / "somebody" / "riddles"
    for split in ("test", "train"):
        hub.mkdir(parents=True, exist_ok=True)
        (hub / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[split == "train" :]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    # The adapter is a module of the package; here it is in the temporary folder.
    monkeypatch.setattr(questions, "__path__", [*questions.__path__, str(tmp_path / "lm_eval_cora" / "questions")])
    monkeypatch.delitem(sys.modules, "lm_eval_cora.questions.rhymes", raising=False)
    return tmp_path


def test_one_fragment_and_the_task_files_are_enough(folder):
    names = files_of_the_guide("a benchmark")
    assert [Path(name).name for name in names] == [
        *("riddles.yaml", "cora_riddles.yaml", "cora_riddles_mc.yaml", "rhymes.py")
    ]
    for task in ("cora_riddles", "cora_riddles_mc"):
        results = run(knows, task, {"questions": 4}, folder / "tasks", num_fewshot=2)
        assert scores(results, task)["cora"] == 1.0
        assert results["n-samples"][task]["effective"] == 4 * 14
        assert all(sample["arguments"][0][0].count("\nAnswer: ") == 2 for sample in results["samples"][task])


@pytest.mark.usefixtures("folder")
def test_an_adapter_reads_rows_that_need_code():
    rhymes = import_module("lm_eval_cora.questions.rhymes").RHYMES
    rows = [("row 0", {"text": "moon: spoon, table, fork"}), ("row 1", {"text": "moon"})]
    found = declared({"adapter": rhymes, "hub": "somebody/rhymes", "split": "test"})
    found_questions, left_out, _ = collect_questions(found, rows, id_prefix="test")
    assert [(question.stem, question.choices[0]) for question in found_questions] == [
        ("What rhymes with moon?", "spoon")
    ]
    assert [where for where, _ in left_out] == ["row 1"]


@pytest.fixture
def extended(tmp_path, monkeypatch):
    """The package with the probe and the answer format of the guide, and a copy of the task files with theirs."""
    shutil.copytree(TASKS, tmp_path / "tasks")
    write(tmp_path, {**files_of_the_guide("a probe"), **files_of_the_guide("an answer format")})
    for package, name in ((answers, "json_letter"), (variants, "backwards")):
        room = package.__name__.rpartition(".")[2]
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / "lm_eval_cora" / room)])
        monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}", raising=False)
    prompt = tmp_path / "lm_eval_cora" / "variants" / "templates" / "json_letter.jinja"
    environment = template.prompts()["question"].environment
    monkeypatch.setitem(template.prompts(), "json_letter", environment.from_string(prompt.read_text()))
    # The two registries, changed as the guide says.
    monkeypatch.setitem(FORMATS, "json_letter", import_module("lm_eval_cora.answers.json_letter").JSON_LETTER)
    monkeypatch.setitem(PROBES, "backwards", import_module("lm_eval_cora.variants.backwards").BACKWARDS)
    monkeypatch.setattr(task_files, "tasks_folder", lambda: tmp_path / "tasks")
    monkeypatch.setattr(written, "TASKS", tmp_path / "tasks")
    monkeypatch.setattr(written, "benchmark_of", lambda _: "demo")
    return tmp_path


def answer(doc):
    """Knows the answers, and writes JSON if asked to, except for one question."""
    letter = LETTERS[doc["printed"].index(doc["answer"])]
    if doc["ask"] != "json_letter":
        return letter
    return "{}" if doc["question_id"] == "demo-01" else f'Sure: {{"answer": "{letter}"}}'


def test_a_probe_and_an_answer_format_are_an_object_each(extended, capsys):
    assert [Path(name).name for name in files_of_the_guide("a probe")] == [
        *("backwards.py", "backwards.yaml", "cora_demo_backwards.yaml")
    ]
    out = extended / "out"
    results = written.write(out, answer, "cora_demo_backwards", {"questions": 10})
    invalid = [line for line in written.lines_of(results.samples) if line["filtered_resps"] == ["{}"]]
    assert results.printed["acc,none"] == 1 - len(invalid) / 30
    assert {line["doc"]["ask"] for line in written.lines_of(results.samples)} == {"letter", "json_letter"}
    # The run can be reported ...
    assert main(["report", str(out), "--format", "md"]) == 0
    told = capsys.readouterr().out
    assert "10 questions: each question with its options in reverse order; " in told
    assert "The same; the answer is JSON." in told
    # ... also without a results file, exported, and listed.
    results.results.unlink()
    assert main(["report", str(out), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["probe"] == "backwards"
    assert main(["tasks"]) == 0
    assert "cora_demo_backwards" in capsys.readouterr().out
