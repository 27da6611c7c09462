"""Compute the metrics of answers that were not collected with the harness.

lm-eval-cora score answers.csv --question id --correct ok --original is_original

The file has one row per variant of a question: csv, tsv, json, jsonl or parquet. A column needs no option
if it has its name (or question_id, ordinal, options, choices). A line of a jsonl file, for example:
{"question": "q1", "variant": "original", "picked": "Ice", "answer": "Ice", "printed": ["Ice", "Fog"]}
or, to read the response with the readers of the tasks:
{"question": "q1", "variant": "original", "response": "It is A.", "answer": "A", "options": ["Ice", "Fog"]}

report, compare, plan, gate and export accept such a file in place of a folder. It needs the usual names of
columns.
"""

from lm_eval_cora.api import scores_of
from lm_eval_cora.cli import console
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.report.text import table_as_text
from lm_eval_cora.runs.answer_columns import COLUMNS
from lm_eval_cora.runs.collected import read_answers
from lm_eval_cora.scores import cells_of


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.argument("file", "FILE", "the answers")
    for name, column in COLUMNS.items():
        names = f"--{' --'.join(dict.fromkeys((name, *column.names)))}"
        parser.argument(names, "COLUMN", column.about, dest=name)
    parser.shared("json")


def run(given: console.Given) -> None:
    """Print the metrics of a file of answers."""
    models = read_answers(given.file, {column: getattr(given, column) for column in COLUMNS}, "--{} ")
    scores_by_model = {model: scores_of(answers) for model, answers in models.items()}
    if given.json:
        found = {}
        for model, scores in scores_by_model.items():
            counts = {"questions": scores.questions, "answers": scores.answers, "readers": models[model].readers}
            found[model] = {**counts, "metrics": for_json(dict(scores)), "undefined": scores.undefined}
        console.write_json(found.get("", found))
        return
    for number, (model, scores) in enumerate(scores_by_model.items()):
        if model:
            print(f"\n{model}" if number else model)
        cells = {name: cells_of(estimate) for name, estimate in scores.items() if name not in scores.undefined}
        rows = [[name, value, "±", stderr or "N/A", interval] for name, (value, stderr, interval) in cells.items()]
        console.say(scores.size, *scores.remarks)
        print(table_as_text(["Metric", "Value", "", "Stderr", "95%"], rows))
