"""Options outside the key `cora` of --metadata, where they would be ignored; templates."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import lm_eval.models
import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
from lm_eval.utils import simple_parse_args_string

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness import task_config as templates
from lm_eval_cora.harness.dry_run import dry_run
from lm_eval_cora.harness.task_config import AMBIGUOUS, check_metadata, templates_of
from lm_eval_cora.questions.adapters import AGIEVAL, MATH
from lm_eval_cora.questions.options import Options
from lm_eval_cora.runs.task_files import benchmark
from lm_eval_cora.variants.prompts import SINGLE_LETTER
from lm_eval_cora.variants.template import own_templates
from tests.support.building import build, own_task
from tests.support.commands import Commands, KnowsSome
from tests.support.messages import tells
from tests.support.pairs import pairs
from tests.support.simulated import TASKS, Simulated, knows, quickly
from tests.support.written import put


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


# ---- templates
DEMO = benchmark("demo")
MMLU_PRO = benchmark("mmlu_pro")


@pytest.mark.parametrize("benchmark", [MMLU_PRO, AGIEVAL, MATH], ids=lambda benchmark: benchmark.name)
def test_scores_templates_are_those_of_the_installed_harness(benchmark):
    # Read from the file of the harness: the texts are not part of this project.
    path = templates._SCORE / benchmark.score_templates / "prompt_templates.json"
    file = json.loads(path.read_text(encoding="utf-8"))
    found = templates_of(benchmark, Options())
    assert [template.prompt for template in found.all] == [entry["prompt"] for entry in file["prompt_robustness"]]
    assert found.fixed.prompt == file["non_greedy_robustness"]["prompt"]
    assert found.fixed in found.all
    dropped = [number for number, template in enumerate(found.all, 1) if template.name == SINGLE_LETTER]
    # The third one, as the paper quotes it. MATH does not have it.
    assert dropped == ([] if benchmark is MATH else [3])


def test_other_benchmarks_use_the_templates_of_this_package():
    assert templates_of(DEMO, Options()) == own_templates() == templates_of(None, Options())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, "FileNotFoundError"),
        ({"prompt_robustness": []}, "expected one of the ten templates to be the fixed one"),
        ({"non_greedy_robustness": {"prompt": "another {question}{options}"}}, "expected one of the ten templates"),
        ({"prompt_robustness": "x"}, "TypeError"),
    ],
)
def test_the_error_names_a_harness_without_templates(change, said, tmp_path, monkeypatch):
    if change is not None:
        path = templates._SCORE / "mmlu_pro" / "prompt_templates.json"
        (tmp_path / "mmlu_pro").mkdir()
        file = {**json.loads(path.read_text(encoding="utf-8")), **change}
        (tmp_path / "mmlu_pro" / path.name).write_text(json.dumps(file))
    monkeypatch.setattr(templates, "_SCORE", tmp_path)
    with pytest.raises(UserError, match=r"SCORE's templates for mmlu_pro.*lm-eval \d.*pass your own file") as error:
        templates_of(MMLU_PRO, Options())
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("{", "Expecting property name"),
        ('[{"prompt": "{question}"}]', r"template 1: 'prompt': expected \{options\} once, it stands there 0 times"),
    ],
)
def test_an_invalid_file_of_the_user_is_an_error(text, said, tmp_path):
    path = tmp_path / "mine.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=rf"cora_demo_prompts: option 'templates': .*mine.json: .*{said}"):
        build("cora_demo_prompts", templates=str(path))


def test_a_file_for_maths_has_no_options(tmp_path):
    path = put(tmp_path / "mine.json", [[{"prompt": r"{question} The answer in a $\boxed{{box}}$, please."}]])
    template = templates_of(MATH, Options(templates=str(path))).fixed
    assert template.render("1 + 1?", ()) == r"1 + 1? The answer in a $\boxed{box}$, please."


@pytest.mark.parametrize(
    ("task", "options", "named"),
    [
        ("cora_demo", {"orders": "cyclic"}, "orders"),
        ("cora_demo_plus", {"templates": "x.json"}, "templates"),
        ("cora_demo_revas", {"request_seeds": True}, "request_seeds"),
        ("cora_demo_prompts", {"variants": 1}, "variants"),
        ("cora_demo_order_mc", {"templates": "x.json"}, "templates"),
    ],
)
def test_an_option_that_the_probe_ignores_is_refused(task, options, named):
    with pytest.raises(UserError, match=rf"{task}: option '{named}': the probe '\w+' "):
        build(task, **options)


@pytest.mark.usefixtures("hub")
def test_all_orders_of_many_options_are_refused():
    with pytest.raises(UserError, match=r"cora_mmlu_pro_order: question '\d+' has 6 options, .* swap or cyclic"):
        build("cora_mmlu_pro_order", orders="all")


@pytest.mark.usefixtures("hub")
def test_a_probe_that_alters_options_on_questions_without(tmp_path):
    parts = ", ".join(f"{TASKS}/{part}.yaml" for part in ("_forms/generate", "_benchmarks/math", "_probes/divergent"))
    with pytest.raises(UserError, match=r"mine: question 'algebra-test-0'.* 'divergent' alters options"):
        own_task(tmp_path, f"include: [{parts}]").load(["mine"])


def test_a_template_that_does_not_ask_for_what_is_read_is_reported(tmp_path, caplog):
    good = {"name": "good", "prompt": "{question}{options} The best answer is <letter>."}
    path = put(tmp_path / "mine.json", [[good, {"name": "silent", "prompt": "{question}{options}"}]])
    templates_of(DEMO, Options(templates=str(path)))
    assert "mine.json: silent: " in caplog.text
