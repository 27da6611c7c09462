"""Measure both readers on labelled answers of real models: right, wrong, missed, and read though nothing is chosen.

A line of a file is an object with the `source` (or the `model`, or the `kind` of made-up responses), the `options` as
printed, their `labels` if these are not A, B, C, the `response`, and the `label`: the letter of the option that the
response chooses according to people (A for the label 1). Any other label, such as null or NONE, means that it chooses
none. Two kinds of lines are left out: those whose label is the option "I do
not know" or "Refused", because the models refused in their own words, and those that answer several questions
(SERIES).

The sources are split in half by name, and the models of files without sources by a hash of their name. The rules of the
flexible reader were developed on the first half.

    python benchmarks/readers.py FILE_OR_FOLDER ... [--half both|development|held-out] [--show [READER]]
    python benchmarks/readers.py FILE --tokenizer FOLDER [--gguf_file NAME]   # by number of tokens

`--show` prints up to 20 random responses on which a reader (default: flexible) and the label disagree. With
`--tokenizer` the flexible reader also reads the first tokens of each response, for several limits; this needs
transformers.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.answers import Answer
from lm_eval_cora.answers.records import read_answer
from lm_eval_cora.questions.question import LETTERS

LEFT_OUT = ("I do not know", "Refused")
HALVES = ("development", "held-out")
DEVELOPMENT = ("education", "kice", "komed-dev", "lawbench-zero", "medqa2026", "mir24", "tumlu-cot", "tyt-tr")
"""Sources on which the rules were developed, chosen by name before their answers were seen."""
LIMITS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 96, 128)
SHOWN = 20

Read = Callable[..., Answer]
"""Reads a response, given the options and perhaps their `labels`."""

READERS: dict[str, Read] = {"flexible": read_answer, "strict": partial(read_answer, reader="strict")}


class Labelled(NamedTuple):
    """A response with the position of the option that it chooses (None if it chooses none)."""

    source: str
    half: str
    options: list[str]
    response: str
    label: int | None
    labels: Sequence[str] = ()


def labelled(path: Path) -> Iterator[Labelled]:
    """Yield the lines of a file, except those that are left out."""
    with path.open(encoding="utf-8") as lines:
        for given in map(json.loads, lines):
            said = given["label"]
            label = LETTERS.index(said) if said is not None and len(said) == 1 else None
            source = given.get("source") or given.get("model") or given["kind"]
            if said != "SERIES" and (label is None or given["options"][label] not in LEFT_OUT):
                labels = tuple(given.get("labels") or ())
                half = HALVES[source not in DEVELOPMENT] if "source" in given else half_of(source)
                yield Labelled(source, half, given["options"], given["response"], label, labels)


def half_of(model: str) -> str:
    """Return the half of a model."""
    return HALVES[sha256(model.encode()).digest()[0] % 2]


def outcome(read: Read, line: Labelled) -> str:
    """Compare a reader with the label of a response."""
    position = read(line.response, line.options, labels=line.labels).position
    if line.label is None:
        return "nothing" if position is None else "read for no reason"
    return "missed" if position is None else "right" if position == line.label else "wrong"


def table(lines: Sequence[Labelled]) -> None:
    """Print the outcomes of both readers, for each source and for all sources."""
    shares = " ".join(f"{name:>7}" for name in ("answers", "right", "wrong", "missed"))
    print(f"{'half':<12} {'source':<36} {'reader':<9} {shares}  without choice")
    for half in HALVES:
        part = [line for line in lines if line.half == half]
        for source in (*sorted({line.source for line in part}), "all"):
            own = [line for line in part if source in (line.source, "all")]
            for name, read in READERS.items():
                counts = Counter(outcome(read, line) for line in own)
                chosen = sum(line.label is not None for line in own)
                found = [f"{counts[what] / max(1, chosen):>7.2%}" for what in ("right", "wrong", "missed")]
                none = f"{counts['read for no reason']} of {len(own) - chosen} read"
                print(f"{half:<12} {source:<36} {name:<9} {chosen:>7,} {' '.join(found)}  {none}")


def disagreements(lines: Sequence[Labelled], name: str, seed: int) -> None:
    """Print some responses on which a reader and the label disagree."""
    verdicts = [(line, outcome(READERS[name], line)) for line in lines]
    found = [(line, verdict) for line, verdict in verdicts if verdict not in ("right", "nothing")]
    for line, verdict in random.Random(seed).sample(found, min(SHOWN, len(found))):
        answer = READERS[name](line.response, line.options, labels=line.labels)
        said = answer.reason or LETTERS[answer.position or 0]
        wanted = "none" if line.label is None else LETTERS[line.label]
        print(f"\n--- {name}: {verdict} ({said}; label {wanted}), {line.source}, {line.half}")
        print(*(f"{letter}. {option}" for letter, option in zip(LETTERS, line.options, strict=False)), sep="\n")
        print(f"> {line.response!r}")


def lengths(lines: Sequence[Labelled], tokenizer: Any) -> None:
    """Print, for several token limits, the share of right answers that the flexible reader keeps, and the cost."""
    read = READERS["flexible"]

    cut_off = partial(read_answer, cut_off=True)

    chosen = [(line, tokenizer.encode(line.response)) for line in lines if line.label is not None]
    final = sum(outcome(read, line) == "right" for line, _ in chosen)
    print("tokens  share of the final right answers  wrong  tokens generated per answer")
    for limit in LIMITS:
        counts = Counter(
            outcome(cut_off if len(tokens) > limit else read, line._replace(response=tokenizer.decode(tokens[:limit])))
            for line, tokens in chosen
        )
        cost = sum(min(limit, len(tokens) + 1) for _, tokens in chosen) / len(chosen)
        print(f"{limit:>6}  {counts['right'] / final:>33.1%}  {counts['wrong']:>5}  {cost:>27.1f}")


def main() -> None:
    """Measure the readers on a file and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+", metavar="FILE_OR_FOLDER")
    parser.add_argument("--half", choices=("both", *HALVES), default="both")
    parser.add_argument("--show", choices=tuple(READERS), nargs="?", const="flexible", metavar="READER")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokenizer")
    parser.add_argument("--gguf_file")
    given = parser.parse_args()
    for path in given.paths:
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            lines = [line for line in labelled(file) if given.half in ("both", line.half)]
            print(f"\n{file.name}")
            table(lines)
            if given.show:
                disagreements(lines, given.show, given.seed)
            if given.tokenizer:
                from transformers import AutoTokenizer

                lengths(lines, AutoTokenizer.from_pretrained(given.tokenizer, gguf_file=given.gguf_file))


if __name__ == "__main__":
    main()
