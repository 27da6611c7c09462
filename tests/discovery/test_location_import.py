"""The start-up module with a small imitation of the harness, and in one test with the real harness."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lm_eval_cora.discovery.location import SWITCH, tasks_folder
from tests.support.names import GROUPS, NAMES

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


def python(*arguments: str, path: tuple[Path, ...] = (), **variables: str) -> tuple[Any, str]:
    """Run a new Python with the checkout on its path. Return its JSON output and its stderr."""
    environment = {key: value for key, value in os.environ.items() if key != SWITCH}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (*path, REPOSITORY)))
    done = subprocess.run(
        [sys.executable, *arguments], env=environment | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def searched(harness: Path, call: str = "TaskManager()", before: str = "", **variables: str) -> list[str]:
    """Return the folders that a TaskManager searches while the start-up module is active."""
    code = (
        f"import json, sys\nfrom pathlib import Path\nimport _lm_eval_cora_startup\n{before}\n"
        f"from lm_eval.tasks import TaskManager\nprint(json.dumps({call}.searched))"
    )
    found, said = python("-c", code, path=(harness,), **variables)
    assert not said
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("given", "users"),
    [
        ("", []),
        ("include_path='mine'", ["mine"]),
        ("include_path=Path('mine')", ["mine"]),
        ("include_path=['mine', Path('yours')]", ["mine", "yours"]),
        ("include_path=('mine',)", ["mine"]),
        ("include_path=[]", []),
        ("include_path=''", []),
    ],
)
@pytest.mark.parametrize("defaults", [True, False])
def test_our_folder_is_searched_after_the_harness_and_before_the_users(
    harness: Path, given: str, users: list[str], defaults: bool
) -> None:
    arguments = ", ".join(filter(None, (given, f"include_defaults={defaults}")))
    theirs = [str(harness / "lm_eval" / "tasks")] if defaults else []
    assert searched(harness, f"TaskManager({arguments})") == [*theirs, str(OURS), *users]


@pytest.mark.parametrize("folder", [OURS, OURS.parent, os.path.relpath(OURS), OURS / "demo" / ".."])
def test_a_folder_that_the_user_names_is_not_searched_twice(harness: Path, folder: Path | str) -> None:
    found = searched(harness, f"TaskManager(include_path=[{str(folder)!r}, 'mine'])")
    assert found[1:] == [str(folder), "mine"]


def test_a_part_of_our_folder_is_not_searched_twice(harness: Path) -> None:
    found = searched(harness, f"TaskManager(include_path=['mine', {str(OURS / 'demo')!r}])")
    assert found[1:] == [str(OURS), "mine"]


def test_a_link_to_our_folder_is_not_searched_twice(harness: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(OURS)
    assert searched(harness, f"TaskManager(include_path={str(tmp_path / 'link')!r})")[1:] == [str(tmp_path / "link")]


def test_a_harness_that_discovers_packages_finds_us_by_itself(harness: Path) -> None:
    call = "type('Discovering', (TaskManager,), {'discovers': True})(include_path='mine')"
    expected = [str(harness / "lm_eval" / "tasks"), str(OURS), "mine"]
    assert searched(harness, call) == expected
    assert searched(harness, call, **{SWITCH: "0"}) == expected  # through the entry point


def test_the_switch(harness: Path) -> None:
    assert searched(harness, **{SWITCH: "0"}) == [str(harness / "lm_eval" / "tasks")]
    assert searched(harness, **{SWITCH: "1"}) == [str(harness / "lm_eval" / "tasks"), str(OURS)]


def test_a_reloaded_harness(harness: Path) -> None:
    before = "import importlib, lm_eval.tasks.manager\nimportlib.reload(lm_eval.tasks.manager)"
    assert searched(harness, before=before)[1:] == [str(OURS)]


def test_the_harness_looks_as_if_it_had_been_loaded_without_us(harness: Path) -> None:
    code = (
        "import json, inspect, _lm_eval_cora_startup\nimport lm_eval.tasks.manager as manager\n"
        "print(json.dumps([type(manager.__loader__).__name__, type(manager.__spec__.loader).__name__, "
        "inspect.getsource(manager.TaskManager)]))"
    )
    (loader, of_spec, source), _ = python("-c", code, path=(harness,))
    assert loader == of_spec == "SourceFileLoader"
    assert source.startswith("class TaskManager:")


def test_nothing_happens_without_the_harness(harness: Path) -> None:
    code = "import json, sys, _lm_eval_cora_startup\nimport csv\nprint(json.dumps([*sys.modules]))"
    modules, _ = python("-c", code, path=(harness,))
    assert "_lm_eval_cora_startup" in modules
    assert "lm_eval_cora" not in modules


def test_it_imports_nothing_but_sys() -> None:
    tree = ast.parse(STARTUP.read_text())
    assert [ast.unparse(line) for line in tree.body if isinstance(line, ast.Import | ast.ImportFrom)] == ["import sys"]
    line = STARTUP.with_name("lm_eval_cora_startup.pth").read_text()
    assert line == f"import {STARTUP.stem}\n"


def test_a_package_that_has_been_removed(harness: Path) -> None:
    # The package is removed while a Python with the start-up module still runs.
    before = "sys.modules['lm_eval_cora'] = None"
    assert searched(harness, before=before) == [str(harness / "lm_eval" / "tasks")]


def test_a_damaged_package(harness: Path) -> None:
    (harness / "lm_eval_cora").mkdir()
    (harness / "lm_eval_cora" / "__init__.py").write_text("half a line of (")
    before = "sys.path.remove('')"  # the checkout
    assert searched(harness, before=before) == [str(harness / "lm_eval" / "tasks")]


@pytest.mark.parametrize("place", ["0", "1", "len(sys.meta_path)"])
def test_another_finder_that_asks_the_others(harness: Path, place: str) -> None:
    # Each of the two finders calls the other.
    before = f"""
class Asking:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        others = [finder for finder in sys.meta_path if finder is not cls]
        return next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
sys.meta_path.insert({place}, Asking)
"""
    assert searched(harness, before=before) == [str(harness / "lm_eval" / "tasks"), str(OURS)]
    # The harness' class has been replaced only once.
    import_it = "from lm_eval.tasks import manager"
    depth = "type('Found', (), {'searched': [str(len(manager.TaskIndex.mro()))]})"
    assert searched(harness, depth, before=f"{before}\n{import_it}") == ["3"]


def test_what_only_looks_for_the_harness_does_not_load_it(harness: Path) -> None:
    code = (
        "import json, sys, copy, importlib.util, _lm_eval_cora_startup\n"
        "spec = importlib.util.find_spec('lm_eval.tasks.manager')\n"
        "copy.copy(spec.loader)\n"
        "print(json.dumps(['lm_eval.tasks.manager' in sys.modules, spec.loader.get_source(spec.name)]))"
    )
    (harness / "lm_eval" / "tasks" / "__init__.py").write_text("")
    assert python("-c", code, path=(harness,)) == ([False, MANAGER], "")


def test_the_classes_of_the_harness_stay_as_they_are(harness: Path) -> None:
    # Other programs may use the classes to search their own folders.
    (harness / "lm_eval" / "tasks" / "index.py").write_text(MANAGER)
    (harness / "lm_eval" / "tasks" / "manager.py").write_text(
        MANAGER.replace("class TaskManager", "from lm_eval.tasks.index import TaskIndex\nclass TaskManager")
    )
    before = "from lm_eval.tasks import index"
    found = searched(harness, "type('Found', (), {'searched': index.TaskIndex.build(['x'])})", before=before)
    assert found == ["x"]


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
    found, said = python("-c", code, path=(harness,))
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
    assert python("-c", code, path=(harness,)) == ("theirs", "")


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
    found, said = python("-c", code, path=(STARTUP.parent,), HF_HUB_OFFLINE="1")
    ours, mine = str(OURS / "demo" / "cora_demo.yaml"), str(tmp_path / "mine" / "mine.yaml")
    assert found == [[sorted([*NAMES, *GROUPS]), path] for path in (ours, ours, ours, mine)]
    # The user's task overrides ours. The harness warns about it, as it does for its own tasks.
    assert said.count("overrides existing task") == 1
