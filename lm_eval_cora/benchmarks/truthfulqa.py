"""TruthfulQA with one right answer (mc1), as `truthfulqa/truthful_qa` has it: 2 to 13 options."""

from __future__ import annotations

from lm_eval_cora.benchmarks import Benchmark, Row
from lm_eval_cora.benchmarks.cells import parse_cell
from lm_eval_cora.question import Question, UnusableQuestion
from lm_eval_cora.randomness import in_random_order


def to_question(row: Row, default_id: str) -> Question:
    """Read a row, and put its options into an order of their own.

    The source lists the right answer first, so that its order would make "always A" a perfect original. The order
    is drawn once, by the question's id alone: no option of a run changes what the original is.

    Example:
        >>> targets = {"choices": ["Ice", "Fog", "Dew"], "labels": [1, 0, 0]}
        >>> question = to_question({"question": "What is frozen?", "mc1_targets": targets}, "validation-2")
        >>> question.choices, question.choices[question.answer]
        (('Dew', 'Ice', 'Fog'), 'Ice')
    """
    targets = parse_cell(row["mc1_targets"])
    try:
        choices, labels = list(targets["choices"]), list(targets["labels"])
    except (TypeError, KeyError):
        raise UnusableQuestion("options of another shape", f"expected {{choices, labels}}, got {targets!r}") from None
    if len(labels) != len(choices) or labels.count(1) != 1:
        raise UnusableQuestion("no single right answer", f"labels {labels} for {len(choices)} options")
    order = list(in_random_order(range(len(choices)), "truthfulqa", default_id))
    return Question(
        id=default_id,
        stem=row["question"],
        choices=tuple(choices[index] for index in order),
        answer=order.index(labels.index(1)),
    )


TRUTHFULQA = Benchmark(
    name="truthfulqa", columns=("question", "mc1_targets"), to_question=to_question, options=(2, 13), published_rows=817
)
