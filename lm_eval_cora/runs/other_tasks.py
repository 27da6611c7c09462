"""Answers to multiple-choice tasks of the harness that are not ours: their options are found as `cora_of` does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isclose, isnan
from typing import Any, NamedTuple

from lm_eval_cora.answers.plain import opens_reasoning
from lm_eval_cora.answers.records import OPENING_MARK
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.cells import parse_cell
from lm_eval_cora.questions.messages import counted
from lm_eval_cora.questions.question import LETTERS, MAX_OPTIONS
from lm_eval_cora.runs.documents import number_of, samples_in
from lm_eval_cora.runs.files import SamplesFile, part_of
from lm_eval_cora.runs.foreign import Logged
from lm_eval_cora.runs.samples import arguments_in, is_ours, number_in, prompt_in
from lm_eval_cora.variants.rendered import Rendered, passage_in, rendered, settle

_OWN = ("exact_match", "acc")  # the metrics of a document that say whether its answer is right
# What a chat template puts around the turns, and before a first word of the model.
_AROUND_TURNS = re.compile(r"<[|｜][^<>|｜]{1,40}[|｜]>|</?(?:s|start_of_turn|end_of_turn)>|\[/?INST\]")


class _Document(NamedTuple):
    """A document of a task, and what the model said: responses, or the likelihood of each option."""

    question: Rendered
    cluster: str = ""
    opened: bool = False  # whether the prompt ends inside reasoning
    responses: Sequence[Any] = ()
    likelihoods: Sequence[float | None] = ()


def read_other_task(file: SamplesFile) -> list[Logged]:
    """Read the answers to a task; nothing if the file has none. Raise a UserError if the options cannot be found."""
    documents: dict[int, _Document] = {}
    own: dict[str, dict[int, float]] = {}
    for _, sample in samples_in(file.path):
        key = number_of(sample)
        if is_ours(sample) or key is None:
            continue
        name, score = _own_score(sample)
        if score is not None:
            own.setdefault(f"{name},{sample.get('filter', 'none')}", {}).setdefault(key, score)
        if key not in documents:
            documents[key] = _document(sample)
    if not documents:
        return []
    settle([one.question for one in documents.values()], file.task)
    notes = []
    usable = {key: one for key, one in documents.items() if not one.question.error}
    if lost := len(documents) - len(usable):
        notes.append(f"left out {counted(lost, 'document')}: its options or its right option are not found")
    means = {name: sum(scores.values()) / len(scores) for name, scores in own.items()}
    best = max(means, key=means.__getitem__, default="")
    printed = part_of(part_of(file.results, "results"), file.task)
    for name, mean in means.items():
        if name != best:
            notes.append(f"{_spoken(name)} says {mean:.4g}")
        value = printed.get(name)
        if isinstance(value, int | float) and not isclose(value, mean, rel_tol=1e-9, abs_tol=1e-12):
            notes.append(f"the results file has {value:.6g} for {_spoken(name)}, the samples have {mean:.6g}")
    repeats = max((len(one.responses) for one in usable.values()), default=0)
    rows = [row for key, one in usable.items() for row in _rows(str(key), one, own.get(best, {}).get(key))]
    return [Logged(file.model, file.task, rows, notes, equal_prompts=repeats > 1, own=_spoken(best))]


def _spoken(name: str) -> str:
    """The name of a metric and its filter in a sentence."""
    metric, _, chosen = name.partition(",")
    return metric if chosen == "none" else f"{metric} of the filter {chosen!r}"


def _own_score(sample: Mapping[str, Any]) -> tuple[str, float | None]:
    """The metric of a line that says whether the answer is right, and its value from 0 to 1."""
    named = sample.get("metrics")
    names = [*_OWN, *(named if isinstance(named, list) else ())]
    for name in names:
        value = sample.get(name) if isinstance(name, str) else None
        if isinstance(value, bool | int | float) and 0 <= value <= 1:
            return name, float(value)
    return "", None


def _document(sample: Mapping[str, Any]) -> _Document:
    """Read the first line of a document."""
    try:
        requests, prompt = arguments_in(sample), prompt_in(sample)
        # Some tasks also score the options without the question.
        scored = [answer for context, answer in requests if context == requests[0][0] and isinstance(answer, str)]
        responses = sample["resps"][0] if not scored else ()
        likelihoods = [number_in(response) for response in sample["filtered_resps"][: len(scored)]]
        target = sample["target"]
        written = parse_cell(target)  # the harness writes an index, or a list of one, as text
        if scored and type(written) in (int, list):
            target = written
        if len(scored) == 1 or len(scored) > MAX_OPTIONS:
            raise UserError(f"expected one prompt with 2 to {MAX_OPTIONS} scored options, got {len(scored)}")
        question = rendered(_AROUND_TURNS.sub("\n", prompt), target, scored or None)
    except UserError as error:
        return _Document(Rendered.unusable(str(error)))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return _Document(Rendered.unusable("an incomplete or altered line"))
    return _Document(question, passage_in(sample["doc"]), opens_reasoning(prompt), responses, likelihoods)


def _rows(key: str, document: _Document, own: float | None) -> Iterator[dict[str, Any]]:
    """The answers to a document: one, or one for each repeat."""
    question = document.question
    row: dict[str, Any] = {"question": key, "variant": "1", "printed": question.choices, "own": own}
    if document.cluster:
        row["cluster"] = document.cluster
    if not document.responses:
        known = [-inf if value is None or isnan(value) else value for value in document.likelihoods]
        picked = None if max(known) == -inf else question.choices[known.index(max(known))]
        yield {**row, "picked": picked, "answer": question.choices[question.answer]}
        return
    if document.opened:
        row["prompt"] = OPENING_MARK
    if question.printed and not LETTERS.startswith("".join(question.printed.labels)):
        row["labels"] = question.printed.labels
    for number, response in enumerate(document.responses, 1):
        text = response if isinstance(response, str) else ""
        yield {**row, "variant": str(number), "response": text, "answer": question.answer}
