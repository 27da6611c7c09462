"""Constrained answers: what engines accept, what they ignore, and what a request allows."""

import json
import sys
from itertools import count
from types import SimpleNamespace

import pytest
from lm_eval.models.utils import Collator

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import answer_in
from lm_eval_cora.harness.constrained import WAYS, _prepare, constraint, kind_of_way
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.grouping import read_runs
from tests.support.constraints import ALLOWED
from tests.support.messages import tells
from tests.support.served import at_once_and_one_by_one, fails, succeeds
from tests.support.server import text_of

M = 26
served = pytest.mark.usefixtures("quick")
each_way = pytest.mark.parametrize("way", ALLOWED)


def asking(value=True, **more):
    return "--metadata", json.dumps({"cora": {"questions": 1, "constrain": value, **more}})


def signature(run, task="cora_demo"):
    return run.results(task, part="configs")["metadata"]["signature"]


# ---- servers
@served
@at_once_and_one_by_one
@each_way
def test_each_prompt_allows_exactly_its_own_letters(run, server, way, more):
    server.obeys = way
    assert f"constrained answers: by {way}" in succeeds(run(*asking(), more=more))
    asked = [payload for payload in server.payloads if way in payload and "Which letter" not in text_of(payload)]
    for payload in asked:
        printed = [line[0] for line in text_of(payload).splitlines() if line[1:3] == ". "]
        assert ALLOWED[way](payload[way]) == printed
        assert payload["max_tokens"] == (33 if way == "response_format" else 1)
    assert len(asked) == M
    assert {len(ALLOWED[way](payload[way])) for payload in asked} == {2, 3, 5}
    assert run.results()["invalid,none"] == 0
    assert {sample["resps"][0][0] for sample in run.samples()} <= {*"ABCDE"}
    assert f"|constrained:{'json' if way == 'response_format' else 'choice'}|" in signature(run)


@served
def test_completions_begin_with_the_space_that_exemplars_have(run, server):
    server.obeys = "guided_choice"
    succeeds(run(*asking(), "--batch_size", "4", protocol="completions"))
    assert {sample["resps"][0][0] for sample in run.samples()} <= {f" {letter}" for letter in "ABCDE"}
    assert run.results()["invalid,none"] == 0


@served
def test_sets_of_letters_yes_and_no_and_other_labels(run, server):
    server.obeys = "regex"
    succeeds(run(*asking(), tasks="cora_demo_revas,cora_demo_labels"))
    by_kind = {sample["doc"]["kind"]: sample["resps"][0][0] for sample in run.samples("cora_demo_revas")}
    assert by_kind["true_or_false_wrong"] in ("yes", "no")
    assert set(by_kind["select_all"].split(", ")) <= {*"ABCDE"}
    assert {sample["invalid"] for sample in run.samples("cora_demo_labels")} == {""}


def refusing(*accepted):
    """A server that refuses parameters that it does not know."""
    known = {"messages", "model", "max_tokens", "temperature", "stop", "seed", *accepted}

    def of(number, payload):
        unknown = payload.keys() - known
        return (400, {"error": {"message": f"Unrecognized request argument: {min(unknown)}"}}) if unknown else None

    return of


@served
def test_a_server_that_refuses_what_it_does_not_know_is_asked_for_json(run, server):
    server.obeys, server.fault = "response_format", refusing("response_format")
    succeeds(run(*asking()))
    assert len(server.payloads) == 1 + len(WAYS) + 1 + M  # the first request, one for each way, one for all letters


def saying(text):
    return {"message": {"content": text}}


HABITS = {
    "ignores": lambda number, payload: None,
    "refuses": refusing(),
    "other JSON": lambda number, payload: saying('{"answer": "QZXJ"}') if "response_format" in payload else None,
    "JSON with more": lambda number, payload: saying('{"chosen_answer": "QZXJ", "why": 1}'),
    "a number": lambda number, payload: saying('{"chosen_answer": 7}'),
    "a list": lambda number, payload: saying('["chosen_answer"]'),
    "deep": lambda number, payload: saying("[" * 100_000),
    "null": lambda number, payload: saying(None),
    "text around": lambda number, payload: saying("The answer is QZXJ."),
    "reasons": lambda number, payload: saying("<think>Let me see."),
    "errors": lambda number, payload: "error" if payload.keys() & ALLOWED.keys() else None,
}


@served
@pytest.mark.parametrize("habit", HABITS)
def test_a_server_that_does_not_constrain_ends_the_run_in_one_line(run, server, habit):
    server.fault = HABITS[habit]
    line = fails(run(*asking()))
    assert tells(line, "cora_demo: option 'constrain': the back end refuses or ignores", *ALLOWED, '"if possible"')
    assert len(server.payloads) == 1 + len(WAYS) + (2 * len(ALLOWED) if habit == "errors" else 0)
    assert not list(run.folder.rglob("results_*"))


@served
def test_if_possible_goes_on_as_without_the_option(run, server):
    succeeds(run("--no_cache"))
    free, of_free = run.results(), signature(run)
    err = succeeds(run("--no_cache", *asking("if possible")))
    assert "constrained answers: no, the back end refuses or ignores" in err
    assert (run.results(), signature(run)) == (free, of_free)


@served
def test_a_server_that_is_busy_is_asked_again(run, server):
    server.obeys = "structured_outputs"
    server.fault = lambda number, payload: "status 503" if number in (1, 2) else None
    assert "constrained answers: by structured_outputs" in succeeds(run(*asking()))


@served
def test_free_and_constrained_answers_are_kept_apart_and_not_compared(run, server):
    server.obeys = "structured_outputs"
    for options, sent in ((asking(), M), ((), M), (asking(), 0), ((), 0)):
        before = len([payload for payload in server.payloads if "Which letter" not in text_of(payload)])
        succeeds(run(*options))
        assert len(server.asked()) - before == sent
    files = sorted(run.folder.rglob("results_*.json"))
    bound, free, again, _ = [read_runs([path, *path.parent.glob(f"*{path.stem[8:]}.jsonl")])[0] for path in files]
    assert "constrained" in not_comparable(bound, free)
    assert not not_comparable(bound, again)


REFUSED = [
    ("cora_demo_prompts", {}, "asks for reasoning before the answer"),
    ("cora_demo_sampling", {}, "asks for reasoning before the answer"),
    ("cora_demo_mc", {}, "letters are scored, not written"),
    ("cora_demo", {"prompt": "Think step-by-step.\n{{question}}{{options}}"}, "asks for reasoning before the answer"),
    ("cora_demo", {"constrain": "maybe"}, "expected true, false or 'if possible'"),
    ("cora_demo", {"constrain": 1}, "expected true, false or 'if possible'"),
]


@served
@pytest.mark.parametrize(("task", "options", "why"), REFUSED)
def test_what_cannot_be_constrained_is_refused_before_the_first_request(run, server, task, options, why):
    assert why in fails(run(*asking(**options), tasks=task))
    assert not server.payloads


# ---- answers
@pytest.mark.parametrize("labels", [LETTERS, ("1", "2", "3"), ("i", "ii", "iii"), ("§", "¶", "†"), ("א", "ב", "ג")])
@pytest.mark.parametrize("ask", ["letter", "yes_no", "select_all"])
def test_every_allowed_answer_is_read_as_another_one(ask, labels):
    choices = ["Ice", "Fog", "Dew"][: FORMATS[ask].shows[1]]
    doc = {"ask": ask, "printed": [*range(len(choices))], "choices": choices, "answer": 0}
    doc |= {} if labels is LETTERS else {"labels": labels}
    allowed = FORMATS[ask].allowed(doc)
    for reader in ("strict", "flexible"):
        read = [answer_in(doc, text, reader) for text in allowed]
        assert not [answer.reason for answer in read if answer.reason]
        assert len({(answer.picked, answer.selected) for answer in read}) == len(allowed)
    assert len(allowed) == {"letter": 3, "yes_no": 2, "select_all": 7}[ask]


def test_sets_of_more_than_ten_letters_are_not_listed():
    sizes = [len(FORMATS["select_all"].allowed({"printed": range(size)})) for size in (2, 10, 11)]
    assert sizes == [3, 1023, 0]


def test_special_characters_are_escaped():
    answers = ('"', "\\", "|", "(a)", " §")
    assert constraint("regex", answers)["regex"] == r'("|\\|\||\(a\)| §)'
    assert constraint("grammar", answers[:2])["grammar"] == r'root ::= "\"" | "\\"'


def test_a_grammar_has_characters_beyond_16_bits_as_they_are():
    # llama.cpp would read the two halves of an escaped emoji as two characters, which no model writes.
    assert constraint("grammar", ("\U0001f600", "A\n"))["grammar"] == 'root ::= "\U0001f600" | "A\\n"'


def test_the_harness_groups_requests_by_what_they_allow():
    for way in WAYS:
        settings = [constraint(way, answers) for answers in (("A", "B"), ("A", "C"), ("A", "B"))]
        requests = [(str(number), one) for number, one in zip(count(), settings)]
        chunks = Collator(requests, sort_fn=lambda one: one[0], group_by="gen_kwargs", group_fn=lambda one: one[1])
        assert sorted(len(chunk) for chunk in chunks.get_batched(n=10)) == [1, 2]
        assert json.loads(json.dumps(settings[0])) == json.loads(json.dumps(settings[2]))
    assert [kind_of_way(way) for way in ("regex", "response_format")] == ["choice", "json"]


# ---- engines in this process
class Tokens(list):
    """As a tensor."""

    def tolist(self):
        return [*self]

    def __getitem__(self, part):
        return Tokens(super().__getitem__(part))


def test_transformers_may_write_only_an_answer_and_its_end():
    kept = {}
    model = SimpleNamespace(_model_generate=lambda **named: kept.update(named), eot_token_id=0)
    model.tok_encode = lambda text, add_special_tokens: [ord(character) for character in text]
    _prepare(model)
    settings = constraint("prefix_allowed_tokens_fn", ("1", "10"), " ")
    model._model_generate(context=SimpleNamespace(shape=(2, 3)), **settings)
    allowed = kept["prefix_allowed_tokens_fn"]
    following = [allowed(0, Tokens([7, 7, 7, *map(ord, said)])) for said in ("", " ", " 1", " 10")]
    assert [{*map(chr, tokens)} for tokens in following] == [{" "}, {"1"}, {"\0", "0"}, {"\0"}]
    assert allowed(0, Tokens([7, 7, 7, 32, 49, 0, 0])) == [0]  # the end of another prompt in the batch
    model._model_generate(top_k=1)
    assert kept["top_k"] == 1


def test_vllm_gets_its_own_parameters(monkeypatch):
    module = SimpleNamespace(StructuredOutputsParams=lambda **given: ("params", given))
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(sampling_params=module))
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", module)
    kept = []
    model = SimpleNamespace(_model_generate=lambda sampling_params=None: kept.append(sampling_params))
    _prepare(model)
    free = SimpleNamespace(structured_outputs=None)
    bound = SimpleNamespace(structured_outputs=constraint("structured_outputs", ("A", "B"))["structured_outputs"])
    model._model_generate(sampling_params=[free, bound])
    model._model_generate()
    assert bound.structured_outputs == ("params", {"choice": ["A", "B"]})
    assert (free.structured_outputs, kept) == (None, [[free, bound], None])
