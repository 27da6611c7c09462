"""Records of scores, as `export --format every-eval-ever` writes them, read as runs without answers."""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timezone
from math import nan
from pathlib import Path
from typing import Any

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.runs.files import files_in, grouped_by, part_of, read_json
from lm_eval_cora.runs.model_run import NO_PROBE, Run, Scores
from lm_eval_cora.runs.signature import signature_parts
from lm_eval_cora.variants.probes import PROBES

RUN_DATE = "%Y-%m-%dT%H-%M-%S"  # format of the date in the harness' file names, without the fraction
_NAME = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\.json")  # name of a record as the schema asks for it


def find_records(path: Path, metrics: Collection[str] = ()) -> tuple[list[Run], list[str]]:
    """Find the records of lm-eval-cora in a folder, or read one; with these metrics and those that rank models."""
    runs: list[Run] = []
    notes = []
    files = [path] if path.suffix == ".json" else []
    if path.is_dir():
        files = files_in(path, lambda name: name.endswith(".json") and not name.startswith("results_"))
    for file in files:
        record = read_json(file)
        if not record and _NAME.fullmatch(file.name):
            notes.append(f"left out {file}: it is not a JSON object")
        elif part_of(record, "source_metadata").get("source_name") == "lm-eval-cora":
            try:
                runs += _runs(record, file, metrics)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
                notes.append(f"left out {file}: it is not a record as lm-eval-cora writes it ({error!r:.80})")
    return runs, notes


def _runs(record: Mapping[str, Any], file: Path, metrics: Collection[str]) -> Iterator[Run]:
    """Yield a run for each evaluation in a record."""
    by_name = grouped_by(record["evaluation_results"], lambda result: str(result["evaluation_name"]))
    for evaluation, results in by_name.items():
        details = results[0]["score_details"]["details"]
        signature, probe = str(details.get("signature", "")), PROBES.get(str(details.get("probe")), NO_PROBE)
        data = Data(signature_parts(signature).get("benchmark", ""), str(details.get("data", "")))
        configs = {result["metric_config"]["metric_name"]: result["metric_config"] for result in results}
        found = {result["metric_config"]["metric_name"]: result["score_details"] for result in results}
        task, *others = evaluation.split("/")
        date = datetime.fromtimestamp(float(results[0]["evaluation_timestamp"]), timezone.utc)
        yield Run(
            model=str(record["model_info"]["id"]),
            name=task,
            files=(file,),
            data=data,
            probe=probe,
            scores=Scores(
                {name: _estimate(found[name]) for name in (*probe.ranked_by, *metrics) if name in found},
                int(details["questions"]),
                # The digest of a file of answers includes the variants.
                asked="" if signature else data.digest,
                higher={name: not config.get("lower_is_better") for name, config in configs.items()},
            ),
            part="/".join(other for other in others if not data.name or not other.startswith(data.name)),
            signature=signature,
            reader=details.get("reader"),
            date=date.strftime(RUN_DATE),
        )


def _estimate(score: Mapping[str, Any]) -> Estimate:
    ends, error = (part_of(part_of(score, "uncertainty"), name) for name in ("confidence_interval", "standard_error"))
    low, high = (_number(ends[end]) if end in ends else nan for end in ("lower", "upper"))
    stderr = _number(error["value"], least=0.0) if error else nan
    return Estimate(_number(score["score"]), stderr, ends=(low, high))


def _number(value: Any, least: float = -2.0) -> float:
    """A number from a record."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 2:
        raise ValueError(f"{value!r:.40} is not a score or its error")
    return float(value)
