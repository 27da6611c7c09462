"""Parse signatures and make the signature of merged runs."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_cora.answers import Reader
from lm_eval_cora.responses import ResponseTable

HOW_MUCH = ("questions", "limit", "samples", "categories", "n", "asked", "invalid")
"""Signature parts that describe how much was asked, not how."""

WHERE_IT_ENDS = ("stop", "budget", "target-stderr", "target")
"""Signature parts that describe why a run ended early."""


def signature_parts(signature: str) -> dict[str, str]:
    """Split a signature into its named parts; the version at the end has no name."""
    found = (part.partition(":") for part in signature.split("|"))
    return {name: value for name, separator, value in found if separator}


def is_two_phase(signature: str) -> bool:
    """Whether a run sampled in two phases (--target), so that its scores are estimates for all questions."""
    return "target" in signature_parts(signature)


def merged_signature(signatures: Sequence[str], table: ResponseTable, reader: Reader, before: str) -> str:
    """Make the signature of one run or of merged runs, possibly read with another reader.

    The parts that describe how much was asked are computed again.
    """
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
            "asked": f"{(~table.skipped).mean():.1%}",
            "invalid": f"{table.invalid.mean():.1%}",
        }
        together |= {name: value for name, value in counted.items() if name in parts[0]}
    first, *_, last = signatures[0].split("|")
    return "|".join([first, *(f"{name}:{value}" for name, value in together.items()), last])
