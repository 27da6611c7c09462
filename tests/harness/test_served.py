"""Runs of the command with a server that fails in many ways."""

import asyncio
import json
import re
import ssl

import aiohttp
import pytest
from filelock import FileLock
from lm_eval.models.openai_completions import LocalChatCompletion

from lm_eval_cora.harness.served import (
    FAILED,
    MALFORMED,
    UNREACHABLE,
    UNTRUSTED,
    FailedError,
    FailureCount,
    NoChoicesError,
    attach_finish_reasons,
    kind_of,
    patient,
    responses_in,
)
from tests.support.messages import tells
from tests.support.served import at_once_and_one_by_one, both, every_third, fails, healthy, succeeds
from tests.support.server import text_of

pytestmark = pytest.mark.usefixtures("quick")
M = 26


@both
@at_once_and_one_by_one
def test_each_prompt_is_sent_once_and_no_empty_stop(run, server, protocol, more):
    succeeds(run(protocol=protocol, more=more))
    assert len(server.asked()) == len(set(server.asked())) == M
    assert all(payload.get("stop") != [] for payload in server.payloads)
    assert run.kept() == M


def test_letters_are_scored_by_a_server_that_returns_their_likelihoods(run, server):
    succeeds(run(protocol="completions", tasks="cora_demo_mc", letters="prompt"))
    # "A" is token 65, 65 % 7 = 2, so -1.5; "B" -2; "C" -2.5; "D" -3; "E" -3.5, and " " before each -2.5.
    for sample in run.samples("cora_demo_mc"):
        likelihoods = [float(response[0][0]) for response in sample["resps"]]
        assert likelihoods == [-4.0, -4.5, -5.0, -5.5, -6.0][: len(likelihoods)]


# ---- before the first request
CANNOT = [("chat", True, "not supported for chat completions"), ("completions", False, "does not return log-prob")]


@pytest.mark.parametrize(("protocol", "scores", "why"), CANNOT)
def test_tasks_that_score_are_refused_by_servers_that_cannot(run, server, protocol, scores, why):
    server.scores = scores
    line = fails(run(protocol=protocol, tasks="cora_demo_mc,cora_demo_plus_mc", letters="prompt"))
    assert tells(line, "cora_demo_mc, cora_demo_plus_mc: answers are scored", why, "--tasks cora_demo,cora_demo_plus")
    assert len(server.payloads) == (0 if protocol == "chat" else 1)
    assert not list(run.folder.rglob("results_*"))


def test_a_server_or_model_that_is_not_there_is_one_line(run, server):
    advice = "status 404. Check the name of the model and the address of the server. Details: "
    assert tells(fails(run(more=",model=other")), "a first request to ", advice, "does not exist")
    assert len(server.payloads) == 1
    line = fails(run(more=",base_url=http://127.0.0.1:1/v1/chat/completions,model=tiny"))
    assert tells(line, "a first request to ", "no connection to the server. Start the server")
    assert len(server.payloads) == 1


# ---- faults
@at_once_and_one_by_one
def test_faults_that_pass_change_nothing(run, server, more):
    succeeds(run(more=more))
    undisturbed = run.results()
    server.payloads.clear()
    server.fault = every_third("text", "hang up", "status 429", "no message", "error", "status 500", "no choices")
    err = succeeds(run("--no_cache", more=more))
    assert run.results() == undisturbed
    told = {MALFORMED, UNREACHABLE, FAILED, "status 429", "status 500", "an empty list of choices"}
    assert set(re.findall(r"a request failed: (.*)\. Such requests are sent again", err)) == told
    assert len(err.splitlines()) < 60


@both
def test_an_answer_that_never_comes_counts_as_empty_and_is_asked_again_next_time(run, server, protocol):
    faults = ["no choices", "null", *["no content"] * (protocol == "chat")]
    failing = {}

    def of(number, payload):
        if number > 4 and len(failing) < len(faults):
            failing.setdefault(json.dumps(payload), faults[len(failing)])
        return failing.get(json.dumps(payload))

    server.fault = of
    succeeds(run(protocol=protocol))
    empty = [sample["invalid"] for sample in run.samples() if sample["resps"] == [[""]]]
    assert empty == ["empty"] * len(faults)
    assert run.kept() == M - len(faults)
    server.fault, before = healthy, len(server.asked())
    succeeds(run(protocol=protocol))
    assert len(server.asked()) == before + len(faults)
    assert not [sample for sample in run.samples() if sample["resps"] == [[""]]]


def test_an_answer_that_is_missing_from_a_batch_moves_no_other_one(run, server):
    options = ("--batch_size", "4")
    for tasks in ("cora_demo_mc", "cora_demo"):
        kept = {"protocol": "completions", "tasks": tasks}
        succeeds(run(*options, "--no_cache", **kept))
        undisturbed = [sample["resps"] for sample in run.samples(tasks)]
        server.fault = every_third("one missing")
        succeeds(run(*options, **kept))
        assert [sample["resps"] for sample in run.samples(tasks)] == undisturbed
        server.fault, asked = healthy, len(server.asked())
        succeeds(run(*options, **kept))  # from the file
        assert [sample["resps"] for sample in run.samples(tasks)] == undisturbed
        assert len(server.asked()) <= asked + 1  # the test request for log-probabilities


def test_an_empty_list_of_choices_where_letters_are_scored(run, server):
    for more in ("", ",num_concurrent=8"):
        server.fault = lambda _, payload: "no choices" if bytes(payload["prompt"][0]).endswith(b" C") else None
        succeeds(run("--no_cache", protocol="completions", tasks="cora_demo_mc", more=more, letters="prompt"))
        assert all("nan" in str(sample["resps"]) for sample in run.samples("cora_demo_mc") if len(sample["resps"]) > 2)


# ---- a run that dies
def test_requests_that_fail_for_good_end_the_run_after_all_others(run, server):
    succeeds(run("--no_cache"))
    doomed = {server.asked()[number] for number in (5, 12, 20)}
    server.fault = lambda number, payload: "status 500" if text_of(payload) in doomed else None
    line = fails(ran := run())
    assert tells(line, "status 500 (3 of 26)", "Details: ", "out of memory", f"{M - 3} answers are kept in")
    assert ": lm-eval-cora run --model local-chat-completions" in line
    assert run.kept() == M - 3  # test_a_server_that_dies_half_way_and_comes_back continues such a run
    assert len(ran[1].splitlines()) < 60


@at_once_and_one_by_one
def test_a_server_that_refuses_ten_requests_because_of_the_key_ends_the_run(run, server, more):
    server.fault = lambda number, payload: "status 401" if number else None
    line = fails(run(more=more))
    assert "status 401 (10 of 10)" in line or more
    assert 10 <= len(server.payloads) - 1 < 18  # requests in progress are not cancelled
    assert "more were not sent" in line


def test_a_request_that_is_refused_does_not_end_the_run(run, server):
    server.fault = lambda number, payload: "status 400" if 0 < number < 15 else None  # the longest come first
    assert "status 400 (14 of 26)" in fails(run())
    assert len(server.payloads) == 1 + M


@pytest.mark.parametrize("shots", [0, 1])
def test_the_first_request_has_the_roles_of_the_run(run, server, shots):
    succeeds(run("--system_instruction", "Be brief.", "--num_fewshot", shots))
    first, second = ([message["role"] for message in payload["messages"]] for payload in server.payloads[:2])
    assert first == second == ["system", "user", *(["assistant", "user"] * shots)]
    assert server.payloads[0]["messages"][0]["content"] == "Be brief."


def test_a_lost_connection_is_not_explained_by_an_earlier_message(server):
    model = patient(LocalChatCompletion)(model="tiny", base_url="http://127.0.0.1:1/v1/chat/completions")
    model.tally.last_message = "too many requests"
    model._delay(ConnectionRefusedError(), 6, 1)
    assert model.tally.describe() == "100.0% of the requests failed: no connection to the server (1 of 1)"


def test_two_runs_and_two_models_do_not_share_a_file(run, server):
    err = succeeds(run())
    (file,) = run.folder.glob("answers_*_rank0.db")
    assert f"answers are kept in {file} (0 so far)" in err
    before = len(server.asked())
    with FileLock(f"{file}.lock"):
        assert tells(succeeds(run()), "another run is using this file", "This run uses", "_2_rank0.db")
        assert len(server.asked()) == before + M
        last = len(server.payloads) + 3
        server.fault = lambda number, payload: "status 503" if number > last else None
        assert tells(fails(run(questions=2)), "run the same command with --use_cache", "_2: ")
        server.fault = healthy
        assert "Use another file" in fails(run("--use_cache", str(file).removesuffix("_rank0.db")))
    # The file belongs to one model.
    server.model = "another"
    assert "(0 so far)" in succeeds(run())
    assert len(list(run.folder.glob("answers_*_rank0.db"))) == 3


@at_once_and_one_by_one
@pytest.mark.parametrize("options", [[], ["--stop", "exact"]], ids=["in full", "stopped"])
def test_a_server_that_dies_half_way_and_comes_back(run, server, options, more):
    questions, fault, told = (6, *["status 503"] * 2) if options else (1, "hang up", "no connection to the server")
    succeeds(run(*options, "--no_cache", more=more, questions=questions))
    undisturbed, total, start = run.results(), len(server.asked()), len(server.payloads)
    server.fault = lambda number, payload: fault if number >= start + total // 2 else None
    line = fails(run(*options, more=more, questions=questions))
    assert 0 < (kept := run.kept()) < total
    assert tells(line, told, f"{kept} answers are kept in")
    server.fault, before = healthy, len(server.asked())
    succeeds(run(*options, more=more, questions=questions))
    assert len(server.asked()) - before == total - kept
    assert run.results() == undisturbed


# ---- samples
SAMPLING = "cora_demo_sampling"


def test_a_server_that_ignores_seeds_is_told_of(run, server):
    server.honours_seeds = False
    assert "the seed or the temperature" in run(tasks=SAMPLING, questions=8)[1]
    options = {"cora": {"questions": 8, "request_seeds": False}}
    assert "No seeds were sent" in run("--metadata", json.dumps(options), tasks=SAMPLING)[1]


def test_no_cache_keeps_nothing(run):
    succeeds(run("--no_cache"))
    assert not list(run.folder.glob("answers_*"))
    assert "contradict" in fails(run("--no_cache", "--use_cache", run.folder / "mine"))


# ---- how answers end
CALL = {"function": {"name": "reply", "arguments": '{"letter": "B"}'}}


@pytest.mark.parametrize(
    ("message", "finish", "text", "cut_off", "came"),
    [
        ({"content": "B"}, "stop", "B", False, ""),
        ({"content": "B"}, None, "B", None, ""),
        ({"content": "Let me"}, "length", "Let me", True, ""),
        ({"content": [{"type": "text", "text": "B"}, {"type": "image"}, 3]}, "stop", "B", False, ""),
        ({"content": None, "refusal": "I cannot"}, "stop", "I cannot", False, "a refusal"),
        ({"content": None, "tool_calls": [CALL]}, "tool_calls", '{"letter": "B"}', False, "a tool call"),
        ({"content": None, "reasoning_content": "B"}, "length", "", True, "reasoning without an answer"),
        ({"content": None, "tool_calls": "?"}, "stop", "", False, "no text"),
        ({"content": ""}, "content_filter", "", False, "nothing: the server's filter removed the answer"),
        ({"content": 3}, "stop", "3", False, "JSON that is not text"),
    ],
)
def test_how_an_answer_ended(message, finish, text, cut_off, came):
    (response,) = responses_in({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})
    assert (str(response), response.cut_off, response.came) == (text, cut_off, came)
    assert (message["content"] or "") == text


def test_answers_are_in_the_order_of_their_indices():
    choices = [{"index": 1, "text": "B", "finish_reason": "length"}, {"index": 0, "message": {"content": "A"}}]
    found = responses_in({"choices": choices}, "</think>")
    assert [(str(one), one.cut_off, one.opened) for one in found] == [("A", None, False), ("B", True, True)]


def test_a_back_end_of_plain_lm_eval_tells_how_answers_end():
    model = LocalChatCompletion.__new__(LocalChatCompletion)
    model.model, model.think_end_token = "tiny", None
    for _ in range(2):  # once for each task
        attach_finish_reasons(model)
    # An index and a message that are texts are read, and a generation that failed is no answer.
    for finish, told in (("length", ("B", True, "")), ("abort", ("", None, FAILED))):
        choices = [{"index": "0", "message": "B", "finish_reason": finish}]
        (response,) = model.parse_generations(outputs={"choices": choices}, contexts=["Q"])
        assert (response, response.cut_off, response.came) == told


@pytest.mark.parametrize("output", [None, "B", {"choices": None}, {"choices": ["B"]}, {"choices": [{"index": 0}]}])
def test_an_output_in_an_unknown_format_has_no_responses(output):
    assert responses_in(output) == []


# ---- counts of failed requests, with a clock of the test
@pytest.mark.parametrize(
    "seconds",
    [[*range(0, 58, 2), 60], [300 * number for number in range(10)]],  # 29 attempts in 56 seconds, 10 in 45 minutes
    ids=["many", "slow"],
)
def test_a_server_is_given_up_after_ten_attempts_in_a_row_that_took_a_minute(seconds):
    tally = FailureCount()
    for second in seconds:
        assert not tally.gave_up
        tally.note_attempt(second, patience=60)
    assert tally.gave_up


def test_an_answer_in_between_starts_the_minute_again():
    tally = FailureCount()
    for second in range(0, 600, 10):
        tally.note_attempt(second, patience=60)
        if second % 50 == 0:
            tally.note_answer(1)
    assert not tally.gave_up


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'", "--model openai-chat-completions"),
        ('{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}', "--gen_kwargs seed=None"),
        ("temperature: only 1 is supported", "--gen_kwargs temperature=None, or pass a value"),
        ("the stopwatch is broken", "status 400. Details"),
    ],
)
def test_a_parameter_that_a_server_refuses(said, advice):
    tally = FailureCount(last_message=said)
    tally.failed["status 400"] += 1
    assert advice in tally.describe_first(["seed", "stop", "temperature", "max_tokens"])


def failed(**attributes):
    error = RuntimeError()
    vars(error).update(attributes)
    return error


KINDS = [
    (failed(status=500), "status 500", True),
    (failed(status=400), "status 400", False),
    (failed(status_code=429), "status 429", True),
    (FailedError(), FAILED, True),
    (aiohttp.ServerTimeoutError(), "a timeout", True),
    (aiohttp.ClientConnectorCertificateError(None, ssl.SSLCertVerificationError()), UNTRUSTED, True),
    (asyncio.TimeoutError(), "a timeout", True),
    (ConnectionResetError(), UNREACHABLE, True),
    (KeyError("choices"), MALFORMED, True),
    (UnicodeDecodeError("utf-8", b"", 0, 1, ""), MALFORMED, True),
    (NoChoicesError(), "an empty list of choices", True),
    (RuntimeError(), "RuntimeError", True),
    (AssertionError(), "", False),  # raised by the harness before it sends a request
    (NotImplementedError(), "", False),
]


@pytest.mark.parametrize(("error", "kind", "again"), KINDS, ids=repr)
def test_kinds_of_failures(error, kind, again):
    assert kind_of(error) == (kind, again)
