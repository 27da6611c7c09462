"""The questions that come with the package; no network is needed."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from lm_eval_cora.benchmarks.local import LOCAL

DEMO = replace(
    LOCAL,
    name="demo",
    options=(5, 5),
    published_rows=120,
    file=Path(str(files("lm_eval_cora.benchmarks") / "demo.jsonl")),
)
