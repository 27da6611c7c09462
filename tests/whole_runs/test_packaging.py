"""The wheel in new environments: tasks are found and run, and uninstalling the package removes all files."""

import json
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from lm_eval_cora.cli.run import HARNESS
from tests.support.installation import DUMMY, OPTIONS, Sources, call, linked, new
from tests.support.installation_checks import check_removal
from tests.support.messages import tells
from tests.support.names import GROUPS, NAMES
from tests.support.tables import without_variation

pytestmark = pytest.mark.packaging

IMPORT = "import lm_eval; print(lm_eval.__file__)"
ABSENT = "import importlib.util as u; print([name for name in ('torch', 'transformers') if u.find_spec(name)])"

ENTRY_POINTS = """
from importlib.metadata import entry_points
print([point.load()() for point in entry_points(group="lm_eval.tasks")])
"""

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

READ_ONCE = """
from lm_eval.tasks import _index
def load_yaml(path, read=_index.load_yaml, known={}, **options):
    key = path, *options.items()
    if key not in known:
        known[key] = read(path, **options)
    return known[key]
_index.load_yaml = load_yaml
"""
"""Each command reads all task files of the harness, which takes longer than the command."""

MATHS = ("run", "--model", "dummy", "--tasks", "cora_math_prompts")
PROMPTS = ("run", "--model", "dummy", "--tasks", "cora_demo_prompts", *OPTIONS)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return Sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def made(sources, tmp_path_factory):
    """The wheel, the version of the harness that this suite runs on, and what they need: nothing else.

    This is the most common way to install the two packages. `nox -s install` tests all ways.
    """
    return linked(sources, tmp_path_factory.mktemp("packaging") / "venv")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def said(sources, made, out):
    """The status of each command, and what it prints."""
    commands = {
        "pip": ("pip", "check"),
        "import": ("-c", IMPORT),
        "read once": ("-c", READ_ONCE),
        "absent": ("-c", ABSENT),
        "entry points": ("-c", ENTRY_POINTS),
        "managers": ("-c", MANAGERS),
        "list": ("lm_eval", "ls", "tasks"),
        "validate": ("lm_eval", "validate", "--tasks", ",".join((*GROUPS, *NAMES))),
        "run": ("lm_eval", *DUMMY, "--output_path", out, "--log_samples"),
        "prompts": ("lm_eval", *PROMPTS),
        "maths": ("lm_eval", *MATHS),
        "simple_evaluate": ("-c", RUN),
        "report": ("lm_eval_cora", "report", out, "--format", "md"),
        "page": ("lm_eval_cora", "report", out, "-o", out / "report.html"),
        "check": ("lm_eval_cora", "tasks", "--check", "cora_demo", *OPTIONS),
        "tasks": ("lm_eval_cora", "tasks"),
        "matplotlib": ("-c", f"import sys; sys.path.append({str(sources.dependencies)!r})"),
        "page with matplotlib": ("lm_eval_cora", "report", out, "-o", out / "report.html"),
    }
    return dict(zip(commands, made.run_all(*commands.values()), strict=True))


def test_nothing_of_ours_goes_into_the_harness(sources):
    with zipfile.ZipFile(sources.wheel) as archive:
        names = archive.namelist()
    (metadata,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"lm_eval_cora", "_lm_eval_cora_startup", "lm_eval_cora_startup.pth", metadata}
    assert not [name for name in names if name.startswith("lm_eval_cora/") and "_startup." in name]


def test_an_error_names_the_harness_that_the_package_needs(sources):
    with zipfile.ZipFile(sources.wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    needed = [text for text in metadata.get_all("Requires-Dist", []) if text.startswith("lm-eval") and ";" not in text]
    (versions, named) = (set(text.removeprefix("lm-eval").split(",")) for text in (*needed, HARNESS))
    assert versions == named


def test_without_the_harness_there_is_an_error_of_one_line(sources, tmp_path):
    bare = new(tmp_path / "venv", sources.dependencies, by_uv=True)
    bare.install("--no-deps", sources.wheel)
    commands = (DUMMY, ("tasks", "--check", "cora"), ("tasks",))
    run, check, tasks = bare.run_all(*(("lm_eval_cora", *command) for command in commands))
    told = (
        f"cannot import the harness: No module named 'lm_eval'. Install it for {bare.python}: pip install '{HARNESS}'"
    )
    assert [run, check] == [(1, f"lm-eval-cora {name}: {told}\n") for name in ("run", "tasks")]
    assert tasks[0] == 0
    assert "cora_medqa" in tasks[1]


def test_only_maths_and_the_page_lack_a_package(said):
    failed = {name for name, (status, _) in said.items() if status}
    assert failed == {"maths", "page"}, {name: said[name][1][-2000:] for name in failed}
    assert tells(said["maths"][1], "cora_math_prompts: ", "pip install 'lm-eval-cora[math]'")
    assert "pip install 'lm-eval-cora[report]'" in said["page"][1]
    assert "--format md" in said["page"][1]


def test_the_harness_is_the_real_package_without_its_back_ends(made, said):
    assert made.harness is not None
    assert Path(said["import"][1].strip()).is_relative_to(made.harness)
    assert said["absent"][1].strip() == "[]"


def test_the_tasks_are_listed_without_an_include_path(said):
    listed = said["list"][1]
    for name in NAMES:
        (line,) = [line for line in listed.splitlines() if f"|{name} " in line or f"|{name}|" in line]
        assert ("multiple_choice" if name.endswith("_mc") else "generate_until") in line
    assert all(f"|{name} " in listed for name in (*GROUPS, "arc_easy"))
    assert "WARNING" not in listed


def test_every_task_manager_finds_the_tasks_once(said):
    *warnings, found = said["managers"][1].splitlines()
    assert not warnings  # the harness warns about a task that it finds twice
    for names in json.loads(found):
        assert {name for name in names if name.startswith("cora")} == {*GROUPS, *NAMES}


def test_the_start_up_module_can_be_switched_off(made):
    commands = (("-c", READ_ONCE), ("lm_eval", "ls", "tasks"), ("lm_eval_cora", *DUMMY))
    _, listed, ran = made.run_all(*commands, LM_EVAL_CORA_AUTOLOAD="0")
    assert (listed[0], "cora_" in listed[1]) == (0, False)
    assert (ran[0], "|cora " in ran[1]) == (0, True)


def test_runs_print_their_tables(said):
    assert tells(said["run"][1], "|bmca@1.0 ", "|cora ")
    assert "|consistency_rate|" in said["prompts"][1]
    results = json.loads(said["simple_evaluate"][1].strip().splitlines()[-1])
    # The dummy model always says "lol".
    assert results["invalid,none"] == 1.0
    assert results["cora,none"] == 0.0
    assert results["cora_stderr,none"] == pytest.approx(without_variation(2))


def test_the_command_of_its_own_reports_a_run(made, said, out):
    assert "| cora " in said["report"][1]
    assert "2 questions, 52 requests" in said["check"][1]
    assert "<svg" in (out / "report.html").read_text()
    assert call(made.python.parent / "lm-eval-cora", "tasks", "--path").strip() in said["tasks"][1]


def test_all_files_are_in_the_package(made, said):
    package = made.site / "lm_eval_cora"
    for name in (
        "py.typed",
        "questions/demo.jsonl",
        *(f"variants/templates/{of}.jinja" for of in ("letter", "question")),
    ):
        assert (package / name).is_file()
    for command in ("entry points", "tasks"):
        assert str(package / "tasks") in said[command][1]


def test_removing_the_package_leaves_nothing_behind(made):
    # The last test of the environment that all others share.
    assert check_removal(made) == "clean"
