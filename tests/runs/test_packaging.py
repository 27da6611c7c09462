"""The wheel in new environments: tasks are found and run, and removing the package leaves nothing behind."""

from __future__ import annotations

import json
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from lm_eval_cora.cli import HARNESS
from tests.support.installation import CASES, CHECKS, DUMMY, OPTIONS, Environment, Sources, call, new
from tests.support.names import GROUPS, NAMES

pytestmark = pytest.mark.packaging

RUN = """
import json
from lm_eval import simple_evaluate
results = simple_evaluate(model="dummy", tasks=["cora_demo"], metadata={"cora": {"questions": 2}})
print(json.dumps(results["results"]["cora_demo"]))
"""

MANAGERS = """
import json
from pathlib import Path
from lm_eval.tasks import TaskManager
from lm_eval_cora.discovery.location import tasks_folder
paths = [None, str(tasks_folder()), tasks_folder(), [tasks_folder(), "mine"], "mine"]
managers = [TaskManager(include_path=path, include_defaults=defaults) for path in paths for defaults in (True, False)]
print(json.dumps([manager.all_tasks for manager in managers]))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return Sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def bare(sources: Sources, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel, the version of the harness that this suite runs on, and what they need."""
    made = new(tmp_path_factory.mktemp("packaging") / "venv", by_uv=True)
    made.install(sources.wheel, sources.harness_wheel)
    return made


def test_nothing_of_ours_goes_into_the_harness(sources: Sources) -> None:
    with zipfile.ZipFile(sources.wheel) as archive:
        names = archive.namelist()
    (metadata,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"lm_eval_cora", "_lm_eval_cora_startup", "lm_eval_cora_startup.pth", metadata}
    assert not [name for name in names if name.startswith("lm_eval_cora/") and "_startup." in name]


def test_the_entry_point_is_the_folder_of_the_task_files(bare: Environment) -> None:
    points = (
        "from importlib.metadata import entry_points; print([p.load()() for p in entry_points(group='lm_eval.tasks')])"
    )
    assert str(bare.site / "lm_eval_cora" / "tasks") in bare.run("-c", points)


def test_an_error_names_the_harness_that_the_package_needs(sources: Sources) -> None:
    with zipfile.ZipFile(sources.wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    needed = [text for text in metadata.get_all("Requires-Dist", []) if text.startswith("lm-eval") and ";" not in text]
    assert [set(text.removeprefix("lm-eval").split(",")) for text in needed] == [
        set(HARNESS.removeprefix("lm-eval").split(","))
    ]


@pytest.mark.parametrize("case", ["upgrade from 0.1.0, editable harness"])
def test_a_way_to_install_the_two(sources: Sources, case: str, tmp_path: Path) -> None:
    # Once upgraded, this is the commonest case, too. `nox -s install` runs all of them.
    made = CASES[case](sources, tmp_path / "environment")
    for check in CHECKS.values():
        check(made, tmp_path)


@pytest.mark.parametrize("command", [("run", "--model", "dummy", "--tasks", "cora_demo"), ("tasks", "--check", "cora")])
def test_without_the_harness_there_is_an_error_of_one_line(
    sources: Sources, tmp_path: Path, command: tuple[str, ...]
) -> None:
    made = new(tmp_path / "venv", sources.dependencies)
    made.install("--no-deps", sources.wheel)
    assert call(made.python, "-m", "lm_eval_cora", *command, status=1) == (
        f"lm-eval-cora {command[0]}: cannot import the harness: No module named 'lm_eval'. Install it for "
        f"{made.python}: pip install '{HARNESS}'\n"
    )
    assert "cora_medqa" in made.run("-m", "lm_eval_cora", "tasks")


def test_the_environment_is_bare(bare: Environment) -> None:
    found = "import importlib.util as u; print([name for name in ('torch', 'transformers') if u.find_spec(name)])"
    assert bare.run("-c", found).strip() == "[]"


def test_the_tasks_are_listed_without_an_include_path(bare: Environment) -> None:
    listed = bare.run("-m", "lm_eval", "ls", "tasks")
    for name in NAMES:
        (line,) = [line for line in listed.splitlines() if f"|{name} " in line or f"|{name}|" in line]
        assert ("multiple_choice" if name.endswith("_mc") else "generate_until") in line
    assert all(f"|{name} " in listed for name in GROUPS)
    bare.run("-m", "lm_eval", "validate", "--tasks", ",".join((*GROUPS, *NAMES)))


def test_every_task_manager_finds_the_tasks_once(bare: Environment) -> None:
    *said, found = bare.run("-c", MANAGERS).splitlines()
    assert not said  # the harness warns about a task that it finds twice
    for names in json.loads(found):
        assert {name for name in names if name.startswith("cora")} == {*GROUPS, *NAMES}


def test_the_start_up_module_can_be_switched_off(bare: Environment) -> None:
    assert "cora_" not in bare.run("-m", "lm_eval", "ls", "tasks", LM_EVAL_CORA_AUTOLOAD="0")
    assert "|cora " in bare.run("-m", "lm_eval_cora", *DUMMY, LM_EVAL_CORA_AUTOLOAD="0")


def test_the_command_runs(bare: Environment) -> None:
    out = bare.run("-m", "lm_eval", *DUMMY)
    assert "|cora " in out
    assert "|bmca@1.0 " in out


def test_prompts_run(bare: Environment) -> None:
    out = bare.run("-m", "lm_eval", "run", "--model", "dummy", "--tasks", "cora_demo_prompts", *OPTIONS)
    assert "|consistency_rate|" in out


def test_maths_says_what_it_needs(bare: Environment) -> None:
    said = call(bare.python, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "cora_math_prompts", status=1)
    assert "cora_math_prompts: " in said
    assert "pip install 'lm-eval-cora[math]'" in said


def test_simple_evaluate_runs(bare: Environment) -> None:
    results = json.loads(bare.run("-c", RUN).splitlines()[-1])
    # The dummy model always says "lol".
    assert results["invalid,none"] == 1.0
    assert results["cora,none"] == 0.0
    assert results["cora_stderr,none"] == 0.0


def test_the_command_of_its_own_reports_a_run(bare: Environment, tmp_path: Path) -> None:
    ours = str(bare.python.parent / "lm-eval-cora")
    bare.run("-m", "lm_eval", *DUMMY, "--output_path", tmp_path, "--log_samples")
    assert "| cora " in call(ours, "report", tmp_path, "--format", "md")
    assert str(bare.site / "lm_eval_cora" / "tasks") in call(ours, "tasks")
    assert "2 questions, 52 variants" in call(ours, "tasks", "--check", "cora_demo", *OPTIONS)
    page = tmp_path / "report.html"
    assert "pip install 'lm-eval-cora[report]'; or --format md" in call(ours, "report", tmp_path, "-o", page, status=1)
    bare.install("matplotlib")
    call(ours, "report", tmp_path, "-o", page)
    assert "<svg" in page.read_text()


def test_types_and_questions_are_in_the_package(bare: Environment) -> None:
    package = bare.site / "lm_eval_cora"
    assert (package / "py.typed").is_file()
    assert (package / "benchmarks" / "demo.jsonl").is_file()
    for template in ("letter", "question"):
        assert (package / "prompting" / "templates" / f"{template}.jinja").is_file()
