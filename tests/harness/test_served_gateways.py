"""Runs with servers that have the habits of gateways: failed generations, filters, quotas, proxies, other models."""

import asyncio
import json
import re
import time
from collections import Counter
from email.utils import formatdate
from types import SimpleNamespace

import pytest

from lm_eval_cora.answers.records import BLOCKED
from lm_eval_cora.harness import served
from lm_eval_cora.harness.served import FAILED, FailedError, NoAnswer, StatusError, is_blocked, responses_in, wait_of
from tests.support.messages import tells
from tests.support.served import at_once_and_one_by_one, every_third, fails, healthy, succeeds
from tests.support.server import text_of, texts_of

pytestmark = pytest.mark.usefixtures("quick")
M = 26
LOST = {"finish_reason": "error", "error": {"code": 502, "message": "lost the upstream"}}


def refused(status, body, **headers):
    """What `served` raises for a response with this status."""
    return StatusError(SimpleNamespace(status=status, headers=headers), json.dumps(body))


# ---- generations
def test_a_generation_that_failed_is_sent_again_and_never_kept(run, server):
    succeeds(run("--no_cache"))
    undisturbed, doomed = run.results(), server.asked()[7]
    server.fault = every_third(LOST, {"finish_reason": "abort"}, {"error": "overloaded", "finish_reason": None})
    assert re.search(r"; \d+ retried, none failed", succeeds(run("--no_cache")))
    assert run.results() == undisturbed
    server.fault = lambda number, payload: LOST if text_of(payload) == doomed else None
    line = fails(run())
    assert tells(line, FAILED, "(1 of 26)", "lost the upstream", f"{M - 1} answers are kept")
    server.fault, before = healthy, len(server.asked())
    succeeds(run())
    assert server.asked()[before:] == [doomed]


@pytest.mark.parametrize(
    ("fault", "again", "invalid"),
    [(LOST, 1, []), ((400, "content_filter"), 4, ["blocked by a filter"])],
    ids=["failed", "blocked"],
)
def test_one_prompt_of_a_batch_costs_no_other_one_its_answer(run, server, fault, again, invalid):
    sent, odd = Counter(), []

    def of(number, payload):
        prompts = texts_of(payload)
        sent.update(prompts)
        if number == 3:
            odd.append(prompts[0])
        return fault if prompts[0] in odd and (invalid or number == 3) else None

    server.fault = of
    succeeds(run("--batch_size", 4, protocol="completions"))
    assert Counter(sent.values()) == {1: M + 1 - again, 2: again}
    assert [sample["invalid"] for sample in run.samples() if sample["invalid"]] == invalid
    assert run.kept() == M


@pytest.mark.parametrize(
    ("end", "kind", "cut_off", "came"),
    [
        ({"finish_reason": "error"}, NoAnswer, None, FAILED),
        ({"finish_reason": "stop", "error": {"message": "lost"}}, NoAnswer, False, FAILED),
        ({"finish_reason": "content_filter"}, served.Response, False, BLOCKED),
        ({"finish_reason": "error", "error": {"code": "content_filter"}}, served.Response, False, BLOCKED),
        ({"stop_reason": "refusal"}, served.Response, False, BLOCKED),
        ({"finish_reason": "MAX_TOKENS"}, served.Response, True, ""),
        ({"finish_reason": None}, served.Response, None, ""),
        ({"finish_reason": "foo"}, served.Response, None, ""),
    ],
)
def test_what_a_finish_reason_says(end, kind, cut_off, came):
    (response,) = responses_in({"choices": [{"index": "0", "message": "B so", **end}]})
    assert (type(response), response.cut_off, response.came) == (kind, cut_off, came)
    assert response == ("" if kind is NoAnswer else "B so")


def test_an_unknown_finish_reason_and_another_model_are_one_warning_each(run, server):
    server.name, server.fault = "org/Tiny-2026-01-31", lambda number, payload: {"finish_reason": f"foo {number}"}
    err = succeeds(run("--no_cache"))
    assert err.count("finish reason 'foo") == 1
    assert "tiny was asked" not in err
    server.name = "tiny-mini"
    assert succeeds(run()).count("tiny was asked, but the answers name the model tiny-mini") == 1
    assert run.results(part="configs")["metadata"]["answered_by"] == ["tiny-mini"]


@pytest.mark.parametrize("fault", [{"message": {"content": ""}, "finish_reason": "stop"}, "null"], ids=str)
def test_a_run_whose_answers_are_all_empty_is_an_error_after_the_results(run, server, fault):
    server.fault = lambda number, payload: fault if number else None
    for _ in range(2):  # some are kept
        assert "all written answers are empty" in fails(run())
        assert run.results()["invalid,none"] == 1


# ---- filters, and other refusals
FILTERS = [
    (400, {"error": {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
    (400, {"error": {"message": "Your prompt was flagged as violating our usage policy", "code": "invalid_prompt"}}),
    (400, {"error": {"status": "INVALID_ARGUMENT", "message": "blocked: PROHIBITED_CONTENT"}}),
    (422, {"message": "block_reason: SAFETY"}),
    (400, {"type": "error", "error": {"message": "Output blocked by content filtering policy"}}),
    (400, {"error": {"message": "Content Exists Risk"}}),
    (403, {"error": {"message": "the model requires moderation. Your input was flagged for violence"}}),
]
OTHERS = [
    (400, {"error": {"message": "maximum context length is 512 tokens", "code": "context_length_exceeded"}}),
    (400, {"error": {"message": "messages.0.content.0: text content blocks must be non-empty"}}),
    (403, {"error": "This address is blocked"}),
    (500, {"error": "the moderation service is down"}),
]


def test_refusals_of_the_content_are_told_from_others():
    assert all(is_blocked(refused(*filtered)) for filtered in FILTERS)
    assert not any(is_blocked(refused(*other)) for other in OTHERS)
    assert is_blocked(FailedError("{'code': 'content_filter'}"))
    assert not is_blocked(ConnectionError("content_filter"))


def test_a_prompt_that_a_filter_blocks_is_an_invalid_answer_of_its_own_kind(run, server):
    server.fault = lambda number, payload: FILTERS[number % len(FILTERS)] if "B. None of" in text_of(payload) else None
    err = succeeds(run())
    blocked = [sample for sample in run.samples() if "B. None of" in str(sample["arguments"])]
    assert {(sample["invalid"], sample["resps"][0][0]) for sample in blocked} == {("blocked by a filter", "")}
    count = f"blocked {len(blocked)} answers, which are invalid, to the questions "
    assert count + blocked[0]["doc"]["question_id"] in err
    before = len(server.asked())
    assert count in succeeds(run())
    assert len(server.asked()) == before


def test_a_filter_that_blocks_the_first_request_is_an_error(run, server):
    server.fault = lambda number, payload: FILTERS[0]
    assert tells(fails(run()), "a first request to", "status 400", "content_filter")


def test_questions_that_are_refused_are_named_and_can_be_left_out(run, server):
    succeeds(run("--no_cache", questions=2))
    doc = run.samples()[-1]["doc"]
    server.fault = lambda number, payload: OTHERS[0] if doc["question"] in text_of(payload) else None
    line = fails(run(questions=2))
    assert tells(line, "status 400 (26 of 52)", "maximum context", f'"without": ["{doc["question_id"]}"]', "26 answers")
    before = len(server.asked())
    options = json.dumps({"cora": {"questions": 2, "without": [doc["question_id"]]}})
    succeeds(run("--metadata", options))
    assert len(server.asked()) == before
    assert tells(run.results(part="configs")["metadata"]["signature"], f"|without:{doc['question_id']}|", "n:1x26")


# ---- parameters
def test_the_first_request_has_the_parameters_of_the_run(run, server):
    succeeds(run("--gen_kwargs", "temperature=1,seed=None,top_p=0.9"))
    first, second = ({**payload, "messages": ""} for payload in server.payloads[:2])
    assert first == second
    assert first.keys() == {"messages", "model", "max_tokens", "temperature", "top_p"}
    server.payloads.clear()
    succeeds(run(tasks="cora_demo,cora_demo_sampling"))
    assert [payload["temperature"] for payload in server.payloads[:2]] == [0.0, 0.7]
    assert not any("Which letter" in text_of(payload) for payload in server.payloads[2:])


def test_answers_at_the_default_temperature_of_a_server_are_samples(run):
    succeeds(run("--gen_kwargs", "temperature=None"))
    assert run.kept() == 0


# ---- waiting
class Clock:
    """A clock that only sleeping moves."""

    def __init__(self, monkeypatch):
        self.now, self._sleep = 0.0, asyncio.sleep
        monkeypatch.setattr(served, "time", SimpleNamespace(monotonic=lambda: self.now, time=time.time))
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    async def sleep(self, seconds):
        self.now += seconds
        await self._sleep(0)


@at_once_and_one_by_one
@pytest.mark.parametrize(
    ("status", "told"), [(429, lambda: 80), (503, lambda: formatdate(time.time() + 82, usegmt=True))]
)
def test_a_run_waits_as_long_as_the_server_says(run, server, monkeypatch, more, status, told):
    clock, early = Clock(monkeypatch), []

    def of(number, payload):
        if number < 9 or clock.now > 79:
            return None
        early.append(number)
        return status, {"error": "quota"}, {"Retry-After": told()}

    server.fault = of
    err = succeeds(run(more=more))
    assert tells(err, "asks to wait 8", "(Retry-After)", "at most 600 s")
    assert len(early) <= (8 if more else 1)
    assert f"{M} requests; {len(early)} retried, none failed" in err


def test_a_wait_that_is_too_long_ends_the_run(run, server, monkeypatch):
    Clock(monkeypatch)
    server.fault = lambda number, payload: (429, {}, {"Retry-After": 601}) if number > 4 else None
    assert tells(fails(run()), "status 429 (1 of 5); 21 more were not sent", "4 answers are kept")
    assert len(server.payloads) == 6


@pytest.mark.parametrize("told", ["soon", "", "-5", "nan", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_wait_that_cannot_be_read_or_is_over_is_none(told):
    assert wait_of(refused(429, {}, **{"Retry-After": told})) == 0


# ---- the way to the server
def test_a_proxy_and_json_of_another_declared_type_work(run, server, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
    answer = {"choices": [{"index": 0, "message": {"content": "A"}}]}
    server.fault = lambda number, payload: (200, json.dumps(answer).encode())  # which the server declares to be a page
    succeeds(run(more=",base_url=http://models.example/v1/chat/completions"))
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    succeeds(run("--no_cache"))  # no proxy reaches this machine
