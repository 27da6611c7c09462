"""What becomes of generation settings and responses on their way to the model and back."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from heapq import heapreplace
from typing import Any

from lm_eval_cora.options import OptionError
from lm_eval_cora.question import is_encodable
from lm_eval_cora.reading import NOT_ASKED, NotAsked

TOKEN_LIMITS = ("max_completion_tokens", "max_tokens", "max_new_tokens")
"""Other names that the harness knows for `max_gen_toks`; of several the last one counts there, too."""


def rename_token_limit(settings: dict[str, Any]) -> None:
    """Let --gen_kwargs max_new_tokens=4096 count: the harness prefers the `max_gen_toks` of the task file.

    Args:
        settings: The generation settings; changed in place.

    Example:
        >>> settings = {"max_gen_toks": 8, "max_new_tokens": 4096}
        >>> rename_token_limit(settings)
        >>> settings
        {'max_gen_toks': 4096}
    """
    for name in TOKEN_LIMITS:
        if name in settings:
            settings["max_gen_toks"] = settings.pop(name)


def with_room_for(tokens: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Generation settings with room for at least so many tokens.

    Example:
        >>> with_room_for(32, {"max_gen_toks": 8}), with_room_for(32, {"max_gen_toks": 64})
        ({'max_gen_toks': 32}, {'max_gen_toks': 64})
    """
    limit = settings.get("max_gen_toks")
    return {**settings, "max_gen_toks": tokens} if isinstance(limit, int) and limit < tokens else settings


def part_samples(rank: int) -> None:
    """Give each rank other random numbers.

    The harness seeds torch alike on all ranks and deals the docs out one by one, so the samples of a question, which
    have the same prompt, would be drawn on several ranks with the same numbers.

    Args:
        rank: Of this process; the first keeps its numbers.
    """
    torch = sys.modules.get("torch")
    if rank and torch is not None:
        torch.manual_seed(torch.initial_seed() + rank)


def chosen_docs(
    task: str,
    docs: Sequence[dict[str, Any]],
    *,
    limit: int | None = None,
    samples: Sequence[int] | None = None,
    world_size: int = 1,
    **_: Any,
) -> list[dict[str, Any]]:
    """Select the docs that --limit and --samples ask for, for all ranks together.

    Args:
        task: Name of the task, for the error message.
        docs: All docs.
        limit: The first so many, None for all.
        samples: The numbers of those that are asked, None for all.
        world_size: Number of ranks.
        **_: What else the harness says about a run.

    Raises:
        OptionError: If a number is out of range, or there are fewer docs than ranks.

    Example:
        >>> [doc["kind"] for doc in chosen_docs("cora_demo", [{"kind": "original"}, {"kind": "shuffled"}], limit=1)]
        ['original']
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
    return asked


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


def slim(instances: Iterable[Any], *, prompts: bool) -> None:
    """Free memory that answered requests no longer need.

    The harness copies the generation settings for each request, because some back ends change them. After the inference
    equal settings can be one object. At full size the prompts take most of the memory of a run.

    Args:
        instances: The harness' requests, answered; changed in place.
        prompts: Whether to drop the prompts, too. Keep them if samples are logged.
    """
    shared: dict[str, Any] = {}
    for instance in instances:
        prompt, *rest = instance.arguments
        instance.arguments = ("" if prompts else prompt, *(shared.setdefault(repr(item), item) for item in rest))


def model_of_the_run() -> Any:
    """The model that the harness is about to ask, or None."""
    return _local_of_the_run("lm", None)


def samples_are_logged() -> bool:
    """Whether the harness will keep the prompts and responses; true if that cannot be found out."""
    return bool(_local_of_the_run("log_samples", True))


def _local_of_the_run(name: str, default: Any) -> Any:
    """A variable of the harness' function that runs tasks and is running now.

    A task is told neither the model nor whether samples are logged.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "evaluate" and "lm" in frame.f_locals:
            return frame.f_locals.get(name, default)
        frame = frame.f_back
    return default


def encodable(response: Any) -> Any:
    r"""A response that a file can hold; lone surrogates become escapes.

    One that reads like what was not asked is told apart by a space at its end.

    Example:
        >>> encodable("B \ud83d") == r"B \ud83d"
        True
    """
    if isinstance(response, NotAsked) or not isinstance(response, str):
        return response
    if response == NOT_ASKED:  # from a model: it was asked, and says so
        return f"{response} "
    if is_encodable(response):
        return response
    return response.encode("utf-8", "backslashreplace").decode("utf-8")
