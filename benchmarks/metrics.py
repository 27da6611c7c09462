"""What all metrics cost together: 100,000 records, against plain Python loops over the same records.

python benchmarks/metrics.py
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not what is installed

from lm_eval_cora.responses import ResponseTable
from tests.support import oracles
from tests.support.tables import METRICS, random_questions

QUESTIONS = 3_847  # x 26 variants = 100,022 records


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Measure, and print the ratio."""
    questions = random_questions(QUESTIONS)
    records = [record for members in questions for record in members]
    table = ResponseTable.from_records(records)

    def all_metrics() -> None:
        for metric in METRICS.values():
            metric(table)

    regrouping = seconds(lambda: ResponseTable.from_records(records), repeats=5)
    ours = seconds(all_metrics, repeats=5)
    loops = seconds(lambda: oracles.all_metrics(questions), repeats=1)
    print(f"{len(records):,} records")
    print(f"regrouping by question            {regrouping:8.3f} s")
    print(f"all {len(METRICS)} metrics and their errors   {ours:8.3f} s")
    print(f"plain loops, without errors       {loops:8.3f} s   {loops / (regrouping + ours):.0f} times as long")


if __name__ == "__main__":
    main()
