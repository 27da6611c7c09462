import json
from dataclasses import replace
from functools import partial
from hashlib import sha256
from unittest.mock import patch

import pytest
import yaml
from lm_eval.models.api_models import JsonChatStr
from lm_eval.tasks import TaskManager

from lm_eval_cora.cli import main
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.cora_of import _prompt_of, read_question
from lm_eval_cora.harness.scoring import score_response
from lm_eval_cora.runs.rendered import label_in, labels_in
from lm_eval_cora.variants.divergent import DIVERGENT
from lm_eval_cora.variants.probes import PROBES
from tests.support.commands import NAME
from tests.support.rows import write as write_rows
from tests.support.simulated import TASKS, Simulated, knows, quickly, run, signature_of

LETTERS = "Question: {{q}}\nOne of A, B or C:\nA. {{o[0]}}\nB. {{o[1]}}\nC. {{o[2]}}\nAnswer:"
FRENCH = LETTERS.replace("Question: {{q}}\nOne of A, B or C", "Quelle est la question de la série {{q[20:]}}")
WORDS = ("ice", "fog", "dew", "hail", "snow", "rain")
OURS = [TASKS / "of", TASKS / "demo"]


class Hashed(Simulated):
    """Answers each request by a hash of its text. Equal answers mean equal requests."""

    def __init__(self):
        super().__init__(knows)
        self.asked = []

    def loglikelihood(self, requests, disable_tqdm=False):
        self.asked += [request.args for request in requests]
        return [(-float(int(sha256(repr(one.args).encode()).hexdigest()[:8], 16)), False) for one in requests]

    def generate_until(self, requests, disable_tqdm=False):
        self.asked += [(request.args[0], str(request.args[1])) for request in requests]
        return ["AB"[int(sha256(one.args[0].encode()).hexdigest()[:8], 16) % 2] for one in requests]

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        return "".join(f"<{turn['role']}>{turn['content'].strip()}" for turn in chat_history)


@pytest.fixture
def folder(tmp_path):
    """A folder with the rows of a task and of its exemplars."""
    for name, first in (("test", 0), ("dev", 100)):
        options = {n: [f"{word} {n}" for word in WORDS[n % 4 : n % 4 + 3]] for n in range(first, first + 8)}
        rows = ({"q": f"Which one is number {n}?", "o": texts, "t": n % 3} for n, texts in options.items())
        write_rows(tmp_path / f"{name}.jsonl", *rows)
    return tmp_path


def write(folder, name="mine_en", **changes):
    config = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {split: str(folder / f"{split}.jsonl") for split in ("test", "dev")}},
        "test_split": "test",
        "fewshot_split": "dev",
        "output_type": "multiple_choice",
        "doc_to_text": LETTERS,
        "doc_to_choice": ["A", "B", "C"],
        "doc_to_target": "t",
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"version": 7},
    }
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(config | changes, allow_unicode=True), encoding="utf-8")
    return name


def loaded(folder, name="cora_of_mc", **options):
    manager = TaskManager(include_path=[folder, *OURS], include_defaults=False, metadata={"cora": options})
    return manager.load([name])["tasks"][name]


def evaluated(folder, task, of, **arguments):
    model = Hashed()
    return run(model, task, {"task": of}, [folder, *OURS], bootstrap_iters=0, **arguments), model


STYLES = {
    "letters": {},
    "a description and other delimiters": {
        "description": "Weather.\n\n",
        "target_delimiter": "\n",
        "fewshot_delimiter": "\n###\n",
    },
    "brackets": {
        "doc_to_text": "{{q}}\n(A) {{o[0]}} (B) {{o[1]}} (C) {{o[2]}}\nA:",
        "doc_to_choice": ["(A)", "(B)", "(C)"],
        "doc_to_target": "{{['(A)', '(B)', '(C)'][t]}}",
    },
    "digits": {
        "doc_to_text": "{{q}}\n1) {{o[0]}}\n2) {{o[1]}}\n3) {{o[2]}}\nAnswer:",
        "doc_to_choice": ["1", "2", "3"],
    },
    "letters with texts": {
        "doc_to_text": "{{q}}\n(A){{o[0]}} (B){{o[1]}} (C){{o[2]}}\nA:",
        "doc_to_choice": "{{['(A)' + o[0], '(B)' + o[1], '(C)' + o[2]]}}",
    },
    "letters with texts and ends": {
        "doc_to_text": "{{q}}\n(A){{o[0]}};\n(B){{o[1]}};\n(C){{o[2]}}.\nA:",
        "doc_to_choice": "{{['(A)' + o[0] + ';', '(B)' + o[1] + ';', '(C)' + o[2] + '.']}}",
    },
    "texts that the prompt prints": {"doc_to_choice": "{{o}}"},
    "no delimiter": {"target_delimiter": "", "doc_to_text": f"{LETTERS} "},
    "a prefix": {"gen_prefix": "The letter is"},
    "a prefix with a column": {"gen_prefix": "{{o[0]}} or"},
}


@pytest.mark.parametrize(
    ("style", "shots", "chat"),
    [("letters", 0, False), ("letters", 2, True), *((style, 2, False) for style in STYLES)],
)
def test_the_original_is_the_request_of_the_task(folder, style, shots, chat):
    name = write(folder, **STYLES[style])
    how = {"num_fewshot": shots, "apply_chat_template": chat, "fewshot_as_multiturn": chat, "limit": 3}
    how["system_instruction"] = "Be brief." if style == "letters" else None
    theirs, their_model = evaluated(folder, name, name, **how)
    ours, our_model = evaluated(folder, "cora_of_mc", name, **how)
    assert ours["results"]["cora_of_mc"]["mcqa,none"] == theirs["results"][name]["acc,none"]
    assert set(their_model.asked) <= set(our_model.asked)
    contexts = {context.rpartition("number")[0] for context, _ in our_model.asked}
    assert len(contexts) == 3 if shots else 1  # all variants of a question have the same exemplars


def test_turns_for_a_server(folder, monkeypatch):
    as_json = lambda _, turns, **__: JsonChatStr(json.dumps(turns))  # noqa: E731
    monkeypatch.setattr(Hashed, "apply_chat_template", as_json)
    name, how = write(folder), {"num_fewshot": 2, "apply_chat_template": True, "fewshot_as_multiturn": True, "limit": 2}
    _, their_model = evaluated(folder, name, name, **how)
    _, our_model = evaluated(folder, "cora_of_mc", name, **how)
    assert set(their_model.asked) <= set(our_model.asked)
    turns = [json.loads(context.prompt) for context, _ in our_model.asked]  # type: ignore[attr-defined]
    assert {len(each) for each in turns} == {5}
    assert any("One of A or B:" in each[-1]["content"] for each in turns)


@pytest.mark.parametrize("chat", [False, True])
def test_questions_among_their_own_exemplars_are_counted(folder, caplog, chat):
    how = {"num_fewshot": 5, "apply_chat_template": chat, "fewshot_as_multiturn": chat}
    # The harness leaves the question out of the exemplars of the test split, but not of the validation split.
    for split in ("dev", "test"):
        name = write(folder, split, test_split=None, validation_split="test", fewshot_split=split)
        evaluated(folder, "cora_of_mc", name, **how)
        assert ("7 of 8 questions stand among their own exemplars" in caplog.text) == (split == "test")


def test_questions_that_are_left_out_draw_their_exemplars_too(folder):
    text = LETTERS.replace("C. {{o[2]}}", "C. {{ o[t] if q[-2] == '1' and t != 2 else o[2] }}")
    name, how = write(folder, doc_to_text=text), {"num_fewshot": 2}
    _, their_model = evaluated(folder, name, name, **how)
    ours, our_model = evaluated(folder, "cora_of_mc", name, **how)
    left_out = {asked for asked in their_model.asked if "number 1?" in asked[0].rpartition("Which")[2]}
    assert len(left_out) == 3
    assert ours["n-samples"]["cora_of_mc"]["effective"] == 7 * 14
    assert set(their_model.asked) - left_out <= set(our_model.asked)


def test_written_letters(folder):
    settings = {"max_gen_toks": 9, "until": ["\n\n"]}
    written = {"output_type": "generate_until", "doc_to_choice": None, "metric_list": [{"metric": "exact_match"}]}
    name = write(folder, **written, doc_to_target="{{'ABC'[t]}}", generation_kwargs=settings)
    _, their_model = evaluated(folder, name, name, num_fewshot=2)
    ours, our_model = evaluated(folder, "cora_of", name, num_fewshot=2)
    assert set(their_model.asked) <= set(our_model.asked)
    assert ours["results"]["cora_of"]["invalid,none"] == 0
    with pytest.raises(UserError, match=r"the task asks for a written answer. Use cora_of instead"):
        loaded(folder, task=name)


def test_texts_are_asked_in_our_prompt(folder):
    name = write(folder, doc_to_text="Question: {{q}}\nAnswer:", doc_to_choice="{{o}}")
    task = loaded(folder, "cora_of", task=name)
    task.set_config("num_fewshot", 1)
    task.prepare(None)
    first = task.test_docs()[0]
    assert first["question"] == "Which one is number 0?"
    assert "A. ice 0\nB. fog 0\nC. dew 0" in task.fewshot_context(first, 1)


def test_the_tasks_of_a_group_are_categories_and_stand_in_the_signature(folder):
    write(folder, "one_en"), write(folder, "two_en")
    group = {"group": "both", "task": ["one_en", "two_en"], "metadata": {"version": 1}}
    (folder / "both.yaml").write_text(yaml.safe_dump(group), encoding="utf-8")
    found, _ = evaluated(folder, "cora_of_order_mc", "both")
    metadata = found["configs"]["cora_of_order_mc"]["metadata"]
    assert "|benchmark:both|" in metadata["signature"]
    assert "|of:one_en@7,two_en@7|" in metadata["signature"]
    docs = loaded(folder, task="both").test_docs()
    asked = dict.fromkeys((doc["category"], doc["question_id"]) for doc in docs)
    assert [*asked][:3] == [("one_en", "one_en-0"), ("two_en", "two_en-0"), ("one_en", "one_en-1")]
    assert len(asked) == 16


def test_none_of_the_above_in_the_language_of_the_task(folder, caplog):
    french = loaded(folder, task=write(folder, "mine_fra_Latn", doc_to_text=FRENCH))
    assert any("Aucune des réponses ci-dessus" in doc["choices"] for doc in french.test_docs())
    assert french.cost().endswith("\n  language: French, from the name; `nota_text` changes it")
    added = {doc["choices"][-1] for doc in loaded(folder, "cora_of_abstain", task="mine_fra_Latn").test_docs()}
    assert "Je ne sais pas" in added
    english = loaded(folder, task=write(folder, "mine_fra_Latn"))
    assert any("None of the above" in doc["choices"] for doc in english.test_docs())
    caplog.set_level("INFO")
    english.prepare(None)
    assert "cora_of_mc: language: English, from the prompts; `nota_text`" in caplog.text
    assert "language" not in loaded(folder, task="mine_fra_Latn", nota_text="Rien").cost()
    text = LETTERS.replace("Question: {{q}}\nOne of A, B or C", "Galdera {{q[20:]}}")
    unknown = write(folder, "mine", doc_to_text=text)
    with pytest.raises(UserError, match=r"cora_of_mc: the language of the task is unknown, or there are sev"):
        loaded(folder, task=unknown)
    with pytest.raises(UserError, match="abstain_text"):
        loaded(folder, "cora_of_abstain", task=unknown)
    assert loaded(folder, "cora_of_order_mc", task=unknown)
    assert loaded(folder, task=unknown, nota_text="Nė vienas")


def test_labels_of_another_script_are_read(folder):
    text = "{{q}}\n1) {{o[0]}}\n2) {{o[1]}}\n3) {{o[2]}}\nAnswer:"
    name = write(folder, doc_to_text=text, doc_to_choice=["1", "2", "3"])
    docs = loaded(folder, "cora_of", task=name, questions=1).test_docs()
    first = next(doc for doc in docs if doc["original"])
    said = ("2", "Answer: **2**", "2) is right", "I count 2 words", "2.5")
    assert [score_response(first, [response]).picked for response in said] == [1, 1, 1, None, None]
    (sample,) = [doc for doc in json.loads(json.dumps(docs, default=str)) if doc["original"]]  # as a report reads it
    assert score_response(sample, ["3."]).picked == 2


def test_a_list_of_labels_follows_if_it_is_not_a_part_of_the_question(folder, caplog):
    task = loaded(folder, task=write(folder, description="Write A, B or C."))
    with caplog.at_level("WARNING"):
        task.prepare(None)
    assert "the description of mine_en names the labels, also before variants with" in caplog.text
    assert "One of A or B:" in next(task.doc_to_text(doc) for doc in task.test_docs() if len(doc["choices"]) == 2)
    text = LETTERS.replace("One of", "{{'Vitamins A, B and C.' if t == 0 else ''}} One of")
    other = loaded(folder, task=write(folder, "other_en", doc_to_text=text))
    assert any("Vitamins A, B and C. One of A or B:" in other.doc_to_text(doc) for doc in other.test_docs())


@pytest.mark.parametrize("task", sorted(path.stem for path in (TASKS / "of").glob("*.yaml")))
def test_every_probe_runs_with_the_exemplars_of_the_task(folder, task):
    found, _ = evaluated(folder, task, write(folder), num_fewshot=1, limit=1)
    samples = found["samples"][task]
    assert len({sample["doc"]["question_id"] for sample in samples}) == 1
    asked = {sample["doc"]["ask"] for sample in samples}
    own = {sample["arguments"][0][0] for sample in samples if sample["doc"]["ask"] == "letter"}
    is_ours = task.startswith(("cora_of_labels", "cora_of_choices_only", "cora_of_abstain"))
    assert is_ours or all(prompt.startswith("Question: Which one is number 10") for prompt in own)
    assert asked - {"yes_no", "select_all", "option_text"} == (
        {"best_answer"} if task == "cora_of_prompts" else {"letter"}
    )


def altering(text, which=lambda variant: True):
    """The divergent probe, which also puts a text before the questions of some variants."""

    def expand(question, setting):
        variants = DIVERGENT.expand(question, setting)
        for variant in filter(which, variants):
            variant.question = f"{text} {variant.question}"
        return variants

    return replace(DIVERGENT, expand=expand)


@pytest.mark.parametrize("which", [lambda variant: True, lambda variant: variant.kind == "shuffled"])
def test_a_text_that_a_probe_changes_is_asked(folder, monkeypatch, which):
    monkeypatch.setitem(PROBES, "divergent", altering("Typpo!", which))
    found, model = evaluated(folder, "cora_of_mc", write(folder))
    changed = [sample["doc"]["question"].startswith("Typpo!") for sample in found["samples"]["cora_of_mc"]]
    assert sum("Typpo!" in prompt for prompt, answer in model.asked if answer == " A") == sum(changed) > 0


def test_a_text_that_a_probe_changes_in_some_questions_is_refused(folder, monkeypatch):
    changes = altering("Typpo!", lambda variant: "number 3" in variant.question)
    monkeypatch.setitem(PROBES, "divergent", changes)
    with pytest.raises(UserError, match="question mine_en-3: the probe 'divergent' changes its text"):
        loaded(folder, task=write(folder))


def test_the_short_form_and_its_report(folder, capsys):
    words = ["--model", NAME, "--include_path", str(folder), "--output_path", str(folder / "out"), "--log_samples"]
    options = ["--metadata", '{"cora": {"questions": 2}}']
    with quickly():
        for name in (write(folder), write(folder, "two_en", doc_to_target="{{(t + 1) % 3}}")):
            assert main(["run", "--of", name, *words, *options]) == 0
    (path, _) = sorted((folder / "out").rglob("results_*.json"))
    signature = signature_of(json.loads(path.read_text()), "cora_of")
    assert "|of:mine_en@7|seed:0|questions:2|n:2x14|" in signature
    capsys.readouterr()
    assert main(["report", str(folder / "out"), "--format", "csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert {row.split(",")[1] for row in rows[1:]} == {"cora_of (mine_en)", "cora_of (two_en)"}


def test_warnings_of_equal_options_and_of_options_in_the_stem(folder, caplog):
    text = "{{q}} {{o|join(', ')}}\nA. {{o[0]}}\nB. {{o[1]}}\nC. {{o[1] if t == 0 else o[2]}}\nAnswer:"
    loaded(folder, task=write(folder, doc_to_text=text))
    told = [record.getMessage() for record in caplog.records if "of 8 questions of mine_en have" in record.getMessage()]
    assert [message.partition("have ")[2][:16] for message in told] == ["all their option", "options that are"]


def test_docs_that_cannot_be_read_are_left_out(folder, caplog):
    text = LETTERS.replace("B. {{o[1]}}", "{{'B)' if q[-2] == '4' else 'B.'}} {{o[1]}}")
    name, how = write(folder, doc_to_text=text), {"num_fewshot": 2}
    _, their_model = evaluated(folder, name, name, **how)
    ours, our_model = evaluated(folder, "cora_of_mc", name, **how)
    assert "left out 1 of 8 questions: 1 with a prompt without its options (row 4)" in caplog.text
    assert ours["n-samples"]["cora_of_mc"]["effective"] == 7 * 14
    kept = {asked for asked in their_model.asked if "number 4?" not in asked[0].rpartition("Which")[2]}
    assert len(kept) == 7 * 3
    assert kept <= set(our_model.asked), "the other docs keep their exemplars"


WRONG = [
    ({"doc_to_text": "{{q}}\nAnswer:"}, "Doc 0: .*the task scores A, B, C, but its prompt does not print such"),
    ({"doc_to_text": "t"}, r"Doc 0: .*expected one prompt, got one for each option"),
    ({"doc_to_target": "{{'D'}}"}, "Doc 0: .*expected one of the 3 options as target, got"),
    ({"doc_to_target": "{{['A', 'B']}}"}, "Doc 0: .*expected one of the 3 options as target"),
    ({"doc_to_choice": "{{['A. ' + o[1], 'B. ' + o[0], 'C. ' + o[2]]}}"}, "scores A. fog 0, .* it ends .*A. ice 0"),
    ({"doc_to_choice": "{{['A. ' + o[0] + '!', 'B. ' + o[1], 'C. ' + o[2]]}}"}, "scores A. ice 0!, .*A. ice 0"),
    (
        {"doc_to_text": LETTERS.replace("{{q}}", "{{ q if t < 2 else o[9].text }}")},
        "2 of 8 docs cannot be asked; at most 20% are left out. Doc 2: .*cannot be rendered: (Undef|ValueError)",
    ),
    ({"output_type": "loglikelihood"}, "expected a multiple-choice task, its output_type is log"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_what_cannot_be_asked(folder, changes, message):
    with pytest.raises(UserError, match=f"^mine_en: .*{message}"):
        loaded(folder, task=write(folder, **changes))


def test_exemplars_that_the_task_cannot_print(folder):
    task = loaded(folder, "cora_of_order", task=write(folder))
    task.prepare(None)
    task._tasks["mine_en"].fewshot_context = None
    with pytest.raises(UserError, match="question mine_en-0 with 2 exemplars: its task cannot build the prompt: Type"):
        task.fewshot_context(task.test_docs()[0], 2)


def test_a_prompt_that_is_a_function_has_the_same_digest_in_each_process(folder):
    task = loaded(folder, task=write(folder))
    asked = next(iter(task._asked.values()))
    asked.task.config.doc_to_text = read_question
    assert "read_question" in _prompt_of(asked).prompt
    assert "0x" not in _prompt_of(asked).prompt


TASKS_OF_A_USER = {
    "one_en": {},
    "delimiter_en": {"target_delimiter": "\n"},
    "texts_en": {"doc_to_text": "{{q}}\nAnswer:", "doc_to_choice": "{{o}}"},
    "one_fra_Latn": {"doc_to_text": FRENCH},
}
REFUSED = [
    ({}, "cora_of_mc: expected a task of the harness: --metadata"),
    ({"task": "cora_of"}, "option 'task': cora_of asks tasks of the harness"),
    ({"task": "one_eng"}, r"the harness has no task 'one_eng'. Did you mean 'one_en'\?"),
    ({"task": "one_en", "hub": "an/other"}, "option 'hub': the questions are those of one_en. For your own data"),
    ({"task": ["one_en", "delimiter_en"]}, "target_delimiter differs between the tasks. Run them separately"),
    ({"task": ["one_en", "texts_en"]}, "some of the tasks print their options, others do not"),
    ({"task": ["one_en", "one_fra_Latn"]}, "or there are several. Run tasks of different languages separately"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_options_that_are_refused(folder, options, message):
    for name, changes in TASKS_OF_A_USER.items():
        write(folder, name, **changes)
    ours = partial(TaskManager, include_defaults=False)
    with patch("lm_eval.tasks.TaskManager", ours), pytest.raises(UserError, match=message):
        loaded(folder, **options)
    with pytest.raises(UserError, match=r"cora_demo: option 'task': this task has its own questions. Use cora_of"):
        loaded(folder, "cora_demo", task="one_en")


def test_labels():
    found = [label_in(answer) for answer in ("A", " B", "(C)", "4.", "(D)all of it", "Yes, it is", "ice")]
    assert found == ["A", "B", "C", "4", "D", "Yes", "ice"]
    assert labels_in(["(A)ice", "(B)fog"]) == ["A", "B"]
    assert labels_in(["ice", "fog"]) == labels_in(["B", "A"]) == []


def test_passages_are_clusters(folder):
    for path in (folder / "test.jsonl", folder / "dev.jsonl"):
        rows = map(json.loads, path.read_text().splitlines())
        write_rows(path, *({**row, "passage": "Water." if n % 2 else None} for n, row in enumerate(rows)))
    clusters = [question.cluster for question in loaded(folder, task=write(folder)).dataset["test"]]
    assert clusters == ["", "Water."] * 4
    by_column = loaded(folder, task=write(folder), cluster="{{ t }}").dataset["test"]
    assert {question.cluster for question in by_column} == {"0", "1", "2"}
    with pytest.raises(UserError, match="no column 'nothing'"):
        loaded(folder, task=write(folder), cluster="nothing").test_docs()
