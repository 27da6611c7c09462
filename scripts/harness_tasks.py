"""Count the multiple-choice tasks of the installed harness that `cora_of` can ask, by family, as a Markdown table.

    python scripts/harness_tasks.py

It reads all task files, and renders the prompts of all tasks with made-up rows. A prompt that is a template gets a
value for each name in it. A prompt that is a function or a column is rendered by the task itself: its rows have a text
for each column, and one of several forms of options and answers, with which the task's own functions run.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import lm_eval.tasks
from jinja2 import meta
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager
from lm_eval.tasks._index import Kind
from lm_eval.tasks._yaml_loader import load_yaml
from lm_eval.utils import apply_template, env
from tqdm import tqdm

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.cora_of import TaskQuestion, questions_of, read_question
from lm_eval_cora.questions.question import Question, UnusableQuestion
from lm_eval_cora.runs.rendered import labels_in

FOLDER = Path(lm_eval.tasks.__file__).parent


class MadeUp(str):
    """A made-up value of a row: a text, a list of `size` texts and a mapping at once."""

    size = 4

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and not -self.size <= key < self.size:
            raise IndexError
        return self if isinstance(key, slice) else MadeUp(f"{self} {key}")

    def __getattr__(self, key: str) -> MadeUp:
        if key.startswith("__"):
            raise AttributeError(key)
        return MadeUp(f"{self} {key}")

    def __iter__(self) -> Iterator[Any]:
        return iter([MadeUp(f"{self} {number}") for number in range(self.size)])

    def __len__(self) -> int:
        return self.size

    def strip(self, *_: Any) -> MadeUp:
        """The value itself, and no plain text."""
        return self

    lstrip = rstrip = strip


class Task:
    """A task with a made-up doc; only what `read_question` needs."""

    OUTPUT_TYPE = "multiple_choice"

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        self.task_name, self._config = name, config
        choices = config["doc_to_choice"]
        MadeUp.size = len(choices) if isinstance(choices, list) else 4
        self.doc = {name: MadeUp(name) for name in names_in((config["doc_to_text"], choices))}

    def doc_to_text(self, doc: Mapping[str, Any]) -> str:
        """The rendered prompt."""
        return apply_template(self._config["doc_to_text"], doc)

    def doc_to_choice(self, doc: Mapping[str, Any]) -> list[str]:
        """The scored answers."""
        choices = self._config["doc_to_choice"]
        return choices if isinstance(choices, list) else [f"a made-up option {number}" for number in range(4)]

    def doc_to_target(self, doc: Mapping[str, Any]) -> int:
        """The first option is right."""
        return 0


COLORS = ["red", "green", "blue", "grey", "white"]
ANSWERS = (0, "A", "0", 1, "1", "a", "red", "Α", "أ", "صح", "yes", [0], {"0": 1})
"""Forms in which the rows of tasks name the first option."""
CHOICES: tuple[Callable[[list[str]], Any], ...] = (
    list,
    str,
    lambda texts: {"text": texts, "label": [*"ABCDE"[: len(texts)]]},
    lambda texts: {"choices": texts, "labels": [1, *[0] * (len(texts) - 1)]},
    lambda texts: {"text": texts[:3], "english_keys": [*"ABC"], "arabic_keys": ["أ", "ب", "ج"]},
    lambda texts: dict(zip("ABCDE", texts, strict=False)),
    lambda texts: [{"text": text, "aid": number} for number, text in enumerate(texts)],
    lambda texts: ", ".join(f"{letter} ) {text}" for letter, text in zip("abcde", texts, strict=False)),
)
"""Forms in which the rows of tasks have their options."""
CAUSE, GAP = {"question": "cause"}, {"sentence": "The dog that saw _ is old.", "option1": "it", "option2": "him"}
SCHOOL: dict[str, Any] = {
    "Level": "Primary",
    "Subject": "Driving Test",
    "Country": "",
    "country": "Egypt",
    "region": "North Africa",
}
SCHOOL["answer_key"] = {"english_answer_key": "A", "arabic_answer_key": "أ"}
PROBLEM = {"question": "Why?", "options": ["red", "green", "blue", "grey"], "answer": "A"}
VALUES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("xcopa", "copal_id", "basque_bench", "super_glue"), CAUSE),
    **dict.fromkeys(("arabic_leaderboard_complete", "arabic_leaderboard_light"), CAUSE),
    **dict.fromkeys(("winogrande", "xwinograd", "icelandic_winogrande", "metabench"), GAP),
    **dict.fromkeys(("arabicmmlu", "arab_culture", "arab_culture_completion"), SCHOOL),
    "race": {"problems": str([PROBLEM])},
    "pubmedqa": {"CONTEXTS": ["a made-up context"], "final_decision": "yes"},
    "aradice": {**SCHOOL, **GAP},
    "kobest": {"question": "원인"},
    "french_bench": {"question": "C'est <...>."},
}
"""Values that the functions of a family of tasks expect in a column."""
_CHOICES = re.compile("choices|options|classes|candidates|endings|targets|answers$", re.IGNORECASE)
_ANSWERS = re.compile("answer|label|gold|target|correct|cop|index|key|solution$", re.IGNORECASE)
_FILLED = re.compile(r"option.?[1-5a-e]|(?:op|ending|solution|answer|choice|opt|sol)_?[0-9a-eA-E]$|sentence|sen$")


class Row(dict[str, Any]):
    """A made-up row that has each column that a task asks for, with options and answer of one form."""

    def __init__(self, size: int, choices: Callable[[list[str]], Any], answer: Any) -> None:
        self._texts, self._choices, self._answer = COLORS[:size], choices, answer

    def __missing__(self, key: str) -> Any:
        if _FILLED.search(key):
            self[key] = f"{COLORS[sum(map(ord, key)) % len(COLORS)]} {key}"
        elif _CHOICES.search(key):
            self[key] = self._choices(self._texts)
        elif _ANSWERS.search(key):
            self[key] = self._answer
        else:
            self[key] = f"a made-up {key}"
        return self[key]

    def __contains__(self, key: object) -> bool:
        return True

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a column."""
        return self[key]

    def copy(self) -> Row:
        """A row of the same form."""
        return self._with({})

    def _with(self, changes: Mapping[str, Any]) -> Row:
        other = Row(0, self._choices, self._answer)
        other._texts = self._texts
        other.update({**self, **changes})
        return other


class Rows(list[Row]):
    """A made-up split; only what tasks use of a dataset."""

    features: Mapping[str, None] = {}
    column_names: tuple[str, ...] = ()

    def map(self, function: Callable[..., Mapping[str, Any]], **_: Any) -> Rows:
        """Change each row."""
        changed = Rows(row._with(function(row)) for row in self)
        changed.features = self.features
        return changed

    def filter(self, *_: Any, **__: Any) -> Rows:
        """Keep all rows: a made-up row need not be of the subset that a task wants."""
        return self

    def shuffle(self, *_: Any, **__: Any) -> Rows:
        """Keep the order."""
        return self

    def select(self, *_: Any, **__: Any) -> Rows:
        """Keep all rows."""
        return self

    rename_column = remove_columns = cast_column = filter


class Splits(dict[str, Rows]):
    """Made-up splits of any name."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __missing__(self, name: str) -> Rows:
        return self._rows


def family_of(entry: Any) -> str:
    """The folder of a task."""
    family: str = entry.yaml_path.relative_to(FOLDER).parts[0]
    return family


def names_in(values: Iterable[Any]) -> set[str]:
    """The names in those values that are templates."""
    return {name for text in values if is_template(text) for name in meta.find_undeclared_variables(env.parse(text))}


def is_template(value: Any) -> bool:
    """Whether a value of a task file is a Jinja template."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def asked_with(name: str, entry: Any, row: Row) -> TaskQuestion:
    """Try a task with a made-up row in the format of its data, as the harness and `cora_of` do."""
    config = load_yaml(entry.yaml_path, resolve_func=True)
    named = [config.get(key) for key in ("doc_to_text", "doc_to_choice", "doc_to_target")]
    row.update(VALUES.get(family_of(entry), {}))
    rows = Rows([row])
    rows.features = dict.fromkeys(text for text in named if isinstance(text, str) and re.fullmatch(r"[\w ]+", text))
    for column in [*rows.features, *names_in(named)]:
        row[column]
    config = {key: value for key, value in config.items() if key not in ("tag", "group", "class")}
    config |= {"task": name, "metric_list": [{"metric": "acc"}]}  # other metrics may ask for the network

    def download(task: ConfigurableTask, *_: Any, **__: Any) -> None:
        task.dataset = Splits(rows)  # type: ignore[assignment]

    with patch.object(ConfigurableTask, "download", download):
        task = ConfigurableTask(config=config)
        (asked,) = questions_of(task)
    Question("made up", asked.stem, asked.choices, asked.answer)
    if asked.printed is not None and str(asked.printed) != task.doc_to_text(asked.doc):
        raise UserError("another text")
    return asked


def outcome_of_function(name: str, entry: Any, size: int) -> str:
    """How `cora_of` asks a task whose prompt is a function or a column, with the first form of row that it can read."""
    refused: list[str] = []
    for choices, answer in product(CHOICES, ANSWERS):
        try:
            asked = asked_with(name, entry, Row(size, choices, answer))
        except (UserError, UnusableQuestion) as error:  # noqa: PERF203
            if "cannot be rendered" not in str(error) and "expected one of the" not in str(error):
                refused.append(str(error))
        except Exception:  # the functions of a task raise any error if a row has another layout
            continue
        else:
            return "our prompt" if asked.printed is None else "own prompt"
    if not refused:
        return "failed"
    return "no question" if all("empty stem" in reason for reason in refused) else "refused"


def outcome(name: str, config: Mapping[str, Any]) -> str:
    """How `cora_of` asks a task whose prompt is a template, or why it does not."""
    try:
        task = Task(name, config)
        asked = read_question(task, task.doc)
    except UserError:
        return "refused"
    except Exception:  # a template may need a real row
        return "failed"
    if asked.printed is None:
        return "refused" if labels_in(asked.choices) else "our prompt"
    same = str(asked.printed) == asked.printed.with_options(asked.printed.options) == task.doc_to_text(task.doc)
    return "own prompt" if same else "failed"


def main() -> None:
    """Print the table."""
    logging.disable()
    outcomes: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    known: dict[str, str] = {}
    entries = [entry for entry in TaskManager().task_index.values() if entry.kind == Kind.TASK and entry.yaml_path]
    for entry in tqdm(entries, disable=None):
        config = load_yaml(entry.yaml_path, resolve_func=False)
        if config.get("output_type") != "multiple_choice" or "doc_to_choice" not in config:
            continue
        family = family_of(entry)
        text, choices = config["doc_to_text"], config["doc_to_choice"]
        if is_template(text) and (not isinstance(choices, str) or is_template(choices)):
            outcomes[family]["template", outcome(entry.name, config)] += 1
            continue
        # Tasks with the same functions differ in their data only.
        keys = ("doc_to_text", "doc_to_choice", "doc_to_target", "process_docs")
        kind = str([family, *(config.get(key) for key in keys)])
        if kind not in known:
            known[kind] = outcome_of_function(entry.name, entry, len(choices) if isinstance(choices, list) else 4)
        outcomes[family]["function", known[kind]] += 1
    total = sum(outcomes.values(), Counter())
    for kind, words in (("template", "templates"), ("function", "functions or columns")):
        counts = Counter({name: count for (which, name), count in total.items() if which == kind})
        share = (counts["own prompt"] + counts["our prompt"]) / counts.total()
        listed = ", ".join(f"{name} {counts[name]:,}" for name in OUTCOMES)
        sys.stdout.write(f"The prompts of {counts.total():,} are {words}; {share:.1%} can be asked ({listed}).\n")
    sys.stdout.write(f"\n| family | {' | '.join(OUTCOMES)} | functions or columns |\n|---|{'---|' * 6}\n")
    for family, counts in sorted(outcomes.items(), key=lambda item: -item[1].total()):
        sys.stdout.write(_line(family, counts))
    sys.stdout.write(_line("all", total))


def _line(family: str, counts: Counter[tuple[str, str]]) -> str:
    cells = [sum(count for (_, name), count in counts.items() if name == wanted) for wanted in OUTCOMES]
    cells.append(sum(count for (kind, _), count in counts.items() if kind == "function"))
    return f"| {family} | {' | '.join(f'{cell:,}' if cell else '' for cell in cells)} |\n"


OUTCOMES = ("own prompt", "our prompt", "no question", "refused", "failed")

if __name__ == "__main__":
    main()
