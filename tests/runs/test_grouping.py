"""Metrics recomputed from samples equal those of the harness, and files are grouped into runs."""

import json
from dataclasses import replace

import pytest

from lm_eval_cora.questions.messages import left_out_for_references
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.grouping import read_contestants, read_runs
from tests.support.leaderboards import SEA, SKY, state_of_helm
from tests.support.messages import tells, user_error
from tests.support.names import probe_of
from tests.support.written import (
    DEMO,
    check_numbers,
    copied,
    digits,
    edit_results,
    everything,
    lines_of,
    put,
    the_run,
    varied,
    write,
)


@pytest.mark.parametrize("task", DEMO)
def test_the_numbers_are_those_of_the_harness(task, demo):
    run = the_run(demo[task].folder)
    form = "loglikelihood" if task.endswith("_mc") else "generate"
    assert (run.task, run.probe.name, run.form, run.notes) == (task, probe_of(task), form, ())
    check_numbers(run, demo[task], task)
    assert f"task:{task}@1|" in run.signature


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    "task",
    [
        *("cora_truthfulqa", "cora_arc_challenge_order", "cora_arc_challenge_revas_mc", "cora_mmlu_pro_prompts"),
        *("cora_agieval_order_mc", "cora_agieval_prompts", "cora_mmlu_pro_sampling"),
    ],
)
def test_the_numbers_of_questions_of_many_sizes_and_categories(task, tmp_path):
    written = write(tmp_path, varied, task, {}, num_fewshot=0)
    run = the_run(tmp_path)
    check_numbers(run, written, task)
    written.results.unlink()
    alone = the_run(tmp_path)
    assert (alone.probe.name, alone.form) == (run.probe.name, run.form)
    check_numbers(alone, written, task)


@pytest.mark.usefixtures("hub")
def test_the_numbers_of_answers_of_the_models_own(tmp_path):
    pytest.importorskip("math_verify")
    tasks = ("cora_math_prompts", "cora_math_sampling")
    written = {task: write(tmp_path, varied, task, {"questions": 3}) for task in tasks}
    for _ in range(2):  # with and without the results files
        runs = read_runs([tmp_path])
        assert [run.probe.name for run in runs] == ["prompts", "sampling"]
        for run in runs:
            check_numbers(run, written[run.task], run.task)
            written[run.task].results.unlink(missing_ok=True)


@pytest.mark.parametrize("task", DEMO)
def test_samples_without_a_results_file(task, demo, tmp_path):
    lines = lines_of(demo[task].samples)
    run = the_run(put(tmp_path / "samples.jsonl", lines))
    assert (run.probe.name, run.form) == (probe_of(task), "loglikelihood" if task.endswith("_mc") else "generate")
    check_numbers(run, demo[task], task)
    assert run.signature == ""
    assert "no results file" in " ".join(run.warnings)
    question = [line for line in lines if line["doc"]["question_id"] == lines[0]["doc"]["question_id"]]
    assert the_run(put(tmp_path / "one.jsonl", question)).probe.name == probe_of(task)


@pytest.mark.parametrize(("task", "questions"), [("cora_demo_plus", 1), ("cora_demo_plus_mc", 4)])
def test_one_variant_of_each_question(task, questions, tmp_path):
    written = write(tmp_path, varied, task, {"questions": questions, "variants": 1})
    run = the_run(tmp_path)
    assert "mcqa_plus_sampled" in run.estimates
    assert run.differences == []
    written.results.unlink()
    alone = the_run(tmp_path)
    assert (alone.probe.name, list(alone.estimates)) == ("plus", list(run.estimates))
    everything(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("cora", 0.123), ("cora_stderr", "nan"), ("acc_min", "?"), ("invalid", [1]), ("cora", 7), ("acc_min_stderr", {})],
)
def test_an_edited_results_file_is_named(key, value, demo, tmp_path):
    written = copied(demo["cora_demo"], tmp_path)
    edit_results(written, lambda results: results["results"]["cora_demo"].update({f"{key},none": value}))
    run = the_run(tmp_path)
    (told,) = run.differences
    assert tells(told, f"{key.removesuffix('_stderr')} is ", f"{value:.4f}" if value == 0.123 else str(value))
    (warning,) = (each for each in run.warnings if "differs" in each)
    assert warning == f"the results file beside {written.samples.name} differs from its samples: {told}"
    # Errors of another version are not compared.
    older = replace(run, signature=f"{run.signature.rpartition('|v')[0]}|v0.2.0")
    assert len(older.differences) == (not key.endswith("_stderr"))


def test_questions_left_out_because_of_their_options(demo, tmp_path):
    written = copied(demo["cora_demo"], tmp_path)
    about = the_run(tmp_path).signature.replace("|form:", "|left_out:7|form:")
    edit_results(written, lambda results: results["configs"]["cora_demo"]["metadata"].update(signature=about))
    assert left_out_for_references(7) in the_run(tmp_path).notes


def test_the_probe_of_a_single_kind_of_variant(demo, tmp_path):
    """A run of `_plus` with the option `variants: 1` may have a single kind."""
    lines = {line["doc"]["kind"]: line for line in lines_of(demo["cora_demo_plus"].samples)}
    for line in lines.values():
        line["doc"].update(variants=1, ordinal=0)
        assert the_run(put(tmp_path / "samples.jsonl", [line])).probe.name == "plus"


# ---- which files are a run
@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """A run of the questions of one category."""
    folder = tmp_path_factory.mktemp("older")
    return write(folder, lambda doc: "A", "cora_demo_order", {"categories": ["astronomy"]})


def test_folders_with_two_models_and_models_of_one_name(demo, other, tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    copied(demo["cora_demo"], before)
    for written in (demo["cora_demo"], demo["cora_demo_order"], other):
        copied(written, after)
    runs = read_runs([after])
    some, another = "some-org/some-model", "another-org/another-model"
    tasks = [(another, "cora_demo", ()), (some, "cora_demo", ()), (some, "cora_demo_order", ())]
    assert [(run.model, run.task, run.notes) for run in runs] == tasks
    check_numbers(runs[0], other, "cora_demo")
    check_numbers(runs[1], demo["cora_demo"], "cora_demo")
    both = [run.model for run in read_runs([before, after])]
    assert both == [f"{some} ({before})", another, *[f"{some} ({after})"] * 2]


def test_models_in_local_folders(older, tmp_path):
    snapshots = [f"/hub/models--ORG--{name}/snapshots/{digit * 40}" for name, digit in (("one", "1"), ("one", "2"))]
    for number, model in enumerate(["/a/x/model", "/b/y/model", "ORG/name", *snapshots]):
        written = copied(older, tmp_path / str(number))
        edit_results(written, lambda results, model=model: results.update(model_name=model))
    found = " ".join(run.model for run in read_runs([tmp_path]))
    assert found == "x/model y/model ORG/one@1111111 ORG/one@2222222 ORG/name"


SPOILT = {
    "cut": '{"results": {"cora_demo_order": {"acc',
    "list": "[]",
    "results a list": '{"results": [1]}',
    "task a text": '{"results": {"cora_demo_order": "x"}}',
    "configuration a text": '{"results": {}, "configs": {"cora_demo_order": "x"}}',
    "config a list": '{"results": {}, "config": [1], "configs": {"cora_demo_order": {"metadata": {"signature": 5}}}}',
    "deep": "[" * 100_000,
    "bytes": b"\xff\xfe",
    **{f"model {name!r}": json.dumps({"results": {}, "model_name": name}) for name in (5, "|\n`x`", "../..", "\u202e")},
}


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_results_files(name, demo, tmp_path):
    """The samples are still read."""
    for folder in (tmp_path, tmp_path / "again"):
        written = copied(demo["cora_demo_order"], folder)
        put(written.samples, lines_of(written.samples)[:15])
        put(written.results, [SPOILT[name]])
    run = the_run(tmp_path)
    assert (run.probe.name, len(run.table.sizes)) == ("order", 3)
    everything(tmp_path)


def test_runs_with_no_variant_in_common_are_merged(tmp_path):
    first, second = (
        write(tmp_path / "out", varied, "cora_demo", {"categories": [name]}) for name in ("astronomy", "biology")
    )
    run = the_run(first.folder)
    assert run.files == (second.samples, first.samples)
    (note,) = run.notes
    assert tells(note, "merged 2 runs of one task", second.samples.name, first.samples.name)
    # It is as a single run on the same questions.
    both = the_run(write(tmp_path, varied, "cora_demo", {"categories": ["biology", "astronomy"]}, "both").samples)
    assert (digits(run), run.differences, not_comparable(run, both)) == (digits(both), [], "")
    assert run.signature == both.signature.replace(":biology,astronomy|", ":astronomy,biology|")
    check_numbers(the_run(first.samples), first, "cora_demo")
    for part in (first, second):  # invalid signatures
        edit_results(part, lambda results: results["configs"]["cora_demo"]["metadata"].update(signature="none"))
    run = the_run(first.folder)
    assert (len(run.files), run.signature) == (2, "none")


OTHERWISE = {
    "the same variants": ({"categories": ["astronomy"]}, {}, {}),
    "some of the variants": ({"categories": ["astronomy", "biology"]}, {}, {}),
    "seed": ({"seed": 1}, {}, {}),
    "reader": ({"reader": "strict"}, {}, {}),
    "words": ({"nota_text": "Something else"}, {}, {}),
    "shots": ({}, {"num_fewshot": 1}, {}),
    "generation": ({}, {"gen_kwargs": {"max_gen_toks": 99}}, {}),
    # The command line of the harness writes these to the file.
    "system instruction": ({}, {"system_instruction": "Be brief."}, {"system_instruction_sha": "5a"}),
    "chat template": ({}, {}, {"chat_template_sha": "bb"}),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_the_newest_of_runs_that_cannot_be_merged_is_used(name, older, tmp_path):
    options, arguments, results = OTHERWISE[name]
    older = copied(older, tmp_path)
    newer = write(tmp_path, varied, "cora_demo_order", {"categories": ["biology"], **options}, **arguments)
    edit_results(newer, lambda found: found.update(results))
    run = the_run(tmp_path)
    assert run.files == (newer.samples,)
    check_numbers(run, newer, "cora_demo_order")
    (note,) = run.notes
    assert tells(note, f"left out {older.samples}, older than {newer.samples}: ")


def test_a_results_file_instead_of_its_folder(demo, tmp_path):
    """With --output_path my_scores.json the harness writes my_scores_<date>.json, and the samples beside it."""
    written = copied(demo["cora_demo"], tmp_path / "two")
    copied(demo["cora_demo_order"], tmp_path / "two")
    for path in (written.results, written.samples):
        check_numbers(the_run(path), written, "cora_demo")
    (folder := tmp_path / "one").mkdir()
    results = written.results.rename(folder / written.results.name.replace("results", "my_scores"))
    written.samples.rename(folder / written.samples.name)
    for path in (folder, results):
        check_numbers(the_run(path), demo["cora_demo"], "cora_demo")
        assert the_run(path).signature


def test_samples_whose_last_questions_are_cut_off_are_noted(demo, tmp_path):
    written = copied(demo["cora_demo"], tmp_path)
    put(written.samples, lines_of(written.samples)[: -2 * 26])
    assert the_run(tmp_path).notes[-1].startswith("2 questions of the run are missing")


@pytest.mark.parametrize(("name", "shown"), [("k3v9zq0a", "dummy"), ("mine", "mine")])
def test_a_model_without_a_name_has_that_of_its_back_end(name, shown, demo, tmp_path):
    """The harness draws a name of eight letters and digits."""
    written = copied(demo["cora_demo"], tmp_path)
    config = {"model": "dummy", "model_args": {}}
    edit_results(written, lambda results: results.update(model_name=name, model_source="dummy", config=config))
    assert the_run(tmp_path).model == shown


@pytest.mark.parametrize("read", [lambda path: read_runs([path]), lambda path: read_contestants([path, path])])
def test_an_interrupted_run_is_named_with_the_way_on(read, tmp_path):
    put(tmp_path / "answers_0_rank0.db", [])
    with user_error("answers of a run are kept in", "answers_0_rank0.db", f"run ... --output_path {tmp_path} --log"):
        read(tmp_path)


def test_paths_without_samples(tmp_path, demo):
    (empty := tmp_path / "empty").mkdir()
    written = copied(demo["cora_demo"], tmp_path / "results alone")
    written.samples.unlink()
    for path in (empty, written.folder, written.results, put(tmp_path / "samples.jsonl", [])):
        with user_error(f"{path.name}: there are no samples ", " --log_samples"):
            read_runs([demo["cora_demo"].folder, path])


# ---- run files of HELM
HELM_RUN = "runs/v1/exam:subject={},model=org_{},groups=exam/scenario_state.json"


@pytest.mark.parametrize(
    ("sky", "sea", "names"),
    [
        ("{1}/sky.json", "{1}/sea.json", ["sea", "sky"]),  # beside each other
        (
            HELM_RUN.format("sky", "{1}"),
            HELM_RUN.format("sea", "{1}"),
            [f"exam:subject={n},groups=exam" for n in ("sea", "sky")],
        ),
        ("a/{0}1/state.json", "b/{0}2/state.json", ["state", "state"]),  # nothing tells them apart but the questions
    ],
)
def test_states_of_helm_are_told_apart_by_their_questions(sky, sea, names, tmp_path):
    for number, model in enumerate(("small", "large")):
        for path, questions in ((sky, SKY), (sea, SEA)):
            put(tmp_path / model / path.format(number, model), state_of_helm(model, *questions))
    runs = read_runs([tmp_path / "small"])
    assert [(run.name, "left out" in " ".join(run.notes)) for run in runs] == [(name, False) for name in names]
    assert sorted(len(run.ids) for run in runs) == [2, 3]
    found = compare_models([tmp_path / "small", tmp_path / "large"])
    assert sorted(each.runs[0].count for each in found.found) == [2, 3]


def test_a_second_log_of_the_same_questions_is_left_out(tmp_path):
    for folder in ("a", "b"):
        put(tmp_path / folder / "sky.json", state_of_helm("m", *SKY))
        put(tmp_path / folder / "per_instance_stats.json", [{}])  # of which run is unknown
    put(tmp_path / "c/sky.json", state_of_helm("m", *SKY[:1]))
    runs = read_runs([tmp_path])
    assert sorted(len(run.ids) for run in runs) == [1, 2]
    assert tells(" ".join(runs[0].notes), "left out", "sky.json", "the same questions")
