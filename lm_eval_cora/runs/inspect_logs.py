"""Logs of Inspect (`.eval` and `.json`) as rows of answers."""

from collections import Counter
from functools import partial
from math import isclose
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.inputs import reading
from lm_eval_cora.questions.messages import described
from lm_eval_cora.questions.question import UnusableQuestion, shorten
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.foreign import Logged
from lm_eval_cora.runs.log_rows import begins_with, logged, options_in, options_of

_UNUSED = {"events", "store", "attachments"}  # parts of a sample, often most of a log
_SHUFFLED = "Choices were shuffled before"  # begins the scorer's explanation if the solver has shuffled

is_inspect = partial(
    begins_with, rb'(?s)PK\x03\x04.{26}(_journal/|header\.json|samples/)|\s*\{.*?"status"\s*:.*?"eval"\s*:\s*\{'
)


def read_inspect(path: Path) -> list[Logged]:
    """Read the answers of a log of Inspect.

    `own` is the value of the first scorer as a number, as Inspect converts it. Inspect's accuracy is the mean over the
    questions of the mean over the epochs that have a value. Samples that ended in an error have none.
    """
    try:
        from inspect_ai.log import read_eval_log
        from inspect_ai.scorer import value_to_float

        log = read_eval_log(str(reading(path)), exclude_fields=_UNUSED)
    except ImportError:
        raise UserError(f"{path}: logs of Inspect need a package: pip install 'lm-eval-cora[inspect]'") from None
    except Exception as error:  # of a damaged file or of another version, any
        raise UserError(
            f"{path}: expected a complete log of Inspect, got {shorten(described(error), 300)}. "
            "If others can read it, upgrade: pip install -U inspect_ai"
        ) from error
    # Other reducers than the mean make one value of the epochs of a question.
    summaries = log.results.scores if log.results else []
    summary = min(summaries, key=lambda one: one.reducer not in (None, "mean"), default=None)
    name = summary.name if summary else ""
    rows, orders, left_out = [], {}, Counter[str]()
    for sample in log.samples or []:
        try:
            row = _row(sample)
        except UnusableQuestion as error:
            left_out[error.reason] += 1
            continue
        order = orders.setdefault(row["question"], row["printed"])
        row["kind"] = "original" if order == row["printed"] else "shuffled"
        for scorer, score in [*(sample.scores or {}).items()][:1]:
            name = name or scorer
            value = score.value.get(name) if isinstance(score.value, dict) else score.value
            own = None if value is None else value_to_float()(value)
            row["own"] = own if own == own else None  # Inspect leaves NaN out
        rows.append(row)
    notes = [] if log.status == "success" else [f"the status of the log is {log.status}, so samples may be missing"]
    metrics = summary.metrics if summary else {}
    if metric := metrics.get("accuracy") or metrics.get("mean"):
        scored = grouped_by([row for row in rows if row["own"] is not None], itemgetter("question"))
        mean = fmean([fmean(map(itemgetter("own"), each)) for each in scored.values()] or [0])
        if not isclose(mean, metric.value, rel_tol=1e-9):
            notes.append(f"the log says {metric.name} {metric.value:.4f} of {name}, its answers here have {mean:.4f}")
    return logged(path, Logged(log.eval.model, log.eval.task, rows, notes, own=name), left_out)


def _row(sample: Any) -> dict[str, Any]:
    """The columns of a sample, without its own score."""
    target = sample.target if isinstance(sample.target, str) else "".join(sample.target)
    output, choices = sample.output, sample.choices
    response = output.completion
    prompt = "\n".join(one.text for one in sample.messages if one.role == "user") or str(sample.input)
    for score in (sample.scores or {}).values():
        if (score.explanation or "").startswith(_SHUFFLED):
            # The solver has replaced prompt and answer in the log by those of the order before.
            prompt, _, answer = score.explanation.rpartition("\nShuffled answer:\n")
            response = answer if score.answer else response
    if choices:
        options = options_of(choices, target)
        places = {choice: f"{prompt}\n".rfind(f") {choice}\n") for choice in choices}
        if min(places.values()) >= 0:
            printed = tuple(sorted(choices, key=places.__getitem__))
            options = {"printed": printed, "answer": printed.index(choices[options["answer"]])}
    else:
        options = options_in(prompt, target)
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
        "own": None,
    }
