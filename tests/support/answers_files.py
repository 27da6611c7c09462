"""Files of answers that were collected without the harness."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tests.support.written import put

Row = dict[str, Any]
KINDS = ("original", "shuffled", "nota", "fewer")


def answers(model: str = "small", knows: float = 0.5, questions: int = 20) -> list[Row]:
    """Answers to four variants of each question. The options depend on the variant, the picks on the model."""
    dice, rows = random.Random(model), []
    for number in range(questions):
        for kind in KINDS:
            printed = random.Random(f"{number} {kind}").sample(["Ice", "Fog", "Rain"], 3)
            pick = "Ice" if dice.random() < knows else dice.choice(["Fog", "Rain", None])
            row = {"question_id": f"q{number}", "variant": kind, "picked": pick, "answer": "Ice", "printed": printed}
            rows.append({**row, "category": "ab"[number % 2], "followed": pick is not None})
    return rows


def _csv(path: Path, rows: Sequence[Row]) -> None:
    cells = [{**row, "printed": json.dumps(row["printed"])} if "printed" in row else row for row in rows]
    pd.DataFrame(cells).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


WRITERS: dict[str, Callable[[Path, Sequence[Row]], object]] = {
    ".jsonl": put,
    ".json": lambda path, rows: path.write_text(json.dumps(list(rows))),
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": lambda path, rows: pd.DataFrame(rows).to_parquet(path),
}


def write_answers(path: Path, rows: Sequence[Row]) -> Path:
    """Write answers in the format of the file's name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[path.suffix](path, rows)
    return path
