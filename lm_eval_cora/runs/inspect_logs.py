"""Logs of Inspect (`.eval` and `.json`): those of our own task as samples of the harness, others as rows of answers."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from math import isclose
from pathlib import Path
from statistics import fmean
from typing import Any

from lm_eval_cora.answers.records import BLOCKED, SKIPPED, Response
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import LETTERS, shorten
from lm_eval_cora.runs.files import SamplesFile, date_in
from lm_eval_cora.runs.program_rows import Columns, Logged, begins_with, logged, options_in, options_of, readable

is_inspect = partial(
    begins_with,
    rb"(?s)PK\x03\x04.{26}(_journal/|header\.json|samples/)|"
    rb'\s*\{\s*("version"\s*:\s*\d+\s*,\s*)?"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{',
)
_CUT_OFF = ("max_tokens", "model_length")


def read_inspect(path: Path) -> list[Logged]:
    """Read the answers of a log of Inspect.

    `own` is the value of the first scorer as a number, as Inspect converts it. Samples that ended in an error have
    none, and a log that was not finished does not name the scorer.
    """
    log = _read(path)
    from inspect_ai.scorer import value_to_float

    if not log.samples:
        raise UserError(
            f"{path}: the log has no samples, only the header. Pass the log as Inspect writes it without "
            "--no-log-samples and --header-only, or convert it: inspect log convert LOG --to json --output-dir DIR"
        )
    # Other reducers than the mean make one value of the epochs of a question.
    summaries = log.results.scores if log.results else []
    summary = min(summaries, key=lambda one: one.reducer not in (None, "mean"), default=None)
    found = Logged(log.eval.model, log.eval.task, [], [], own=summary.name if summary else "")
    if log.status != "success":
        found.notes.append(f"the status of the log is {log.status}, so samples may be missing")
    result = logged(path, found, log.samples, partial(_row, own=found.own, to_float=value_to_float()))
    values = [row["own"] for row in found.rows if row["own"] is not None]
    metrics = summary.metrics if summary else {}
    metric = metrics.get("accuracy") or metrics.get("mean")
    if metric and values and not isclose(mean := fmean(values), metric.value, rel_tol=1e-9):
        found.notes.append(f"{found.own} of the log is {metric.value:.4f}, that of the answers here is {mean:.4f}")
    return result


def _row(sample: Any, own: str, to_float: Callable[[Any], float]) -> Columns:
    """The columns of a sample."""
    target, output, choices = "".join(sample.target), sample.output, sample.choices
    response = output.completion
    prompt = "\n".join(one.text for one in sample.messages if one.role == "user") or str(sample.input)
    scores = [*(sample.scores or {}).values()]
    for score in scores:
        if (score.explanation or "").startswith("Choices were shuffled before"):
            # The solver has replaced prompt and answer in the log by those of the order before.
            prompt, _, answer = score.explanation.rpartition("\nShuffled answer:\n")
            response = answer if score.answer else response
    place = LETTERS.find(target) if len(target) == 1 else -1
    options = options_of(choices, place) if choices else options_in(prompt, target)
    places = [f"{prompt}\n".rfind(f") {choice}\n") for choice in options["printed"]]
    if choices and min(places) >= 0:
        order = sorted(range(len(places)), key=places.__getitem__)
        options = {"printed": tuple(choices[place] for place in order), "answer": order.index(options["answer"])}
    value = scores[0].value if scores else None
    value = value.get(own) if isinstance(value, dict) else value
    number = None if value is None else to_float(value)
    stop = output.choices[0].stop_reason if output.choices else ""
    reasons = (
        sample.error and f"an error ({shorten(sample.error.message, 80)})",
        sample.limit and f"a limit ({sample.limit.type})",
        stop == "content_filter" and "a refusal",
    )
    return {
        **options,
        "question": str(sample.id),
        "response": response,
        "cut_off": stop in _CUT_OFF,
        "came": next(filter(None, reasons), ""),
        "own": number if number == number else None,  # Inspect leaves NaN out
    }


# ---- logs of our own task
OURS = "lm_eval_cora"  # the key of what we know in the metadata of a task and of a sample
Doc = Mapping[str, Any]


def response_in(output: Any) -> Response:
    """The response in an output, from which Inspect has split the reasoning."""
    stop = output.choices[0].stop_reason
    return Response(output.completion, cut_off=stop in _CUT_OFF, came=BLOCKED if stop == "content_filter" else "")


def in_epoch(doc: Doc, epoch: int, epochs: int) -> Doc:
    """A doc in one of several epochs: each is one more question, in the cluster of its question."""
    question = doc["question_id"]
    own = {"question_id": f"{question} (epoch {epoch})", "cluster": doc.get("cluster") or question}
    return {**doc, **own} if epochs > 1 else doc


def decided(answered: Iterable[tuple[Doc, bool]]) -> set[str]:
    """The questions whose original is answered, and of which a variant is wrong: more answers change no metric."""
    pairs = list(answered)
    wrong = {doc["question_id"] for doc, right in pairs if not right}
    return wrong & {doc["question_id"] for doc, _ in pairs if doc["original"]}


def our_samples(path: Path, folder: Path) -> SamplesFile | None:
    """Write a log of our task to a folder, as a samples file of the harness; None for another file."""
    head = None
    with suppress(UserError):  # `read_inspect` raises it again
        head = is_inspect(path) and _read(path, header_only=True)
    if not head or OURS not in (head.eval.metadata or {}):
        return None
    with readable(path, "a log of the task lm_eval_cora/cora"):
        return _as_samples(path, head, folder / f"{len(list(folder.iterdir()))}.jsonl")


def _as_samples(path: Path, head: Any, written: Path) -> SamplesFile:
    config, values = head.eval.metadata[OURS], dict[str, float]()
    for score in head.results.scores if head.results else ():
        if "reader" in score.params:  # not of another scorer; the last one may have read the answers again
            values = {f"{name},none": one.value for name, one in score.metrics.items()}
            reader, metadata = f"reader:{score.params['reader']}", config["metadata"]
            parts = metadata["signature"].split("|")
            metadata["signature"] = "|".join(reader if part.startswith("reader:") else part for part in parts)
    config["generation_kwargs"] = head.plan.config.model_dump(exclude_none=True)
    with written.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in _lines(_read(path), config))
    results = {
        "library": "inspect_ai",
        "inspect_ai_version": head.eval.packages.get("inspect_ai"),
        "config": {"model": "inspect_ai", "model_args": head.eval.model_args},
        "chat_template_sha": "that of Inspect's provider",
        "configs": {config["task"]: config},
        "results": {config["task"]: values},
    }
    return SamplesFile(written, config["task"], date_in(path), head.eval.model, results, log=path)


def _read(path: Path, **how: Any) -> Any:
    """Read a log without the parts of a sample that are often most of it."""
    with readable(path, "the package inspect_ai (pip install -U 'lm-eval-cora[inspect]') and a whole log of Inspect"):
        from inspect_ai.log import read_eval_log

        return read_eval_log(str(path), exclude_fields={"events", "store", "attachments"}, **how)


def _lines(log: Any, config: Doc) -> Iterator[dict[str, Any]]:
    """The lines of a samples file. A sample without an answer has none, unless its question is decided."""
    epochs, stopped = log.eval.config.epochs or 1, log.results and log.results.early_stopping
    docs = [in_epoch(one.metadata, one.epoch, epochs) for one in (stopped.early_stops if stopped else ())]
    scored, missing, arguments = list[tuple[Doc, bool]](), docs, config["generation_kwargs"]
    for sample in log.samples or ():
        doc = in_epoch(sample.metadata[OURS]["doc"], sample.epoch, epochs)
        if not sample.output.choices:
            missing.append(doc)
            continue
        scored += [(doc, score.value == "C") for score in (sample.scores or {}).values()]
        response = response_in(sample.output)
        line = {"filtered_resps": [response], "cut_off": response.cut_off, "came": response.came}
        yield {**_of_doc(doc), "arguments": [[sample.input, arguments]], "metrics": config["metrics"], **line}
    settled = decided(scored) if stopped else ()
    for doc in missing:
        if doc["question_id"] in settled:
            yield {**_of_doc(doc), "arguments": [["", arguments]], "resps": [[SKIPPED]], "filtered_resps": [SKIPPED]}


def _of_doc(doc: Doc) -> dict[str, Any]:
    text = json.dumps(doc, indent=2, ensure_ascii=False)  # as in the harness
    return {"doc": doc, "doc_hash": sha256(text.encode()).hexdigest()}
