"""The wheel in an environment of its own: bare harness, no torch; tasks are found, run, and leave nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

from .names import GROUPS, NAMES

REPOSITORY = Path(__file__).parents[1]

pytestmark = pytest.mark.packaging

RUN = """
import json, random
from lm_eval import simple_evaluate
results = simple_evaluate(model="dummy", tasks=["cora_demo"], metadata={"cora": {"questions": 2}})
print(json.dumps(results["results"]["cora_demo"]))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the wheel and the harness version that this suite runs on."""
    folder = tmp_path_factory.mktemp("packaging")
    call(Path(sys.executable), "-m", "build", "--wheel", "--outdir", str(folder), str(REPOSITORY))
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    interpreter = folder / "venv" / "bin" / "python"
    call(interpreter, "-m", "pip", "install", "--quiet", str(wheel), f"lm-eval=={version('lm-eval')}")
    return interpreter


def call(interpreter: Path, *arguments: str) -> str:
    # Outside the checkout, and without what the checkout's environment sets.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COVERAGE"))}
    done = subprocess.run(
        [interpreter, *arguments],
        cwd=interpreter.parent,
        env=environment | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def site_packages(python: Path) -> Path:
    return Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def test_the_environment_is_bare(python: Path) -> None:
    found = "import importlib.util as u; print([name for name in ('torch', 'transformers') if u.find_spec(name)])"
    assert call(python, "-c", found).strip() == "[]"


def test_the_tasks_are_listed_without_an_include_path(python: Path) -> None:
    listed = call(python, "-m", "lm_eval", "ls", "subtasks")
    for name in NAMES:
        (line,) = [line for line in listed.splitlines() if f"|{name} " in line or f"|{name}|" in line]
        assert ("multiple_choice" if name.endswith("_mc") else "generate_until") in line
    groups = call(python, "-m", "lm_eval", "ls", "groups")
    assert all(f"|{name} " in groups for name in GROUPS)
    call(python, "-m", "lm_eval", "validate", "--tasks", ",".join((*GROUPS, *NAMES)))


def test_the_command_runs(python: Path) -> None:
    options = json.dumps({"cora": {"questions": 2}})
    out = call(python, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "cora_demo", "--metadata", options)
    assert "|cora " in out
    assert "|bmca@1.0 " in out


def test_prompts_run(python: Path) -> None:
    options = json.dumps({"cora": {"questions": 1}})
    out = call(
        python, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "cora_demo_prompts", "--metadata", options
    )
    assert "|consistency_rate|" in out


def test_maths_says_what_it_needs(python: Path) -> None:
    with pytest.raises(
        AssertionError, match=r"cora_math_prompts: .* math-verify, .* pip install 'lm-eval-cora\[math\]'"
    ):
        call(python, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "cora_math_prompts")


def test_simple_evaluate_runs(python: Path) -> None:
    results = json.loads(call(python, "-c", RUN).splitlines()[-1])
    # The dummy model always says "lol".
    assert results["invalid,none"] == 1.0
    assert results["cora,none"] == 0.0
    assert results["cora_stderr,none"] == 0.0


def test_the_command_of_its_own_reports_a_run(python: Path, tmp_path: Path) -> None:
    ours = str(python.parent / "lm-eval-cora")
    options = json.dumps({"cora": {"questions": 2}})
    dummy = ("-m", "lm_eval", "run", "--model", "dummy", "--tasks", "cora_demo", "--metadata", options)
    call(python, *dummy, "--output_path", str(tmp_path), "--log_samples")
    assert "| cora " in call(python, ours, "report", str(tmp_path), "--format", "md")
    assert "lm_eval/tasks/cora" in call(python, ours, "tasks")
    assert "2 questions, 52 variants" in call(python, ours, "tasks", "--check", "cora_demo", "--metadata", options)
    with pytest.raises(AssertionError, match=r"pip install 'lm-eval-cora\[report\]'; or --format md"):
        call(python, ours, "report", str(tmp_path), "-o", str(tmp_path / "report.html"))
    call(python, "-m", "pip", "install", "--quiet", "matplotlib")
    call(python, ours, "report", str(tmp_path), "-o", str(tmp_path / "report.html"))
    assert "<svg" in (tmp_path / "report.html").read_text()


def test_types_and_questions_are_in_the_package(python: Path) -> None:
    package = site_packages(python) / "lm_eval_cora"
    assert (package / "py.typed").is_file()
    assert (package / "benchmarks" / "demo.jsonl").is_file()
    for template in ("letter", "question"):
        assert (package / "prompting" / "templates" / f"{template}.jinja").is_file()


def test_uninstalling_leaves_nothing_behind(python: Path) -> None:
    # Last in the file: pytest keeps this order.
    site = site_packages(python)
    assert (site / "lm_eval" / "tasks" / "cora").is_dir()
    call(python, "-m", "pip", "uninstall", "--quiet", "--yes", "lm-eval-cora")
    assert not [
        path
        for path in site.rglob("*cora*")
        if "__pycache__" not in path.parts and path.name.startswith(("cora_", "lm_eval_cora"))
    ]
    assert not (site / "lm_eval" / "tasks" / "cora").exists()
    assert "cora_" not in call(python, "-m", "lm_eval", "ls", "subtasks")
