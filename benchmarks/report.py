"""Measure time and memory of a report on a samples file of 500 MB, compared with parsing its lines as JSON.

python benchmarks/report.py [--megabytes 500]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.metrics import resampled
from lm_eval_cora.responses import ResponseTable
from tests.support.simulated import run

ROOT = Path(__file__).parents[1]
PADDING = "The patient is a 54-year-old man who comes to the clinic. " * 20  # questions as long as MedQA's

PARSING = "import json, sys; print(sum(1 for line in open(sys.argv[1], 'rb') if json.loads(line)))"
REPORTING = "import sys; from lm_eval_cora.cli import main; sys.exit(main(['report', *sys.argv[1:]]))"


def write_samples(folder: Path, megabytes: float) -> int:
    """Write copies of the lines of a run, with new question ids in each copy; return the number of lines."""
    samples = run(
        lambda doc: "ABCDE"[(doc["ordinal"] * 7 + len(doc["question"])) % len(doc["choices"])], log_samples=True
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


def measured(code: str, *arguments: str) -> tuple[float, float]:
    """Run code in a separate process; return processor time in seconds and peak memory in MiB."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"process failed with status {status}: {code}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Measure both and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=500, help="size of the samples file (default: 500)")
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write_samples(folder, megabytes)
        (path,) = folder.glob("*.jsonl")
        print(f"{path.stat().st_size / 1e6:,.0f} MB, {count:,} lines")
        parsing, _ = measured(PARSING, str(path))
        print(f"json.loads of each line   {parsing:6.1f} s")
        for form in ("csv", "html"):
            seconds, peak = measured(REPORTING, str(folder), "--format", form, "-o", str(folder / f"report.{form}"))
            print(f"report --format {form:9} {seconds:6.1f} s   {seconds / parsing:.1f} times as long, {peak:,.0f} MiB")
    hits = [[(question * 31 + variant * 17) % 97 < question % 97 for variant in range(26)] for question in range(1_273)]
    table = ResponseTable.from_hits(hits)
    start = time.perf_counter()
    resampled(table)
    print(f"resampling 1,273 x 26     {time.perf_counter() - start:6.1f} s   (10,000 draws of 100 variants)")


if __name__ == "__main__":
    main()
