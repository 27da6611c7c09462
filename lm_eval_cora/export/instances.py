"""Make the instance-level rows of Every Eval Ever, one per variant that was asked."""

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
from lm_eval_cora.runs.collected import Collected
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.samples import BYTES_WORTH_A_BAR, arguments_in, parsed_line


def rows(run: Run, result_id: str | None) -> Iterator[dict[str, Any]]:
    """Make the rows in the order of the files, linked to the result that the rows of complete questions make up."""
    found = run.collected
    yield from _of_answers(run, found, result_id) if found else _of_samples(run, result_id)


_FIELDS = ("question_id", "ordinal", "kind", "variants", "category", "ask", "original")


def _row(
    run: Run,
    record: Record,
    result_id: str | None,
    *,
    variant: str | int,
    asked: Mapping[str, Any],
    output: list[str],
    picked: str | None,
    method: str,
    metadata: Mapping[str, Any],
    sample_hash: str | None = None,
) -> dict[str, Any]:
    name = evaluation_name(run)
    read = {"extracted_value": picked, "extraction_method": method}
    attribution = {"turn_idx": 0, "source": "output.raw", **read, "is_terminal": True}
    row = {
        "evaluation_name": name,
        "evaluation_result_id": result_id,
        "sample_id": f"{name}/{record.question_id}/{variant}",
        "sample_hash": sample_hash,
        "interaction_type": "single_turn",
        "input": asked,
        "output": {"raw": output},
        "answer_attribution": [] if picked is None else [attribution],
        "evaluation": {"score": float(record.correct), "is_correct": record.correct},
        "metadata": as_texts({"task": run.name, **metadata}),
    }
    return {key: value for key, value in row.items() if value is not None}


def _of_answers(run: Run, answers: Collected, result_id: str | None) -> Iterator[dict[str, Any]]:
    """The rows of a file of answers. It has no texts of questions, so ids replace them."""
    method = ", ".join(answers.readers) or "unknown"
    for record in (record for question in answers.places for record in answers.records(question)):
        if record.skipped:
            continue
        columns = ("variant", "picked", "answer", "printed")
        variant, picked, answer, printed = (answers.value(record, column) for column in columns)
        reference = [] if answer is None else [answer]
        choices = list(printed or ()) or None
        yield _row(
            run,
            record,
            result_id,
            variant=variant,
            asked={"raw": record.question_id, "reference": reference, "choices": choices},
            output=[] if picked is None else [picked],
            picked=picked,
            method=method,
            metadata={
                "raw_input": "the id of the question",
                "question_id": record.question_id,
                "variant": variant,
                "variants": record.variants,
                "kind": record.kind if "kind" in answers.known else None,
                "category": record.category,
                "original": record.original if "original" in answers.known else None,
            },
        )


def _of_samples(run: Run, result_id: str | None) -> Iterator[dict[str, Any]]:
    """The rows of samples files, which are read as a stream."""
    complete = set(run.table.question_ids)
    for record, line in _lines(run):
        if record.skipped:
            continue
        doc, counts = line["doc"], record.question_id in complete
        raw, reference, prompt = _question(doc), format_of(doc).reference(doc), _text(arguments_in(line)[0][0])
        choices = list(map(str, doc["choices"])) or None
        yield _row(
            run,
            record,
            result_id if counts else None,
            variant=record.ordinal,
            sample_hash=_hash(raw, reference),
            asked={"raw": raw, "formatted": prompt, "reference": reference, "choices": choices},
            output=_output(run, line),
            picked=format_of(doc).said(record, letters=True),
            method=f"lm_eval_cora: {'most likely' if run.form == 'loglikelihood' else record.ask}",
            metadata={
                "filter": run.filter,
                **{name: getattr(record, name) for name in _FIELDS},
                "template": doc.get("template"),
                "printed_identities": list(record.printed),
                "answer_identity": None if FORMATS[record.ask].is_open else record.answer,
                "picked_identity": record.picked,
                "selected_identities": None if record.selected is None else list(record.selected),
                "invalid": None if record.reason is None else str(record.reason),
                "followed": record.followed,
                "tied": True if record.tied else None,
                "question_is_complete": counts,
                **{name: line.get(name) for name in ("doc_hash", "prompt_hash", "target_hash")},
            },
        )


def _lines(run: Run) -> Iterator[tuple[Record, Mapping[str, Any]]]:
    """Yield the variants with their lines. Each file is read once, from the beginning to the end."""
    seen: set[tuple[str, int]] = set()
    number = 0
    for path, count in run.samples.paths:
        hidden = True if path.stat().st_size < BYTES_WORTH_A_BAR else None
        with path.open("rb") as file:
            for place in tqdm(range(number, number + count), desc=path.name, unit=" lines", disable=hidden):
                if (key := run.samples.records.key(place)) in seen:  # the first answer to a variant counts
                    continue
                seen.add(key)
                file.seek(run.samples.offsets[place])
                yield run.samples.records[place], parsed_line(file.readline())
        number += count


def _question(doc: Mapping[str, Any]) -> str:
    """The question and its options, without the rest of the prompt, which depends on the template and the model."""
    options = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, doc["choices"], strict=False)]
    return "\n".join([str(doc["question"]), *options])


def _hash(raw: str, reference: Sequence[str]) -> str:
    """The hash of a question, defined in the schema's documentation, which is equal in the rows of all models."""
    canonical = json.dumps({"raw": raw, "reference": list(reference)}, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()


def _output(run: Run, line: Mapping[str, Any]) -> list[str]:
    """The responses; for scored answers, each answer with its log-likelihood."""
    repeated = line.get("resps") or line["filtered_resps"]  # `resps` has a list of repetitions per request
    responses = [response for several in repeated for response in (several if isinstance(several, list) else [several])]
    if run.form != "loglikelihood":
        return [_text(response) for response in responses]
    answers = [_text(arguments[1]).strip() for arguments in arguments_in(line)]
    scored = [response[0] if isinstance(response, list) and response else response for response in responses]
    return [f"{answer}: {likelihood}" for answer, likelihood in zip(answers, scored, strict=False)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
