"""Models with known answers, for runs in the harness."""

from contextlib import contextmanager
from functools import partial
from math import log
from pathlib import Path
from unittest.mock import patch

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

import lm_eval_cora.harness.dry_run  # noqa: F401  # before TaskManager is replaced, because a run imports it late
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.variants.label_styles import STYLES

TASKS = Path(__file__).parents[2] / "tasks"


class Simulated(LM):
    """Answers each doc by a rule. Unlike a real model, the rule gets the doc itself.

    Where answers are scored, the one that the rule says has the likelihood 1/2 and the others have 1/8; all of them
    have 1/4 if it says none.
    """

    def __init__(self, rule):
        super().__init__()
        self.rule = rule
        self.prompts = []
        self.calls = []

    def generate_until(self, requests, disable_tqdm=False):
        self.calls.append(list(requests))
        self.prompts += [request.args[0] for request in requests]
        return [self.rule(request.doc) for request in requests]

    def loglikelihood(self, requests, disable_tqdm=False):
        self.calls.append(list(requests))
        self.prompts += [request.args[0] for request in requests]
        return [self._score(self.rule(request.doc), request.args[1].strip()) for request in requests]

    @staticmethod
    def _score(said, answer):
        if said not in {*LETTERS, "yes", "no"}.union(*STYLES.values()):
            return log(1 / 4), False
        return log(1 / 2 if answer == said else 1 / 8), answer == said

    def loglikelihood_rolling(self, requests):
        raise AssertionError("no form scores whole texts")

    @property
    def tokenizer_name(self):
        return "simulated"

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        turns = [f"<{turn['role']}>{turn['content']}</{turn['role']}>" for turn in chat_history]
        return "".join(turns) + "<assistant>" * add_generation_prompt


@contextmanager
def quickly():
    """Leave out what takes as long as a short run: pip, git, torch, the table, and finding the harness' own tasks."""
    with (
        patch("lm_eval.evaluator.add_env_info"),
        patch("lm_eval.evaluator.get_git_commit_hash", return_value=None),
        patch("lm_eval.evaluator.set_torch_seed"),
        patch("lm_eval.utils.make_table", return_value=""),
        patch("lm_eval.tasks.TaskManager", partial(TaskManager, include_defaults=False)),
    ):
        yield


def run(
    rule,
    task="cora_demo",
    options=None,
    include_path=TASKS,
    **arguments,
):
    """Run tasks with a simulated model, or another one; return what the harness returns: None on other ranks."""
    manager = TaskManager(
        include_path=include_path, include_defaults=False, metadata={} if options is None else {"cora": dict(options)}
    )
    model = rule if isinstance(rule, LM | str) else Simulated(rule)
    with quickly():
        tasks = [task] if isinstance(task, str) else task
        return simple_evaluate(model=model, tasks=tasks, task_manager=manager, **arguments)


def scores(results, task="cora_demo", filter_name="none"):
    """The metrics of a task by name, without the harness' bookkeeping."""
    suffix = f",{filter_name}"
    return {key.removesuffix(suffix): value for key, value in results["results"][task].items() if key.endswith(suffix)}


def scored(rule, task="cora_demo", *more, **named):
    """The metrics of a run of one task, by name."""
    return scores(run(rule, task, *more, **named), task)


def signature_of(results, task="cora_demo"):
    return str(results["configs"][task]["metadata"]["signature"])


def knows(doc):
    """Always the right answer."""
    if doc["ask"] == "yes_no":
        return "yes" if doc["answer"] in doc["printed"] else "no"
    if doc["ask"] == "boxed":
        return rf"The final answer is: $\boxed{{{doc['answer']}}}$"
    return says(doc, doc["answer"])


def says(doc, identity):
    """The letter of an option, in the form that the prompt asks for."""
    letter = LETTERS[doc["printed"].index(identity)]
    return f"I see. The best answer is {letter}." if doc["ask"] == "best_answer" else letter


def prefers(doc):
    """Picks by a fixed ranking of the options of a question, with a wrong one first, at any position."""
    wrong_first = (doc["answer"] + 1) % 5
    best = min(doc["printed"], key=lambda identity: (identity != wrong_first, identity * 7 % 31))
    return says(doc, best)
