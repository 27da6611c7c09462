"""The consistency rate of the harness' SCORE tasks and of ours, for runs with a known value."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import pytest

from lm_eval_cora.questions.question import LETTERS
from tests.support.building import build
from tests.support.simulated import run, scores

pytest.importorskip("math_verify")

GOLDEN = Path(__file__).parents[1] / "golden" / "consistency_rates.md"
Doc = dict[str, Any]
Rule = Callable[[Doc, list[str]], str]


class Run(NamedTuple):
    """A question with some options, the position of the right one, and the rule of a model."""

    what: str
    by_hand: str
    right: float
    options: int
    answer: int
    rule: Rule


def letter(said):
    return lambda doc, choices: f"The best answer is {said}"


def content(text):
    """Always the same option, at any position."""
    return lambda doc, choices: f"The best answer is {LETTERS[choices.index(text)]}"


def silence(doc, choices):
    return ""


def cycle(*answers):
    """One answer per template, in turn."""
    return lambda doc, _: answers[doc["number"] % len(answers)]


RUNS = {
    "mmlu_pro_order": [
        Run("4 options, answer at A: always A", "picks w x y z: 0 of 6 pairs", 0.0, 4, 0, letter("A")),
        Run("4 options, answer at B: always A", "picks x w w w: 3 of 6", 0.5, 4, 1, letter("A")),
        Run("4 options: always the content x, wrong", "one pick: 6 of 6", 1.0, 4, 0, content("x")),
        Run("4 options: always right", "one pick: 6 of 6", 1.0, 4, 0, content("w")),
        Run("10 options: always the content x, wrong", "one pick: 45 of 45", 1.0, 10, 0, content("x")),
        Run("3 options, answer at A: always A", "picks w x y: 0 of 3", 0.0, 3, 0, letter("A")),
        Run("4 options: nothing", "it agrees with nothing: 0 of 6", 0.0, 4, 0, silence),
    ],
    "agieval_order": [
        Run("4 options: always A", "picks w x y z: 0 of 6", 0.0, 4, 0, letter("A")),
        Run("4 options: always the content x, wrong", "one pick: 6 of 6", 1.0, 4, 0, content("x")),
        Run("5 options: always right", "one pick, at E too: 10 of 10", 1.0, 5, 0, content("w")),
    ],
    "mmlu_pro_prompts": [
        Run("nothing, ten times", "0 of 45", 0.0, 4, 0, silence),
        Run("always B", "one pick: 45 of 45", 1.0, 4, 0, letter("B")),
        Run("always **B**", "one pick, in bold: 45 of 45", 1.0, 4, 0, letter("**B**")),
        Run("always C, on a line of its own", "45 of 45", 1.0, 4, 0, letter("\nC")),
    ],
    "math_prompts": [
        Run("nothing, ten times", "0 of 45", 0.0, 0, 0, silence),
        Run("1/2 and 0.5 in turn", "one number: 45 of 45", 1.0, 0, 0, cycle(r"\boxed{\frac12}", r"\boxed{0.5}")),
        Run("5 and 500 in turn", "10 + 10 pairs of 45", 20 / 45, 0, 0, cycle(r"\boxed{5}", r"\boxed{500}")),
        Run("2x+2 and 2(x+1) in turn", "the same: 45 of 45", 1.0, 0, 0, cycle(r"\boxed{2x+2}", r"\boxed{2(x+1)}")),
        Run("2x+1 and 2(x+1) in turn", "two: 20 of 45", 20 / 45, 0, 0, cycle(r"\boxed{2x+1}", r"\boxed{2(x+1)}")),
        Run("{1,2} and {2,1} in turn", "one set: 45 of 45", 1.0, 0, 0, cycle(r"\boxed{\{1,2\}}", r"\boxed{\{2,1\}}")),
    ],
}
"""By task."""

TEXTS = "wxyzuvtsrq"


def ours(name, one, folder):
    """Consistency rate and number of variants."""
    path = folder / "one.jsonl"
    path.write_text(json.dumps(row_of(name, one)))

    task = f"cora_{name}"
    rule = lambda doc: one.rule({**doc, "number": doc["ordinal"]}, list(doc["choices"]))  # noqa: E731
    results = run(rule, task, {"data_files": str(path)})
    return scores(results, task)["consistency_rate"], len(results["samples"][task])


def row_of(task, one):
    if task.startswith("math"):
        return {"problem": "What?", "level": "Level 1", "type": "Algebra", "solution": r"It is $\boxed{7}$."}
    texts = list(TEXTS[: one.options])
    # The right option is "w", at any position in the source.
    texts[0], texts[one.answer] = texts[one.answer], texts[0]
    if task.startswith("agieval"):
        printed = [f"({letter}){text}" for letter, text in zip(LETTERS, texts, strict=False)]
        query = f"Q: What? Answer Choices: {' '.join(printed)}\nA: Among A through E, the answer is"
        return {"query": query, "choices": printed, "gold": [one.answer], "subset": "aqua-rat"}
    row = {"question_id": 1, "question": "What?", "options": texts, "category": "law"}
    return row | {"answer": LETTERS[one.answer], "answer_index": one.answer}


def module_of(benchmark):
    """The harness' own functions for a benchmark of SCORE."""
    folder = {"agieval": "agi_eval"}.get(benchmark, benchmark)
    return import_module(f"lm_eval.tasks.score.{folder}.utils_{benchmark}")


def theirs(task, one):
    """The rate from the harness' own functions: docs, scoring of responses, aggregation."""
    benchmark, _, probe = task.rpartition("_")
    module = module_of(benchmark)
    name = {"order": "option_order_robustness", "prompts": "prompt_robustness"}[probe]
    docs = getattr(module, f"{name}_process_docs")(datasets.Dataset.from_list([row_of(task, one)]))
    score = module.process_results if benchmark == "math" else getattr(module, f"{name}_process_results")
    key = "options_consistency_rate" if probe == "order" else "consistency_rate"
    rows = [score(doc, [one.rule({"number": n}, doc.get("options", []))])[key] for n, doc in enumerate(docs)]
    if benchmark == "math":
        return module.math_prompt_consistency_rate(rows), len(rows)
    if probe == "order":
        return module.options_consistency_rate(rows), len(rows)
    return import_module("lm_eval.tasks.score.utils").prompt_consistency_rate(rows), len(rows)


def table_of(rows):
    lines = [
        "| task | run | worked out by hand | right | ours | variants | the harness' | variants |",
        "|---" * 8 + "|",
    ]
    for task, one, mine, their in rows:
        numbers = " | ".join(f"{rate:.4f} | {variants}" for rate, variants in (mine, their))
        lines.append(f"| {task} | {one.what} | {one.by_hand} | {one.right:.4f} | {numbers} |")
    return "\n".join(lines) + "\n"


def test_consistency_rates_worked_out_by_hand(tmp_path):
    rows = [(task, one, ours(task, one, tmp_path), theirs(task, one)) for task, runs in RUNS.items() for one in runs]
    for task, one, (rate, _), _ in rows:
        assert rate == pytest.approx(one.right), f"{task}: {one.what}"
    assert table_of(rows) == GOLDEN.read_text()


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    "task", ["mmlu_pro_prompts", "mmlu_pro_sampling", "agieval_prompts", "math_prompts", "math_sampling"]
)
def test_prompts_are_those_of_the_harness(task):
    benchmark, _, probe = task.rpartition("_")
    module = module_of(benchmark)
    name = {"prompts": "prompt_robustness", "sampling": "non_greedy_robustness"}[probe]
    path = {"mmlu_pro": "TIGER-Lab/MMLU-Pro", "agieval": "hails/agieval-aqua-rat", "math": "EleutherAI/hendrycks_math"}
    config = "algebra" if benchmark == "math" else None
    rows = datasets.load_dataset(path[benchmark], config, split="test").select(range(3))
    docs = getattr(module, f"{name}_process_docs")(rows)
    render = {"mmlu_pro": "mmlu_pro", "agieval": "agi_eval", "math": "math"}[benchmark]
    expected = [getattr(module, f"{render}_robustness_doc_to_text")(doc) for doc in docs]
    built = build(f"cora_{task}")
    assert set(expected) <= {built.doc_to_text(doc) for doc in built.eval_docs}
