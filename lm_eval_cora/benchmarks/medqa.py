"""MedQA (USMLE) with five options, as `lavita/medical-qa-datasets` and the authors' own release have it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_cora.benchmarks import Benchmark, Row
from lm_eval_cora.benchmarks.cells import parse_cell
from lm_eval_cora.benchmarks.repairs import DOUBLED_QUOTES, Rule, repaired
from lm_eval_cora.question import Question, UnusableQuestion

_LOOKALIKES = str.maketrans("АОНаеіорсухѕк", "AOHaeiopcyxsκ")
_CYRILLIC: Rule = (re.compile("[АОНаеіорсухѕк]"), lambda found: found[0].translate(_LOOKALIKES))
"""Cyrillic letters for Latin and Greek ones: in one question only the right answer had the Greek letter."""

_IN_STEMS: tuple[Rule, ...] = (
    DOUBLED_QUOTES,
    _CYRILLIC,
    (re.compile(r"[ \t]*\$\$\$[ \t]*"), ""),  # the rows and columns of a table
    (re.compile(r"\s*%%%\s*"), " | "),
)
_IN_OPTIONS: tuple[Rule, ...] = (
    (re.compile(r'\s*\n\s*"\s*\Z'), ""),  # a line with nothing but a quotation mark
    DOUBLED_QUOTES,
    _CYRILLIC,
)
_LINE_END = re.compile(r"(?<=[a-z])rn\Z")
_NOT_A_WORD = 3
"""So many options of a question that end in "rn" do so because of a line break; "pattern" ends in it, too."""


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
        stem=_without_lone_mark(repaired(row["question"], _IN_STEMS)),
        choices=_without_line_ends([repaired(value, _IN_OPTIONS) for _, value in pairs]),
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


def _without_line_ends(options: Sequence[Any]) -> tuple[Any, ...]:
    r"""Options without the "rn" that is left of "\r\n".

    Example:
        >>> _without_line_ends(["Doxorubicinrn", "Bleomycinrn", "Vincristinern", "Imatinib"])
        ('Doxorubicin', 'Bleomycin', 'Vincristine', 'Imatinib')
    """
    ending = sum(isinstance(option, str) and bool(_LINE_END.search(option)) for option in options)
    return tuple(repaired(option, [(_LINE_END, "")] if ending >= _NOT_A_WORD else []) for option in options)


MEDQA = Benchmark(
    name="medqa",
    columns=("question", "options", "answer_idx"),
    to_question=to_question,
    options=(5, 5),
    published_rows=1273,
)
