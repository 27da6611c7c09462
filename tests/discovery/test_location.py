"""The folder, and the start-up module with a small imitation of the harness and in one test with the real harness."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_cora.discovery import location
from lm_eval_cora.discovery.location import SWITCH, register_tag, tasks_folder
from tests.support.names import GROUPS, NAMES
from tests.support.simulated import knows, run, scores

REPOSITORY = Path(__file__).parents[2]
STARTUP = REPOSITORY / "lm_eval_cora" / "discovery" / "_lm_eval_cora_startup.py"
OURS = tasks_folder()

MANAGER = """
from importlib.metadata import entry_points
from pathlib import Path

class TaskIndex:
    @staticmethod
    def build(paths, *, resolve_includes=True):
        return [str(path) for path in paths]

class TaskManager:
    '''Like the class of the harness, but reads no files.'''

    discovers = False  # what the harness' pull request 4015 proposes

    def __init__(self, verbosity=None, include_path=None, include_defaults=True, metadata=None):
        paths = [Path(__file__).parent] if include_defaults else []
        if self.discovers:
            paths += [Path(point.load()()) for point in entry_points(group="lm_eval.tasks")]
        if include_path:
            paths += map(Path, include_path if isinstance(include_path, (list, tuple)) else [include_path])
        self.searched = TaskIndex().build(paths)
"""


@pytest.fixture
def harness(tmp_path: Path) -> Path:
    """A folder with a package `lm_eval` that only has a TaskManager, and the start-up module as it is installed."""
    folder = tmp_path / "site"
    (folder / "lm_eval" / "tasks").mkdir(parents=True)
    (folder / "lm_eval" / "__init__.py").touch()
    (folder / "lm_eval" / "tasks" / "__init__.py").write_text("from lm_eval.tasks.manager import TaskManager\n")
    (folder / "lm_eval" / "tasks" / "manager.py").write_text(MANAGER)
    (folder / STARTUP.name).write_text(STARTUP.read_text())
    return folder


def python(code: str, *path: Path, **variables: str) -> tuple[Any, str]:
    """Run code in a new Python with the checkout on its path. Return its JSON output and its stderr."""
    environment = {key: value for key, value in os.environ.items() if key != SWITCH}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (*path, REPOSITORY)))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def searched(harness: Path, *calls: str, before: str = "", **variables: str) -> list[list[str]]:
    """Return the folders that TaskManagers search while the start-up module is active."""
    code = (
        f"import json, sys\nfrom pathlib import Path\nimport _lm_eval_cora_startup\n{before}\n"
        f"from lm_eval.tasks import TaskManager\nprint(json.dumps([each.searched for each in [{', '.join(calls)}]]))"
    )
    found, said = python(code, harness, **variables)
    assert not said
    assert isinstance(found, list)
    return found


def test_the_folder_of_the_task_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tasks_folder() == Path(__file__).parents[2] / "tasks"  # in a checkout
    monkeypatch.setattr(location, "__file__", str(tmp_path / "lm_eval_cora" / "discovery" / "location.py"))
    (tmp_path / "tasks").mkdir()  # of another package
    with pytest.raises(FileNotFoundError, match=r"task files: .* Install lm-eval-cora again"):
        tasks_folder()
    for folder in ("lm_eval_cora/tasks/_probes", "tasks/_probes"):
        (tmp_path / folder).mkdir(parents=True)
    assert tasks_folder() == tmp_path / "lm_eval_cora" / "tasks"  # installed
    assert location.find_spec("csv", None, None) is None  # another start-up module may ask for any name


def test_our_folder_is_searched_after_the_harness_and_before_the_users(harness: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(OURS)
    users: dict[str, list[str]] = {
        **{given: [str(OURS)] for given in ("", "include_path=[]", "include_path=''")},
        **{given: [str(OURS), "mine"] for given in ("include_path='mine'", "include_path=Path('mine')")},
        "include_path=('mine', Path('yours'))": [str(OURS), "mine", "yours"],
        # A folder that the user names is not searched twice.
        **{
            f"include_path=[{str(folder)!r}, 'mine']": [str(folder), "mine"]
            for folder in (OURS, OURS.parent, os.path.relpath(OURS), OURS / "demo" / "..", tmp_path / "link")
        },
        f"include_path=['mine', {str(OURS / 'demo')!r}]": [str(OURS), "mine"],
    }
    theirs = [str(harness / "lm_eval" / "tasks")]
    for defaults in (True, False):
        found = searched(harness, *(f"TaskManager(include_defaults={defaults}, {given})" for given in users))
        assert found == [[*theirs * defaults, *folders] for folders in users.values()]


def test_a_harness_that_discovers_packages_finds_us_by_itself(harness: Path) -> None:
    call = "type('Discovering', (TaskManager,), {'discovers': True})(include_path='mine')"
    expected = [[str(harness / "lm_eval" / "tasks"), str(OURS), "mine"]]
    assert searched(harness, call) == expected
    assert searched(harness, call, **{SWITCH: "0"}) == expected  # through the entry point


@pytest.mark.parametrize(
    ("before", "variables", "is_found"),
    [
        ("", {SWITCH: "0"}, False),
        ("", {SWITCH: "1"}, True),
        ("import importlib, lm_eval.tasks.manager\nimportlib.reload(lm_eval.tasks.manager)", {}, True),
        ("sys.modules['lm_eval_cora'] = None", {}, False),  # removed while this Python runs
        ("sys.path.remove('')  # the package is damaged, not the checkout", {}, False),
    ],
    ids=["off", "on", "a reloaded harness", "a removed package", "a damaged package"],
)
def test_the_switch_and_changes(harness: Path, before: str, variables: dict[str, str], is_found: bool) -> None:
    if "damaged" in before:
        (harness / "lm_eval_cora").mkdir()
        (harness / "lm_eval_cora" / "__init__.py").write_text("half a line of (")
    (found,) = searched(harness, "TaskManager()", before=before, **variables)
    assert found == [str(harness / "lm_eval" / "tasks"), *[str(OURS)] * is_found]


def test_the_harness_looks_as_if_it_had_been_loaded_without_us(harness: Path) -> None:
    code = """
import copy, importlib.util, inspect, json, sys, _lm_eval_cora_startup
spec = importlib.util.find_spec("lm_eval.tasks.manager")
copy.copy(spec.loader)
found = ["lm_eval.tasks.manager" in sys.modules, spec.loader.get_source(spec.name)]  # looking for it does not load it
import lm_eval.tasks.manager as manager
loaders = [type(loader).__name__ for loader in (manager.__loader__, manager.__spec__.loader)]
print(json.dumps([*found, *loaders, inspect.getsource(manager.TaskManager)[:18]]))
"""
    (harness / "lm_eval" / "tasks" / "__init__.py").write_text("")
    expected = [False, MANAGER, "SourceFileLoader", "SourceFileLoader", "class TaskManager:"]
    assert python(code, harness) == (expected, "")


def test_nothing_happens_without_the_harness(harness: Path) -> None:
    modules, _ = python(
        "import json, sys, _lm_eval_cora_startup\nimport csv\nprint(json.dumps([*sys.modules]))", harness
    )
    assert "_lm_eval_cora_startup" in modules
    assert "lm_eval_cora" not in modules
    tree = ast.parse(STARTUP.read_text())
    assert [ast.unparse(line) for line in tree.body if isinstance(line, ast.Import | ast.ImportFrom)] == ["import sys"]
    assert STARTUP.with_name("lm_eval_cora_startup.pth").read_text() == f"import {STARTUP.stem}\n"


@pytest.mark.parametrize("place", ["0", "len(sys.meta_path)"])
def test_another_finder_that_asks_the_others(harness: Path, place: str) -> None:
    # Each of the two finders calls the other.
    before = f"""
class Asking:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        others = [finder for finder in sys.meta_path if finder is not cls]
        return next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
sys.meta_path.insert({place}, Asking)
from lm_eval.tasks import manager
"""
    # The harness' class has been replaced only once.
    depth = "type('Found', (), {'searched': [str(len(manager.TaskIndex.mro()))]})"
    found = searched(harness, "TaskManager()", depth, before=before)
    assert found == [[str(harness / "lm_eval" / "tasks"), str(OURS)], ["3"]]


def test_the_classes_of_the_harness_stay_as_they_are(harness: Path) -> None:
    # Other programs may use the classes to search their own folders.
    (harness / "lm_eval" / "tasks" / "index.py").write_text(MANAGER)
    (harness / "lm_eval" / "tasks" / "manager.py").write_text(
        MANAGER.replace("class TaskManager", "from lm_eval.tasks.index import TaskIndex\nclass TaskManager")
    )
    call = "type('Found', (), {'searched': index.TaskIndex.build(['x'])})"
    assert searched(harness, call, before="from lm_eval.tasks import index") == [["x"]]


@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        ("import json\nclass TaskManager:\n    searched = ['none']\n", ["none"]),  # a different harness
        (MANAGER.replace("paths]", "paths if path.is_dir()]"), None),  # missing task files
    ],
)
def test_what_goes_wrong_is_said_and_does_not_end_the_harness(
    harness: Path, manager: str, expected: list[str] | None
) -> None:
    (harness / "lm_eval" / "tasks" / "manager.py").write_text(manager)
    code = (
        "import json, _lm_eval_cora_startup\nfrom lm_eval_cora.discovery import location\n"
        "location.__file__ = '/nowhere/lm_eval_cora/discovery/location.py'\n"
        "from lm_eval.tasks import TaskManager\nprint(json.dumps(TaskManager().searched))"
    )
    found, said = python(code, harness)
    assert found == (expected or [str(harness / "lm_eval" / "tasks")])
    (line,) = said.splitlines()
    assert line.startswith("lm-eval-cora: cannot add its tasks (")
    assert line.endswith('Pass --include_path "$(lm-eval-cora tasks --path)"')


def test_an_error_of_the_harness_is_its_own(harness: Path) -> None:
    (harness / "lm_eval" / "tasks" / "manager.py").write_text("raise RuntimeError('theirs')")
    code = (
        "import json, _lm_eval_cora_startup\n"
        "try:\n    import lm_eval.tasks\nexcept RuntimeError as error:\n    print(json.dumps(str(error)))"
    )
    assert python(code, harness) == ("theirs", "")


def test_the_real_harness(tmp_path: Path) -> None:
    # An empty folder replaces the harness' own folder, because searching that takes half a minute.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.yaml").write_text("task: cora_demo\noutput_type: generate_until\n")
    code = f"""
import json, _lm_eval_cora_startup
import lm_eval.tasks.manager as manager
manager.__file__ = {str(tmp_path / "own" / "manager.py")!r}
ours, mine = {str(OURS)!r}, {str(tmp_path / "mine")!r}
calls = [{{}}, {{"include_defaults": False}}, {{"include_path": ours}}, {{"include_path": mine}}]
managers = [manager.TaskManager(**call) for call in calls]
print(json.dumps([[one.all_tasks, str(one.task_index["cora_demo"].yaml_path)] for one in managers]))
"""
    found, said = python(code, STARTUP.parent, HF_HUB_OFFLINE="1")
    ours, mine = str(OURS / "demo" / "cora_demo.yaml"), str(tmp_path / "mine" / "mine.yaml")
    assert found == [[sorted([*NAMES, *GROUPS]), path] for path in (ours, ours, ours, mine)]
    # The user's task overrides ours. The harness warns about it, as it does for its own tasks.
    assert said.count("overrides existing task") == 1


# ---- the tag !cora


DECLARED = """\
task: mine
include: !cora [generate, divergent]
benchmark:
  hub: allenai/openbookqa
  config: main
  split: test
  fewshot_split: train
  question: question_stem
  choices: choices.text
  labels: choices.label
  answer: answerKey
metadata: {version: 1}
"""


register_tag()


@pytest.mark.usefixtures("hub")
def test_a_task_file_in_any_folder_names_fragments_and_columns(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(DECLARED)
    results = run(knows, "mine", {}, tmp_path)
    assert scores(results, "mine")["cora"] == 1.0
    assert results["configs"]["mine"]["metadata"]["benchmark"]["name"] == "openbookqa_main"
    shots = run(knows, "mine", {}, tmp_path, num_fewshot=2)
    assert shots["samples"]["mine"][0]["arguments"][0][0].count("In train, which number") == 2


def test_a_task_file_with_files_of_its_own(tmp_path: Path) -> None:
    rows = [{"Stem": f"{n}?", "opts": ["Ice", "Fog"], "right": "Fog"} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mine.yaml").write_text(
        "task: mine\ninclude: [!cora generate, !cora order]\n"
        f"benchmark: {{data_files: {tmp_path}/rows.jsonl, question: stem, choices: opts, answer: right}}\n"
        "metadata: {version: 1}\n"
    )
    task = TaskManager(include_path=str(tmp_path), include_defaults=False).load(["mine"])["tasks"]["mine"]
    assert [doc["question"] for doc in task.eval_docs if doc["original"]] == ["0?", "1?", "2?"]
    assert task.dump_config()["benchmark"]["name"] == "rows"


def test_every_fragment_has_a_name_of_its_own() -> None:
    files = [path for folder in ("_forms", "_benchmarks", "_probes") for path in (tasks_folder() / folder).iterdir()]
    paths = yaml.safe_load(f"!cora [{', '.join(path.stem for path in files)}]")
    assert paths == list(map(str, files))


def test_an_unknown_fragment_is_named_with_its_place() -> None:
    with pytest.raises(yaml.YAMLError, match=r"'divergant'.*'divergent'(.|\n)*line 1"):
        yaml.safe_load("include: !cora [generate, divergant]")
    with pytest.raises(yaml.YAMLError, match=r"line 1"):
        yaml.safe_load("include: !cora {generate: 1}")
