"""Write what `simple_evaluate` returns to files, because a report reads the responses again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.runs.files import part_of
from lm_eval_cora.runs.samples import is_ours


class ResultsFolder:
    """A temporary folder with such results. It is removed with its last user."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="lm-eval-cora-"))
        self._count = 0
        finalize(self, rmtree, self.path, ignore_errors=True)

    def add(self, results: Mapping[str, Any]) -> Path:
        """Write results as `lm_eval run --output_path --log_samples` does, without other tasks."""
        samples = results.get("samples")
        if not isinstance(samples, Mapping):
            raise UserError(
                "read_runs: expected the results of simple_evaluate with samples, got results without `samples`. Pass "
                "log_samples=True to simple_evaluate"
            )
        ours = {task: lines for task, lines in samples.items() if any(map(is_ours, lines))}
        if not ours:
            raise UserError(
                "read_runs: the results have no samples of lm-eval-cora tasks, but of other tasks "
                f"({first_few(samples)}). lm-eval-cora compare reads their files"
            )
        self._count += 1
        folder, date = self.path / f"results {self._count}", datetime.now().isoformat().replace(":", "-")
        folder.mkdir()
        whole = {"model_name": _model_of(results), **{key: results[key] for key in results if key != "samples"}}
        (folder / f"results_{date}.json").write_text(_as_json(whole), encoding="utf-8")
        for task, lines in ours.items():
            with (folder / f"samples_{task}_{date}.jsonl").open("w", encoding="utf-8") as file:
                for line in lines:
                    requests = line["arguments"]  # a dict if they were already saved
                    named = requests if isinstance(requests, dict) else dict(enumerate(requests))
                    file.write(f"{_as_json({**line, 'arguments': named})}\n")
        return folder


def _model_of(results: Mapping[str, Any]) -> str:
    """The name of the model as the harness finds it for its files, else that of the back end or the class."""
    config = part_of(results, "config")
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    known = arguments if isinstance(arguments, Mapping) else {}
    names = (known.get(name) for name in ("peft", "delta", "pretrained", "model", "path", "engine"))
    return str(next(filter(None, names), config.get("model") or ""))


def _as_json(value: Any) -> str:
    """Write a value as JSON, with values of numpy as numbers and other objects as text."""
    return json.dumps(value, default=lambda item: item.tolist() if hasattr(item, "tolist") else str(item))
