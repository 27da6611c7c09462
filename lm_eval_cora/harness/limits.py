"""Answers in steps: with few tokens first, and with more only where these were not enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lm_eval.api.instance import Instance

from lm_eval_cora.harness.forwarding import ask, behind
from lm_eval_cora.harness.log import logger
from lm_eval_cora.harness.questions import task_of
from lm_eval_cora.options import OptionError

_LEAST_ROOM, _SHARE_OF_ROOM = 4, 8
"""A response is taken for whole if so many tokens are left, and an eighth of them: its text may show fewer than there
were, because back ends leave out special ones."""


def check_limits(limits: Sequence[int], budget: int | None) -> None:
    """See that limits of tokens can be used one after the other.

    Raises:
        OptionError: If they do not grow, or if a budget is to be kept.
    """
    if any(isinstance(limit, bool) or not isinstance(limit, int) or limit < 1 for limit in limits):
        raise OptionError(f"--max_gen_toks {_listed(limits)}: expected whole numbers from 1")
    if list(limits) != sorted(set(limits)):
        raise OptionError(f"--max_gen_toks {_listed(limits)}: expected growing limits, such as 32,512")
    if len(limits) > 1 and budget is not None:
        raise OptionError(
            f"--max_gen_toks {_listed(limits)}: asks some requests again, which a --budget of {budget} cannot foresee; "
            "give one limit, or --target-stderr instead of the budget"
        )


def generate_in_steps(
    lm: Any, requests: Sequence[Instance], limits: Sequence[int], *, disable_tqdm: bool = False
) -> list[Any]:
    """Have answers written, each with the first of some limits that is enough.

    A response is asked for again if a limit may have cut it off and its answer is not settled. Under greedy decoding
    the answers are those of the last limit alone. Samples, and requests of other tasks, are asked for once, unchanged.

    Args:
        lm: The model, or the harness' cache around one.
        requests: What is asked.
        limits: Numbers of tokens, growing. The last one is the limit that the requests have.
        disable_tqdm: Whether the model shows no progress bar.

    Returns:
        The responses, in the order of the requests.
    """
    responses: list[Any] = [None] * len(requests)
    pending = list(range(len(requests)))
    told: list[str] = []
    for limit in limits:
        # The last limit is that of the requests themselves, of which some have more room.
        whole = limit == limits[-1]
        sent = [requests[place] if whole else _limited(requests[place], limit) for place in pending]
        received = ask(lm, "generate_until", sent, disable_tqdm=disable_tqdm)
        shortened = sum(request is not requests[place] for place, request in zip(pending, sent, strict=True))
        told.append(f"{len(sent) if told else shortened:,} with at most {limit:,} tokens")
        again = []
        for place, request, response in zip(pending, sent, received, strict=True):
            responses[place] = response
            is_shortened = request is not requests[place]
            if is_shortened and not (_is_whole(lm, response, limit) or _is_settled(request, response)):
                again.append(place)
        pending = again
        if not pending:
            break
    logger.info("asked %s", ", again ".join(told))
    return responses


def is_sampled(settings: Mapping[str, Any]) -> bool:
    """Whether chance is in the answer. APIs know no `do_sample`: there a temperature alone says it."""
    temperature = settings.get("temperature") or 0
    return bool(settings.get("do_sample")) or not isinstance(temperature, int | float) or temperature > 0


def _limited(request: Instance, limit: int) -> Instance:
    """A request with fewer tokens; the request itself if it is another task's or for a sample, or has as few."""
    task = task_of(request)
    if task is None or is_sampled(request.args[1]):
        return request
    prompt, settings = request.args
    if not isinstance(settings.get("max_gen_toks"), int) or settings["max_gen_toks"] <= limit:
        return request
    limited = replace(request, arguments=(prompt, {**settings, "max_gen_toks": limit}), resps=[], filtered_resps={})
    limited.owner = task
    return limited


def _is_whole(lm: Any, response: Any, limit: int) -> bool:
    """Whether a response ended by itself, as far as its length tells.

    An empty one may have been reasoning that a server took out, and a model with a `think_end_token` takes it out
    always: then the length tells nothing.
    """
    model = behind(lm)
    if not isinstance(response, str) or not response or getattr(model, "think_end_token", None) is not None:
        return False
    room = limit - max(_LEAST_ROOM, limit // _SHARE_OF_ROOM)
    if len(response.encode("utf-8", "replace")) <= room:  # a token is a byte or more
        return True
    try:
        tokens = model.tok_encode(response)
        return len(tokens) <= room and all(isinstance(token, int) for token in tokens)
    except Exception:  # no tokenizer, as of most APIs, or another kind of one
        return False


def _is_settled(request: Instance, response: Any) -> bool:
    task = task_of(request)
    return task is not None and isinstance(response, str) and task.is_settled(request, response)


def _listed(limits: Sequence[int]) -> str:
    return ",".join(map(str, limits))
