"""Measure the overhead of cora_medqa compared with a plain task of the harness.

Both tasks run with the dummy model over 1,273 questions x 26 variants = 33,098 docs. The plain task reads the same
docs, already expanded, from a file, and has callables and one metric. The two run in alternation, each in a separate
process, without some slow steps of the harness' start (see `harness`). The questions are made up, with the layout and
the length of MedQA's.

    python benchmarks/overhead.py [--repeats 5] [--questions 1273]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
STEM_WORDS = 125  # MedQA's stems have about 120 words, 740 characters
OPTIONS = "ABCDE"
HARNESS = "from benchmarks.overhead import harness; harness()"

sys.path.insert(0, str(REPOSITORY))  # the checkout, not an installed version


def score_plainly(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Score a response like a plain task."""
    return {"acc": float(results[0].strip()[:1] == OPTIONS[doc["printed"].index(doc["answer"])])}


PLAIN = """
task: plain
output_type: generate_until
dataset_path: json
dataset_kwargs: {{data_files: {{test: {docs}}}}}
test_split: test
doc_to_text: !function lm_eval_cora.harness.docs.doc_to_text
doc_to_target: !function lm_eval_cora.harness.docs.doc_to_target
process_results: !function benchmarks.overhead.score_plainly
generation_kwargs: {{do_sample: false, temperature: 0.0, max_gen_toks: 8, until: []}}
metric_list:
  - {{metric: acc, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1}}
"""


def harness() -> None:
    """Run the command `lm_eval` without slow steps that are the same for every task.

    These steps are the index of the harness' own tasks, the versions of all packages, a tokenizer for the dummy model,
    and the seed of torch.
    """
    import lm_eval.evaluator
    import lm_eval.tasks
    from lm_eval.__main__ import cli_evaluate

    lm_eval.tasks.TaskManager = partial(lm_eval.tasks.TaskManager, include_defaults=False)
    for step in ("add_env_info", "add_tokenizer_info", "set_torch_seed"):
        setattr(lm_eval.evaluator, step, lambda *_: None)
    cli_evaluate()


def write_inputs(folder: Path, questions: int) -> None:
    """Write the questions, the task files, and the expanded docs; load the docs into the cache of `datasets`."""
    import datasets

    from lm_eval_cora.harness.docs import load_benchmark, process_docs
    from lm_eval_cora.questions.options import Options
    from lm_eval_cora.runs.task_files import benchmark
    from lm_eval_cora.variants.probes import PROBES

    rng = random.Random(0)

    def words(count: int) -> str:
        return " ".join("".join(rng.choices("aeinorst", k=rng.randint(2, 8))) for _ in range(count))

    with (folder / "medqa.jsonl").open("w") as file:
        for _ in range(questions):
            options = {key: words(rng.randint(1, 6)) for key in OPTIONS}
            row = {"question": words(STEM_WORDS) + "?", "options": options, "answer_idx": rng.choice(OPTIONS)}
            file.write(json.dumps(row) + "\n")
    options = Options(data_files=(str(folder / "medqa.jsonl"),))
    docs = process_docs(load_benchmark(benchmark=benchmark("medqa"), options=options)[0], PROBES["divergent"])
    with (folder / "docs.jsonl").open("w") as file:
        file.writelines(json.dumps(doc) + "\n" for doc in docs)
    files = {"test": str(folder / "docs.jsonl")}
    datasets.load_dataset("json", data_files=files, cache_dir=str(folder / "cache"))
    (folder / "plain.yaml").write_text(PLAIN.format(docs=folder / "docs.jsonl"))
    (folder / "ours.yaml").write_text(
        f"task: ours\ninclude: {REPOSITORY}/tasks/medqa/cora_medqa.yaml\nmetadata: {{version: 1}}\n"
    )


def measure(folder: Path, *arguments: str) -> tuple[float, float, str]:
    """Run this Python in a folder; return processor time in seconds, peak memory in MiB, and output."""
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_CACHE": str(folder / "cache"),
        "PYTHONPATH": str(REPOSITORY),
    }
    with (folder / "log.txt").open("wb") as log:
        child = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=log, stderr=log, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
    printed = (folder / "log.txt").read_text(errors="replace")
    if status:
        raise SystemExit(printed[-3000:])
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed


def run(folder: Path, task: str, *arguments: str) -> tuple[float, float]:
    """Run the harness once; return processor time in seconds and peak memory in MiB."""
    options = json.dumps({"cora": {"data_files": str(folder / "medqa.jsonl")}})
    command = [
        *("-c", HARNESS, "run", "--model", "dummy", "--include_path", str(folder)),
        *("--tasks", task, "--metadata", options, "--output_path", str(folder / f"{task}_out"), "--log_samples"),
        *arguments,
    ]
    seconds, memory, _ = measure(folder, *command)
    return seconds, memory


def samples_bytes(folder: Path, task: str) -> int:
    """Return the size of the newest samples file of a task."""
    return max(folder.glob(f"{task}_out/*/samples_*"), key=lambda path: path.stat().st_mtime).stat().st_size


def main() -> None:
    """Measure both tasks and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each task (default: 5)")
    parser.add_argument("--questions", type=int, default=1_273, help="with five options each (default: 1,273)")
    given = parser.parse_args()
    repeats = given.repeats
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, given.questions)
        measured: dict[str, list[tuple[float, float]]] = {"start": [], "plain": [], "ours": []}
        for number in range(repeats):
            measured["start"].append(run(folder, "plain", "--limit", "1"))
            for task in ("plain", "ours") if number % 2 else ("ours", "plain"):
                measured[task].append(run(folder, task))
            print(f"round {number + 1} of {repeats}", *(f"{key} {rows[-1][0]:.1f} s" for key, rows in measured.items()))
        seconds = {key: statistics.median(row[0] for row in rows) for key, rows in measured.items()}
        memory = {key: statistics.median(row[1] for row in rows) for key, rows in measured.items()}
        sizes = {task: samples_bytes(folder, task) for task in ("plain", "ours")}
    start = seconds["start"]
    docs = given.questions * 26
    print(f"\n{docs:,} docs, medians of {repeats} runs in alternation; start of the harness: {start:.1f} s")
    print(f"{'':24}{'plain':>10}{'ours':>10}{'ratio':>8}{'aim':>8}")
    for label, plain, ours, aim in [
        ("processor time, s", seconds["plain"], seconds["ours"], 1.25),
        ("without the start, s", seconds["plain"] - start, seconds["ours"] - start, 1.5),
        ("peak memory, MiB", memory["plain"], memory["ours"], 1.3),
        ("samples file, MiB", sizes["plain"] / 2**20, sizes["ours"] / 2**20, 1.6),
    ]:
        print(f"{label:24}{plain:>10.2f}{ours:>10.2f}{ours / plain:>8.2f}{aim:>8.2f}")


if __name__ == "__main__":
    main()
