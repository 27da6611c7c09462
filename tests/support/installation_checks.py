"""Checks of an environment with the harness and this package.

python -m tests.support.installation_checks              # all ways, as a table: what `nox -s install` runs
python -m tests.support.installation_checks upgrade uv   # those with one of these words in their name
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.support.installation import CASES, DUMMY, Sources
from tests.support.names import GROUPS, NAMES


def check_import(environment):
    """The harness is the real package, not an empty namespace."""
    found = environment.run("-c", "import lm_eval; print(lm_eval.__file__)").strip()
    assert environment.harness is not None
    assert Path(found).is_relative_to(environment.harness), f"{found} is not in {environment.harness}"
    return "yes"


def _listed(environment, *arguments):
    lines = environment.run("-m", "lm_eval", "ls", "tasks", *arguments).splitlines()
    assert not [line for line in lines if "WARNING" in line], "\n".join(lines[:20])
    return {line.split("|")[1].strip() for line in lines if line.startswith("|")}


def _include_path(environment):
    if environment.discovers:
        return ()
    return "--include_path", environment.run("-m", "lm_eval_cora", "tasks", "--path").strip()


def check_listing(environment):
    """`lm_eval ls tasks` lists our tasks and the harness' own."""
    found = _listed(environment, *_include_path(environment))
    assert {*NAMES, *GROUPS, "arc_easy"} <= found, sorted({*NAMES, *GROUPS, "arc_easy"} - found)
    return "ours and theirs" if environment.discovers else "with --include_path"


def check_run(environment):
    """A run with the dummy model prints its table."""
    assert "|cora " in environment.run("-m", "lm_eval", *DUMMY, *_include_path(environment))
    return "table"


def check_explicit(environment, folder):
    """`lm-eval-cora run` and `report` work without the start-up module."""
    out = ("--output_path", str(folder / "out"), "--log_samples")
    assert "|cora " in environment.run("-m", "lm_eval_cora", *DUMMY, *out, LM_EVAL_CORA_AUTOLOAD="0")
    assert "| cora " in environment.run("-m", "lm_eval_cora", "report", folder / "out", "--format", "md")
    return "table and report"


def check_removal(environment):
    """Uninstalling our package removes all its files, and the harness still works."""
    if not environment.removable:
        return "-"
    site = environment.site
    environment.remove()
    environment.run("-m", "pip", "check")
    left = [path for path in site.rglob("*") if "lm_eval_cora" in path.name or path.name.startswith("cora_")]
    assert not left, left
    assert not (site / "lm_eval").is_dir() or (site / "lm_eval" / "__init__.py").is_file()
    found = _listed(environment)
    assert "arc_easy" in found
    assert not found & {*NAMES, *GROUPS}
    return "clean"


CHECKS = {
    "import lm_eval": lambda environment, _: check_import(environment),
    "lm_eval ls tasks": lambda environment, _: check_listing(environment),
    "lm_eval run": lambda environment, _: check_run(environment),
    "lm-eval-cora run, report": check_explicit,
    "removed": lambda environment, _: check_removal(environment),
}


def main(words):
    """Print a row per case; the status is 1 if anything failed."""
    cases = {name: make for name, make in CASES.items() if not words or any(word in name for word in words)}
    failures = []
    width = max(map(len, cases))
    print(f"{'':{width + 2}}", *(f"{title:25}" for title in CHECKS), "seconds")
    with tempfile.TemporaryDirectory() as temporary:
        sources = Sources(Path(temporary))
        for name, make in cases.items():
            start = time.perf_counter()
            folder = Path(temporary) / name.replace(" ", "-").replace("'", "")
            print(f"{name:{width + 2}}", end=" ", flush=True)
            try:
                environment = make(sources, folder / "environment")
                for check in CHECKS.values():
                    print(f"{check(environment, folder):25}", end=" ", flush=True)
            except Exception as error:  # the other cases go on
                print("FAILED", end=" ")
                failures.append(f"{name}: {error}")
            print(f"{time.perf_counter() - start:7.0f}", flush=True)
    print("\n\n".join(["", *failures]))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
