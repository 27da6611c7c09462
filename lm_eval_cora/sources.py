"""Sources of scores: tables and files of answers, responses to prompts, and runs of the harness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np

from lm_eval_cora import metrics
from lm_eval_cora.answer_rows import AnswerRows, read_answers
from lm_eval_cora.answers import Reader
from lm_eval_cora.metrics.arrays import despite_skipped
from lm_eval_cora.metrics.entries import compute, is_in_table
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, mean_of
from lm_eval_cora.metrics.kinds import note_on_small_categories
from lm_eval_cora.packed import PackedRecords
from lm_eval_cora.question import shorten
from lm_eval_cora.reading import read_response, skipped
from lm_eval_cora.report import ReportError
from lm_eval_cora.report import runs as harness_runs
from lm_eval_cora.report.samples import probe_of
from lm_eval_cora.responses import ResponseTable
from lm_eval_cora.scores import Scores
from lm_eval_cora.task_files import applicable_metrics
from lm_eval_cora.variants import Variant


def score(
    data: Any,
    *,
    question: str | None = None,
    variant: str | None = None,
    correct: str | None = None,
    original: str | None = None,
    picked: str | None = None,
    answer: str | None = None,
    printed: str | None = None,
    kind: str | None = None,
    category: str | None = None,
    followed: str | None = None,
    reader: str | None = None,
) -> Scores:
    """Compute the metrics of answers that you collected yourself.

    The data have one row for each variant of a question. All arguments but the first are names of columns. Without an
    argument, a column is found if it has the name of the argument (or `question_id`, `ordinal`, `options` for
    `question`, `variant`, `printed`). Needed are `question`, `variant`, and either `correct` or both `picked` and
    `answer`.

    Args:
        data: A pandas DataFrame, a `datasets.Dataset`, a list of dicts, or the path of a json, jsonl, csv, tsv or
            parquet file.
        question: The id of the question.
        variant: The number or name of the variant, different for each variant of a question.
        correct: Whether the answer is right: True or False, 1 or 0. A missing value is a skipped variant, one that
            was not asked.
        original: Whether the variant is the question as in its benchmark. `cora`, `ci` and `mcqa` need it.
        picked: The option that the answer picks: its text or id, not its letter. A missing value is an invalid answer.
            The agreement metrics, such as `consistency_rate`, and `invalid` need it. In a csv file, only an empty
            cell is missing.
        answer: The right option: its text or id, as in `picked`.
        printed: The list of all options that the variant prints. If an answered variant of a question lacks it, all
            variants of the question count as printing the same options.
        kind: The kind of variant, such as `shuffled`. `acc_min` and `acc_max` need it. Without a column `original`, the
            kind `original` marks the originals.
        category: The category of the question. `macro_acc` needs it.
        followed: Whether the response is in the requested format. The metric `followed` needs it.
        reader: The name of the reader that read the response. It is shown as a note.

    Returns:
        The metrics. Those that the columns do not define are nan, and `undefined` gives the reasons.

    Raises:
        ReportError: If the data cannot be read, a column is missing, or a value is wrong. The message names the row.

    Example:
        >>> rows = [
        ...     {"id": "q1", "variant": "original", "ok": True, "is_original": True},
        ...     {"id": "q1", "variant": "shuffled", "ok": True, "is_original": False},
        ...     {"id": "q2", "variant": "original", "ok": True, "is_original": True},
        ...     {"id": "q2", "variant": "shuffled", "ok": False, "is_original": False},
        ... ]
        >>> scores = score(rows, question="id", correct="ok", original="is_original")
        >>> scores["mcqa"].value, scores["ci"].value, scores["cora"].value
        (1.0, 0.5, 0.5)
    """
    names = {name: value for name, value in locals().items() if name != "data"}
    return scores_of_rows(read_answers(data, names))


def scores_of_rows(rows: AnswerRows) -> Scores:
    """The scores of answers in a table or file; see `score`."""
    table = rows.table
    notes = [f"responses read by: {', '.join(rows.readers)}"] if rows.readers else []
    if not table.is_whole:
        notes.append(f"{int(table.skipped.sum()):,} of {len(table.skipped):,} variants were skipped")
    notes += _left_out(table)
    if "category" in rows.known and (note := note_on_small_categories(table)):
        notes.append(note)
    return Scores(table, _functions(table), reasons=_undefined(table, rows.known), notes=notes)


def read(variants: Sequence[Variant], responses: Iterable[str | None], *, reader: Reader = "flexible") -> Scores:
    """Read a model's responses to variants, and compute the metrics.

    Args:
        variants: The variants whose prompts you sent, as returned by `expand`.
        responses: The response to each variant, in the same order. None is a skipped variant.
        reader: `flexible` finds the answer anywhere in the response. `strict` follows the rules of the papers.

    Returns:
        The metrics of the probe. A note says how many questions are left out because variants are missing or skipped.

    Raises:
        ReportError: If the numbers of variants and responses differ, a variant comes twice, or an argument is of the
            wrong type.

    Example:
        >>> from lm_eval_cora import expand
        >>> variants = expand([{"question": "What is frozen water?", "choices": ["Ice", "Fog"], "answer": "Ice"}])
        >>> scores = read(variants, ["A"] * len(variants))
        >>> scores["mcqa"].value, scores["acc"].value
        (1.0, 0.5)
    """
    _check_reader("read", reader)
    if isinstance(responses, str) or not isinstance(responses, Iterable):
        raise ReportError(f"read: responses: expected a list of texts, got {type(responses).__name__}")
    for place, variant in enumerate(variants):
        if not isinstance(variant, Variant):
            raise ReportError(
                f"read: variant {place}: expected a Variant as `expand` returns it, got {type(variant).__name__}"
            )
    docs, texts = [vars(variant) for variant in variants], list(responses)
    if len(docs) != len(texts):
        raise ReportError(
            f"read: expected one response per variant, got {len(texts):,} for {len(docs):,} variants. "
            "Pass None for a variant that you skipped"
        )
    for place, text in enumerate(texts):
        if text is not None and not isinstance(text, str):
            raise ReportError(f"read: response {place}: expected text, or None if skipped, got {type(text).__name__}")
    records = [
        skipped(doc) if text is None else read_response(doc, [text], reader=reader)
        for doc, text in zip(docs, texts, strict=True)
    ]
    packed = PackedRecords(records)
    table, _ = ResponseTable.from_packed(packed)
    if table.duplicates:
        raise ReportError(
            f"read: expected each variant once, got {table.duplicates:,} a second time. Read different probes, or "
            "several responses to a prompt, separately"
        )
    entries = applicable_metrics(probe_of({}, packed), table, "generate")
    functions = {entry["metric"]: partial(compute, entry) for entry in entries if is_in_table(entry)}
    asked = sorted((doc["question_id"], doc["ordinal"], doc["kind"], doc["choices"]) for doc in docs)
    return Scores(table, functions, notes=_left_out(table), asked=sha256(repr(asked).encode()).hexdigest())


def read_runs(*paths: str | PathLike[str], reader: Reader | None = None) -> list[Scores]:
    """Read runs of the harness. They must have been made with `--output_path` and `--log_samples`.

    Args:
        *paths: Folders, searched with all their subfolders, or samples files.
        reader: How written answers are read: `flexible` or `strict`. None keeps the reader of each run.

    Returns:
        The scores of each model and task. The name consists of both. The notes list what was left out or merged.

    Raises:
        ReportError: If a path does not exist or has no samples of these tasks.

    Example:
        >>> read_runs("no/such/folder")
        Traceback (most recent call last):
        ...
        lm_eval_cora.report.ReportError: no/such/folder: there is no such file or folder
    """
    if reader is not None:
        _check_reader("read_runs", reader)
    if not paths or not all(isinstance(path, (str, PathLike)) for path in paths):
        raise ReportError(f"read_runs: expected folders or files, got {shorten(repr(paths))}")
    found = harness_runs.read_runs(list(map(Path, paths)), reader=reader)
    return [
        Scores(
            run.table,
            {
                entry["metric"]: partial(compute, entry, whole=run.is_two_phase)
                for entry in run.entries
                if is_in_table(entry)
            },
            name=f"{run.model}, {run.task}",
            notes=run.warnings,
            run=run,
        )
        for run in found
    ]


def _check_reader(function: str, reader: object) -> None:
    if reader not in get_args(Reader):
        names = " or ".join(map(repr, get_args(Reader)))
        raise ReportError(f"{function}: reader: expected {names}, got {reader!r}")


def _left_out(table: ResponseTable) -> list[str]:
    """Notes on the questions that a table leaves out."""
    total = len(table.sizes) + table.incomplete + table.not_begun
    reasons = {"variants are missing": table.incomplete, "all their variants were skipped": table.not_begun}
    return [f"left out {count:,} of {total:,} questions because {reason}" for reason, count in reasons.items() if count]


def _undefined(table: ResponseTable, known: frozenset[str]) -> dict[str, str]:
    """The metrics that the columns do not define, and the reason for each."""
    if "original" not in known:
        original = "needs the column 'original', which marks the original of each question"
    elif table.original_correct is None and len(table.sizes):
        counts = table.sum_by_question(table.original)
        place = int((counts != 1).argmax())
        original = (
            f"needs one original of each question; question {table.question_ids[place]!r} has {counts[place]:.0f}"
        )
    else:
        original = ""
    reasons = {"original": original}
    reasons |= {column: "" if column in known else f"needs the column {column!r}" for column in _NEEDS}
    if "followed" in known and np.isnan(table.followed[~table.skipped]).any():
        reasons["followed"] = "the column 'followed' has missing values"
    needs = {**_NEEDS, "original": _NEED_THE_ORIGINAL}
    return {name: reasons[column] for column, names in needs.items() for name in names if reasons[column]}


def _functions(table: ResponseTable) -> dict[str, Callable[[ResponseTable], Estimate]]:
    """The metrics as functions; with skipped variants those that right and wrong answers alone define."""
    if table.is_whole:
        return dict(_METRICS)
    return {
        name: partial(despite_skipped, metric, of_originals=name in _NEED_THE_ORIGINAL)
        if name in _OF_RIGHT_AND_WRONG
        else _unknown
        for name, metric in _METRICS.items()
    }


def _unknown(table: ResponseTable) -> Estimate:
    """A metric that skipped variants leave open."""
    return UNDEFINED


def _like_the_original(table: ResponseTable) -> ResponseTable:
    """The variants that print the same options as the original of their question."""
    printed = table.printed[table.original]
    return table.where(table.printed == printed[table.question])


def _sc(table: ResponseTable) -> Estimate:
    part = _like_the_original(table)
    most = np.ones(len(part.sizes), dtype=np.int64)
    np.maximum.at(most, part.question, part.alike)
    return mean_of(most / part.sizes, between=(1 / part.sizes.max(initial=1), 1.0))


def _acc_h(table: ResponseTable) -> Estimate:
    return metrics.bmca(_like_the_original(table), level=1.0)


_METRICS: Mapping[str, Callable[[ResponseTable], Estimate]] = {
    "acc": metrics.acc,
    "mcqa": metrics.mcqa,
    "mcqa_plus": metrics.mcqa_plus,
    "mcqa_plus_diff": metrics.mcqa_plus_diff,
    "mv": metrics.mv,
    **{f"bmca@{level}": partial(metrics.bmca, level=level) for level in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)},
    "ci": metrics.ci,
    "cora": metrics.cora,
    "core": metrics.core,
    "consistency_rate": metrics.consistency_rate,
    "sc": _sc,
    "acc_h": _acc_h,
    "acc_mean": metrics.acc_mean,
    "acc_min": metrics.acc_min,
    "acc_max": metrics.acc_max,
    "acc_range": metrics.acc_range,
    "acc_range_by_chance": metrics.acc_range_by_chance,
    "acc_range_p": metrics.acc_range_p,
    "macro_acc": metrics.macro_acc,
    "all_equal": metrics.all_equal,
    "equal@0.8": partial(metrics.equal_at, level=0.8),
    "invalid": metrics.invalid,
    "followed": metrics.followed,
}
"""The metrics that can be computed from a table of answers."""

_OF_RIGHT_AND_WRONG = {name for name in _METRICS if name.startswith("bmca@")} | {
    *("acc", "mcqa", "mcqa_plus", "mcqa_plus_diff", "mv", "ci", "cora", "core")
}
"""The metrics that do not look at picks, kinds or categories."""

_NEED_THE_ORIGINAL = ("mcqa", "mcqa_plus_diff", "ci", "cora", "sc", "acc_h")

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "picked": ("consistency_rate", "sc", "acc_h", "all_equal", "equal@0.8", "invalid"),
    "kind": ("acc_mean", "acc_min", "acc_max", "acc_range", "acc_range_by_chance", "acc_range_p"),
    "category": ("macro_acc",),
    "followed": ("followed",),
}
"""The metrics that need each column."""
