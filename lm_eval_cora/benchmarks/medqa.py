"""MedQA (USMLE) with five options, as `lavita/medical-qa-datasets` and the authors' own release have it."""

from __future__ import annotations

from collections.abc import Mapping

from lm_eval_cora.benchmarks import Benchmark, Row
from lm_eval_cora.benchmarks.cells import parse_cell
from lm_eval_cora.question import Question, UnusableQuestion


def to_question(row: Row, default_id: str) -> Question:
    """Read a row: options is a list of {key, value} on the Hub, a mapping key -> value in the authors' files.

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
        stem=row["question"],
        choices=tuple(value for _, value in pairs),
        answer=answer,
        category=row.get("meta_info") or "",
    )


MEDQA = Benchmark(
    name="medqa",
    columns=("question", "options", "answer_idx"),
    to_question=to_question,
    options=(5, 5),
    published_rows=1273,
)
