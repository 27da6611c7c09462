"""The table `validity`: a line for each difference and run, or the task that would give it."""

from lm_eval_cora import metrics
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.report.content import Examples
from lm_eval_cora.report.probe_views import validity
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.tables.number import Number
from lm_eval_cora.variants.probes import PROBES
from tests.support.tables import questions, table_of
from tests.support.written import says, the_run, write


def run_of(probe):
    table = table_of(questions(20, probe, (3, 4), 1))
    return Run("a", f"cora_x_{probe}", (), Data(), PROBES[probe], table, form="generate")


def rows_of(*runs):
    (table,) = validity(runs)
    assert len({row[-1] for row in table.rows if row[-1]}) == 5  # the meanings
    return [row[:-1] for row in table.rows]


def test_each_difference_is_that_of_its_run_and_a_line_without_a_run_names_its_task():
    whole, order, hidden, labels = map(run_of, ("divergent", "order", "choices_only", "labels"))
    nota, *rows, worst = rows_of(whole, order, hidden, labels)
    assert nota[1:] == ["cora_BENCHMARK_revas", "", "not run", ""]
    assert [row[1:3] for row in rows] == [[run.name, "a"] for run in (whole, order, hidden, labels)]
    alone = hidden.table.where(hidden.table.is_kind("choices_only"))
    found = [*map(metrics.order_gap, (whole.table, order.table)), metrics.above_chance(alone)]
    found.append(metrics.order_gap(labels.table))
    assert [row[3:] for row in rows] == [list(Number.of(one, signed=True).with_interval) for one in found]
    lost = difference(metrics.mcqa(whole.table), metrics.bmca(whole.table, level=1.0))
    assert worst[1:] == [whole.name, "a", *Number.of_difference(lost).with_interval]
    assert lost.value < 0


def test_none_of_the_others_is_from_the_study_and_nothing_is_shown_without_a_line():
    assert rows_of(run_of("revas"))[0][1] == "cora_x_revas"
    assert validity([run_of("sampling")]) == []


def test_the_page_marks_an_abstention_as_neither_wrong_nor_invalid(tmp_path):
    written = write(tmp_path, lambda doc: says(doc, doc["printed"][-1]), "cora_demo_abstain", {"questions": 3})
    assert [written.printed[f"{name},none"] for name in ("answered", "penalised_warned", "invalid")] == [0, 0, 0]
    section, *_ = make_report([the_run(tmp_path)]).sections
    shown = [each for block in section.more if isinstance(block, Examples) for each in block.examples]
    verdicts = {(one.kind, one.verdict) for each in shown for one in each.answers}
    assert {("abstain", "abstained"), ("abstain_warned", "abstained")} < verdicts
    assert not {verdict for kind, verdict in verdicts if kind == "original"} & {"abstained", "invalid"}
