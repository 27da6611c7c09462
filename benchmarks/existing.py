"""Measure how long `score` needs for samples of another task, beside parsing the same lines as JSON.

python benchmarks/existing.py [--samples 20000]

The prompts have five exemplars. Both run in this process, on one core, one after the other.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

import lm_eval_cora as cora

TEXT = "the cell membrane protein of a given enzyme binds another acid when its surface is cooled below zero"
WORDS = TEXT.split()
RESPONSES = {
    "a letter": "{letter}",
    "a sentence": "The correct answer is ({letter}).",
    "step by step": "Let's think step by step. Option A needs more heat than there is. {text} would explain it, "
    "because the surface is cold.\n\nTherefore, the answer is **{letter}**.",
}


def question(dice: random.Random) -> tuple[str, list[str]]:
    """A question with four options."""
    options = [" ".join(dice.sample(WORDS, 4)) for _ in "ABCD"]
    listed = "".join(f"\n{letter}. {option}" for letter, option in zip("ABCD", options, strict=True))
    return f"Question: What happens when {' '.join(dice.sample(WORDS, 9))}?{listed}\nAnswer:", options


def line(number: int, response: str, dice: random.Random) -> dict[str, Any]:
    """A line of a samples file of a task with written answers."""
    shots = "".join(f"{question(dice)[0]} {dice.choice('ABCD')}\n\n" for _ in range(5))
    asked, options = question(dice)
    place = dice.randrange(4)
    said = response.format(letter="ABCD"[place], text=options[place])
    return {
        "doc_id": number,
        "doc": {"number": number},
        "target": dice.choice("ABCD"),
        "filter": "none",
        "arguments": {"gen_args_0": {"arg_0": shots + asked, "arg_1": {}}},
        "resps": [[said]],
        "filtered_resps": [said],
        "metrics": ["exact_match"],
        "exact_match": 0.0,
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    count = parser.parse_args().samples
    print("| responses | parsing, s | score, s | ratio | 100,000 samples, s |\n|---|---|---|---|---|")
    for name, response in RESPONSES.items():
        dice = random.Random(0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "samples_exam_2026-01-01T00-00-00.000000.jsonl"
            path.write_text("".join(f"{json.dumps(line(number, response, dice))}\n" for number in range(count)))
            start = time.process_time()
            for text in path.read_text().splitlines():
                json.loads(text)
            parsed = time.process_time()
            (scores,) = cora.read_runs(path)
            print(scores["acc"], file=sys.stderr)
            parsing, scoring = parsed - start, time.process_time() - parsed
        ratio = scoring / parsing
        print(f"| {name} | {parsing:.2f} | {scoring:.1f} | {ratio:.0f} | {scoring / count * 100_000:.0f} |")


if __name__ == "__main__":
    main()
