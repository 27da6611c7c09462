"""Made-up rows of every benchmark, in a folder where `load_dataset("owner/name")` finds them as it would on the Hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import datasets

from lm_eval_cora.benchmarks.agieval import SUBSETS
from lm_eval_cora.question import LETTERS

Row = dict[str, Any]


def right_answer(question: str) -> str:
    """What follows the number in a made-up stem: not read from any adapter's output."""
    return str(int(question.rpartition("follows ")[2].partition("?")[0]) + 1)


def options(number: int, count: int) -> tuple[list[str], int]:
    """Numbers around `number`, and where its successor stands among them: at another place for each number."""
    right = number % count
    return [str(number + 1 + index - right) for index in range(count)], right


def stem(topic: str, number: int) -> str:
    return f"In {topic}, which number follows {number}?"


def mmlu(number: int, split: str) -> Row:
    subject = ("astronomy", "marketing")[number % 2]
    choices, right = options(number, 4)
    return {"question": stem(f"{split} {subject}", number), "subject": subject, "choices": choices, "answer": right}


def arc(number: int, split: str) -> Row:
    choices, right = options(number, 3 + number % 3)
    labels = (LETTERS if number % 2 else "12345")[: len(choices)]
    return {
        "id": f"{split}_{number}",
        "question": stem(split, number),
        "choices": {"text": choices, "label": list(labels)},
        "answerKey": labels[right],
    }


def truthfulqa(number: int, split: str) -> Row:
    choices, right = options(number, 2 + number % 12)
    ordered = [choices[right], *(choice for choice in choices if choice != choices[right])]
    targets = {"choices": ordered, "labels": [1] + [0] * (len(ordered) - 1)}
    return {"question": stem(split, number), "mc1_targets": targets, "mc2_targets": targets}


def medqa(number: int, split: str) -> Row:
    choices, right = options(number, 5)
    pairs = [{"key": letter, "value": choice} for letter, choice in zip("ABCDE", choices, strict=True)]
    return {
        "meta_info": ("step1", "step2&3")[number % 2],
        "question": stem(split, number),
        "answer_idx": LETTERS[right],
        "answer": choices[right],
        "options": pairs,
    }


def medmcqa(number: int, split: str) -> Row:
    choices, right = options(number, 4)
    named = dict(zip(("opa", "opb", "opc", "opd"), choices, strict=True))
    row = {"id": f"{split}-uuid-{number}", "question": stem(split, number), **named, "cop": right}
    return {**row, "choice_type": "single", "exp": None, "subject_name": ("Anatomy", "Dental")[number % 2]}


def mmlu_pro(number: int, split: str) -> Row:
    choices, right = options(number, 3 + number % 8)
    return {
        "question_id": number + 1000 * (split == "validation"),
        "question": stem(split, number),
        "options": choices,
        "answer": LETTERS[right],
        "answer_index": right,
        "cot_content": "",
        "category": ("law", "physics")[number % 2],
        "src": "made for the tests",
    }


def agieval(number: int, subset: str) -> Row:
    choices, right = options(number, 4 if subset.startswith(("sat", "logiqa")) else 5)
    printed = [f"({letter}){choice}" for letter, choice in zip(LETTERS, choices, strict=False)]
    query = (
        f"{stem(subset, number)} Answer Choices: {' '.join(printed)}\nA: Among A through {LETTERS[len(choices) - 1]},"
    )
    passage = "" if subset in ("aqua-rat", "sat-math") else "A passage about numbers."
    return {"query": f"{passage}Q: {query} the answer is", "choices": printed, "gold": [right]}


SUBJECTS = {
    "algebra": "Algebra",
    "counting_and_probability": "Counting & Probability",
    "geometry": "Geometry",
    "intermediate_algebra": "Intermediate Algebra",
    "number_theory": "Number Theory",
    "prealgebra": "Prealgebra",
    "precalculus": "Precalculus",
}


def math(number: int, split: str, subject: str) -> Row:
    return {
        "problem": stem(f"{split} {subject}", number),
        "level": f"Level {1 + number % 5}",
        "type": SUBJECTS[subject],
        "solution": rf"One more is ${number} + 1 = \boxed{{{number + 1}}}$.",
    }


SETS: dict[str, tuple[str, dict[str, int], Callable[[int, str], Row]]] = {
    "cais/mmlu": ("all", {"test": 8, "dev": 10}, mmlu),
    "allenai/ai2_arc": ("ARC-Challenge", {"test": 6, "train": 30}, arc),
    "truthfulqa/truthful_qa": ("multiple_choice", {"validation": 12}, truthfulqa),
    "lavita/medical-qa-datasets": ("med-qa-en-5options-source", {"test": 4, "train": 8}, medqa),
    "openlifescienceai/medmcqa": ("default", {"validation": 4, "train": 8}, medmcqa),
    "TIGER-Lab/MMLU-Pro": ("default", {"test": 8, "validation": 10}, mmlu_pro),
    **{
        f"hails/agieval-{subset}": ("default", {"test": 5}, lambda number, _, subset=subset: agieval(number, subset))
        for subset in SUBSETS
    },
}
"""Configuration, rows per split, and maker of a row, by id."""


def make_hub(folder: Path) -> None:
    """Write all sets below a folder."""
    for name, (config, splits, make) in SETS.items():
        _write(folder / name, {config: make}, splits)
    makers = {subject: partial(math, subject=subject) for subject in SUBJECTS}
    _write(folder / "EleutherAI/hendrycks_math", makers, {"test": 3, "train": 3})


def _write(folder: Path, makers: Mapping[str, Callable[[int, str], Row]], splits: Mapping[str, int]) -> None:
    """Write a set whose configurations have the same splits."""
    lines = []
    for config, make in makers.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split, count in splits.items():
            path = folder / config / f"{split}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            datasets.Dataset.from_list([make(number, split) for number in range(count)]).to_parquet(path)
            lines += [f"  - split: {split}", f"    path: {config}/{split}.parquet"]
    (folder / "README.md").write_text("\n".join(["---", "configs:", *lines, "---", ""]))
