"""Few-shot exemplars: which questions stand, answered, before the one that is asked."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from lm_eval_cora.question import OpenQuestion, Question
from lm_eval_cora.randomness import in_random_order


class ExemplarError(ValueError):
    """More shots were asked for than the source of exemplars has."""


class ExemplarPool:
    """The questions that exemplars are drawn from.

    Args:
        questions: The few-shot split, or the scored questions where the benchmark has none.
        source: What they are, for error messages.
        within_category: Whether the exemplars of a question are of its own category.
        as_published: Whether the split was made for few-shot use. Its first questions are then the exemplars, in its
            own order and with its repeats. Otherwise they are drawn at random, and none comes twice.
        digest: Digest of the questions.
    """

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
        """What the exemplars are drawn from and how, for the signature of a score."""
        self._within_category = within_category
        self.as_published = as_published
        self._pools: dict[str, list[Question | OpenQuestion]] = {}
        for question in questions:
            self._pools.setdefault(self._pool_of(question), []).append(question)

    def draw(self, question: Question | OpenQuestion, shots: int, *seeds: int) -> list[Question | OpenQuestion]:
        """Draw the exemplars of a question.

        They depend on the question and the seeds alone, so all variants of a question see the same ones in the same
        order, and with more shots the first ones stay. The question itself is never one of them, under whatever id
        it stands in the pool.

        Args:
            question: The question that is asked.
            shots: How many.
            *seeds: Other seeds give other exemplars, unless the split is used as published.

        Returns:
            That many questions, or as many as there are.

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
        """Find the questions that cannot have that many exemplars.

        Args:
            questions: The questions that will be asked.
            shots: How many exemplars each of them is to have.

        Returns:
            How many exemplars they have instead, by id.
        """
        found = ((question.id, len(self.draw(question, shots))) for question in questions)
        return {identifier: count for identifier, count in found if count < shots}

    def check(self, questions: Iterable[Question | OpenQuestion], shots: int) -> None:
        """See that every question can have that many exemplars.

        Args:
            questions: The questions that will be asked.
            shots: How many.

        Raises:
            ExemplarError: If not; it names the question that can have the fewest.
        """
        by_id = {question.id: question for question in questions}
        if fewer := self.fewer(by_id.values(), shots):
            identifier, count = min(fewer.items(), key=lambda item: item[1])
            where = f" of the category {by_id[identifier].category!r}" if self._within_category else ""
            raise ExemplarError(
                f"question {identifier!r} can have {count} exemplars at most: those{where} in "
                f"{self.source}, without itself; ask with --num_fewshot {count}"
            )

    def _pool_of(self, question: Question | OpenQuestion) -> str:
        return question.category if self._within_category else ""


def _content(question: Question | OpenQuestion) -> tuple[str, frozenset[str]]:
    """What a question asks, whatever its id and the order of its options."""
    return question.stem, frozenset(question.choices)
