"""MedMCQA, as `openlifescienceai/medmcqa` has it: four options; the category is the medical subject."""

from __future__ import annotations

import re

from lm_eval_cora.benchmarks import Benchmark, BenchmarkError, Row
from lm_eval_cora.benchmarks.cells import option_index
from lm_eval_cora.benchmarks.repairs import LIGATURES, repaired, without_own_letters
from lm_eval_cora.question import Question

_OPTIONS = ("opa", "opb", "opc", "opd")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

_IN_STEMS = (
    (re.compile(r"\s+"), " "),  # hard line breaks inside sentences
    (re.compile(r"\A\s*(?:\d{1,3}[.)]|\.)\s+(?=[A-Z])"), ""),  # the number of the question in its book
    (re.compile("(?<=[a-z])!(?=[a-z])"), ""),  # a soft hyphen
    (re.compile(r"\\'"), "'"),
    LIGATURES,
)
_IN_OPTIONS = (
    # A range such as 10-15 that a spreadsheet took for a date.
    (
        re.compile(rf"\A\s*(\d{{1,2}})-({'|'.join(_MONTHS)})\s*\Z"),
        lambda found: f"{_MONTHS.index(found[2]) + 1}-{found[1]}",
    ),
    LIGATURES,
)


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
        stem=repaired(row["question"], _IN_STEMS),
        choices=without_own_letters([repaired(row[column], _IN_OPTIONS) for column in _OPTIONS]),
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
