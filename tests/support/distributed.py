"""A model in processes of its own: alone, or as one of several ranks that talk to each other over gloo.

As a script this is one rank:

    python -m tests.support.distributed runs.json outcomes.json --rank 0 --ranks 2 --store FOLDER
"""

import argparse
import gc
import hashlib
import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from lm_eval.api.model import LM

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from tests.support.index import reading_task_files_once
from tests.support.simulated import run as evaluated

ROOT = Path(__file__).parents[2]
SECONDS = 600
"""Seconds after which a group of processes counts as stuck. Three ranks take seconds, or minutes on a busy machine."""

OPINIONS = "8"
"""Chosen so that the model knows three of the first six questions."""

NOTATIONS = (r"\boxed{x + 1}", r"\boxed{1 + x}", r"\boxed{7}", r"\boxed{\sqrt{49}}", r"\boxed{\frac{14}{2}}", "none")
"""Responses to a prompt that asks for a box: two answers in several notations, and no answer."""


def draw(n, *key):
    """A number below n from a hash of texts, which is the same in every process."""
    return int.from_bytes(hashlib.sha256(json.dumps(key).encode()).digest(), "big") % n


class Hashing(LM):
    """Its answer is a function of the prompt's text. It is one of several ranks if torch.distributed is initialised.

    It has an opinion on each option's text, as a model does that knows some answers, and now and then it changes its
    mind or says nothing that can be read.
    """

    def __init__(self):
        super().__init__()
        self.asked = 0
        self.padding = 0
        self.questions = []

    # ---- the interface of a rank, as in the harness' transformers back end, without accelerate
    def join(self, rank, ranks, store):
        from torch import distributed

        # If a process ends, the others must not wait for half an hour, which is gloo's default.
        distributed.init_process_group(
            "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks, timeout=timedelta(seconds=SECONDS)
        )
        self._rank, self._world_size, self._device = rank, ranks, "cpu"

    def leave(self):
        from torch import distributed

        # Without this, Python sometimes aborts at exit, in a thread of gloo that still runs.
        distributed.barrier()
        distributed.destroy_process_group()

    def all_gather(self, tensor):
        if self.world_size == 1:
            return tensor
        import torch

        everyone = [torch.zeros_like(tensor) for _ in range(self.world_size)]
        torch.distributed.all_gather(everyone, tensor)
        return torch.stack(everyone)

    def gather_object(self, obj, dst=0):
        if self.world_size == 1:
            return [obj]
        from torch import distributed

        everyone = [None] * self.world_size if self.rank == dst else None
        distributed.gather_object(obj, everyone, dst=dst)
        return everyone

    def barrier(self):
        if self.world_size > 1:
            from torch import distributed

            distributed.barrier()

    # ---- answers
    def generate_until(self, requests, disable_tqdm=False):
        return self._answer("generate_until", requests, self._write, "")

    def loglikelihood(self, requests, disable_tqdm=False):
        return self._answer("loglikelihood", requests, self._score, (0.0, True))

    def loglikelihood_rolling(self, requests):
        raise AssertionError("no form asks for this")

    def _answer(self, kind, requests, rule, to_padding):
        answers = []
        seen = set()
        for request in requests:
            self.asked += 1
            self.questions.append(request.doc.get("question_id", ""))
            # The harness pads a rank by repeating its last request. The repetition gets another answer here, so that
            # a run that counts it has wrong scores.
            if id(request) in seen:
                self.padding += 1
                answers.append(to_padding)
                continue
            seen.add(id(request))
            answers.append(rule(*request.args))
            self.cache_hook.add_partial(kind, request.args, answers[-1])
        return answers

    def _write(self, prompt, _):
        if r"\boxed{" in prompt:
            return NOTATIONS[draw(len(NOTATIONS), prompt)]
        choices = [line for line in prompt.splitlines() if line[1:3] == ". "]
        if draw(16, prompt) == 0:
            return "I cannot say."
        if draw(16, prompt, "another mind") == 0:
            return choices[draw(len(choices), prompt, "any")][0]
        return min(choices, key=lambda choice: draw(2**64, choice[3:], OPINIONS))[0]

    def _score(self, context, continuation):
        # Only seven values, so that there are ties.
        value = draw(7, context, continuation)
        return -value / 4, value == 0


def evaluate(run, model):
    """The results of a run as JSON types; None on all ranks but the first. If all ranks refuse it, their errors."""
    try:
        return _evaluate(run, model)
    except UserError as error:
        errors = model.gather_object(str(error))
        return None if errors is None else {"errors": errors}


def _evaluate(run, model):
    task, asked, padding = run["task"], model.asked, model.padding
    asking = stop_early(model, **{"stop": None, **run["early"]}) if "early" in run else model
    results = evaluated(asking, task, run["options"], **run.get("arguments", {}))
    requests = model.gather_object([model.asked - asked, model.padding - padding])
    questions = model.gather_object(sorted(set(model.questions[asked:])))
    assert (results is None) == (model.rank > 0)
    if results is None:
        return None
    samples = [
        (sample["doc"]["question_id"], sample["doc"]["ordinal"], None if "early" in run else sample["acc"])
        for sample in results["samples"][task]
    ]
    outcome = {
        "results": results["results"][task],
        "n-samples": results["n-samples"][task],
        "signature": results["configs"][task]["metadata"]["signature"],
        "samples": sorted(samples),
        "requests": requests,
        "questions": questions,
    }
    return json.loads(json.dumps(outcome))


def outcomes_alone(runs):
    """The results of runs in this process."""
    outcomes = {case: evaluate(run, Hashing()) for case, run in runs.items()}
    assert None not in outcomes.values()
    return outcomes


def outcomes_together(runs, folder, ranks):
    """The results in real processes, one per rank. Starting one takes seconds, so each is started once for all runs."""
    (folder / "runs.json").write_text(json.dumps(list(runs.values())), encoding="utf-8")
    command = [sys.executable, "-m", "tests.support.distributed"]
    command += [str(folder / "runs.json"), str(folder / "outcomes.json")]
    command += ["--ranks", str(ranks), "--store", str(folder)]
    files = [folder / f"stderr{rank}.txt" for rank in range(ranks)]  # a pipe that nobody reads would fill up
    deadline = time.monotonic() + SECONDS
    processes = []
    try:
        for rank, file in enumerate(files):
            environment = {
                **os.environ,
                "LOCAL_RANK": str(rank),  # as torchrun and accelerate set it; the harness reads it
                "OMP_NUM_THREADS": "1",
                "PYTHONHASHSEED": str(1 + rank),  # nothing may depend on the order of a set
                "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
            }
            with file.open("wb") as stderr:
                streams = {"stdin": subprocess.DEVNULL, "stdout": stderr, "stderr": stderr}
                words = [*command, "--rank", str(rank)]
                processes.append(subprocess.Popen(words, cwd=ROOT, env=environment, **streams))
        for process in processes:
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass  # its status is that of a process that was killed
    finally:
        for process in processes:
            process.kill()
            process.wait()
    said = [file.read_text(encoding="utf-8", errors="replace")[-3000:] for file in files]
    assert not any(process.returncode for process in processes), "\n".join(said)
    found = json.loads((folder / "outcomes.json").read_text())
    return dict(zip(runs, found, strict=True))


def main():
    """Run as one rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("outcomes", type=Path)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    runs = json.loads(given.runs.read_text())
    gc.freeze()  # as in conftest.py
    model = Hashing()
    if given.ranks > 1:
        model.join(given.rank, given.ranks, given.store / "store")
    with reading_task_files_once():
        outcomes = [evaluate(run, model) for run in runs]
    if given.ranks > 1:
        model.leave()
    if given.rank == 0:
        given.outcomes.write_text(json.dumps(outcomes))


if __name__ == "__main__":
    main()
