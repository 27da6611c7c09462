"""Errors and intervals of differences, compared with a paired bootstrap over questions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import isnan

import numpy as np
import pytest

from lm_eval_cora.metrics import Difference
from tests.support.letters import random_scored_questions
from tests.support.paired import Members, Tables, changed_tables, differences, some_changed
from tests.support.score_tables import (
    NOT_TRANSITIVE,
    random_score_questions,
    random_written_questions,
    written_table,
)
from tests.support.tables import (
    METRICS,
    ORDER,
    PLUS,
    PROMPTS,
    STUDY,
    Metrics,
    estimates,
    random_questions,
    random_study_questions,
    resampled,
    without_errors,
)

Both = dict[str, tuple[Difference, np.ndarray, float]]

SAMPLES = 300
"""With so many samples, the error of the bootstrap is 1 / sqrt(600) = 4.1%."""


def _bootstrapped(chosen: Metrics, tables: Tables) -> Both:
    """Return each difference that has an error, its values in samples of the questions (paired), and the range.

    The range is how far a difference could change if all questions outside the sample had the most extreme answers.
    """
    reported = differences(chosen, tables)
    rng = np.random.default_rng(0)
    count = len(tables[0].sizes)
    values: dict[str, list[float]] = {name: [] for name in reported}
    with without_errors():
        for _ in range(SAMPLES):
            drawn = rng.integers(count, size=count)
            before, after = (estimates(chosen, resampled(table, drawn)) for table in tables)
            for name, found in values.items():
                if name in before and name in after:
                    found.append(after[name].value - before[name].value)
    ranges = _ranges(chosen, tables)
    arrays = {name: np.array(found) for name, found in values.items()}
    return {
        name: (reported[name], found, ranges[name])
        for name, found in arrays.items()
        if len(found) == SAMPLES and not np.isnan(found).any() and not isnan(reported[name].stderr)
    }


def _ranges(chosen: Metrics, tables: Tables) -> dict[str, float]:
    """A share of the questions z^2 / (N + z^2) may have answers that no question of the sample has.

    The difference may then fall or rise by 2, or more if only some of the questions count.
    """
    found = {}
    for name, estimate in estimates(chosen, tables[0]).items():
        counted = 1.0 if estimate.outcomes is None else float(1 - np.isnan(estimate.outcomes).mean())
        found[name] = 2 / counted * 3.84 / (len(tables[0].sizes) + 3.84)
    return found


NO_DIFFERENCE = ("acc_min", "acc_max", "acc_range", "recall_spread", "position_")
"""Extremes and spreads, whose differences are biased, and statistics of tests."""


def _some(chosen: Metrics, *, scored: bool = False) -> Metrics:
    """Leave out metrics that compute the same function as another one on a part of the table, or have no error."""
    in_scored = ("confidence_", "yes_no_mass", "ties")
    again = ("by_category", "_paper", "@2", "@8", "@10", "sc_buckets")
    return {
        name: metric
        for name, metric in chosen.items()
        if name.startswith(in_scored) == scored and not any(part in name for part in (*again, *NO_DIFFERENCE))
    }


def only_orders(members: Members) -> Members:
    kept = [[record for record in records if record.kind in ("original", "shuffled")] for records in members]
    return [[replace(record, variants=len(records)) for record in records] for records in kept]


LETTERS = {name: ORDER[name] for name in ("acc_permuted", "acc_pride", "letter_prior")}
"""Metrics of scored letters in cyclic orders."""

WRITTEN = {name: PROMPTS[name] for name in ("consistency_rate", "all_equal", "equal@0.8", "timeouts")}


@pytest.fixture(scope="module")
def bootstrapped() -> dict[str, Both]:
    """Bootstrap 200 questions per probe, and 1,000 for the buckets."""
    written = some_changed(lambda seed: random_written_questions(200, "prompts", seed), 9)
    study = partial(random_study_questions, 200, (3, 4, 4))
    score = partial(random_score_questions, 200)
    plus = {name: PLUS[name] for name in ("mcqa_plus_diff", "cora")}
    found = {
        "divergent": (
            _some(METRICS) | {"ties": METRICS["ties"]},
            changed_tables(lambda seed: random_questions(200, 10, seed), 1),
        ),
        "plus": (plus, changed_tables(lambda seed: random_study_questions(200, (2, 4), seed, "plus"), 2)),
        "study": (_some(STUDY), changed_tables(lambda seed: study(seed), 3)),
        "buckets": (
            {"sc_buckets": STUDY["sc_buckets"]},
            changed_tables(lambda seed: only_orders(random_study_questions(1_000, (3, 4), seed)), 3),
        ),
        "scored": (_some(STUDY, scored=True), changed_tables(lambda seed: study(seed, scored=True), 4)),
        "prompts": (_some(PROMPTS), changed_tables(lambda seed: score("prompts", (4,), seed), 5)),
        "order": (
            _some(ORDER) | {"ties": ORDER["ties"]},
            changed_tables(lambda seed: score("order", (4, 4, 5), seed), 6),
        ),
        "letters": (LETTERS, changed_tables(lambda seed: random_scored_questions(200, seed), 7)),
        "written": (WRITTEN, tuple(written_table(members, NOT_TRANSITIVE) for members in written)),
    }
    return {name: _bootstrapped(chosen, tables) for name, (chosen, tables) in found.items()}


def test_every_metric_with_a_difference_is_tested(bootstrapped: dict[str, Both]) -> None:
    def missing(chosen: Metrics, found: str) -> set[str]:
        return set(chosen) - {name.split()[0] for name in bootstrapped[found]}

    assert missing(METRICS, "divergent") == {"acc_min", "acc_max"}
    assert missing(_some(STUDY), "study") == {"questions"}  # counts have no error
    assert {f"{times}/{n} {part}" for n in (3, 4) for times in range(2, n + 1) for part in ("share", "accuracy")} <= {
        name.removeprefix("sc_buckets ") for name in bootstrapped["buckets"]
    }
    assert missing(_some(STUDY, scored=True), "scored") == set()
    # Only comparisons of written answers can run out of time.
    assert missing(_some(PROMPTS), "prompts") == {"timeouts"}
    assert missing(_some(ORDER), "order") == set(LETTERS)
    assert missing(LETTERS, "letters") == set()
    assert missing(WRITTEN, "written") == set()


PROBES = ["divergent", "plus", "study", "buckets", "scored", "prompts", "order", "letters", "written"]


@pytest.mark.parametrize("probe", PROBES)
def test_error_of_a_difference_agrees_with_a_paired_bootstrap(probe: str, bootstrapped: dict[str, Both]) -> None:
    for name, (found, values, _) in bootstrapped[probe].items():
        expected = np.std(values, ddof=1)
        if expected < 1e-12:  # no question differs
            expected = (found.high - found.low) / 3.919928
        # Tolerance: four errors of the bootstrap.
        assert found.stderr == pytest.approx(expected, rel=0.16), name


@pytest.mark.parametrize("probe", PROBES)
def test_interval_of_a_difference_contains_that_of_a_paired_bootstrap(
    probe: str, bootstrapped: dict[str, Both]
) -> None:
    for name, (found, values, reach) in bootstrapped[probe].items():
        # A percentile of 300 values has an error of sqrt(0.025 * 0.975 / 300) / 0.058 = 0.15 standard errors. The
        # interval is wider, because other questions may have more extreme answers than those of the sample.
        low, high = np.percentile(values, [2.5, 97.5])
        assert low - reach - 0.6 * found.stderr <= found.low <= low + 0.6 * found.stderr, name
        assert high - 0.6 * found.stderr <= found.high <= high + reach + 0.6 * found.stderr, name
        assert found.low < found.value < found.high, name
