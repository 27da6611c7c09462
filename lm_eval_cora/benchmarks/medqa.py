"""MedQA (USMLE) with five options, as `lavita/medical-qa-datasets` and the authors' own release have it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lm_eval_cora.benchmarks import Benchmark, Row
from lm_eval_cora.benchmarks.cells import parse_cell
from lm_eval_cora.question import Question, UnusableQuestion

_QUOTATION_MARK_ON_A_LINE = re.compile(r'\s*\n\s*"\s*\Z')


def to_question(row: Row, default_id: str) -> Question:
    """Read a row: options is a list of {key, value} on the Hub, a mapping key -> value in the authors' files.

    Some options end in a line with nothing but a quotation mark, and some questions in a quotation mark that closes
    nothing. Both are removed.

    Example:
        >>> options = [{"key": "A", "value": "Ice"}, {"key": "B", "value": "Fog"}]
        >>> to_question({"question": "What is frozen water?", "options": options, "answer_idx": "A"}, "test-0").answer
        0
    """
    options = parse_cell(row["options"])
    try:
        pairs = list(options.items()) if isinstance(options, Mapping) else [(o["key"], o["value"]) for o in options]
    except (TypeError, KeyError):
        raise UnusableQuestion(
            "options of another shape", f"expected a list of {{key, value}}, got {options!r}"
        ) from None
    letters = [key for key, _ in pairs]
    if row["answer_idx"] not in letters:
        raise UnusableQuestion(
            "an answer outside the options",
            f"answer_idx {row['answer_idx']!r} is not one of {', '.join(map(str, letters))}",
        )
    answer = letters.index(row["answer_idx"])
    text = row.get("answer")
    if text is not None and str(text).strip() != str(pairs[answer][1]).strip():
        raise UnusableQuestion(
            "a letter that contradicts the answer's text",
            f"answer_idx {row['answer_idx']!r} is {pairs[answer][1]!r}, answer is {text!r}",
        )
    return Question(
        id=default_id,
        stem=_without_lone_mark(row["question"]),
        choices=tuple(_QUOTATION_MARK_ON_A_LINE.sub("", v) if isinstance(v, str) else v for _, v in pairs),
        answer=answer,
        category=row.get("meta_info") or "",
    )


def _without_lone_mark(stem: Any) -> Any:
    """A question without the quotation mark at its end, if it opens and closes nothing.

    Example:
        >>> _without_lone_mark('Which drug?"'), _without_lone_mark('Why does he say "no"')
        ('Which drug?', 'Why does he say "no"')
    """
    if isinstance(stem, str) and (text := stem.rstrip()).endswith('"') and text.count('"') % 2:
        return text[:-1]
    return stem


MEDQA = Benchmark(
    name="medqa",
    columns=("question", "options", "answer_idx"),
    to_question=to_question,
    options=(5, 5),
    published_rows=1273,
)
