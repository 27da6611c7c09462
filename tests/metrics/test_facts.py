"""Facts of metrics, metrics on arrays, and skipped variants: a metric is defined only if they cannot change it."""

import random
from dataclasses import replace
from itertools import product
from math import isnan, nan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.entries import compute, features_of
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.runs.task_files import every_metric, printed_name, probe_metrics
from lm_eval_cora.variants.probes import PROBES
from tests.support.tables import questions, table_of


def test_each_metric_has_a_meaning_of_one_sentence():
    for function in {entry["aggregation"] for probe in PROBES for entry in probe_metrics(probe)}:
        meaning = facts_of(function).meaning
        assert meaning[:1].isupper(), function
        assert meaning.endswith(".")
        assert "\n" not in meaning


def test_names_in_papers_are_different_and_those_of_the_papers():
    names = {entry["metric"]: printed_name(entry["metric"]) for entry in every_metric()}
    assert len(set(names.values())) == len(names)
    known = ("cora", "ci", "mcqa", "mcqa_plus", "mv", "bmca@1.0", "consistency_rate", "acc_range", "acc_h@original")
    assert [names[name] for name in known] == [
        *("CoRA", "CI", "MCQA", "MCQA+", "MV", "BMCA(1.0)", "CR", "Acc. range", "Acc-H(original)"),
    ]
    assert printed_name("facts") == "facts"
    assert printed_name("exact_match") == "exact_match"


# ---- nothing was varied
CONFIDENCE = ("rms_ece", "ece", "overconfidence", "auroc", "aurc", *map("acc_coverage@{}".format, (0.5, 0.8, 0.9)))
"""Metrics of the agreement of variants, or of repeats."""


@pytest.mark.parametrize("repeats", [None, ResponseTable.from_hits([[1, 1], [0, 1], [1, 0]])])
def test_one_variant_of_each_question_says_nothing_about_consistency(repeats):
    table = ResponseTable.from_hits([[1], [0], [1]], followed=np.ones(3), own=np.ones(3), repeats=repeats)
    found = {
        name: compute({**entry, "without": "none"}, table) for entry in every_metric() if (name := entry["metric"])
    }
    defined = {name for name, one in found.items() if isinstance(one, Estimate) and not isnan(one.value)}
    assert {name for name in defined if "macro" not in name and "own" not in name} == {
        *("acc", "mcqa", "mcqa_plus_sampled", "invalid", "followed", "ties", "acc_choices_only", "chance"),
        *("above_chance", "unrecognised"),
        *(("acc_repeats", "maj@k", "pass^k", "noise", *CONFIDENCE) if repeats else ()),
    }
    assert isnan(metrics.cora([[1], [0]]).value)
    assert metrics.cora([[1], [0, 1]]).value == 0.5  # one of them was varied


def test_a_share_that_is_1_by_definition_has_no_error():
    table = ResponseTable.from_hits([[1, 0], [0, 0], [1, 1]], clusters=(*"aab",))
    for metric in (metrics.bmca, metrics.equal_at):
        assert (*metric(table, level=0.0), *metric(table, level=0.0).interval) == (1, 0, 1, 1)
    assert metrics.bmca([[1, 1], [1, 1]], level=0.1).stderr > 0
    assert metrics.chance_bmca(ResponseTable.from_hits([[1] * 26] * 3, options=np.full(78, 5)), [0.0]) == [1.0]


METRICS = [
    *(metrics.acc, metrics.mcqa, metrics.mcqa_plus, metrics.mcqa_plus_diff),
    *(metrics.mv, metrics.ci, metrics.cora, metrics.core),
]


@pytest.mark.parametrize(
    "correct",
    [
        np.array([[True, False], [True, True]]),
        np.array([[1, 0], [1, 1]]),
        np.array([[1.0, 0.0], [1.0, 1.0]]),
        [[True, False], [True, True]],
        ((1, 0), (1, 1)),
        pd.DataFrame([[True, False], [True, True]]),
        pd.DataFrame([[True, False], [True, True]]).astype("boolean"),
    ],
)
def test_every_kind_of_array(correct):
    assert metrics.cora(correct) == metrics.cora(ResponseTable.from_hits([[1, 0], [1, 1]]))


@pytest.mark.parametrize("empty", [[], np.zeros((0, 3))])
def test_no_questions(empty):
    assert all(isnan(metric(empty).value) for metric in METRICS)


@pytest.mark.parametrize(
    ("correct", "message"),
    [
        ([[1, 2]], "got 2 for variant 1 of question 0"),
        ([[1, 0], [0, -1, 1]], "got -1 for variant 1 of question 1"),
        ([True, False], "shape"),
        ([[]], "shape"),
        ([["right"]], "shape"),
        (np.zeros((2, 2, 2)), "shape"),
        (3, "shape"),
        ("ab", "shape"),
        (None, "shape"),
    ],
)
def test_wrong_arrays(correct, message):
    with pytest.raises(ValueError, match=message):
        metrics.acc(correct)


@pytest.mark.parametrize(
    ("original", "message"),
    [
        *((place, "question 1 has 2 variants") for place in (-1, 2, 3)),
        *((value, "original: expected the position") for value in (1.5, "0", True)),
    ],
)
def test_an_original_that_is_not_a_position_in_each_row(original, message):
    with pytest.raises(ValueError, match=message):
        metrics.cora([[1, 1, 1, 1], [1, 1]], original=original)
    with pytest.raises(ValueError, match=r"original: expected the position .* got -1\. If the rows have no original"):
        metrics.cora([], original=-1)


@pytest.mark.parametrize("level", [nan, "abc", None, -0.1, 1.1])
def test_a_level_that_is_not_a_share(level):
    with pytest.raises(ValueError, match="expected a share from 0 to 1"):
        metrics.bmca([[1, 1]], level)


def test_the_original_may_be_another_variant():
    # Originals 1, 1, 1, 1, all right in 2 of 4: cora is 1 * (1 - (1 - 2/4)).
    assert metrics.cora(np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]]), original=np.int64(2)).value == 0.5


def test_skipped_values():
    masked = np.ma.masked_array([[1, 1], [1, 0]], mask=[[0, 0], [0, 1]])
    assert isnan(metrics.acc(masked).value)
    assert metrics.mcqa(masked).value == 1.0
    # A skipped original leaves what does not need it.
    assert metrics.bmca([[True, False], [None, False]], 1.0).value == 0.0
    assert isnan(metrics.cora([[True, False], [None, False]]).value)


def test_kinds_and_the_original():
    assert ResponseTable.from_hits([[1], [0]]).kinds == ("original",)
    without = ResponseTable.from_hits([[1, 1]], original=None)
    assert without.kinds == ("variant",)
    assert metrics.acc(without).value == 1.0
    assert isnan(metrics.cora([[1, 1]], original=None).value)


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=5))
def test_the_same_as_records(correct):
    """Oracle: the table that the harness' Records make."""
    table = ResponseTable.from_records(
        Record(
            *(f"{number:09d}", len(row), place, "variant" if place else "original", (0, 1), 0),
            picked=1 - hit,
            position=1 - hit,
            original=not place,
            followed=True,
        )
        for number, row in enumerate(correct)
        for place, hit in enumerate(row)
    )
    for metric in [*METRICS, metrics.all_equal, metrics.consistency_rate, metrics.followed]:
        one = metric(ResponseTable.from_hits(correct))
        other = metric(table)
        assert np.array_equal([*one], [*other], equal_nan=True), metric


ENTRIES = [entry for entry in probe_metrics("divergent") if not features_of(entry)]
MOST_NOT_ASKED = 4
"""So a table has at most 4 ** 4 = 256 completions."""


def partly_asked(seed):
    """Return up to three questions of up to four variants, some of which were skipped."""
    rng, left, members = random.Random(seed), MOST_NOT_ASKED, []
    original_first = rng.random() < 0.5  # as in real runs
    for records in questions(rng.randint(1, 3), options=(2,), seed=seed, whole=False):
        is_begun, first = rng.random() < 0.75, records[:4]
        members.append([])
        for record in first:
            is_asked = is_begun and (left == 0 or (original_first and record.original) or rng.random() < 0.5)
            left -= is_begun and not is_asked
            record = replace(record, variants=len(first))
            members[-1].append(record if is_asked else skipped(record))
    return members


def one(name, ordinal, variants, printed, picked, kind="shuffled"):
    position, kind = None if picked is None else printed.index(picked), kind if ordinal else "original"
    asked = (name, variants, ordinal, kind, printed, 0)
    return Record(*asked, picked=picked, position=position, original=not ordinal)


def skipped(record):
    return replace(record, picked=None, position=None, skipped=True)


def completions(members):
    """Yield the tables with all possible answers to the skipped variants: each printed option, or an invalid one."""
    begun = (records for records in members if not all(record.skipped for record in records))

    def answers(record):
        if not record.skipped:
            return [record]
        asked = replace(record, skipped=False)
        return [asked, *(replace(asked, picked=pick, position=place) for place, pick in enumerate(record.printed))]

    for chosen in product(*(answers(record) for records in begun for record in records)):
        yield ResponseTable.from_records(chosen)


def is_undefined(estimate):
    return isnan(estimate.value) and isnan(estimate.stderr)


def same(one, other):
    return np.allclose(tuple(one), tuple(other), rtol=1e-12, atol=1e-12, equal_nan=True)


@given(st.integers(0, 10_000))
def test_a_defined_metric_equals_that_of_every_full_run(seed):
    members = partly_asked(seed)
    table = table_of(members)
    printed = {entry["metric"]: (entry, compute(entry, table)) for entry in ENTRIES}
    printed = {name: found for name, found in printed.items() if not is_undefined(found[1])}
    for completed in completions(members) if printed else ():
        assert not completed.skipped.any()
        for name, (entry, estimate) in printed.items():
            full = compute(entry, completed)
            assert same(estimate, full), (name, estimate, full, completed.correct.tolist())


@pytest.mark.parametrize("name", ["cora", "ci", "mcqa"])
def test_cora_is_not_known_from_two_questions_whose_originals_were_left_out(name):
    # Each question has a wrong variant, so y = 0 and b = 0. cora = m (1 - m + b) is 0 if both originals are wrong
    # (m = 0), 0 if both are right (1 * 0), and 1/2 * 1/2 = 1/4 if one is right. The value is unknown although both
    # extremes are equal.
    (entry,) = [entry for entry in ENTRIES if entry["metric"] == name]
    full = [ResponseTable.from_hits([[one, 0], [other, 0]]) for one, other in product((0, 1), repeat=2)]
    found = {compute(entry, table).value for table in full}
    assert found == {"cora": {0.0, 0.25}, "ci": {0.0, 0.5, 1.0}, "mcqa": {0.0, 0.5, 1.0}}[name]
    assert is_undefined(compute(entry, ResponseTable.from_hits([[nan, 0], [nan, 0]])))


def test_the_metrics_of_a_run_that_stops_at_the_first_miss():
    # All right; first miss at the second variant, at the third, at the original. x = 1 1 1 0, y = 1 0 0 0: m = 3/4,
    # b = 1/4, ci = 1/2, cora = 3/8.
    table = ResponseTable.from_hits([[1, 1, 1, 1], [1, 0, nan, nan], [1, 1, 0, nan], [0, nan, nan, nan]])
    printed = {entry["metric"]: compute(entry, table) for entry in ENTRIES}
    known = {name: estimate.value for name, estimate in printed.items() if not is_undefined(estimate)}
    of_all = {"bmca@0.8": 1 / 4, "bmca@0.9": 1 / 4}  # one wrong answer of four is too many
    assert known == pytest.approx({"mcqa": 3 / 4, "bmca@1.0": 1 / 4, "ci": 1 / 2, "cora": 3 / 8, **of_all})
    # ci: 1 - x + y = 1 0 0 1, sd = sqrt(4 * 1/4 / 3), error sqrt(1/3) / 2.
    assert printed["ci"].stderr == pytest.approx((1 / 3) ** 0.5 / 2)


def test_no_metric_raises_with_skipped_variants():
    table = ResponseTable.from_hits([[1, nan, 1], [1, 0, nan]] * 6)
    entries = [entry for probe in PROBES for entry in probe_metrics(probe)]
    assert {type(compute(entry, table)) for entry in entries} == {Estimate}


# ---- questions and records
@pytest.mark.parametrize("ask", ["letter", "best_answer", "yes_no", "select_all", "boxed"])
def test_a_skipped_record_of_each_answer_format(ask):
    asked = one("q0", 0, 2, (0, 1), 0)
    said = {"boxed": {"written": "7", "matches": True}, "select_all": {"selected": (0,)}, "yes_no": {"selected": (0,)}}
    picks = {"picked": None, "position": None} if ask in said else {}
    asked = replace(asked, ask=ask, **picks, **said.get(ask, {}))
    missing = skipped(replace(one("q0", 1, 2, (0, 1), 0), ask=ask))
    assert asked.correct
    assert not missing.correct
    assert not missing.invalid
    table = table_of([[asked, missing]])
    assert table.correct.tolist() == [True, False]
    assert table.invalid.tolist() == [False, False]
    assert table.equal_answers[1] == 0, "a skipped answer agrees with none"
