"""ARC-Challenge, as `allenai/ai2_arc` has it: three to five options, labelled A to E or 1 to 5."""

from __future__ import annotations

from lm_eval_cora.benchmarks import Benchmark, Row
from lm_eval_cora.benchmarks.cells import parse_cell
from lm_eval_cora.benchmarks.repairs import DOUBLED_QUOTES, repaired
from lm_eval_cora.question import Question, UnusableQuestion


def to_question(row: Row, default_id: str) -> Question:
    """Read a row. Its labels say which option is right, and are not printed.

    Example:
        >>> choices = {"text": ["Ice", "Fog", "Dew"], "label": ["1", "2", "3"]}
        >>> to_question({"id": "LEAP_1", "question": "Frozen?", "choices": choices, "answerKey": "1"}, "").answer
        0
    """
    choices = parse_cell(row["choices"])
    try:
        texts, labels = tuple(choices["text"]), [str(label) for label in choices["label"]]
    except (TypeError, KeyError):
        raise UnusableQuestion("options of another shape", f"expected {{text, label}}, got {choices!r}") from None
    key = str(row["answerKey"])
    if len(labels) != len(texts) or labels.count(key) != 1:
        raise UnusableQuestion(
            "an answer outside the options", f"answerKey {key!r}, labels {', '.join(labels)}, {len(texts)} options"
        )
    return Question(
        id=row["id"] or default_id,
        stem=repaired(row["question"], [DOUBLED_QUOTES]),
        choices=texts,
        answer=labels.index(key),
    )


ARC_CHALLENGE = Benchmark(
    name="arc_challenge",
    columns=("id", "question", "choices", "answerKey"),
    to_question=to_question,
    options=(3, 5),
    published_rows=1172,
)
