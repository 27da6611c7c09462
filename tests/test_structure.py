"""Allowed imports between modules, and the layout of the tests."""

import ast
import re
import tokenize
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.variants.probes import PROBES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lm_eval_cora"
TESTS = ROOT / "tests"

NO_MODULE = {
    *("test_structure.py", "test_benchmarks_run.py", "test_lock.py", "test_write_tasks.py", "test_draw_overview.py"),
    "test_api.py",  # of the package itself
    *("docs/test_commands.py", "docs/test_generated.py", "docs/test_site.py", "docs/test_workflow.py"),
}
"""Test files that do not test a module of the package. Tests of whole runs are in `tests/whole_runs/`."""


@cache
def import_nodes(path):
    """Return the imports of a file, also those inside functions and under TYPE_CHECKING."""
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(path):
    names = set()
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            names.add("." * node.level + (node.module or ""))
    return names


def test_only_our_harness_package_imports_the_harness():
    importing = {
        path for path in PACKAGE.rglob("*.py") if any(f"{name}.".startswith("lm_eval.") for name in imported(path))
    }
    assert importing
    assert {path.parent.name for path in importing} == {"harness"}


def test_only_the_command_line_and_the_public_names_import_our_harness_package():
    outside = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "harness"]
    importing = {path for path in outside if any("lm_eval_cora.harness" in name for name in imported(path))}
    commands = {PACKAGE / "cli" / name for name in ("run.py", "tasks.py")}
    assert importing == {*commands, PACKAGE / "__init__.py"}  # `stop_early` is a public name


ORDER = (
    *("errors", "log", "workers", "bars", "questions", "writing", "discovery", "variants", "answers", "metrics"),
    *("tables", "runs", "decide", "report", "renderers", "export", "inspect", "harness", "api", "cli"),
)
"""The packages in their order: each imports only those before it. `api` stands for the modules beside the packages."""


def imports():
    """Count the imports between packages. The version may be imported everywhere."""
    found = Counter()
    for path in PACKAGE.rglob("*.py"):
        for node in import_nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lm_eval_cora":
                names = {f"{node.module}.{alias.name}" for alias in node.names} - {"lm_eval_cora.__version__"}
                importing = package_of(path.relative_to(PACKAGE).parts[0])
                found.update((importing, package_of(name.split(".")[1])) for name in names)
    return found


def package_of(name):
    if name == "__main__.py":
        return "cli"
    return name.removesuffix(".py") if name.removesuffix(".py") in ORDER else "api"


def test_each_package_imports_only_packages_before_it():
    assert {pair for pair in imports() if ORDER.index(pair[0]) < ORDER.index(pair[1])} == set()


def test_the_front_ends_do_not_import_each_other():
    assert {("harness", "runs"), ("inspect", "runs")} <= imports().keys()
    assert imports().keys().isdisjoint({("harness", "inspect"), ("inspect", "harness")})


def dotted(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def modules_imported(path, modules):
    """The modules of the package that a file imports."""
    nodes = [node for node in import_nodes(path) if isinstance(node, ast.ImportFrom)]
    names = [(f"{node.module}.{alias.name}", f"{node.module}") for node in nodes for alias in node.names]
    return {name if name in modules else origin for name, origin in names} & modules


def test_the_files_of_a_package_do_not_import_each_other_in_a_circle():
    """`prepare` raises a CycleError that names the files."""
    modules = {dotted(path) for path in PACKAGE.rglob("*.py")}
    for folder in {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE}:
        files = {dotted(path): path for path in folder.glob("*.py")}
        graph = {name: modules_imported(path, modules) & (files.keys() - {name}) for name, path in files.items()}
        TopologicalSorter(graph).prepare()


def test_files_of_two_packages_have_the_same_name_only_if_they_do_the_same():
    """`cli/report.py` is the command of `report/`."""
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if path.parent.name != "cli")
    assert {name for name, count in names.items() if count > 1} == {"__init__.py"}


def test_the_files_that_the_design_page_names_exist():
    page = (ROOT / "docs" / "design.md").read_text()
    names = set(re.findall(r"`([\w/]+\.py)`", page))
    assert len(names) > 15
    known = [path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py")] + ["tests/test_structure.py"]
    assert {name for name in names if not any(f"/{path}".endswith(f"/{name}") for path in known)} == set()


COUNTED = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
F_STRING = tuple(getattr(tokenize, name, None) for name in ("FSTRING_START", "FSTRING_END"))  # from Python 3.12 on


def tokens(folder):
    """Count names, operators, numbers and strings; an f-string is one, and docstrings are none."""
    count = 0
    for path in folder.rglob("*.py"):
        depth = 0
        with path.open("rb") as file:
            for kind, text, *_ in tokenize.tokenize(file.readline):
                depth -= kind == F_STRING[1]
                is_text = kind in (tokenize.STRING, F_STRING[0])
                is_long = is_text and re.match(r"[a-zA-Z]*(\"\"\"|''')", text) is not None
                count += depth == 0 and kind in (*COUNTED, F_STRING[0]) and not is_long
                depth += kind == F_STRING[0]
    return count


def test_the_package_and_its_tests_stay_small():
    """A change that needs more code first removes code that nobody needs. Long lines and short names do not help."""
    assert tokens(PACKAGE) <= 236_100
    assert len(list(PACKAGE.rglob("*.py"))) <= 164
    assert tokens(TESTS) <= 296_200
    others = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    assert sum(path.stat().st_size for path in others) <= 176_000


def test_functions_are_short():
    """A function has at most 40 lines without its docstring, and 8 parameters."""
    functions = [
        (path.name, node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > 1000
    for file, node in functions:
        lines = node.end_lineno - node.lineno + 1 - len((ast.get_docstring(node, clean=False) or "").splitlines())
        parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        assert lines <= 40, (file, node.name)
        assert len(set(parameters) - {"self", "cls"}) <= 8, (file, node.name)


def modules():
    """Return each module of the package. The module of `a/__init__.py` is `a/a`."""
    paths = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]
    return {path.with_suffix("") if path.stem != "__init__" else path.parent / path.parent.name for path in paths}


def prefixes(path):
    """Return the modules that `test_a_b_c.py` may be named after: `a`, `a_b` and `a_b_c`."""
    words = path.stem.removeprefix("test_").split("_")
    return {path.parent / "_".join(words[: count + 1]) for count in range(len(words))}


def test_a_test_file_is_named_after_the_module_that_it_tests():
    """The name is `test_<module>.py` or `test_<module>_<aspect>.py`."""
    files = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py") if TESTS / "whole_runs" not in path.parents}
    known = modules()
    assert {str(path) for path in files if not prefixes(path) & known} <= NO_MODULE


def test_helpers_of_tests_are_in_support():
    beside = [path for path in TESTS.rglob("*.py") if TESTS / "support" not in path.parents]
    assert {path.name for path in beside if not path.name.startswith("test_")} == {"__init__.py", "conftest.py"}
    for path in beside:
        ours = {name for name in imported(path) if f"{name}.".startswith(("tests.", "."))}
        assert all(f"{name}.".startswith("tests.support.") for name in ours), path


def names_compared(tree):
    """Return the texts on which code branches: in comparisons, as keys of a table, in a `match`."""
    parts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts += [node.left, *node.comparators]
        elif isinstance(node, ast.Dict) and len(node.keys) > 1:  # a lookup table
            parts += [key for key in node.keys if key is not None]
        elif isinstance(node, ast.match_case):
            parts.append(node.pattern)
    found = [each for part in parts for each in ast.walk(part)]
    texts = {each.value for each in found if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    # `probe == order.NAME`, `record.ask in (LETTER.name, ...)`
    owners = {
        ast.unparse(each.value).rpartition(".")[2].lower()
        for each in found
        if isinstance(each, ast.Attribute) and each.attr in ("NAME", "name")
    }
    return texts | owners


def test_names_of_probes_and_formats_are_compared_in_their_own_files_only():
    names = {*PROBES, *FORMATS} - {"labels"}  # also a key of a variant, and a column
    compared = {
        path.relative_to(PACKAGE): found
        for path in sorted(PACKAGE.rglob("*.py"))
        if (found := names_compared(ast.parse(path.read_text())) & (names - {path.stem}))
    }
    assert not compared


def test_comparisons_are_found():
    code = """
if probe == order.NAME or ask in ("letter", LETTER.name) or {"plus": 1, "": 2}[probe]:
    match probe:
        case "revas": pass
"""
    assert names_compared(ast.parse(code)) >= {"order", "letter", "plus", "revas"}
