"""Exemplars in whole prompts: which ones, in which form, and the checks before the first request."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import datasets
import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.docs import load_benchmark
from lm_eval_cora.questions.loading import load_exemplars
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Question
from lm_eval_cora.runs.task_files import benchmark
from tests.support.building import own_task
from tests.support.hub import right_answer
from tests.support.messages import tells
from tests.support.rows import on_the_hub, write
from tests.support.simulated import knows, run, scored, signature_of

GOLDEN = Path(__file__).parents[1] / "prompts"


def asked(task, options=None, **arguments):
    """Doc and context of each variant."""
    samples = run(knows, task, options, **arguments)["samples"][task]
    return [(sample["doc"], sample["arguments"][0][0]) for sample in samples]


def shots_of(prompt):
    """The part of a prompt before the instruction and the question."""
    before, _, _ = prompt.rpartition("Question: ")
    return before.rpartition("Answer the multiple choice")[0] or before


def by_question(prompts):
    groups = groupby(prompts, key=lambda pair: pair[0]["question_id"])
    return {question: [prompt for _, prompt in members] for question, members in groups}


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    "benchmark", ["mmlu", "arc_challenge", "truthfulqa", "medqa", "medmcqa", "mmlu_pro", "agieval", "demo", "demo_mc"]
)
def test_num_fewshot_works_everywhere(benchmark):
    groups = by_question(asked(f"cora_{benchmark}", {"questions": 3}, num_fewshot=3))
    assert len(groups) == 3
    for prompts in groups.values():
        before = {shots_of(prompt) for prompt in prompts}
        assert len(before) == 1  # all variants have the same exemplars in the same order
        (shots,) = before
        assert shots.count("\nAnswer: ") == 3
        assert "None of the above" not in shots  # in the original form
        if "demo" not in benchmark:
            for exemplar in shots.strip().split("\n\n"):
                question, _, said = exemplar.rpartition("\nAnswer: ")
                assert f"\n{said}. {right_answer(question)}\n" in f"{question}\n"
        # The question itself is never an exemplar.
        assert prompts[0].rpartition("Question: ")[2].partition("\nChoices:")[0] not in shots
    assert len({shots_of(prompts[0]) for prompts in groups.values()}) > 1  # other questions have other exemplars


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(("task", "split"), [("cora_mmlu", "dev"), ("cora_agieval", "In")])
def test_exemplars_are_of_the_questions_own_subject(task, split):
    for doc, prompt in asked(task, num_fewshot=2):
        # The made-up stems name split and subject: "In dev astronomy, which number follows 3?"
        topic = f"dev {doc['category']}" if split == "dev" else doc["category"]
        assert shots_of(prompt).count(f"In {topic},") == 2
    # A zero on the command line is heeded.
    assert all("\nAnswer: " not in prompt for _, prompt in asked(task, {"questions": 1}, num_fewshot=0))


@pytest.mark.usefixtures("hub")
def test_another_seed_draws_others():
    def draw(seed, fewshot_seed):
        prompts = asked("cora_medqa", {"seed": seed}, num_fewshot=3, fewshot_random_seed=fewshot_seed)
        return [shots_of(prompt) for _, prompt in prompts]

    # The last seed of the harness' --seed, and the option `seed`.
    assert draw(0, 1234) == draw(0, 1234)
    assert draw(0, 1234) != draw(0, 7)
    assert draw(0, 1234) != draw(1, 1234)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("form", ["generate", "loglikelihood"])
@pytest.mark.parametrize("chat", ["plain", "singleturn", "multiturn"])
def test_prompts_with_shots_are_kept_whole(form, chat):
    task = "cora_mmlu" if form == "generate" else "cora_mmlu_mc"
    arguments = {"apply_chat_template": chat != "plain", "fewshot_as_multiturn": chat == "multiturn"}
    prompts = asked(task, {"questions": 1}, num_fewshot=2, system_instruction="Be brief.", **arguments)
    (prompt,) = [prompt for doc, prompt in prompts if doc["ordinal"] == 2]
    assert prompt == (GOLDEN / f"shots_{form}_{chat}.txt").read_text(encoding="utf-8")


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("task", "shots", "message"),
    [
        ("cora_mmlu", 6, r"question 'test-\d' can have 5 exemplars at most: those of the cat"),
        ("cora_demo", 120, "question 'geography-09' can have 119 exemplars at most"),  # two questions are asked
        *(("cora_demo", shots, "expected a whole number from 0") for shots in (1.5, "2", -1)),
    ],
)
def test_shots_that_cannot_be_had(task, shots, message):
    with pytest.raises(UserError, match=f"{task}: --num_fewshot {shots!r}: {message}"):
        run(lambda _: pytest.fail("a request was made"), task, {"questions": 2}, num_fewshot=shots)


@pytest.mark.usefixtures("hub")
def test_the_default_number_is_used_as_far_as_there_are_exemplars(tmp_path, caplog):
    # A user's file with three questions of one subject and one of another: these have two and no exemplars.
    rows = [{"question": f"{n}?", "subject": "law", "choices": ["1", "2", "3", "4"], "answer": 0} for n in range(3)]
    path = write(tmp_path / "mine.jsonl", *rows, {**rows[0], "subject": "art"})
    options = {"data_files": path}
    results = run(knows, "cora_mmlu", options)
    for sample in results["samples"]["cora_mmlu"]:
        shots = 0 if sample["doc"]["category"] == "art" else 2
        assert sample["arguments"][0][0].count("\nAnswer: ") == shots
    (line,) = [record.getMessage() for record in caplog.records if "have fewer than" in record.getMessage()]
    assert tells(line, "cora_mmlu: 4 of 4 questions", "5 exemplars", "0", path)
    assert "|shots:0-5@1234|" in signature_of(results, "cora_mmlu")
    with pytest.raises(UserError, match="'test-3' can have 0 exemplars at most"):
        run(lambda _: pytest.fail("a request was made"), "cora_mmlu", options, num_fewshot=5)


@pytest.mark.usefixtures("hub")
def test_a_fewshot_split_is_only_needed_for_shots(tmp_path):
    source = "name: medqa, hub: lavita/medical-qa-datasets, config: med-qa-en-5options-source, split: test"
    columns = "fewshot_split: dev, choices: options, answer: answer_idx"
    own_task(tmp_path, f"benchmark: {{{source}, {columns}}}", of="medqa/cora_medqa")
    assert scored(knows, "mine", {}, tmp_path)["cora"] == 1.0
    with pytest.raises(UserError) as error:
        run(lambda _: pytest.fail("a request was made"), "mine", {}, tmp_path, num_fewshot=1)
    where = "(config 'med-qa-en-5options-source', split 'dev') from the Hugging Face Hub.\n"
    told = "mine: --num_fewshot 1: medqa: cannot load 'lavita/medical-qa-datasets' "
    assert tells(str(error.value), f"{told}{where}", "'split'")


def test_the_signature_names_the_shots_and_their_seed():
    def signature(**arguments):
        results = run(knows, "cora_demo", {"questions": 2}, **arguments)
        return str(signature_of(results))

    assert "|shots:0|" in signature()
    assert "|shots:2@1234|" in signature(num_fewshot=2)
    assert "|shots:2@7|" in signature(num_fewshot=2, fewshot_random_seed=7)
    # Elsewhere in the harness, None means a random seed. Then each variant would have other exemplars.
    assert "|shots:2@1234|" in signature(num_fewshot=2, fewshot_random_seed=None)


# ---- the pool of exemplars
MMLU = benchmark("mmlu")


def test_exemplars_of_a_local_copy_are_scored_questions_and_a_warning_says_so(tmp_path, caplog):
    row = {"question": "Which?", "subject": "law", "choices": ["Ice", "Fog", "Dew", "Hail"], "answer": 0}
    options = Options(data_files=(write(tmp_path / "mine.jsonl", row),))
    load_exemplars(options=options, benchmark=on_the_hub(MMLU, fewshot_split=None))
    assert "scored" not in caplog.text  # no split of its own: nothing to say
    assert not load_exemplars(options=options, benchmark=MMLU).as_published
    assert tells(caplog.text, "mmlu: exemplars", "scored", "'dev'")


def test_a_row_that_cannot_be_an_exemplar_is_left_out_with_one_line(tmp_path, caplog, monkeypatch):
    row = {"question": "Which?", "subject": "law", "choices": ["Ice", "Fog", "Dew", "Fog"], "answer": 0}
    write(tmp_path / "test.jsonl", row)
    write(tmp_path / "train.jsonl", row, {**row, "answer": 1}, {**row, "question": "Why?"})
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    source = on_the_hub(MMLU, hub=(str(tmp_path),), config=(), fewshot_split="train")
    pool = load_exemplars(options=Options(), benchmark=source)
    asked = Question("q", "Who?", ("Ice", "Fog"), 0, "law")
    assert [one.stem for one in pool.draw(asked, 5, 0)] == ["Which?", "Why?"]
    (line,) = [record.getMessage() for record in caplog.records if "possible exemplars" in record.getMessage()]
    assert tells(line, "mmlu: left out 1 of 3 ", "option", "(row 1)")


def test_notes_on_exemplars_are_given(monkeypatch, caplog):
    rows = [{"choices": ["Ice", "Fog", "Dew"], "question": f"{n}?", "answer": "ABC"[n % 3]} for n in range(12)]
    splits = {"test": rows, "train": [{**row, "answer": 1} for row in rows]}
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, split, **__: splits[split])
    source = benchmark("hub", {"hub": ("a/riddles",), "split": "test", "fewshot_split": "train"})
    load_benchmark(options=Options(), benchmark=source)
    assert "answer_from" not in caplog.text
    with_train = load_exemplars(options=Options(), benchmark=source)
    assert tells(caplog.text, "riddles: exemplars: ", "'answer_from': 1")
    caplog.clear()
    splits["train"] = splits["train"][:9]  # few rows say little
    load_exemplars(options=Options(), benchmark=source)
    assert "answer_from" not in caplog.text
    # What the exemplars are drawn from, and how, is part of the signature.
    of_test = load_exemplars(options=Options(), benchmark=on_the_hub(source, fewshot_split=None))
    as_published = load_exemplars(options=Options(), benchmark=replace(source, exemplars_as_published=True))
    assert len({with_train.signature, of_test.signature, as_published.signature}) == 3
