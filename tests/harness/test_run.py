"""`lm-eval-cora run`: the results of `lm_eval run` with fewer requests, and errors before a model is built."""

import json
import signal
import sqlite3
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from unittest.mock import patch

import lm_eval.models  # noqa: F401  # before a model is registered: otherwise the harness registers no others
import pytest
from lm_eval.tasks import TaskManager

from lm_eval_cora.cli import main
from lm_eval_cora.harness.compat import harness_options
from lm_eval_cora.variants.probes import PROBES
from tests.support.building import own_task
from tests.support.commands import NAME, Commands, KnowsSome
from tests.support.messages import tells
from tests.support.simulated import TASKS, quickly

ORDER = ["original", *PROBES["divergent"].hardest_first]
EXACT = ["cora", "ci", "mcqa", "bmca@1.0"]


@pytest.fixture(autouse=True)
def quick():
    KnowsSome.built = []
    with quickly():
        yield


@pytest.fixture
def run(tmp_path, capsys):
    return Commands(tmp_path, capsys)


def foreign(folder):
    rows = [{"question": "1 + 1?", "answer": "2"}] * 2
    loader = f"from datasets import Dataset\nrows = lambda **_: {{'test': Dataset.from_list({rows})}}\n"
    (folder / "foreign.py").write_text(loader)
    (folder / "foreign.yaml").write_text(
        "task: foreign\ncustom_dataset: !function foreign.rows\ntest_split: test\noutput_type: generate_until\n"
        "doc_to_text: '{{question}}'\ndoc_to_target: '{{answer}}'\nmetric_list: [{metric: exact_match}]\n"
    )


def is_right(sample):
    """Compare letters, without our reader."""
    said, doc = sample["resps"][0][0], sample["doc"]
    return len(said) == 1 and doc["printed"]["ABCDE".index(said)] == doc["answer"]


def asked_of(samples):
    """The requests of a run that stops at the first wrong answer, from the answers of a full run."""
    asked, settled = set(), set()
    for sample in sorted(samples, key=lambda one: (ORDER.index(one["doc"]["kind"]), one["doc"]["ordinal"])):
        question = sample["doc"]["question_id"]
        if question not in settled:
            asked.add((question, sample["doc"]["ordinal"]))
        if not is_right(sample):
            settled.add(question)
    return asked


# ---- early stopping
ALL_ARGUMENTS = {
    "limit": ["--limit", "3", "--gen_kwargs", "max_gen_toks=17", "--seed", "1,2,3,4"],
    "shots": ["--num_fewshot", "2", "--system_instruction", "Be brief.", "--apply_chat_template"],
    "samples": ["--samples", json.dumps({"cora_demo": [1, 2, 3]})],
    "predictions": ["--predict_only"],
}


@pytest.mark.parametrize("name", ALL_ARGUMENTS)
def test_all_arguments_of_the_harness_reach_it(run, name):
    arguments = ALL_ARGUMENTS[name]
    plain, ours = run.plain(*arguments), run.ours(*arguments)
    assert ours.code == 0
    assert ours.file == plain.file
    assert ours.samples() == plain.samples()
    assert ours.header == plain.header
    assert ours.prompts == list(dict.fromkeys(plain.prompts))
    if name == "predictions":  # without scores, early stopping is impossible
        return
    stopped = run.ours(*arguments, "--stop", "exact")
    values, printed = plain.results["cora_demo"], stopped.results["cora_demo"]
    assert all(printed[f"{key},none"] == values[f"{key},none"] for key in EXACT)
    assert set(stopped.prompts) < set(plain.prompts)
    assert stopped.file["config"] == plain.file["config"]
    assert [s["arguments"] for s in stopped.samples()] == [s["arguments"] for s in plain.samples()]
    assert f"asked:{len(asked_of(plain.samples())) / len(plain.samples()):.1%}" in stopped.signature()


@pytest.mark.parametrize(
    ("named", "read"), [("cora_demo,foreign", False), ("cora_demo*", True), ("grouped", True), ("nowhere", True)]
)
def test_the_task_files_of_the_harness_are_read_only_if_needed(run, tmp_path, named, read):
    foreign(tmp_path)
    (tmp_path / "grouped.yaml").write_text("group: grouped\ntask: [foreign]\n")
    with patch("lm_eval.tasks.TaskManager", side_effect=partial(TaskManager, include_defaults=False)) as manager:
        run.ours("--limit", 1, tasks=named, include=tmp_path)
    assert manager.called is read


def test_a_config_file(run, tmp_path):
    path, ours = tmp_path / "config.yaml", "stop: exact\nmax_gen_toks: 64\nuntil: null\nno_cache: true\n"
    path.write_text(theirs := "gen_kwargs: {until: [x]}\nlimit: 2\nmodel_args: {skill: read}\n")
    plain, ran = run.plain("--config", path), run.ours("--config", path)
    assert ran.file == plain.file
    assert ran.models[0].skill == "read"
    path.write_text(f"{theirs}{ours}budget: 60\n")
    ran = run.ours("--config", path, "--budget", 50)
    assert {"stop:exact", "budget:50"} <= set(ran.signature()), "the command line replaces the file"
    settings = [sample["arguments"]["gen_args_0"]["arg_1"] for sample in ran.samples()]
    assert [(given["max_gen_toks"], given["until"]) for given in settings] == [(64, ["x"])] * 52
    assert not list(ran.folder.rglob("*.db"))
    path.write_text("until: [cora>=0.01, mcqa±0.3]\n")
    ran = run.ours("--config", path, questions=0)
    assert "until:cora>=0.01; mcqa±0.3" in ran.signature()
    assert "n:8x26" in ran.signature()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("stop: exat", "argument --stop: invalid choice: 'exat'"),
        ("budget: true", "argument --budget: expected one argument"),
        ("stop: [exact, exact]", "argument --stop: invalid choice: 'exact,exact'"),
        ("stp: exact", "config.yaml: unknown key 'stp'. Did you mean 'stop'?"),
        ("cora: {seed: 1}", "config.yaml: unknown key 'cora'. Put it under `metadata`."),
        ("metadata: [{cora: {seed: 1}}]", "config.yaml: metadata: expected an object"),
    ],
)
def test_wrong_options_in_a_config_file(run, tmp_path, line, told):
    (tmp_path / "config.yaml").write_text(line)
    ran = run.ours("--config", tmp_path / "config.yaml")
    assert ran.code in (1, 2)
    assert ran.models == []
    assert told in ran.err


@pytest.mark.parametrize("task", ["cora_demo_sampling", "cora_demo_revas"])
def test_a_task_that_cannot_be_stopped_is_asked_in_full(run, task, caplog):
    plain = run.plain(tasks=task, questions=2)
    assert f"{task}: --stop" not in caplog.text
    ours = run.ours("--stop", "exact", tasks=task, questions=2)
    assert ours.code == 0
    assert f"{task}: --stop has no effect" in caplog.text
    assert ours.results == plain.results
    assert ours.signature(task) == plain.signature(task)
    # All requests, except repeated greedy ones.
    for prompts in (ours.prompts, run.ours(tasks=task, questions=2).prompts):
        assert set(prompts) == set(plain.prompts)
        assert len(prompts) == (2 * 5 if "sampling" in task else len(set(plain.prompts)))


@pytest.mark.parametrize("options", [(), ("--stop", "exact")], ids=["in full", "stopped"])
def test_a_cache(run, tmp_path, options):
    cache = tmp_path / "answers" / "cache"
    undisturbed = run.plain()
    first, without = run.ours("--use_cache", cache, *options), run.ours(*options)
    assert [path.name for path in cache.parent.glob("*.db")] == ["cache_rank0.db"]
    with closing(sqlite3.connect(f"{cache}_rank0.db")) as database:
        assert database.execute("SELECT count(*) FROM unnamed").fetchone() == (len(first.prompts),)
    assert first.results == without.results
    second = run.ours("--use_cache", cache, *options)
    assert (first.prompts, second.prompts) == (without.prompts, [])
    assert (second.results, second.signature()) == (first.results, first.signature())
    # A full run of the harness afterwards asks for the missing answers, and reads no marker.
    later = run.plain("--use_cache", cache)
    assert later.results == undisturbed.results
    assert [s["resps"] for s in later.samples()] == [s["resps"] for s in undisturbed.samples()]
    assert sorted(later.prompts) == sorted(set(undisturbed.prompts) - set(first.prompts))
    # And the reverse: a run that stops early uses the answers of a full run.
    assert run.ours("--use_cache", cache, "--stop", "exact").prompts == []


FILTER = "filter: [{function: take_first}]"
TWO_FILTERS = f"filter_list: [{{name: one, {FILTER}}}, {{name: two, {FILTER}}}]\n"
MISTAKES = [
    ("cora_nothing", [], "cora_nothing"),
    ("cora_demo", ["--budget", 25], "25"),  # a question needs 26 requests
    ("cora_demo", ["--max_gen_toks", "8,64", "--gen_kwargs", "max_new_tokens=5"], "both limit the tokens"),
    ("cora_demo", ["--stop", "exact", "--config", "nowhere.yaml"], "nowhere.yaml"),
    ("cora_demo", ["--stop", "exact", "--model", "no-such-model"], "no-such-model"),
    ("two_filters", ["--stop", "exact"], "filter_list"),
    ("repeated", ["--stop", "exact"], "repeats"),
    ("foreign", ["--stop", "exact"], "--stop"),
    ("cora_demo", ["--until", "cora_dmo:cora>=0.4"], "Did you mean 'cora_demo'"),
    *(
        ("cora_demo", ["--samples", samples], "expected")
        for samples in ("nofile.json", "[1]", '{"cora_demo": 5}', '{"cora_demo": [0, "x"]}')
    ),
    ("cora_demo", ["--samples", '{"cora_dmo": [3]}'], "there is no task 'cora_dmo' in this run. Did you mean"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_mistake_is_reported_before_the_model_is_built(run, tmp_path, mistake):
    own_task(tmp_path, TWO_FILTERS, "two_filters")
    own_task(tmp_path, "repeats: 2", "repeated")
    foreign(tmp_path)
    task, arguments, told = mistake
    ran = run.ours(
        *arguments,
        tasks=task,
        include=TASKS if task.startswith("cora") else tmp_path,
        questions=0 if "--until" in arguments else 4,
    )
    assert ran.code == 1
    assert ran.models == [], "a model was built before the mistake was seen"
    (line,) = [line for line in ran.err.splitlines() if line.startswith("lm-eval-cora run: ")]
    assert told in line
    assert "Traceback" not in ran.err
    assert ran.out == ""
    assert not list(ran.folder.rglob("*.json*"))


def test_an_error_of_the_model_leaves_its_class_as_it_was(run):
    failed = run.ours("--stop", "exact", "--model_args", "skill=none")
    assert failed.code == 1
    assert "RuntimeError: out of memory. 0 answers" in failed.err.splitlines()[-1]
    assert "Traceback" not in failed.err
    assert run.ours("--stop", "exact").code == 0


def test_sigterm_says_what_is_kept(run):
    before = signal.getsignal(signal.SIGTERM)
    try:
        stopped = run.ours("--model_args", "skill=terminated")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped.code == 128 + signal.SIGTERM
    assert "stopped by SIGTERM. 0 answers are kept in" in stopped.err.splitlines()[-1]


def test_ctrl_c_says_what_is_kept(run):
    stopped = run.ours("--model_args", "skill=stopped")
    assert stopped.code == 130
    assert "stopped by Ctrl-C. 0 answers are kept in" in stopped.err.splitlines()[-1]
    assert "Traceback" not in stopped.err
    nothing = run.ours("--model_args", "skill=stopped", "--no_cache")
    assert "--output_path FOLDER and do not pass --no_cache" in nothing.err.splitlines()[-1]


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "no space")])
def test_what_happens_to_a_model_is_an_error(run, error):
    # Not mistaken for a closed pipe (`| head`), which is not an error, nor for an error of standard output.
    with patch.object(KnowsSome, "generate_until", side_effect=error):
        failed = run.ours()
    assert failed.code == 1
    assert f"the run ended: {type(error).__name__}" in failed.err.splitlines()[-1]


def test_results_that_cannot_be_written_are_an_error_after_the_table(run):
    with patch.object(Path, "write_text", side_effect=OSError(28, "No space left on device")):
        failed = run.ours()
    assert failed.code == 1
    assert tells(
        failed.err.splitlines()[-1], "Could not save results aggregated in", "Is the disk full?", "run the same"
    )


@pytest.mark.parametrize("name", ["of_the_file", "given"])
def test_a_cache_that_a_file_of_settings_names_lies_inside_too(run, tmp_path, name):
    (tmp_path / "settings.yaml").write_text(f"use_cache: {tmp_path}/of_the_file\n")
    given = ("--use_cache", tmp_path / "given") if name == "given" else ()
    assert run.ours("--config", tmp_path / "settings.yaml", *given, "--stop", "exact", questions=1).code == 0
    # There is one cache. The command line has priority over the file.
    assert [path.name for path in tmp_path.glob("*.db")] == [f"{name}_rank0.db"]


@pytest.mark.parametrize("several", [False, True])
def test_folders_of_the_users_own_in_a_file_of_settings(several, tmp_path):
    names = ["mine", "yours"][: 1 + several]
    for name in names:
        (tmp_path / name).mkdir()
        own_task(tmp_path / name, "", name)
    paths = [str(tmp_path / name) for name in names] if several else str(tmp_path / "mine")
    (tmp_path / "settings.yaml").write_text(json.dumps({"include_path": paths}))
    given = ("run", "--model", NAME, "--config", str(tmp_path / "settings.yaml"))
    # Our tasks are found without --include_path, and in tests without the start-up module.
    tasks = ",".join(["cora_demo", *names])
    assert main([*given, "--tasks", tasks, "--metadata", '{"cora": {"questions": 1}}']) == 0


def test_verbose_logs_each_wave_and_shows_the_traceback(run, caplog):
    run.ours("--stop", "exact")
    assert "wave 1: " not in caplog.text
    run.ours("--stop", "exact", "--verbose")
    assert "wave 1: open questions: 4, requests: 4" in caplog.text
    failed = run.ours("--model_args", "skill=none", "--verbose")
    assert failed.code == 1
    assert 'raise RuntimeError("out of memory")' in failed.err
    line = failed.err.splitlines()[-1]
    assert line.startswith("lm-eval-cora run: the run ended: RuntimeError: out of memory. 0 ")
    assert "lm-eval-cora run --model knows-some-of-it" in line
    given = '{"skill": "none", "auth_token": "hush"}'
    secret = run.ours("--model_args", given).err.splitlines()[-1]
    assert "a secret" in secret
    assert "hush" not in secret


@pytest.mark.parametrize("command", ["ours", "plain"])
def test_keys_in_model_args_reach_the_model_and_are_masked_elsewhere(run, tmp_path, caplog, command):
    path = tmp_path / "config.yaml"
    path.write_text("model_args: {skill: some, auth_token: hush, think_end_token: </t>}\n")
    header = '{"header": {"Authorization": ["Bearer hush"]}, "think_end_token": "</t>"}'
    for given in (["--model_args", header], *([["--config", path, "--limit", 1]] if command == "ours" else [])):
        ran = getattr(run, command)(*given)
        assert "hush" in str(ran.models[0].more)
        written = "".join(file.read_text() for file in ran.folder.rglob("*.json*"))
        assert "***" in written
        assert "</t>" in written
        # The harness logs them before a task is made. There the start-up module masks them.
        assert "hush" not in written + ran.out + ran.err + caplog.text * (command == "ours")


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_a_logger_that_is_not_installed_is_an_error_before_the_run(run, tmp_path, monkeypatch, name):
    if f"--{name}_args" not in harness_options():
        pytest.skip("this version of the harness does not know the logger")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / name).mkdir()  # as W&B does in the folder of a run
    monkeypatch.delitem(sys.modules, name, raising=False)
    ran = run.ours(f"--{name}_args", "project=mine")
    assert (ran.code, ran.models) == (1, [])
    assert f"--{name}_args: {name} is not installed. Run pip install {name}" in ran.err
