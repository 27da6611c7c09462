"""Each closed form of a standard error of SCORE's metrics, compared with a plain bootstrap over questions."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

import numpy as np
import pytest

from lm_eval_cora import metrics
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.score_tables import (
    NOT_TRANSITIVE,
    Probe,
    random_score_questions,
    random_written_questions,
    written_table,
)
from tests.support.tables import ORDER, PROMPTS, SAMPLING, Metrics, estimates, resampled, table_of, without_errors

Tables = dict[Probe, ResponseTable]
Both = dict[str, tuple[Estimate, float]]

SAMPLES = 400
"""With so many samples, the error of the bootstrap is 1 / sqrt(800) = 3.5%."""


def _bootstrapped(statistics: Callable[[Tables], dict[str, Estimate]], tables: Tables) -> Both:
    """Return each estimate that has an error, with its bootstrapped error. All tables have the same questions."""
    reported = statistics(tables)
    rng = np.random.default_rng(0)
    count = len(next(iter(tables.values())).sizes)
    replicates: dict[str, list[float]] = {name: [] for name in reported}
    with without_errors():
        for _ in range(SAMPLES):
            drawn = rng.integers(count, size=count)
            found = statistics({probe: resampled(table, drawn) for probe, table in tables.items()})
            for name, values in replicates.items():
                values.append(found[name].value)
    return {
        name: (estimate, float(np.std(replicates[name], ddof=1)))
        for name, estimate in reported.items()
        if not isnan(estimate.stderr)
    }


AGAIN = ("by_category", "_paper")
"""Metrics by category or without a template, which use the same functions as others."""

NO_ERROR = (
    *("acc_range", "acc_range_by_chance", "acc_range_p", "position_chi_square", "position_p_value"),
    "recall_spread_by_chance",
)
"""Statistics of tests, and what they are compared with."""

CYCLIC = {name: ORDER[name] for name in ("acc_permuted", "acc_pride", "letter_prior", "recall_spread")}
"""Metrics of cyclic orders."""


def _of(probe: Probe, chosen: Metrics) -> Callable[[Tables], dict[str, Estimate]]:
    kept = {name: metric for name, metric in chosen.items() if not name.endswith((*AGAIN, *NO_ERROR))}
    return lambda tables: estimates(kept, tables[probe])


def _row(tables: Tables) -> dict[str, Estimate]:
    found = {}
    for macro in (False, True):
        row = metrics.aggregated(**tables, macro=macro)._asdict()
        found |= {f"{name} {macro}": value for name, value in row.items() if isinstance(value, Estimate)}
    return found


WRITTEN = {name: PROMPTS[name] for name in ("consistency_rate", "all_equal", "equal@0.8", "timeouts")}
"""Metrics with a separate computation for written answers."""


@pytest.fixture(scope="module")
def bootstrapped() -> dict[str, Both]:
    """Bootstrap 200 questions of three categories with three to five options, and 200 without options."""
    tables: Tables = {
        "prompts": table_of(random_score_questions(200, "prompts", (3, 4, 5), seed=1)),
        "order": table_of(random_score_questions(200, "order", (3, 4, 4, 5), seed=2)),
        "sampling": table_of(random_score_questions(200, "sampling", (3, 4, 5), seed=3)),
    }
    cyclic: Tables = {"order": table_of(random_score_questions(200, "order", (3, 4), seed=4, orders="cyclic"))}
    written: Tables = {"prompts": written_table(random_written_questions(200, "prompts"), NOT_TRANSITIVE)}
    return {
        "prompts": _bootstrapped(_of("prompts", PROMPTS), tables),
        "order": _bootstrapped(_of("order", ORDER), tables),
        "cyclic": _bootstrapped(_of("order", CYCLIC), cyclic),
        "written": _bootstrapped(_of("prompts", WRITTEN), written),
        "row": _bootstrapped(_row, tables),
    }


def test_every_metric_with_an_error_is_tested(bootstrapped: dict[str, Both]) -> None:
    assert _missing(ORDER, bootstrapped["order"]) == {"acc_permuted", "acc_pride", "letter_prior"}
    assert _missing(CYCLIC, bootstrapped["cyclic"]) == set()
    # Only comparisons of written answers can run out of time.
    assert _missing(PROMPTS, bootstrapped["prompts"]) == {"timeouts"}
    assert _missing(WRITTEN, bootstrapped["written"]) == set()
    assert set(SAMPLING) - set(PROMPTS) == {"samples"}  # the same function as `templates`
    assert len(bootstrapped["row"]) == 10


def _missing(chosen: Metrics, found: Both) -> set[str]:
    names = {name.split()[0] for name in found}
    return {name for name in chosen if not name.endswith((*AGAIN, *NO_ERROR)) and name not in names}


@pytest.mark.parametrize("table", ["prompts", "order", "cyclic", "written", "row"])
def test_error_agrees_with_the_bootstrap(table: str, bootstrapped: dict[str, Both]) -> None:
    for name, (estimate, expected) in bootstrapped[table].items():
        if expected < 1e-12:  # no question differs: the error is the width of the interval / (2 * 1.96)
            low, high = estimate.interval
            assert estimate.stderr == pytest.approx((high - low) / 3.919928, rel=1e-5), name
        else:  # tolerance: four errors of the bootstrap, and a little for the factor sqrt(N / (N - 1))
            assert estimate.stderr == pytest.approx(expected, rel=0.145), name
