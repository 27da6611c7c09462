"""Letter bias in runs of the order probe: which metrics are printed, and that a samples file gives the same numbers."""

from math import isnan

import pytest

from lm_eval_cora.report.probe_views import letter_bias, letter_priors
from lm_eval_cora.report.score_views import score_table
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.tables.number import Number
from tests.support.letters import Biased
from tests.support.shown import value_in
from tests.support.written import lines_of, put, the_run, write

TASK = "cora_demo_order_mc"
CYCLIC = {"orders": "cyclic", "questions": 60}
OF_LIKELIHOODS = {"acc_permuted", "acc_pride"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write(tmp_path_factory.mktemp("letters"), Biased(), TASK, CYCLIC)


@pytest.fixture(scope="module")
def read(written):
    return the_run(written.folder)


def test_the_samples_file_gives_the_numbers_of_the_run(written, read):
    assert read.warnings == []
    for name in (*OF_LIKELIHOODS, "recall_spread"):
        value, stderr = read.estimates[name]
        assert (written.printed[f"{name},none"], written.printed[f"{name}_stderr,none"]) == (value, stderr), name
    prior = read.studies["letter_prior"]["5"]
    assert {letter: found["value"] for letter, found in written.study["letter_prior"]["5"].items()} == {
        letter: found.value for letter, found in prior.items()
    }
    assert written.study["recall_spread_by_chance"]["value"] == read.estimates["recall_spread_by_chance"].value


def test_missing_likelihoods_cost_only_their_questions(written, read, tmp_path):
    lines = lines_of(written.samples)
    lines[3]["filtered_resps"][1][0] = "nan"
    lines[9]["filtered_resps"].pop()
    damaged = the_run(put(tmp_path / "samples.jsonl", lines))
    assert len(damaged.table.question_ids) == len(read.table.question_ids)
    before, after = (one.estimates["acc_permuted"].outcomes for one in (read, damaged))
    assert (after <= before).all()
    assert (before != after).sum() <= 2
    assert not isnan(damaged.estimates["acc_pride"].value)


# ---- the page
def test_the_chart_of_the_accuracy_before_and_after(read):
    chart = letter_bias([read])
    assert list(chart.rows) == ["mcqa", "acc_pride", "acc_permuted"]
    ((name, numbers),) = chart.models
    assert name == read.model
    assert {row: number.value for row, number in numbers.items()} == {
        row: read.estimates[row].value for row in chart.rows
    }
    change = value_in(chart.numbers, 1, "change from mcqa")
    assert change == read.estimates["acc_pride"].value - read.estimates["mcqa"].value
    priors = letter_priors([read])
    assert [row[:2] for row in priors.rows] == [[letter, 5] for letter in "ABCDE"]


def test_the_page_shows_it_for_cyclic_orders_alone(read, tmp_path):
    titles = [block.title for block in make_report([read]).sections[0].blocks]
    assert "Accuracy before and after removing the letter bias" in titles
    swapped = the_run(write(tmp_path, Biased(), TASK, {"questions": 12}).folder)
    assert letter_bias([swapped]) is None
    assert letter_priors([swapped]) is None
    (spread,) = (row for row in score_table([swapped], comparable=True).rows if row[0] == "recall_spread by chance")
    assert isinstance(spread[1], Number)
    assert spread[1].value == swapped.estimates["recall_spread_by_chance"].value
