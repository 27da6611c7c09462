"""The metrics that stay exact with early stopping, and a model with many wrong answers."""

import hashlib
import json

from tests.support.simulated import Simulated, knows, says


def known(task):
    """The metrics with the same values as in the full run."""
    if "_order" in task:
        return {"mcqa", "ci", "cora", "acc_h"}
    if "_prompts" in task:
        return {"mcqa", "ci", "cora"}
    return {"mcqa", "ci", "cora", "bmca@1.0"}


def chance(*key):
    """A number from 0 to 1 from a hash of a key."""
    return int.from_bytes(hashlib.sha256(json.dumps(key).encode()).digest()[:4], "big") / 2**32


class Moody(Simulated):
    """Knows some questions in all variants and others in some variants; else its answer is wrong or invalid."""

    def __init__(self, seed, sure=0.35):
        super().__init__(self.say)
        self.seed = seed
        self.sure = sure
        self.asked = []

    def say(self, doc):
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


def two_options(folder, more=lambda n: {}):
    """Write 120 questions with two options, and so 8 variants; return the options of a task that asks them."""
    rows = ({"id": f"q{n}", "question": f"{n}?", "choices": ["a", "b"], "answer": n % 2, **more(n)} for n in range(120))
    file = folder / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return {"data_files": str(file)}
