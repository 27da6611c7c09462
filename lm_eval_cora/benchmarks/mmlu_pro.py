"""MMLU-Pro, as `TIGER-Lab/MMLU-Pro` has it: 3 to 10 options, 14 categories."""

from __future__ import annotations

import re

from lm_eval_cora.benchmarks import Benchmark, Row
from lm_eval_cora.benchmarks.cells import option_index, option_list
from lm_eval_cora.benchmarks.repairs import CSV_QUOTING, ENCODING, LIGATURES, Rule, repaired
from lm_eval_cora.question import Question, UnusableQuestion

_ESCAPED = {"\a": "a", "\b": "b", "\v": "v", "\t": "t", "\n": "r"}
_EATEN_ESCAPES: Rule = (
    re.compile("[\a\b\v](?=[A-Za-z])|\t(?=[a-z])|\n(?=ho(?:[^a-z]|[ad])|ceil|floor|ight)"),
    lambda found: "\\" + _ESCAPED[found[0]],
)
"""LaTeX whose backslash and first letter were read as a control character: a tab for the beginning of "theta"."""

_REPAIRS = (_EATEN_ESCAPES, CSV_QUOTING, *ENCODING, LIGATURES)


def to_question(row: Row, default_id: str) -> Question:
    """Read a row. It names the right option twice, and is left out where the two disagree.

    Example:
        >>> row = {"question_id": 70, "question": "Frozen?", "options": ["Fog", "Dew", "Ice"], "category": "physics"}
        >>> to_question({**row, "answer": "C", "answer_index": 2}, "").id
        '70'
    """
    options = option_list(row["options"])
    answer = option_index(row["answer_index"], "answer_index", len(options))
    if option_index(row["answer"], "answer", len(options)) != answer:
        raise UnusableQuestion(
            "a letter that contradicts the index", f"answer {row['answer']!r}, answer_index {row['answer_index']!r}"
        )
    identifier = row["question_id"]
    return Question(
        id=default_id if identifier in (None, "") else identifier,
        stem=repaired(row["question"], _REPAIRS),
        choices=tuple(repaired(option, _REPAIRS) for option in options),
        answer=answer,
        category=row["category"] or "",
    )


MMLU_PRO = Benchmark(
    name="mmlu_pro",
    columns=("question_id", "question", "options", "answer", "answer_index", "category"),
    to_question=to_question,
    options=(3, 10),
    published_rows=12032,
    exemplars_within_category=True,
    exemplars_as_published=True,
    score_templates="mmlu_pro",
    macro_average=True,
)
