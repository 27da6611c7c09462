"""MMLU, as `cais/mmlu` has it: always four options; the category is the subject."""

from __future__ import annotations

from lm_eval_cora.benchmarks import Benchmark, Row
from lm_eval_cora.benchmarks.cells import option_index, option_list
from lm_eval_cora.benchmarks.repairs import CSV_QUOTING, ENCODING, LIGATURES, repaired, without_own_letters
from lm_eval_cora.question import Question

_REPAIRS = (CSV_QUOTING, *ENCODING, LIGATURES)


def to_question(row: Row, default_id: str) -> Question:
    """Read a row.

    Example:
        >>> row = {"question": "0 / 0?", "subject": "algebra", "choices": ["None", "N/A", "1", "0"], "answer": 1}
        >>> to_question(row, "test-0").choices
        ('None', 'N/A', '1', '0')
    """
    choices = option_list(row["choices"])
    return Question(
        id=default_id,
        stem=repaired(row["question"], _REPAIRS),
        choices=without_own_letters([repaired(choice, _REPAIRS) for choice in choices]),
        answer=option_index(row["answer"], "answer", len(choices)),
        category=row["subject"] or "",
    )


MMLU = Benchmark(
    name="mmlu",
    columns=("question", "subject", "choices", "answer"),
    to_question=to_question,
    options=(4, 4),
    published_rows=14042,
    exemplars_within_category=True,
    exemplars_as_published=True,
)
