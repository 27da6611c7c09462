"""A model that answers from a hash of the prompt, in the harness and in Inspect."""

from __future__ import annotations

from typing import Any

import inspect_ai
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

from lm_eval_cora.inspect.evaluation import cora
from tests.support.distributed import draw
from tests.support.simulated import Simulated, knows

SAYS = ("A", "A", "B", "C", "yes", "no", "A and B", "Perhaps", r"The best answer is A. $\boxed{2}$", r"$\boxed{3}$")


def said(prompt: str) -> str:
    return SAYS[draw(len(SAYS), prompt)]


class Hashing(Simulated):
    def __init__(self) -> None:
        super().__init__(knows)

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        self.prompts += [request.args[0] for request in requests]
        return [said(request.args[0]) for request in requests]


class HashingAPI(ModelAPI):  # type: ignore[misc]
    """Fails for every prompt in `fails`."""

    fails: set[str] = set()  # noqa: RUF012
    prompts: list[str] = []  # noqa: RUF012

    async def generate(self, input: Any, **_: Any) -> ModelOutput:
        prompt = input[-1].text
        if prompt in self.fails:
            raise RuntimeError("no answer")
        self.prompts.append(prompt)
        output = ModelOutput.from_content(self.model_name, said(prompt))
        return output.model_copy(update={"usage": ModelUsage(total_tokens=5)})  # else counted with a vocabulary


@modelapi(name="hashing")  # type: ignore[untyped-decorator]
def hashing() -> type[HashingAPI]:
    return HashingAPI


HOW = {"model": "hashing/m", "display": "none", "max_samples": 4}


def evaluate(folder: Any, how: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """Run the task, without arguments on three questions of the demo; return the log."""
    HashingAPI.prompts = []
    task = cora(**(arguments or {"benchmark": "demo", "questions": 3}))
    (log,) = inspect_ai.eval(task, log_dir=str(folder), **HOW, **(how or {}))
    return log


def values(log: Any) -> dict[str, float]:
    return {name: one.value for name, one in log.results.scores[-1].metrics.items()}
