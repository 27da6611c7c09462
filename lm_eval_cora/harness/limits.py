"""Generation with increasing token limits: only responses that one limit cut off are asked for with the next."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lm_eval.api.instance import Instance

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.plain import opens_reasoning
from lm_eval_cora.answers.records import Response, Skipped
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.compat import ask, behind
from lm_eval_cora.harness.constrained import WAYS
from lm_eval_cora.harness.rounds import task_of
from lm_eval_cora.log import logger

# A response counts as complete if at least 4 tokens and an eighth of the limit are unused. The margin is for special
# tokens, which back ends remove from the text.
_LEAST_ROOM, _SHARE_OF_ROOM = 4, 8
_DIFFERENCE = 1  # a text that is tokenized again can have this number of tokens fewer than the model wrote


def check_limits(limits: Sequence[int], budget: int | None) -> None:
    """Check token limits that will be used one after the other."""
    option = f"--max_gen_toks {','.join(map(str, limits))}"
    if any(isinstance(limit, bool) or not isinstance(limit, int) or limit < 1 for limit in limits):
        raise UserError(f"{option}: expected whole numbers from 1")
    if list(limits) != sorted(set(limits)):
        raise UserError(f"{option}: expected increasing limits, such as 32,512")
    if len(limits) > 1 and budget is not None:
        raise UserError(
            f"{option}: several limits send some requests again, but --budget {budget} counts each request once. "
            "Pass one limit, or --until instead of the budget"
        )


def generate(
    lm: Any, requests: Sequence[Instance], limits: Sequence[int] = (), *, disable_tqdm: bool = False
) -> list[Any]:
    """Generate responses. Those to our tasks know whether they were cut off."""
    # With several limits, a request is sent again with the next one if its response may be cut off and its answer could
    # change. With greedy decoding, the answers are the same as with the last limit alone. Samples and requests of other
    # tasks are sent once, unchanged.
    responses: list[Any] = [None] * len(requests)
    pending = list(range(len(requests)))
    steps: list[str] = []
    for limit in limits or [0]:
        # The last step sends requests unchanged: some have a larger limit of their own.
        is_last = not limits or limit == limits[-1]
        sent = [requests[place] if is_last else _limited(requests[place], limit) for place in pending]
        received = ask(lm, "generate_until", sent, disable_tqdm=disable_tqdm)
        for place, request, response in zip(pending, sent, received, strict=True):
            responses[place] = response if task_of(request) is None else annotated(behind(lm), request, response)
        limited = [place for place, request in zip(pending, sent, strict=True) if request is not requests[place]]
        counted = f"{len(sent):,} again" if steps else f"{len(limited):,} requests"
        steps.append(f"{counted} with at most {limit:,} tokens")
        pending = [place for place in limited if not _is_final(requests[place], responses[place])]
        if not pending:
            break
    if len(limits) > 1:
        logger.info("sent %s", ", ".join(steps))
    return responses


def _is_final(request: Instance, response: Any) -> bool:
    """Whether a response is complete, or more text could not change its answer."""
    if isinstance(response, Response) and response.cut_off is False:
        return True
    task = task_of(request)
    return task is not None and isinstance(response, str) and task.is_final(request, response)


def is_sampled(settings: Mapping[str, Any]) -> bool:
    """Whether answers are sampled. APIs have no `do_sample`, so a temperature above 0 is enough, or that of the API."""
    temperature = settings.get("temperature", 0)
    return bool(settings.get("do_sample")) or not isinstance(temperature, int | float) or temperature > 0


def _limited(request: Instance, limit: int) -> Instance:
    """Lower the token limit of a request, unless it belongs to another task, is a sample, or has a lower limit."""
    task, (prompt, settings) = task_of(request), request.args
    own = settings.get("max_gen_toks")
    if task is None or is_sampled(settings) or not isinstance(own, int) or own <= limit:
        return request
    limited = replace(request, arguments=(prompt, {**settings, "max_gen_toks": limit}), resps=[], filtered_resps={})
    limited.owner = task
    return limited


def annotated(model: Any, request: Instance, response: Any) -> Any:
    """Attach to a response what is known about it besides its text."""
    if not isinstance(response, str) or isinstance(response, Skipped):
        return response
    own = Response.of(response)
    prompt, settings = request.args
    hides = getattr(model, "think_end_token", None) is not None
    if (cut_off := own.cut_off) is None:
        cut_off = _is_cut_off(model, own, settings.get("max_gen_toks"), hides=hides)
    if WAYS.keys() & settings and own.strip() in format_of(request.doc).allowed(request.doc):
        cut_off = False  # the limit of a constrained answer ends it where it is complete
    opened = own.opened or (bool(cut_off) and own.cut_off is None if hides else opens_reasoning(str(prompt)))
    return Response(str(own), cut_off=cut_off, opened=opened, came=own.came)


def _is_cut_off(model: Any, text: str, limit: Any, *, hides: bool) -> bool | None:
    """Whether a response was cut off, judged by its length; None if the length does not tell."""
    # It does not for an empty response, from which a server may have removed reasoning, for a response that is a little
    # shorter than the limit, and for a shorter one if the back end hides reasoning.
    if not text or not isinstance(limit, int):
        return None
    room = limit - max(_LEAST_ROOM, limit // _SHARE_OF_ROOM)
    least = len(text.encode("utf-8", "replace"))  # a token has at least one byte
    if least > room:
        try:
            tokens = model.tok_encode(str(text), add_special_tokens=False)
            if not all(isinstance(token, int) for token in tokens):
                return None
        except Exception:  # most APIs have no tokenizer, or one with another interface
            return None
        if len(tokens) >= limit - _DIFFERENCE:
            return True
        least = len(tokens)
    return None if hides or least > room else False
