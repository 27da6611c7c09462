"""Few-shot exemplars: which questions stand, answered, before the one that is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable

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
    """

    def __init__(self, questions: Iterable[Question | OpenQuestion], *, source: str, within_category: bool) -> None:
        self._source = source
        self._within_category = within_category
        self._pools: dict[str, list[Question | OpenQuestion]] = {}
        for question in questions:
            self._pools.setdefault(self._pool_of(question), []).append(question)

    def draw(self, question: Question | OpenQuestion, shots: int, *seeds: int) -> list[Question | OpenQuestion]:
        """Draw the exemplars of a question.

        They depend on the question and the seeds alone, so all variants of a question see the same ones in the same
        order, and with more shots the first ones stay. The question itself is never one of them, under whatever id
        it stands in the pool, and no exemplar comes twice.

        Args:
            question: The question that is asked.
            shots: How many.
            *seeds: Other seeds give other exemplars.

        Returns:
            That many questions.

        Raises:
            ExemplarError: If there are not as many.

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
        drawn = self._some(question, shots, *seeds)
        if len(drawn) < shots:
            where = f" of the category {question.category!r}" if self._within_category else ""
            raise ExemplarError(
                f"question {question.id!r} can have {len(drawn)} exemplars at most: the other questions{where} of "
                f"{self._source}; ask with --num_fewshot {len(drawn)}"
            )
        return drawn

    def check(self, questions: Collection[Question | OpenQuestion], shots: int) -> None:
        """See that every question can have that many exemplars.

        Args:
            questions: The questions that will be asked, at least one.
            shots: How many.

        Raises:
            ExemplarError: If not; it is about a question that can have the fewest.
        """
        self.draw(min(questions, key=lambda question: len(self._some(question, shots))), shots)

    def _some(self, question: Question | OpenQuestion, shots: int, *seeds: int) -> list[Question | OpenQuestion]:
        """That many exemplars, or as many as there are."""
        drawn: list[Question | OpenQuestion] = []
        seen = {_content(question)}
        pool = self._pools.get(self._pool_of(question), [])
        for candidate in in_random_order(pool, "exemplars", question.id, *seeds):
            if len(drawn) == shots:
                break
            if (content := _content(candidate)) not in seen:
                seen.add(content)
                drawn.append(candidate)
        return drawn

    def _pool_of(self, question: Question | OpenQuestion) -> str:
        return question.category if self._within_category else ""


def _content(question: Question | OpenQuestion) -> tuple[str, frozenset[str]]:
    """What a question asks, whatever its id and the order of its options."""
    return question.stem.strip(), frozenset(choice.strip() for choice in question.choices)
