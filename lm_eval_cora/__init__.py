"""Consistency-aware multiple choice evaluation, with and without EleutherAI's lm-evaluation-harness.

    import lm_eval_cora as cora

    scores = cora.score(frame, question="id", variant="variant", correct="ok", original="is_original")
    scores["cora"].value, scores["cora"].stderr, scores["cora"].interval

Functions:

- `score`: score answers that you collected yourself.
- `compare`: compare two or more sets of scores, paired by question.
- `read_runs`: read runs of the harness: their files, or what `simple_evaluate` returns.
- `write_report`: write the report of such runs.
- `write_records`: write records of such runs for Every Eval Ever.
- `expand`: make the variants of questions, and their prompts.
- `read`: read a model's responses to these prompts, and score them.
- `read_answer`: read one response, and see which rule and which characters decided.
- `metrics`: metrics of arrays, such as `metrics.cora(correct)`.
- `stop_early`: wrap a model of the harness so that it skips requests which cannot change the scores.
- `tasks_folder`: the folder of the task files, for `TaskManager(include_path=...)`.

Everything else is private and may change. The data flows in one direction, a package or module for each step::

    dataset row -> Question -> Variants -> prompt -> [model] -> response -> Answer -> Record -> ResponseTable -> metrics
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lm_eval_cora import metrics as metrics
    from lm_eval_cora.answers import Answer as Answer
    from lm_eval_cora.answers.records import read_answer as read_answer
    from lm_eval_cora.api import expand as expand
    from lm_eval_cora.api import read as read
    from lm_eval_cora.api import read_runs as read_runs
    from lm_eval_cora.api import score as score
    from lm_eval_cora.api import write_records as write_records
    from lm_eval_cora.api import write_report as write_report
    from lm_eval_cora.discovery.location import tasks_folder as tasks_folder
    from lm_eval_cora.harness.asking import stop_early as stop_early
    from lm_eval_cora.metrics.estimate import Estimate as Estimate
    from lm_eval_cora.scores import Comparison as Comparison
    from lm_eval_cora.scores import Comparisons as Comparisons
    from lm_eval_cora.scores import Scores as Scores
    from lm_eval_cora.scores import compare as compare
    from lm_eval_cora.variants.variant import Variant as Variant

__version__ = "1.0.0rc1"

_MODULES = {
    "score": "api",
    "compare": "scores",
    "read_runs": "api",
    "write_report": "api",
    "write_records": "api",
    "expand": "api",
    "read": "api",
    "read_answer": "answers.records",
    "metrics": "metrics",
    "stop_early": "harness.asking",
    "tasks_folder": "discovery.location",
    "Scores": "scores",
    "Comparison": "scores",
    "Comparisons": "scores",
    "Estimate": "metrics.estimate",
    "Variant": "variants.variant",
    "Answer": "answers",
}
"""The module of each public name. The start-up module imports this package with the harness, so nothing is imported
before it is used."""

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES[name]}")
    found = module if name == "metrics" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
