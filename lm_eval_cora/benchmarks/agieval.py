"""AGIEval's seven English multiple choice subsets, as `hails/agieval-*` has them: one benchmark of 4 or 5 options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lm_eval_cora.benchmarks import Benchmark, BenchmarkError, OneByOne, Row
from lm_eval_cora.benchmarks.cells import parse_cell, read_options
from lm_eval_cora.benchmarks.repairs import Rule, repaired, without_own_letters
from lm_eval_cora.question import LETTERS, Question, UnusableQuestion, shorten

SUBSETS = ("aqua-rat", "logiqa-en", "lsat-ar", "lsat-lr", "lsat-rc", "sat-en", "sat-math")

_OPTIONS_FOLLOW = "Answer Choices:"
# The source joins passage and question without a space: "...makes a spy succeedQ: Which one". An "IQ: " is none.
_IN_OPTIONS: tuple[Rule, ...] = (
    (re.compile(r"\A\$\\quad\s*"), "$"),
    (re.compile(r" DIRECTIONS\Z"), ""),  # what stood below the last option in the test booklet
)
# Of 90 questions of sat-en the line ends became full stops: "larger than the.brains of other apes".
_STOP_IN_A_SENTENCE = re.compile("(?<=[a-z,;’])\\.(?=[a-z])")
_NOT_A_SLIP = 20
_LINE_ENDS: tuple[Rule, ...] = (
    (re.compile(r"(?<=[a-z])-\.(?=\w)"), "-"),
    (re.compile(r"(?<!\.)\.\.(?=[A-Z“\"])"), ".\n"),
    (_STOP_IN_A_SENTENCE, " "),
)
_QUESTION_FOLLOWS = re.compile(r"(?<=[^\sA-Z])Q: ")


def to_question(row: Row, default_id: str) -> Question:
    r"""Read a row: its query holds a passage, the question and the options once more; gold is a list of one index.

    Example:
        >>> query = "Ice floats.Q: What does ice do? Answer Choices: (A)A fall (B)Floats\nA: Among A through B, ..."
        >>> row = {"query": query, "choices": ["(A)A fall", "(B)Floats"], "gold": [1], "subset": "lsat-rc"}
        >>> question = to_question(row, "lsat-rc-test-0")
        >>> question.stem, question.choices, question.category
        ('Ice floats.\nWhat does ice do?', ('A fall', 'Floats'), 'lsat-rc')
    """
    printed = read_options(row["choices"]).texts
    gold = parse_cell(row["gold"])
    if isinstance(gold, Sequence) and not isinstance(gold, str):
        if len(gold) != 1:
            raise UnusableQuestion("no single right answer", f"gold {list(gold)!r}")
        gold = gold[0]
    return Question(
        id=default_id,
        stem=_stem(row["query"], printed),
        choices=_choices(printed),
        answer=_option_index(gold, len(printed)),
        category=row.get("subset") or "",
    )


def _option_index(gold: Any, count: int) -> int:
    """An index from 0, which in a csv file is text, or a letter."""
    names = [*range(count), *map(str, range(count)), *LETTERS[:count]]
    if isinstance(gold, bool) or gold not in names:
        raise UnusableQuestion(
            "an answer outside the options",
            f"gold {shorten(repr(gold))} is not an index from 0 to {count - 1} and not a letter of the {count} options",
        )
    return names.index(gold) % count


def subset_of(source: str, row: Row) -> str:
    """Find the subset of a row: in its own column `subset`, or in the name of the dataset or the path of the file.

    Raises:
        BenchmarkError: If neither names one: ids, categories and exemplars depend on it.

    Example:
        >>> subset_of("hails/agieval-sat-en", {}), subset_of("copies/lsat-ar/test.parquet", {})
        ('sat-en', 'lsat-ar')
        >>> subset_of("mine.jsonl", {"subset": "aqua-rat"})
        'aqua-rat'
    """
    named = [subset for subset in SUBSETS if subset in source]
    subset = row.get("subset") or max(named, key=source.rfind, default="")
    if subset not in SUBSETS:
        raise BenchmarkError(
            f"agieval: {source}: which subset? Expected a column 'subset' or a path that holds one of "
            f"{', '.join(SUBSETS)}; got {subset!r}"
        )
    return str(subset)


def _stem(query: object, printed: Sequence[object]) -> str:
    """The query up to its options. The passage stays, on a line of its own before the question."""
    if not isinstance(query, str):
        raise UnusableQuestion("a question that is not text", f"query is {query!r}")
    in_full = f"{_OPTIONS_FOLLOW} {' '.join(map(str, printed))}"
    stem, found, _ = query.rpartition(in_full if in_full in query else _OPTIONS_FOLLOW)
    if not found:
        raise UnusableQuestion("a query without its options", f"no {_OPTIONS_FOLLOW!r} in {query[-80:]!r}")
    passage_and_question = _QUESTION_FOLLOWS.split(stem)
    if stem.startswith("Q: "):  # no passage
        stem = stem.removeprefix("Q: ")
    elif len(passage_and_question) == 2:  # with more of them it cannot be told where the question begins
        stem = "\n".join(passage_and_question)
    if len(_STOP_IN_A_SENTENCE.findall(stem)) >= _NOT_A_SLIP:
        stem = str(repaired(stem, _LINE_ENDS))
    return stem.rstrip()


def _choices(printed: Sequence[Any]) -> tuple[Any, ...]:
    options = [_without_letter(option, chr(ord("A") + index)) for index, option in enumerate(printed)]
    return without_own_letters([repaired(option, _IN_OPTIONS) for option in options])


def _without_letter(option: Any, letter: str) -> Any:
    """An option without its "(A)". The article stays: "(A)A fall" is "A fall", and "A fall" is untouched."""
    prefix = f"({letter})"
    return option[len(prefix) :].lstrip() if isinstance(option, str) and option.startswith(prefix) else option


_COLUMNS = ("query", "choices", "gold")

AGIEVAL = Benchmark(
    name="agieval",
    reader=lambda _: OneByOne(_COLUMNS, to_question),
    columns=(*_COLUMNS, "subset"),
    options=(4, 5),
    published_rows=2340,
    part_of=subset_of,
    exemplars_within_category=True,
    score_templates="agi_eval",
)
