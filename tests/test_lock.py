"""The versions in constraints.txt satisfy pyproject.toml, on every supported version of Python."""

from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def requirements():
    """Return the dependencies of the package, its extras and its build in pyproject.toml."""
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = written["project"]
    lists = [written["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(each) for one in lists for each in one]


def locked(python):
    """Return the lines of constraints.txt that apply on Linux to a version of Python, by package."""
    machine = {"sys_platform": "linux", "platform_machine": "x86_64", "platform_python_implementation": "CPython"}
    environment = {"python_version": python, "python_full_version": f"{python}.9", **machine}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    applying = [each for each in found if each.marker is None or each.marker.evaluate(environment)]
    names = [canonicalize_name(each.name) for each in applying]
    assert len(set(names)) == len(names)
    return dict(zip(names, applying, strict=True))


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_the_lock_has_a_version_that_fits_each_requirement(python):
    versions = locked(python)
    for requirement in requirements():
        (pin,) = versions[canonicalize_name(requirement.name)].specifier
        assert pin.operator == "==", requirement
        assert requirement.specifier.contains(pin.version), f"{requirement}: constraints.txt has {pin.version}"


def test_the_lock_leaves_the_build_of_torch_open():
    assert not [name for name in locked("3.12") if name.startswith(("torch", "triton", "cuda-", "nvidia-"))]
