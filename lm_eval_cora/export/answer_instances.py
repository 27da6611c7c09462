"""Make the instance-level rows of Every Eval Ever from a file of answers that were collected without the harness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lm_eval_cora.export.provenance import as_texts, evaluation_name
from lm_eval_cora.runs.answers_file import AnswersRun


def answer_rows(run: AnswersRun, result_id: str | None) -> Iterator[dict[str, Any]]:
    """Make one row per variant that was asked. The file has no texts of questions, so ids replace them."""
    name = evaluation_name(run)
    method = ", ".join(run.readers) or "unknown"
    for record in run.records:
        if record.skipped:
            continue
        texts = run.records.texts(record)
        row = {
            "evaluation_name": name,
            "evaluation_result_id": result_id,
            "sample_id": f"{name}/{record.question_id}/{texts.variant}",
            "interaction_type": "single_turn",
            "input": {
                "raw": record.question_id,
                "reference": [] if texts.answer is None else [texts.answer],
                "choices": list(texts.printed or ()) or None,
            },
            "output": {"raw": [] if texts.picked is None else [texts.picked]},
            "answer_attribution": [] if texts.picked is None else [_attribution(texts.picked, method)],
            "evaluation": {"score": float(record.correct), "is_correct": record.correct},
            "metadata": as_texts(
                {
                    "task": run.name,
                    "raw_input": "the id of the question",
                    "question_id": record.question_id,
                    "variant": texts.variant,
                    "variants": record.variants,
                    "kind": record.kind if "kind" in run.known else None,
                    "category": record.category,
                    "original": record.original if "original" in run.known else None,
                }
            ),
        }
        yield {key: value for key, value in row.items() if value is not None}


def _attribution(picked: str, method: str) -> dict[str, Any]:
    return {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": picked,
        "extraction_method": method,
        "is_terminal": True,
    }
