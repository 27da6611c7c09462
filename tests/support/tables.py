"""Tables of answers: the metrics that the task files name, made-up answers to each probe, and answers spelled out."""

import random
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from math import exp, inf, log, log1p, nan, sqrt
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from lm_eval.tasks._yaml_loader import load_yaml

from lm_eval_cora.answers.answer_format import as_bytes
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.metrics.entries import compute, features_of
from lm_eval_cora.metrics.facts import REPEATS, facts_of_entry
from lm_eval_cora.metrics.responses import BY_RECORD, ResponseTable
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.order import order
from lm_eval_cora.variants.probes import PROBES
from lm_eval_cora.variants.variant import Setting

_FRAGMENTS = Path(__file__).parents[2] / "tasks" / "_probes"

Members = list[list[Record]]
"""The records of each question."""


# ---- metrics
def _entries(probe):
    return list(load_yaml(_FRAGMENTS / f"{probe}.yaml")["metric_list"])


def _metrics(probe):
    # See tests/metrics/test_noise.py for those of repeats, and test_confidence.py for those of confidences.
    entries = (entry for entry in _entries(probe) if probe == "sampling" or REPEATS not in features_of(entry))
    own = (entry for entry in entries if "confidence" not in facts_of_entry(entry).needs)
    return {entry["metric"]: partial(compute, entry) for entry in own}


OF_PROBE = {probe: _metrics(probe) for probe in PROBES}
"""Each metric by its name in the YAML files, so that all tests include a new one. Some return a mapping."""

METRICS, STUDY = OF_PROBE["divergent"], OF_PROBE["revas"]
SAMPLED = [entry["metric"] for entry in _entries("plus") if facts_of_entry(entry).sampled != "no"]
"""Metrics of a table with one variant per question."""


def estimates(metrics, table):
    """Each metric's result; those of a mapping under its name and theirs, such as "sc_buckets 4/4 share".

    A count is an Estimate without an error.
    """
    return {key: found for name, metric in metrics.items() for key, found in _flat(name, metric(table))}


def _flat(name, result):
    if isinstance(result, Mapping):
        for key, inner in result.items():
            yield from _flat(f"{name} {key}", inner)
    else:
        yield name, result if isinstance(result, Estimate) else Estimate(float(result), nan)


@contextmanager
def without_errors():
    """Metrics without their standard errors and intervals, which take longer than the values."""
    with (  # functions, because a Mock takes longer than most metrics
        mock.patch("lm_eval_cora.metrics.ranges.bootstrap", lambda *_: np.zeros((2, 2))),  # noqa: PT008
        mock.patch("lm_eval_cora.metrics.ranges._together", lambda values, *_: [(nan, nan)] * len(values)),
        mock.patch("lm_eval_cora.metrics.positions.normal_draws", lambda covariance: np.zeros((2, len(covariance)))),
        mock.patch("lm_eval_cora.metrics.estimate.standard_error", lambda *_: nan),  # noqa: PT008
    ):
        yield


def without_variation(questions):
    """The standard error of a share between 0 and 1 if no question differs: half of Wilson's interval over 1.96."""
    return 1.959964 / (questions + 1.959964**2) / 2


def of_some(first_order, questions, inside):
    """The error of a mean over n of N questions, from sqrt(N / (N - 1) sum of squares) / n."""
    return first_order * sqrt((1 - 1 / questions) / (1 - 1 / inside))


def assert_is(estimate, value, stderr):
    assert (estimate.value, estimate.stderr) == pytest.approx((value, stderr), nan_ok=True)


# ---- made-up answers
STYLES = ("knows", "sticks", "one letter", "guesses", "says nothing")
CATEGORIES = ("", "law", "physics")
TEXTS = ("5", "x=5", "y=5", "7")
"""Answers to questions without options."""

_LIKELIHOODS = (-inf, -801.0, -800.0, -30.0, -3.0, -1.5, -0.7, -0.1, -0.0)


@dataclass(frozen=True)
class Respondent:
    """How a made-up model answers one question: in its style, or with a chance of `slips` in any style.

    One that knows is right; one that sticks picks its favourite option wherever it is printed.
    """

    style: str
    favourite: int
    """The option that it always picks, or the position of its letter, or of its text."""
    slips_in_original: float
    slips: float
    scored: bool
    """Whether the likelihoods of yes and no were scored, instead of reading a response."""

    def record(self, rng, name, category, variant, variants):
        slips = self.slips_in_original if variant.kind in ("original", "shuffled") else self.slips
        style = rng.choice(STYLES) if rng.random() < slips else self.style
        said = {"category": category, "tied": rng.random() < 0.1, "followed": rng.random() < 0.7}
        if not variant.printed:
            said |= self._written(rng, style, name)
        elif FORMATS[variant.ask].picks_one:
            said["picked"] = self._picked(rng, style, variant)
            ordered = variant.kind.startswith("answer_at_")
            drawing = rng if ordered else random.Random(f"{name} {variant.ordinal}")
            said["likelihoods"] = _of_letters(drawing, variant, said["picked"])
        else:
            said |= self._selected(rng, style, variant)
        return answer_to(variant, name, variants, **said)

    def _liked(self, style, variant):
        letter = variant.printed[self.favourite % len(variant.printed)]
        liked = {"knows": variant.answer, "sticks": self.favourite, "one letter": letter}.get(style)
        return [option for option in variant.printed if option == liked]

    def _picked(self, rng, style, variant):
        return None if style == "says nothing" else rng.choice(self._liked(style, variant) or variant.printed)

    def _selected(self, rng, style, variant):
        if style == "says nothing":
            return {"selected": None}
        liked, also = self._liked(style, variant), {"guesses": 0.5, "sticks": 0.3}.get(style, 0.0)
        selected = tuple(i for i in variant.printed if i in liked or rng.random() < also)
        if not (self.scored and variant.ask == "yes_no"):
            return {"selected": selected}
        low, high = sorted(rng.choices(_LIKELIHOODS, k=2))
        if exp(low) + exp(high) > 1:
            low = log1p(-exp(high)) if high < 0 else -inf  # what "yes" leaves for "no"
        yes, no = (high, low) if selected else (low, high)
        return {"selected": variant.printed if yes >= no else (), "likelihood_yes": yes, "likelihood_no": no}

    def _written(self, rng, style, name):
        if style == "says nothing":
            return {}
        text = rng.choice(TEXTS) if style == "guesses" else TEXTS[self.favourite]
        return {"written": text, "matches": random.Random(name + text).choice((True, True, False, None))}


def _of_letters(rng, variant, picked):
    """Log-likelihoods of the letters, with ties and impossible letters; nan if no letter is picked."""
    scores = [rng.choice((-inf, -3.0, -1.5, -1.5, -0.7)) for _ in variant.printed]
    scores[0] += 0.5
    place = 0 if picked is None else variant.printed.index(picked)
    scores[place] = nan if picked is None else rng.choice((-0.5, -0.25))
    return as_bytes(scores)


def answer_to(variant, name, variants, picked=None, **said):
    """The record of an answer to one of the variants of a question."""
    return Record(
        *(name, variants, variant.ordinal, variant.kind, variant.printed, variant.answer),
        picked=picked,
        position=None if picked is None else variant.printed.index(picked),
        ask=variant.ask,
        original=variant.original,
        longest=variant.longest,
        **said,
    )


@cache
def variants_of(probe, options, answer, twist="", orders="swap", form="generate"):
    """The variants of a question. Two distractors may be equal, and a distractor or the right option may be NOTA."""
    texts = [f"choice {number}" for number in range(options)]
    if twist == "equal" and options > 2:
        texts[answer - 1] = texts[answer - 2]
    elif twist and options:
        texts[answer - (twist == "nota")] = "None of the above"
    question = OpenQuestion("q", "How many?", "5")
    if options:
        question = Question("q", "Which one?", tuple(texts), answer)
    return PROBES[probe].expand(question, Setting(Options(orders=orders), form))


def questions(
    count,
    probe="divergent",
    options=(2, 3, 4, 5),
    seed=0,
    *,
    orders="swap",
    form="generate",
    whole=True,
):
    """Complete questions, of which some have equal options or NOTA. More options make them harder, 0 open.

    Unless they are whole, each has some of its variants only.
    """
    rng, members = random.Random(seed), []
    for number in range(count):
        size = rng.choice(options)
        twist = rng.choice(("", "", "", "equal", "nota", "right nota"))
        variants = variants_of(probe, size, rng.randrange(size or 1), twist, orders, form)
        if not whole:
            others = sorted(rng.sample(range(1, len(variants)), rng.randrange(len(variants))))
            variants = [replace(variants[place], ordinal=n) for n, place in enumerate((0, *others))]
        respondent = Respondent(
            style=rng.choices(STYLES, (9 - size / 2 - 2 * (number % 3), 3, 1, 2, 0.5))[0],
            favourite=rng.randrange(size or len(TEXTS)),
            slips_in_original=rng.choice((0.0, 0.0, 0.2)),
            slips=rng.choice((0.1, 0.5)),
            scored=form == "loglikelihood",
        )
        about = f"q{number:06d}", CATEGORIES[number % 3]
        members.append([respondent.record(rng, *about, variant, len(variants)) for variant in variants])
    return members


def few_questions(probe, seed, least=1, **more):
    """One to four questions, for property tests."""
    rng = random.Random(seed)
    orders = rng.choice(("swap", "swap", "cyclic", "all")) if probe == "order" else "swap"
    sizes = {"order": (3, 4), "plus": (2, 3, 4, 5, 6, 8, 10), "revas": (2, 3, 4, 5, 6, 8, 10)}.get(probe, (2, 3, 4, 5))
    return questions(rng.randint(least, 4), probe, sizes, seed, orders=orders, whole=probe != "divergent", **more)


def equivalence(seed):
    """Verdicts on pairs of `TEXTS`: symmetric but not transitive; None if a comparison ran out."""
    rng = random.Random(seed)
    verdicts = {frozenset(pair): rng.choice((True, False, None)) for pair in combinations(TEXTS, 2)}
    return lambda one, other: True if one == other else verdicts[frozenset((one, other))]


def table_of(members, same=None):
    records = (record for records in members for record in records)
    return ResponseTable.from_records(records, *filter(None, (same,)))


QUESTIONS = 120
_MADE = {
    "divergent": lambda: ("divergent", questions(QUESTIONS, "divergent", (2,), 1)),
    "plus": lambda: ("plus", questions(QUESTIONS, "plus", (2, 4), 2)),
    "study": lambda: ("revas", questions(QUESTIONS, "revas", (3, 4, 5), 3)),
    "scored": lambda: ("revas", questions(QUESTIONS, "revas", (3, 4, 5), 4, form="loglikelihood")),
    "prompts": lambda: ("prompts", questions(QUESTIONS, "prompts", (4, 5), 5)),
    "order": lambda: ("order", questions(QUESTIONS, "order", (4, 4, 5), 6)),
    "sampling": lambda: ("sampling", questions(QUESTIONS, "sampling", (4,), 7)),
    "written": lambda: ("prompts", questions(QUESTIONS, "prompts", (0,), 8)),
    "choices_only": lambda: ("choices_only", questions(QUESTIONS, "choices_only", (3, 4, 5), 9)),
    "abstain": lambda: ("abstain", questions(QUESTIONS, "abstain", (2, 3), 10)),
}
MADE = tuple(_MADE)
"""Names of large tables, one for each kind of answers."""


@cache
def made(name):
    """Make a table when a test needs it, with the metrics of its probe except those by category."""
    probe, members = _MADE[name]()
    chosen = {name: metric for name, metric in OF_PROBE[probe].items() if "by_category" not in name}
    return chosen, table_of(members, equivalence(0))


@cache
def found_in(name):
    return estimates(*made(name))


# ---- answers spelled out
A, B, C, D = range(4)


def asked(
    name,
    says,
    options=4,
    *,
    answer=0,
    orders="swap",
    references=(),
    **more,
):
    """The variants of the order probe for a question, with the letter of each answer."""
    choices = tuple(map(str, range(options)))
    variants = order(Question(name, "Which?", choices, answer, references=references), orders=orders)
    return [
        answer_to(variant, name, len(variants), None if said is None else variant.printed[said], **more)
        for variant, said in zip(variants, says, strict=True)
    ]


def hits(rows, kinds="", categories=""):
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


def of_kinds(right, present=None, categories=()):
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


def written(*answers, matches=True, ran_out=()):
    """A question for each list; x=5 and y=5 are both equivalent to 5, and comparisons with `ran_out` run out."""

    def same(one, other):
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


# ---- answers to the variants of the REVAS study, spelled out in parts

FOUR = (0, 1, 2, 3)
NOTA = 26


def ordered(kind, *picks, printed=FOUR, answer=0):
    """Return a variant per pick. The first has the order of the source; the real orders do not matter here."""
    later = "shuffled" if kind == "original" else f"{kind}_shuffled"
    shared = {"printed": printed, "answer": answer}
    return [{"kind": later if number else kind, "picked": pick, **shared} for number, pick in enumerate(picks)]


def original(*picks, printed=FOUR):
    return ordered("original", *picks, printed=printed)


def nota(*picks):
    return ordered("nota_answer", *picks, printed=(1, 2, 3, NOTA), answer=NOTA)


def true_or_false(*says):
    """Return the answers yes or no to option 0, the right one, and then to the others."""
    return [
        {
            "kind": f"true_or_false_{'wrong' if option else 'right'}",
            "printed": (option,),
            "picked": None,
            "ask": "yes_no",
            "selected": None if said is None else (option,) if said else (),
        }
        for option, said in enumerate(says)
    ]


def scored(*chances):
    """Return the same with the probabilities of yes and no, None if they are missing."""
    parts = true_or_false(*(chance and chance[0] >= chance[1] for chance in chances))
    for part, chance in zip(parts, chances, strict=True):
        if chance:
            part["likelihood_yes"], part["likelihood_no"] = (log(p) if p else -inf for p in chance)
    return parts


def select_all(*selected):
    return [{"kind": "select_all", "printed": FOUR, "picked": None, "ask": "select_all", "selected": selected}]


def replaced(*picks):
    """Return three variants, in which distractor 1, 2 or 3 is replaced."""
    printed = [tuple(27 + i if i == gone else i for i in FOUR) for gone in (1, 2, 3)]
    return [{"kind": "replaced", "picked": pick, "printed": p} for pick, p in zip(picks, printed, strict=True)]


def of_parts(*asked):
    """Return a table with a question for each argument."""
    return ResponseTable.from_records(
        Record(f"q{number}", len(parts), ordinal, **{"answer": 0, "original": part["kind"] == "original", **part})
        for number, parts in enumerate(asked)
        for ordinal, part in enumerate(parts)
    )


# ---- resampling
def resampled(table, drawn):
    """A table of these questions. Columns are copied, because making 9,000 Records 400 times is slow."""
    starts, sizes = table.starts, table.sizes[drawn]
    rows = _stretches(starts[drawn], sizes)
    moved = np.cumsum(sizes) - sizes - starts[drawn]

    def copied(pairs):
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
def _new_ids(count):
    return tuple(f"{copy:06d}" for copy in range(count))


def _stretches(starts, sizes):
    """Concatenated indices of ranges that start at these places."""
    return np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
