"""A model that stands before another one, for the harness: whatever it is asked about itself, the other one answers."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CachingLM


class ForwardingLM(LM):  # type: ignore[misc]  # the harness ships no types
    """Passes on all that the harness' base class defines.

    What the base class has, `__getattr__` never sees: a forgotten `rank` would be the base class' 0 on every rank. So
    each of its members stands here, and `__getattr__` passes on what only back ends have.
    """

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

    @property
    def rank(self) -> Any:
        """Number of this process."""
        return self.lm.rank

    @property
    def world_size(self) -> Any:
        """Number of processes."""
        return self.lm.world_size

    @property
    def device(self) -> Any:
        """Where the model's tensors are."""
        return self.lm.device

    @property
    def tokenizer_name(self) -> Any:
        """Name of the tokenizer."""
        return self.lm.tokenizer_name

    def chat_template(self, *arguments: Any, **named: Any) -> Any:
        """The model's chat template."""
        return self.lm.chat_template(*arguments, **named)

    def apply_chat_template(self, *arguments: Any, **named: Any) -> Any:
        """Put turns into the model's chat template."""
        return self.lm.apply_chat_template(*arguments, **named)

    def all_gather(self, *arguments: Any, **named: Any) -> Any:
        """A tensor of each rank, on all ranks."""
        return self.lm.all_gather(*arguments, **named)

    def gather_object(self, *arguments: Any, **named: Any) -> Any:
        """An object of each rank, on one rank."""
        return self.lm.gather_object(*arguments, **named)

    def barrier(self, *arguments: Any, **named: Any) -> Any:
        """Wait for all ranks."""
        return self.lm.barrier(*arguments, **named)

    def set_cache_hook(self, *arguments: Any, **named: Any) -> Any:
        """Tell the model of a cache around it."""
        return self.lm.set_cache_hook(*arguments, **named)

    def get_model_info(self) -> Any:
        """What the results file says of the model, nothing if its back end says nothing."""
        info = getattr(self.lm, "get_model_info", None)
        return {} if info is None else info()

    def loglikelihood(self, *arguments: Any, **named: Any) -> Any:
        """Score answers."""
        return self.lm.loglikelihood(*arguments, **named)

    def loglikelihood_rolling(self, *arguments: Any, **named: Any) -> Any:
        """Score whole texts."""
        return self.lm.loglikelihood_rolling(*arguments, **named)

    def generate_until(self, *arguments: Any, **named: Any) -> Any:
        """Write answers."""
        return self.lm.generate_until(*arguments, **named)


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
