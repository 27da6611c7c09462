"""What all runs of engines share: folder, weights, variables, and the runs themselves."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import weights
from .runs import Run


@dataclass(frozen=True)
class Bench:
    """What all runs share.

    Attributes:
        folder: Where weights, runs and logs are.
        questions: How many of the demo's questions are asked.
        threads: Of each process.
        seconds: How long a run may take.
        keep: Whether a run that has finished is used again.
    """

    folder: Path
    questions: int
    threads: int
    seconds: float
    keep: bool

    @property
    def model(self) -> Path:
        """For transformers and vLLM."""
        return self.folder / "model"

    @property
    def gguf(self) -> Path:
        """For llama.cpp."""
        return self.folder / "model.f32.gguf"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of every process. With TQDM_DISABLE vLLM divides by zero, where the batch size is `auto`."""
        return {
            **{name: value for name, value in os.environ.items() if name != "TQDM_DISABLE"},
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "OMP_NUM_THREADS": str(self.threads),
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "PYTHONPATH": str(self.folder / "metadata"),
        }

    def prepare(self) -> None:
        """Write the weights, unless they are there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        weights.make_folder(self.model)
        weights.make_gguf(self.gguf)
        weights.make_vllm_metadata(self.folder / "metadata")

    def run(self, name: str, tasks: tuple[str, ...], *arguments: str, **options: str) -> Run:
        """Prepare a run, and remove the folder of an earlier one."""
        metadata = {"cora": {"questions": self.questions, **options}}
        own = ("--tasks", ",".join(tasks), "--metadata", json.dumps(metadata))
        run = Run(
            self.folder / "runs" / name.replace(" ", "-"),
            [*arguments, *own, "--apply_chat_template"],
            self.environment,
            self.seconds,
        )
        if not self.keep:
            shutil.rmtree(run.folder, ignore_errors=True)
        return run

    def done(self, run: Run) -> int:
        """Run it, unless it is kept from an earlier call; return its exit status."""
        if self.keep and any(run.folder.rglob("results_*.json")):
            return 0
        return run()

    def log(self, name: str) -> Path:
        """Of a server."""
        return self.folder / f"{name}.log"
