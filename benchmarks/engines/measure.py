"""What early stopping saves on a real server, and what bfloat16 changes: `benchmarks.engines --measure`."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from tabulate import tabulate

from .bench import Bench
from .runs import TASKS, compare
from .servers import MODEL, vllm

TASK = TASKS[:1]
CONCURRENT = 8
FEW = 4


def measure(bench: Bench) -> None:
    """Print two tables: a full run and `--stop exact` on vLLM's server, and picks that bfloat16 changes."""
    print(stopping(bench), flush=True)
    print(f"\n{precision(dataclasses.replace(bench, questions=FEW))}")


def stopping(bench: Bench) -> str:
    """Requests, time and prefix cache of a full run and of one that stops, each on a server of its own."""
    rows = []
    for title, options in (("full", ()), ("--stop exact", ("--stop", "exact"))):
        with vllm(bench.model, bench.log("vllm-measure"), bench.environment) as server:
            arguments = (
                *("--model", "local-chat-completions", "--model_args"),
                f"model={MODEL},base_url={server.address}/v1/chat/completions,num_concurrent={CONCURRENT}",
            )
            run = bench.run(f"measure {title}", TASK, *arguments, *options)
            names = ("request_success_total", "prompt_tokens_total", "generation_tokens_total")
            names += ("prefix_cache_hits_total", "prefix_cache_queries_total")
            before = {name: server.metric(f"vllm:{name}") for name in names}
            begun = time.monotonic()
            status = run()
            seconds = time.monotonic() - begun
            spent = {name: server.metric(f"vllm:{name}") - before[name] for name in names}
        requests, read, written, hits, queries = (round(spent[name]) for name in names)
        scores = run.scores(TASK[0]) if not status else {}
        rows.append(
            {
                "run": title,
                "requests": f"{requests:,}",
                "wall": f"{seconds:.0f} s",
                "prompt tokens": f"{read:,}",
                "written tokens": f"{written:,}",
                "from the prefix cache": f"{hits / max(1, queries):.1%} of {queries:,}",
                **{name: scores.get(name, f"exit status {status}") for name in ("mcqa", "bmca@1.0", "cora")},
            }
        )
    return _table(rows)


def precision(bench: Bench) -> str:
    """Number of responses and picks that differ between bfloat16 and float32, for both engines."""
    rows = []
    for engine, more in (("hf", ("--device", "cpu", "--batch_size", "8")), ("vllm", ("--batch_size", "auto"))):
        runs = []
        for dtype in ("float32", "bfloat16"):
            own = ",max_model_len=4096,enforce_eager=True" if engine == "vllm" else ""
            arguments = ("--model", engine, *more, "--model_args", f"pretrained={bench.model},dtype={dtype}{own}")
            run = bench.run(f"measure {engine} {dtype}", TASK, *arguments)
            status = bench.done(run)
            if status:
                return f"{engine} in {dtype}: exit status {status}, see {run.log}"
            runs.append(run)
        row: dict[str, Any] = compare(runs[0], runs[1], TASK[0])
        changed = {f"other {what}": row["variants"] - row[f"equal {what}"] for what in ("texts", "picks")}
        rows.append({"engine": engine, "variants": row["variants"], **changed, "metrics": row["metrics"]})
    return _table(rows)


def _table(rows: list[dict[str, Any]]) -> str:
    return tabulate(rows, headers="keys", tablefmt="github", disable_numparse=True)
