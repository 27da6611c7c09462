"""Options outside the key `cora` of --metadata, where they would be ignored."""

import ast
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import lm_eval.models
import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
from lm_eval.utils import simple_parse_args_string

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.dry_run import dry_run
from lm_eval_cora.harness.task_config import AMBIGUOUS, check_metadata
from lm_eval_cora.questions.options import Options
from tests.support.commands import Commands, KnowsSome
from tests.support.messages import tells
from tests.support.pairs import pairs
from tests.support.simulated import TASKS, Simulated, knows, quickly


@pytest.fixture
def run(tmp_path, capsys):
    KnowsSome.built = []
    with quickly():
        yield Commands(tmp_path, capsys)


def told(metadata, model_args=None):
    """The error for a run with this metadata; empty if there is none."""
    model = metadata if isinstance(model_args, str) else {**(model_args or {}), **metadata}

    def simple_evaluate(task_manager, model_args):  # where `check_metadata` looks for the arguments
        check_metadata("mine", {"version": 1, **model})

    try:
        simple_evaluate(SimpleNamespace(metadata=model), model_args)
    except UserError as error:
        return str(error)
    return ""


MISPLACED = [
    {"questions": 10, "cora": {"seed": 1}, "other": 5},
    {"seed": 3},
    {"CORA": {"questions": 1}, "cora": {"seed": 2}},
    {"Cora.questions": 4, "cora.seed": 1},
    {"cora_demo": {"questions": 5}},
    {"mine": {"seed": 1}},  # the name of the task
    {"Cora": "x"},
]


@pytest.mark.parametrize("given", MISPLACED, ids=str)
def test_options_elsewhere_are_refused_by_name(given):
    message = told(given)
    assert tells(message, "mine: ", "--metadata", '{"cora": {"seed": 1}}')
    for name in given:
        assert (repr(name) in message) == (name != "other")


@pytest.mark.parametrize(
    "given", [{}, {"cora": {"seed": 1}}, {"max_seq_lengths": [1]}, {"corazon": 1}, {"cora_": 1}, {"options": 1}]
)
def test_other_metadata_is_no_error(given):
    assert told(given) == ""


@pytest.mark.parametrize("text", ['{"cora": {"questions": 2}}', '{"cora": {"questions": 2, "nota_text": "a=b"}}'])
def test_the_text_of_a_config_file_is_refused(text):
    message = told(simple_parse_args_string(text))  # as the harness reads it
    assert tells(message, "mine: ", "--config", '{"cora": {"questions": 2', "quotes")


def test_model_arguments_are_no_mistake():
    every = dict.fromkeys(Options.names(), 1)
    assert told({"cora": {}}, every) == ""
    assert told({"questions": 2}, {"seed": 1, "revision": "main"}).startswith("mine: 'questions' in --metadata")
    assert told({"seed": 2}, {"seed": 1}).startswith("mine: 'seed' in --metadata")
    assert told({"seed": 1, "revision": "main"}, "seed=1,revision=main") == ""


def test_names_that_a_back_end_takes_are_ambiguous():
    taken = set()
    for path in Path(lm_eval.models.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                taken |= {argument.arg for argument in node.args.args + node.args.kwonlyargs}
    assert {"seed", "revision", "pretrained"} <= taken
    assert taken & Options.names() <= AMBIGUOUS


@pytest.mark.parametrize("name", ["questions", "data_files", "CORA"])
def test_a_task_that_is_loaded_by_hand_refuses_what_no_back_end_takes(name):
    manager = TaskManager(include_path=TASKS, include_defaults=False, metadata={name: {}, "pretrained": "x"})
    with pytest.raises(UserError) as caught:
        manager.load(["cora_demo"])
    assert tells(str(caught.value), "cora_demo: ", repr(name), '{"cora": ')
    assert "pretrained" not in str(caught.value)  # it may hold a secret, or a model


@pytest.mark.parametrize("name", sorted(AMBIGUOUS & Options.names()))
def test_a_task_that_is_loaded_by_hand_warns_of_what_a_back_end_takes(name, caplog):
    check_metadata("mine", {"version": 1, name: 5})
    assert tells(caplog.text, f"mine: {name!r} ", "metadata", "{'cora': {...}}")


def test_a_run_in_python_tells_model_arguments_apart():
    def evaluate(metadata, **more):
        manager = TaskManager(include_path=TASKS, include_defaults=False, metadata=metadata)
        with patch("lm_eval.evaluator.add_env_info"), patch("lm_eval.evaluator.set_torch_seed"):
            return simple_evaluate(model=Simulated(knows), tasks=["cora_demo"], task_manager=manager, **more)

    given = {"seed": 1, "other": 5}
    for call in (lambda: evaluate(given, model_args="dtype=auto"), lambda: dry_run(["cora_demo"], given)):
        with pytest.raises(UserError, match=r"^cora_demo: 'seed' in --metadata"):
            call()
    assert evaluate({"seed": 1, "cora": {"questions": 1}}, model_args={"seed": 1})["n-samples"]


PAIRS = [pytest.param(text, marks=pairs) for text in ("questions=10", "cora.questions=10")]


@pytest.mark.parametrize("given", ['{"questions": 10}', '{"seed": 1}', *PAIRS])
def test_both_commands_refuse_before_the_first_request(run, given):
    with pytest.raises(UserError, match=r"cora_demo: .*--metadata .*{\"cora\": {\""):
        run.plain("--metadata", given, questions=0)
    assert not [prompt for model in KnowsSome.built for prompt in model.prompts]
    ran = run.ours("--metadata", given, questions=0)
    assert (ran.code, ran.models) == (1, [])
    (line,) = [line for line in ran.err.splitlines() if line.startswith("lm-eval-cora run: ")]
    assert tells(line, "cora_demo: ", "--metadata", '{"cora": {')
