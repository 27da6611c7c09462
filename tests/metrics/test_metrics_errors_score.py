"""Each closed form of a standard error of SCORE's metrics, compared with a plain bootstrap over questions."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

import numpy as np
import pytest

from lm_eval_cora import metrics
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.responses import ResponseTable
from tests.support.score_tables import (
    NOT_TRANSITIVE,
    Probe,
    random_score_questions,
    random_written_questions,
    written_table,
)
from tests.support.tables import ORDER, PROMPTS, SAMPLING, Metrics, estimates, resampled, table_of, values_alone

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
    with values_alone():
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


def _of(probe: Probe, chosen: Metrics) -> Callable[[Tables], dict[str, Estimate]]:
    """Compute a task's metrics, except those by category or without a template, which use the same functions."""
    kept = {name: metric for name, metric in chosen.items() if "by_category" not in name and "_paper" not in name}
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
    written: Tables = {"prompts": written_table(random_written_questions(200, "prompts"), NOT_TRANSITIVE)}
    return {
        "prompts": _bootstrapped(_of("prompts", PROMPTS), tables),
        "order": _bootstrapped(_of("order", ORDER), tables),
        "written": _bootstrapped(_of("prompts", WRITTEN), written),
        "row": _bootstrapped(_row, tables),
    }


def test_every_metric_with_an_error_is_tested(bootstrapped: dict[str, Both]) -> None:
    # A test statistic has no error, and only comparisons of written answers can run out of time.
    assert _missing(ORDER, bootstrapped["order"]) == {"position_chi_square", "position_p_value"}
    assert _missing(PROMPTS, bootstrapped["prompts"]) == {"timeouts"}
    assert _missing(WRITTEN, bootstrapped["written"]) == set()
    assert set(SAMPLING) - set(PROMPTS) == {"samples"}  # the same function as `templates`
    assert len(bootstrapped["row"]) == 10


def _missing(chosen: Metrics, found: Both) -> set[str]:
    names = {name.split()[0] for name in found}
    return {name for name in chosen if "by_category" not in name and "_paper" not in name and name not in names}


@pytest.mark.parametrize("table", ["prompts", "order", "written", "row"])
def test_error_agrees_with_the_bootstrap(table: str, bootstrapped: dict[str, Both]) -> None:
    # Tolerance: four errors of the bootstrap, and a little for the curvature that the delta method ignores.
    for name, (estimate, expected) in bootstrapped[table].items():
        assert estimate.stderr == pytest.approx(expected, rel=0.16), name
