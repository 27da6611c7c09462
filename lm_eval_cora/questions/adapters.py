"""Adapters for benchmarks whose rows need code: AGIEval's English subsets (`hails/agieval-*`), and MATH."""

import re
from collections.abc import Sequence

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import Benchmark, OneByOne
from lm_eval_cora.questions.cells import parse_cell, read_options
from lm_eval_cora.questions.latex import boxes
from lm_eval_cora.questions.question import LETTERS, OpenQuestion, Question, Row, UnusableQuestion, shorten, shown
from lm_eval_cora.questions.repairs import Rule, repaired, without_own_letters

SUBSETS = ("aqua-rat", "logiqa-en", "lsat-ar", "lsat-lr", "lsat-rc", "sat-en", "sat-math")
_OPTIONS_FOLLOW = "Answer Choices:"
_OWN_LETTERS = [re.compile(rf"\A\({letter}\)\s*") for letter in LETTERS]
_IN_OPTIONS: tuple[Rule, ...] = (
    (re.compile(r"\A\$\\quad\s*"), "$"),
    (re.compile(r" DIRECTIONS\Z"), ""),  # the text below the last option in the test booklet
)
# In 90 questions of sat-en, full stops replace the line ends: "larger than the.brains of other apes".
_STOP_IN_A_SENTENCE = re.compile("(?<=[a-z,;’])\\.(?=[a-z])")
_FEWEST_STOPS = 20  # fewer in a stem are not repaired: they may be single typing errors or web addresses
_LINE_ENDS: tuple[Rule, ...] = (
    (re.compile(r"(?<=[a-z])-\.(?=\w)"), "-"),
    (re.compile(r"(?<!\.)\.\.(?=[A-Z“\"])"), ".\n"),
    (_STOP_IN_A_SENTENCE, " "),
)
# The source joins passage and question without a space: "...makes a spy succeedQ: Which one". "IQ: " does not match.
_QUESTION_FOLLOWS = re.compile(r"(?<=[^\sA-Z])Q: ")


def agieval_question(row: Row, default_id: str) -> Question:
    """Convert a row. `query` has the passage, the question and, again, the options; `gold` is a list with one index."""
    printed, _ = read_options(row["choices"])
    gold = parse_cell(row["gold"])
    if isinstance(gold, list | tuple):
        if len(gold) != 1:
            raise UnusableQuestion("no single right answer", f"expected a gold list of length 1, got {list(gold)!r}")
        gold = gold[0]
    passage, stem = _stem(row["query"], printed)
    # The article stays: both "(A)A fall" and "A fall" become "A fall".
    pairs = zip(_OWN_LETTERS, printed, strict=False)
    plain = [own.sub("", option) if isinstance(option, str) else option for own, option in pairs]
    choices = without_own_letters([repaired(option, _IN_OPTIONS) for option in plain])
    count = len(printed)
    names = [*range(count), *map(str, range(count)), *LETTERS[:count]]  # in a csv file, an index is a text
    if isinstance(gold, bool) or gold not in names:
        raise UnusableQuestion(
            "an answer outside the options",
            f"gold {shown(gold)}, expected an index from 0 to {count - 1} or the letter of one of the options",
        )
    return Question(default_id, stem, choices, names.index(gold) % count, row.get("subset") or "", passage)


def subset_of(source: str, row: Row) -> str:
    """Return the subset of a row, from its column `subset` or else from the name of the dataset or file."""
    named = [subset for subset in SUBSETS if subset in source]
    subset = row.get("subset") or max(named, key=source.rfind, default="")
    if subset not in SUBSETS:
        raise UserError(
            f"agieval: {source}: expected the name of a subset in the column 'subset' or in the path, got "
            f"{subset!r}. The subsets are {', '.join(SUBSETS)}"
        )
    return str(subset)


def _stem(query: object, printed: Sequence[object]) -> tuple[str, str]:
    """The passage of a query, empty without one; and the query without its options, with a line break between them."""
    if not isinstance(query, str):
        raise UnusableQuestion("a question that is not text", f"query is {shown(query)}")
    in_full = f"{_OPTIONS_FOLLOW} {' '.join(map(str, printed))}"
    stem, found, _ = query.rpartition(in_full if in_full in query else _OPTIONS_FOLLOW)
    if not found:
        raise UnusableQuestion("a query without its options", f"no {_OPTIONS_FOLLOW!r} in {query[-80:]!r}")
    passage, passage_and_question = "", _QUESTION_FOLLOWS.split(stem)
    if stem.startswith("Q: "):  # no passage
        stem = stem.removeprefix("Q: ")
    elif len(passage_and_question) == 2:  # with more matches, the start of the question is unknown
        passage, stem = passage_and_question[0], "\n".join(passage_and_question)
    if len(_STOP_IN_A_SENTENCE.findall(stem)) >= _FEWEST_STOPS:
        stem = str(repaired(stem, _LINE_ENDS))
    return passage, stem.rstrip()


_AGIEVAL = ("query", "choices", "gold")
AGIEVAL = Benchmark(
    name="agieval",
    reader=lambda _: OneByOne(_AGIEVAL, agieval_question),
    columns=(*_AGIEVAL, "subset"),
    options=(4, 5),
    published_rows=2340,
    part_of=subset_of,
    exemplars_within_category=True,
    score_templates="agi_eval",
)

_ONE_OF_SEVERAL = {
    "Simplify $(5x+3) - 2(2x-4)$": "x+11",
    "Two positive numbers $p$ and $q$ have the property that their sum is equal to their product": "161",
    "Square $ABCD$ has side lengths of 13 units. Point $E$ lies in the interior": r"\frac{25}{13}",
    "An aquarium has a rectangular base that measures 100 cm by 40 cm": r"0.25\text{ cm}",
    "What number must be placed in the box in the equation below": "4",
    "I am going to buy exotic fruits": "-34 + 12x",
    r"Let $\boxed{N}$ mean the number of whole number divisors of $N$": "12",
    "On a particular map, $3$ inches on the map equates to $10$ miles": r"\frac{639}{40}",
    r"Find the coordinates of either of the vertices of the hyperbola \[16x^2": r"\left(-\tfrac52, -\tfrac52\right)",
    r"Find the coordinates of one of the foci of the hyperbola \[x^2 - 10x": "(0,0)",
    # The solution also boxes 3, as "also accepted".
    "The sum of a 15-term arithmetic series with first term 7": "-3",
    "The graph of $y = f(x)$ passes through the point $(-3,5)": "(0,0)",
}
"""Answers of the problems whose solution boxes more than the answer, by the beginning of the problem; elsewhere several
boxes are a list of answers. The harness' SCORE task corrects the same problems except for the arithmetic series."""


def math_question(row: Row, default_id: str) -> OpenQuestion:
    """Convert a row to a question. Its category is the level."""
    problem, solution = row["problem"], row["solution"]
    if not isinstance(solution, str) or not isinstance(problem, str):
        raise UnusableQuestion("a problem or solution that is not text", shown((problem, solution)))
    spellings: dict[str, str] = {}
    for box in boxes(solution):  # a solution may box the answer in two spellings: \frac32 and \frac{3}{2}
        spellings.setdefault(re.sub(r"[\s{}]", "", box), box)
    answers = list(spellings.values())
    if not any(answers):
        raise UnusableQuestion("a solution without a box", f"{shorten(solution)!r}")
    if len(answers) > 1:
        answers = [answer for start, answer in _ONE_OF_SEVERAL.items() if problem.startswith(start)] or answers
    return OpenQuestion(default_id, problem, ", ".join(answers), row["level"] or "")


def subject_of(name: str, row: Row) -> str:
    """Return the subject of a row, spelled as its configuration on the Hub."""
    return str(row.get("type")).lower().replace("&", "and").replace(" ", "_")


_MATH = ("problem", "level", "type", "solution")
MATH = Benchmark(
    name="math",
    reader=lambda _: OneByOne(_MATH, math_question),
    columns=_MATH,
    options=(0, 0),
    published_rows=5000,
    part_of=subject_of,
    score_templates="math",
)
