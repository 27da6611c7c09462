"""The metrics that the task files name, random questions for property tests, and larger random tables."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import permutations
from math import exp, inf, log1p, nan
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st
from lm_eval.tasks._yaml_loader import load_yaml

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.metrics.facts import compute
from lm_eval_cora.metrics.responses import BY_RECORD, ResponseTable
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.plus import plus
from lm_eval_cora.variants.revas import revas
from lm_eval_cora.variants.variant import Variant

_PROBES = Path(__file__).parents[2] / "tasks" / "_probes"
Metrics = dict[str, Callable[[ResponseTable], Any]]


def _entries(probe: str) -> list[dict[str, Any]]:
    return list(load_yaml(_PROBES / f"{probe}.yaml")["metric_list"])


def _metrics(probe: str) -> Metrics:
    entries = (entry for entry in _entries(probe) if entry.get("only") != "repeats")  # see tests/metrics/test_noise.py
    return {entry["metric"]: partial(compute, entry) for entry in entries}


METRICS = _metrics("divergent")
"""Each metric by its name in the YAML files, so that all tests include a new one."""

PLUS = _metrics("plus")
STUDY = _metrics("revas")
"""Metrics of the other probes. Some of the REVAS study return a mapping, see `estimates`."""

PROMPTS = _metrics("prompts")
ORDER = _metrics("order")
SAMPLING = _metrics("sampling")
"""Metrics of SCORE's probes, for all benchmarks. The questions for them are in `score_tables.py`."""

SAMPLED = [entry["metric"] for entry in _entries("plus") if "sampled" in entry]
"""Metrics of a table with one variant per question."""

KINDS = ("original", "shuffled", "decoupled")


def estimates(metrics: Metrics, table: ResponseTable) -> dict[str, Estimate]:
    """Each metric's result; those of a mapping under its name and theirs, such as "sc_buckets 4/4 share".

    A count is an Estimate without an error.
    """
    return {key: found for name, metric in metrics.items() for key, found in _flat(name, metric(table))}


def _flat(name: str, result: Any) -> Iterator[tuple[str, Estimate]]:
    if isinstance(result, Mapping):
        for key, inner in result.items():
            yield from _flat(f"{name} {key}", inner)
    else:
        yield name, result if isinstance(result, Estimate) else Estimate(float(result), nan)


_IDENTITIES = (0, 1, 2, 3, 26)


def _made_up_variants(answer: int) -> st.SearchStrategy[list[tuple[tuple[int, ...], int, str, bool]]]:
    """The printed options, the position of the picked one (or -1), the kind, and whether there was a tie."""
    orders = [
        st.sampled_from([order for order in permutations(_IDENTITIES, count) if answer in order])
        for count in range(2, 6)
    ]
    one = st.tuples(st.one_of(orders), st.integers(-1, 4), st.sampled_from(KINDS[1:]), st.booleans())
    return st.lists(one, min_size=1, max_size=6)


# Made once, because hypothesis takes longer to check a new strategy than to draw from it.
_MADE_UP = {answer: _made_up_variants(answer) for answer in range(4)}


@st.composite
def questions(draw: st.DrawFn, min_size: int = 1) -> list[list[Record]]:
    """Complete questions with 1 to 6 variants each, printed options that differ, picks and invalid answers."""
    result = []
    for number in range(draw(st.integers(min_size, 6))):
        answer = draw(st.integers(0, 3))
        drawn = draw(_MADE_UP[answer])
        records = []
        for ordinal, (printed, place, kind, tied) in enumerate(drawn):
            picked = None if place < 0 else printed[place % len(printed)]
            kind = kind if ordinal else KINDS[0]
            records.append(_record((f"q{number}", len(drawn), ordinal, kind), printed, answer, picked, tied))
        result.append(records)
    return result


def _record(asked: tuple[Any, ...], printed: Sequence[int], answer: int, picked: int | None, tied: bool) -> Record:
    """The record of a question id, number of variants, ordinal and kind."""
    return Record(
        *(*asked, tuple(printed), answer),
        picked=picked,
        tied=tied,
        position=None if picked is None else printed.index(picked),
        original=not asked[2],
        followed=(asked[2] + answer + len(printed)) % 3 > 0,
    )


def answer_to(variant: Variant, name: str, variants: int, picked: int | None = None, **said: Any) -> Record:
    """The record of an answer to one of the variants of a question."""
    return Record(
        *(name, variants, variant.ordinal, variant.kind, variant.printed, variant.answer),
        picked=picked,
        position=None if picked is None else variant.printed.index(picked),
        ask=variant.ask,
        original=variant.original,
        **said,
    )


def table_of(members: list[list[Record]]) -> ResponseTable:
    return ResponseTable.from_records(record for records in members for record in records)


@contextmanager
def without_errors() -> Iterator[None]:
    """Metrics without their standard errors and intervals, which take longer than the values."""
    with (  # functions, because a Mock takes longer than most metrics
        mock.patch("lm_eval_cora.metrics.ranges.bootstrap", lambda *_: np.zeros((2, 2))),  # noqa: PT008
        mock.patch("lm_eval_cora.metrics.ranges._together", lambda values, *_: [(nan, nan)] * len(values)),
        mock.patch("lm_eval_cora.metrics.positions.normal_draws", lambda covariance: np.zeros((2, len(covariance)))),
        mock.patch("lm_eval_cora.metrics.estimate.standard_error", lambda *_: nan),  # noqa: PT008
    ):
        yield


def resampled(table: ResponseTable, drawn: np.ndarray) -> ResponseTable:
    """A table of these questions. Columns are copied, because making 9,000 Records 400 times is slow."""
    starts = np.cumsum(table.sizes) - table.sizes
    sizes = table.sizes[drawn]
    rows = _stretches(starts[drawn], sizes)
    moved = np.cumsum(sizes) - sizes - starts[drawn]

    def copied(pairs: np.ndarray) -> np.ndarray:
        of = table.question[pairs[:, 0]]
        counts = np.bincount(of, minlength=len(table.sizes))
        chosen = np.argsort(of, kind="stable")[_stretches((np.cumsum(counts) - counts)[drawn], counts[drawn])]
        return pairs[chosen] + np.repeat(moved, counts[drawn])[:, None]

    return replace(
        table,
        question_ids=_new_ids(len(drawn)),
        categories=tuple(map(table.categories.__getitem__, drawn.tolist())),
        sizes=sizes,
        pairs=copied(table.pairs),
        ran_out=copied(table.ran_out),
        **{column: getattr(table, column)[rows] for column in ("kind", *BY_RECORD)},
    )


@cache
def _new_ids(count: int) -> tuple[str, ...]:
    return tuple(f"{copy:06d}" for copy in range(count))


def _stretches(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Concatenated indices of ranges that start at these places."""
    return np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())


def random_questions(count: int, variants: int = 26, seed: int = 0) -> list[list[Record]]:
    """Questions of different difficulty, with 5% invalid answers, on eight kinds of variants."""
    rng = random.Random(seed)
    result = []
    for number in range(count):
        easy = rng.betavariate(2, 1.5)
        records = []
        for ordinal in range(variants):
            printed = rng.sample((0, 1, 2, 3, 4), rng.choice((2, 3, 5)))
            answer = 0
            if answer not in printed:
                printed[0] = answer
            guess = rng.choice(printed)
            picked = None if rng.random() < 0.05 else answer if rng.random() < easy else guess
            kind = "original" if ordinal == 0 else f"kind {ordinal % 7}"
            tied = rng.random() < 0.1
            records.append(_record((f"q{number:06d}", variants, ordinal, kind), printed, answer, picked, tied))
        result.append(records)
    return result


SKILLS = ("knows", "sticks", "guesses", "says nothing")
_LIKELIHOODS = (-inf, -801.0, -800.0, -30.0, -3.0, -1.5, -0.7, -0.1, -0.0)


@dataclass(frozen=True)
class Respondent:
    """How a made-up model answers one question: by its skill, or with a chance of `slips` in any way at all.

    One that knows is right, one that sticks says the wrong option `favourite` wherever it is printed.
    """

    skill: str
    favourite: int
    slips_in_original: float
    slips: float
    scored: bool
    """Whether the likelihoods of yes and no were scored, instead of reading a response."""

    def record(self, rng: random.Random, name: str, variant: Variant, variants: int) -> Record:
        slips = self.slips_in_original if variant.kind in ("original", "shuffled") else self.slips
        skill = rng.choice(SKILLS) if rng.random() < slips else self.skill
        liked = {"knows": {variant.answer}, "sticks": {self.favourite}}.get(skill, set()).intersection(variant.printed)
        picked: int | None = None
        selected: tuple[int, ...] | None = None
        yes = no = None
        if FORMATS[variant.ask].picks_one:
            picked = min(liked) if liked else rng.choice(variant.printed)
        elif skill == "guesses" or (skill == "sticks" and variant.ask == "select_all"):
            selected = tuple(i for i in dict.fromkeys(variant.printed) if i in liked or rng.random() < 0.5)
        else:
            selected = tuple(liked)
        if skill == "says nothing":
            picked = selected = None
        elif self.scored and variant.ask == "yes_no":
            low, high = sorted(rng.choices(_LIKELIHOODS, k=2))
            if exp(low) + exp(high) > 1:
                low = log1p(-exp(high)) if high < 0 else -inf  # what "yes" leaves for "no"
            yes, no = (high, low) if selected else (low, high)
            selected = variant.printed if yes >= no else ()
        tied, followed = self.scored and rng.random() < 0.1, (variant.ordinal + variant.answer) % 4 > 0
        said = {"selected": selected, "yes": yes, "no": no, "tied": tied, "followed": followed}
        return answer_to(variant, name, variants, picked, **said)


TWISTS = ("none", "equal", "nota", "right nota")


@cache
def _variants(probe: str, options: int, answer: int, twist: str, scored: bool) -> Sequence[Variant]:
    """The variants of a question. Two distractors may be equal, and a distractor or the right option may be NOTA."""
    texts = [f"choice {number}" for number in range(options)]
    if twist == "equal" and options > 2:
        texts[answer - 1] = texts[answer - 2]
    elif twist in ("nota", "right nota"):
        texts[answer - (twist == "nota")] = "None of the above"
    question = Question("q", "Which one?", tuple(texts), answer)
    return plus(question) if probe == "plus" else revas(question, select_all=not scored)


def _wrong_options(original: Variant) -> list[int]:
    return [option for option in original.printed if option != original.answer]


def _answers(rng: random.Random, name: str, variants: Sequence[Variant], respondent: Respondent) -> list[Record]:
    return [respondent.record(rng, name, variant, len(variants)) for variant in variants]


@st.composite
def study_questions(draw: st.DrawFn, min_size: int = 1, probe: str = "revas") -> list[list[Record]]:
    """Complete questions of a probe, 2 to 6, 8 or 10 options each, answered by all kinds of respondents."""
    scored = draw(st.booleans())
    result = []
    for number in range(draw(st.integers(min_size, 4))):
        options = draw(st.sampled_from((2, 3, 4, 5, 6, 8, 10)))
        answer = draw(st.integers(0, options - 1))
        variants = _variants(probe, options, answer, draw(st.sampled_from(TWISTS)), scored)
        respondent = Respondent(
            skill=draw(st.sampled_from(SKILLS)),
            favourite=draw(st.sampled_from(_wrong_options(variants[0]))),
            slips_in_original=draw(st.sampled_from((0.0, 0.4))),
            slips=draw(st.sampled_from((0.0, 0.4))),
            scored=scored,
        )
        result.append(_answers(random.Random(draw(st.integers(0, 999))), f"q{number}", variants, respondent))
    return result


def random_study_questions(
    count: int, options: Sequence[int] = (2, 3, 4, 5, 6, 10), seed: int = 0, probe: str = "revas", scored: bool = False
) -> list[list[Record]]:
    """Larger tables, in which every fifth question has one of the special cases."""
    rng = random.Random(seed)
    result = []
    for number in range(count):
        size = rng.choice(options)
        twist = TWISTS[number % 4] if number % 5 == 0 else "none"
        variants = _variants(probe, size, rng.randrange(size), twist, scored)
        respondent = Respondent(
            skill=rng.choices(SKILLS, (4, 4, 2, 1))[0],
            favourite=rng.choice(_wrong_options(variants[0])),
            slips_in_original=rng.choice((0.0, 0.0, 0.2)),
            slips=rng.choice((0.2, 0.6)),
            scored=scored,
        )
        result.append(_answers(rng, f"q{number:06d}", variants, respondent))
    return result


def without_variation(questions: int) -> float:
    """The standard error of a share between 0 and 1 if no question differs: half of Wilson's interval over 1.96."""
    return 1.959964 / (questions + 1.959964**2) / 2
