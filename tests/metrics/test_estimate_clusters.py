"""Clusters as the units of errors: by hand, an oracle, and repeated questions, which tell nothing more."""

from dataclasses import replace
from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from scipy.stats import t as students_t

from lm_eval_cora import metrics
from lm_eval_cora.metrics.aggregated import aggregated
from lm_eval_cora.metrics.entries import compute, parameters_of
from lm_eval_cora.metrics.estimate import Estimate, students
from lm_eval_cora.metrics.kinds import KindAccuracies, note_on_few_clusters, note_on_small_categories
from lm_eval_cora.metrics.paired import difference, p_value, pairwise
from lm_eval_cora.metrics.responses import BY_RECORD, ResponseTable
from lm_eval_cora.runs.task_files import probe_metrics
from lm_eval_cora.variants.probes import PROBES
from tests.support.tables import MADE, QUESTIONS, estimates, found_in, made, questions, table_of


def in_clusters(table, *names):
    return replace(table, clusters=names)


def test_a_share_by_hand():
    # Right: 2 of 2 and 1 of 2, so 3/4. The sums of the deviations are 1/2 and -1/2: sqrt(2 (1/4 + 1/4)) / 4 = 1/4.
    table = in_clusters(ResponseTable.from_hits([[1], [1], [0], [1]]), "a", "a", "b", "b")
    found = metrics.mcqa(table)
    assert (found.value, found.stderr, found.units, found.outcomes) == (0.75, pytest.approx(0.25), 2, None)
    assert students(1.959964, 2) == pytest.approx(12.706, abs=1e-3)  # the t table's first row
    assert students(40.0, 2) == students(inf, 2) == inf
    # Wilson's interval with p (1 - p) / error^2 = 3 trials: (0.75 + 26.9 -+ 12.706 sqrt(0.0625 + 4.485)) / 54.8.
    assert found.interval == (pytest.approx(0.0101, abs=1e-3), pytest.approx(0.9990, abs=1e-3))
    assert table.size == "4 questions in 2 passages"


def test_a_difference_by_hand():
    # The sums of the differences are 2, 0 and 1 of 6 questions: sd 1, sqrt(3 (1 + 1 + 0) / 2) / 6 = 0.2887, t = 1.7321.
    names = ("a", "a", "b", "b", "c", "c")
    before, after = (
        metrics.mcqa(in_clusters(ResponseTable.from_hits([[int(right)] for right in rights]), *names))
        for rights in ("001010", "111011")
    )
    change = difference(before, after)
    assert (change.value, change.stderr) == (pytest.approx(0.5), pytest.approx(sqrt(3) / 6))
    assert p_value(before, after) == pytest.approx(2 * students_t.sf(sqrt(3), 2))
    assert pairwise([before, after])[0, 1].p_value == p_value(before, after)
    assert change.low == pytest.approx(0.5 - students_t.ppf(0.975, 2) * sqrt(3) / 6)
    assert change.high == 1


def test_a_part_of_the_questions_by_hand():
    # Of the clusters a, b and c only a and b have questions that count: 2 / (2 - 1) instead of 3 / (3 - 1).
    table = in_clusters(ResponseTable.from_hits([[1]] * 6), *"aabbcc")
    values, members = np.array([1.0, 0, 0, 0, 0, 0]), np.array([True, True, True, True, False, False])
    found = table.mean(values, members)
    assert found.stderr == pytest.approx(sqrt(2 * (0.5**2 + 0.5**2)) / 4)
    assert found.units == 2


@pytest.mark.parametrize(("names", "units"), [("aaaa", 0), ("aabb", 2)])
def test_clusters_that_do_not_vary(names, units):
    found = metrics.mcqa(in_clusters(ResponseTable.from_hits([[1]] * 4), *names))
    assert found.value == 1
    if units:  # the lower end is that of Wilson's interval for 2 of 2 with a quantile of 12.7
        assert found.interval[0] == pytest.approx(1 - 12.706**2 / (2 + 12.706**2), abs=1e-4)
    else:
        assert isnan(found.stderr)


# ---- tables of every probe
@pytest.mark.parametrize("probe", MADE)
def test_a_cluster_for_each_question_changes_nothing(probe):
    chosen, table = made(probe)
    own = estimates(chosen, in_clusters(table, *map(str, range(QUESTIONS))))
    assert repr(own) == repr(found_in(probe))


@pytest.mark.parametrize("made_of", MADE)
def test_the_function_of_a_metric_has_clusters_as_units_itself(made_of):
    _, table = made(made_of)
    shared = in_clusters(table, *(str(number // 2) for number in range(QUESTIONS)))
    for entry in (entry for probe in PROBES for entry in probe_metrics(probe)):
        found = entry["aggregation"](shared, **parameters_of(entry))
        if isinstance(found, Estimate) and found.influence is not None:
            assert found.units > 0, entry


def repeated(table, times):
    """Repeat each question several times. The copies of a question are a cluster."""
    rows = np.concatenate([np.tile(part, times) for part in np.split(np.arange(len(table.kind)), table.starts[1:])])
    question = table.question[table.pairs[:, :1]]
    moves = [table.starts[question] * (times - 1) + copy * table.sizes[question] for copy in range(times)]
    return replace(
        table,
        question_ids=tuple(f"{name} {copy}" for name in table.question_ids for copy in range(times)),
        categories=tuple(np.repeat(table.categories, times).tolist()),
        clusters=tuple(np.repeat(table.question_ids, times).tolist()),
        sizes=np.repeat(table.sizes, times),
        kind=table.kind[rows],
        pairs=np.concatenate([table.pairs + move for move in moves]),
        ran_out=table.ran_out[:0],
        **{column: getattr(table, column)[rows] for column in BY_RECORD},
    )


OF_IDS = ("acc_pride", "subset_sizes", "timeouts", "questions", "picks")  # counts, and parts drawn by the id


@pytest.mark.parametrize("probe", MADE)
def test_repeated_questions_in_clusters_tell_nothing_more(probe):
    chosen, table = made(probe)
    found, checked = estimates(chosen, repeated(table, 3)), 0
    for name, alone in found_in(probe).items():
        if any(word in name for word in OF_IDS) or isnan(alone.value):
            continue
        assert found[name].value == pytest.approx(alone.value), name
        if not alone.ends or name == "macro_acc":
            assert found[name].stderr == pytest.approx(alone.stderr, nan_ok=True), name
        checked += not isnan(alone.stderr)
    assert checked > min(10, len(chosen) - 1)


def test_repeated_questions_in_the_aggregated_row():
    table = table_of(questions(30, "sampling", (4,), 7))
    for macro in (False, True):
        alone, more = aggregated(sampling=table, macro=macro), aggregated(sampling=repeated(table, 3), macro=macro)
        for one, other in zip(alone[:4], more[:4], strict=True):
            assert (other.value, other.stderr) == (pytest.approx(one.value), pytest.approx(one.stderr))


@pytest.mark.parametrize(
    "metric", [metrics.acc_range_p, metrics.position_p_value, metrics.recall_spread, metrics.acc_range_by_chance]
)
def test_the_tests_have_clusters_as_units(metric):
    rng = np.random.default_rng(3)
    kinds = {"kinds": tuple(f"answer_at_{letter}" for letter in "ABCD"), "kind": np.tile(np.arange(4), 45)}
    kinds |= {"options": np.full(180, 4), "position": rng.integers(0, 4, 180)}
    table = ResponseTable.from_hits(rng.random((45, 4)) < [0.6, 0.5, 0.45, 0.4], **kinds)
    expected = metric(table).value
    assert metric(repeated(table, 4)).value == pytest.approx(expected)
    assert metric(replace(repeated(table, 4), clusters=("",) * 180)).value < expected or metric is metrics.recall_spread
    few = replace(table, clusters=tuple(f"{number % 9}" for number in range(45)))
    assert isnan(metric(few).value) or metric in (metrics.position_p_value, metrics.recall_spread)


# ---- categories, notes, and functions of the user
def test_categories_of_one_cluster_are_pooled():
    table = ResponseTable.from_hits([[1], [0]] * 6, categories=("x",) * 4 + ("y",) * 8)
    table = in_clusters(table, *"aaaabbbccddd")
    assert note_on_small_categories(table).startswith("1 category has one cluster of questions")
    assert 0 < metrics.macro_acc(table).stderr < 1
    # Two categories that share their only cluster
    table = ResponseTable.from_hits(
        [[1, 1], [0, 0]] * 6, categories=("a", "b", *["c"] * 10), clusters=(*"xx", *"abcdefghij")
    )
    for metric in (metrics.macro_acc, lambda table: metrics.acc_min(table, macro=True)):
        assert 0 < metric(table).stderr < 1
    one = replace(table.where(np.arange(24) < 4), clusters=("x", "x"))
    assert isnan(metrics.macro_acc(one).stderr)


def test_few_clusters_have_a_note():
    table = ResponseTable.from_hits([[1], [0]] * 40)
    assert not note_on_few_clusters(table)
    assert not note_on_few_clusters(in_clusters(table, *(f"{n % 20}" for n in range(80))))
    note = note_on_few_clusters(in_clusters(table, *(f"{n % 16}" for n in range(80))))
    told = "80 questions in 16 passages are few: intervals use Student's t distribution with 15 degrees"
    assert note.startswith(told)
    # 21 of 3 questions and one of 17: 80^2 / (21 * 9 + 289) = 13.39
    note = note_on_few_clusters(in_clusters(table, *(str(min(n // 3, 21)) for n in range(80))))
    assert "in 22 passages count as 13.4 of equal size, which are few" in note
    assert "with 12.4 degrees" in note
    one = note_on_few_clusters(in_clusters(table, *["x"] * 80))
    assert one == "80 questions in 1 passage: without a second one, no error is known"


def test_a_metric_of_the_user_has_clusters_as_units():
    own = {"metric": "own", "aggregation": lambda table: metrics.estimate.mean_of(table.hits / table.sizes)}
    table = in_clusters(ResponseTable.from_hits([[1], [0], [0], [1]]), *"aabc")
    assert compute(own, table).units == 16 / 6
    assert table.clustered(Estimate(1.0, nan)).units == 0


def test_unequal_clusters_have_the_error_of_a_jackknife_and_few_degrees_of_freedom():
    rng, sizes = np.random.default_rng(0), [40, 20, 10, *[3] * 9]
    names = np.repeat(np.arange(12), sizes)
    rights = rng.random((len(names), 4)) < rng.random(12)[names][:, None]
    columns = {"kinds": tuple("abcd"), "kind": np.tile(np.arange(4), len(names))}
    table = in_clusters(ResponseTable.from_hits(rights, **columns), *map(str, names))

    def jackknife(values):
        """Standard error from the means without each cluster."""
        return sqrt(11) * float(np.std([values[names != name].mean() for name in range(12)]))

    share = metrics.mcqa(table)
    assert metrics.acc(table).stderr == pytest.approx(jackknife(rights))
    assert share.stderr == pytest.approx(jackknife(rights[:, 0]))
    second = KindAccuracies.of(table).estimates()[1]
    assert second.stderr == pytest.approx(jackknife(rights[:, 1]))
    # Wilson's interval at the quantile of 97^2 / (40^2 + 20^2 + 10^2 + 9 * 3^2) - 1 degrees of freedom
    z = students_t.ppf(0.975, 97**2 / sum(size**2 for size in sizes) - 1)
    for end in share.interval:
        trials = share.value * (1 - share.value) / share.stderr**2
        assert abs(end - share.value) == pytest.approx(z * sqrt(end * (1 - end) / trials))


def test_letter_tests_need_as_many_options_in_a_passage():
    sizes = np.tile([4, 5], 60)
    places = np.random.default_rng(0).integers(0, np.repeat(sizes, sizes))
    columns = {"position": places, "options": np.repeat(sizes, sizes)}
    ids, wrong = [f"q{n:03}" for n in range(120)], np.zeros(len(places), dtype=np.bool_)
    mixed, alike = (
        ResponseTable.from_columns(ids, sizes, wrong, clusters=tuple(map(str, names)), **columns)
        for names in (np.arange(120) // 2, np.arange(120) % 60)
    )
    for metric in (metrics.position_chi_square, metrics.position_p_value):
        assert isnan(metric(mixed).value)
        assert metric(alike).value > 0
    assert 0 < metrics.position_cramers_v(mixed).value < 1
    silent = in_clusters(ResponseTable.from_columns("ab", np.ones(2, dtype=np.int64), wrong[:2]), "x", "x")
    assert isnan(metrics.position_cramers_v(silent).value)  # no answer picks a letter
