"""A variant and the answer to it -> Record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lm_eval_cora.answers import Answer
from lm_eval_cora.answers.formats import FORMATS, Doc
from lm_eval_cora.variants.variant import Variant


@dataclass
class Record(Variant, Answer):
    """A variant and the answer to it, without the texts, which would fill the memory.

    Attributes:
        matches: Whether a written answer is equivalent to the reference; None if the check ran out of time or memory.
        skipped: Whether early stopping or a budget skipped the variant. It is then neither right nor invalid.
        followed: Whether the response is in the requested format, so that the strict reader can read it; None if
            unknown.
        cut_off: Whether the token limit ended the response; None if unknown. Ignored if records are compared.
        opened: Whether the response begins inside reasoning; ignored if records are compared.
        came: What came instead of text, if the answer is invalid; ignored if records are compared.
        excerpt: Beginning of an invalid response; ignored if records are compared.
        likelihoods: Log-likelihoods of the printed letters as 32-bit numbers, in printed order. Only the order probe
            needs them; otherwise empty.
    """

    matches: bool | None = field(default=None, kw_only=True)
    skipped: bool = field(default=False, kw_only=True)
    followed: bool | None = field(default=None, kw_only=True)
    cut_off: bool | None = field(default=None, compare=False, kw_only=True)
    opened: bool = field(default=False, compare=False, kw_only=True)
    came: str = field(default="", compare=False, kw_only=True)
    excerpt: str = field(default="", compare=False, kw_only=True)
    likelihoods: bytes = field(default=b"", kw_only=True)

    @classmethod
    def of(cls, doc: Doc, answer: Answer, **more: Any) -> Record:
        """Make the Record of a variant.

        Example:
            >>> doc = {"question_id": "q1", "kind": "x", "ordinal": 1, "original": False, "variants": 8, "category": ""}
            >>> Record.of({**doc, "ask": "letter", "printed": [1, 0], "answer": 0}, Answer(picked=0)).correct
            True
        """
        return cls(
            doc["question_id"],
            doc["variants"],
            doc["ordinal"],
            doc["kind"],
            tuple(doc["printed"]),
            doc["answer"],
            category=doc["category"],
            original=doc["original"],
            ask=doc["ask"],
            **{**vars(answer), "at_front": False, "span": None, "found": ()},  # they would fill the memory
            **more,
        )

    @property
    def correct(self) -> bool:
        """Whether the answer is right, compared by identity. An invalid answer is never right."""
        return FORMATS[self.ask].is_correct(self)

    @property
    def invalid(self) -> bool:
        """Whether the response has no valid answer."""
        return not self.skipped and self.picked is None and self.selected is None and self.written is None
