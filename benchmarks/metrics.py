"""Time all metrics together on 100,000 records, compared with plain Python loops over the same records.

python benchmarks/metrics.py [--questions 3847]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.metrics.responses import ResponseTable
from tests.support import oracles_score
from tests.support.tables import METRICS, questions


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median wall time of some work, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Time the metrics and the loops, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=3_847, help="with 26 variants each (default: 3,847)")
    members = questions(parser.parse_args().questions, options=(5,))
    records = [record for each in members for record in each]
    table = ResponseTable.from_records(records)

    def all_metrics() -> None:
        for metric in METRICS.values():
            metric(table)

    regrouping = seconds(lambda: ResponseTable.from_records(records), repeats=5)
    ours = seconds(all_metrics, repeats=5)
    loops = seconds(lambda: oracles_score.expected("divergent", members), repeats=1)
    print(f"{len(records):,} records")
    print(f"regrouping by question            {regrouping:8.3f} s")
    print(f"all {len(METRICS)} metrics and their errors   {ours:8.3f} s")
    print(f"plain loops, without errors       {loops:8.3f} s   {loops / (regrouping + ours):.0f} times as long")


if __name__ == "__main__":
    main()
