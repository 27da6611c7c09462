"""The public names: imported when they are used, documented, and the only ones; reports and records."""

import inspect
import json
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lm_eval_cora as cora
from lm_eval_cora.cli import main
from lm_eval_cora.runs.answer_columns import COLUMNS
from tests.support.messages import user_error
from tests.support.written import answers, put

CODE = """
import sys
import lm_eval_cora as cora
print([name for name in sys.modules if name.startswith(("lm_eval", "numpy", "pandas", "datasets"))])
cora.score([{"question": 1, "variant": 1, "correct": True}])
variants = cora.expand([{"question": "a?", "choices": ["yes", "no"], "answer": "yes"}])
cora.read(variants, ["A"] * len(variants))
print([name for name in ("lm_eval", "datasets", "torch", "transformers") if name in sys.modules])
"""


def test_the_package_imports_nothing_before_it_is_used_and_never_the_harness():
    """The start-up module imports it with the harness."""
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    assert found == "['lm_eval_cora']\n[]\n"


def test_dir_lists_the_public_names():
    assert set(dir(cora)) == {*cora.__all__, "__version__"}
    with pytest.raises(AttributeError, match="'scores_of'"):
        cora.scores_of  # noqa: B018


@pytest.mark.parametrize("name", cora.__all__)
def test_every_public_name_has_help(name):
    found = getattr(cora, name)
    text = pydoc.plain(pydoc.render_doc(found))
    assert inspect.getdoc(found)
    if inspect.isfunction(found):
        assert "Args:" in text or name == "tasks_folder"
        assert "Returns:" in text


def test_every_column_of_score_is_described_and_others_are_refused():
    described = inspect.getdoc(cora.score).partition("Columns:")[2].partition("Returns:")[0]
    assert re.findall(r"^ {4}(\w+):", described, re.MULTILINE) == [*COLUMNS, "options"]
    with user_error("score: unknown column 'questoin'. Did you mean 'question'?"):
        cora.score([], questoin="id")


# ---- reports and records of what `read_runs` returns
@pytest.fixture
def file(tmp_path):
    return put(tmp_path / "answers.jsonl", answers(questions=2))


@pytest.mark.parametrize("name", ["new/report.html", "report.md", "REPORT.MD"])
def test_the_report_is_that_of_the_command(name, file, tmp_path):
    cora.write_report(cora.read_runs(file)[0], tmp_path / name, title="Mine")
    assert main(["report", str(file), "--title", "Mine", "-o", str(tmp_path / f"command{Path(name).suffix}")]) == 0
    assert (tmp_path / name).read_bytes() == (tmp_path / f"command{Path(name).suffix}").read_bytes()


def test_the_records_name_the_submitter(file, tmp_path):
    record, _ = cora.write_records(cora.read_runs(file), tmp_path, organization="Lab", relationship="first_party")
    source = json.loads(record.read_text())["source_metadata"]
    assert (source["source_organization_name"], source["evaluator_relationship"]) == ("Lab", "first_party")
    with user_error("relationship: expected 'first_party' or", "got 'none'"):
        cora.write_records(cora.read_runs(file), tmp_path, relationship="none")  # type: ignore[arg-type]


def test_scores_and_files_that_cannot_be_used(file, tmp_path):
    scores = cora.read_runs(file)
    for wrong, told in (
        ({"results": {}}, "got 1 others of 1. Pass results of simple_evaluate to read_runs"),
        ([*scores, cora.score(file)], "expected scores that read_runs returns, got 1 others of 2"),
        ([], "got 0 others of 0"),
        (scores * 2, "each model and task once, got answers, answers 2 times"),
    ):
        with user_error(told):
            cora.write_report(wrong, tmp_path / "x.md")
    with user_error("expected a name that ends in .html or .htm or .md"):
        cora.write_report(scores, tmp_path / "x.pdf")
