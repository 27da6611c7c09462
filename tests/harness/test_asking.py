"""Which requests reach the model, and what is returned for skipped ones."""

import json
from collections import Counter, defaultdict
from contextlib import nullcontext
from math import inf, nan
from types import SimpleNamespace

import datasets
import pytest
from lm_eval.api.model import CachingLM

from lm_eval_cora.answers.records import SKIPPED, Skipped
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import AskingLM, stop_early
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.variants.probes import PROBES
from lm_eval_cora.variants.variant import place_in_asking
from tests.support.simulated import TASKS, knows, run, scored, scores, signature_of
from tests.support.stopping import Moody, chance, known

QUESTIONS = {"questions": 6}
HARDEST = (*PROBES["plus"].hardest_first, *PROBES["divergent"].hardest_first)
SEED = 8


class Watched(Moody):
    """Records all calls. It fails after a number of requests, and stores each answer as back ends do."""

    def __init__(self, seed=SEED, dies_after=None):
        super().__init__(seed)
        self.dies_after = dies_after

    def _each(self, method, requests):
        self.calls.append(list(requests))
        found = []
        for request in requests:
            if self.dies_after is not None and sum(map(len, self.calls[:-1])) + len(found) >= self.dies_after:
                raise KeyboardInterrupt
            found.append(self.answer(method, request))
            self.cache_hook.add_partial(method, request.args, found[-1])
        return found

    def answer(self, method, request):
        if "question_id" not in request.doc:  # of another task
            return f"said to {request.args[0]}"
        said = self.rule(request.doc)
        return said if method == "generate_until" else self._score(said, request.args[1].strip())

    def generate_until(self, requests, disable_tqdm=False):
        return self._each("generate_until", requests)

    def loglikelihood(self, requests, disable_tqdm=False):
        return self._each("loglikelihood", requests)

    @property
    def requests(self):
        return [request for call in self.calls for request in call]

    @property
    def arguments(self):
        return [json.dumps(request.args) for request in self.requests]


class Reader(Watched):
    """Answers by the prompt alone, so that the same prompt gets the same answer."""

    def answer(self, method, request):
        doc = request.doc
        skill = 1.0 if chance(self.seed, doc["question"]) < 0.4 else 0.7
        said = knows(doc) if chance(self.seed, request.args[0]) < skill else LETTERS[len(doc["printed"]) - 1]
        return said if method == "generate_until" else self._score(said, request.args[1].strip())


def waves_by_hand(results, task):
    """The expected requests of each wave, from the answers of a full run: until an answer is wrong."""
    right = defaultdict(list)
    for sample in sorted(results["samples"][task], key=lambda sample: place_in_asking(sample["doc"], HARDEST)):
        right[sample["doc"]["question_id"]].append((sample["doc"]["ordinal"], sample["acc"] == 1))
    waves = defaultdict(set)
    for question, variants in right.items():
        hits = [hit for _, hit in variants]
        for wave, (ordinal, _) in enumerate(variants):
            if not all(hits[:wave]):
                break
            waves[wave].add((question, ordinal))
    return [waves[wave] for wave in sorted(waves)]


def variants_of(requests):
    return {(request.doc["question_id"], request.doc["ordinal"]) for request in requests}


def same_scores(task, found, full):
    """Check the values and standard errors that stay exact with early stopping."""
    names = [f"{name}{end}" for name in known(task) for end in ("", "_stderr")]
    assert {name: found[name] for name in names} == {name: full[name] for name in names}


# ---- requests
@pytest.mark.parametrize(
    "task", ["cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_order_mc", "cora_demo_prompts"]
)
def test_each_wave_contains_only_necessary_requests_and_the_others_are_marked(task):
    plain, model = Watched(), Watched()
    everything = run(plain, task, QUESTIONS)
    samples = run(stop_early(model), task, QUESTIONS)["samples"][task]
    assert [variants_of(call) for call in model.calls] == waves_by_hand(everything, task)
    assert all(request.doc["original"] for request in model.calls[0])
    assert len({request.doc["question_id"] for request in model.calls[0]}) == 6
    # If letters are scored, all letters of a variant are in one call, and none twice.
    sizes = Counter((request.doc["question_id"], request.doc["ordinal"]) for request in plain.requests)
    for call in model.calls:
        counts = Counter((request.doc["question_id"], request.doc["ordinal"]) for request in call)
        assert counts == {variant: sizes[variant] for variant in counts}
    assert len(model.arguments) < len(plain.arguments)
    assert set(model.arguments) <= set(plain.arguments)
    asked = variants_of(model.requests)
    assert 0 < len(asked) < len(samples)
    for sample, other in zip(samples, everything["samples"][task], strict=True):
        assert sample["doc_hash"] == other["doc_hash"]
        (responses,), (others,) = zip(*sample["resps"], strict=True), zip(*other["resps"], strict=True)
        if (sample["doc"]["question_id"], sample["doc"]["ordinal"]) in asked:
            assert responses == others
            assert not any(isinstance(response, Skipped) for response in responses)
        else:
            assert all(type(response) is Skipped for response in responses)
            assert json.loads(json.dumps(sample["resps"])) == [[str(SKIPPED)]] * len(others)


def test_the_questions_of_several_tasks_are_asked_side_by_side():
    tasks = ["cora_demo", "cora_demo_plus"]
    plain, model = Reader(), Reader()
    everything, found = run(plain, tasks, {"questions": 3}), run(stop_early(model), tasks, {"questions": 3})
    by_hand = [waves_by_hand(everything, task) for task in tasks]
    expected = []
    for wave in range(max(map(len, by_hand))):
        asked = {
            json.dumps(request.args)
            for task, waves in zip(tasks, by_hand, strict=True)
            for request in plain.requests
            if request.task_name == task and wave < len(waves) and variants_of([request]) <= waves[wave]
        }
        expected.append(asked.difference(*expected))  # both tasks have the same original prompts
    assert [{json.dumps(request.args) for request in call} for call in model.calls] == list(filter(None, expected))
    assert len(expected[0]) == 3
    for task in tasks:
        assert found["results"][task]["cora,none"] == everything["results"][task]["cora,none"]


# ---- skipped requests
def test_a_response_with_the_text_of_the_marker_is_not_skipped():
    everything, model = run(lambda _: str(SKIPPED), options=QUESTIONS), Watched()
    assert not [sample for sample in everything["samples"]["cora_demo"] if sample["resps"] == [[str(SKIPPED)]]]
    whole = scores(everything)
    assert (whole["invalid"], whole["acc"], whole["cora"]) == (1.0, 0.0, 0.0)
    model.rule = lambda _: str(SKIPPED)
    results = run(stop_early(model), options=QUESTIONS)
    assert len(model.requests) == 6
    same_scores("cora_demo", scores(results), whole)
    # In the file, a response of the model differs from the text of a skipped request.
    texts = Counter(sample["resps"][0][0] for sample in results["samples"]["cora_demo"])
    assert texts[str(SKIPPED)] == 6 * 25
    assert f"|asked:{100 / 26:.1f}%|" in signature_of(results)


@pytest.mark.parametrize("score", [(nan, False), (-inf, False), (inf, True), (None, False), None, ()])
def test_scores_equal_the_full_run_for_every_likelihood(score):
    class Broken(Watched):
        def answer(self, method, request):
            key = (request.doc["question_id"], request.doc["ordinal"], request.args[1])
            return score if chance(*key) < 0.15 else super().answer(method, request)

    everything = scored(Broken(), "cora_demo_mc", options={"questions": 4})
    found = scored(stop_early(Broken()), "cora_demo_mc", options={"questions": 4})
    same_scores("cora_demo_mc", found, everything)


# ---- caches
@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc"])
def test_a_cache_around_is_refused_before_the_first_request(task, tmp_path):
    model = Watched()
    with pytest.raises(UserError, match="stop_early\\(CachingLM"):
        run(stop_early(model), task, options=QUESTIONS, use_cache=str(tmp_path / "cache"))
    assert model.calls == []
    for options in ({"budget": 100}, {"until": ["cora>=0.1"]}):
        with pytest.raises(UserError, match="stop_early\\(CachingLM"):
            stop_early(Watched(), None, **options).set_cache_hook(SimpleNamespace(dbdict={}))  # type: ignore[arg-type]
    # If no request is skipped, a cache is accepted.
    found = run(AskingLM(model), task, options={"questions": 1}, use_cache=str(tmp_path / "other"))
    assert scores(found, task) == scored(Watched(), task, options={"questions": 1})


@pytest.mark.parametrize(("task", "requests"), [("cora_demo", 20), ("cora_demo_mc", 77)])
def test_a_cache_inside_holds_the_answers_of_a_killed_run_and_no_markers(task, requests, tmp_path):
    undisturbed, resumed, idle, whole, plain = Watched(), Watched(), Watched(), Watched(), Watched()
    expected = scored(stop_early(undisturbed), task, options=QUESTIONS)
    assert len(undisturbed.requests) > requests + 5
    for model in (killed := Watched(dies_after=requests), resumed, idle):
        cached = CachingLM(model, str(tmp_path / "cache_rank0.db"))
        with pytest.raises(KeyboardInterrupt) if model is killed else nullcontext():
            assert scored(stop_early(cached), task, options=QUESTIONS) == expected
        cached.dbdict.close()  # as at the end of a process
    assert sorted(killed.arguments[:requests] + resumed.arguments) == sorted(undisturbed.arguments)
    assert idle.arguments == []
    everything = run(plain, task, options=QUESTIONS)
    found = run(whole, task, options=QUESTIONS, use_cache=str(tmp_path / "cache"))  # <prefix>_rank0.db
    assert scores(found, task) == scores(everything, task)
    ours, theirs = ([sample["resps"] for sample in one["samples"][task]] for one in (found, everything))
    assert ours == theirs
    assert sorted(whole.arguments + undisturbed.arguments) == sorted(plain.arguments)


# ---- tasks of other packages
FOREIGN = """\
task: foreign
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
output_type: generate_until
test_split: test
doc_to_text: "{{{{text}}}}"
doc_to_target: "{{{{text}}}}"
generation_kwargs: {{until: ["end"], do_sample: false}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1}}
"""


@pytest.mark.parametrize("make", [stop_early, AskingLM, lambda lm: stop_early(lm, budget=60)])
def test_other_tasks_are_not_affected(make, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    texts = ["one", "two", "one", "", "two", "one"]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "yaml").mkdir()
    (tmp_path / "yaml" / "foreign.yaml").write_text(FOREIGN.format(file=tmp_path / "rows.jsonl"))

    def foreign(model):
        return [request for request in model.requests if "question_id" not in request.doc]

    plain, model = Watched(), Watched()
    both = ["foreign", "cora_demo"], {"questions": 3}, [TASKS, tmp_path / "yaml"]
    everything, found = run(plain, *both), run(make(model), *both)
    assert [request.args for request in foreign(model)] == [request.args for request in foreign(plain)]
    assert [request.args[0] for request in foreign(model)] == texts
    assert [request.doc for request in foreign(model)] == [{"text": text} for text in texts]
    assert found["results"]["foreign"] == everything["results"]["foreign"]
    assert found["samples"]["foreign"] == everything["samples"]["foreign"]
    if make is not AskingLM:
        assert len(model.requests) < len(plain.requests)


# ---- repeated requests
@pytest.fixture
def repeated(tmp_path):
    """Questions with two options, two of which differ only in their id, and one with three options."""
    rows = [
        {"id": f"q{n}", "question": f"Is {n % 5} even?", "choices": ["yes it is", "no"], "answer": n % 5 % 2}
        for n in range(7)
    ]
    rows.append({"id": "q7", "question": "Which?", "choices": ["ice", "fog", "tea"], "answer": 1})
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"data_files": str(tmp_path / "rows.jsonl")}


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        *(("cora_local", None), ("cora_local_mc", None), ("cora_local_plus", None)),
        *(("cora_local", "do_sample=True,temperature=0.7"), ("cora_local", "temperature=0.7")),
    ],
)
def test_identical_requests_are_asked_once_unless_they_are_sampled(task, settings, repeated):
    plain, model = Reader(), Reader()
    everything = run(plain, task, repeated, gen_kwargs=settings)
    found = run(AskingLM(model), task, repeated, gen_kwargs=settings)
    counts = Counter(plain.arguments)
    assert max(counts.values()) > 1  # otherwise this tests nothing
    assert Counter(model.arguments) == (counts if settings else dict.fromkeys(counts, 1))
    assert scores(found, task) == scores(everything, task)
    ours, theirs = ([sample["resps"] for sample in one["samples"][task]] for one in (found, everything))
    assert ours == theirs


def test_scores_are_exact_with_repeated_prompts_and_early_stopping(repeated):
    everything = scored(Reader(1), "cora_local", options=repeated)
    found = scored(stop_early(model := Reader(1)), "cora_local", options=repeated)
    assert max(Counter(model.arguments).values()) == 1
    same_scores("cora_local", found, everything)
