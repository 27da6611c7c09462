"""Compute the metrics of answers that exist already.

lm-eval-cora score out/
lm-eval-cora score answers.csv --question id --correct ok --original is_original

out/ has samples of any multiple-choice task of the harness, logs of Inspect or HELM's scenario_state.json. The
options are found in the prompts, the responses are read again, and the program's own score is shown beside ours.

A file of answers has one row per variant of a question: csv, tsv, json, jsonl or parquet. A column needs no option
if it has its name (or question_id, ordinal, options, choices). A line of a jsonl file, for example:
{"question": "q1", "variant": "original", "picked": "Ice", "answer": "Ice", "printed": ["Ice", "Fog"]}
or, to read the response with the readers of the tasks:
{"question": "q1", "variant": "original", "response": "It is A.", "answer": "A", "options": ["Ice", "Fog"]}

report, compare, plan, gate and export accept such a file in place of a folder. It needs the usual names of
columns.
"""

from typing import get_args

from lm_eval_cora.answers import Reader
from lm_eval_cora.api import read_runs, scores_of
from lm_eval_cora.cli import console
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.runs.answer_columns import COLUMNS
from lm_eval_cora.runs.collected import read_answers
from lm_eval_cora.runs.grouping import is_answers_file
from lm_eval_cora.scores import Scores, cells_of
from lm_eval_cora.tables.table_formats import table_as_text


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.argument("file", "FILE", "a file of answers; or a folder of samples or logs, or one of them")
    for name, column in COLUMNS.items():
        names = f"--{' --'.join(dict.fromkeys((name, *column.names)))}"
        parser.argument(names, "COLUMN", column.about, dest=name)
    parser.shared("json")


def run(given: console.Given) -> None:
    """Print the metrics of a file of answers."""
    scores_by_model = _scores(given)
    if given.json:
        found = {}
        for model, scores in scores_by_model.items():
            found[model] = {
                "questions": scores.questions,
                "answers": scores.answers,
                "readers": scores.readers,
                "metrics": for_json(dict(scores)),
                "undefined": scores.undefined,
            }
        console.write_json(found.get("", found))
        return
    notes = list[str]()
    for number, (model, scores) in enumerate(scores_by_model.items()):
        if model:
            print(f"\n{model}" if number else model)
        cells = {name: cells_of(estimate) for name, estimate in scores.items() if name not in scores.undefined}
        rows = [[name, value, "±", stderr or "N/A", interval] for name, (value, stderr, interval) in cells.items()]
        about = [scores.size, *scores.remarks]
        notes += [f"{model}: {text}" if len(scores_by_model) > 1 else text for text in about]
        print(table_as_text(["Metric", "Value", "", "Stderr", "95%"], rows))
    console.say(*notes)


def _scores(given: console.Given) -> dict[str, Scores]:
    """The scores of each model of a file of answers; of each model and task of samples and logs."""
    columns = {column: getattr(given, column) for column in COLUMNS}
    reader = columns["reader"] if columns["reader"] in get_args(Reader) else None
    has_columns = any(name for column, name in columns.items() if column != "reader" or not reader)
    if has_columns or is_answers_file(given.file):
        return {model: scores_of(rows) for model, rows in read_answers(given.file, columns, "--{} ").items()}
    return {scores.name: scores for scores in read_runs(given.file, reader=reader)}
