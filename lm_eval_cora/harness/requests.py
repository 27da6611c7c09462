"""Token limits of requests, selection and distribution of docs, and clean-up of responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapreplace
from typing import Any

from lm_eval_cora.harness.compat import argument_of_the_run
from lm_eval_cora.options import OptionError
from lm_eval_cora.question import is_encodable
from lm_eval_cora.reading import SKIPPED_IN_SAMPLES, Response, Skipped


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
    limit: int | None = None,
    samples: Sequence[int] | None = None,
    world_size: int = 1,
    scored: bool | None = None,
    **_: Any,
) -> list[dict[str, Any]]:
    """Select the docs that --limit and --samples ask for, over all ranks.

    Args:
        task: Name of the task, for the error message.
        docs: All docs.
        limit: Number of docs from the start, None for all.
        samples: Numbers of the docs, None for all.
        world_size: Number of ranks.
        scored: Whether metrics will be computed. If None, this depends on --predict_only of the run.
        **_: Other arguments of the harness, which are ignored.

    Raises:
        OptionError: If a number is out of range, there are fewer docs than ranks, or no question is complete although
            metrics will be computed.

    Example:
        >>> docs = [{"question_id": question, "variants": 2} for question in "aabb"]
        >>> [doc["question_id"] for doc in chosen_docs("cora_demo", docs, limit=3)]
        ['a', 'a', 'b']
    """
    if limit is not None and limit < 1:
        raise OptionError(f"{task}: --limit: expected at least 1 variant, got {limit}")
    if outside := [index for index in samples or () if type(index) is not int or not 0 <= index < len(docs)]:
        raise OptionError(f"{task}: --samples {outside[0]!r}: expected 0 to {len(docs) - 1}")
    asked = [docs[index] for index in sorted(set(samples))] if samples else list(docs[:limit])
    if world_size > len(asked):
        # The harness would raise on the ranks without requests, while the others wait forever.
        raise OptionError(
            f"{task}: expected at least one variant per process, got {len(asked)} variants for {world_size} processes. "
            f"Ask more questions, or start at most {len(asked)} processes"
        )
    if scored is None:
        scored = not argument_of_the_run("predict_only")
    if scored and len(asked) < len(docs):
        _check_cut(task, asked, f"--limit selects {limit} variants" if samples is None else "--samples")
    return asked


def _check_cut(task: str, asked: Sequence[dict[str, Any]], given: str) -> None:
    """Check that all variants of at least one question are asked. Metrics leave out all other questions.

    Args:
        task: Name of the task, for the error message.
        asked: The docs that are asked.
        given: The option that selects the docs, for the error message.

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
        f"question{'' if len(needed) == 1 else 's'}, pass instead "
        f"""--metadata '{{"cora": {{"questions": {len(needed)}}}}}'"""
    )


def deal(docs: Sequence[tuple[int, dict[str, Any]]], ranks: int) -> list[list[tuple[int, dict[str, Any]]]]:
    """Distribute whole questions over ranks. Each question goes to the rank with the fewest docs.

    Args:
        docs: The docs with their numbers.
        ranks: Number of processes. If there are more processes than questions, single docs are distributed.

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
    if response in SKIPPED_IN_SAMPLES:  # a model wrote it
        return f"{response} "
    if is_encodable(response):
        return response
    return response.encode("utf-8", "backslashreplace").decode("utf-8")
