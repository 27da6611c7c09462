"""Letters scored by the next token: one request for each variant, on servers with any habit, and in this process."""

import json
from itertools import cycle
from math import exp, log
from types import SimpleNamespace

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.harness.next_token import read_in_process
from tests.support.messages import tells
from tests.support.served import at_once_and_one_by_one, both, fails, healthy, succeeds
from tests.support.server import next_tokens, text_of
from tests.support.simulated import Simulated, knows
from tests.support.simulated import run as run_simulated

pytestmark = pytest.mark.usefixtures("quick")
MC, M = "cora_demo_mc", 26
HOW = "letters:next token, top 20"


def picks(run, task=MC):
    return [(sample["doc"]["kind"], sample["consistency_rate"], sample["invalid"]) for sample in run.samples(task)]


@both
@at_once_and_one_by_one
def test_each_variant_is_one_request_and_its_letters_have_their_probabilities(run, server, protocol, more):
    err = succeeds(run(protocol=protocol, tasks=MC, more=more))
    asked = [payload for payload in server.payloads if payload.get("max_tokens") == 1]
    assert len(asked) == 1 + M
    assert "26 requests, about" in err
    assert "letters by the next token, top 20" in err
    assert {payload["logprobs"] for payload in asked} == ({True} if protocol == "chat" else {20})
    assert HOW in run.results(MC, "configs")["metadata"]["signature"]
    # The letter has 0.5, each other 0.3 / 9: with 2 to 6 letters.
    masses = [0.5 + (len(sample["doc"]["printed"]) - 1) / 30 for sample in run.samples(MC)]
    found = run.results(MC)
    assert found["letter_mass,none"] == pytest.approx(sum(masses) / M)
    assert (found["invalid,none"], found["ties,none"]) == (0.0, 0.0)


def test_yes_and_no_and_orders_are_scored_too(run):
    succeeds(run(tasks="cora_demo_plus_mc"))
    assert {sample["invalid"] for sample in run.samples("cora_demo_plus_mc")} == {""}
    succeeds(run(tasks="cora_demo_order_mc", orders="cyclic", questions=12))
    assert 0 < run.results("cora_demo_order_mc")["acc_pride,none"] < 1


@both
def test_a_run_that_is_interrupted_asks_for_the_rest_and_what_fails_is_sent_again(run, server, protocol):
    succeeds(run("--no_cache", protocol=protocol, tasks=MC, more=",num_concurrent=4"))
    whole = picks(run)
    server.payloads.clear()
    server.fault = lambda number, payload: (
        "status 404" if text_of(payload).endswith("?") is False and number % 2 else None
    )
    fails(run(protocol=protocol, tasks=MC, more=",num_concurrent=4"))
    kept = run.kept()
    assert 0 < kept < M
    faults = cycle(["status 500", "no choices", {"logprobs": None}, {"logprobs": {"content": [], "top_logprobs": []}}])
    seen = set()

    def once(_, payload):
        text = json.dumps(payload)
        return None if text in seen or seen.add(text) or "Which letter" in text_of(payload) else next(faults)

    server.fault, before = once, len(server.payloads)
    assert tells(succeeds(run(protocol=protocol, tasks=MC)), "retried, none failed")
    assert len({json.dumps(payload) for payload in server.payloads[before:]}) == 1 + M - kept
    assert picks(run) == whole
    server.fault, before = healthy, len(server.payloads)
    succeeds(run(protocol=protocol, tasks=MC))
    assert len(server.payloads) == before + 1  # the test request
    assert picks(run) == whole


@pytest.mark.parametrize("options", [("--stop", "exact"), ("--budget", M)], ids=str)
def test_fewer_requests(run, server, options):
    succeeds(run("--no_cache", *options, tasks=MC, questions=3))
    assert 3 <= len(server.asked()) <= (M if options[0] == "--budget" else 3 * M)
    assert run.results(MC)["mcqa,none"] in (0.0, 1 / 3, 2 / 3, 1.0)


def test_an_answer_that_a_filter_blocks_is_kept_with_its_reason(run, server):
    def blocked(number, payload):
        return {"finish_reason": "content_filter", "logprobs": None} if number == 3 else None

    server.fault = blocked
    for _ in range(2):
        err = succeeds(run(tasks=MC))
        assert tells(err, "a filter of the server blocked 1 answer")
        assert [reason for *_, reason in picks(run) if reason] == ["blocked by a filter"]
    assert run.kept() == M


# ---- the habits of servers
def chat(tokens, **more):
    listed = [{"token": token, "logprob": score} for token, score in tokens]
    return {"logprobs": {"content": [{**listed[0], "top_logprobs": listed}]}, **more}


SOME = [("A", log(0.6)), ("B", log(0.2)), ("C", log(0.1)), ("D", log(0.05)), ("E", log(0.02)), ("F", log(0.01))]
THINKS = {"message": {"role": "assistant", "content": None, "reasoning_content": "Let"}}
REFUSED = {
    "ignores logprobs": ({"logprobs": None}, "no log-probabilities of the next token"),
    "returns an empty list": ({"logprobs": {"content": []}}, "no log-probabilities of the next token"),
    "returns other JSON": ({"logprobs": [1, "A", {}]}, "no log-probabilities of the next token"),
    "returns only the written token": ({"logprobs": {"content": [{"token": "A", "logprob": 0}]}}, "no log-prob"),
    "returns null for the others": (
        {"logprobs": {"content": [{"token": "A", "logprob": 0, "top_logprobs": None}]}},
        "no log-probabilities of the next token",
    ),
    "returns the others as unlikely": (chat([("A", 0.0), ("B", -9999.0)]), "returns only 1 next tokens for 5 letters"),
    "returns null for all": (chat([("A", None), ("B", None)]), "no log-probabilities of the next token"),
    "returns text for numbers": (chat([("A", "-0.1"), ("B", "-1")]), "no log-probabilities of the next token"),
    "returns probabilities": (chat([("A", 0.7), ("B", 0.2)]), "numbers that are no log-probabilities"),
    "returns too much": (chat([("A", -0.1), ("B", -0.2), ("C", -0.2)]), "numbers that are no log-probabilities"),
    "returns ids": (chat([(f"token_id:{number}", -3.0) for number in range(20)]), "the ids of the next tokens"),
    "caps the number": (chat(SOME[:4]), "returns only 4 next tokens for 5 letters"),
    "repeats one token": (chat([("A", -3.0)] * 20), "returns only 1 next tokens for 5 letters"),
    "reasons in a field": (chat(SOME, **THINKS), "the model begins with its reasoning"),
    "reasons in a tag": (chat([("<think>", -0.7), *SOME[1:]]), "the model begins with its reasoning"),
    "refuses the parameter": ("status 400", "status 400"),
}


@pytest.mark.parametrize("habit", REFUSED)
def test_a_server_that_cannot_is_found_with_the_first_request_in_one_line(run, server, habit):
    fault, why = REFUSED[habit]
    server.fault = lambda *_: fault
    line = fails(run(tasks=MC))
    assert tells(line, why)
    assert fault == "status 400" or tells(line, "Let the model write its answers")
    assert len(server.payloads) == (2 if fault == "status 400" else 1)


def test_a_server_that_allows_five_tokens_gets_a_request_for_five(run, server):
    server.fault = lambda _, payload: "status 400" if payload["logprobs"] > 5 else None
    task = "cora_demo_order_mc"  # with five letters at most
    err = succeeds(run(protocol="completions", tasks=task))
    assert "letters by the next token, top 5" in err
    assert {payload["logprobs"] for payload in server.payloads} == {20, 5}
    # Of five letters, four have the same probability, and a tenth of the words lie beyond the fifth token.
    assert {sample["invalid"] for sample in run.samples(task)} <= {"", "letters not among the 20 likeliest tokens"}


def test_tokens_in_another_order_with_other_marks_and_letters_that_are_rare(run, server):
    def odd(_, payload):
        tokens = next_tokens(text_of(payload)).items()
        return chat([(token.replace(" ", "▁"), score) for token, score in reversed(tokens)])

    succeeds(run("--no_cache", tasks=MC))
    usual, server.fault = picks(run), odd
    succeeds(run("--no_cache", tasks=MC))
    assert picks(run) == usual
    server.fault = lambda number, _: chat([(f"word{n}", log(0.04)) for n in range(20)]) if number else None
    err = succeeds(run("--no_cache", tasks=MC))
    assert {reason for *_, reason in picks(run)} == {"letters not among the 20 likeliest tokens"}
    assert tells(err, "only 0% of the probability falls on the printed letters", "--num_fewshot 5", "without _mc")


# ---- labels, options, comparisons
@both
def test_labels_that_begin_alike_are_refused_or_scored_after_the_prompt(run, server, protocol):
    ran = run(protocol=protocol, tasks="cora_demo_labels_mc")
    if protocol == "completions":  # which returns log-probabilities of the prompt
        succeeds(ran)
        assert "letters:prompt" in run.results("cora_demo_labels_mc", "configs")["metadata"]["signature"]
    else:
        assert tells(fails(ran), "the labels i, ii, iii", "--tasks cora_demo_labels")
        assert server.payloads == []
    line = fails(run(protocol=protocol, tasks="cora_demo_labels_mc", letters="next_token"))
    assert tells(line, "the labels i, ii, iii")


def test_the_option_is_for_letters_and_for_back_ends_that_have_next_tokens(run):
    assert tells(fails(run(letters="next_token")), "option 'letters'", "names end in _mc")
    with pytest.raises(Exception, match=r"returns no next tokens.* Let the model write"):
        run_simulated(Simulated(knows), MC, {"questions": 1, "letters": "next_token"})


def test_the_two_ways_are_not_compared(run, capsys):
    folders = [run.folder / letters for letters in ("prompt", "next_token")]
    for folder in folders:
        run.folder = folder
        succeeds(run("--no_cache", protocol="completions", tasks=MC, letters=folder.name))
    assert main(["compare", *map(str, folders)]) == 1
    assert tells(capsys.readouterr().err, "letters is prompt in the first, next token, top 20 in the second")
    assert main(["report", str(folders[1]), "-o", str(run.folder / "report.html")]) == 0


# ---- models in this process
def test_the_next_tokens_of_transformers_are_those_of_its_whole_distribution():
    torch = pytest.importorskip("torch")
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(1))

    class HFLM:
        tokenizer = SimpleNamespace(batch_decode=lambda rows: [f"token {int(row[0])}" for row in rows])

        def _model_generate(self, context, max_length, **named):
            return SimpleNamespace(logits=(logits,), sequences="texts")

        def tok_decode(self, tokens):
            return f"decoded {tokens}"

    model = HFLM()
    assert read_in_process(model)
    rows = model._model_generate(context=torch.zeros(3, 4), max_length=5, logprobs=20).tolist()
    for row, chances in zip(rows, logits.softmax(-1).tolist(), strict=True):
        tokens = json.loads(model.tok_decode(row[4:]))
        best = sorted(range(50), key=lambda number: -chances[number])[:20]
        assert [token for token, _ in tokens] == [f"token {number}" for number in best]
        assert [exp(score) for _, score in tokens] == pytest.approx([chances[number] for number in best], abs=1e-6)
    logits[:] = torch.nan
    rows = model._model_generate(context=torch.zeros(3, 4), max_length=5, logprobs=20).tolist()
    assert {model.tok_decode(row[4:]) for row in rows} == {""}  # has no likelihood
    assert [model.tok_decode(tokens) for tokens in ([1, 2], [], 3)] == ["decoded [1, 2]", "decoded []", "decoded 3"]


def test_the_next_tokens_of_vllm():
    class VLLM:
        def _model_generate(self, requests, **named):
            known = {
                5: SimpleNamespace(decoded_token=" A", logprob=-0.5),
                6: SimpleNamespace(decoded_token=None, logprob=-3.0),
            }
            return [
                SimpleNamespace(outputs=[SimpleNamespace(text="A", logprobs=each and [known])]) for each in requests
            ]

    model = VLLM()
    assert read_in_process(model)
    scored, written = model._model_generate(requests=[True, None], generate=True)
    assert (json.loads(scored.outputs[0].text), written.outputs[0].text) == ([[" A", -0.5], ["None", -3.0]], "A")
    assert not read_in_process(Simulated(knows))
