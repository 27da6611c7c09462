"""Tasks of the harness that are not ours, over a local file, and runs of them by models with known answers."""

import json
import random
from pathlib import Path
from typing import NamedTuple

from lm_eval_cora.runs.files import find_files, grouped, with_all_notes
from lm_eval_cora.runs.other_tasks import newest_documents
from tests.support.simulated import run
from tests.support.written import lines_of, put, save

DOCUMENTS = 24

_TASKS = {
    "tiny_choice": """
output_type: multiple_choice
doc_to_text: "{{question}}\\nAnswer:"
doc_to_choice: ["A", "B", "C", "D"]
doc_to_target: gold
metric_list:
  - metric: acc
  - metric: acc_norm
  - metric: mcc
metadata: {version: 2}
""",
    "tiny_written": """
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"], do_sample: false}
repeats: 2
process_results: !function scoring.process_results
metric_list:
  - {metric: exact_match, aggregation: mean}
  - {metric: likeness, aggregation: mean}
  - {metric: length, aggregation: mean}
  - {metric: short, aggregation: mean}
  - {metric: longest, aggregation: !function scoring.largest}
  - {metric: words, aggregation: !function scoring.number_of_words}
filter_list:
  - name: strict
    filter: [{function: take_first}]
  - name: letter
    filter: [{function: regex, regex_pattern: "([A-D])$"}, {function: take_first}]
metadata: {version: 1}
""",
}

_DATA = """
task: {task}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}, cache_dir: {cache}}}
test_split: test
"""

_SCORING = """
def process_results(doc, results):
    said = results[0]
    scores = {
        "exact_match": said == doc["answer"],
        "likeness": (doc["answer"] in said) / max(1, len(said)),
        "length": len(said),
        "longest": len(said),
        "words": said.split(),
    }
    return {**scores, "short": len(said) < 3} if doc["row"] % 3 else scores  # not for every document


def largest(items):
    return max(items)


def number_of_words(items):
    return sum(map(len, items))
"""


def answers(salt):
    """A model that often says the letter of the answer, sometimes another one or a sentence."""

    def say(doc):
        dice = random.Random(f"{salt} {doc['row']}")
        letter = dice.choice([doc["answer"], *"ABCD"])
        return letter if dice.random() < 0.7 else f"The answer is {letter}"

    return say


def write_tasks(folder):
    """Write the files of the tasks and of their documents."""
    dice = random.Random(0)
    golds = [dice.randrange(4) for _ in range(DOCUMENTS)]
    rows = [
        {"row": row, "question": f"Which letter has number {row}?", "gold": gold, "answer": "ABCD"[gold]}
        for row, gold in enumerate(golds)
    ]
    put(folder / "rows.jsonl", rows)
    (folder / "scoring.py").write_text(_SCORING)
    for task, text in _TASKS.items():
        data = _DATA.format(task=task, file=folder / "rows.jsonl", cache=folder / "cache")
        (folder / f"{task}.yaml").write_text(data + text)
    return folder


def run_tasks(tasks, folder, salt, **arguments):
    """Run the tasks, write what the harness writes with `--log_samples`, and return the folder of the model."""
    results = run(answers(salt), [*_TASKS], include_path=tasks, bootstrap_iters=0, **arguments)
    save(folder, results, f"org/{salt}")
    return folder / f"org__{salt}"


class Models(NamedTuple):
    """Folders of the harness, one for each model or setting."""

    one: Path
    two: Path
    limited: Path
    shots: Path
    other_shots: Path


def run_models(folder):
    """Run the tasks with all models and settings."""
    tasks = write_tasks(folder / "tasks")
    return Models(
        run_tasks(tasks, folder, "one"),
        run_tasks(tasks, folder, "two"),
        run_tasks(tasks, folder, "limited", limit=10),
        run_tasks(tasks, folder, "shots", num_fewshot=2),
        run_tasks(tasks, folder, "other_shots", num_fewshot=2, fewshot_random_seed=7),
    )


def samples_of(folder, task="tiny_written"):
    (found,) = folder.glob(f"samples_{task}_*.jsonl")
    return found


def results_of(folder):
    (found,) = folder.glob("results_*.json")
    return found


def change_results(folder, *keys, value):
    """Set a value inside the results file."""
    path = results_of(folder)
    whole = json.loads(path.read_text())
    part = whole
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    path.write_text(json.dumps(whole))


def documents_in(path):
    return with_all_notes(map(newest_documents, grouped(find_files(path))))


def run_of(path, name="tiny_written", part="strict"):
    (found,) = (run for run in documents_in(path) if (run.name, run.part) == (name, part))
    return found


def told(run):
    return "\n".join(run.notes)


def values_of(folder, metric, part="strict"):
    return [line[metric] for line in lines_of(samples_of(folder)) if line["filter"] == part]
