import json
from math import isnan

import pytest

from lm_eval_cora.runs.files import find_files
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.other_tasks import read_other_task
from tests.support.messages import tells, user_error
from tests.support.simulated import run
from tests.support.written import put, save

DATE = "2026-01-01T00-00-00.000000"
OPTIONS = ("Ice", "Fog", "Dew", "Steam")
TASK = r"""
task: tiny_exam
dataset_path: json
dataset_kwargs: {data_files: {test: %s, train: %s}, cache_dir: %s}
test_split: test
fewshot_split: train
num_fewshot: 2
output_type: generate_until
doc_to_text: "{{question}}\nA) {{a}}\nB) {{b}}\nC) {{c}}\nD) {{d}}\nAnswer:"
doc_to_target: "{{right}}"
generation_kwargs: {until: []}
metric_list: [{metric: exact_match}]
filter_list:
  - {name: bare, filter: [{function: regex, regex_pattern: "^([A-D])$"}, {function: take_first}]}
  - {name: any, filter: [{function: regex, regex_pattern: "([A-D])"}, {function: take_first}]}
"""
SAID = ["{right}", "The answer is {right}.", "So it is **{right}**", "The answer is {wrong}.", "Not A. It is {right}."]


def say(doc):
    right, row = doc["right"], doc["row"]
    return SAID[row % 5].format(right=right, wrong="ABCD"["BCDA".index(right)])


def line(number=0, said="The answer is B.", **changed):
    prompt = "Which one?\n" + "\n".join(f"{label}. {text}" for label, text in zip("ABCD", OPTIONS, strict=True))
    asked = {"arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": []}}}, "target": "B", "filter": "none"}
    said = {"resps": [[said]], "filtered_resps": [said], "metrics": ["exact_match"], "exact_match": 0.0}
    return {"doc_id": number, "doc": {"q": number}, **asked, **said, **changed}


def prompted(text, **changed):
    return line(arguments={"gen_args_0": {"arg_0": text, "arg_1": {}}}, **changed)


def of_lines(folder, *lines):
    (found,) = read_runs([put(folder / f"samples_exam_{DATE}.jsonl", lines)])
    return found


def test_a_run_of_the_harness_with_exemplars_and_two_filters(tmp_path):
    rows = [
        {"row": row, "question": f"Number {row}?", **dict(zip("abcd", OPTIONS, strict=True)), "right": "ABCD"[row % 4]}
        for row in range(40)
    ]
    file = put(tmp_path / "rows.jsonl", rows)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "exam.yaml").write_text(TASK % (file, file, tmp_path / "cache"))
    results = run(say, "tiny_exam", include_path=tmp_path / "tasks", bootstrap_iters=0)
    printed = dict(results["results"]["tiny_exam"])
    save(tmp_path / "out", results, "org/model")
    (found,) = read_runs([tmp_path / "out"])
    assert (found.model, found.task, found.size) == ("org/model", "tiny_exam", "40 questions")
    values = {name: estimate.value for name, estimate in found.estimates.items()}
    # Of five answers four are right. The first filter reads one of them. The second one takes "A" from "Answer",
    # "The answer" has none, and "Not A" is read as A, which is right for a quarter.
    assert values["acc"] == 4 / 5
    assert values["own_score"] == max(printed["exact_match,bare"], printed["exact_match,any"])
    assert values["acc"] == pytest.approx(values["own_score"] + values["unrecognised"] - values["only_own"])
    assert printed["exact_match,bare"] == 1 / 5
    assert any(tells(note, "exact_match of the filter 'bare' says 0.2") for note in found.notes)
    assert any(tells(note, "filter 'any' says", "the answers say 0.8", "not recognised", "'") for note in found.notes)


def scored(number, likelihoods, acc, target="1", texts=("Ice", "Fog"), more=()):
    pairs = [("Which?\nAnswer:", f" {text}") for text in texts] + [("Answer:", f" {text}") for text in more]
    asked = {f"gen_args_{place}": {"arg_0": one, "arg_1": two} for place, (one, two) in enumerate(pairs)}
    values = [[str(value), "False"] for value in [*likelihoods, *(-9.0 for _ in more)]]
    said = {"resps": [[value] for value in values], "filtered_resps": values, "metrics": ["acc"], "acc": acc}
    return line(number, arguments=asked, target=target, exact_match=None) | said


def test_scored_options_have_the_score_of_the_harness(tmp_path):
    found = of_lines(
        tmp_path,
        scored(0, [-1.0, -2.0], 0.0),
        scored(1, [-2.0, -1.0], 1.0),
        scored(2, [-1.0, -1.0], 0.0),  # the first one of equal likelihoods
        scored(3, [-2.0, -1.0], 1.0, "[1]", more=("Ice", "Fog")),  # the harness also scores texts without the question
        scored(4, [-1.0, "nan"], 1.0, "0", ("2", "0")),  # an index, although a text is equal to it
    )
    assert [record.correct for record in found.source.records] == [False, True, False, True, True]
    values = {name: estimate.value for name, estimate in found.estimates.items()}
    assert values == {"acc": 0.6, "own_score": 0.6, "unrecognised": 0, "only_own": 0, "invalid": 0}
    assert found.notes == ("acc says 0.6, the answers say 0.6",)


TURNS = [json.dumps([{"role": "user", "content": "Which?\n(1) Ice\n(2) Fog"}])]


@pytest.mark.parametrize(
    ("sample", "options", "right"),
    [
        (line(), OPTIONS, True),
        (line(target="(B)"), OPTIONS, True),
        (line(target=["C"]), OPTIONS, False),
        (line(arguments=[[r"Which?\nA. Ice\nB. Fog", {}]]), ("Ice", "Fog"), True),  # an older harness; "\n" written out
        (prompted(TURNS, target="2", said="It must be (2)."), ("Ice", "Fog"), True),
        (prompted("<|im_start|>user\nWhich?\nA. Ice\nB. Fog<|im_end|>\n<|im_start|>assistant\n"), ("Ice", "Fog"), True),
        (prompted("Which?\nA. Ice\nB. Fog\n<think>", said="B? No.</think>A"), ("Ice", "Fog"), False),
        (line(resps=[[None]], filtered_resps=[None]), OPTIONS, False),
    ],
)
def test_options_and_answers(sample, options, right, tmp_path):
    found = of_lines(tmp_path, sample)
    (record,) = found.answers_to("0")
    assert found.line(record)["doc"]["choices"] == options
    assert (record.correct, found.estimates["own_score"].value) == (right, 0)


def test_repeats_passages_and_repeated_lines(tmp_path):
    lines = [line(n, resps=[["B", "The answer is B.", "A"]], doc={"passage": f"p{n // 2}"}) for n in range(4)]
    found = of_lines(tmp_path, *lines, lines[0])
    assert (found.size, found.table.sizes.tolist()) == ("4 questions in 2 passages", [3] * 4)
    assert found.estimates["acc"].value == pytest.approx(2 / 3)


HOSTILE = [
    *({"target": None}, {"arguments": None}, {"resps": []}, {"resps": "B"}, {"doc": None}, {"target": {"a": 1}}),
    *({"arguments": {"gen_args_0": []}}, {"arguments": "text"}, {"exact_match": "1", "metrics": 7}, {"filter": []}),
]


def test_the_example_of_an_answer_shows_what_decided_and_missing_documents_are_counted(tmp_path):
    put(
        tmp_path / f"results_{DATE}.json",
        [{"results": {"exam": {}}, "n-samples": {"exam": {"original": 3, "effective": 3}}}],
    )
    said = f"{'Hm. ' * 40}The answer is B. {'So much for that. ' * 40}"
    notes = of_lines(tmp_path, line(said=said), line(1, "B", exact_match=1.0)).notes
    assert tells(notes[0], "1 documents of the run are missing")
    assert tells(notes[-1], "scored 0: '…", "Hm. The answer is B. So much", "…'")


def test_lines_that_cannot_be_read_are_counted(tmp_path):
    lines = [*map(line, range(50)), *(line(100 + n) | changed for n, changed in enumerate(HOSTILE)), "[", "7"]
    found = of_lines(tmp_path, *lines)
    kept = len(found.table.sizes)
    assert kept >= 50
    left_out = 60 - 1 - kept  # the line with a wrong filter is not a document
    assert any(tells(note, f"left out {left_out} a prompt or target that cannot be read") for note in found.notes)
    assert not any(isnan(estimate.value) for estimate in found.estimates.values())


def test_tasks_without_options_are_refused(tmp_path):
    lines = [line(n, target="#### 18") for n in range(3)]
    path = put(tmp_path / f"samples_gsm8k_{DATE}.jsonl", lines)
    with user_error("gsm8k", "Not read: gsm8k: 3 of 3 docs", "'#### 18'"):
        read_runs([tmp_path])
    (file,) = find_files(put(path, [*lines[:1], *map(line, range(1, 9))]))
    (log,) = read_other_task(file)
    assert (len(log.rows), log.notes) == (8, ["left out 1 a prompt or target that cannot be read"])
