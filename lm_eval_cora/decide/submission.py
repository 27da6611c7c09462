"""Check whether a run belongs on a leaderboard: asked as its runs, whole, and in accord with its own files."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lm_eval_cora.decide.verdicts import Check
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
            Run(
                file.model,
                file.task,
                (file.path,),
                file.data,
                run.probe,
                results=file.results,
                signature=file.signature,
            )
            for file in others
            if file.task == run.name and file.signature
        ]
        found = {"settings": [unlike_board(run, peers)], "samples": _samples(run), "values": run.differences}
        for name, reasons in found.items():
            why = "; ".join(filter(None, reasons))
            checks.append(Check(name, run.task, "fail" if why else "pass", why, run.signature))
        told = [*setting_differences(peers[0], run), *_copies(run, peers)] if peers and run.results else []
        notes += [f"{run.model}, {run.task}: {note}" for note in (*run.notes, *told)]
    return runs[0].model, checks, notes


def _samples(run: Run) -> list[str]:
    """How the samples contradict themselves, the results file or the signature."""
    if not run.results:
        return [run.unchecked or "expected samples of a task of lm-eval-cora, with a results file"]
    settings = part_of(run.config, "generation_kwargs") if run.form == "generate" else {}
    wrong = Counter(f"with another {name}" for one in run.source.lines() for name in contradictions(*one, settings))
    # Two signatures are merged, so that the answers are counted again.
    counted = signature_parts(merged_signature([run.signature] * 2, run.table, "flexible", "flexible"))
    told = signature_parts(run.signature)
    differing = differences_between({name: told[name] for name in counted}, counted, str)
    lost = [note for note in run.notes if note.startswith("left out ")]
    return [
        *lost,
        f"lines {listed(wrong)}" if wrong else "",
        *(f"of signature and samples, {why}" for why in differing),
    ]


def _copies(run: Run, others: Sequence[Run]) -> Iterator[str]:
    """Name the models that have almost the same wrong answers, in a part of the samples."""
    own = _answers(run.source)
    for other in others:
        path, theirs = other.files[0], dict[Any, Any]()
        size = path.stat().st_size
        for start in range(0, size, max(_BYTES, size // _PLACES)):
            for samples in read_part(path, start, start + _BYTES, run.reader or "flexible").samples.values():
                theirs |= _answers(samples)
        pairs = [(own[key], theirs[key]) for key in own.keys() & theirs.keys()]
        equal = [one[1] == also[1] for one, also in pairs if not one[0]]
        if other.model != run.model and len(equal) >= _FEWEST and sum(equal) >= _COPIED * len(equal):
            texts = sum(one[2] == also[2] for one, also in pairs)
            shares = f"{sum(equal)} of {len(equal)} wrong answers and {texts} of {len(pairs)} texts are equal"
            yield f"perhaps a copy of {other.model}: {shares}, in a part of the samples"


def _answers(samples: Any) -> dict[Any, Any]:
    """By question and variant: whether the answer is right, what it says, and its text."""
    return {
        (record.question_id, record.ordinal): (record.correct, record.logged, response_text(line))
        for record, line in samples.lines()
    }
