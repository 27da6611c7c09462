import json
import re
from itertools import product

import pandas as pd
import pytest

from lm_eval_cora import read_runs, score
from lm_eval_cora.cli import main
from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.collected import read_answers
from tests.support.messages import tells, user_error

OPTIONS, OTHER = ["Steam", "Ice", "Fog"], {"A": "o1", "B": "o2", "C": "o3"}
OF_EACH = ("Option_A", "Option_B", "Option_C")
SHOWN = {"original": OPTIONS, "reversed": OPTIONS[::-1], "first": ["Ice", "Fog", "Steam"]}


def frame(model="", **columns):
    """Responses to four questions in three variants. Question 3 is answered wrongly, and one response is invalid."""
    rows = []
    for question, (kind, options) in product(range(4), SHOWN.items()):
        letter, right = ("ABC"[options.index(text)] for text in ("Fog" if question == 3 else "Ice", "Ice"))
        said = "I do not know." if (question, kind) == (2, "first") else f"I think so. The answer is {letter}."
        rows.append({"id": f"q{question}", "kind": kind, "options": options, "answer": right, "response": said})
    found = pd.DataFrame(rows).assign(**columns)
    return found.assign(model=model) if model else found


def prompts(of, labels="ABC"):
    lines = ("".join(f"\n{label}) {text}" for label, text in zip(labels, row, strict=True)) for row in of.options)
    return [f"Frozen water?{each}\nAnswer:" for each in lines]


def in_columns(data):
    texts = {letter: [row[place] for row in data.options] for place, letter in enumerate("ABC")}
    return data.drop(columns="options").assign(**texts)


def in_prompts(data):
    """The labels of the options are numbers."""
    said = [re.sub(r" ([ABC])\.", lambda found: f" {'ABC'.index(found[1]) + 1}.", text) for text in data.response]
    right = ["ABC".index(letter) + 1 for letter in data.answer]
    return data.assign(prompt=prompts(data, "123"), answer=right, response=said).drop(columns="options")


def in_arabic(data):
    """The labels stand in the options, and the responses name them."""
    options = [[f"{label}- {text}" for label, text in zip("أبج", row, strict=True)] for row in data.options]
    labels = str.maketrans("ABC", "أبج")
    return data.assign(options=options, **{name: data[name].str.translate(labels) for name in ("answer", "response")})


def with_labels(data):
    """The labels stand in a column, and the responses name them with a counter."""
    said = [
        re.sub(r"The answer is ([ABC])\.", lambda found: f"정답은 {'ABC'.index(found[1]) + 1}번입니다.", text)
        for text in data.response
    ]
    right = [str("ABC".index(letter) + 1) for letter in data.answer]
    return data.assign(labels=[["1", "2", "3"]] * len(data), answer=right, response=said)


LAYOUTS = {
    "a list": lambda data: (data, {}),
    "lists as text": lambda data: (data.assign(options=data.options.map(json.dumps)), {}),
    "columns A to C": lambda data: (in_columns(data), {}),
    "option_a to option_c": lambda data: (in_columns(data).rename(columns=dict(zip("ABC", OF_EACH, strict=True))), {}),
    "names in capitals": lambda data: (data.rename(columns={name: name.upper() for name in data if name != "id"}), {}),
    "mappings": lambda data: (data.assign(options=[dict(zip("ABC", row, strict=True)) for row in data.options]), {}),
    "labels of another script in the options": lambda data: (in_arabic(data), {}),
    "other columns": lambda data: (in_columns(data).rename(columns=OTHER), {"options": [*OTHER.values()]}),
    "in the prompt": lambda data: (data.assign(prompt=prompts(data)).drop(columns="options"), {}),
    "labels of the prompt": lambda data: (in_prompts(data), {}),
    "labels in a column": lambda data: (with_labels(data), {}),
    "columns of other names": lambda data: (
        data.rename(columns={"options": "choices", "answer": "gold", "response": "output"}),
        {"answer": "gold", "response": "output"},
    ),
    "an index": lambda data: (data.assign(answer=["ABC".index(letter) for letter in data.answer]), {}),
    "a text": lambda data: (data.assign(answer="Ice"), {"response": "response"}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_responses_are_read_and_scored(layout):
    data, arguments = LAYOUTS[layout](frame())
    scores = score(data, question="id", **arguments)
    assert (scores.questions, scores.answers) == (4, 12)
    expected = {"mcqa": 0.75, "acc": 8 / 12, "bmca@1.0": 0.5, "invalid": 1 / 12, "followed": 0}
    expected["consistency_rate"] = (3 + 1 / 3) / 4
    assert {name: scores[name].value for name in expected} == expected
    assert scores.notes == ("responses read by: flexible", "invalid responses: 1 no letter")


def test_the_other_reader_and_responses_that_were_cut_off_or_begin_inside_reasoning():
    assert score(frame(), question="id", reader="strict")["invalid"].value == 1
    cut = score(frame(cut_off=True, response="Let me think about option A"), question="id")
    assert cut.notes[1] == "invalid responses: 12 cut off while reasoning"
    opened = frame(prompt="... Answer: <think>", response=["The answer is B.", "It may be C.</think>\nB"] * 6)
    assert score(opened, question="id")["invalid"].value == 0.5


def test_an_empty_response_is_invalid_and_a_missing_one_skipped(tmp_path):
    """Question 0 has an empty response to its last variant: three of four questions would be right without it."""
    data = frame().iloc[:6].rename(columns={"id": "question"}).assign(options=lambda each: each.options.map(json.dumps))
    data.loc[2, "response"] = ""
    (tmp_path / "a.csv").write_text(data.to_csv(index=False))
    data.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    for source in (data, data.to_dict("records"), tmp_path / "a.csv", tmp_path / "a.jsonl"):
        scores = score(source)
        assert (scores["cora"].value, scores["invalid"].value) == (0.5, 1 / 6)
        assert scores.notes[1] == "invalid responses: 1 empty"
    data.loc[2, "response"] = None
    scores = score(data)
    assert (scores.answers, scores["mcqa"].value, "cora" in scores.undefined) == (5, 1.0, True)
    assert tells(scores.notes[1], "1 of 6 variants were skipped", "missing (null)", "an empty text")
    assert tells(score(data.drop(2)).notes[1], "1 of 2 questions", "'q0'", "lack variants")


def test_a_file_of_several_models(tmp_path, capsys):
    data = pd.concat([frame("one"), frame("two", response="A")]).rename(columns={"id": "question"})
    path = tmp_path / "responses.jsonl"
    data.to_json(path, orient="records", lines=True)
    one, two = read_runs(path)
    assert (one.name, two.name) == ("one, answers", "two, answers")
    assert (one["acc"].value, two["acc"].value) == (8 / 12, 4 / 12)
    assert read_runs(path, reader="strict")[0]["acc"].value == 0
    assert main(["score", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["two"]["metrics"]["acc"]["value"] == 4 / 12
    assert main(["compare", str(path)]) == 0
    assert "two" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", str(path), "-o", str(page)]) == 0
    assert tells(page.read_text(), "two", "I think so. The answer is ", "no letter")
    gate = ["gate", str(path), "--require", "acc>=0.01"]
    assert main(gate) == 3
    assert "one model, got 2: one, two. Choose one with --select MODEL" in capsys.readouterr().err
    assert [main([*gate, "--select", model]) for model in ("one", "two", "three")] == [0, 0, 3]
    assert "--select three: there is no such model. The models are one, two" in capsys.readouterr().err
    for baseline in ("one", str(path)):
        assert main([*gate[:2], "--select", "one", "--baseline", baseline, "--same", "acc:0.9"]) == 0
    for command in ("export", "report"):
        capsys.readouterr()
        assert main([command, str(path), "--format", "csv", "--select", "two"]) == 0
        assert {line.partition(",")[0] for line in capsys.readouterr().out.splitlines()[1:]} == {"two"}
    assert main(["export", str(path), "-o", str(tmp_path / "out"), "--format", "every-eval-ever"]) == 0
    (samples, _) = sorted((tmp_path / "out").rglob("*_samples.jsonl"))
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    assert {row["output"]["raw"][0] for row in rows} <= {*frame().response, "A"}
    with user_error("score: expected the rows of one model, got 2: one, two"):
        score(data)


@pytest.mark.parametrize(
    ("columns", "mcqa"), [(["answer", "A", "B", "response"], 0.75), (["answer", "picked"], 0.5), (["correct"], 0.5)]
)
def test_rows_without_variants_are_answers_to_the_originals(columns, mcqa):
    data = in_columns(frame()).iloc[::3].assign(picked=["A", "B", "B", "C"], correct=[0, 1, 1, 0], question=range(4))
    plain = data[["question", *columns]]
    assert score(plain)["mcqa"].value == mcqa
    both = read_answers(pd.concat([plain.assign(model=name) for name in ("one", "two")]))
    assert [len(rows.questions) for rows in both.values()] == [4, 4]
    with user_error("'variant' (unless each question has one row)", f"'{columns[-1]}'. Name"):  # and no column "A to B"
        score(pd.concat([plain, plain]))


WRONG = {
    "two right options": (frame(answer="A, C"), "row 0: two right options or more: the answer is 'A, C'"),
    "a list of right options": (frame(answer=[["A", "C"]] * 12), "row 0: column 'answer': .* two right options"),
    "other labels of a mapping": (frame(options=[{"1": "Ice", "2": "Fog"}] * 12), "in the column 'labels', got"),
    "a gap in the columns": (
        frame(A="Ice", B=None, C="Fog").drop(columns="options"),
        "row 0: column 'A to C': expected",
    ),
    "no option": (frame(answer="D"), "row 0: an answer outside the options: 'D' is not"),
    "mixed answers": (
        frame(answer=["Ice"] * 11 + ["A"]),
        r"kinds: text \(row 0: 'Ice'\), letter .*: 'A'\)\. Write the letter or the text of the right option",
    ),
    "from 1": (frame(answer=["ABC".index(a) + 1 for a in frame().answer]), "Write the letter or the text of the right"),
    "from 1, in two rows": (
        frame(answer=[1, 2] * 6)[:2],
        "row 0 is read as 'Ice', not as 'Steam'.. Write the letter or the text of the right option in ev",
    ),
    "one option": (frame(options=[["Ice"]] * 12, answer="Ice"), "row 0: expected 2 to 26 options, got 1"),
    "no options": (frame().drop(columns="options"), "DataFrame: expected the options of each response: a column 'op"),
    "none in the prompt": (
        frame(prompt="Frozen?").drop(columns="options"),
        "row 0: column 'prompt': expected options s",
    ),
    "other options in the prompt": (
        frame(prompt="Frozen?\nA) ice\nB) fog\nAnswer:"),
        "row 0: column 'options': expected the 2 options that the prompt prints",
    ),
    "several models": (
        pd.concat([frame(), frame()]),
        "question 'q0' has a second row with the variant 'original'.*of several models, name them in a column 'model'",
    ),
    "a row without a model": (frame(model=["one"] * 11 + [None]), "row 11: column 'model': expected the name of the"),
    "no answer": (frame().drop(columns="answer"), "Name yours: variant=COLUMN, correct=COLUMN"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input(what):
    data, message = WRONG[what]
    with pytest.raises(UserError, match=message):
        score(data, question="id")
