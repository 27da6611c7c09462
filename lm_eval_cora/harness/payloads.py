"""What back ends send to a server, and what the server says of its models."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import urlopen

from lm_eval.models.api_models import TemplateAPI

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
    """Whether equal requests get equal samples unless each is sent with a seed of its own.

    So it is with an API that gets the harness' one seed with each request, and with replicas of vLLM, which all begin
    with that seed. Other APIs have no such parameter, and refuse it.
    """
    if type(model).__name__ == "VLLM":
        return bool(model.data_parallel_size > 1)
    return "seed" in _payload(model)


def _payload(model: Any) -> dict[str, Any]:
    """What a back end sends; empty for those that send nothing."""
    if not is_served(model):
        return {}
    payload: dict[str, Any] = model._create_payload(
        [{"role": "user", "content": "A"}], generate=True, gen_kwargs={"until": ["B"]}, seed=1
    )
    return payload


def listed_models(url: str | None) -> list[Any]:
    """What a server says of its models, as far as it tells these from others.

    Args:
        url: Where requests are sent.

    Returns:
        What it says; empty if it does not answer, or has no such page.
    """
    version = str(url).find("/v1")
    try:
        with urlopen(f"{str(url)[:version]}/v1/models", timeout=_SECONDS_FOR_A_LIST) as response:
            models = json.load(response)["data"]
        return [{key: model[key] for key in _OF_A_MODEL if key in model} for model in models]
    except Exception:  # whatever a server may send; the first request tells more
        return []


def leave_out_empty_stops(model: Any) -> None:
    """Have a back end send no `stop` where it would be an empty list, which some servers refuse."""
    if not is_served(model) or hasattr(model._create_payload, "without_stops"):
        return
    create = model._create_payload

    def without_stops(*arguments: Any, **named: Any) -> dict[str, Any]:
        payload: dict[str, Any] = create(*arguments, **named)
        for part in (payload, payload.get("sampling_params")):
            if isinstance(part, dict) and part.get("stop") == []:
                del part["stop"]
        return payload

    without_stops.without_stops = True  # type: ignore[attr-defined]
    model._create_payload = without_stops
