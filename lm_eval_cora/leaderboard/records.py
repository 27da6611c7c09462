"""Read the records of Every Eval Ever that `lm-eval-cora export` writes, as entries of a leaderboard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from math import nan
from pathlib import Path
from typing import Any

from lm_eval_cora.data import Data
from lm_eval_cora.leaderboard.entries import BESIDE, RUN_DATE, Entry, settings_of
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.probes import PROBES, Probe
from lm_eval_cora.report.files import files_in, part_of, read_json
from lm_eval_cora.report.signature import is_two_phase, signature_parts

_NAME = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\.json")
"""Name of a record as the schema asks for it."""


def find_records(path: Path) -> tuple[list[Entry], list[str]]:
    """Find the records of lm-eval-cora in a folder, or read one."""
    if path.is_dir():
        files = files_in(path, lambda name: name.endswith(".json") and not name.startswith("results_"))
    else:
        files = [path] if path.suffix == ".json" else []
    entries: list[Entry] = []
    notes = []
    for file in files:
        record = read_json(file)
        if not record and _NAME.fullmatch(file.name):
            notes.append(f"left out {file}: it is not a JSON object")
        elif part_of(record, "source_metadata").get("source_name") == "lm-eval-cora":
            try:
                entries += _entries(record, file)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
                notes.append(f"left out {file}: it is not a record as lm-eval-cora writes it ({error!r:.80})")
    return entries, notes


def _entries(record: Mapping[str, Any], file: Path) -> Iterator[Entry]:
    """Yield an entry for each evaluation in a record."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for result in record["evaluation_results"]:
        by_name.setdefault(str(result["evaluation_name"]), []).append(result)
    for evaluation, results in by_name.items():
        details = results[0]["score_details"]["details"]
        signature, probe = str(details.get("signature", "")), str(details.get("probe", ""))
        parts = signature_parts(signature)
        data = Data(parts.get("benchmark", ""), str(details.get("data", "")))
        leads = PROBES[probe].leads if probe in PROBES else Probe.leads
        found = {result["metric_config"]["metric_name"]: result["score_details"] for result in results}
        name, *others = evaluation.split("/")
        date = datetime.fromtimestamp(float(results[0]["evaluation_timestamp"]), timezone.utc)
        settings = settings_of(signature, data, details.get("reader"), is_two_phase=is_two_phase(signature))
        yield Entry(
            model=str(record["model_info"]["id"]),
            name=name,
            part="/".join(other for other in others if not data.name or not other.startswith(data.name)),
            data=data,
            settings=settings,
            # The digest of a file of answers includes the variants.
            asked="" if signature else data.digest,
            size=parts.get("n", str(details["questions"])),
            questions=int(details["questions"]),
            leads=leads,
            scores={metric: _estimate(found[metric]) for metric in (*leads, *BESIDE) if metric in found},
            signature=signature,
            is_paired=False,
            date=date.strftime(RUN_DATE),
            source=file,
        )


def _estimate(score: Mapping[str, Any]) -> Estimate:
    uncertainty = part_of(score, "uncertainty")
    ends = part_of(uncertainty, "confidence_interval")
    low, high = (_number(ends[end]) if end in ends else nan for end in ("lower", "upper"))
    error = part_of(uncertainty, "standard_error")
    stderr = _number(error["value"], least=0.0) if error else nan
    return Estimate(_number(score["score"]), stderr, ends=(low, high))


def _number(value: Any, least: float = -2.0) -> float:
    """A number from a record."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 2:
        raise ValueError(f"{value!r:.40} is not a score or its error")
    return float(value)
