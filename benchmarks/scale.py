"""Measure cora_mmlu at full size: 14,042 questions, 280,840 variants, five shots, the dummy model.

The script measures four things, each in a separate process:

- a run of `cora_mmlu`: seconds, peak memory, and how often its documents are expanded;
- our part of the run, by step: load, expand, draw exemplars and render, read the answers, regroup, all metrics;
- a run of the harness' own `score_option_order_robustness_mmlu_pro`, which expands MMLU-Pro;
- all metrics of a million answers, 20 to each question, with picks and printed options: from a csv file and as a
  DataFrame.

The rows are made up, with the layout, number and length of those of the two benchmarks (stems of 50 words for MMLU, of
40 for MMLU-Pro).

    python benchmarks/scale.py [--questions 14042] [--probe divergent|plus|revas]

MCQA+ and the REVAS study have no shots.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from benchmarks.overhead import REPOSITORY, harness, measure

TASKS = {"divergent": "cora_mmlu", "plus": "cora_mmlu_plus", "revas": "cora_mmlu_revas"}
SUBJECTS = 57
LETTERS = "ABCDEFGHIJ"
SCORE = "score_option_order_robustness_mmlu_pro"


def write_hub(folder: Path, questions: int) -> None:
    """Write both sets where `load_dataset("cais/mmlu", "all")` and its like find them."""
    import datasets

    rng = random.Random(0)

    def words(count: int) -> str:
        return " ".join("".join(rng.choices("aeinorst", k=rng.randint(2, 8))) for _ in range(count))

    def mmlu(number: int) -> dict[str, Any]:
        choices = [words(rng.randint(1, 9)) for _ in range(4)]
        subject = f"subject_{number % SUBJECTS}"
        return {"question": words(50) + "?", "subject": subject, "choices": choices, "answer": number % 4}

    def mmlu_pro(number: int) -> dict[str, Any]:
        right = number % 10
        return {
            "question_id": number,
            "question": words(40) + "?",
            "options": [words(rng.randint(1, 9)) for _ in range(10)],
            "answer": LETTERS[right],
            "answer_index": right,
            "cot_content": "",
            "category": f"category_{number % 14}",
            "src": "made up",
        }

    sets = {
        ("cais/mmlu", "all"): {
            "test": [mmlu(n) for n in range(questions)],
            "dev": [mmlu(n) for n in range(5 * SUBJECTS)],
        },
        ("TIGER-Lab/MMLU-Pro", "default"): {
            "test": [mmlu_pro(n) for n in range(round(questions * 12032 / 14042))],
            "validation": [mmlu_pro(n) for n in range(70)],
        },
    }
    for (name, config), splits in sets.items():
        lines = [f"- config_name: {config}", "  data_files:"]
        for split, rows in splits.items():
            path = folder / name / config / f"{split}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            datasets.Dataset.from_list(rows).to_parquet(path)
            lines += [f"  - split: {split}", f"    path: {config}/{split}.parquet"]
        (folder / name / "README.md").write_text("\n".join(["---", "configs:", *lines, "---", ""]))


def our_steps(probe: str) -> None:
    """Time the steps of our part of the run, in their order, without the harness."""
    from lm_eval_cora import metrics
    from lm_eval_cora.answers.exemplars import ExemplarSampler
    from lm_eval_cora.harness import docs, scoring
    from lm_eval_cora.metrics.entries import is_in_table, parameters_of
    from lm_eval_cora.metrics.responses import ResponseTable
    from lm_eval_cora.questions.loading import load_exemplars
    from lm_eval_cora.questions.options import Options
    from lm_eval_cora.runs.task_files import benchmark, probe_metrics
    from lm_eval_cora.variants.probes import PROBES

    seconds: dict[str, float] = {}

    @contextmanager
    def step(name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - start

    mmlu = benchmark("mmlu")
    with step("load"):
        questions, *_ = docs.load_benchmark(options=Options(), benchmark=mmlu)
        pool = load_exemplars(options=Options(), benchmark=mmlu)
    with step("expand"):
        variants = docs.process_docs(questions, PROBES[probe])
    with step("exemplars and prompts"):
        sampler = ExemplarSampler(pool, {question.id: question for question in questions}, 0, 1234)
        for doc in variants:
            if probe == "divergent":
                sampler.doc = doc
                for exemplar in sampler.sample(5):
                    docs.exemplar_to_text(exemplar), docs.doc_to_target(exemplar)
            docs.doc_to_text(doc)
    entries = probe_metrics(probe)
    with step("read the answers"):
        keys = scoring.metric_keys(entry["metric"] for entry in filter(is_in_table, entries))
        spread = [scoring.spread(scoring.score_response(doc, ["B. because"]), keys) for doc in variants]
    with step("regroup"):
        table = ResponseTable.from_records(record for row in spread for key, record in row.items() if key == "acc")
    with step("metrics"):
        for entry in entries:
            entry["aggregation"](table, **parameters_of(entry))
        metrics.accuracy_by_kind(table)
    print(json.dumps({"docs": len(variants), "seconds": seconds}))


def counting_harness() -> None:
    """Run the command `lm_eval` of the harness; then print how often a task expanded its documents."""
    from lm_eval.config.task import TaskConfig

    calls = 0
    post_init = TaskConfig.__post_init__

    def counted(self: Any) -> None:
        post_init(self)
        expand = self.process_docs

        def counting(*arguments: Any, **keywords: Any) -> Any:
            nonlocal calls
            calls += 1
            return expand(*arguments, **keywords)

        self.process_docs = counting

    TaskConfig.__post_init__ = counted
    harness()
    print(json.dumps(calls))


def write_answers(path: Path, answers: int) -> None:
    """Write a file of answers: 20 variants of each question, four options in random order, two of them picked."""
    rng = random.Random(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "variant", "picked", "answer", "printed"])
        for question in range(answers // 20):
            options = [f"option {question} number {number}" for number in range(4)]
            for variant in range(20):
                picked = rng.choice([*options[:2] * 9, ""])
                printed = json.dumps(rng.sample(options, 4))
                writer.writerow([question, variant or "original", picked, options[0], printed])


def score_answers(path: str, *, as_frame: bool) -> None:
    """Compute all metrics of a file of answers, and print the processor time without that of reading a DataFrame."""
    from lm_eval_cora import score

    data: Any = path
    if as_frame:
        import pandas

        data = pandas.read_csv(path)
        data["printed"] = data["printed"].map(json.loads)
    start = time.process_time()
    found = len(dict(score(data)))
    print(json.dumps([time.process_time() - start, found]))


def last_line(printed: str) -> Any:
    """Return the JSON in the last line that a process printed."""
    return json.loads(printed.strip().splitlines()[-1])


def main() -> None:
    """Measure the three runs and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=14042, help="rows of MMLU (default: all 14,042)")
    parser.add_argument("--answers", type=int, default=1_000_000, help="answers in a file (default: 1,000,000)")
    parser.add_argument("--probe", choices=TASKS, default="divergent")
    given = parser.parse_args()
    questions, probe, task = given.questions, given.probe, TASKS[given.probe]
    (lm_eval,) = importlib.util.find_spec("lm_eval").submodule_search_locations
    command = ("-c", "from benchmarks.scale import counting_harness; counting_harness()", "run", "--model", "dummy")
    ours = (*command, "--include_path", str(REPOSITORY / "tasks"), "--tasks", task, "--output_path", "out")
    score = (*command, "--include_path", f"{lm_eval}/tasks/score", "--tasks", SCORE, "--output_path", "out")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_hub(folder, questions)
        for label, run in ((task, ours), (f"{task} with --log_samples", (*ours, "--log_samples")), (SCORE, score)):
            seconds, memory, printed = measure(folder, *run)
            print(f"{label}: {seconds:.0f} s, {memory:.0f} MiB, documents expanded {last_line(printed)} times")
        write_answers(folder / "answers.csv", given.answers)
        for as_frame in (False, True):
            call = f"score_answers('answers.csv', as_frame={as_frame})"
            _, memory, printed = measure(folder, "-c", f"from benchmarks.scale import score_answers; {call}")
            seconds, metrics = last_line(printed)
            where = "a DataFrame" if as_frame else "a csv file"
            print(f"{metrics} metrics of {given.answers:,} answers in {where}: {seconds:.1f} s, {memory:.0f} MiB")
        found = last_line(measure(folder, "-c", f"from benchmarks.scale import our_steps; our_steps({probe!r})")[2])
        total = sum(found["seconds"].values())
        print(
            f"our part of {task}: {total:.1f} s for {found['docs']:,} docs, {total / found['docs'] * 1e6:.0f} us a doc"
        )
        for step, took in found["seconds"].items():
            print(f"    {step:24}{took:6.1f} s")


if __name__ == "__main__":
    main()
