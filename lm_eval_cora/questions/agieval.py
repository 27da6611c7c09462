"""The seven English multiple choice subsets of AGIEval, read from `hails/agieval-*`, with 4 or 5 options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import Benchmark, OneByOne, Row
from lm_eval_cora.questions.cells import parse_cell, read_options
from lm_eval_cora.questions.question import LETTERS, Question, UnusableQuestion, shorten
from lm_eval_cora.questions.repairs import Rule, repaired, without_own_letters

SUBSETS = ("aqua-rat", "logiqa-en", "lsat-ar", "lsat-lr", "lsat-rc", "sat-en", "sat-math")

_OPTIONS_FOLLOW = "Answer Choices:"
_IN_OPTIONS: tuple[Rule, ...] = (
    (re.compile(r"\A\$\\quad\s*"), "$"),
    (re.compile(r" DIRECTIONS\Z"), ""),  # the text below the last option in the test booklet
)
# In 90 questions of sat-en, full stops replace the line ends: "larger than the.brains of other apes".
_STOP_IN_A_SENTENCE = re.compile("(?<=[a-z,;’])\\.(?=[a-z])")
_FEWEST_STOPS = 20
"""A stem with fewer such stops is not repaired: they may be single typing errors or web addresses."""
_LINE_ENDS: tuple[Rule, ...] = (
    (re.compile(r"(?<=[a-z])-\.(?=\w)"), "-"),
    (re.compile(r"(?<!\.)\.\.(?=[A-Z“\"])"), ".\n"),
    (_STOP_IN_A_SENTENCE, " "),
)
# The source joins passage and question without a space: "...makes a spy succeedQ: Which one". "IQ: " does not match.
_QUESTION_FOLLOWS = re.compile(r"(?<=[^\sA-Z])Q: ")


def to_question(row: Row, default_id: str) -> Question:
    r"""Convert a row to a question.

    `query` contains the passage, the question and, again, the options. `gold` is a list with one index.
    """
    printed = read_options(row["choices"]).texts
    gold = parse_cell(row["gold"])
    if isinstance(gold, Sequence) and not isinstance(gold, str):
        if len(gold) != 1:
            raise UnusableQuestion("no single right answer", f"expected a gold list of length 1, got {list(gold)!r}")
        gold = gold[0]
    return Question(
        id=default_id,
        stem=_stem(row["query"], printed),
        choices=_choices(printed),
        answer=_option_index(gold, len(printed)),
        category=row.get("subset") or "",
    )


def _option_index(gold: Any, count: int) -> int:
    """Convert the gold answer to an index. It is an index from 0 (text in a csv file) or a letter."""
    names = [*range(count), *map(str, range(count)), *LETTERS[:count]]
    if isinstance(gold, bool) or gold not in names:
        raise UnusableQuestion(
            "an answer outside the options",
            f"gold {shorten(repr(gold))}, expected an index from 0 to {count - 1} or the letter of one of the options",
        )
    return names.index(gold) % count


def subset_of(source: str, row: Row) -> str:
    """Return the subset of a row, from its column `subset` or else from the name of the dataset or file.

    Ids, categories and exemplars depend on the subset.
    """
    named = [subset for subset in SUBSETS if subset in source]
    subset = row.get("subset") or max(named, key=source.rfind, default="")
    if subset not in SUBSETS:
        raise UserError(
            f"agieval: {source}: expected the name of a subset in the column 'subset' or in the path, got {subset!r}. "
            f"The subsets are {', '.join(SUBSETS)}"
        )
    return str(subset)


def _stem(query: object, printed: Sequence[object]) -> str:
    """Remove the options from a query. A passage is separated from the question by a line break."""
    if not isinstance(query, str):
        raise UnusableQuestion("a question that is not text", f"query is {shorten(repr(query))}")
    in_full = f"{_OPTIONS_FOLLOW} {' '.join(map(str, printed))}"
    stem, found, _ = query.rpartition(in_full if in_full in query else _OPTIONS_FOLLOW)
    if not found:
        raise UnusableQuestion("a query without its options", f"no {_OPTIONS_FOLLOW!r} in {query[-80:]!r}")
    passage_and_question = _QUESTION_FOLLOWS.split(stem)
    if stem.startswith("Q: "):  # no passage
        stem = stem.removeprefix("Q: ")
    elif len(passage_and_question) == 2:  # with more matches, the start of the question is unknown
        stem = "\n".join(passage_and_question)
    if len(_STOP_IN_A_SENTENCE.findall(stem)) >= _FEWEST_STOPS:
        stem = str(repaired(stem, _LINE_ENDS))
    return stem.rstrip()


def _choices(printed: Sequence[Any]) -> tuple[Any, ...]:
    options = [_without_letter(option, chr(ord("A") + index)) for index, option in enumerate(printed)]
    return without_own_letters([repaired(option, _IN_OPTIONS) for option in options])


def _without_letter(option: Any, letter: str) -> Any:
    """Remove the "(A)" before an option. The article stays: both "(A)A fall" and "A fall" become "A fall"."""
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
