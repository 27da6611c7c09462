"""Parse signatures and make the signature of merged runs."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from lm_eval_cora.answers import Reader
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.benchmark import OF_THE_DATA, Data


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
    return {name: value for name, value in signature_parts(signature).items() if name not in may_differ}


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
