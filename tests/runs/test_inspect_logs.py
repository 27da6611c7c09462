"""Logs that Inspect writes: the options as the model saw them, what came, and Inspect's own accuracy."""

import sys
from itertools import cycle
from statistics import fmean

import pytest

from lm_eval_cora.runs.helm import is_helm
from lm_eval_cora.runs.inspect_logs import is_inspect, read_inspect
from tests.support.messages import user_error

inspect_ai = pytest.importorskip("inspect_ai", reason="needs the extra `inspect`")

from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import Score, accuracy, choice, match, mean, scorer  # noqa: E402
from inspect_ai.solver import generate, multiple_choice, solver  # noqa: E402

TEXTS = ["ice", "dry ice", "fog", "rain\nor snow"]


def questions(count=6, targets="ABCD"):
    return [Sample(id=number, input="Which?", choices=TEXTS, target=targets[number % 4]) for number in range(count)]


def run(folder, samples, *said, solver=None, scorer=None, format="eval", **more):
    """Let a model that says the same texts in turn answer in a fixed order. Return the log and what is read of it."""
    ends = [(said, "stop") if isinstance(said, str) else said for said in said]
    outputs = (ModelOutput.from_content("mockllm/model", *each) for each in cycle(ends))
    counted = (output.model_copy(update={"usage": ModelUsage(total_tokens=5)}) for output in outputs)
    task = inspect_ai.Task(
        dataset=samples, solver=solver or multiple_choice(), scorer=scorer or choice(), name="sky", **more
    )
    model = get_model("mockllm/model", custom_outputs=counted)
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(folder), log_format=format, max_samples=1, display="none")
    (path,) = folder.glob("*_sky_*")
    assert is_inspect(path)
    assert not is_helm(path)
    (found,) = read_inspect(path)
    return log, found


def column(found, name):
    return [row[name] for row in found.rows]


def own_mean(found):
    return fmean(own for own in column(found, "own") if own is not None)


@pytest.mark.parametrize("format", ["eval", "json"])
def test_rows_and_accuracy_of_a_log(tmp_path, format):
    samples = MemoryDataset(questions(8))
    samples.shuffle_choices(3)
    log, found = run(
        tmp_path, samples, "ANSWER: A", "It is\nANSWER: C", solver=multiple_choice(cot=True), format=format
    )
    assert (found.model, found.task, found.own, found.notes) == ("mockllm/model", "sky", "choice", [])
    assert own_mean(found) == log.results.scores[0].metrics["accuracy"].value
    assert column(found, "printed") == [tuple(sample.choices) for sample in samples]
    assert [row["printed"][row["answer"]] for row in found.rows] == [TEXTS[number % 4] for number in range(8)]
    assert column(found, "response") == ["ANSWER: A", "It is\nANSWER: C"] * 4


# The solver shuffles, and then writes the prompt and the answer in the order before into the log.
def test_the_options_are_those_that_the_model_saw(tmp_path):
    said = ["ANSWER: B", "Hm.\nANSWER: D", "It is fog"]
    log, found = run(tmp_path, questions(8), *said, solver=multiple_choice(shuffle=True), epochs=2)
    calls = [
        next(event for event in sample.events if event.event == "model")
        for sample in read_eval_log(log.location, resolve_attachments=True).samples
    ]
    for call, row, text in zip(calls, found.rows, cycle(said), strict=False):
        options = "\n".join(f"{letter}) {option}" for letter, option in zip("ABCD", row["printed"], strict=True))
        assert call.input[-1].text.endswith(options)
        assert row["printed"][row["answer"]] == TEXTS[int(row["question"]) % 4]
        assert row["response"] == text.rpartition("\n")[2] == call.output.completion.rpartition("\n")[2]
    assert {"original", "shuffled"} == {*column(found, "kind")}
    assert not found.equal_prompts
    assert own_mean(found) == log.results.scores[0].metrics["accuracy"].value


def test_epochs_are_repeats_and_the_mean_over_them_is_compared(tmp_path):
    epochs = inspect_ai.Epochs(3, ["mode", "mean"])
    log, found = run(tmp_path, questions(4), "ANSWER: A", "ANSWER: B", "ANSWER: A", "ANSWER: C", "?", epochs=epochs)
    assert found.equal_prompts
    assert "kind" not in found.rows[0]
    assert [row["variant"] for row in found.rows if row["question"] == "2"] == ["1", "2", "3"]
    assert own_mean(found) == pytest.approx(log.results.scores[1].metrics["accuracy"].value, abs=1e-12)
    assert not found.notes


@solver
def failing():
    async def solve(state, generate):
        if state.sample_id == 1:
            raise RuntimeError("no\nanswer")
        return state

    return solve


def test_errors_limits_and_refusals(tmp_path):
    said = [("", "content_filter"), ("Let me", "max_tokens"), "ANSWER: D", "ANSWER: A"]
    log, found = run(tmp_path / "a", questions(5), *said, solver=[failing(), multiple_choice()], fail_on_error=False)
    assert column(found, "came") == ["a refusal", "an error (RuntimeError('no\\nanswer'))", "", "", ""]
    assert column(found, "cut_off") == [False, False, True, False, False]
    assert column(found, "own") == [0, None, 0, 1, 1]
    assert own_mean(found) == log.results.scores[0].metrics["accuracy"].value
    assert not found.notes
    _, found = run(tmp_path / "b", questions(2), "ANSWER: A", message_limit=1)
    assert column(found, "came") == ["a limit (message)"] * 2
    _, found = run(tmp_path / "c", questions(3), "ANSWER: A", solver=[failing(), multiple_choice()])
    assert "error" in found.notes[0]


@scorer(metrics={"half": [accuracy()], "other": [mean()]})
def parts():
    async def score(state, target):
        return Score(value={"half": "P", "other": 1})

    return score


def test_the_first_value_of_the_first_scorer_counts(tmp_path):
    _, found = run(tmp_path, questions(2), "ANSWER: A", scorer=[parts(), choice()])
    assert (found.own, column(found, "own"), found.notes) == ("half", [0.5, 0.5], [])


def test_options_may_stand_only_in_the_messages(tmp_path):
    asked = [ChatMessageUser(content="Which?\n(1) ice\n(2) fog\n(3) rain\nAnswer with a number.")]
    _, found = run(tmp_path, [Sample(input=asked, target="(2)")], "2", solver=generate(), scorer=match())
    (row,) = found.rows
    assert (row["printed"], row["labels"], row["answer"]) == (("ice", "fog", "rain"), ("1", "2", "3"), 1)


def test_several_right_options_are_left_out_and_told(tmp_path):
    samples = [*questions(1), Sample(input="Which?", choices=TEXTS, target=["A", "B"])]
    _, found = run(tmp_path, samples, "ANSWER: A", solver=multiple_choice(multiple_correct=True))
    assert len(found.rows) == 1
    assert "1 without" in found.notes[0]
    assert "0.5000" in found.notes[1]


def test_other_logs_are_one_clear_error(tmp_path, monkeypatch):
    with user_error("expected", "multiple-choice", "1 without 2 to 26 options"):
        run(tmp_path, [Sample(input="What is 2 + 2?", target="4")], "4", solver=generate(), scorer=match())
    (path,) = tmp_path.iterdir()
    log = read_eval_log(str(path), header_only=True)
    for name, content in {"a.eval": path.read_bytes()[:-99], "a.json": log.model_dump_json().encode()}.items():
        (tmp_path / name).write_bytes(content)
        with user_error(name, "expected"):
            read_inspect(tmp_path / name)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with user_error(str(path), "pip install -U 'lm-eval-cora[inspect]'"):
        read_inspect(path)
