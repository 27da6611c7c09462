"""Return values of the Python API: a mapping of metrics, tables, a plot, and comparisons."""

import pickle
from math import isnan

import pytest

import lm_eval_cora as cora
from lm_eval_cora import metrics
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.estimate import wilson
from tests.support.messages import user_error


def rows(correct, **more):
    return [
        {"question": f"q{number}", "variant": place, "correct": bool(hit), "original": not place, **more}
        for number, row in enumerate(correct)
        for place, hit in enumerate(row)
    ]


CORRECT = [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 0]]


@pytest.fixture
def scores():
    return cora.score(rows(CORRECT))


def test_a_mapping_of_estimates(scores):
    assert scores["cora"] == metrics.cora(CORRECT)
    value, error = scores["cora"]
    low, high = scores["cora"].interval
    assert 0 <= low < value < high <= 1
    assert error > 0
    assert set(scores) >= {"acc", "bmca@1.0", "ci", "cora", "consistency_rate"}
    assert "coral" not in scores
    assert len(scores) == len(list(scores)) == len(scores.to_frame())
    with pytest.raises(KeyError, match=r"Did you mean 'bmca@1\.0'"):
        scores["bmca@1"]


def test_an_undefined_metric_is_nan_with_a_reason(scores):
    assert isnan(scores["consistency_rate"].value)
    assert "'picked'" in scores.undefined["consistency_rate"]
    assert "'kind'" in scores.undefined["acc_min"]
    assert "cora" not in scores.undefined
    assert isnan(scores.to_frame().set_index("metric").value["consistency_rate"])
    unmarked = cora.score([{**row, "original": False} for row in rows(CORRECT)])
    assert "'q0'" in unmarked.undefined["cora"]
    assert "'original'" in cora.score(rows(CORRECT), original=None).undefined.get("cora", "'original'")


def test_reasons_of_few_questions_and_of_one_kind():
    few = cora.score([{"question": q, "variant": n, "kind": n, "correct": n < q} for q in range(4) for n in range(4)])
    assert few.undefined["acc_range_p"] == few.undefined["acc_range_by_chance"] == "it needs 10 questions"
    alike = [{"question": q, "variant": n, "kind": "one", "correct": n < q % 4} for q in range(12) for n in range(4)]
    assert cora.score(alike).undefined["acc_range_p"] == "there is only one kind of variant"
    twice = [{**row, "kind": "ab"[int(row["variant"]) // 2]} for row in alike]
    assert cora.score(twice).undefined["acc_range_p"] == "a question has several variants of a kind"


def test_the_curve_is_bmca_at_each_level(scores):
    curve = scores.bmca_curve()
    assert curve.level.tolist() == [level / 10 for level in range(11)]
    for row in curve.itertuples():
        assert (row.value, row.stderr) == tuple(metrics.bmca(CORRECT, row.level))
    # By hand: 4, 2, 1 and 3 of 4 are right.
    assert curve.value.tolist() == [1.0, 1.0, 1.0, 0.75, 0.75, 0.75, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_the_plot_has_the_curve_and_its_interval(scores):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    axes = scores.plot(label="model")
    (line,) = axes.lines
    assert line.get_ydata().tolist() == scores.bmca_curve().value.tolist()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["model"]
    assert scores.plot(ax=axes) is axes
    assert len(axes.lines) == 2
    pyplot.close(axes.figure)


def test_text_and_html_show_the_metrics_and_escape_names():
    found = cora.score(rows(CORRECT, reader="<b>me</b>"))
    text, html = repr(found), found._repr_html_()
    assert all(part in text for part in ("4 questions with 4 variants", f"{found['cora'].value:.4f}", "undefined: "))
    assert "<td>cora</td>" in html
    assert ("<b>me</b>" in html, "&lt;b&gt;me" in html) == (False, True)
    found = cora.score(rows([[1, 1]]))
    assert (found["cora"].value, isnan(found["cora"].stderr)) == (1.0, True)  # a single question has no errors
    assert "nan" not in repr(found).split("undefined")[0]
    assert "1 question with 2 variants" in repr(found)


# ---- compare
def test_a_difference_is_paired_by_question(scores):
    better = cora.score(rows([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 1, 0]]))
    row = cora.compare(scores, better)["bmca@1.0"]
    # One of four questions is gained: 0.25, with sd 0.5 and standard error 0.5 / 2.
    assert (row.before.value, row.after.value, row.value, row.stderr) == (0.25, 0.5, 0.25, 0.25)
    # One gained, none lost: the mid-p-value is twice P(X < 0) = 0 plus P(X = 0) = 1/2.
    assert row.p_value == 0.5
    # The upper end of Tango's interval for 0 : 1 of 4 is that of Wilson's for 1 of 4.
    assert row.interval == pytest.approx((-0.3624, wilson(1, 4)[1]), abs=1e-4)
    assert cora.compare(better, scores)["cora"].value == -cora.compare(scores, better)["cora"].value


def test_a_comparison_is_a_table(scores):
    found = cora.compare(scores, scores)
    frame = found.to_frame().set_index("metric")
    assert frame.difference.abs().max() == 0.0
    assert set(frame.index) == set(found) == {name for name in scores if name not in scores.undefined}
    assert len(found) == len(frame)
    assert "cora" in repr(found)
    assert "<td>cora</td>" in found._repr_html_()


def test_several_sets_and_a_baseline(scores):
    better, best = (cora.score(rows(correct)) for correct in ([[1, 1, 1, 1]] * 2 + CORRECT[2:], [[1] * 4] * 4))
    found = cora.compare(scores, better, best)
    # 0, 1 and 2 questions are gained: p is 1, 1/2 and 1/2.
    assert [pair["mcqa"].p_value for pair in found.values()] == [1, 0.5, 0.5]
    frame = found.to_frame()
    assert frame.columns[:3].tolist() == ["first", "second", "metric"]
    assert len(frame) == sum(map(len, found.values()))
    assert all(part in repr(found) for part in ("after - before: 4 questions", "set 2 - before", "p, all together"))
    assert found._repr_html_().count("<table>") == 3
    assert list(cora.compare(scores, better, best, baseline=best)) == [(2, 0), (2, 1)]
    assert cora.compare(scores, best, baseline=best)["acc"].value == -cora.compare(scores, best)["acc"].value
    with user_error("baseline: expected one of the scores"):
        cora.compare(scores, better, baseline=best)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (rows(CORRECT[:3]), r"1 of 4 questions are only in the first \(q3\)"),
        (rows([*CORRECT[:3], [1, 1]]), r"1 of 4 questions were asked differently \('q3'\)"),
        (rows(CORRECT, kind="k"), "every row has are only in the second"),
        (None, "compare: expected Scores, got NoneType"),
    ],
)
def test_scores_that_cannot_be_compared(scores, other, message):
    with pytest.raises(UserError, match=message):
        cora.compare(scores, other and cora.score(other))


def test_variants_of_another_seed_are_not_compared():
    questions = [{"question": f"{n}?", "choices": ["Ice", "Fog", "Dew"], "answer": "Ice"} for n in range(3)]
    one, other = (cora.expand(questions, seed=seed) for seed in (0, 1))
    answers = ["A"] * len(one)
    assert cora.compare(cora.read(one, answers), cora.read(one[::-1], answers))["acc"].value == 0.0
    wrong = [{**question, "answer": "Dew"} for question in questions]
    same_prompts = [cora.expand(each, "prompts") for each in (questions, wrong)]
    for pair in ([one, other], same_prompts):
        with user_error("expanded with different arguments"):
            cora.compare(*(cora.read(variants, ["A"] * len(variants)) for variants in pair))
    with user_error("Make both with score"):
        cora.compare(cora.read(one, answers), cora.score(rows(CORRECT)))


def test_scores_are_pickled_and_computed_once(scores, monkeypatch):
    found = cora.score([*rows(CORRECT)[:-1], {**rows(CORRECT)[-1], "correct": None}])
    assert pickle.loads(pickle.dumps(found))["ci"] == found["ci"]
    first = scores["cora"]
    monkeypatch.setattr(scores, "_functions", dict.fromkeys(scores._functions))
    assert scores["cora"] is first
