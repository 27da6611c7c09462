"""Count the multiple-choice tasks of the installed harness that `cora_of` can ask, by family, as a Markdown table.

    python scripts/harness_tasks.py > docs/harness-tasks-table.md

It reads all task files, and renders the prompts that are templates with made-up rows. Prompts that are functions are
counted, but not tried.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import lm_eval.tasks
from jinja2 import meta
from lm_eval.tasks import TaskManager
from lm_eval.tasks._index import Kind
from lm_eval.tasks._yaml_loader import load_yaml
from lm_eval.utils import apply_template, env
from tqdm import tqdm

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asked import labels_in, read_question

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
        texts = [text for text in (config["doc_to_text"], choices) if isinstance(text, str)]
        names = {name for text in texts for name in meta.find_undeclared_variables(env.parse(text))}
        self.doc = {name: MadeUp(name) for name in names}

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


def outcome(name: str, config: Mapping[str, Any]) -> str:
    """How `cora_of` asks a task, or why it does not."""
    text, choices = config.get("doc_to_text"), config.get("doc_to_choice")
    if not isinstance(text, str) or not ("{{" in text or "{%" in text):
        return "function or column"
    if isinstance(choices, str) and not ("{{" in choices or "{%" in choices) and "/" in choices:
        return "function or column"
    try:
        task = Task(name, config)
        asked = read_question(task, task.doc)
    except UserError as error:
        return f"refused: {error}"
    except Exception as error:  # a template may need a real row
        return f"failed: {type(error).__name__}"
    if asked.printed is None:
        return "refused" if labels_in(asked.choices) else "our prompt"
    same = str(asked.printed) == asked.printed.with_options(asked.printed.options) == task.doc_to_text(task.doc)
    return "own prompt" if same else "failed: another text"


def main() -> None:
    """Print the table."""
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    entries = [entry for entry in TaskManager().task_index.values() if entry.kind == Kind.TASK and entry.yaml_path]
    for entry in tqdm(entries, disable=None):
        config = load_yaml(entry.yaml_path, resolve_func=False)
        if config.get("output_type") == "multiple_choice" and "doc_to_choice" in config:
            family = entry.yaml_path.relative_to(FOLDER).parts[0]
            outcomes[family][outcome(entry.name, config)] += 1
    total = sum(outcomes.values(), Counter())
    tried = total.total() - total["function or column"]
    columns = ["own prompt", "our prompt", "refused", "function or column", *sorted(set(total) - _USUAL)]
    sys.stdout.write(
        f"{total.total():,} multiple-choice tasks. The prompts of {tried:,} are templates; "
        f"{(total['own prompt'] + total['our prompt']) / tried:.1%} of these can be asked.\n\n"
        f"| family | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}\n"
    )
    for family, counts in sorted(outcomes.items(), key=lambda item: -item[1].total()):
        sys.stdout.write(f"| {family} | {' | '.join(str(counts[name] or '') for name in columns)} |\n")
    sys.stdout.write(f"| all | {' | '.join(f'{total[name]:,}' for name in columns)} |\n")


_USUAL = {"own prompt", "our prompt", "refused", "function or column"}

if __name__ == "__main__":
    main()
