"""Generation with increasing token limits."""

from collections import Counter
from types import SimpleNamespace

import pytest

from lm_eval_cora.answers.records import SKIPPED, Response
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.limits import annotated
from tests.support.responses import STYLES
from tests.support.simulated import Simulated, run, scored
from tests.support.stopping import Moody, chance

QUESTIONS = {"questions": 6}
LIMITS = (4, 16, 64)
SEED = 3


class Writes(Simulated):
    """Writes words up to the token limit. A token is a word with the space before it."""

    def __init__(self, tokenizer=True):
        super().__init__(self.say)
        self.asked = []
        self.tokens = 0
        if tokenizer:
            self.tok_encode = lambda text, **_: [0] * len(text.split(" "))

    def say(self, doc):
        said = Moody(SEED).say(doc)
        place = "ABCDE".find(said)
        if place < 0:
            return "It depends on many things. " + "One of them is the weather. " * 30
        style = list(STYLES)[int(len(STYLES) * chance("style", doc["question_id"], doc["ordinal"]))]
        reasons = "<think>It may be A or B. " + "Let me see. " * 12 + "</think>"
        start = reasons if chance("reasons", doc["question_id"], doc["ordinal"]) < 0.2 else ""
        return f"{start}{STYLES[style](said, doc['choices'][place])}\n\n" + "This explains it at length. " * 20

    def generate_until(self, requests, disable_tqdm=False):
        answers = []
        for request in requests:
            limit = request.args[1]["max_gen_toks"]
            words = self.rule(request.doc).split(" ")[:limit]
            self.asked.append((limit, request.args[0]))
            self.tokens += len(words)
            answers.append(" ".join(words))
        return answers


def values_of(model):
    return scored(model, "cora_demo", QUESTIONS)


@pytest.mark.parametrize("tokenizer", [True, False])
def test_the_scores_are_those_of_the_longest_limit(tokenizer):
    whole, steps = Writes(tokenizer), Writes(tokenizer)
    expected = values_of(stop_early(whole, None, max_gen_toks=LIMITS[-1:]))
    values = values_of(stop_early(steps, None, max_gen_toks=LIMITS))
    without = {name: value for name, value in values.items() if not name.startswith("followed")}
    assert without == {name: value for name, value in expected.items() if not name.startswith("followed")}
    assert {limit for limit, _ in whole.asked} == {64}
    counts = Counter(limit for limit, _ in steps.asked)
    assert counts[4] == len(whole.asked) > counts[16] > counts[64] > 0
    assert steps.tokens < whole.tokens


def test_a_run_that_stops_early_has_the_scores_of_the_longest_limit():
    model = Writes()
    expected = values_of(stop_early(Writes(), None, max_gen_toks=LIMITS[-1:]))
    values = values_of(stop_early(model, "exact", max_gen_toks=LIMITS))
    assert max(Counter(model.asked).values()) == 1  # nothing is asked twice with one limit
    for name in ("cora", "ci", "mcqa", "bmca@1.0", "cora_stderr", "mcqa_stderr"):
        assert values[name] == pytest.approx(expected[name])


class Ends(Simulated):
    """Ends by itself after few tokens, or says nothing at all, as a server that takes out unfinished reasoning does."""

    def __init__(self, said):
        super().__init__(lambda _: said)

    @property
    def limits(self):
        return [request.args[1]["max_gen_toks"] for call in self.calls for request in call]


@pytest.mark.parametrize(
    ("said", "task", "limits", "sent"),
    [
        # Without a tokenizer a text of fewer bytes than tokens is whole.
        ("B", "cora_demo", (8, 16), {8: 26}),
        ("?", "cora_demo", (8, 16), {8: 26}),
        ("", "cora_demo", (8, 16), {8: 26, 16: 26}),
        ("B. A long text of words", "cora_demo", (8, 16), {8: 26, 16: 26}),
        # All right letters have room for the texts of their options.
        ("A", "cora_demo_revas", (8, 16), {8: 48}),
        ("", "cora_demo_revas", (8, 16), {8: 48, 16: 47, 64: 1}),
        # Samples are asked for once.
        ("", "cora_demo_sampling", (4, 8), {8: 5}),
        ("", "cora_demo", (100,), {100: 26}),
    ],
)
def test_only_what_may_be_cut_off_is_asked_for_again(said, task, limits, sent):
    model = Ends(said)
    results = run(stop_early(model, None, max_gen_toks=limits), task, {"questions": 1})
    assert Counter(model.limits) == sent
    assert results["configs"][task]["generation_kwargs"]["max_gen_toks"] == limits[-1]


def test_the_log_says_how_many_were_asked_for_again(caplog):
    caplog.set_level("INFO")
    run(stop_early(Ends(""), None, max_gen_toks=(4, 8)), "cora_demo", {"questions": 1})
    assert "sent 26 requests with at most 4 tokens, 26 again with at most 8 tokens" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_gen_toks": (8, 4)}, "--max_gen_toks 8,4: expected increasing limits"),
        ({"max_gen_toks": (8, 8)}, "expected increasing limits"),
        ({"max_gen_toks": (0, 8)}, "expected whole numbers from 1"),
        ({"max_gen_toks": (8, True)}, "expected whole numbers from 1"),
        ({"max_gen_toks": (4, 8), "budget": 100}, "--max_gen_toks 4,8: .* --budget 100"),
    ],
)
def test_limits_that_cannot_be_used_are_an_error(arguments, message):
    with pytest.raises(UserError, match=message):
        stop_early(Ends("A"), None, **arguments)


def test_a_response_that_is_no_text_ends_nothing():
    model = Ends("A")
    model.rule = lambda _: None  # type: ignore[assignment, return-value]
    values = scored(stop_early(model, None, max_gen_toks=(4, 8)), "cora_demo", {"questions": 1})
    assert values["invalid"] == 1.0


TOKENS = {"tok_encode": lambda text, **_: [0] * len(text.split())}


@pytest.mark.parametrize(
    ("prompt", "model", "response", "cut_off", "opened"),
    [
        ("Q", TOKENS, "a b c d e f g h", True, False),
        ("Q", TOKENS, "a b c d e f g", True, False),  # tokenized again, it can be one token shorter
        ("Q", TOKENS, "a b c d e f", None, False),
        ("Q", TOKENS, "a b c d", False, False),
        ("Q", {}, "a b c d e f g h", None, False),  # the tokens cannot be counted
        ("Q<think>\n", TOKENS, "a b", False, True),
        ("Q<think>\n\n</think>\n", TOKENS, "a b", False, False),
        ("Q", {**TOKENS, "think_end_token": "</think>"}, "a b c d e f g h", True, True),
        ("Q", TOKENS, Response("a b c d e f g h", cut_off=False), False, False),  # the server says so
        ("Q", {}, Response("a", cut_off=True), True, False),
    ],
)
def test_what_is_known_about_a_response(prompt, model, response, cut_off, opened):
    request = SimpleNamespace(args=(prompt, {"max_gen_toks": 8}))
    marked = annotated(SimpleNamespace(**model), request, response)
    assert (marked, marked.cut_off, marked.opened) == (str(response), cut_off, opened)


@pytest.mark.parametrize("response", [SKIPPED, None, 3.5])
def test_what_is_no_response_is_not_marked(response):
    assert annotated(None, SimpleNamespace(args=("", {})), response) is response


@pytest.mark.parametrize(("said", "cut_off"), [("A", False), (" B", False), ("A lot", True), ("F", True)])
def test_a_constrained_answer_is_complete_at_its_limit(said, cut_off):
    doc = {"ask": "letter", "printed": [0, 1], "choices": ["ice", "fog"]}
    settings = {"structured_outputs": {"choice": ["A", "B"]}, "max_gen_toks": 1}
    response = Response(said, cut_off=True)
    assert annotated(None, SimpleNamespace(doc=doc, args=("?", settings)), response).cut_off is cut_off
    free = SimpleNamespace(doc=doc, args=("?", {"max_gen_toks": 1}))
    assert annotated(None, free, response).cut_off
