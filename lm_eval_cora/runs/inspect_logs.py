"""Logs of Inspect (`.eval` and `.json`) as rows of answers."""

from collections.abc import Callable
from functools import partial
from math import isclose
from pathlib import Path
from statistics import fmean
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import LETTERS, shorten
from lm_eval_cora.runs.program_rows import Columns, Logged, begins_with, logged, options_in, options_of, readable

is_inspect = partial(
    begins_with,
    rb"(?s)PK\x03\x04.{26}(_journal/|header\.json|samples/)|"
    rb'\s*\{\s*("version"\s*:\s*\d+\s*,\s*)?"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{',
)


def read_inspect(path: Path) -> list[Logged]:
    """Read the answers of a log of Inspect.

    `own` is the value of the first scorer as a number, as Inspect converts it. Samples that ended in an error have
    none, and a log that was not finished does not name the scorer.
    """
    with readable(path, "the package inspect_ai (pip install -U 'lm-eval-cora[inspect]') and a whole log of Inspect"):
        from inspect_ai.log import read_eval_log
        from inspect_ai.scorer import value_to_float

        # The other parts of a sample are often most of a log.
        log = read_eval_log(str(path), exclude_fields={"events", "store", "attachments"})
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
        "cut_off": stop in ("max_tokens", "model_length"),
        "came": next(filter(None, reasons), ""),
        "own": number if number == number else None,  # Inspect leaves NaN out
    }
