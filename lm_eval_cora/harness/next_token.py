"""All letters of a prompt scored with one request, by the likeliest next tokens, which a back end returns as a text."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

from lm_eval_cora.answers.likeliest import TOP, as_text


def alike_in(labels: Iterable[Sequence[str]]) -> Sequence[str]:
    """The labels of a prompt of which two may begin with the same token, as 1 and 10 or i and ii; empty if none do.

    Example:
        >>> alike_in([("yes", "no"), ("1", "2", "10")])
        ('1', '2', '10')
    """
    return next((each for each in {*map(tuple, labels)} if len({label[:1] for label in each}) < len(each)), ())


def top_of(model: Any) -> int:
    """The number of tokens that a back end returns, as far as it is known."""
    return int(getattr(model, "next_tokens", TOP))


def settings_of(model: Any) -> dict[str, Any]:
    """The generation settings of a request for the next token."""
    return {"max_gen_toks": 1, "temperature": 0.0, "until": [], "logprobs": top_of(model)}


def read_in_process(model: Any) -> bool:
    """Let transformers or vLLM answer such requests; return whether the model is one of them."""
    names, model.next_tokens = [base.__name__ for base in type(model).__mro__], TOP
    own: Any = getattr(model, "_model_generate", None)
    if "HFLM" in names:
        decode = model.tok_decode
        model._model_generate = partial(_of_transformers, model, own)
        model.tok_decode = lambda tokens, **how: (
            tokens[0] if isinstance(tokens, list) and str in map(type, tokens) else decode(tokens, **how)
        )
    elif "VLLM" in names:
        model._model_generate = partial(_of_vllm, own)
    return not {"HFLM", "VLLM"}.isdisjoint(names)


def _of_transformers(model: Any, own: Any, *, logprobs: int = 0, **named: Any) -> Any:
    """Generate, and return texts in place of the new tokens, which `generate_until` then decodes."""
    if not logprobs:
        return own(**named)
    output, rows = own(**named, output_logits=True, return_dict_in_generate=True), []
    for scores, tokens in zip(*output.logits[0].float().log_softmax(-1).topk(logprobs), strict=True):
        texts = zip(model.tokenizer.batch_decode(tokens[:, None]), scores.tolist(), strict=True)
        rows.append([0] * named["context"].shape[1] + [_text(texts)])
    return SimpleNamespace(tolist=lambda: rows)


def _of_vllm(own: Any, **named: Any) -> Any:
    outputs = own(**named)
    for output in (output.outputs[0] for output in outputs):
        if output.logprobs:
            output.text = _text((one.decoded_token, one.logprob) for one in output.logprobs[0].values())
    return outputs


def _text(tokens: Iterable[tuple[Any, Any]]) -> str:
    """The tokens as text; empty if a model returns no numbers, as some do in float16."""
    with suppress(ValueError):
        return as_text(tokens)
    return ""
