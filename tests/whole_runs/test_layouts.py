"""Layouts of questions in a file, and how a task reads each of them. docs/data.md lists them in a table."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import pandas as pd
import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.docs import load_benchmark
from lm_eval_cora.questions.options import Options
from lm_eval_cora.runs.task_files import benchmark
from tests.support.messages import tells

STEMS = ("Which is frozen water?", "Which hangs in the air?", "Which lies on grass?", 'Which falls in "lumps"?')
QUESTIONS = [(stem, ["Ice", "Fog", "Dew", "Hail, or sleet"], right) for right, stem in enumerate(STEMS)]
LETTERS = "ABCD"
ROWS = [{"question": stem, "choices": choices, "answer": right} for stem, choices, right in QUESTIONS]
LETTERED = [{"question": stem, "choices": choices, "answer": LETTERS[right]} for stem, choices, right in QUESTIONS]
COLUMNS = [
    {"question": stem, **dict(zip(LETTERS, choices, strict=True)), "answer": LETTERS[right]}
    for stem, choices, right in QUESTIONS
]

FRAGE = [{("Frage" if key == "question" else key): value for key, value in row.items()} for row in COLUMNS]
Make = Callable[[Path], Any]


def with_choices(change, rows=LETTERED):
    return [{**row, "choices": change(row["choices"])} for row in rows]


def with_answers(change, rows=ROWS):
    return [{**row, "answer": change(right)} for right, row in enumerate(rows)]


def text(name, content):
    def make(folder):
        (folder / name).write_bytes(content.encode())
        return str(folder / name)

    return make


def jsonl(rows):
    return text("my.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def csv(rows, separator=","):
    return text("my.csv", pd.DataFrame(rows).to_csv(index=False, sep=separator))


class Layout(NamedTuple):
    """A file layout, as docs/data.md describes it, and its outcome: parts of an error or of a warning, in order."""

    what: str
    make: Make
    """Writes the file into a folder, and returns the value of `data_files`."""
    options: dict[str, Any] = {}  # noqa: RUF012  # a NamedTuple's
    error: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def arc(choices):
    return {"text": choices, "label": list("1234")}


STYLED = with_answers(lambda n: ("(A)", "B.", "c", " [d] ")[n])
FLAGS = with_answers(lambda n: [int(n == place) for place in range(4)])
FROM_ONE = with_answers(lambda n: n + 1)
MAPPINGS = with_choices(lambda c: dict(zip(LETTERS, c, strict=True)))
PAIRS = with_choices(lambda c: [{"key": key, "value": one} for key, one in zip(LETTERS, c, strict=True)])
ARC = with_answers(lambda n: str(n + 1), with_choices(arc))
OPTION_A = [{(f"Option_{key.lower()}" if len(key) == 1 else key): row[key] for key in row} for row in COLUMNS]
ANY_CASE = pd.DataFrame(COLUMNS).to_csv(index=False).replace("question,A", "Question,a")
EMPTY_CELLS = [{**row, "E": "" if n else None} for n, row in enumerate(COLUMNS)]
NESTED = [{"data": {"q": row["question"], "options": row["choices"]}, "key": row["answer"]} for row in LETTERED]
INTRO = [{**row, "question": row["question"][5:], "intro": "Which"} for row in ROWS]
TWO_MEANINGS = [{"question": "2 + 1?", "choices": ["1", "3", "2"], "answer": 1}]
EMPTY = with_choices(lambda c: [*c[:2], " ", c[3]])
RIGHT_TWICE = [{**row, "choices": [*row["choices"], row["choices"][row["answer"]]]} for row in ROWS]
LABELS = with_choices(lambda c: [f"{key}){one}" for key, one in zip(LETTERS, c, strict=True)])
HEADLESS = pd.DataFrame(COLUMNS).to_csv(index=False, header=False)

LAYOUTS = [
    Layout("jsonl: `choices` is a list, `answer` an index from 0", jsonl(ROWS)),
    Layout("`answer` is a letter", jsonl(LETTERED)),
    Layout("`answer` is a letter such as `(C)`, `C.` or `c`", jsonl(STYLED)),
    Layout("`answer` is the text of the option", jsonl(with_answers(lambda n: QUESTIONS[n][1][n].upper()))),
    Layout("`answer` is a number such as `2.0`", csv(with_answers(float, with_choices(json.dumps)))),
    Layout("`answer` is a list of 0 and 1", jsonl(FLAGS)),
    Layout("`choices` is a mapping from label to text", jsonl(MAPPINGS)),
    Layout("`choices` is `{text, label}`, `answer` a label", jsonl(ARC)),
    Layout("`choices` is a list of `{key, value}`", jsonl(PAIRS)),
    Layout("csv: a JSON list in a cell", csv(with_choices(json.dumps))),
    Layout("csv: a list in a cell, as Python writes it", csv(LETTERED)),
    Layout("csv: columns `A`, `B`, `C`, `D`", csv(COLUMNS)),
    Layout("csv: headers in any case", text("my.csv", ANY_CASE)),
    Layout("csv: columns `option_a`, `option_b`, ...", csv(OPTION_A)),
    Layout("csv: empty cells in the last columns", csv(EMPTY_CELLS)),
    Layout("csv: options in one cell, with a separator", csv(with_choices(" | ".join)), {"separator": "|"}),
    Layout("csv: separated by semicolons", csv(COLUMNS, ";")),
    Layout("a pandas DataFrame", lambda _: pd.DataFrame(COLUMNS)),
    Layout("a `datasets.Dataset`", lambda _: datasets.Dataset.from_list(ARC)),
    Layout(
        "nested: paths such as `data.options`",
        jsonl(NESTED),
        {"question": "data.q", "choices": "data.options", "answer": "key"},
    ),
    Layout(
        "the question in two columns, joined by a template", jsonl(INTRO), {"question": "{{ intro }}{{ question }}"}
    ),
    Layout("answers from 1", jsonl(FROM_ONE), error=("my: ", "from 1", "'answer_from': 1")),
    Layout("answers from 1, with `answer_from`", jsonl(FROM_ONE), {"answer_from": 1}),
    Layout("an answer with two meanings", jsonl(TWO_MEANINGS), error=("line 1", "two meanings", "'answer_is'")),
    Layout("an empty option", jsonl(EMPTY), error=("4 of 4 rows", "line 1", "empty option")),
    Layout("an option equal to the right one", jsonl(RIGHT_TWICE), error=("4 of 4 rows", "line 1", "'Ice'")),
    Layout(
        "options that differ in case alone",
        jsonl([{**row, "choices": [*row["choices"], "ICE"]} for row in ROWS]),
        notes=("4 of 4 questions", "case", "line 1"),
    ),
    Layout("options with labels of their own, such as `A)Ice`", jsonl(LABELS), notes=("labels", "'A)Ice'")),
    Layout("another name for a column", csv(FRAGE), error=("my", "'question'", "Frage, A, B, C, D, answer")),
    Layout("another name for a column, declared", csv(FRAGE), {"question": "Frage"}),
    Layout("csv without a header", text("my.csv", HEADLESS), error=("my.csv line 2", "'question'", STEMS[0])),
    Layout("an id twice", jsonl([{**row, "id": 7} for row in ROWS]), error=("line 2", "'7'", "line 1")),
]


def load(layout, folder):
    options = Options.from_metadata("cora_local", {"data_files": layout.make(folder), **layout.options})
    source = benchmark("local", options.declared, options.data_files)
    return load_benchmark(options=options, benchmark=source)[0]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: re.sub(r"\W+", " ", layout.what).strip())
def test_outcome_of_a_layout(layout, tmp_path, caplog):
    if layout.error:
        with pytest.raises(UserError) as error:  # in several lines
            load(layout, tmp_path)
        assert tells(str(error.value), *layout.error)
        return
    questions = load(layout, tmp_path)
    assert [one.stem for one in questions] == [stem for stem, _, _ in QUESTIONS]
    assert [list(one.choices[:4]) for one in questions] == [choices for _, choices, _ in QUESTIONS]
    assert [one.answer for one in questions] == [right for _, _, right in QUESTIONS]
    assert [len(one.choices) for one in questions] == [5 if layout.notes[:1] == ("4 of 4 questions",) else 4] * 4
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == bool(layout.notes)
    assert tells(" ".join(warnings), *layout.notes)


def test_the_table_in_the_documentation_has_the_outcome_of_each_layout():
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text().replace("\\|", "|")
    documented = dict(re.findall(r"^\| (.+?) \| (read|read, with a warning|error) \|", page, re.MULTILINE))
    outcomes = {one.what: "error" if one.error else "read, with a warning" if one.notes else "read" for one in LAYOUTS}
    assert documented == outcomes
