"""Check whether a run belongs on a leaderboard: asked as its runs, whole, and in accord with its own files."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lm_eval_cora.decide.verdicts import Check
from lm_eval_cora.metrics.entries import is_printed
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.runs.comparable import differences_between, setting_differences, unlike_board
from lm_eval_cora.runs.files import find_files, listed, part_of
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import Run, check_one_model
from lm_eval_cora.runs.samples import contradictions, read_part, response_text
from lm_eval_cora.runs.signature import merged_signature, signature_parts

_PLACES, _BYTES = 50, 8_000  # of the samples of each other model, which are read to find copies
_COPIED, _FEWEST = 0.9, 10  # the share of equal wrong answers that a copy has, and their lowest number


def check_submission(board: Sequence[Path], path: Path) -> tuple[str, list[Check], list[str]]:
    """Check the runs of a model; return its name, the checks, and notes, which do not decide."""
    runs = read_runs([path])
    check_one_model(runs, f"--check {path}")
    files = [file for folder in board for file in find_files(folder)]
    others = [file for file in files if not file.path.resolve().is_relative_to(path.resolve())]
    checks: list[Check] = []
    notes: list[str] = []
    for run in runs:
        peers = [
            replace(
                run, model=one.model, files=(one.path,), data=one.data, results=one.results, signature=one.signature
            )
            for one in others
            if one.signature and one.task == run.name and run.results
        ]
        wrong = {"settings": unlike_board(run, peers), "samples": _samples(run), "values": _values(run)}
        checks += [Check(name, run.task, "fail" if why else "pass", why, run.signature) for name, why in wrong.items()]
        told = [*run.notes, *(setting_differences(peers[0], run) if peers else ()), *_copies(run, peers)]
        notes += [f"{run.model}, {run.task}: {note}" for note in told]
    return runs[0].model, checks, notes


def _samples(run: Run) -> str:
    """How the samples contradict themselves, the results file or the signature."""
    if not run.results:
        return run.unchecked or "expected samples of a task of lm-eval-cora, with a results file"
    # As the harness makes its name of a folder.
    folder = re.sub(r'["<>:/|\\?*\[\]]+', "__", str(run.results.get("model_name")))
    if folder != run.results.get("model_name_sanitized", folder):
        return "model_name in the results file is not that of model_name_sanitized"
    told = part_of(run.config, "generation_kwargs") if run.form == "generate" else {}
    settings = {name: value for name, value in told.items() if name != "max_gen_toks"}  # each request has its own
    wrong = Counter(f"with another {name}" for one in run.source.lines() for name in contradictions(*one, settings))
    # Two signatures are merged, so that the answers are counted again.
    counted = signature_parts(merged_signature([run.signature] * 2, run.table, "flexible", "flexible"))
    own = signature_parts(run.signature)
    unlike = differences_between({name: own[name] for name in counted}, counted, str)
    reasons = [f"of the lines, {listed(wrong)}"] if wrong else []
    return "; ".join([*reasons, *(f"the signature is the first, the samples are the second: {why}" for why in unlike)])


def _values(run: Run) -> str:
    """The values that the results file lacks, or that differ from the recomputed ones."""
    told = part_of(part_of(run.results, "results"), run.name)
    printed = run.higher.keys() & {entry["metric"] for entry in run.entries if is_printed(entry)}
    lost = [f"{name} is missing" for name in sorted(printed) if told.get(f"{name},{run.filter}") is None]
    return first_few([*lost, *run.differences])


def _copies(run: Run, others: Sequence[Run]) -> Iterator[str]:
    """Name the models that have almost the same wrong answers, in a part of the samples."""
    own = _answers(run.source) if others else {}
    for other in others:
        path, theirs = other.files[0], dict[Any, Any]()
        size = path.stat().st_size
        for start in range(0, size, max(_BYTES, size // _PLACES)):
            for samples in read_part(path, start, start + _BYTES, run.reader or "flexible").samples.values():
                theirs |= _answers(samples)
        texts = [own[key][2] == theirs[key][2] for key in own.keys() & theirs.keys()]
        equal = [own[key][1] == theirs[key][1] for key in own.keys() & theirs.keys() if not own[key][0]]
        if other.model != run.model and sum(equal) >= max(_FEWEST, _COPIED * len(equal)):
            shares = f"{sum(equal)} of {len(equal)} wrong answers and {sum(texts)} of {len(texts)} texts are equal"
            yield f"perhaps a copy of {other.model}: {shares}, in a part of the samples"


def _answers(samples: Any) -> dict[Any, Any]:
    """By question and variant: whether the answer is right, what it says, and its text."""
    return {
        (record.question_id, record.ordinal): (record.correct, record.logged, response_text(line))
        for record, line in samples.lines()
    }
