"""What back ends send to a server, and how the server describes its models."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

from lm_eval.models.api_models import TemplateAPI

from lm_eval_cora.harness.compat import payload_of_a_turn

_SECONDS_FOR_A_LIST = 10

_OF_A_MODEL = ("id", "root", "max_model_len", "meta")
"""Keys of an entry in a server's list of models that describe the model, not the day or the process."""


def is_served(model: Any) -> bool:
    """Whether a back end sends its requests to a server."""
    return isinstance(model, TemplateAPI)


def formats_chats(model: Any) -> bool:
    """Whether a back end sends chat turns to a server, which applies its own chat template."""
    return "messages" in _payload(model)


def needs_seeds(model: Any) -> bool:
    """Whether identical requests return identical samples unless their seeds differ.

    This is the case for APIs that get the harness' seed with each request, and for replicas of vLLM, which all start
    with that seed. Other APIs do not have this parameter and refuse it.
    """
    return replicas_of_vllm(model) > 1 or "seed" in _payload(model)


def is_always_random(model: Any) -> bool:
    """Whether a back end sends a temperature above 0 even with greedy decoding, as for OpenAI's reasoning models."""
    temperature = _payload(model).get("temperature")
    return isinstance(temperature, int | float) and temperature > 0


def is_vllm(model: Any) -> bool:
    """Whether a back end is vLLM in this process."""
    return type(model).__name__.startswith("VLLM")


def replicas_of_vllm(model: Any) -> int:
    """The number of models that vLLM loads in this process; 1 for other back ends."""
    return int(getattr(model, "data_parallel_size", 1)) if is_vllm(model) else 1


def _payload(model: Any) -> dict[str, Any]:
    """The payload that a back end sends to a server for a chat turn; empty for other back ends."""
    return payload_of_a_turn(model) if is_served(model) else {}


def listed_model(model: Any) -> dict[str, Any]:
    """Return the server's description of the model, to tell it from other models."""
    base, found, _ = str(model.base_url).partition("/v1")
    if not found:
        return {}
    try:
        with urlopen(Request(f"{base}/v1/models", headers=model.header), timeout=_SECONDS_FOR_A_LIST) as response:
            listed = json.load(response)["data"]
        return next({key: one[key] for key in _OF_A_MODEL if key in one} for one in listed if one["id"] == model.model)
    except Exception:  # ignore all errors here; the first request reports them
        return {}
