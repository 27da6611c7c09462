"""Logs that Inspect writes: the options as the model saw them, what came, and Inspect's own accuracy."""

import sys
from itertools import cycle

import pytest

from lm_eval_cora.runs.inspect_logs import is_inspect, read_inspect
from tests.support.messages import user_error

inspect_ai = pytest.importorskip("inspect_ai", reason="needs the extra `inspect`")

from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import Score, accuracy, choice, mean, scorer  # noqa: E402
from inspect_ai.solver import generate, multiple_choice, solver  # noqa: E402

TEXTS = ["ice", "dry ice", "fog", "rain\nor snow"]
SINGLE = multiple_choice()


def questions(count):
    return [Sample(id=number, input="Which?", choices=TEXTS, target="ABCD"[number % 4]) for number in range(count)]


def run(folder, samples, *said, solver=SINGLE, scorer=None, format="eval", **more):
    """Let a model that says the same texts in turn answer in a fixed order. Return the log and what is read of it."""
    outputs = (
        ModelOutput.from_content("mockllm/model", *each).model_copy(update={"usage": ModelUsage(total_tokens=5)})
        for each in cycle((each, "stop") if isinstance(each, str) else each for each in said)
    )
    task = inspect_ai.Task(dataset=samples, solver=solver, scorer=scorer or choice(), name="sky", **more)
    how = {"log_dir": str(folder), "log_format": format, "max_samples": 1, "display": "none"}
    (log,) = inspect_ai.eval(task, model=get_model("mockllm/model", custom_outputs=outputs), **how)
    (path,) = folder.glob("*_sky_*")
    assert is_inspect(path)
    (found,) = read_inspect(path)
    return log, found


def column(found, name):
    return [row[name] for row in found.rows]


def accuracy_of(log):
    """Inspect's own accuracy, with the reducer mean if there are several."""
    return log.results.scores[-1].metrics["accuracy"].value


@pytest.mark.parametrize("format", ["eval", "json"])
def test_rows_and_accuracy_of_a_log(tmp_path, format):
    samples = MemoryDataset(questions(8))
    samples.shuffle_choices(3)
    said = ["ANSWER: A", "It is\nANSWER: C"]
    log, found = run(tmp_path, samples, *said, solver=multiple_choice(cot=True), format=format)
    assert found[:2] + found[3:] == ("mockllm/model", "sky", [], False, "choice")
    assert sum(column(found, "own")) / 8 == accuracy_of(log)
    assert column(found, "printed") == [tuple(sample.choices) for sample in samples]
    assert [row["printed"][row["answer"]] for row in found.rows] == TEXTS * 2
    assert column(found, "response") == said * 4


# The solver shuffles, and then writes the prompt and the answer in the order before into the log.
@pytest.mark.skipif(inspect_ai.__version__ < "0.3.285", reason="Inspect replaces the prompt in the events, too")
def test_the_options_are_those_that_the_model_saw(tmp_path):
    said = ["ANSWER: B", "Hm.\nANSWER: D", "It is fog"]
    log, found = run(tmp_path, questions(8), *said, solver=multiple_choice(shuffle=True), epochs=2)
    samples = read_eval_log(log.location, resolve_attachments=True).samples
    for sample, row in zip(samples, found.rows, strict=True):
        call = next(event for event in sample.events if event.event == "model")
        options = "\n".join(f"{letter}) {option}" for letter, option in zip("ABCD", row["printed"], strict=True))
        assert call.input[-1].text.endswith(options)
        assert row["printed"][row["answer"]] == TEXTS[sample.id % 4]
        assert row["response"] == call.output.completion.rpartition("\n")[2]
    assert {"original", "shuffled"} == {*column(found, "kind")}
    assert not found.equal_prompts
    assert sum(column(found, "own")) / 16 == accuracy_of(log)


def test_epochs_are_repeats_and_the_mean_over_them_is_compared(tmp_path):
    epochs = inspect_ai.Epochs(3, ["mode", "mean"])
    log, found = run(tmp_path, questions(4), "ANSWER: A", "ANSWER: B", "ANSWER: A", "ANSWER: C", "?", epochs=epochs)
    assert found.equal_prompts
    assert [row["variant"] for row in found.rows if row["question"] == "2"] == ["1", "2", "3"]
    assert sum(column(found, "own")) / 12 == pytest.approx(accuracy_of(log), abs=1e-12)
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
    log, found = run(tmp_path / "a", questions(5), *said, solver=[failing(), SINGLE], fail_on_error=False)
    assert column(found, "came") == ["a refusal", "an error (RuntimeError('no\\nanswer'))", "", "", ""]
    assert column(found, "cut_off") == [False, False, True, False, False]
    assert column(found, "own") == [0, None, 0, 1, 1]
    assert accuracy_of(log) == 0.5
    assert not found.notes
    _, found = run(tmp_path / "b", questions(2), "ANSWER: A", message_limit=1)
    assert column(found, "came") == ["a limit (message)"] * 2
    _, found = run(tmp_path / "c", questions(3), "ANSWER: A", solver=[failing(), SINGLE])
    assert "error" in found.notes[0]


@scorer(metrics={"half": [accuracy()], "other": [mean()]})
def parts():
    async def score(state, target):
        return Score(value={"half": "P", "other": 1})

    return score


def test_the_first_value_of_the_first_scorer_counts(tmp_path):
    _, found = run(tmp_path, questions(2), "ANSWER: A", scorer=[parts(), choice()])
    assert (found.own, column(found, "own"), found.notes) == ("half", [0.5, 0.5], [])


def test_options_may_stand_only_in_the_messages_and_several_right_ones_are_left_out(tmp_path):
    asked = [ChatMessageUser(content="Which?\n(1) ice\n(2) fog\n(3) rain\nAnswer with a number.")]
    samples = [Sample(input=asked, target=target) for target in ("(2)", "7", ["1", "2"])]
    _, found = run(tmp_path, samples, "2", solver=generate(), scorer=parts())
    (row,) = found.rows
    assert (row["printed"], row["labels"], row["answer"]) == (("ice", "fog", "rain"), ("1", "2", "3"), 1)
    assert "2 without" in found.notes[0]


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        ('{"status": "error",\n"eval": {', True),  # as older versions and other tools write it
        ('{"version": 2, "status": "ok", "rows": []}', False),
    ],
)
def test_a_log_in_json_has_a_status_and_an_evaluation(begin, expected, tmp_path):
    (tmp_path / "log.json").write_text(begin)
    assert is_inspect(tmp_path / "log.json") == expected


def test_other_logs_are_one_clear_error(tmp_path, monkeypatch):
    with user_error("expected", "multiple-choice", "1 without 2 to 26 options"):
        run(tmp_path, [Sample(input="What is 2 + 2?", target="4")], "4", solver=generate(), scorer=parts())
    (path,) = tmp_path.iterdir()
    header = read_eval_log(str(path), header_only=True).model_dump_json().encode()
    for name, content, problem in (("a.eval", path.read_bytes()[:-99], "expected"), ("a.json", header, "no samples")):
        (tmp_path / name).write_bytes(content)
        with user_error(name, problem):
            read_inspect(tmp_path / name)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with user_error(str(path), "pip install -U 'lm-eval-cora[inspect]'"):
        read_inspect(path)
