"""Answers to multiple-choice tasks of the harness that are not ours: their options are found as `cora_of` does."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf, isclose, isnan
from statistics import fmean
from typing import Any, NamedTuple

from lm_eval_cora.answers.plain import opens_reasoning
from lm_eval_cora.answers.records import OPENING_MARK
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.cells import parse_cell
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.runs.documents import evaluated, number_of, samples_in
from lm_eval_cora.runs.files import SamplesFile, part_of
from lm_eval_cora.runs.program_rows import Columns, Logged, logged, options_of
from lm_eval_cora.runs.rendered import Rendered, passage_in, rendered, settle
from lm_eval_cora.runs.samples import arguments_in, is_ours, number_in, prompt_in

_OWN = ("exact_match", "acc")  # the metrics of a document that say whether its answer is right
# What a chat template puts around the turns, and before a first word of the model.
_AROUND_TURNS = re.compile(r"<[|｜][^<>|｜]{1,40}[|｜]>|</?(?:s|start_of_turn|end_of_turn)>|\[/?INST\]")


class _Document(NamedTuple):
    """A document of a task, and what the model said: responses, or the likelihood of each option."""

    question: Rendered
    cluster: str = ""
    prompt: str = ""
    said: Sequence[Any] = (None,)
    is_scored: bool = False


def read_other_task(file: SamplesFile) -> list[Logged]:
    """Read the answers to a task; nothing if the file has none. Raise a UserError if the options cannot be found."""
    documents: dict[int, _Document] = {}
    own: dict[str, dict[int, float]] = defaultdict(dict)
    for _, sample in samples_in(file.path):
        key = number_of(sample)
        if key is None or is_ours(sample):
            continue
        named = sample.get("metrics")
        for name in (*_OWN, *(named if isinstance(named, list) else ())):
            value = sample.get(name) if isinstance(name, str) else None
            if isinstance(value, bool | int | float) and 0 <= value <= 1:
                own[f"{name},{sample.get('filter', 'none')}"].setdefault(key, float(value))
                break
        if key not in documents:
            documents[key] = _document(sample)
    if not documents:
        return []
    settle([one.question for one in documents.values()], file.task)
    lost = evaluated(file, len(documents)) - len(documents)
    notes = [f"{lost:,} documents of the run are missing, because the samples are cut off"] if lost > 0 else []
    means = {name: fmean(scores.values()) for name, scores in own.items()}
    best = max(means, key=means.__getitem__, default="")
    printed = part_of(part_of(file.results, "results"), file.task)
    for name, mean in means.items():
        if name != best:
            notes.append(f"{_spoken(name)} says {mean:.4g}")
        value = printed.get(name)
        if isinstance(value, int | float) and not isclose(value, mean, rel_tol=1e-9, abs_tol=1e-12):
            notes.append(f"the results file has {value:.6g} for {_spoken(name)}, the samples have {mean:.6g}")
    answers = [(key, one, said) for key, one in documents.items() for said in one.said]
    found = Logged(file.model, file.task, [], notes, own=_spoken(best))
    return logged(file.path, found, answers, lambda answer: {**_row(*answer), "own": own[best].get(answer[0])})


def _spoken(name: str) -> str:
    """The name of a metric and its filter in a sentence."""
    metric, _, chosen = name.partition(",")
    return metric if chosen == "none" else f"{metric} of the filter {chosen!r}"


def _document(sample: Mapping[str, Any]) -> _Document:
    """Read the first line of a document."""
    try:
        requests, prompt, target = arguments_in(sample), prompt_in(sample), sample["target"]
        # Some tasks also score the options without the question.
        scored = [answer for context, answer in requests if context == requests[0][0] and isinstance(answer, str)]
        written = parse_cell(target)  # the harness writes an index, or a list of one, as text
        if scored and type(written) in (int, list):
            target = written
        if len(scored) == 1:
            raise UserError("expected one prompt, got one for each option")
        question = rendered(_AROUND_TURNS.sub("\n", prompt), target, scored or None)
        said = [sample["filtered_resps"][: len(scored)]] if scored else sample["resps"][0]
        return _Document(question, passage_in(sample["doc"]), prompt, said, bool(scored))
    except UserError as error:
        return _Document(Rendered.unusable(str(error)))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return _Document(Rendered.unusable("an incomplete or altered line"))


def _row(key: int, document: _Document, said: Any) -> Columns:
    """The columns of one answer to a document; there are several if it was asked repeatedly."""
    question = document.question
    if question.error:
        raise question.error
    options = options_of(question.choices, question.answer, question.printed.labels if question.printed else LETTERS)
    row = {**options, "question": str(key), "cluster": document.cluster}
    if not document.is_scored:
        opening = OPENING_MARK if opens_reasoning(document.prompt) else ""
        return {**row, "response": said if isinstance(said, str) else "", "prompt": opening}
    values = [-inf if isnan(value) else value for value in map(number_in, said)]
    picked = None if max(values) == -inf else question.choices[values.index(max(values))]
    return {**row, "picked": picked, "answer": question.choices[question.answer]}
