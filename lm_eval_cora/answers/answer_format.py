"""Base class of the answer formats, and what their readers share: picks, likelihoods, claims."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import exp, inf, isnan, nan
from typing import Any

import numpy as np

from lm_eval_cora.answers import CHOOSES_NOTHING, NO_OPTION, Answer, Found, Reader, Reason, Rule, voided
from lm_eval_cora.answers.plain import Edited, is_reasoning, start_of_answer
from lm_eval_cora.questions.question import LETTERS, OpenQuestion, Question
from lm_eval_cora.variants.template import Template, prompt_of

Doc = Mapping[str, Any]
"""A Variant as a mapping, as the harness passes it to its hooks and writes it to the samples file."""


def picked_at(position: int, doc: Doc, **more: Any) -> Answer:
    """Return the answer that picks the option at a printed position, from 0; invalid if the letter is not printed."""
    if position >= len(doc["printed"]):
        return voided(Answer(**more), Reason.OUT_OF_RANGE)
    return Answer(picked=doc["printed"][position], position=position, **more)


def as_bytes(loglikelihoods: Sequence[Any]) -> bytes:
    """Store log-likelihoods as 32-bit numbers, the precision of the models."""
    with np.errstate(over="ignore"):  # a number that does not fit becomes infinite
        return np.array(as_numbers(loglikelihoods), dtype=np.float32).tobytes()


def as_numbers(values: Sequence[Any]) -> list[float]:
    """Convert numbers of Python, numpy or torch to float; NaN for anything else."""
    return list(map(_number, values))


def _number(value: Any) -> float:
    with suppress(Exception):  # no value may raise after the inference
        return nan if isinstance(value, str | bytes | bool) else float(value)
    return nan


def claims(
    text: str,
    rules: Iterable[tuple[Rule, re.Pattern[str]]],
    unless: re.Pattern[str],
    near: int = 60,
    *,
    through: bool = False,
) -> list[Found]:
    """Find the claims in a text, in its order: matches of named rules, which contain an answer or precede it.

    One does not count if the words of `unless` are in the characters `near` before it, or also `through` it.
    """
    found = []
    for rule, words in rules:
        for start, end in (match.span() for match in words.finditer(text)):
            doubted = unless.search(text[max(0, start - near) : end if through else start])
            found.append(Found(NO_OPTION, start, end, rule, void=Reason.REJECTED if doubted else None))
    return sorted(found, key=lambda claim: claim.start)


def valid(found: Iterable[Found]) -> list[Found]:
    """Return the places that count."""
    return [place for place in found if place.void is None]


def last_of(found: Iterable[Found]) -> Iterator[Found]:
    """Return the last 20 places that count, the last first."""
    return reversed(valid(found)[-20:])


class AnswerFormat(ABC):
    """Which answer a variant asks for, and how that answer is read, scored and shown.

    The defaults fit a format that asks for the letter of one option. A response may contain anything, so the methods
    that read responses never raise.

    Attributes:
        name: Name of the format in docs, samples files and task files.
        description: Noun phrase for the answer, which completes "where ... was asked for".
        instruction: System instruction that makes models follow the format.
        answer_first: Whether the prompt asks for the answer at the beginning of the response, not at the end.
        picks_one: Whether the answer is one of the printed options.
        is_open: Whether the question has no options and the answer is compared with a reference answer.
        shows: Smallest and largest number of options that the prompt prints.
    """

    name: str
    description: str
    instruction: str
    answer_first = True
    picks_one = False
    is_open = False
    shows = (2, len(LETTERS))

    # ---- what is asked
    def scored(self, doc: Doc) -> list[str]:
        """Return the answers whose log-likelihoods are scored."""
        template = doc.get("template")  # of a samples file, only its name
        if isinstance(template, Template):
            return template.scored(doc["choices"])
        return list(doc.get("labels", LETTERS)[: len(doc["printed"])])

    def allowed(self, doc: Doc) -> tuple[str, ...]:
        """Return the answers that a constrained model may write; empty if other text must be before the answer."""
        return tuple(self.scored({**doc, "template": None})) if self.answer_first else ()

    def target(self, doc: Doc) -> str:
        """Return the right answer as the model should write it; exemplars end with it."""
        position: int = doc["printed"].index(doc["answer"])
        return self.scored(doc)[position]

    def tokens(self, doc: Doc) -> int:
        """Return how many tokens an answer needs; 0 if the limit in the task file is enough."""
        return 0

    def exemplar(self, question: Question | OpenQuestion, like: Doc, claimed: int = 0) -> dict[str, Any]:
        """Make the doc of an exemplar, shown like a variant; yes or no is about the option `claimed`."""
        shown = slice(claimed, claimed + 1) if self.shows == (1, 1) else slice(None)
        doc = {
            "question": like.get("question", True) and question.stem,  # hidden if that of the variant is
            "category": question.category,
            "ask": self.name,
            "choices": question.choices[shown],
            "printed": question.identities[shown],
            "answer": question.answer,
            "template": like.get("template"),
            "labels": like.get("labels", LETTERS),
        }
        return {"text": prompt_of(doc, instruct=False), **doc}

    # ---- how the answer is read
    def read(self, response: str, doc: Doc, reader: Reader, *, cut_off: bool = False) -> Answer:
        """Parse a response with one of the readers.

        Text before the last "</think>", or another model's equivalent, is reasoning and is ignored. If the token limit
        ended the response (`cut_off`), its answer counts only if it was complete.
        """
        text = Edited(response, start_of_answer(response))
        said = text.text
        if not said or is_reasoning(said):
            return Answer(reason=Reason.CUT_OFF if said else Reason.EMPTY)
        read = self.strict if reader == "strict" else self.flexible
        answer = read(said, doc)
        if cut_off and not self.is_complete(said, answer, doc) and answer.reason not in CHOOSES_NOTHING:
            answer = voided(answer, Reason.CUT_OFF)
        return text.traced(answer)

    def is_complete(self, said: str, answer: Answer, doc: Doc) -> bool:
        """Whether a response that the token limit ended has its answer in full, in the format that was asked for."""
        return answer.reason is None and (answer.at_front or self.strict(said, doc).reason is None)

    @abstractmethod
    def strict(self, said: str, doc: Doc) -> Answer:
        """Parse a response without its reasoning by the rules of the papers."""

    @abstractmethod
    def flexible(self, said: str, doc: Doc) -> Answer:
        """Parse a response without its reasoning as a careful person would read it."""

    def pick(self, loglikelihoods: Sequence[Any], doc: Doc, unseen: float | None = None) -> Answer:
        """Pick the most likely of the scored answers.

        If several letters have exactly the same log-likelihood, the first one is picked and the answer is marked as
        tied. This is common in bfloat16, which has eight bits of precision. Two letters of the same option (equal
        distractors) do not count as a tie.

        If only some of the next tokens are known, each answer may be likelier by up to exp(`unseen`), and may be nan.
        The pick is then valid if no other option can be more likely.
        """
        printed, values = doc["printed"], as_numbers(loglikelihoods)
        missing = values if unseen is None else [unseen]
        if len(values) != len(printed) or any(map(isnan, missing)):
            return Answer(reason=Reason.NO_LIKELIHOOD)
        values = [-inf if isnan(value) else value for value in values]
        highest = max(values)
        best = {identity for identity, value in zip(printed, values, strict=True) if value == highest}
        second = max((value for value in values if value < highest), default=-inf)
        if unseen is not None and exp(highest) <= exp(second) + exp(unseen):
            return Answer(reason=Reason.UNLIKELY)
        return picked_at(values.index(highest), doc, tied=len(best) > 1)

    # ---- how the answer is shown
    def said(self, answer: Answer, printed: Sequence[int], *, letters: bool) -> str | None:
        """Return an answer as text: as letters (for readers) or as identities (in a samples file); None if invalid."""
        # A written answer is its own text.
        if letters:
            return answer.written if answer.position is None else LETTERS[answer.position]
        return answer.written if answer.picked is None else str(answer.picked)

    def reference(self, doc: Doc) -> list[str]:
        """Return the letter and the text of the right option; empty if it is not printed."""
        if doc["answer"] not in doc["printed"]:
            return []
        position = doc["printed"].index(doc["answer"])
        return [LETTERS[position], str(doc["choices"][position])]
