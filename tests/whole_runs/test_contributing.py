"""Make all changes of CONTRIBUTING in a copy of the repository, and run the tests of the suite that they touch."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = Path("lm_eval_cora")
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
BLOCKS = re.findall(r"^```\w+\n# (at the end of )?(\S+\.\w+)\n(.*?)^```", GUIDE, flags=re.DOTALL | re.MULTILINE)
"""Whether a block of the guide continues a file, the file, and its text."""

(ABOUT,) = re.findall(r"^    (\"~\": lambda .*)", GUIDE, flags=re.MULTILINE)
REGISTERED = {
    "variants/probes.py": ("variants.backwards import BACKWARDS", "ABSTENTION)", "ABSTENTION, BACKWARDS)"),
    "answers/formats.py": ("answers.json_letter import JSON_LETTER", "in (LETTER,", "in (JSON_LETTER, LETTER,"),
    "runs/grouping.py": ("runs.quiz_logs import is_quiz, read_quiz", "is_helm: ", "is_quiz: read_quiz, is_helm: "),
    "decide/verdicts.py": (
        "errors import UserError",
        '    ">=": ',
        '    "~": lambda n: (n - 0.05, n + 0.05),\n    ">=": ',
    ),
}
"""Files of the package that the guide asks to edit: what they import, and the place of the new entry."""

REPORTED = (
    "tests/report/test_sections_backwards.py",
    """
from tests.support.simulated import knows
from tests.support.written import everything, write


def test_a_run_of_the_new_probe_is_reported(tmp_path):
    write(tmp_path, knows, "cora_demo_backwards", {"questions": 4})
    told = everything(tmp_path)
    assert "questions: each question with its options in reverse order; " in told
    assert "The options in reverse order." in told
""",
)
"""A test that is not in the guide: its file, and its text."""

TOUCHED = {
    **{name: () for _, name, _ in BLOCKS if re.match(r"tests/.*/test_", name)},
    **dict.fromkeys(("tests/test_structure.py", "tests/variants/test_probes.py", REPORTED[0]), ()),
    **dict.fromkeys(("tests/runs/test_helm.py", "tests/export/test_output_formats.py"), ()),
    "lm_eval_cora/metrics/accuracy.py": (),  # the example
    "tests/test_write_tasks.py": ("the_task_files_are_those_of_the_script",),
    "tests/metrics/test_metrics_properties.py": (
        "every_metric_agrees_with_its_oracle[divergent]",
        "every_metric_is_tested_here_or_in_a_file_of_its_own",
    ),
    "tests/metrics/test_facts.py": (
        "each_metric_has_a_meaning_of_one_sentence",
        "names_in_papers_are_different_and_those_of_the_papers",
        "no_metric_raises_with_skipped_variants",
        "the_metrics_of_a_run_that_stops_at_the_first_miss",
        "one_variant_of_each_question_says_nothing_about_consistency",
    ),
    "tests/variants/test_probes_expand.py": ("the_variants_are_those_of_the_task", "a_prompt_of_ones_own"),
    "tests/answers/test_formats.py": (
        "reasons_that_all_formats_share",
        "wrong_and_invalid_answers_and_how_they_are_shown",
    ),
    "tests/answers/test_announced.py": (
        "responses_in_the_style_of_native_speakers[A-mt]",
        "every_language_has_responses",
    ),
    "tests/runs/test_task_files.py": ("the_tasks", "the_metrics_of_a_probe_can_be_called"),
    "tests/runs/test_collected.py": ("metrics_of_our_kinds_of_variants_need_these_kinds",),
    "tests/cli/test_tasks.py": ("the_list_of_tasks",),
    "tests/harness/test_task.py": (
        "exactly_these_names_are_registered",
        "every_task_builds_and_renders[riddles]",
        "every_task_builds_and_renders[demo]",
        "the_name_of_a_metric_tells_its_parameter",
        "no_file_sets_zero_shots",
        "a_task_file_is_three_lines_and_has_a_readme",
    ),
}
"""The tests of the guide, and those that a change of each kind could break; of some files only these."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with all changes of the guide."""
    root = tmp_path_factory.mktemp("copy")
    for name in ("lm_eval_cora", "tasks", "tests", "scripts", "docs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, root)
    for continues, name, text in [*BLOCKS, ("", *REPORTED)]:
        path = root / name
        path.parent.mkdir(exist_ok=True)
        assert path.is_file() == bool(continues), name
        path.write_text((path.read_text() if continues else "") + text)
    for name, (imported, place, entry) in REGISTERED.items():
        path = root / PACKAGE / name
        first, found, rest = path.read_text().partition("from lm_eval_cora.")
        assert rest.count(place) == 1, name
        path.write_text(f"{first}{found}{imported}\n{found}{rest.replace(place, entry)}")
    return root


def called(copy, *command):
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run([sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout


def test_the_changes_of_the_guide_pass_the_tests_that_they_touch(copy):
    made = called(copy, "-m", "scripts.write_tasks").splitlines()
    probes = {"divergent", "plus", "order", "labels", "choices_only", "abstain"}
    assert len([line for line in made if "cora_riddles" in line]) == 2 * len(probes) + 1  # backwards has one form
    small = "tests/test_structure.py::test_the_package_and_its_tests_stay_small"
    options = ("-q", "-p", "no:cacheprovider", "--no-header", "--deselect", small)
    tests = [f"{file}::test_{name}" for file, names in TOUCHED.items() for name in names]
    called(copy, "-m", "pytest", *options, *tests, *(file for file, names in TOUCHED.items() if not names))
