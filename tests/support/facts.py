"""What schema 0.3.0 of Every Eval Ever asks of a record and of a row, in our words, and what looks for it.

The facts are those of the files `eval.schema.json` and `instance_level_eval.schema.json` in the package
`every-eval-ever` 0.3.0, and of its command `validate`. Ours are stricter in one respect: a key that the schema does not
name is an error everywhere, where the schema forbids it at the top level and in `generation_args` alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

Check = Callable[[Any, str], Iterator[str]]
"""Takes a value and its place; yields what is wrong with it."""


def a(*types: type, least: float = -inf) -> Check:
    """A value of one of these types. True does not count as a number."""

    def check(value: Any, where: str) -> Iterator[str]:
        if type(value) not in types:
            yield f"{where}: {value!r:.40} is a {type(value).__name__}"
        elif type(value) in (int, float) and not (isfinite(value) and value >= least):
            yield f"{where}: {value!r}"

    return check


def one_of(*values: Any) -> Check:
    def check(value: Any, where: str) -> Iterator[str]:
        if value not in values:
            yield f"{where}: {value!r:.40} is none of {values}"

    return check


def many(item: Check, least: int = 0) -> Check:
    def check(value: Any, where: str) -> Iterator[str]:
        if type(value) is not list or len(value) < least:
            yield f"{where}: {value!r:.40} is no list of {least} or more"
            return
        for number, part in enumerate(value):
            yield from item(part, f"{where}[{number}]")

    return check


def table(item: Check, **required: Check) -> Check:
    """An object with any keys, whose values all pass the same check."""

    def check(value: Any, where: str) -> Iterator[str]:
        if type(value) is not dict:
            yield f"{where}: {value!r:.40} is no object"
            return
        yield from (f"{where}: {key} is missing" for key in required.keys() - value.keys())
        for key, part in value.items():
            yield from required.get(key, item)(part, f"{where}.{key}")

    return check


def nullable(item: Check) -> Check:
    return lambda value, where: iter(()) if value is None else item(value, where)


@dataclass(frozen=True)
class Thing:
    """An object with these keys and no others."""

    required: Mapping[str, Check]
    optional: Mapping[str, Check] = field(default_factory=dict)
    besides: Check = lambda value, where: iter(())

    def __call__(self, value: Any, where: str) -> Iterator[str]:
        if type(value) is not dict:
            yield f"{where}: {value!r:.40} is no object"
            return
        known = {**self.required, **self.optional}
        yield from (f"{where}: {key} is missing" for key in self.required.keys() - value.keys())
        yield from (f"{where}: {key} is unknown" for key in value.keys() - known.keys())
        for key in value.keys() & known.keys():
            yield from known[key](value[key], f"{where}.{key}")
        yield from self.besides(value, where)


TEXT, FLAG, NUMBER, COUNT = a(str), a(bool), a(int, float), a(int)
DETAILS = table(TEXT)


def _bound(value: Any, where: str) -> Iterator[str]:
    if value not in ("Infinity", "-Infinity"):
        yield from NUMBER(value, where)


def _conditions(metric: Any, where: str) -> Iterator[str]:
    """Checks that depend on the type of the score."""
    needed = {"levels": ("level_names", "has_unknown_level"), "continuous": ("min_score", "max_score")}
    for key in needed.get(metric.get("score_type"), ()):
        if metric.get(key) is None:
            yield f"{where}: {key} is missing"


def _within(result: Any, where: str) -> Iterator[str]:
    metric, score = result["metric_config"], result["score_details"]["score"]
    if not float(metric["min_score"]) <= score <= float(metric["max_score"]):
        yield f"{where}: {score} is out of bounds"


def _source(value: Any, where: str) -> Iterator[str]:
    kinds = {
        "hf_dataset": {
            **dict.fromkeys(("hf_repo", "hf_split"), TEXT),
            "samples_number": COUNT,
            "sample_ids": many(TEXT),
            "additional_details": DETAILS,
        },
        **{key: {"additional_details": DETAILS} for key in ("url", "other")},
    }
    kind = value.get("source_type")
    needed = {"dataset_name": TEXT, "source_type": one_of(*kinds)}
    if kind == "url":
        needed["url"] = many(TEXT, least=1)
    yield from Thing(needed, kinds.get(kind, {}))(value, where)


METRIC = Thing(
    {"lower_is_better": FLAG},
    {
        **dict.fromkeys(("evaluation_description", "metric_id", "metric_name", "metric_kind", "metric_unit"), TEXT),
        "metric_parameters": table(a(str, int, float, bool, type(None))),
        "score_type": one_of("binary", "continuous", "levels"),
        "level_names": many(TEXT),
        "level_metadata": many(TEXT),
        "has_unknown_level": FLAG,
        "min_score": _bound,
        "max_score": _bound,
        "additional_details": DETAILS,
    },
    _conditions,
)

UNCERTAINTY = Thing(
    {},
    {
        "standard_error": Thing({"value": NUMBER}, {"method": TEXT}),
        "standard_deviation": NUMBER,
        "num_samples": COUNT,
        "num_bootstrap_samples": COUNT,
        "confidence_interval": Thing({"lower": NUMBER, "upper": NUMBER}, {"confidence_level": NUMBER, "method": TEXT}),
    },
)

GENERATION = Thing(
    {},
    {
        "generation_args": Thing(
            {},
            {
                **dict.fromkeys(("temperature", "top_p", "top_k"), nullable(NUMBER)),
                "max_tokens": a(int, least=1),
                "reasoning": FLAG,
                "prompt_template": TEXT,
                "execution_command": TEXT,
            },
        ),
        "additional_details": DETAILS,
    },
)

MODEL = Thing(
    {
        "name": TEXT,
        "id": TEXT,
        "additional_details": table(
            TEXT,
            deployment_type=one_of("self_deployed", "externally_managed", "unknown"),
            model_availability=one_of("open_weights", "closed_weights", "unknown"),
        ),
    },
    {"developer": TEXT, "inference_platform": TEXT, "inference_engine": Thing({}, {"name": TEXT, "version": TEXT})},
)

RECORD = Thing(
    {
        "schema_version": one_of("0.3.0"),
        "evaluation_id": TEXT,
        "retrieved_timestamp": TEXT,
        "source_metadata": Thing(
            {
                "source_type": one_of("documentation", "evaluation_run"),
                "source_organization_name": TEXT,
                "evaluator_relationship": one_of("first_party", "third_party", "collaborative", "other"),
            },
            {
                **dict.fromkeys(("source_name", "source_organization_url", "source_organization_logo_url"), TEXT),
                "additional_details": DETAILS,
            },
        ),
        "eval_library": Thing({"name": TEXT, "version": TEXT}, {"additional_details": DETAILS}),
        "model_info": MODEL,
        "evaluation_results": many(
            Thing(
                {
                    "evaluation_name": TEXT,
                    "source_data": _source,
                    "metric_config": METRIC,
                    "score_details": Thing({"score": NUMBER}, {"details": DETAILS, "uncertainty": UNCERTAINTY}),
                },
                {"evaluation_result_id": TEXT, "evaluation_timestamp": TEXT, "generation_config": GENERATION},
                _within,
            )
        ),
    },
    {
        "evaluation_timestamp": TEXT,
        "detailed_evaluation_results": Thing(
            {"format": one_of("jsonl"), "file_path": TEXT},
            {
                "hash_algorithm": one_of("sha256", "md5"),
                "checksum": TEXT,
                "total_rows": COUNT,
                "additional_details": DETAILS,
            },
        ),
    },
)


def _one_turn(row: Any, where: str) -> Iterator[str]:
    if row.get("interaction_type") == "single_turn" and (row.get("output") is None or row.get("messages") is not None):
        yield f"{where}: one turn has an output and no messages"


ROW = Thing(
    {
        "schema_version": one_of("0.3.0"),
        **dict.fromkeys(("evaluation_id", "model_id", "evaluation_name", "sample_id"), TEXT),
        "interaction_type": one_of("single_turn", "multi_turn", "agentic"),
        "input": Thing(
            {"raw": TEXT, "reference": many(TEXT)}, {"formatted": nullable(TEXT), "choices": nullable(many(TEXT))}
        ),
        "answer_attribution": many(
            Thing(
                {
                    "turn_idx": a(int, least=0),
                    **dict.fromkeys(("source", "extracted_value", "extraction_method"), TEXT),
                    "is_terminal": FLAG,
                }
            )
        ),
        "evaluation": Thing({"score": NUMBER, "is_correct": FLAG}),
    },
    {
        "evaluation_result_id": TEXT,
        "sample_hash": nullable(TEXT),
        "output": nullable(Thing({"raw": many(TEXT)}, {"reasoning_trace": nullable(many(TEXT))})),
        "error": nullable(TEXT),
        "metadata": nullable(DETAILS),
    },
    _one_turn,
)

ROWS_PATH = re.compile(
    r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}_samples\.jsonl"
)
"""Required path of the rows: the name of the record, a UUID of version 4, in the same folder."""
