"""Rows of answers from the samples of other programs: options, variants, and the samples that are left out."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.inputs import reading
from lm_eval_cora.questions.question import LETTERS, MAX_OPTIONS, UnusableQuestion
from lm_eval_cora.runs.files import listed
from lm_eval_cora.runs.foreign import Logged
from lm_eval_cora.variants.printed import longest_run

_HEAD = 4096  # bytes at the beginning of a file that show what it is
_FRAME = "() ."


def begins_with(pattern: bytes, path: Path) -> bool:
    """Whether the beginning of a file matches a pattern."""
    with reading(path).open("rb") as file:
        return re.match(pattern, file.read(_HEAD)) is not None


def options_in(prompt: str, right: str) -> dict[str, Any]:
    """The columns of the options that a prompt prints, of which one is right: its label or its text."""
    found = longest_run(prompt, right.strip(_FRAME)) or longest_run(prompt)
    return options_of(found.options if found else (), right, found.labels if found else ())


def options_of(texts: Sequence[str], right: str, labels: Sequence[str] = LETTERS) -> dict[str, Any]:
    """The columns of options, of which one is right: its label or its text."""
    names = [*labels[: len(texts)], *texts]
    places = [names.index(name) for name in (right, right.strip(_FRAME)) if name in names]
    if not places or not 2 <= len(texts) <= MAX_OPTIONS:
        raise UnusableQuestion(f"without 2 to {MAX_OPTIONS} options of which exactly one is right")
    columns = {"printed": tuple(texts), "answer": places[0] % len(texts)}
    return columns if LETTERS.startswith("".join(labels)) else {**columns, "labels": tuple(labels)}


def logged(path: Path, found: Logged, left_out: Counter[str]) -> list[Logged]:
    """Number the variants of each question, which are repeats if all have the same kind."""
    reasons = listed(+left_out)
    if not found.rows:
        raise UserError(
            f"{path}: expected samples of a multiple-choice task, got {reasons or 'none'}. "
            "Pass a complete log of a task whose questions have options"
        )
    kinds = {row["kind"] for row in found.rows}
    variants = Counter[str]()
    for row in found.rows:
        variants[row["question"]] += 1
        row["variant"] = str(variants[row["question"]])
        if len(kinds) == 1:
            del row["kind"]
    if reasons:
        found.notes.append(f"left out {reasons}")
    return [found._replace(equal_prompts=len(kinds) == 1 and len(variants) < len(found.rows))]
