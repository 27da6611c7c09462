"""A model that stands before another one, for the harness: whatever it is asked about itself, the other one answers."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CachingLM


def _passed_on(name: str) -> Any:
    """Make a member that is the one of the model behind."""
    return property(lambda layer: getattr(layer.lm, name))


class ForwardingLM(LM):  # type: ignore[misc]  # the harness ships no types
    """Passes on all that the harness' base class defines.

    `__getattr__` is not called for members of the base class: a forgotten `rank` would be the base class' 0 on every
    rank. So each of them stands here, and `__getattr__` passes on what only back ends have.
    """

    rank = _passed_on("rank")
    world_size = _passed_on("world_size")
    device = _passed_on("device")
    tokenizer_name = _passed_on("tokenizer_name")
    chat_template = _passed_on("chat_template")
    apply_chat_template = _passed_on("apply_chat_template")
    all_gather = _passed_on("all_gather")
    gather_object = _passed_on("gather_object")
    barrier = _passed_on("barrier")
    set_cache_hook = _passed_on("set_cache_hook")
    loglikelihood = _passed_on("loglikelihood")
    loglikelihood_rolling = _passed_on("loglikelihood_rolling")
    generate_until = _passed_on("generate_until")

    def __init__(self, lm: Any) -> None:
        """Stand before a model.

        Args:
            lm: The model, or the harness' cache around one. (That is no LM itself.)
        """
        # Not the base class': rank and world size are the model's.
        self.lm = lm

    def __getattr__(self, name: str) -> Any:
        if name == "lm":  # before __init__, as when a copy is made
            raise AttributeError(name)
        return getattr(self.lm, name)

    def get_model_info(self) -> Any:
        """What the results file says of the model, nothing if its back end says nothing."""
        info = getattr(self.lm, "get_model_info", None)
        return {} if info is None else info()


def behind(model: Any) -> Any:
    """The model itself, behind the harness' cache and whatever of ours stands before it."""
    while isinstance(model, ForwardingLM | CachingLM):
        model = model.lm
    return model


def ask(lm: Any, method: str, requests: Sequence[Instance], *, disable_tqdm: bool = False) -> list[Any]:
    """Have a model answer requests.

    Args:
        lm: The model, or a cache around one.
        method: `generate_until` or `loglikelihood`.
        requests: What is asked.
        disable_tqdm: Whether the model shows no progress bar, if it has a switch for it.

    Raises:
        ValueError: If it did not answer each request.
    """
    call = getattr(lm, method)
    hidden = disable_tqdm and "disable_tqdm" in signature(call).parameters
    answers: list[Any] = call(requests, disable_tqdm=True) if hidden else call(requests)
    if len(answers) != len(requests):
        raise ValueError(f"the model gave {len(answers)} responses to {len(requests)} requests ({method})")
    return answers
