"""The task files: all names, that each task can be built, and its prompts."""

import datasets
import pytest
import yaml

from lm_eval_cora import metrics
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import left_out_for_references
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.runs.task_files import probe_metrics
from lm_eval_cora.variants.probes import PROBES
from lm_eval_cora.variants.prompts import SINGLE_LETTER
from tests.support.building import build, manager, own_task
from tests.support.hub import NEEDED, right_answer, rows_in
from tests.support.names import BUILT, GROUPS, NAMES, benchmark_of, printed, probe_of
from tests.support.rows import write
from tests.support.simulated import TASKS, knows, run, scores, signature_of


def test_exactly_these_names_are_registered():
    # The harness silently skips a broken YAML file, so the whole list is compared.
    assert manager().all_tasks == sorted([*GROUPS, *NAMES])
    assert {path.stem for path in (TASKS / "_benchmarks").iterdir()} == {*map(benchmark_of, NAMES)}


@pytest.fixture
def local_file(tmp_path):
    row = {"question": "Frozen water?", "choices": ["Steam", "Ice", "Fog"], "answer": "Ice"}
    return write(tmp_path / "mine.jsonl", row)


@pytest.fixture
def hub(hub, monkeypatch):
    """Most tests of this file read the same data sets."""
    monkeypatch.setattr(datasets, "load_dataset", rows_in(hub))
    return hub


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("of", dict.fromkeys(map(benchmark_of, BUILT)))
def test_every_task_builds_and_renders(of, local_file):
    options = {"local": {"data_files": local_file}, **NEEDED}.get(of, {})
    tasks = manager(**options).load([name for name in BUILT if benchmark_of(name) == of])["tasks"]
    for name, task in tasks.items():
        check_task(name, task)


def check_task(name, task):
    form = "multiple_choice" if name.endswith("_mc") else "generate_until"
    docs = task.eval_docs
    nota_text = "Keine der oben genannten Antworten" if "global_mmlu" in name else "None of the above"
    first = [doc for doc in docs if doc["ordinal"] == 0]
    stems = {doc["question_id"]: doc["question"] for doc in first}
    assert sum(doc["variants"] for doc in first) == len(docs)
    assert sum(doc["original"] for doc in docs) == (0 if probe_of(name) == "sampling" else len(first))
    for doc in docs:
        prompt, target = task.doc_to_text(doc), task.doc_to_target(doc)
        labels, stem = doc.get("labels", LETTERS), stems[doc["question_id"]]
        assert (stem in prompt) != (doc["kind"] == "choices_only")
        if doc["ask"] == "boxed":
            assert r"\boxed{answer}" in prompt
            assert target == rf"The final answer is: $\boxed{{{right_answer(stem)}}}$"
            continue
        if doc["ask"] == "best_answer":
            assert "best answer is" in prompt
            target = target.removeprefix("The best answer is ").rstrip(".")
        else:
            assert prompt.endswith("\nAnswer:")
        if doc["ask"] == "option_text":
            assert "".join(f"\n• {text}" for text in doc["choices"]) in prompt
            choice, says_right = target, True
        elif doc["ask"] == "yes_no":
            (choice,) = doc["choices"]
            assert f"\nProposed answer: {choice}\n" in prompt
            says_right = target == "yes"
        else:
            mark = ":" if doc["ask"] == "best_answer" and benchmark_of(name) in ("agieval", "mmlu_pro") else "."
            options = [f"\n{label}{mark} {text}" for label, text in zip(labels, doc["choices"], strict=False)]
            assert "".join(options) in prompt
            choice, says_right = doc["choices"][labels.index(target)], True
        if "local" not in name and "demo" not in name:
            # The made-up questions contain the right answer, independently of the adapter.
            nota = doc["kind"].startswith("nota_answer")
            assert (choice == (nota_text if nota else right_answer(stem))) == says_right
            assert not nota or right_answer(stem) not in doc["choices"]
    assert form == task.OUTPUT_TYPE
    expected = printed(name)
    assert list(task.higher_is_better()) == expected
    assert list(task.aggregation()) == [*expected, *(f"{metric}_stderr" for metric in expected)]
    assert task.VERSION >= 1
    assert task.config.num_fewshot in (None, 5, 25)  # others than the harness' default only as in the papers


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("group", ["cora_plus", "cora_revas"])
def test_the_groups_of_the_papers_two_benchmarks_run(group):
    results = run(knows, group, {"questions": 2})
    tasks = {group.replace("cora", f"cora_{name}") for name in ("medmcqa", "mmlu")}
    assert results["n-shot"] == dict.fromkeys(tasks | {group}, 0)
    assert {scores(results, task)["acc"] for task in tasks} == {1.0}


@pytest.mark.usefixtures("hub")
def test_the_group_of_score_runs_its_eight_with_its_settings():
    results = run(knows, "cora_score", {"questions": 2})
    tasks = [f"cora_{name}_{probe}" for name in ("agieval", "mmlu_pro") for probe in ("order", "prompts", "sampling")]
    tasks += ["cora_math_prompts", "cora_math_sampling"]
    assert results["n-shot"] == dict.fromkeys([*tasks, "cora_score"], 0)
    for task in tasks:
        assert scores(results, task)["consistency_rate"] == 1.0
        greedy = {"do_sample": False, "temperature": 0.0}
        settings = {"do_sample": True, "temperature": 0.7} if "sampling" in task else greedy
        assert results["configs"][task]["generation_kwargs"] == {**settings, "max_gen_toks": 1024, "until": []}


@pytest.mark.usefixtures("hub")
def test_the_group_runs():
    results = run(knows, "cora", {"questions": 2})
    shots = {"cora_mmlu": 5, "cora_arc_challenge": 25, "cora_truthfulqa": 0, "cora_medqa": 0}
    assert {task: results["n-shot"][task] for task in shots} == shots
    assert {scores(results, task)["cora"] for task in shots} == {1.0}


@pytest.mark.parametrize("probe", PROBES)
def test_the_name_of_a_metric_tells_its_parameter(probe):
    for entry in probe_metrics(probe):
        name, at, parameter = entry["metric"].partition("@")
        given = [entry[key] for key in ("level", "options") if key in entry]
        assert parameter == ("k" if name == "maj" else "".join(map(str, given))) or (name == "acc_h" and not at)
        assert name.endswith("_paper") == (entry.get("without") == SINGLE_LETTER)
        assert name.startswith("macro_") == ("macro" in entry or entry["aggregation"] is metrics.macro_acc)


def test_no_file_sets_zero_shots():
    # The harness would then ignore --num_fewshot.
    assert not [path for path in TASKS.rglob("*.yaml") if "num_fewshot: 0" in path.read_text()]


@pytest.mark.parametrize("path", sorted(TASKS.glob("[a-z]*/*.yaml")), ids=lambda path: path.stem)
def test_a_task_file_is_three_lines_and_has_a_readme(path):
    # And a fourth line if the paper used shots.
    assert len(path.read_text().splitlines()) in (3, 4)
    assert set(yaml.safe_load(path.read_text())) - {"num_fewshot"} == {"task", "include", "metadata"}
    assert (path.parent / "README.md").is_file()


def test_questions_that_a_probe_leaves_out_are_counted(tmp_path):
    row = {"question": "Which?", "choices": ["Ice", "Fog", "Both A and B"], "answer": 0}
    path = write(tmp_path / "my.jsonl", row, {**row, "choices": ["Ice", "Fog", "Dew"]})
    for name, left_out in (("cora_local", 1), ("cora_local_prompts", 0)):
        task = build(name, data_files=path)
        assert (f"\n  {left_out_for_references(1)}\n" in task.cost()) == bool(left_out)
        signature = task.dump_config()["metadata"]["signature"]
        assert ("|option_references:keep|left_out:1|" in signature) == bool(left_out)
        assert f"|n:{2 - left_out}x" in signature


def test_a_doc_says_what_the_samples_file_needs(tmp_path):
    row = {"id": 7, "question": "Which?", "choices": ["Ice", "Fog", "All of the above"], "answer": 0, "category": "c"}
    doc = build("cora_local", data_files=write(tmp_path / "my.jsonl", row)).eval_docs[1]
    assert doc == {
        "question_id": "7",
        "category": "c",
        "refers_to_options": True,
        "question": "Which?",
        "variants": 8,
        "ordinal": 1,
        "kind": "shuffled",
        "original": False,
        "ask": "letter",
        "choices": ("Fog", "Ice", "All of the above"),
        "printed": (1, 0, 2),
        "answer": 0,
    }


def test_generation_is_greedy_and_short():
    # Room for "Sure! Based on the information provided, the correct answer is:" and the letter.
    expected = {"do_sample": False, "temperature": 0.0, "max_gen_toks": 32, "until": []}
    assert build("cora_demo").config.generation_kwargs == expected


def test_docs_are_expanded_once():
    task = build("cora_demo")
    assert task.eval_docs is task.eval_docs


def test_seed_and_nota_text_reach_the_docs():
    default, seeded = build("cora_demo").eval_docs, build("cora_demo", seed=1).eval_docs
    assert default[0] == seeded[0]
    assert [doc["printed"] for doc in default] != [doc["printed"] for doc in seeded]
    assert "None of these" in build("cora_demo", nota_text="None of these").eval_docs[2]["choices"]


OURS = "!function lm_eval_cora.metrics"
METRICS = [
    "{metric: acc, aggregation: mean, higher_is_better: true}",
    "{metric: acc, higher_is_better: true}",
    f"{{metric: bmca, aggregation: {OURS}.bmca, higher_is_better: true}}",
    f"{{metric: bmca@x, aggregation: {OURS}.bmca, level: x, higher_is_better: true}}",
    f"{{metric: acc, aggregation: {OURS}.acc, level: 1, higher_is_better: true}}",
    f"{{metric: bmca@2, aggregation: {OURS}.bmca, level: 2, higher_is_better: true}}",
    "{metric: acc, aggregation: !function builtins.len, higher_is_better: true}",
    f"{{metric: acc, aggregation: {OURS}.acc, form: likelihood, higher_is_better: true}}",
    f"{{metric: acc, aggregation: {OURS}.acc, sampled: maybe, higher_is_better: true}}",
    f"{{metric: acc, aggregation: {OURS}.acc, table: 'false', higher_is_better: true}}",
    f"{{metric: acc, aggregation: {OURS}.sc_buckets, table: true}}",
    f"{{metric: acc@x, aggregation: {OURS}.acc_at, options: x, higher_is_better: true}}",
    f"{{metric: acc_x, aggregation: {OURS}.nota_acc, subset: x, higher_is_better: true}}",
    f"{{metric: acc_x, aggregation: {OURS}.acc, only: maths, higher_is_better: true}}",
    f"{{metric: acc_x, aggregation: {OURS}.acc, without: 3, higher_is_better: true}}",
]

REPLACED = ("test_split", "dataset_path", "dataset_name", "dataset_kwargs", "custom_dataset")
REFUSED = [
    *((f"metric_list: [{entry}]", r"metric_list: \{'metric': '(acc|bmca)") for entry in METRICS),
    ("metric_list: [acc]", "metric_list: 'acc' "),
    ("process_results: !function builtins.dict", "process_results: expected a Record .*, got TypeError"),
    ("fewshot_split: train", "fewshot_split in the task file would be ignored"),
    ("fewshot_config: {sampler: first_n}", "sampler in the task file would be ignored"),
    ("fewshot_config: {samples: [], split: test}", "samples, split in the task file would be ignored"),
    ("process_docs: !function builtins.len", r"process_docs: expected .* got .*\(in the task file\)"),
    *((f"probe: {probe}", r"probe: expected .* got .*\(in the task file\)") for probe in ("nothing", "null", "[plus]")),
    *((f"{key}: other", f"{key} .*`benchmark`") for key in REPLACED),
    ("doc_to_text: null", r"the task file cannot be used: TypeError.* compare its settings"),
]


@pytest.mark.parametrize(("lines", "told"), REFUSED)
def test_a_task_file_that_is_wrong_is_an_error_before_anything_runs(lines, told, tmp_path):
    with pytest.raises(UserError, match=f"mine: {told}"):
        own_task(tmp_path, lines).load(["mine"])


def test_a_task_file_without_a_benchmark_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"mine: expected `benchmark` in the task file"):
        own_task(tmp_path, f"include: [{TASKS}/_forms/generate.yaml, {TASKS}/_probes/order.yaml]").load(["mine"])


def test_a_task_file_of_ones_own_may_choose_among_the_metrics(tmp_path):
    function = f"aggregation: {OURS}"
    entries = f"{{metric: bmca@0.75, {function}.bmca, level: 0.75}}, {{metric: cora, {function}.cora, table: false}}"
    entries += f", {{metric: missed, {function}.acc, higher_is_better: false}}, {{metric: range, {function}.acc_range}}"
    own_task(tmp_path, f"metric_list: [{entries}]\nmetadata: {{version: 1, cora: {{questions: 2}}}}")
    results = run(knows, "mine", None, tmp_path)
    assert scores(results, "mine")["bmca@0.75"] == 1.0
    # The facts of a function hold unless the entry says something else.
    assert results["higher_is_better"]["mine"] == {"bmca@0.75": True, "missed": False}
    assert {"cora", "range"} <= results["configs"]["mine"]["metadata"]["study"].keys()


@pytest.mark.usefixtures("hub")
def test_a_pinned_revision_is_signed(tmp_path):
    own_task(tmp_path, "metadata: {version: 1, cora: {revision: 0a1b2c3}}", of="medqa/cora_medqa")
    signature = signature_of(run(knows, "mine", None, tmp_path), "mine")
    assert "|shots:0|revision:0a1b2c3|seed:0|" in signature
    signature = signature_of(run(knows, "cora_medqa"), "cora_medqa")
    assert "revision" not in signature


def test_exemplars_in_a_wording_of_ones_own(tmp_path):
    own_task(tmp_path, "fewshot_config: {doc_to_text: !function lm_eval_cora.harness.docs.doc_to_text}")
    results = run(knows, "mine", {"questions": 1}, tmp_path, num_fewshot=2)
    assert results["samples"]["mine"][0]["arguments"][0][0].count("and nothing else on the first line") == 3
