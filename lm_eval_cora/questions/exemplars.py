"""Few-shot exemplars: answered questions that precede the asked question in the prompt."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.questions.randomness import in_random_order


class ExemplarPool:
    """The questions from which exemplars are drawn."""

    def __init__(
        self,
        questions: Iterable[Question | OpenQuestion],
        *,
        source: str,
        within_category: bool,
        as_published: bool = False,
        digest: str = "",
    ) -> None:
        self.source = source
        self.signature = "-".join(
            filter(None, [digest, "category" * within_category, "published" * as_published]),
        )
        """Part of the signature of a score: from which questions the exemplars are drawn, and how."""
        self._within_category = within_category
        self.as_published = as_published
        self._pools: dict[str, list[Question | OpenQuestion]] = {}
        for question in questions:
            self._pools.setdefault(self._pool_of(question), []).append(question)

    def draw(self, question: Question | OpenQuestion, shots: int, *seeds: int) -> list[Question | OpenQuestion]:
        """Draw the exemplars of a question.

        They depend only on the question and the seeds, so all variants of a question have the same exemplars in the
        same order. With more shots, the first exemplars stay the same. The question itself is never drawn, even if the
        pool has it under another id.

        Example:
            >>> pool = ExemplarPool(
            ...     [Question(f"q{n}", f"{n} + 1?", (f"{n + 1}", "0"), 0) for n in range(5)],
            ...     source="the test split",
            ...     within_category=False,
            ... )
            >>> asked = Question("q0", "0 + 1?", ("1", "0"), 0)
            >>> drawn = pool.draw(asked, 2, 0)
            >>> len(drawn), asked in drawn, drawn == pool.draw(asked, 3, 0)[:2]
            (2, False, True)
        """
        asked = _content(question)
        pool = self._pools.get(self._pool_of(question), [])
        if self.as_published:
            return list(islice((candidate for candidate in pool if _content(candidate) != asked), shots))
        drawn: list[Question | OpenQuestion] = []
        seen = {asked}
        for candidate in in_random_order(pool, "exemplars", question.id, *seeds):
            if len(drawn) == shots:
                break
            if (content := _content(candidate)) not in seen:
                seen.add(content)
                drawn.append(candidate)
        return drawn

    def fewer(self, questions: Iterable[Question | OpenQuestion], shots: int) -> dict[str, int]:
        """Find the questions that have fewer exemplars than requested."""
        found = ((question.id, len(self.draw(question, shots))) for question in questions)
        return {identifier: count for identifier, count in found if count < shots}

    def check(self, questions: Iterable[Question | OpenQuestion], shots: int) -> None:
        """Check that every question has enough exemplars."""
        by_id = {question.id: question for question in questions}
        if fewer := self.fewer(by_id.values(), shots):
            identifier, count = min(fewer.items(), key=lambda item: item[1])
            where = f" of the category {by_id[identifier].category!r}" if self._within_category else ""
            raise UserError(
                f"question {identifier!r} can have {count} exemplars at most: those{where} in "
                f"{self.source}, except the question itself. Use --num_fewshot {count}."
            )

    def _pool_of(self, question: Question | OpenQuestion) -> str:
        return question.category if self._within_category else ""


def _content(question: Question | OpenQuestion) -> tuple[str, frozenset[str]]:
    """Return a question's stem and set of options, which are equal for copies with another id or order."""
    return question.stem, frozenset(question.choices)
