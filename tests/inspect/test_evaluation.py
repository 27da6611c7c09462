"""The task for Inspect beside the harness: a model that answers from a hash of the prompt gets the same scores."""

import json
from pathlib import Path

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="needs the extra `inspect`")

from inspect_ai._util.error import PrerequisiteError  # noqa: E402
from inspect_ai.log import read_eval_log, write_eval_log  # noqa: E402
from inspect_ai.scorer import match  # noqa: E402

from lm_eval_cora.cli import main  # noqa: E402
from lm_eval_cora.errors import UserError  # noqa: E402
from lm_eval_cora.harness.docs import doc_to_text  # noqa: E402
from lm_eval_cora.inspect.evaluation import answers, cora  # noqa: E402
from lm_eval_cora.runs.comparable import not_comparable  # noqa: E402
from lm_eval_cora.runs.grouping import read_runs  # noqa: E402
from lm_eval_cora.runs.inspect_logs import OURS  # noqa: E402
from lm_eval_cora.runs.task_files import benchmark_names  # noqa: E402
from lm_eval_cora.variants.probes import PROBES  # noqa: E402
from tests.support.building import build  # noqa: E402
from tests.support.inspecting import Hashing, HashingAPI, evaluate, values  # noqa: E402
from tests.support.messages import tells  # noqa: E402
from tests.support.simulated import run, scores  # noqa: E402
from tests.support.written import put, save  # noqa: E402

ROWS = [
    {
        "id": f"q{n}",
        "question": f"Which is {n}?",
        "choices": [f"{n}", f"{n + 1}", f"{n + 2}"],
        "answer": 0,
        "cluster": f"p{n // 2}",
    }
    for n in range(8)
]


@pytest.fixture(autouse=True)
def _model():
    HashingAPI.fails = set()


def in_harness(folder, task, options, **arguments):
    results = run(Hashing(), task, options, **arguments)
    save(folder, results)
    return scores(results, task)


def estimates(run):
    """Values and errors to the last digit; nan equals nan."""
    return {name: repr(estimate) for name, estimate in run.estimates.items()}


CASES = [
    *(("demo", probe, {"questions": 3}) for probe in PROBES),
    ("demo", "order", {"questions": 3, "orders": "cyclic", "seed": 4, "reader": "strict"}),
    ("demo", "plus", {"questions": 3, "variants": 1}),
    ("demo", "plus", {"questions": 3, "num_fewshot": 3}),
    ("demo", "revas", {"questions": 3, "num_fewshot": 2, "fewshot_seed": 5}),
    ("local", "divergent", {"repeats": 2}),
    ("mmlu", "divergent", {"questions": 2}),
    ("mmlu_pro", "prompts", {"questions": 4}),
    ("math", "prompts", {"questions": 2}),
    (
        "hub",
        "divergent",
        {
            "hub": "openlifescienceai/medmcqa",
            "split": "validation",
            "choices": ["opa", "opb", "opc", "opd"],
            "answer": "cop",
            "questions": 2,
        },
    ),
]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(("benchmark", "probe", "options"), CASES)
def test_values_errors_and_signature_are_those_of_the_harness(benchmark, probe, options, tmp_path):
    if benchmark == "local":
        options = {**options, "data_files": str(put(tmp_path / "my.jsonl", ROWS))}
    log = evaluate(tmp_path / "log", benchmark=benchmark, probe=probe, **options)
    name = log.eval.task
    shots = {"num_fewshot": options.pop("num_fewshot", None), "fewshot_random_seed": options.pop("fewshot_seed", 1234)}
    found = in_harness(tmp_path / "out", name, options, **shots)
    ours, theirs = read_runs([tmp_path / "log", tmp_path / "out"])
    assert values(log).items() <= found.items()
    assert values(log).keys() & {"acc_stderr", "mcqa_stderr"}
    assert estimates(ours) == estimates(theirs)
    assert ours.differences == theirs.differences == []
    assert not not_comparable(ours, theirs)


def test_an_epoch_is_one_more_question_in_the_cluster_of_its_question(tmp_path):
    once, log = evaluate(tmp_path / "a"), evaluate(tmp_path / "b", {"epochs": 2})
    (one,), (run,) = read_runs([tmp_path / "a"]), read_runs([tmp_path / "b"])
    assert (run.count, run.table.units, one.count) == (6, 3, 3)
    assert run.differences == []
    names = ("mcqa", "cora", "bmca@1.0", "consistency_rate")
    assert [values(log)[name] for name in names] == pytest.approx([values(once)[name] for name in names], abs=1e-12)
    error = values(log)["consistency_rate_stderr"]  # both epochs are equal
    assert error == pytest.approx(one.estimates["consistency_rate"].stderr, abs=1e-12)


def test_early_stopping_keeps_the_metrics_that_stay_exact(tmp_path):
    whole = evaluate(tmp_path / "whole", benchmark="demo", questions=8)
    every = len(HashingAPI.prompts)
    log = evaluate(tmp_path / "log", benchmark="demo", questions=8, stop="exact")
    asked = len(HashingAPI.prompts)
    assert asked < every / 2
    assert values(log).keys() >= {"cora", "cora_stderr", "mcqa", "bmca@1.0"}
    assert values(log).items() <= values(whole).items()
    (run,) = read_runs([tmp_path / "log"])
    assert (run.table.answers, len(run.table.skipped), run.differences) == (asked, every, [])
    assert "stopped early" in run.notes[0]
    assert not not_comparable(run, *read_runs([tmp_path / "whole"])).partition("their settings differ: stop")[0]


def test_a_failed_sample_is_missing(tmp_path):
    """Its question is left out, unless early stopping has seen a wrong answer to it."""
    evaluate(tmp_path / "a")
    HashingAPI.fails = {HashingAPI.prompts[30]}
    for name, more, count in (("b", {}, 2), ("c", {"stop": "exact"}, 3)):
        log = evaluate(tmp_path / name, {"fail_on_error": False}, benchmark="demo", questions=3, **more)
        (run,) = read_runs([tmp_path / name])
        assert (run.count, run.differences) == (count, [])
        assert values(log)["mcqa"] == run.estimates["mcqa"].value
    assert "variants are missing" in read_runs([tmp_path / "b"])[0].notes[0]


def test_a_retry_goes_on(tmp_path):
    whole = evaluate(tmp_path / "a")
    HashingAPI.fails = {HashingAPI.prompts[40]}
    log = evaluate(tmp_path / "b")
    assert log.status == "error"
    HashingAPI.fails, HashingAPI.prompts = set(), []
    (again,) = inspect_ai.eval_retry(log, display="none", log_dir=str(tmp_path / "c"))
    assert len(HashingAPI.prompts) < 78
    assert values(again) == values(whole)


def test_the_strict_reader_reads_again(tmp_path):
    log = evaluate(tmp_path / "a", benchmark="demo", probe="prompts", questions=3)
    strict = inspect_ai.score(log, answers(reader="strict"), action="overwrite", display="none")
    write_eval_log(strict, log.location)
    found = in_harness(tmp_path / "out", "cora_demo_prompts", {"questions": 3, "reader": "strict"})
    assert values(strict).items() <= found.items()
    ours, theirs = read_runs([tmp_path / "a", tmp_path / "out"])
    assert estimates(ours) == estimates(theirs)
    assert (ours.reader, ours.differences, not_comparable(ours, theirs)) == ("strict", [], "")
    stopped = evaluate(tmp_path / "b", benchmark="demo", questions=3, stop="exact")
    with pytest.raises(PrerequisiteError) as error:
        inspect_ai.score(stopped, answers(reader="strict"), display="none")
    assert tells(str(error.value), "-S reader=strict", "expected flexible", "stopped")


def test_another_scorer_changes_nothing_and_a_log_that_was_changed_is_one_error(tmp_path):
    log = evaluate(tmp_path / "a", benchmark="demo", questions=2)
    (before,) = read_runs([tmp_path / "a"])
    write_eval_log(inspect_ai.score(log, match(), action="append", display="none"), log.location)
    (after,) = read_runs([tmp_path / "a"])
    assert (estimates(after), after.differences) == (estimates(before), [])
    del log.eval.metadata[OURS]["metadata"]
    write_eval_log(log, log.location)
    with pytest.raises(UserError, match="expected a log of the task lm_eval_cora/cora, got KeyError"):
        read_runs([tmp_path / "a"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, ("no questions", "data_files", "-T OPTION=VALUE")),
        ({"benchmark": "medqs"}, ("-T benchmark=medqs", "expected one of agieval", "'medqa'")),
        ({"benchmark": "of"}, ("-T benchmark=of", "expected one of agieval")),
        ({"probe": "ordr"}, ("-T probe=ordr", "expected one of divergent", "'order'")),
        ({"probe": "order_mc"}, ("-T probe=order_mc", "expected one of divergent", "harness only")),
        ({"benchmark": "demo", "stop": "early"}, ("-T stop=early", "expected exact")),
        ({"benchmark": "demo", "stop": "exact", "repeats": 1}, ("-T stop=exact", "without repeats")),
        ({"benchmark": "demo", "probe": "revas", "stop": "exact"}, ("-T stop=exact", "ci or bmca")),
        ({"benchmark": "demo", "question": 3}, ("cora_demo", "'question'", "'questions'")),
        ({"benchmark": "demo", "constrain": True}, ("option 'constrain'", "no effect in Inspect")),
        ({"benchmark": "demo", "num_fewshot": 999}, ("cora_demo", "num_fewshot 999", "at most")),
    ],
)
def test_what_cannot_be_asked_is_one_line_before_the_first_request(arguments, said):
    with pytest.raises(PrerequisiteError) as error:
        cora(**arguments)
    assert tells(str(error.value), *said)
    assert len(str(error.value).splitlines()) == 1


def test_a_limit_is_refused_with_its_remedy(tmp_path):
    with pytest.raises(PrerequisiteError) as error:
        evaluate(tmp_path, {"limit": 30})
    assert tells(str(error.value), "--limit", "-T questions=N")
    assert HashingAPI.prompts == []


def test_every_command_reads_a_folder_of_logs_and_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = {"benchmark": "demo", "questions": 3}
    for probe in ("divergent", "order"):
        evaluate("runs/logs", **arguments, probe=probe)
    in_harness(Path("runs/out"), "cora_demo", {"questions": 3})
    found = {(run.model, run.name): run for run in read_runs([Path("runs")])}
    assert {key: (run.count, len(run.files)) for key, run in found.items()} == {
        ("hashing/m", "cora_demo"): (3, 1),
        ("hashing/m", "cora_demo_order"): (3, 1),
        ("some-org/some-model", "cora_demo"): (3, 1),
    }
    log = found["hashing/m", "cora_demo"]
    assert log.files[0].suffix == ".eval"
    assert log.line(log.source.record(0))["arguments"][0][0] == read_eval_log(log.files[0]).samples[0].input
    path = str(log.files[0])
    for command in (
        ["score", path],
        ["report", "runs", "--format", "md", "-o", "report.md"],
        ["compare", path, "runs/out"],
        ["gate", path, "--require", "invalid>=0"],
        ["gate", path, "--baseline", "runs/out", "--same", "cora:0.5"],
        ["leaderboard", "runs", "-o", "board.html"],
        ["export", "runs", "--format", "csv", "-o", "runs.csv"],
        ["export", path, "--format", "every-eval-ever", "-o", "records", "--relationship", "other"],
    ):
        assert main(command) in (0, 2), capsys.readouterr().err
        assert "differs from its samples" not in "".join(capsys.readouterr())
    (record,) = Path("records").rglob("*.json")
    assert json.loads(record.read_text())["eval_library"] == {"name": "inspect_ai", "version": inspect_ai.__version__}


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("benchmark", sorted({*benchmark_names()} - {"hub", "local"}))
def test_every_benchmark_asks_the_prompts_of_the_harness(benchmark):
    configs = {"global_mmlu": {"config": "de"}, "mmlu_redux": {"config": ["anatomy", "virology"]}}  # of the made-up hub
    options = {"questions": 2, **configs.get(benchmark, {})}
    task = cora(benchmark=benchmark, probe="prompts" if benchmark == "math" else "divergent", **options)
    docs = build(task.name, **options).test_docs()
    assert len(task.dataset) == len(docs) > 0
    assert all(sample.input.endswith(doc_to_text(doc)) for sample, doc in zip(task.dataset, docs, strict=True))
