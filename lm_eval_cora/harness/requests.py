"""Token limits of requests, selection and distribution of docs, and clean-up of responses."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapreplace
from math import ceil, inf
from typing import Any

from lm_eval_cora.answers.records import SKIPPED, Response, Skipped
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import is_encodable


def with_room_for(tokens: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Raise the token limit of generation settings to at least a number of tokens.

    Example:
        >>> with_room_for(32, {"max_gen_toks": 8}), with_room_for(32, {"max_gen_toks": 64})
        ({'max_gen_toks': 32}, {'max_gen_toks': 64})
    """
    limit = settings.get("max_gen_toks")
    return {**settings, "max_gen_toks": tokens} if isinstance(limit, int) and limit < tokens else settings


def chosen_docs(
    task: str,
    docs: Sequence[dict[str, Any]],
    *,
    limit: float | None = None,
    samples: Sequence[int] | None = None,
    world_size: int = 1,
    **_: Any,
) -> list[int]:
    """Select the questions that --limit and --samples ask for, over all ranks, with all their variants."""
    questions = list(dict.fromkeys(doc["question_id"] for doc in docs))
    if limit is not None and not (isinstance(limit, int | float) and 0 < limit < inf):
        shown = f"{limit:g}" if isinstance(limit, int | float) else repr(limit)
        raise UserError(
            f"{task}: --limit {shown}: expected a number of questions from 1, or a share of them between 0 and 1"
        )
    if outside := [number for number in samples or () if type(number) is not int or not 0 <= number < len(questions)]:
        raise UserError(
            f"{task}: --samples {outside[0]!r}: expected the number of a question, from 0 to {len(questions) - 1}"
        )
    if samples:
        chosen = {questions[number] for number in samples}
    else:
        count = inf if limit is None else ceil(limit * len(questions)) if limit < 1 else limit
        chosen = set(questions[: int(min(count, len(questions)))])
    asked = [number for number, doc in enumerate(docs) if doc["question_id"] in chosen]
    if world_size > len(asked):
        # The harness would raise on the ranks without requests, while the others wait forever.
        raise UserError(
            f"{task}: expected at least one variant per process, got {len(asked)} variants for {world_size} processes. "
            f"Ask more questions, or start at most {len(asked)} processes"
        )
    return asked


def deal(docs: Sequence[tuple[int, dict[str, Any]]], ranks: int) -> list[list[tuple[int, dict[str, Any]]]]:
    """Distribute whole questions over ranks. Each question goes to the rank with the fewest docs.

    Example:
        >>> docs = [(number, {"question_id": question}) for number, question in enumerate("aabbb")]
        >>> [[number for number, _ in part] for part in deal(docs, 2)]
        [[0, 1], [2, 3, 4]]
    """
    questions: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, doc in docs:
        questions.setdefault(doc["question_id"], []).append((number, doc))
    if len(questions) < ranks:
        return [list(docs[rank::ranks]) for rank in range(ranks)]
    parts: list[list[tuple[int, dict[str, Any]]]] = [[] for _ in range(ranks)]
    loads = [(0, rank) for rank in range(ranks)]  # a heap
    for members in questions.values():
        load, rank = loads[0]
        parts[rank] += members
        heapreplace(loads, (load + len(members), rank))
    return parts


def encodable(response: Any) -> Any:
    r"""Make a response encodable as UTF-8: lone surrogates become escapes.

    A response with the text of a skipped one gets a space at its end.

    Example:
        >>> encodable("B \ud83d") == r"B \ud83d"
        True
    """
    if isinstance(response, Skipped) or not isinstance(response, str):
        return response
    if isinstance(response, Response):
        return response.saying(encodable(str(response)))
    if response == SKIPPED:  # a model wrote it
        return f"{response} "
    if is_encodable(response):
        return response
    return response.encode("utf-8", "backslashreplace").decode("utf-8")
