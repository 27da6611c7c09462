"""Scores of variants, and the data in the results file."""

import copy
import json
import math
import pickle
from dataclasses import replace
from logging import CRITICAL

import pytest

from lm_eval_cora.answers.records import Record
from lm_eval_cora.decide.verdicts import Requirement, verdicts_of
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.compat import Undefined
from lm_eval_cora.harness.scoring import metric_keys, score_response, spread
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark, Data
from lm_eval_cora.questions.loading import questions_digest
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.signature import signature_parts
from lm_eval_cora.variants.divergent import DIVERGENT
from lm_eval_cora.variants.probes import PROBES
from tests.support.building import build
from tests.support.messages import tells
from tests.support.rows import write as write_rows
from tests.support.simulated import Simulated, knows, run
from tests.support.written import lines_of, put, the_run, write

DOC = {
    "question_id": "q1",
    "kind": "shuffled",
    "ordinal": 1,
    "variants": 8,
    "original": False,
    "category": "physics",
    "ask": "letter",
    "printed": [1, 0],
    "choices": ["Ice", "Fog"],
    "answer": 0,
}


def test_a_record_holds_what_the_metrics_need():
    about = {"category": "physics", "position": 1, "followed": True, "rule": "a letter at the start"}
    expected = Record("q1", 8, 1, "shuffled", (1, 0), 0, picked=0, reason=None, **about)
    assert score_response(DOC, ["(B) since"]) == expected


@pytest.mark.parametrize("results", [[], [None], [[]], [["", "B"]], [float("nan")], [{}], ["\ud83d"], [b"B"]])
def test_whatever_a_filter_hands_on_is_scored(results):
    assert score_response(DOC, results).picked is None
    assert score_response(DOC, [["B", "A"]]).correct  # a filter may hand on lists


def test_what_a_line_of_the_samples_file_says():
    every = {"B": {"acc": 1.0, "consistency_rate": "0"}, "Based on": {"acc": 0.0, "invalid": "no letter"}}
    for said, told in every.items():
        line = {}
        line.update(spread(score_response(DOC, [said]), metric_keys(["acc", "cora", "consistency_rate", "invalid"])))
        written = json.loads(json.dumps(line))  # loggers can write no other types
        assert {key: value for key, value in written.items() if value != "" and key != "rule"} == told


def test_a_probe_with_one_variant_has_an_accuracy_and_one_note(tmp_path, monkeypatch, caplog):
    def only_original(question, setting):
        return [replace(variant, variants=1) for variant in DIVERGENT.expand(question, setting)[:1]]

    monkeypatch.setitem(PROBES, "divergent", replace(DIVERGENT, expand=only_original))
    done = write(tmp_path, knows, "cora_demo", {"questions": 40})
    assert [done.printed[f"{name},none"] for name in ("mcqa", "cora", "ci")] == [1.0, "nan", "nan"]
    found = the_run(done.folder)
    for told in (caplog.messages, found.warnings):
        (note,) = [text for text in told if "needs several variants of each question" in text]
        assert "undefined: " in note
    (verdict,) = verdicts_of([found], [], [Requirement("cora", ">=", 0.5)])
    assert (verdict.outcome, verdict.reason) == ("undecided", "cora is undefined in this run")


class Telling(Simulated):
    """Passes each answer on before it has the next one, and counts what the log says until then."""

    def generate_until(self, requests, disable_tqdm=False):
        answers = super().generate_until(requests)
        for request, answer in zip(requests, answers, strict=True):
            self.cache_hook.add_partial("generate_until", request.args, answer)
            self.told.append(sum("after the first 50 answers" in text for text in self.log.messages))
        return answers


def test_the_first_answers_say_what_is_wrong_with_all(caplog):
    def told(rule, wrap=lambda model: model):
        model = Telling(rule)
        model.told, model.log, own = [], caplog, model.cache_hook
        run(wrap(model), "cora_demo", {"questions": 4})
        assert model.cache_hook is own
        return model.told

    assert set(told(knows)) == {0}
    # Answers to a limit after which the others are asked again do not count.
    limits = told(lambda doc: "Let me think.", lambda model: stop_early(model, None, max_gen_toks=(1, 9)))
    assert limits == [0] * (104 + 49) + [1] * 55
    caplog.clear()
    assert told(lambda doc: f"Let me see {doc['ordinal']}.") == [0] * 49 + [1] * 55
    (advice,) = [text for text in caplog.messages if "after the first 50 answers" in text]
    assert tells(advice, "100% of the answers", "50 of 50", "'Let me see 0.' and 'Let me see 1.'", "add --apply_chat")


def test_records_travel_between_ranks():
    row = dict(spread(score_response(DOC, ["B"]), metric_keys(["acc", "cora"])).items())
    back = pickle.loads(pickle.dumps(row))
    # All metrics share one object. Otherwise each metric would build its own table.
    assert back["acc"] is back["cora"]
    assert back["cora"] == row["cora"]


def test_a_sample_holds_only_what_says_something_about_one_variant():
    keys = metric_keys(["acc", "cora", "consistency_rate", "invalid", "ties"])
    row = spread(score_response(DOC, ["B"]), keys)
    # As the harness uses it: names and values of all metrics, and a sample that is updated with them.
    assert list(row.keys()) == keys == [key for key, _ in row.items()]
    assert len({id(value) for _, value in row.items()}) == 1
    sample = {"doc_id": 0}
    sample.update(row)
    assert list(sample) == ["doc_id", "acc", "consistency_rate", "invalid", "ties", "rule"]


def test_an_undefined_value_is_nan_everywhere():
    value = Undefined()
    assert f"{value}" == "nan"
    assert json.dumps({"cora": value}) == '{"cora": "nan"}'
    assert math.isnan(value)
    # Weighted and plain means of groups, and copies by loggers.
    assert json.dumps([sum([value * 3, 0.5 * 4]) / 7, sum([0.5, value]) / 2]) == '["nan", "nan"]'
    assert [copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))] == ["nan"] * 3


# ---- the data in the results file
ROW = {"id": "q1", "question": "Frozen water?", "choices": ["Ice", "Fog"], "answer": 0, "category": "physics"}


def test_the_digest_does_not_depend_on_the_order_of_the_rows():
    rows = [{**ROW, "id": f"q{number}"} for number in range(5)]
    assert questions_digest(rows) == questions_digest(rows[::-1])
    assert len({questions_digest(rows[:count]) for count in range(6)}) == 6
    # It depends on all of a question, and the parts of a row do not run together.
    options = [{"choices": ["Fog", "Ice"]}, {"choices": ["Ice, Fog"]}]
    changes = [{}, {"id": "q2"}, {"question": "Frozen  water?"}, {"answer": 1}, {"category": ""}, *options]
    assert len({questions_digest([{**ROW, **change}]) for change in changes}) == len(changes)


def of(**options):
    """The data of a run of the demo, or of `cora_local` on rows."""
    task = "cora_local_order" if "data_files" in options else "cora_demo_order"
    results = run(knows, task, options)
    metadata = results["configs"][task]["metadata"]
    data = Data.of(metadata)
    assert signature_parts(metadata["signature"])["data"] == data.digest
    assert len(data.digest) == 8
    return data


def test_the_options_that_choose_questions_leave_the_digest():
    assert of() == of(questions=2, seed=3) == of(categories=["physics"]) == of(option_references="leave_out")
    assert of().name == "demo"


def test_the_digest_of_a_users_file_is_that_of_its_questions(tmp_path):
    def written(name, *stems):
        (path := tmp_path / name).parent.mkdir(exist_ok=True)
        return write_rows(path, *({**ROW, "id": stem, "question": stem} for stem in stems))

    one = of(data_files=written("one/my.jsonl", "a", "b"))
    assert one == of(data_files=written("two/my.jsonl", "b", "a"))
    assert one.digest == of(data_files=written("copy.jsonl", "a", "b")).digest
    assert one.digest != of(data_files=written("three/my.jsonl", "a", "c")).digest
    assert of(data_files=[written("x.jsonl", "a"), written("y.jsonl", "b")]).digest == one.digest


@pytest.mark.parametrize("task", ["cora_demo_order", "cora_demo_order_mc"])
def test_the_data_and_the_signature_stand_in_the_results_without_scores_too(task):
    runs = [run(knows, task, {"questions": 2}, predict_only=alone) for alone in (False, True)]
    scored, bare = (results["configs"][task]["metadata"] for results in runs)
    assert Data.of(bare) == Data.of(scored) == of()
    assert bare["signature"] == scored["signature"].replace("|invalid:0.0%", "")
    assert "intervals" not in bare


def test_a_name_that_no_file_can_hold(tmp_path, caplog):
    task = build("cora_demo_order")
    assert isinstance(task._benchmark, Benchmark)
    task._benchmark = replace(task._benchmark, name="my\udce9|x")
    with caplog.at_level(CRITICAL, logger.name):  # pytest cannot send the name to another process
        task.download()
    data = task._data
    assert (data.name, data.digest) == ("my?|x", of().digest)
    (tmp_path / "results.json").write_text(json.dumps(data.in_metadata(), ensure_ascii=False), encoding="utf-8")


def test_passages_are_units_in_results_samples_and_signature(tmp_path):
    rows = [{**ROW, "id": f"q{n}", "question": f"Frozen water {n}?", "cluster": f"p{n // 3}"} for n in range(12)]
    data, task = put(tmp_path / "rows.jsonl", rows), "cora_local_order"

    def evaluated(name, **options):
        given = {"data_files": str(data), **options}
        written = write(tmp_path / name, lambda doc: "A" if doc["question_id"] < "q6" else knows(doc), task, given)
        return written, the_run(written.folder)

    shared, read_again = evaluated("shared")
    alone, of_questions = evaluated("alone", cluster="id")
    assert shared.printed["acc_mean,none"] == alone.printed["acc_mean,none"]
    assert shared.printed["acc_mean_stderr,none"] > alone.printed["acc_mean_stderr,none"]
    assert "|n:12x2|passages:4|" in read_again.signature
    assert "passages" not in of_questions.signature
    assert lines_of(shared.samples)[0]["doc"]["cluster"] == "p0"
    assert (read_again.table.units, read_again.differences) == (4, [])
    assert any("12 questions in 4 passages are few" in warning for warning in read_again.warnings)
    assert "questions share different passages" in not_comparable(of_questions, read_again)
    assert make_report([read_again]).sections[0].subtitle.startswith("12 questions in 4 passages")
