"""A table of answers to each probe, with its metrics and their estimates."""

from collections.abc import Callable
from functools import cache

from lm_eval_cora.metrics import Estimate
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.score_tables import NOT_TRANSITIVE, random_score_questions, random_written_questions, written_table
from tests.support.tables import (
    METRICS,
    ORDER,
    PLUS,
    PROMPTS,
    SAMPLING,
    STUDY,
    Metrics,
    estimates,
    random_questions,
    random_study_questions,
    table_of,
)

QUESTIONS = 120


def _whole(chosen: Metrics) -> Metrics:
    return {name: metric for name, metric in chosen.items() if "by_category" not in name}


# Made when a test needs them, not while pytest collects the tests.
MADE: dict[str, Callable[[], tuple[Metrics, ResponseTable]]] = {
    "divergent": lambda: (METRICS, table_of(random_questions(QUESTIONS, 8, seed=1))),
    "plus": lambda: (PLUS, table_of(random_study_questions(QUESTIONS, (2, 4), 2, "plus"))),
    "study": lambda: (STUDY, table_of(random_study_questions(QUESTIONS, (3, 4, 5), 3))),
    "scored": lambda: (STUDY, table_of(random_study_questions(QUESTIONS, (3, 4, 5), 4, scored=True))),
    "prompts": lambda: (_whole(PROMPTS), table_of(random_score_questions(QUESTIONS, "prompts", (4, 5), 5))),
    "order": lambda: (_whole(ORDER), table_of(random_score_questions(QUESTIONS, "order", (4, 4, 5), 6))),
    "sampling": lambda: (_whole(SAMPLING), table_of(random_score_questions(QUESTIONS, "sampling", (4,), 7))),
    "written": lambda: (
        _whole(PROMPTS),
        written_table(random_written_questions(QUESTIONS, "prompts", 8), NOT_TRANSITIVE),
    ),
}


@cache
def made(probe: str) -> tuple[Metrics, ResponseTable]:
    return MADE[probe]()


@cache
def found_in(probe: str) -> dict[str, Estimate]:
    chosen, table = made(probe)
    return estimates(chosen, table)
