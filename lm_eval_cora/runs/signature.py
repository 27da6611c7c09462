"""Make, parse and merge signatures, which name everything that decides what was asked."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from lm_eval_cora import __version__
from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.benchmark import OF_THE_DATA, Benchmark, Data
from lm_eval_cora.questions.options import Options
from lm_eval_cora.variants.template import Template
from lm_eval_cora.variants.variant import REPEAT, Probe, passages_of


def family_of(task: str, probe: str) -> str:
    """Remove the probe from the name of a task.

    Example:
        >>> family_of("cora_mmlu_pro_order", "order")
        'cora_mmlu_pro'
    """
    return re.sub(rf"_{probe}\b", "", task)


def data_labels(runs: Sequence[tuple[str, str, Data]]) -> list[str]:
    """Make labels from tasks, their names without the probe, and data, so that different data have different names."""
    known = {(family, data.name, data.digest) for _, family, data in runs if data.digest}
    digests = Counter((family, name) for family, name, _ in known)
    labels = []
    for task, family, data in runs:
        digest = data.digest if digests[family, data.name] > 1 else ""
        labels.append(" ".join(filter(None, (data.name_beside(task), digest))))
    return labels


# Parts of a signature: how much was asked, why a run ended early, and all that do not describe how a question was asked
_COUNTED = ("asked", "n", "passages", "invalid")
HOW_MUCH = ("left_out", "questions", "limit", "samples", "categories", "repeats", *_COUNTED)
WHERE_IT_ENDS = ("stop", "budget", "until")
_MAY_DIFFER = {*HOW_MUCH, *OF_THE_DATA, *WHERE_IT_ENDS, "math-verify", "reader"}


def signature_parts(signature: str) -> dict[str, str]:
    """Split a signature into its named parts; the version at the end has no name."""
    found = (part.partition(":") for part in signature.split("|"))
    return {name: value for name, separator, value in found if separator}


def format_signature(parts: Mapping[str, object], version: str) -> str:
    """Join named parts, with line breaks and the separator, which file names can contain, escaped."""
    escaped = {name: re.sub(r"[|\n\r]", lambda found: f"%{ord(found[0]):02X}", str(parts[name])) for name in parts}
    return "|".join(["cora", *(f"{name}:{value}" for name, value in escaped.items()), version])


def not_settings(parts: Mapping[str, str]) -> set[str]:
    """The parts that runs need not share to be merged; shards of a run have all options in common."""
    return {*_COUNTED, "shard"} if "shard" in parts else {*HOW_MUCH}


def shard_of(signature: str) -> tuple[int, int]:
    """Which part of how many a run is; the first of one if it is a whole run."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", signature_parts(signature).get("shard", ""))
    return (int(found[1]), int(found[2])) if found else (1, 1)


def missing_shards(signatures: Iterable[str]) -> list[int]:
    """The numbers of the shards of a run that are not among those with these signatures."""
    numbers, counts = zip(*map(shard_of, signatures), strict=True)
    return sorted({*range(1, counts[0] + 1)}.difference(numbers))


def how_asked(signature: str, *, known_data: bool, also: Collection[str] = ()) -> dict[str, str]:
    """The parts of a signature that describe how the questions were asked, and some others; equal if comparable."""
    may_differ = (_MAY_DIFFER | ({"data_files"} if known_data else set())).difference(also)
    parts = signature_parts(signature)
    if parts.get("form") == "loglikelihood":
        parts.setdefault("letters", "prompt")  # older ones do not say it
    return {name: value for name, value in parts.items() if name not in may_differ}


def merged_signature(signatures: Sequence[str], table: ResponseTable, reader: Reader, before: str) -> str:
    """Make the signature of one run or of merged runs, possibly read again; count again how much was asked."""
    read_again = "|form:generate|" in signatures[0] and before != reader
    if (len(signatures) == 1 and not read_again) or not all("|" in signature for signature in signatures):
        return signatures[0]
    parts = [signature_parts(signature) for signature in signatures]
    together = {name: value for name, value in parts[0].items() if name not in not_settings(parts[0])}
    if missing_shards(signatures):
        together["shard"] = ",".join(sorted(part["shard"] for part in parts))
    if read_again:
        together["reader"] = reader
    if "categories" not in together and all("categories" in part for part in parts):
        names = {category for part in parts for category in part["categories"].split(",")}
        together["categories"] = ",".join(sorted(names))
    if len(table.sizes):
        sizes = "-".join(map(str, dict.fromkeys((int(table.sizes.min()), int(table.sizes.max())))))
        counted = {
            "asked": f"{(~table.skipped).mean():.1%}",
            "n": f"{len(table.sizes)}x{sizes}",
            "passages": str(table.units),
            "invalid": f"{table.invalid.mean():.1%}",
        }
        together |= {name: value for name, value in counted.items() if any(name in part for part in parts)}
    return format_signature(together, signatures[0].rpartition("|")[2])


# ---- the signature of a run
def about_asking(
    task: str,
    probe: Probe,
    benchmark: Benchmark,
    options: Options,
    data: Data,
    *,
    docs: Iterable[Mapping[str, Any]],
    exemplars: tuple[int, int, Any],
    **others: object,
) -> dict[str, object]:
    """The parts that say how the docs of a task are asked.

    `task` has its version. `exemplars` are their number, the seed and the sampler. `others` replace or add parts.
    """
    templates, (shots, seed, sampler) = {doc["template"] for doc in docs if "template" in doc}, exemplars
    fewest = f"{sampler.fewest}-" if shots and sampler.fewest < shots else ""
    parts = {
        "task": task,
        **data.in_signature(task.partition("@")[0]),
        "probe": probe.name,
        "option_references": options.option_references if probe.alters_options else None,
        "left_out": None,
        "form": "generate",
        "reader": options.reader,
        "shots": f"{fewest}{shots}@{seed}" if shots else 0,
        "exemplars": sampler.signature if shots else None,
        "revision": None if options.data_files else benchmark.source.revision or None,
        "math-verify": None if benchmark.has_options else version("math-verify"),
        **({"prompts": digest_of(templates)} if templates else {}),
    }
    return {**parts, **others}


def signature_of(
    about: Mapping[str, object],
    options: Options,
    ended: Mapping[str, object],
    records: Sequence[Record],
    *,
    questions: Collection[str] = (),
    filters: int = 1,
) -> str:
    """Describe in one line everything that determines a score.

    `about` is what `about_asking` returns, and `ended` why requests may be left out. `questions` are the complete ones;
    none before a run, when every record is skipped.
    """
    records = [record for record in records if record.kind != REPEAT]
    sizes = {record.variants for record in records}
    variants = "-".join(map(str, sorted({min(sizes), max(sizes)})))
    asked = sum(not record.skipped for record in records)
    passages = passages_of(map(vars, records))
    questions = set(questions) if asked else passages.keys()
    units = len({passages[question] for question in questions})
    invalid = sum(record.invalid for record in records) / max(1, asked)
    is_counted = bool(asked) or not ended
    # In `about` are the reader, how letters are scored or answers constrained, the digest of the prompts, and the tasks
    # of `cora_of`.
    elsewhere = ("reader", "letters", "constrain", "prompt", "task")
    changed = {name: value for name, value in options.changed().items() if name not in elsewhere}
    given = {"seed": options.seed, **changed}
    # Early stopping selects answers by correctness, so the share of invalid ones would be misleading.
    is_share_known = filters == 1 and asked and "stop" not in ended
    parts = {
        **about,
        **{name: in_signature(name, value) for name, value in given.items()},
        **ended,
        "asked": f"{asked / len(records):.1%}" if ended and asked else None,
        "n": f"{len(questions)}x{variants}" if is_counted else None,
        "passages": units if units < len(questions) and is_counted else None,
        "invalid": f"{invalid:.1%}" if is_share_known else None,
    }
    return format_signature({name: value for name, value in parts.items() if value is not None}, f"v{__version__}")


def in_signature(name: str, value: object) -> str:
    """Write an option for the signature: a file without its folder, a table in memory as its type."""
    items = value if isinstance(value, tuple) else (value,)
    if name in ("data_files", "templates"):
        items = tuple(Path(file).name if isinstance(file, str | PathLike) else type(file).__name__ for file in items)
    return ",".join(map(str, items))


def digest_of(templates: Iterable[Template]) -> str:
    """Digest of a set of templates: SCORE's may change with the harness, and a user's file at any time."""
    texts = sorted({f"{template.prompt}\0{template.options_format}" for template in templates})
    return blake2b("\0\0".join(texts).encode(), digest_size=4).hexdigest()
