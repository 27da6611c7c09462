"""Generation with increasing token limits: only responses that one limit cut off are asked for with the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lm_eval.api.instance import Instance

from lm_eval_cora.answers.head import opens_reasoning
from lm_eval_cora.harness.forwarding import ask, behind
from lm_eval_cora.harness.log import logger
from lm_eval_cora.harness.questions import task_of
from lm_eval_cora.options import OptionError
from lm_eval_cora.reading import Response, Skipped

_LEAST_ROOM, _SHARE_OF_ROOM = 4, 8
"""A response counts as complete if at least 4 tokens and an eighth of the limit are unused. The margin is for special
tokens, which back ends remove from the text."""


def check_limits(limits: Sequence[int], budget: int | None) -> None:
    """Check token limits that will be used one after the other.

    Raises:
        OptionError: If they are not increasing positive integers, or there are several and a budget.
    """
    if any(isinstance(limit, bool) or not isinstance(limit, int) or limit < 1 for limit in limits):
        raise OptionError(f"--max_gen_toks {_listed(limits)}: expected whole numbers from 1")
    if list(limits) != sorted(set(limits)):
        raise OptionError(f"--max_gen_toks {_listed(limits)}: expected increasing limits, such as 32,512")
    if len(limits) > 1 and budget is not None:
        raise OptionError(
            f"--max_gen_toks {_listed(limits)}: several limits send some requests again, but --budget {budget} counts "
            "each request once. Pass one limit, or --target-stderr instead of the budget"
        )


def generate_in_steps(
    lm: Any, requests: Sequence[Instance], limits: Sequence[int], *, disable_tqdm: bool = False
) -> list[Any]:
    """Generate responses, each with the smallest token limit that is enough.

    A request is sent again with the next limit if the response may be cut off and its answer could still change. With
    greedy decoding, the answers are the same as with the last limit alone. Samples and requests of other tasks are sent
    once, unchanged.

    Args:
        lm: The model, or the harness' cache around one.
        requests: The requests.
        limits: Increasing token limits. The last one is the limit that the requests already have.
        disable_tqdm: Whether to hide the model's progress bar.

    Returns:
        The responses, in the order of the requests.
    """
    responses: list[Any] = [None] * len(requests)
    pending = list(range(len(requests)))
    steps: list[str] = []
    for limit in limits:
        # The last step sends requests unchanged: some have a larger limit of their own.
        whole = limit == limits[-1]
        sent = [requests[place] if whole else _limited(requests[place], limit) for place in pending]
        received = ask(lm, "generate_until", sent, disable_tqdm=disable_tqdm)
        shortened = sum(request is not requests[place] for place, request in zip(pending, sent, strict=True))
        counted = f"{len(sent):,} again" if steps else f"{shortened:,} requests"
        steps.append(f"{counted} with at most {limit:,} tokens")
        again = []
        for place, request, response in zip(pending, sent, received, strict=True):
            responses[place] = response
            is_shortened = request is not requests[place]
            if is_shortened and not (_is_whole(lm, response, limit) or _is_settled(request, response)):
                again.append(place)
        pending = again
        if not pending:
            break
    logger.info("sent %s", ", ".join(steps))
    return responses


def is_sampled(settings: Mapping[str, Any]) -> bool:
    """Whether answers are sampled. APIs have no `do_sample`, so a temperature above 0 is enough."""
    temperature = settings.get("temperature") or 0
    return bool(settings.get("do_sample")) or not isinstance(temperature, int | float) or temperature > 0


def _limited(request: Instance, limit: int) -> Instance:
    """Lower the token limit of a request, unless it belongs to another task, is a sample, or has a lower limit."""
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
    """Whether a response ended before the token limit, judged by its length.

    False if the length is not reliable: for an empty response, from which a server may have removed reasoning, and for
    a model with a `think_end_token`, which always removes it.
    """
    model = behind(lm)
    if type(response) is Response:  # the server said why it ended
        return not response.cut_off
    if not isinstance(response, str) or not response or getattr(model, "think_end_token", None) is not None:
        return False
    room = limit - max(_LEAST_ROOM, limit // _SHARE_OF_ROOM)
    if len(response.encode("utf-8", "replace")) <= room:  # a token has at least one byte
        return True
    try:
        tokens = model.tok_encode(response)
        return len(tokens) <= room and all(isinstance(token, int) for token in tokens)
    except Exception:  # most APIs have no tokenizer, or one with another interface
        return False


def known(model: Any, request: Instance, response: Any) -> Any:
    """Attach to a response what is known about it besides its text.

    Args:
        model: The back end, None if unknown.
        request: The request with its final token limit.
        response: The response.

    Returns:
        A `Response`. Without a finish reason, a response that has as many tokens as the limit was cut off. With a
        `think_end_token`, one that was cut off before this token is reasoning.
    """
    if not isinstance(response, str) or isinstance(response, Skipped):
        return response
    prompt, settings = request.args
    come = response if isinstance(response, Response) else Response(response)
    cut_off = come.cut_off or (come is not response and _reaches(model, response, settings.get("max_gen_toks")))
    end = getattr(model, "think_end_token", None)
    opened = opens_reasoning(str(prompt)) or (cut_off and end is not None and str(end) not in response)
    return Response(str(response), cut_off=cut_off, opened=opened, came=come.came)


def _reaches(model: Any, response: str, limit: Any) -> bool:
    """Whether a response has as many tokens as the limit; False if they cannot be counted."""
    if not isinstance(limit, int) or len(response.encode("utf-8", "replace")) < limit:  # a token has at least one byte
        return False
    try:
        return len(model.tok_encode(response)) >= limit
    except Exception:  # most APIs have no tokenizer, or one with another interface
        return False


def _is_settled(request: Instance, response: Any) -> bool:
    task = task_of(request)
    return task is not None and isinstance(response, str) and task.is_settled(request, response)


def _listed(limits: Sequence[int]) -> str:
    return ",".join(map(str, limits))
