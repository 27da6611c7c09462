"""The headline of one model: what it keeps, and the kind of variant that costs the most."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lm_eval_cora.report.content import Changes
from lm_eval_cora.report.headline import headline
from lm_eval_cora.report.pictures import changes_by_kind
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import Run
from tests.support.answers_files import write_answers
from tests.support.by_hand import run_by_hand

QUESTIONS = 60


def run_of(folder: Path, correct: Callable[[int, str], bool | None]) -> Run:
    """A run with the kinds original, shuffled and rare; None leaves out a variant."""
    rows = [
        {"question": f"q{number:02}", "variant": kind, "correct": value}
        for number in range(QUESTIONS)
        for kind in ("original", "shuffled", "rare")
        if (value := correct(number, kind)) is not None
    ]
    (run,) = read_runs([write_answers(folder / "model.jsonl", rows)])
    return run


@pytest.fixture
def on_hard_questions(tmp_path: Path) -> Run:
    """Only the harder half of the questions has the rare kind, and no answer depends on the kind."""
    return run_of(tmp_path, lambda number, kind: number < 30 if kind != "rare" else None if number < 30 else False)


@pytest.fixture
def on_few_questions(tmp_path: Path) -> Run:
    """The rare kind loses 1 of 3 questions, the shuffled one 12 of 60."""
    return run_of(
        tmp_path,
        lambda number, kind: (
            True if kind == "original" else number % 5 > 0 if kind == "shuffled" else number > 0 if number < 3 else None
        ),
    )


def test_one_model_and_the_kind_that_costs_the_most(tmp_path: Path) -> None:
    """CoRA is 0.8 (1 - 0.4) = 0.48."""
    kinds = {"original": "1" * 80 + "0" * 20, "shuffled": "1" * 78 + "0" * 22, "with_nota": "1" * 40 + "0" * 60}
    found = headline([run_by_hand(tmp_path, kinds)], alike=True)
    assert found is not None
    assert found.sentences[0].startswith(
        "model answers 80% of 100 questions correctly, and keeps 50% of its right answers in all variants: CoRA 0.48"
    )
    assert found.sentences[1].startswith("The kind with_nota lowers the accuracy the most: -0.40 [-0.")
    assert isinstance(found.picture, Changes)


def test_one_model_without_a_certain_loss(tmp_path: Path) -> None:
    kinds = {"original": "1" * 20 + "0" * 20, "a": "1" * 19 + "0" * 21, "b": "1" * 20 + "0" * 20}
    found = headline([run_by_hand(tmp_path, kinds)], alike=True)
    assert found is not None
    assert found.sentences[1:] == ("No kind of variant certainly lowers the accuracy.",)


def test_a_kind_is_compared_with_the_originals_of_its_own_questions(on_hard_questions: Run) -> None:
    assert changes_by_kind(on_hard_questions)["rare"].value == 0


def test_a_kind_of_harder_questions_does_not_cost_anything(on_hard_questions: Run) -> None:
    found = headline([on_hard_questions], alike=True)
    assert found is not None
    assert found.sentences[-1] == "No kind of variant certainly lowers the accuracy."


def test_a_certain_loss_is_told_although_an_uncertain_one_is_larger(on_few_questions: Run) -> None:
    losses, found = changes_by_kind(on_few_questions), headline([on_few_questions], alike=True)
    assert losses["rare"].value < losses["shuffled"].value < losses["shuffled"].high < 0 < losses["rare"].high
    assert found is not None
    assert found.sentences[-1].startswith("The kind shuffled certainly lowers the accuracy: -0.20 [-0.")


def test_equal_models_without_errors_are_not_ranked(tmp_path: Path) -> None:
    files = [
        write_answers(tmp_path / name, [{"question": "q", "variant": "original", "correct": True}])
        for name in ("one.jsonl", "other.jsonl")
    ]
    found = headline(read_runs(files), alike=True)
    assert found is not None
    assert found.sentences == ("The best models have the same CoRA, and its error is unknown: one 1.00, other 1.00.",)


def test_equal_accuracies_have_no_range(tmp_path: Path) -> None:
    rows = [
        {"question": f"q{number}", "variant": kind, "correct": (number + place) % 3 > 0}
        for number in range(30)
        for place, kind in enumerate(("x", "y", "z"))
    ]
    found = headline(read_runs([write_answers(tmp_path / "model.jsonl", rows)]), alike=True)
    assert found is not None
    assert found.sentences[-1] == "Its accuracy is the same in all kinds of variants: 0.67."
