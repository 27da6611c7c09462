"""The templates of a benchmark: those of the installed harness, the user's, ours; options that a probe ignores."""

import json
from pathlib import Path
from types import SimpleNamespace

import lm_eval.tasks
import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.adapters import AGIEVAL, MATH
from lm_eval_cora.questions.options import Options
from lm_eval_cora.runs.task_files import benchmark
from lm_eval_cora.variants import probes
from lm_eval_cora.variants.probes import templates_of
from lm_eval_cora.variants.prompts import SINGLE_LETTER
from lm_eval_cora.variants.template import own_templates
from tests.support.building import build, own_task
from tests.support.simulated import TASKS
from tests.support.written import put

SCORE = Path(lm_eval.tasks.__file__).parent / "score"
DEMO = benchmark("demo")
MMLU_PRO = benchmark("mmlu_pro")


@pytest.mark.parametrize("benchmark", [MMLU_PRO, AGIEVAL, MATH], ids=lambda benchmark: benchmark.name)
def test_scores_templates_are_those_of_the_installed_harness(benchmark):
    # Read from the file of the harness: the texts are not part of this project.
    path = SCORE / benchmark.score_templates / "prompt_templates.json"
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
        path = SCORE / "mmlu_pro" / "prompt_templates.json"
        (tmp_path / "tasks" / "score" / "mmlu_pro").mkdir(parents=True)
        file = {**json.loads(path.read_text(encoding="utf-8")), **change}
        (tmp_path / path.relative_to(SCORE.parents[1])).write_text(json.dumps(file))
    monkeypatch.setattr(probes, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "__init__.py")))
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
