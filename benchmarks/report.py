"""Measure time and memory of reports, compared with parsing the same lines as JSON.

python benchmarks/report.py [--megabytes 500] [--copied 120] [--models 5] [--questions 14042]

First a samples file of 500 MB with long prompts, then several models on a benchmark as large as MMLU, with 20 variants
per question. `processor` is the processor time of all processes. The memory is that of all processes together
on Linux, elsewhere that of the largest one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.metrics import resampled
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import LETTERS
from tests.support.simulated import run

ROOT = Path(__file__).parents[1]
PADDING = "The patient is a 54-year-old man who comes to the clinic. " * 20  # questions as long as MedQA's

PARSING = "import json, sys; print(sum(1 for name in sys.argv[1:] for line in open(name, 'rb') if json.loads(line)))"
REPORTING = "import sys; from lm_eval_cora.cli import main; sys.exit(main(['report', *sys.argv[1:]]))"

STEM = "Which of the following statements about topic {number} best explains why the result of the experiment changed? "
SUBJECTS = 57
RESPONSES = (
    *("{letter}", "{letter}\n\nThe other options contradict the text of the question.", "The answer is {letter}."),
    *("{letter}. {text}", "**{letter}**\n\nThis follows from the definition.", "I cannot tell."),
)
"""Responses of the simulated models; the last one is invalid."""


def write_samples(folder: Path, megabytes: float, copied: int = 120) -> int:
    """Write copies of the lines of a run, with new question ids in each copy; return the number of lines."""
    samples = run(
        lambda doc: "ABCDE"[(doc["ordinal"] * 7 + len(doc["question"])) % len(doc["choices"])],
        options={"questions": copied},
        log_samples=True,
    )
    lines = samples["samples"]["cora_demo"]
    path = folder / "samples_cora_demo_2026-01-01T00-00-00.000000.jsonl"
    count = copy = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1_000_000:
            for line in lines:
                doc = {**line["doc"], "question_id": f"{copy}-{line['doc']['question_id']}"}
                arguments = {
                    "gen_args_0": {"arg_0": PADDING + line["arguments"][0][0], "arg_1": line["arguments"][0][1]}
                }
                written = {**line, "doc": doc, "arguments": arguments}
                file.write(json.dumps(written, default=str) + "\n")
                count += 1
            copy += 1
    return count


def write_models(folder: Path, models: int, questions: int) -> int:
    """Write the samples of several models of different skill on the same questions; return the number of lines."""
    subjects = range(min(SUBJECTS, questions))
    lines = list(_lines_of_a_run(folder, subjects))
    by_subject = [[line for line in lines if line[0]["category"] == f"subject {n}"] for n in subjects]
    count = 0
    for model in range(models):
        place = folder / f"model-{model}"
        place.mkdir()
        results = {"model_name": f"an-org/model-{model}", "results": {"cora_local": {}}}
        (place / "results_2026-01-01T00-00-00.000000.json").write_text(json.dumps(results), encoding="utf-8")
        with (place / "samples_cora_local_2026-01-01T00-00-00.000000.jsonl").open("w", encoding="utf-8") as file:
            for question in range(questions):
                draw = random.Random(f"{model} {question}")
                skill = min(1.0, max(0.0, draw.gauss(0.45 + 0.1 * model, 0.3)))
                for doc, before, between, after in by_subject[question % len(subjects)]:
                    response = json.dumps(_response(doc, skill, draw))
                    resps = f'[[{response}]], "filtered_resps": [{response}]'
                    file.write(f"{before}{question}-{between}{resps}{after}\n")
                    count += 1
    return count


def _lines_of_a_run(folder: Path, subjects: range) -> Iterator[tuple[dict[str, Any], str, str, str]]:
    """Yield the doc of each line of a run, and its text before the question id, up to the responses, and after them."""
    rows = [
        {
            "question": STEM.format(number=number) * 2,
            "choices": [
                f"Statement {letter} about topic {number}, in a sentence of usual length." for letter in "pqrs"
            ],
            "answer": number % 4,
            "category": f"subject {number}",
            "id": f"question-{number}",
        }
        for number in subjects
    ]
    data = folder / "questions.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = {"data_files": str(data)}
    for line in run(lambda doc: "RESPONSE", "cora_local", options, log_samples=True)["samples"]["cora_local"]:
        doc = dict(line["doc"])
        arguments = {"gen_args_0": {"arg_0": line["arguments"][0][0], "arg_1": line["arguments"][0][1]}}
        line = {**line, "doc": {**doc, "question_id": f"HERE{doc['question_id']}"}, "arguments": arguments}
        text = json.dumps(line, default=str)
        before, _, rest = text.partition("HERE")
        between, responses, after = rest.partition('[["RESPONSE"]], "filtered_resps": ["RESPONSE"]')
        if not responses:
            raise SystemExit("the harness wrote the responses in another way than expected")
        yield doc, before, between, after


def _response(doc: dict[str, Any], skill: float, draw: random.Random) -> str:
    """A response that is right with a probability, if the right option is printed."""
    right = draw.random() < skill and doc["answer"] in doc["printed"]
    place = doc["printed"].index(doc["answer"]) if right else draw.randrange(len(doc["printed"]))
    style = min(int(draw.expovariate(1.2)), len(RESPONSES) - 1)
    return RESPONSES[style].format(letter=LETTERS[place], text=doc["choices"][place])


class Measured(NamedTuple):
    """What a command took.

    Attributes:
        wall: Seconds until it ended.
        processor: Seconds of processor time of all its processes.
        peak: Peak memory in MiB: on Linux of all its processes together, else of the largest one.
    """

    wall: float
    processor: float
    peak: float


def measured(code: str, *arguments: str) -> Measured:
    """Run code in a separate process and measure it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, stdout=subprocess.DEVNULL)
    together = 0.0
    while not (found := os.wait4(process.pid, os.WNOHANG))[0]:
        together = max(together, _memory(process.pid))
        time.sleep(0.2)
    _, status, usage = found
    if status:
        raise SystemExit(f"process failed with status {status}: {code}")
    peak = usage.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    return Measured(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, max(peak, together))


def _memory(pid: int) -> float:
    """Resident memory of a process and its children in MiB; 0 if unknown. Shared pages count once per process."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2 + sum(_memory(int(child)) for child in children)


def compare_with_parsing(folder: Path, count: int, *, others: bool) -> None:
    """Print what a report of the samples in a folder takes beside parsing their lines."""
    paths = sorted(folder.rglob("*.jsonl"))
    size = sum(path.stat().st_size for path in paths)
    print(f"{size / 1e6:,.0f} MB, {count:,} lines, {len(paths)} file{'s'[: len(paths) - 1]}")
    parsing = measured(PARSING, *map(str, paths))
    print(f"json.loads of each line   {parsing.processor:6.1f} s processor, {parsing.wall:6.1f} s")
    for form in ("csv", "html") if others else ("html",):
        path = folder / f"report.{form}"
        took = measured(REPORTING, str(folder), "--format", form, "-o", str(path))
        ratios = f"{took.processor / parsing.processor:.1f} and {took.wall / parsing.wall:.1f} times as long"
        print(
            f"report --format {form:9} {took.processor:6.1f} s processor, {took.wall:6.1f} s   {ratios}, "
            f"{took.peak:,.0f} MiB, {path.stat().st_size / 1e6:.2f} MB written"
        )


def main() -> None:
    """Measure all and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=500, help="size of the samples file (default: 500)")
    parser.add_argument("--copied", type=int, default=120, help="questions whose lines it repeats (default: all 120)")
    parser.add_argument("--models", type=int, default=5, help="number of models (default: 5)")
    parser.add_argument("--questions", type=int, default=14_042, help="questions of each model (default: 14042)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        count = write_samples(Path(name), given.megabytes, given.copied)
        compare_with_parsing(Path(name), count, others=True)
    with tempfile.TemporaryDirectory() as name:
        count = write_models(Path(name), given.models, given.questions)
        Path(name, "questions.jsonl").unlink()
        print(f"\n{given.models} models, {given.questions:,} questions:")
        compare_with_parsing(Path(name), count, others=False)
    hits = [[(question * 31 + variant * 17) % 97 < question % 97 for variant in range(26)] for question in range(1_273)]
    table = ResponseTable.from_hits(hits)
    start = time.perf_counter()
    resampled(table)
    print(f"\nresampling 1,273 x 26     {time.perf_counter() - start:6.1f} s   (10,000 draws of 100 variants)")


if __name__ == "__main__":
    main()
