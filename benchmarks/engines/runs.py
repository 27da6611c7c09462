"""Runs of `lm-eval-cora run`, each in a process of its own, and the comparison of what they wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .servers import kill

SKIPPED = [["[lm-eval-cora: skipped]"]]
MC = "cora_demo_mc"
TASKS = ("cora_demo", "cora_demo_plus", "cora_demo_order")
SCORED = (MC, "cora_demo_plus_mc", "cora_demo_order_mc")
ZERO_SHOTS = ("--gen_kwargs", "max_gen_toks=64")
"""The tasks of SCORE would let the model write 1,024 tokens, which it does, for minutes."""

SHOTS = ("--num_fewshot", "3", "--fewshot_as_multiturn")
EXACT = ("cora", "ci", "mcqa", "bmca@1.0")


@dataclass(frozen=True)
class Run:
    """A command and what it wrote.

    Attributes:
        folder: Where results, samples and the log are.
        arguments: Of `lm-eval-cora run`.
        environment: Variables of the process.
        seconds: So long may it take.
    """

    folder: Path
    arguments: Sequence[str]
    environment: dict[str, str]
    seconds: float

    @cached_property
    def log(self) -> Path:
        """The output of the command."""
        return self.folder / "log.txt"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command without waiting for it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "lm_eval_cora", "run", *self.arguments]
        command += ["--output_path", str(self.folder), "--log_samples"]
        with self.log.open("ab") as log:
            log.write(f"\n$ {' '.join(command)}\n".encode())
            log.flush()
            return subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, env=self.environment, start_new_session=True
            )

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for the command; return its exit status, 124 if it took too long and was killed."""
        try:
            return process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            return 124
        finally:
            kill(process)

    def __call__(self) -> int:
        """Run the command; return its exit status."""
        begun = time.monotonic()
        status = self.wait(self.start())
        print(f"{self.folder.name}: status {status}, {time.monotonic() - begun:.0f} s", flush=True)
        return status

    def last_line(self) -> str:
        """The last line of the log that is not empty."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def samples(self, task: str) -> dict[tuple[str, int], dict[str, Any]]:
        """The lines of the newest samples file, by question and variant; empty without one."""
        files = sorted(self.folder.rglob(f"samples_{task}_2*.jsonl"), key=os.path.getmtime)
        if not files:
            return {}
        lines = map(json.loads, files[-1].read_text(encoding="utf-8").splitlines())
        return {(line["doc"]["question_id"], line["doc"]["ordinal"]): line for line in lines}

    def scores(self, task: str) -> dict[str, Any]:
        """The metrics in the newest results file, as they are written there."""
        files = sorted(self.folder.rglob("results_*.json"), key=os.path.getmtime)
        written: dict[str, Any] = json.loads(files[-1].read_text(encoding="utf-8"))["results"].get(task, {})
        numbers = {name.removesuffix(",none"): value for name, value in written.items() if ",none" in name}
        return {name: value for name, value in numbers.items() if not name.endswith("_stderr_stderr")}


def compare(reference: Run, run: Run, task: str, names: Sequence[str] = ()) -> dict[str, Any]:
    """Compare a task's responses, picks and metrics in two runs.

    Args:
        reference: The run that is compared with.
        run: The run that is compared. What it did not ask is left out.
        task: A task of both.
        names: Of the metrics that must be equal, with their errors; without any all.

    Returns:
        Cells of a row of the table.
    """
    theirs = run.samples(task)
    pairs = [(one, theirs[key]) for key, one in reference.samples(task).items() if key in theirs]
    asked = [(one, other) for one, other in pairs if other["resps"] != SKIPPED]
    scores, others = reference.scores(task), run.scores(task)
    compared = [name for name in scores if not names or name.removesuffix("_stderr") in names]
    compared = [name for name in compared if not name.startswith("letter_mass")]  # of all digits of likelihoods
    unlike = [name for name in compared if str(scores[name]) != str(others.get(name))]
    picked = [(one["consistency_rate"], other.get("consistency_rate")) for one, other in asked]
    row: dict[str, Any] = {
        "variants": len(asked),
        # A run that stops early prints no consistency rate, and so its samples hold no picks.
        "equal picks": "" if names else sum(one == other for one, other in picked),
        "metrics": "equal" if compared and not unlike else f"{len(unlike)} of {len(compared)} differ",
    }
    if task.endswith("_mc"):
        gap = max((_gap(one["resps"], other["resps"]) for one, other in asked), default=float("nan"))
        invalid = sum(bool(other["invalid"]) for _, other in asked)
        lost = f", {invalid} invalid" if invalid else ""
        return row | {"equal texts": "", "note": f"log-likelihoods differ by {gap:.1g} at most{lost}"}
    row["equal texts"] = sum(one["resps"] == other["resps"] for one, other in asked)
    first = next((pair for pair in asked if pair[0]["resps"] != pair[1]["resps"]), None)
    return row | {"note": _difference(*first) if first else ""}


def _gap(one: Any, other: Any) -> float:
    """The largest difference of the log-likelihoods of two variants, of the letters or tokens that both have."""
    ours, theirs = _scores(one), _scores(other)
    return max((abs(ours[name] - theirs[name]) for name in ours.keys() & theirs.keys()), default=float("nan"))


def _scores(responses: Any) -> dict[str, float]:
    """The log-likelihoods of a variant's letters, one for each request, or of the likeliest next tokens."""
    if len(responses) == 1:
        return dict(json.loads(responses[0][0]))
    return {str(place): float(response[0][0]) for place, response in enumerate(responses)}


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """A few characters of two texts from their first difference."""
    a, b = one["resps"][0][0], other["resps"][0][0]
    place = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    begin = max(0, place - 8)
    return f"first at character {place}: {a[begin : place + 12]!r}, here {b[begin : place + 12]!r}"
