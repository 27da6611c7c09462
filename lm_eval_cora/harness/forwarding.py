"""Wrapper of a model that forwards every member of the harness' interface."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CachingLM


def _passed_on(name: str) -> Any:
    """Make a property that returns this member of the wrapped model."""
    return property(lambda layer: getattr(layer.lm, name))


class ForwardingLM(LM):  # type: ignore[misc]  # the harness ships no types
    """Forwards every member of the harness' base class to the wrapped model.

    Python does not call `__getattr__` for members of the base class: without its entry here, `rank` would be the base
    class' 0 on every rank. `__getattr__` forwards the members that only back ends have.
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
        """Wrap a model."""
        # Do not call the base class: rank and world size are the model's.
        self.lm = lm

    def __getattr__(self, name: str) -> Any:
        if name == "lm":  # before __init__, as when a copy is made
            raise AttributeError(name)
        return getattr(self.lm, name)

    def get_model_info(self) -> Any:
        """Description of the model for the results file; empty if the back end has none."""
        info = getattr(self.lm, "get_model_info", None)
        return {} if info is None else info()


def behind(model: Any) -> Any:
    """Return the model inside the harness' cache and our wrappers."""
    while isinstance(model, ForwardingLM | CachingLM):
        model = model.lm
    return model


def ask(lm: Any, method: str, requests: Sequence[Instance], *, disable_tqdm: bool = False) -> list[Any]:
    """Send requests to a model."""
    call = getattr(lm, method)
    hidden = disable_tqdm and "disable_tqdm" in signature(call).parameters
    answers: list[Any] = call(requests, disable_tqdm=True) if hidden else call(requests)
    if len(answers) != len(requests):
        raise ValueError(f"the model: expected {len(requests)} responses, got {len(answers)} (in {method})")
    return answers
