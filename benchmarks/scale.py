"""What cora_mmlu costs at full size: 14,042 questions, 280,840 variants, five shots, the dummy model.

Four things are measured, each in a process of its own below this one:

- the whole run of `cora_mmlu`: seconds, and peak memory;
- our part of it alone, step by step: load, expand, draw exemplars and render, read the answers, regroup, all metrics;
- the whole run of the harness' own `score_option_order_robustness_mmlu_pro`, which expands MMLU-Pro;
- how often either expands its documents.

Rows are made up, in the layout, number and length of the two benchmarks' (MMLU: stems of 50 words, MMLU-Pro of 40).

    python benchmarks/scale.py [--questions 14042] [--probe divergent|plus|revas]

MCQA+ and the REVAS study are asked without shots.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from overhead import REPOSITORY, measure

TASKS = {"divergent": "cora_mmlu", "plus": "cora_mmlu_plus", "revas": "cora_mmlu_revas"}
SUBJECTS = 57
LETTERS = "ABCDEFGHIJ"
SCORE = "score_option_order_robustness_mmlu_pro"


def write_hub(folder: Path, questions: int) -> None:
    """Both sets where `load_dataset("cais/mmlu", "all")` finds them."""
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
    """Our part of the run, in the order of the run, without the harness."""
    from lm_eval.tasks._yaml_loader import load_yaml

    from lm_eval_cora import metrics
    from lm_eval_cora.benchmarks.mmlu import MMLU
    from lm_eval_cora.harness import docs, loading, scoring
    from lm_eval_cora.harness.fewshot import ExemplarSampler
    from lm_eval_cora.metrics.entries import parameters_of
    from lm_eval_cora.options import Options
    from lm_eval_cora.responses import ResponseTable

    seconds: dict[str, float] = {}

    @contextmanager
    def step(name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - start

    source = {"benchmark": MMLU, "hub_path": "cais/mmlu", "hub_config": "all", "hub_split": "test"}
    with step("load"):
        rows = loading.load_benchmark(options=Options(), **source)["test"]
        pool = loading.load_exemplars(options=Options(), **source, hub_fewshot_split="dev")
    with step("expand"):
        variants = getattr(docs, probe)(rows)
    with step("exemplars and prompts"):
        sampler = ExemplarSampler(pool, {row["id"]: loading.to_question(row) for row in rows}, 0, 1234)
        for doc in variants:
            if probe == "divergent":
                sampler.doc = doc
                for exemplar in sampler.sample(5):
                    docs.exemplar_to_text(exemplar), docs.doc_to_target(exemplar)
            docs.doc_to_text(doc)
    entries = load_yaml(REPOSITORY / "tasks" / "_probes" / f"{probe}.yaml")["metric_list"]
    with step("read the answers"):
        keys = scoring.metric_keys(entry["metric"] for entry in entries if entry.get("table", True))
        spread = [scoring.spread(scoring.score_response(doc, ["B. because"]), keys) for doc in variants]
    with step("regroup"):
        table = ResponseTable.from_records(row["acc"].record for row in spread)
    with step("metrics"):
        for entry in entries:
            entry["aggregation"](table, **parameters_of(entry))
        metrics.accuracy_by_kind(table)
    print(json.dumps({"docs": len(variants), "seconds": seconds}))


def count_expansions(task: str) -> None:
    """Run a task on a few documents, and count how often its documents are expanded."""
    from lm_eval import simple_evaluate
    from lm_eval.config.task import TaskConfig
    from lm_eval.models.dummy import DummyLM
    from lm_eval.tasks import TaskManager

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
    manager = TaskManager(include_path=str(REPOSITORY / "tasks"))
    simple_evaluate(model=DummyLM(), tasks=[task], task_manager=manager, limit=20, log_samples=False)
    print(json.dumps(calls))


def last_line(printed: str) -> Any:
    """The JSON that a process of ours printed last."""
    return json.loads(printed.strip().splitlines()[-1])


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=14042, help="rows of MMLU (default: all 14,042)")
    parser.add_argument("--probe", choices=TASKS, default="divergent")
    given = parser.parse_args()
    questions, probe, task = given.questions, given.probe, TASKS[given.probe]
    run = ("-m", "lm_eval", "run", "--model", "dummy", "--include_path", str(REPOSITORY / "tasks"), "--tasks")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_hub(folder, questions)
        for label, arguments in (("", ()), (" with --log_samples", ("--log_samples",))):
            seconds, memory, _ = measure(folder, *run, task, "--output_path", "out", *arguments)
            print(f"{task}{label}: {seconds:.0f} s, {memory:.0f} MiB")
        ours = last_line(measure(folder, "-c", f"import scale; scale.our_steps({probe!r})")[2])
        total = sum(ours["seconds"].values())
        print(f"of which ours: {total:.1f} s for {ours['docs']:,} docs, {total / ours['docs'] * 1e6:.0f} us a doc")
        for step, took in ours["seconds"].items():
            print(f"    {step:24}{took:6.1f} s")
        seconds, memory, _ = measure(folder, *run, SCORE, "--output_path", "out")
        print(f"{SCORE}: {seconds:.0f} s, {memory:.0f} MiB")
        for name in (task, SCORE):
            calls = last_line(measure(folder, "-c", f"import scale; scale.count_expansions({name!r})")[2])
            print(f"{name}: its documents are expanded {calls} times a run")


if __name__ == "__main__":
    main()
