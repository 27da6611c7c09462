"""MedMCQA, as `openlifescienceai/medmcqa` has it: four options; the category is the medical subject."""

from __future__ import annotations

from lm_eval_cora.benchmarks import Benchmark, BenchmarkError, Row
from lm_eval_cora.benchmarks.cells import option_index
from lm_eval_cora.question import Question

_OPTIONS = ("opa", "opb", "opc", "opd")


def to_question(row: Row, default_id: str) -> Question:
    """Read a row. `cop` counts the options from 0.

    Example:
        >>> row = {"id": "e9ad", "question": "Frozen?", "opa": "Ice", "opb": "Fog", "opc": "Dew", "opd": "Hail"}
        >>> to_question({**row, "cop": 3, "subject_name": "Physiology"}, "").answer
        3
    """
    if str(row["cop"]) == "4":
        # Left out row by row, the rest of such a file would be scored against the wrong options.
        raise BenchmarkError(
            "medmcqa: cop is 4: the authors' own files count from 1; expected the Hub's layout, which counts from 0"
        )
    return Question(
        id=row["id"] or default_id,
        stem=row["question"],
        choices=tuple(row[column] for column in _OPTIONS),
        answer=option_index(row["cop"], "cop", len(_OPTIONS)),
        category=row.get("subject_name") or "",
    )


MEDMCQA = Benchmark(
    name="medmcqa",
    columns=("id", "question", *_OPTIONS, "cop"),
    to_question=to_question,
    options=(4, 4),
    published_rows=4183,
)
