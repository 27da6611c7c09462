"""What becomes of generation settings and responses on their way to the model and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapreplace
from typing import Any

from lm_eval_cora.harness.compat import argument_of_the_run
from lm_eval_cora.options import OptionError
from lm_eval_cora.question import is_encodable
from lm_eval_cora.reading import SKIPPED_IN_SAMPLES, Skipped


def with_room_for(tokens: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Generation settings with room for at least so many tokens.

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
    limit: int | None = None,
    samples: Sequence[int] | None = None,
    world_size: int = 1,
    scored: bool | None = None,
    **_: Any,
) -> list[dict[str, Any]]:
    """Select the docs that --limit and --samples ask for, for all ranks together.

    Args:
        task: Name of the task, for the error message.
        docs: All docs.
        limit: The first so many, None for all.
        samples: The numbers of those that are asked, None for all.
        world_size: Number of ranks.
        scored: Whether metrics will be computed. None asks the harness for --predict_only.
        **_: What else the harness says about a run.

    Raises:
        OptionError: If a number is out of range, there are fewer docs than ranks, or no question is complete although
            metrics will be computed.

    Example:
        >>> docs = [{"question_id": question, "variants": 2} for question in "aabb"]
        >>> [doc["question_id"] for doc in chosen_docs("cora_demo", docs, limit=3)]
        ['a', 'a', 'b']
    """
    if limit is not None and limit < 1:
        raise OptionError(f"{task}: --limit comes to {limit} variants: expected more than 0")
    if outside := [index for index in samples or () if type(index) is not int or not 0 <= index < len(docs)]:
        raise OptionError(f"{task}: --samples {outside[0]!r}: expected 0 to {len(docs) - 1}")
    asked = [docs[index] for index in sorted(set(samples))] if samples else list(docs[:limit])
    if world_size > len(asked):
        # The harness would raise on the ranks that have nothing, while the others wait for them for ever.
        raise OptionError(
            f"{task}: {len(asked)} variants cannot be shared out among {world_size} processes; "
            f"ask more questions, or start at most {len(asked)} processes"
        )
    if scored is None:
        scored = not argument_of_the_run("predict_only")
    if scored and len(asked) < len(docs):
        _check_cut(task, asked, f"--limit comes to {limit} variants" if samples is None else "--samples")
    return asked


def _check_cut(task: str, asked: Sequence[dict[str, Any]], given: str) -> None:
    """See that all variants of at least one question are asked. Metrics leave all other questions out.

    Args:
        task: Name of the task, for the error message.
        asked: The docs that are asked.
        given: What cut the docs, for the error message.

    Raises:
        OptionError: If no question is complete.
    """
    needed = {doc["question_id"]: doc["variants"] for doc in asked}
    counts = Counter(doc["question_id"] for doc in asked)
    if any(counts[question] >= number for question, number in needed.items()):
        return
    fewest, most = min(needed.values()), max(needed.values())
    variants = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    raise OptionError(
        f"{task}: {given}: no question would be asked in all of its {variants} variants, and metrics need whole "
        f"questions. --limit and --samples count variants, not questions. To run {len(needed)} whole "
        f"question{'' if len(needed) == 1 else 's'}, give instead "
        f"""--metadata '{{"cora": {{"questions": {len(needed)}}}}}'"""
    )


def deal(docs: Sequence[tuple[int, dict[str, Any]]], ranks: int) -> list[list[tuple[int, dict[str, Any]]]]:
    """Deal whole questions out to ranks: each goes to the one that has the fewest docs.

    Args:
        docs: The docs with their numbers.
        ranks: How many processes there are. If they are more than the questions, docs are dealt out one by one.

    Returns:
        The docs of each rank, in their order.

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
    r"""A response that a file can hold; lone surrogates become escapes.

    A model's response that reads like a skipped one gets a space at its end.

    Example:
        >>> encodable("B \ud83d") == r"B \ud83d"
        True
    """
    if isinstance(response, Skipped) or not isinstance(response, str):
        return response
    if response in SKIPPED_IN_SAMPLES:  # a model wrote it
        return f"{response} "
    if is_encodable(response):
        return response
    return response.encode("utf-8", "backslashreplace").decode("utf-8")
