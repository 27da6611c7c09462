"""Every task on the whole public benchmarks, each in its own process, with a simulated model.

    python -m tests.support.whole                  # all 102, as a table: what `nox -s whole` runs
    python -m tests.support.whole mmlu_pro _revas  # those with one of these words in their name

The benchmarks are read from a folder in the layout of their Hub ids, `../shared/whole` beside the checkout or the one
that --folder names. `local` asks the questions of TruthfulQA from a file, `hub` those of ARC-Challenge. The tasks of
`WITH_FEWER_PROBES` are left out: their datasets are not in the folder. Requests are what reaches the model, prompt
tokens are estimated at four bytes each, time and memory are those of the whole process, the harness included.
"""

import argparse
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from zlib import crc32

from tabulate import tabulate

from scripts.write_tasks import WITH_ALL_PROBES
from tests.support.names import NAMES, benchmark_of

REPOSITORY = Path(__file__).parents[2]
WHOLE = REPOSITORY.parent / "shared" / "whole"
HEADERS = ["task", "questions", "variants", "requests", "prompt tokens", "seconds", "MiB"]
HEADERS += ["cora or accuracy", "left out"]


def mostly_knows(doc):
    """The right answer in seven of ten variants, chosen by a hash of the variant, and a wrong one in the others."""
    from lm_eval_cora.questions.question import LETTERS
    from tests.support.simulated import knows, says

    right = knows(doc)
    if crc32(f"{doc['question_id']} {doc['ordinal']}".encode()) % 10 < 7:
        return right
    if doc["ask"] == "yes_no":
        return "no" if right == "yes" else "yes"
    if doc["ask"] == "boxed":
        return r"The final answer is: $\boxed{17}$"
    place = doc["printed"].index(doc["answer"])
    wrong = says(doc, doc["printed"][(place + 1) % len(doc["printed"])])
    return f"{wrong}, {LETTERS[place]}" if doc["ask"] == "select_all" else wrong


def run(task, metadata):
    """Run one task in this process; return its row of the table."""
    from tests.support import simulated

    class Counting(simulated.Simulated):
        """Keeps the number and size of its requests instead of their texts."""

        requests = size = 0

        def generate_until(self, requests, disable_tqdm=False):
            self.count(requests)
            return [self.rule(request.doc) for request in requests]

        def loglikelihood(self, requests, disable_tqdm=False):
            self.count(requests)
            return [self._score(self.rule(request.doc), request.args[1].strip()) for request in requests]

        def count(self, requests):
            """All letters of a variant are scored after one prompt."""
            self.requests += len(requests)
            self.size += sum(len(request.args[0].encode()) for request in requests if request.idx == 0)

    lines = Lines()
    logging.getLogger("lm_eval.cora").addHandler(lines)
    model = Counting(mostly_knows)
    begun = time.monotonic()
    results = simulated.run(model, task, json.loads(metadata), log_samples=False)
    scores = results["results"][task]
    undefined = sorted(name for name, value in scores.items() if str(value) == "nan")
    return {
        "task": task,
        "questions": int(results["configs"][task]["metadata"]["signature"].partition("|n:")[2].partition("x")[0]),
        "variants": results["n-samples"][task]["effective"],
        "requests": model.requests,
        "prompt tokens": model.size // 4,
        "seconds": round(time.monotonic() - begun),
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "cora or accuracy": round(scores.get("cora,none", scores["acc,none"]), 4),
        "left out": "; ".join([*lines.left_out, *(f"{name} is undefined" for name in undefined)]),
    }


class Lines(logging.Handler):
    """Stores the messages about rows that are left out."""

    def __init__(self):
        super().__init__()
        self.left_out = []

    def emit(self, record):
        _, found, rest = record.getMessage().partition(": left out ")
        if found:
            self.left_out.append(rest.partition(": ")[2])


def local_file(folder, whole):
    """TruthfulQA as a user's file."""
    import datasets

    rows = datasets.load_dataset(str(whole / "truthfulqa" / "truthful_qa"), "multiple_choice", split="validation")
    path = folder / "local.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            targets = row["mc1_targets"]
            line = {"question": row["question"], "choices": targets["choices"], "answer": targets["labels"].index(1)}
            file.write(json.dumps(line) + "\n")
    return path


def main():
    """Run the tasks one after the other and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="run the tasks with one of these in their name (default: all)")
    parser.add_argument("--folder", type=Path, default=WHOLE, help=f"where the benchmarks are (default: {WHOLE})")
    parser.add_argument("--task", help=argparse.SUPPRESS)  # what a process of ours is started with
    parser.add_argument("--metadata", default="{}", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        print(json.dumps(run(given.task, given.metadata)))
        return 0
    if not given.folder.is_dir():
        parser.error(f"there is no folder {given.folder}; name the one that holds the benchmarks with --folder")
    known = [name for name in NAMES if benchmark_of(name) in WITH_ALL_PROBES]
    tasks = [name for name in known if not given.words or any(word in name for word in given.words)]
    rows, failed = [], 0
    for task in tasks:
        row = run_in_a_process(task, given.folder)
        failed += "error" in row
        rows.append(row)
        print(row.get("error") or f"{row['task']}: {row['requests']:,} requests, {row['seconds']} s", flush=True)
    print(as_table(rows))
    return int(failed > 0)


def run_in_a_process(task, whole):
    """Run one task in its own process, in the folder of the benchmarks; return its row, or the error."""
    environment = {
        **os.environ,
        **dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TQDM_DISABLE"), "1"),
        "LM_EVAL_CORA_AUTOLOAD": "0",
        "PYTHONPATH": str(REPOSITORY),
    }
    with tempfile.TemporaryDirectory() as temporary:
        options = {}
        if benchmark_of(task) == "local":
            options = {"data_files": str(local_file(Path(temporary), whole))}
        elif benchmark_of(task) == "hub":
            options = {"hub": "allenai/ai2_arc", "config": "ARC-Challenge", "split": "test"}
        metadata = json.dumps(options)
        command = [sys.executable, "-m", "tests.support.whole", "--task", task, "--metadata", metadata]
        done = subprocess.run(command, cwd=whole, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"task": task, "error": f"{task}: failed\n{done.stderr[-2000:]}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def as_table(rows):
    """The rows as a Markdown table."""
    cells = [[_cell(row.get(name, "failed" if "error" in row else "")) for name in HEADERS] for row in rows]
    return tabulate(cells, HEADERS, tablefmt="github", disable_numparse=True, colalign=("left", *["right"] * 7, "left"))


def _cell(value):
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    sys.exit(main())
