"""The folder, and the start-up module with a small imitation of the harness and in one test with the real harness."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_cora.discovery import location
from lm_eval_cora.discovery.location import SWITCH, register_tag, tasks_folder
from tests.support.names import GROUPS, NAMES
from tests.support.simulated import knows, run, scores
from tests.support.written import put

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

TASKS = Path("lm_eval", "tasks")
"""The folder that the harness searches first, below its site folder."""


@pytest.fixture
def harness(tmp_path):
    """A folder with a package `lm_eval` that only has a TaskManager, and the start-up module as it is installed."""
    folder = tmp_path / "site"
    (folder / TASKS).mkdir(parents=True)
    (folder / "lm_eval" / "__init__.py").touch()
    (folder / TASKS / "__init__.py").write_text("from lm_eval.tasks.manager import TaskManager\n")
    (folder / TASKS / "manager.py").write_text(MANAGER)
    (folder / STARTUP.name).write_text(STARTUP.read_text())
    return folder


def python(code, *path, **variables):
    """Run code in a new Python with the checkout on its path. Return its JSON output and its stderr."""
    environment = {key: value for key, value in os.environ.items() if key != SWITCH}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (*path, REPOSITORY)))
    done = subprocess.run([sys.executable, "-c", code], env=environment | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def searched(harness, *calls, before="", **variables):
    """Return the folders that TaskManagers search while the start-up module is active."""
    code = (
        f"import json, sys\nfrom pathlib import Path\nimport _lm_eval_cora_startup\n{before}\n"
        f"from lm_eval.tasks import TaskManager\nprint(json.dumps([each.searched for each in [{', '.join(calls)}]]))"
    )
    found, said = python(code, harness, **variables)
    assert not said
    return list(found)


def test_the_folder_of_the_task_files(tmp_path, monkeypatch):
    assert tasks_folder() == Path(__file__).parents[2] / "tasks"  # in a checkout
    monkeypatch.setattr(location, "__file__", str(tmp_path / "lm_eval_cora" / "discovery" / "location.py"))
    (tmp_path / "tasks").mkdir()  # of another package
    with pytest.raises(FileNotFoundError, match=r"task files: .* Install lm-eval-cora again"):
        tasks_folder()
    for folder in ("lm_eval_cora/tasks/_probes", "tasks/_probes"):
        (tmp_path / folder).mkdir(parents=True)
    assert tasks_folder() == tmp_path / "lm_eval_cora" / "tasks"  # installed
    assert location.find_spec("csv", None, None) is None  # another start-up module may ask for any name


def test_our_folder_is_searched_after_the_harness_and_before_the_users(harness, tmp_path):
    (tmp_path / "link").symlink_to(OURS)
    users = {
        **{given: [str(OURS)] for given in ("[]", "''", "None")},
        **{given: [str(OURS), "mine"] for given in ("'mine'", "Path('mine')", f"['mine', {str(OURS / 'demo')!r}]")},
        "('mine', Path('yours'))": [str(OURS), "mine", "yours"],
    }
    # A folder that the user names is not searched twice.
    for folder in (OURS, OURS.parent, os.path.relpath(OURS), OURS / "demo" / "..", tmp_path / "link"):
        users[f"[{str(folder)!r}, 'mine']"] = [str(folder), "mine"]
    calls = [
        f"TaskManager(include_path={given}, include_defaults={default})" for default in (True, False) for given in users
    ]
    theirs = [str(harness / TASKS)]
    assert searched(harness, *calls) == [[*first, *more] for first in (theirs, []) for more in users.values()]


@pytest.mark.parametrize("variables", [{}, {SWITCH: "0"}], ids=["on", "through the entry point"])
def test_a_harness_that_discovers_packages_finds_us_by_itself(harness, variables):
    call = "type('Discovering', (TaskManager,), {'discovers': True})(include_path='mine')"
    assert searched(harness, call, **variables) == [[str(harness / TASKS), str(OURS), "mine"]]


CHANGES = {
    "off": ("", {SWITCH: "0"}, False),
    "on": ("", {SWITCH: "1"}, True),
    "a reloaded harness": ("import importlib, lm_eval.tasks.manager as it\nimportlib.reload(it)", {}, True),
    "a removed package": ("sys.modules['lm_eval_cora'] = None", {}, False),  # while this Python runs
    "a damaged package": ("sys.path.remove('')  # the package is damaged, not the checkout", {}, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_switch_and_changes(harness, change):
    before, variables, is_found = CHANGES[change]
    if "damaged" in change:
        (harness / "lm_eval_cora").mkdir()
        (harness / "lm_eval_cora" / "__init__.py").write_text("half a line of (")
    expected = [str(harness / TASKS), str(OURS)] if is_found else [str(harness / TASKS)]
    assert searched(harness, "TaskManager()", before=before, **variables) == [expected]


def test_the_harness_looks_as_if_it_had_been_loaded_without_us(harness):
    code = """
import copy, importlib.util, inspect, json, sys, _lm_eval_cora_startup
spec = importlib.util.find_spec("lm_eval.tasks.manager")
copy.copy(spec.loader)
found = ["lm_eval.tasks.manager" in sys.modules, spec.loader.get_source(spec.name)]  # looking for it does not load it
import lm_eval.tasks.manager as manager
loaders = [type(loader).__name__ for loader in (manager.__loader__, manager.__spec__.loader)]
print(json.dumps([*found, *loaders, inspect.getsource(manager.TaskManager)[:18]]))
"""
    (harness / TASKS / "__init__.py").write_text("")
    expected = [False, MANAGER, "SourceFileLoader", "SourceFileLoader", "class TaskManager:"]
    assert python(code, harness) == (expected, "")


def test_nothing_happens_without_the_harness(harness):
    code = "import json, sys, _lm_eval_cora_startup\nimport csv\nprint(json.dumps([*sys.modules]))"
    modules, _ = python(code, harness)
    assert ("_lm_eval_cora_startup" in modules, "lm_eval_cora" in modules) == (True, False)
    tree = ast.parse(STARTUP.read_text())
    assert [ast.unparse(line) for line in tree.body if isinstance(line, ast.Import | ast.ImportFrom)] == ["import sys"]
    assert STARTUP.with_name("lm_eval_cora_startup.pth").read_text() == f"import {STARTUP.stem}\n"


@pytest.mark.parametrize("place", ["0", "len(sys.meta_path)"])
def test_another_finder_that_asks_the_others(harness, place):
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
    assert searched(harness, "TaskManager()", depth, before=before) == [[str(harness / TASKS), str(OURS)], ["3"]]


def test_the_classes_of_the_harness_stay_as_they_are(harness):
    # Other programs may use the classes to search their own folders.
    (harness / TASKS / "index.py").write_text(MANAGER)
    importing = "from lm_eval.tasks.index import TaskIndex\nclass TaskManager"
    (harness / TASKS / "manager.py").write_text(MANAGER.replace("class TaskManager", importing))
    call = "type('Found', (), {'searched': index.TaskIndex.build(['x'])})"
    assert searched(harness, call, before="from lm_eval.tasks import index") == [["x"]]


def test_what_goes_wrong_is_said_and_does_not_end_the_harness(harness):
    code = """
import json, _lm_eval_cora_startup
from lm_eval_cora.discovery import location
location.__file__ = '/nowhere/lm_eval_cora/discovery/location.py'
from lm_eval.tasks import TaskManager
print(json.dumps(TaskManager().searched))
"""
    for manager, expected in (
        ("import json\nclass TaskManager:\n    searched = ['none']\n", "none"),  # a different harness
        (MANAGER.replace("paths]", "paths if path.is_dir()]"), str(harness / TASKS)),  # missing task files
    ):
        (harness / TASKS / "manager.py").write_text(manager)
        found, said = python(code, harness)
        assert found == [expected]
        (line,) = said.splitlines()
        assert line.startswith("lm-eval-cora: cannot add its tasks (")
        assert line.endswith('Pass --include_path "$(lm-eval-cora tasks --path)"')


def test_an_error_of_the_harness_is_its_own(harness):
    (harness / TASKS / "manager.py").write_text("raise RuntimeError('theirs')")
    code = "import _lm_eval_cora_startup\ntry:\n    import lm_eval.tasks\nexcept RuntimeError:\n    print('true')"
    assert python(code, harness) == (True, "")


def test_the_real_harness(tmp_path):
    # An empty folder replaces the harness' own folder, because searching that takes half a minute.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.yaml").write_text("task: cora_demo\noutput_type: generate_until\n")
    code = f"""
import json, logging, _lm_eval_cora_startup
import lm_eval.tasks.manager as manager
manager.__file__ = {str(tmp_path / "own" / "manager.py")!r}
ours, mine = {str(OURS)!r}, {str(tmp_path / "mine")!r}
calls = [{{}}, {{"include_defaults": False}}, {{"include_path": ours}}, {{"include_path": mine}}]
managers = [manager.TaskManager(**call) for call in calls]
found = [[one.all_tasks, str(one.task_index["cora_demo"].yaml_path)] for one in managers]
record = logging.makeLogRecord({{"args": ("hf", {{"auth_token": "1"}})}})
logging.getLogger("lm_eval.evaluator").filter(record)
print(json.dumps([found, record.args]))
"""
    (found, logged), said = python(code, STARTUP.parent, HF_HUB_OFFLINE="1")
    ours, mine = str(OURS / "demo" / "cora_demo.yaml"), str(tmp_path / "mine" / "mine.yaml")
    assert found == [[sorted([*NAMES, *GROUPS]), path] for path in (ours, ours, ours, mine)]
    assert logged == ["hf", {"auth_token": "***"}]
    # The user's task overrides ours. The harness warns about it, as it does for its own tasks.
    assert said.count("overrides existing task") == 1


# ---- the tag !cora
DECLARED = """\
task: mine
include: !cora [generate, divergent]
benchmark:
  {hub: allenai/openbookqa, config: main, split: test, fewshot_split: train, question: question_stem,
   choices: choices.text, labels: choices.label, answer: answerKey}
metadata: {version: 1}
"""

register_tag()


@pytest.mark.usefixtures("hub")
def test_a_task_file_in_any_folder_names_fragments_and_columns(tmp_path):
    (tmp_path / "mine.yaml").write_text(DECLARED)
    results = run(knows, "mine", {}, tmp_path)
    assert scores(results, "mine")["cora"] == 1.0
    assert results["configs"]["mine"]["metadata"]["benchmark"]["name"] == "openbookqa_main"
    shots = run(knows, "mine", {}, tmp_path, num_fewshot=2)
    assert shots["samples"]["mine"][0]["arguments"][0][0].count("In train, which number") == 2


def test_a_task_file_with_files_of_its_own(tmp_path):
    put(tmp_path / "rows.jsonl", [{"Stem": f"{n}?", "opts": ["Ice", "Fog"], "right": "Fog"} for n in range(3)])
    (tmp_path / "mine.yaml").write_text(
        "task: mine\ninclude: [!cora generate, !cora order]\n"
        f"benchmark: {{data_files: {tmp_path}/rows.jsonl, question: stem, choices: opts, answer: right}}\n"
        "metadata: {version: 1}\n"
    )
    task = TaskManager(include_path=str(tmp_path), include_defaults=False).load(["mine"])["tasks"]["mine"]
    assert [doc["question"] for doc in task.eval_docs if doc["original"]] == ["0?", "1?", "2?"]
    assert task.dump_config()["benchmark"]["name"] == "rows"


def test_every_fragment_has_a_name_of_its_own():
    files = [path for folder in ("_forms", "_benchmarks", "_probes") for path in (tasks_folder() / folder).iterdir()]
    paths = yaml.safe_load(f"!cora [{', '.join(path.stem for path in files)}]")
    assert paths == list(map(str, files))


def test_an_unknown_fragment_is_named_with_its_place():
    told = {"[generate, divergant]": r"'divergant'.*'divergent'(.|\n)*line 1", "{generate: 1}": "line 1"}
    for names, message in told.items():
        with pytest.raises(yaml.YAMLError, match=message):
            yaml.safe_load(f"include: !cora {names}")
