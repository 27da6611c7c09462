"""The demo's questions, answered by transformers, vLLM and llama.cpp on the CPU, side by side.

    python -m benchmarks.engines                    # all, as a table: what `nox -s engines` runs
    python -m benchmarks.engines llama              # the engines with one of these words in their name
    python -m benchmarks.engines --questions 2      # fewer questions
    python -m benchmarks.engines --keep             # use again what an earlier run has finished
    python -m benchmarks.engines --measure          # a full run and `--stop exact` on vLLM's server, and bfloat16

Each row compares an engine with the harness' back end `hf`: the responses and the picks to each variant, and every
metric.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tabulate import tabulate

from .bench import Bench
from .measure import measure
from .runs import EXACT, SCORED, SHOTS, TASKS, ZERO_SHOTS, Run, compare
from .servers import MODEL, REPOSITORY, Server, kill, llama, vllm

HEADERS = ["engine", "task", "variants", "equal texts", "equal picks", "metrics", "note"]
Row = dict[str, Any]

HF = ("--model", "hf", "--device", "cpu", "--batch_size", "8", "--model_args")


def reference(bench: Bench, shots: bool) -> Run:
    """The reference for all engines: transformers in float32."""
    arguments = (*HF, f"pretrained={bench.model},dtype=float32")
    if shots:
        return bench.run("hf 3 shots", TASKS[:1], *arguments, *SHOTS)
    return bench.run("hf", TASKS, *arguments, *ZERO_SHOTS)


def chat(server: Server) -> tuple[str, ...]:
    """Arguments for a server that applies the model's chat template to turns."""
    own = f"model={MODEL},base_url={server.address}/v1/chat/completions,num_concurrent={CONCURRENT}"
    return ("--model", "local-chat-completions", "--model_args", own)


def completions(server: Server, tokenizer: Path) -> tuple[str, ...]:
    """Arguments for a server that gets prompts as token ids. Template and tokenizer are on the client."""
    own = f"model={MODEL},base_url={server.address}/v1/completions,num_concurrent={CONCURRENT},tokenizer={tokenizer}"
    return ("--model", "local-completions", "--model_args", own)


def scored_reference(bench: Bench, letters: str) -> Run:
    """Transformers in float32, with letters scored in one of the two ways."""
    return bench.run(f"hf {letters}", SCORED, *HF, f"pretrained={bench.model},dtype=float32", letters=letters)


def scored_rows(bench: Bench, engine: str, arguments: tuple[str, ...], *ways: str) -> Iterator[Row]:
    """The letters of all probes, scored in each of these ways."""
    for letters in ways:
        run = bench.run(f"{engine} {letters}", SCORED, *arguments, letters=letters)
        status = bench.done(run)
        for task in SCORED:
            row = {"engine": f"{engine}, {letters}", "task": task}
            yield row | (
                failure(status, run) if status else compare(scored_reference(keeping(bench), letters), run, task)
            )


def rows_of(bench: Bench, engine: str, arguments: tuple[str, ...]) -> Iterator[Row]:
    """All written answers on one engine.

    Args:
        bench: What all runs share.
        engine: Its name in the table.
        arguments: Its name for the harness, and its arguments.
    """
    for shots, part in ((False, TASKS), (True, TASKS[:1])):
        run = bench.run(f"{engine}{' 3 shots' * shots}", part, *arguments, *(SHOTS if shots else ZERO_SHOTS))
        status = bench.done(run)
        for task in part:
            row = {"engine": engine, "task": task + ", 3 shots" * shots}
            yield row | (failure(status, run) if status else compare(reference(keeping(bench), shots), run, task))


def failure(status: int, run: Run) -> Row:
    """The cells of a failed run."""
    return {"note": f"exit status {status}: {run.last_line()[:300]}"}


def keeping(bench: Bench) -> Bench:
    """A copy of the settings that keeps finished runs instead of removing them."""
    return Bench(bench.folder, bench.questions, bench.threads, bench.seconds, keep=True)


def transformers_rows(bench: Bench) -> Iterator[Row]:
    """The reference, and whether it gives the same answers in batches of another size."""
    for shots in (False, True):
        run = reference(bench, shots)
        status = bench.done(run)
        if status:
            raise RuntimeError(f"the reference failed with {status}, see {run.log}")
        for task in TASKS[:1] if shots else TASKS:
            yield {
                "engine": "hf (reference)",
                "task": task + ", 3 shots" * shots,
                "variants": len(run.samples(task)),
            }
    for letters in ("prompt", "next_token"):
        if status := bench.done(run := scored_reference(bench, letters)):
            raise RuntimeError(f"the reference failed with {status}, see {run.log}")
    for task in SCORED:
        row = compare(scored_reference(keeping(bench), "prompt"), run, task)
        note = f"{row['equal picks']} of {row['variants']} picks as by prompt"
        yield {"engine": "hf, next_token", "task": task, "variants": row["variants"], "note": note}


def vllm_rows(bench: Bench) -> Iterator[Row]:
    """vLLM in the process of the run."""
    arguments = f"pretrained={bench.model},dtype=float32,max_model_len=4096,enforce_eager=True"
    command = ("--model", "vllm", "--batch_size", "auto", "--model_args", arguments)
    yield from rows_of(bench, "vllm", command)
    yield from scored_rows(bench, "vllm", command, "prompt", "next_token")


def vllm_server_rows(bench: Bench) -> Iterator[Row]:
    """vLLM's server by both APIs; then a run that stops early, is done again, and loses its server."""
    with vllm(bench.model, bench.log("vllm-serve"), bench.environment) as server:
        yield from rows_of(bench, "vllm serve, chat", chat(server))
        yield from scored_rows(bench, "vllm serve, chat", chat(server), "next_token")
        by_tokens = completions(server, bench.model)
        yield from rows_of(bench, "vllm serve, completions", by_tokens)
        yield from scored_rows(bench, "vllm serve, completions", by_tokens, "prompt", "next_token")
        yield from stopped_rows(bench, "vllm serve", server, by_tokens)
        yield killed_row(bench, "vllm serve", server, by_tokens)


def llama_rows(bench: Bench) -> Iterator[Row]:
    """The same for llama.cpp's server."""
    with llama(bench.gguf, bench.log("llama-server"), bench.environment, bench.threads) as server:
        yield from rows_of(bench, "llama.cpp, chat", chat(server))
        yield from scored_rows(bench, "llama.cpp, chat", chat(server), "next_token")
        by_tokens = completions(server, bench.model)
        yield from rows_of(bench, "llama.cpp, completions", by_tokens)
        yield from scored_rows(bench, "llama.cpp, completions", by_tokens, "next_token")
        yield from stopped_rows(bench, "llama.cpp", server, by_tokens)
        yield killed_row(bench, "llama.cpp", server, by_tokens)


def stopped_rows(bench: Bench, engine: str, server: Server, arguments: tuple[str, ...]) -> Iterator[Row]:
    """`--stop exact` with a cache, and the same command again, which must find everything in the cache."""
    full, task = reference(keeping(bench), shots=False), TASKS[0]
    options = ("--stop", "exact", "--use_cache", str(bench.folder / "runs" / "cache" / engine.replace(" ", "-")))
    Path(options[-1]).parent.mkdir(parents=True, exist_ok=True)
    for file in Path(options[-1]).parent.glob(f"{Path(options[-1]).name}*"):
        file.unlink()
    run = bench.run(f"{engine} stop exact", (task,), *arguments, *ZERO_SHOTS, *options)
    shutil.rmtree(run.folder, ignore_errors=True)
    titles = ("--stop exact", "--stop exact, again")
    for title in titles:
        before = server.metric(server.progress)
        status = run()
        tokens = server.metric(server.progress) - before
        row = {"engine": f"{engine}, {title}", "task": task}
        if status:
            yield row | failure(status, run)
            continue
        row |= compare(full, run, task, EXACT)
        by = "" if title == titles[0] else _BY_THE_CHECK if tokens <= ROOM_OF_THE_CHECK else _NOT_KEPT
        row["note"] = f"{tokens:.0f} tokens written{by}. {row['note']}".strip()
        yield row


def killed_row(bench: Bench, engine: str, server: Server, arguments: tuple[str, ...]) -> Row:
    """The server is killed when it has written half of the answers, and started again on its port.

    The command goes on if it is patient enough; else it is given again, and goes on from its cache.
    """
    full, task = reference(keeping(bench), shots=False), TASKS[0]
    cache = bench.folder / "runs" / "cache" / f"{engine.replace(' ', '-')}-killed"
    cache.parent.mkdir(parents=True, exist_ok=True)
    for file in cache.parent.glob(f"{cache.name}*"):
        file.unlink()
    run = bench.run(f"{engine} killed", (task,), *arguments, *ZERO_SHOTS, "--use_cache", str(cache))
    shutil.rmtree(run.folder, ignore_errors=True)
    row: Row = {"engine": f"{engine}, killed", "task": task}
    half = tokens_of(full, task, bench.model) / 2
    before, deadline = server.metric(server.progress), time.monotonic() + bench.seconds
    process = run.start()
    try:
        while server.metric(server.progress) - before < half:
            if process.poll() is not None or time.monotonic() > deadline:
                return row | {"note": "the run ended before the server was killed"}
            time.sleep(0.5)
        written = server.metric(server.progress) - before
        server.kill()
        begun = time.monotonic()
        server.start()
        away = time.monotonic() - begun
        status, times = run.wait(process), 1
    finally:
        kill(process)
    if status:
        status, times = run(), 2
    if status:
        return row | failure(status, run)
    row |= compare(full, run, task)
    after = server.metric(server.progress)
    how = "the run waited for it" if times == 1 else "the command was given twice"
    row["note"] = f"killed after {written:.0f} tokens, back after {away:.0f} s, {how}; {after:.0f} tokens since"
    return row


def tokens_of(run: Run, task: str, tokenizer: Path) -> int:
    """Total number of tokens of the responses to a task, with one end token each."""
    from transformers import AutoTokenizer

    encode = AutoTokenizer.from_pretrained(tokenizer).encode
    return sum(len(encode(sample["resps"][0][0])) + 1 for sample in run.samples(task).values())


ROOM_OF_THE_CHECK = 16
"""Token limit of the test request before a run."""

_BY_THE_CHECK = ", by the request that asks whether the server answers"
_NOT_KEPT = ": answers were not kept"

CONCURRENT = 4
"""Number of concurrent requests to a server."""

ENGINES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "hf": transformers_rows,
    "vllm": vllm_rows,
    "vllm serve": vllm_server_rows,
    "llama.cpp": llama_rows,
}


def main() -> int:
    """Run the engines one after the other and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="run the engines with one of these in their name (default: all)")
    parser.add_argument("--questions", type=int, help="how many questions to ask (default: 8; 40 with --measure)")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "out" / "engines", help="where everything is kept")
    cores = max(1, (os.cpu_count() or 2) - 1)  # with none left for others, threads that wait for each other take turns
    parser.add_argument("--threads", type=int, default=cores, help=f"of each process (default: {cores})")
    parser.add_argument("--seconds", type=float, default=1800, help="how long a run may take (default: 1800)")
    parser.add_argument("--keep", action="store_true", help="use again the runs in the folder that have finished")
    parser.add_argument("--measure", action="store_true", help="measure instead of comparing")
    given = parser.parse_args()
    questions = given.questions or (40 if given.measure else 8)
    bench = Bench(given.folder.resolve(), questions, given.threads, given.seconds, given.keep)
    os.environ["TQDM_DISABLE"] = "1"
    bench.prepare()
    if given.measure:
        measure(bench)
        return 0
    rows: list[Row] = []
    failed = False
    for name, rows_of_engine in ENGINES.items():
        if name != "hf" and given.words and not any(word in name for word in given.words):
            continue
        begun = time.monotonic()
        try:
            rows += rows_of_engine(bench)
        except Exception as error:  # the other engines still have their rows
            failed = True
            traceback.print_exc()
            rows.append({"engine": name, "note": f"{type(error).__name__}: {error}"[:300]})
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    print(as_table(rows))
    return int(failed or any(map(is_unexpected, rows)))


def is_unexpected(row: Row) -> bool:
    """Whether a row shows a difference, or a run that failed and is not refused by design."""
    if "metrics" not in row:
        return "note" in row and not row.get("refused")
    counts = {row["variants"], row["equal texts"], row["equal picks"]} - {""}
    return row["metrics"] != "equal" or len(counts) > 1


def as_table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    cells = [[row.get(name, "") for name in HEADERS] for row in rows]
    return tabulate(cells, HEADERS, tablefmt="github", disable_numparse=True)


if __name__ == "__main__":
    sys.exit(main())
