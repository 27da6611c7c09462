"""Questions of SCORE's three probes: random ones for property tests, larger tables, and given answers."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, nan
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

from lm_eval_cora.answers.format import as_bytes
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.responses import Bools, ResponseTable
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.order import Orders, order
from lm_eval_cora.variants.prompts import SINGLE_LETTER, prompts, sampling
from lm_eval_cora.variants.template import Template, Templates
from lm_eval_cora.variants.variant import Variant
from tests.support.tables import answer_to

Probe = Literal["prompts", "order", "sampling"]
TEMPLATES = (*(f"template {number}" for number in range(1, 10)), SINGLE_LETTER)
ALL = tuple(Template(name, "{question}{options}") for name in TEMPLATES)
FIXED = ALL[3]
CATEGORIES = ("", "law", "physics")
STYLES = ("knows", "one letter", "one text", "guesses", "says nothing")


@cache
def _variants(probe: Probe, options: int, answer: int, equal: bool, orders: Orders = "swap") -> Sequence[Variant]:
    """The variants of a question, two of whose distractors may be equal. Without options, the question is open."""
    texts = [f"choice {number}" for number in range(options)]
    if equal and options > 2:
        texts[answer - 1] = texts[answer - 2]
    question = Question("q", "Which one?", tuple(texts), answer) if options else OpenQuestion("q", "How many?", "5")
    if probe == "order":
        assert isinstance(question, Question)
        return order(question, orders=orders, template=FIXED)
    return prompts(question, Templates(ALL, FIXED)) if probe == "prompts" else sampling(question, FIXED)


@dataclass(frozen=True)
class Chooser:
    """A made-up model for one question. With probability `slips` its answer is random."""

    style: str
    favourite: int
    """The letter that it always picks, or the option that it always picks."""
    slips: float

    def record(self, rng: random.Random, name: str, category: str, variant: Variant, variants: int) -> Record:
        style = rng.choice(STYLES) if rng.random() < self.slips else self.style
        place: int | None = rng.randrange(len(variant.printed))
        if style == "knows":
            place = variant.printed.index(variant.answer)
        elif style == "one letter":
            place = self.favourite % len(variant.printed)
        elif style == "one text" and self.favourite in variant.printed:
            place = variant.printed.index(self.favourite)
        elif style == "says nothing":
            place = None
        picked = None if place is None else variant.printed[place]
        said = {"tied": rng.random() < 0.1, "followed": (variant.ordinal + len(name)) % 4 > 0}
        likelihoods = _likelihoods(f"{name} {variant.ordinal}", variant, place)
        return answer_to(variant, name, variants, picked, category=category, likelihoods=likelihoods, **said)


def _likelihoods(key: str, variant: Variant, place: int | None) -> bytes:
    """Log-likelihoods of the letters of an order, with ties and impossible letters; nan if no letter is picked."""
    if not variant.kind.startswith("answer_at_"):
        return b""
    rng = random.Random(key)
    scores = [
        rng.choice((-inf, -3.0, -1.5, -1.5, -0.7)) + 0.5 * (letter == 0) for letter in range(len(variant.printed))
    ]
    scores[place or 0] = nan if place is None else rng.choice((-0.5, -0.25))
    return as_bytes(scores)


@st.composite
def score_questions(draw: st.DrawFn, probe: Probe, min_size: int = 1) -> list[list[Record]]:
    """Complete questions of a probe with 3 to 10 options each, or fewer for all orders."""
    orders: Orders = draw(st.sampled_from(("swap", "swap", "cyclic", "all"))) if probe == "order" else "swap"
    most = 4 if orders == "all" else 10
    result = []
    for number in range(draw(st.integers(min_size, 4))):
        options = draw(st.integers(3, most))
        variants = _variants(probe, options, draw(st.integers(0, options - 1)), draw(st.booleans()), orders)
        chooser = Chooser(
            draw(st.sampled_from(STYLES)), draw(st.integers(0, options - 1)), draw(st.sampled_from((0.0, 0.4)))
        )
        rng, category = random.Random(draw(st.integers(0, 999))), draw(st.sampled_from(CATEGORIES))
        result.append([chooser.record(rng, f"q{number}", category, variant, len(variants)) for variant in variants])
    return result


def random_score_questions(
    count: int, probe: Probe, options: Sequence[int] = (3, 4, 5, 10), seed: int = 0, orders: Orders = "swap"
) -> list[list[Record]]:
    """Larger tables, sorted by category. Questions with more options are harder."""
    rng = random.Random(seed)
    result = []
    for number in range(count):
        size = rng.choice(options)
        variants = _variants(probe, size, rng.randrange(size), number % 10 == 0, orders)
        knows = 9 - size / 2 - 2 * (number % 3)
        chooser = Chooser(
            style=rng.choices(STYLES, (knows, 1, 2, 1, 0.5))[0],
            favourite=rng.choice((0, 0, 0, 1, 2)),
            slips=rng.choice((0.1, 0.5)),
        )
        category = CATEGORIES[number % 3]
        result.append([chooser.record(rng, f"q{number:06d}", category, variant, len(variants)) for variant in variants])
    return result


TEXTS = ("5", "x=5", "y=5", "7")


@dataclass(frozen=True)
class Verdicts:
    """Equivalence of pairs of `TEXTS`: symmetric but not transitive; None if a comparison ran out."""

    of: Mapping[frozenset[str], bool | None]

    def __call__(self, one: str, other: str) -> bool | None:
        return True if one == other else self.of[frozenset((one, other))]


PAIRS = [frozenset((one, other)) for number, one in enumerate(TEXTS) for other in TEXTS[number + 1 :]]

verdicts = st.lists(st.sampled_from((True, False, None)), min_size=len(PAIRS), max_size=len(PAIRS)).map(
    lambda found: Verdicts(dict(zip(PAIRS, found, strict=True)))
)


@st.composite
def written_questions(draw: st.DrawFn, probe: Probe, min_size: int = 1) -> list[list[Record]]:
    """Questions without options, answered with one of few texts or nothing."""
    variants = _variants(probe, 0, 0, False)
    result = []
    for number in range(draw(st.integers(min_size, 4))):
        said = draw(st.lists(st.sampled_from(TEXTS), min_size=1))
        rng, category = random.Random(draw(st.integers(0, 999))), draw(st.sampled_from(CATEGORIES))
        silent = draw(st.sampled_from((0.0, 0.2, 1.0)))
        result.append(_written(rng, f"q{number}", category, variants, said, silent))
    return result


def _written(
    rng: random.Random, name: str, category: str, variants: Sequence[Variant], said: Sequence[str], silent: float
) -> list[Record]:
    matches = {text: rng.choice((True, True, False, None)) for text in TEXTS}
    records = []
    for variant in variants:
        written = None if rng.random() < silent else rng.choice(said)
        found = {"written": written, "matches": None if written is None else matches[written]}
        followed = (variant.ordinal + len(name)) % 4 > 0
        records.append(answer_to(variant, name, len(variants), category=category, followed=followed, **found))
    return records


NOT_TRANSITIVE = Verdicts(
    {
        **dict.fromkeys(PAIRS, False),
        frozenset(("x=5", "5")): True,
        frozenset(("y=5", "5")): True,
        frozenset(("y=5", "7")): None,
    }
)


def random_written_questions(count: int, probe: Probe, seed: int = 0) -> list[list[Record]]:
    """Larger tables, sorted by category."""
    rng = random.Random(seed)
    result = []
    for number in range(count):
        said = [rng.choice(TEXTS)] * rng.choice((2, 10, 20)) + list(TEXTS)
        variants = _variants(probe, 0, 0, False)
        result.append(_written(rng, f"q{number:06d}", CATEGORIES[number % 3], variants, said, rng.choice((0.0, 0.05))))
    return result


def written_table(members: Sequence[Sequence[Record]], same: Verdicts) -> ResponseTable:
    return ResponseTable.from_records((record for records in members for record in records), same)


A, B, C, D = range(4)


def asked(
    name: str, says: Sequence[int | None], options: int = 4, *, answer: int = 0, orders: Orders = "swap", **more: Any
) -> list[Record]:
    """The variants of the order probe for a question, with the letter of each answer."""
    variants = order(Question(name, "Which?", tuple(map(str, range(options))), answer), orders=orders)
    return [
        answer_to(variant, name, len(variants), None if said is None else variant.printed[said], **more)
        for variant, said in zip(variants, says, strict=True)
    ]


def hits(rows: Sequence[str], kinds: Sequence[str] = "", categories: Sequence[str] = "") -> ResponseTable:
    """A question for each row: 1 is a right answer, 0 a wrong one, a dash an invalid one."""
    return ResponseTable.from_records(
        Record(
            *(f"q{number:03d}", len(row), place, kinds[place] if kinds else f"sample_{place + 1}", (0, 1), 0),
            picked=None if hit == "-" else 1 - int(hit),
            category=categories[number] if categories else "",
            position=None if hit == "-" else 1 - int(hit),
            ask="best_answer",
        )
        for number, row in enumerate(rows)
        for place, hit in enumerate(row)
    )


def of_kinds(right: Bools, present: Bools | None = None, categories: Sequence[str] = ()) -> ResponseTable:
    """(N, G) answers to the kinds of N questions, without those that are not present."""
    present = np.ones(right.shape, dtype=np.bool_) if present is None else present
    question, kind = np.nonzero(present)
    return ResponseTable.from_columns(
        [f"q{number:04d}" for number in range(len(right))],
        present.sum(axis=1),
        right[question, kind],
        kinds=[f"kind {number:02d}" for number in range(right.shape[1])],
        kind=kind,
        **({"categories": categories} if categories else {}),
    )


def written(*answers: Sequence[str | None], matches: bool | None = True, ran_out: Sequence[str] = ()) -> ResponseTable:
    """A question for each list; x=5 and y=5 are both equivalent to 5, and comparisons with `ran_out` run out."""

    def same(one: str, other: str) -> bool | None:
        if one in ran_out or other in ran_out:
            return None
        return one == other or ("5" in (one, other) and {one, other} <= {"5", "x=5", "y=5"})

    return ResponseTable.from_records(
        (
            Record(
                *(f"q{number}", len(texts), ordinal, f"sample_{ordinal + 1}", (), 0),
                picked=None,
                ask="boxed",
                written=text,
                matches=None if text is None else matches,
            )
            for number, texts in enumerate(answers)
            for ordinal, text in enumerate(texts)
        ),
        same,
    )


def prompted(rows: Sequence[str], categories: Sequence[str] = "") -> ResponseTable:
    """Two templates and the one that the paper drops."""
    return hits(rows, kinds=["brief", "long", "single_letter_only"], categories=categories)
