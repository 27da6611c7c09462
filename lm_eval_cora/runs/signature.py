"""Parse signatures and make the signature of merged runs."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

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
HOW_MUCH = ("left_out", "questions", "limit", "samples", "categories", "n", "passages", "repeats", "asked", "invalid")
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
    together: dict[str, str] = {name: value for name, value in parts[0].items() if name not in HOW_MUCH}
    if read_again:
        together["reader"] = reader
    if all("categories" in part for part in parts):
        names = {category for part in parts for category in part["categories"].split(",")}
        together["categories"] = ",".join(sorted(names))
    if len(table.sizes):
        sizes = "-".join(map(str, dict.fromkeys((int(table.sizes.min()), int(table.sizes.max())))))
        counted = {
            "n": f"{len(table.sizes)}x{sizes}",
            "passages": str(table.units),
            "asked": f"{(~table.skipped).mean():.1%}",
            "invalid": f"{table.invalid.mean():.1%}",
        }
        together |= {name: value for name, value in counted.items() if name in parts[0]}
    return format_signature(together, signatures[0].rpartition("|")[2])
