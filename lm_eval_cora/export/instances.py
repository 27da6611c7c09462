"""Make the instance-level rows of Every Eval Ever, one per variant, from samples files read as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from tqdm import tqdm

from lm_eval_cora.answers.formats import FORMATS, format_of
from lm_eval_cora.answers.records import Record
from lm_eval_cora.export.provenance import as_texts, evaluation_name
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.parts import BYTES_WORTH_A_BAR
from lm_eval_cora.runs.samples import parsed_line


def rows(run: Run, result_id: str | None) -> Iterator[dict[str, Any]]:
    """Make one row per variant that was asked, in the order of the files."""
    name = evaluation_name(run)
    complete = set(run.table.question_ids)
    for record, line in _lines(run):
        if record.skipped:
            continue
        doc = line["doc"]
        counts = record.question_id in complete
        raw, reference = _question(doc), format_of(doc).reference(doc)
        said = format_of(doc).said(record, letters=True)
        row = {
            "evaluation_name": name,
            "evaluation_result_id": result_id if counts else None,
            "sample_id": f"{name}/{record.question_id}/{record.ordinal}",
            "sample_hash": _hash(raw, reference),
            "interaction_type": "single_turn",
            "input": {
                "raw": raw,
                "formatted": _prompt(line),
                "reference": reference,
                "choices": list(map(str, doc["choices"])) or None,
            },
            "output": {"raw": _output(run, line)},
            "answer_attribution": [] if said is None else [_attribution(said, run, record)],
            "evaluation": {"score": float(record.correct), "is_correct": record.correct},
            "metadata": _metadata(run, record, line, counts),
        }
        yield {key: value for key, value in row.items() if value is not None}


def _lines(run: Run) -> Iterator[tuple[Record, Mapping[str, Any]]]:
    """Yield the variants with their lines. Each file is read once, from the beginning to the end."""
    seen: set[tuple[str, int]] = set()
    number = 0
    for path, count in run.samples.paths:
        hidden = True if path.stat().st_size < BYTES_WORTH_A_BAR else None
        with path.open("rb") as file:
            for place in tqdm(range(number, number + count), desc=path.name, unit=" lines", disable=hidden):
                if (key := run.records.key(place)) in seen:  # the first answer to a variant counts
                    continue
                seen.add(key)
                file.seek(run.samples.offsets[place])
                yield run.records[place], parsed_line(file.readline())
        number += count


def _question(doc: Mapping[str, Any]) -> str:
    """The question and its options, without the rest of the prompt, which depends on the template and the model."""
    options = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, doc["choices"], strict=False)]
    return "\n".join([str(doc["question"]), *options])


def _attribution(said: str, run: Run, record: Record) -> dict[str, Any]:
    how = "most likely" if run.form == "loglikelihood" else record.ask
    return {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": said,
        "extraction_method": f"lm_eval_cora: {how}",
        "is_terminal": True,
    }


def _arguments(line: Mapping[str, Any]) -> list[Sequence[Any]]:
    """The arguments of each request: the prompt, and the generation settings or the scored answer."""
    return [
        (request["arg_0"], request.get("arg_1")) if isinstance(request, dict) else request
        for request in line["arguments"].values()
    ]


def _prompt(line: Mapping[str, Any]) -> str:
    """The prompt as it was sent."""
    return _text(_arguments(line)[0][0])


def _output(run: Run, line: Mapping[str, Any]) -> list[str]:
    """The responses; for scored answers, each answer with its log-likelihood."""
    if run.form == "loglikelihood":
        answers = [_text(arguments[1]).strip() for arguments in _arguments(line)]
        scored = [response[0] if isinstance(response, list) and response else response for response in _resps(line)]
        return [f"{answer}: {likelihood}" for answer, likelihood in zip(answers, scored, strict=False)]
    return [_text(response) for response in _resps(line)]


def _resps(line: Mapping[str, Any]) -> list[Any]:
    """The response to each request. `resps` has a list of repetitions per request."""
    whole = line.get("resps") or line["filtered_resps"]
    return [response for several in whole for response in (several if isinstance(several, list) else [several])]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _hash(raw: str, reference: Sequence[str]) -> str:
    """The hash of a question, defined in the schema's documentation, which is equal in the rows of all models."""
    canonical = json.dumps({"raw": raw, "reference": list(reference)}, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()


def _metadata(run: Run, record: Record, line: Mapping[str, Any], counts: bool) -> dict[str, str]:
    return as_texts(
        {
            "task": run.name,
            "filter": run.filter,
            "question_id": record.question_id,
            "ordinal": record.ordinal,
            "kind": record.kind,
            "variants": record.variants,
            "category": record.category,
            "ask": record.ask,
            "original": record.original,
            "template": line["doc"].get("template"),
            "printed_identities": list(record.printed),
            "answer_identity": None if FORMATS[record.ask].is_open else record.answer,
            "picked_identity": record.picked,
            "selected_identities": None if record.selected is None else list(record.selected),
            "invalid": None if record.reason is None else str(record.reason),
            "followed": record.followed,
            "tied": True if record.tied else None,
            "question_is_complete": counts,
            **{name: line.get(name) for name in ("doc_hash", "prompt_hash", "target_hash")},
        }
    )
