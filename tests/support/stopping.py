"""The metrics that stay exact with early stopping, and a model with many wrong answers."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.simulated import Simulated, knows, says


def known(task: str) -> set[str]:
    """The metrics with the same values as in the full run."""
    if "_order" in task:
        return {"mcqa", "ci", "cora", "acc_h"}
    if "_prompts" in task:
        return {"mcqa", "ci", "cora"}
    return {"mcqa", "ci", "cora", "bmca@1.0"}


def chance(*key: object) -> float:
    """A number from 0 to 1 from a hash of a key."""
    return int.from_bytes(hashlib.sha256(json.dumps(key).encode()).digest()[:4], "big") / 2**32


class Moody(Simulated):
    """Knows some questions in all variants and others in some variants; else its answer is wrong or invalid."""

    def __init__(self, seed: int, sure: float = 0.35) -> None:
        super().__init__(self.say)
        self.seed = seed
        self.sure = sure
        self.asked: list[tuple[str, int]] = []

    def say(self, doc: dict[str, Any]) -> str:
        question, ordinal = doc["question_id"], doc["ordinal"]
        self.asked.append((question, ordinal))
        skill = 1.0 if chance(self.seed, question) < self.sure else chance(self.seed, question, "skill")
        if chance(self.seed, question, ordinal) < skill:
            return knows(doc)
        if chance(self.seed, question, ordinal, "invalid") < 0.3:
            return "?"
        if doc["ask"] == "yes_no":
            return "no" if knows(doc) == "yes" else "yes"
        return says(doc, next(identity for identity in doc["printed"] if identity != doc["answer"]))


def two_options(folder: Path, more: Callable[[int], dict[str, str]] = lambda n: {}) -> dict[str, str]:
    """Write 120 questions with two options, and so 8 variants; return the options of a task that asks them."""
    rows = ({"id": f"q{n}", "question": f"{n}?", "choices": ["a", "b"], "answer": n % 2, **more(n)} for n in range(120))
    file = folder / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return {"data_files": str(file)}
