"""What an answer format is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from lm_eval_cora.answers import Answer, Reader
from lm_eval_cora.answers.likelihood import most_likely
from lm_eval_cora.prompting import question_block
from lm_eval_cora.question import LETTERS, OpenQuestion, Question

if TYPE_CHECKING:
    from lm_eval_cora.responses import Record

Doc = Mapping[str, Any]
"""A Variant as a mapping: what the harness hands to its hooks, and what a samples line holds."""


class AnswerFormat(ABC):
    """What a variant asks for, and how the answer to it is read, scored and shown.

    The defaults are those of a format that asks for the letter of one option. Responses are hostile text: no method
    that reads one raises.

    Attributes:
        name: As the docs, the samples and the task files have it.
        description: What is asked for, after "where ... was asked for".
        instruction: A system instruction that makes models keep to the format.
        answer_first: Whether the answer comes first in the response; otherwise it comes at the end.
        picks_one: Whether one of the printed options is the answer.
        is_open: Whether the question has no options, and the answer is compared with the reference.
        uses_templates: Whether the prompt is one of the templates of the benchmark.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    instruction: ClassVar[str]
    answer_first: ClassVar[bool] = True
    picks_one: ClassVar[bool] = False
    is_open: ClassVar[bool] = False
    uses_templates: ClassVar[bool] = False

    # ---- what is asked

    def prompt(self, doc: Doc) -> str:
        """The prompt where the model writes: the template of the variant with the question and its options."""
        prompt: str = doc["template"].render(doc["question"], doc["choices"], doc["category"])
        return prompt

    def context(self, doc: Doc) -> str:
        """The question where answers are scored, and an exemplar before its answer: without an instruction."""
        return self.prompt(doc) if self.uses_templates else question_block(doc["question"], doc["choices"])

    def scored(self, doc: Doc) -> list[str]:
        """The answers that are scored instead of written."""
        return list(LETTERS[: len(doc["printed"])])

    def target(self, doc: Doc) -> str:
        """The right answer as it should be written; exemplars end with it."""
        return LETTERS[doc["printed"].index(doc["answer"])]

    def tokens(self, doc: Doc) -> int:
        """How many tokens an answer may take; 0 where the limit of the task file is enough."""
        return 0

    def exemplar(self, question: Question | OpenQuestion, like: Doc, claimed: int = 0) -> dict[str, Any]:
        """A question with its answer as a doc, its text rendered once for all variants that it precedes.

        Args:
            question: The exemplar, in its original form.
            like: A variant that it precedes: both use the same words.
            claimed: Position of the option that a true-or-false exemplar is about.
        """
        return self._exemplar(question, like, slice(None))

    def _exemplar(self, question: Question | OpenQuestion, like: Doc, shown: slice) -> dict[str, Any]:
        doc = {
            "question": question.stem,
            "category": question.category,
            "ask": self.name,
            "choices": question.choices[shown],
            "printed": question.identities[shown],
            "answer": question.answer,
            "template": like.get("template"),
        }
        return {"text": self.context(doc), **doc}

    # ---- how the answer is read

    def read(self, response: str, doc: Doc, reader: Reader) -> Answer:
        """Read a response by one of the readers."""
        return self.strict(response, doc) if reader == "strict" else self.flexible(response, doc)

    @abstractmethod
    def strict(self, response: str, doc: Doc) -> Answer:
        """Read a response by the rules of the papers."""

    @abstractmethod
    def flexible(self, response: str, doc: Doc) -> Answer:
        """Read a response as a careful person does."""

    def pick(self, loglikelihoods: Sequence[Any], doc: Doc) -> Answer:
        """Pick the most likely of the answers that were scored."""
        return most_likely(loglikelihoods, doc["printed"])

    def is_correct(self, record: Record) -> bool:
        """Whether the answer is right, by identity; an invalid one never is."""
        return record.picked == record.answer

    # ---- how the answer is shown

    def said(self, record: Record, *, letters: bool) -> str | None:
        """What the response says: in letters for people, by identity in a samples line; None if it is invalid."""
        if letters:
            return None if record.position is None else LETTERS[record.position]
        return None if record.picked is None else str(record.picked)

    def reference(self, doc: Doc) -> list[str]:
        """What is right, as texts; empty if it is not printed."""
        if doc["answer"] not in doc["printed"]:
            return []
        position = doc["printed"].index(doc["answer"])
        return [LETTERS[position], str(doc["choices"][position])]
