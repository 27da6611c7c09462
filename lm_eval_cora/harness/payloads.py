"""What back ends send to a server, and what the server says of its models."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

from lm_eval.models.api_models import TemplateAPI

from lm_eval_cora.harness.compat import payload_of_a_turn

_SECONDS_FOR_A_LIST = 10

_OF_A_MODEL = ("id", "root", "max_model_len", "meta")
"""What a server's list says of a model that is not about the day or the process."""


def is_served(model: Any) -> bool:
    """Whether a back end sends its requests to a server."""
    return isinstance(model, TemplateAPI)


def formats_chats(model: Any) -> bool:
    """Whether a back end sends turns to a server, which puts them into its own chat template."""
    return "messages" in _payload(model)


def needs_seeds(model: Any) -> bool:
    """Whether equal requests get equal samples unless their seeds differ.

    So it is with an API that gets the harness' one seed with each request, and with replicas of vLLM, which all begin
    with that seed. Other APIs have no such parameter, and refuse it.
    """
    return replicas_of_vllm(model) > 1 or "seed" in _payload(model)


def is_vllm(model: Any) -> bool:
    """Whether a back end is vLLM in this process."""
    return type(model).__name__.startswith("VLLM")


def replicas_of_vllm(model: Any) -> int:
    """The number of models that vLLM loads in this process; 1 for other back ends."""
    return int(getattr(model, "data_parallel_size", 1)) if is_vllm(model) else 1


def _payload(model: Any) -> dict[str, Any]:
    """What a back end sends to a server for a turn; empty for other back ends."""
    return payload_of_a_turn(model) if is_served(model) else {}


def listed_model(model: Any) -> dict[str, Any]:
    """What a server says of the model that is asked, as far as it tells that from another one.

    Args:
        model: A back end that asks a server.

    Returns:
        What it says; empty if it does not answer, or has no such list.
    """
    base, found, _ = str(model.base_url).partition("/v1")
    if not found:
        return {}
    try:
        with urlopen(Request(f"{base}/v1/models", headers=model.header), timeout=_SECONDS_FOR_A_LIST) as response:
            listed = json.load(response)["data"]
        return next({key: one[key] for key in _OF_A_MODEL if key in one} for one in listed if one["id"] == model.model)
    except Exception:  # whatever a server may send; the first request tells more
        return {}
