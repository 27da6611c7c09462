"""Whether two runs can be compared question by question: they must have been asked the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs.documents import DocumentRun
from lm_eval_cora.runs.files import grouped_by, sent_with
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.signature import apart, how_asked, only_in_one, signature_parts


def by_task(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs of each task."""
    return grouped_by(runs, lambda run: run.task)


def check_one_model(runs: Sequence[Run], where: str) -> None:
    """Raise a UserError if there are runs of several models."""
    models = sorted({run.model for run in runs})
    if len(models) > 1:
        raise UserError(
            f"{where}: expected the runs of one model, got {len(models)}: {first_few(map(shorten, models))}. Name the "
            "folder of one"
        )


_FORMS = {"generate": "written", "loglikelihood": "scored"}


def not_comparable(before: Run, after: Run) -> str:
    """Reason why two runs of a task cannot be compared; empty if they can."""
    if before.collected or after.collected:
        return _files_differ(before, after)
    if before.data.differs_from(after.data):
        return (
            f"they ran on different questions: {before.data} in the first, {after.data} in the second. "
            "Run both on the same file or data set"
        )
    if sampled := [which for which, run in (("first", before), ("second", after)) if run.is_two_phase]:
        return (
            f"--target followed only a sample of the questions in the {' and the '.join(sampled)}, so the answers "
            "cannot be paired. Run both with --stop exact, and with the same option 'questions' if that costs too much"
        )
    if before.signature and after.signature:
        same_data = bool(before.data.digest and after.data.digest)
        one, other = (how_asked(run.signature, known_data=same_data) for run in (before, after))
        if told := apart(one, other, show=str):
            return f"their settings differ: {'; '.join(told)}"
    if before.reader and after.reader and before.reader != after.reader:
        return (
            f"the {before.reader} reader read the responses of the first, the {after.reader} reader those of the "
            f"second. Use one reader for both: --reader {before.reader}, or --reader {after.reader}"
        )
    if before.form and after.form and before.form != after.form:
        return f"the first has {_FORMS[before.form]} answers, the second has {_FORMS[after.form]} answers"
    if only := only_in_one(before.table.question_ids, after.table.question_ids, "questions"):
        ended = any({"budget", "target-stderr"} & signature_parts(run.signature).keys() for run in (before, after))
        told_ended = " A budget or target ends each run at another question." if ended else ""
        return f"{only}.{told_ended} Run both on the same questions (option 'questions' or 'categories')"
    most = int(np.maximum(before.table.sizes, after.table.sizes).sum())
    if unlike := _unlike(before, after, 0):
        return (
            f"{len(unlike):,} of {most:,} variants differ ({first_few(unlike)}). The runs have different seeds, "
            "different options or different versions of the task"
        )
    if not (before.signature and after.signature) and (unlike := _unlike(before, after, 1)):
        return (
            f"{len(unlike):,} of {most:,} prompts differ ({first_few(unlike)}). Only the results files of both runs "
            "can show whether the chat template or the exemplars differ. Put each results_<date>.json beside its "
            "samples"
        )
    return ""


def _files_differ(before: Run, after: Run) -> str:
    """Reason why a file of answers cannot be compared with another run; empty if it can."""
    if not (before.collected and after.collected):
        which = "first" if before.collected else "second"
        return f"the {which} is a file of answers, the other is a run of the harness. Compare two of a kind"
    if only := only_in_one([*before.collected.places], [*after.collected.places], "questions"):
        return f"{only}. Give both files the same questions"
    described, also_described = (run.collected.described for run in (before, after) if run.collected)
    for which, columns, others in (("first", described, also_described), ("second", also_described, described)):
        if lacking := [repr(name) for name in columns if name not in others]:
            return (
                f"only the {which} has the column{'s' * (len(lacking) > 1)} {', '.join(lacking)} in every row, so it "
                "is unknown whether both were asked the same. Give both files the same columns"
            )
    one, other = before.collected.asked(), after.collected.asked()
    if unlike := [repr(question) for question in one if one[question] != other[question]]:
        return (
            f"{len(unlike):,} of {len(one):,} questions were asked differently ({first_few(unlike)}): the columns "
            f"{', '.join(map(repr, ('variant', *described)))} must be equal in both files"
        )
    if skipped := sorted({*before.table.question_ids} ^ {*after.table.question_ids}):
        return (
            f"in one of the two all variants of {len(skipped):,} of {len(one):,} questions were skipped "
            f"({first_few(map(repr, skipped))}). Give both files answers to the same questions"
        )
    return ""


def _unlike(before: Run, after: Run, part: Literal[0, 1]) -> list[str]:
    """The variants whose digest (0) or whose prompt's digest (1) differs between the runs or is missing in one of them.

    The runs have the same questions.
    """
    one, other = (run.samples.digests_of(run.rows)[part] for run in (before, after))
    if np.array_equal(before.table.sizes, after.table.sizes) and np.array_equal(one, other):
        return []
    of_one, of_other = (dict(zip(_variants(run), own, strict=True)) for run, own in ((before, one), (after, other)))
    unlike = sorted(key for key in of_one.keys() | of_other.keys() if of_one.get(key) != of_other.get(key))
    return [f"{question} variant {ordinal}" for question, ordinal in unlike]


def _variants(run: Run) -> list[tuple[str, int]]:
    sizes = zip(run.table.question_ids, run.table.sizes.tolist(), strict=True)
    return [(question, ordinal) for question, size in sizes for ordinal in range(size)]


def setting_differences(before: Run | DocumentRun, after: Run | DocumentRun) -> list[str]:
    """Differences in generation and prompt settings; such runs can still be compared."""
    if not before.results or not after.results:
        return []
    one, other = (sent_with(run.results, run.name) for run in (before, after))
    if one["chat_template_sha"] and other["chat_template_sha"]:  # two models usually have different chat templates
        other["chat_template_sha"] = one["chat_template_sha"]
    return apart(one, other)
