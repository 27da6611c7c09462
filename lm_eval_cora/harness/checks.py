"""Checks before the first request, for mistakes that would invalidate all answers of a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from shlex import quote
from typing import Any

from lm_eval.utils import simple_parse_args_string

from lm_eval_cora.answers.workers import command
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import AskingLM
from lm_eval_cora.harness.compat import argument_of_the_run
from lm_eval_cora.harness.forwarding import behind
from lm_eval_cora.harness.scored import CHECKER
from lm_eval_cora.log import logger
from lm_eval_cora.metrics import cora
from lm_eval_cora.metrics.entries import Entry
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import shorten

AMBIGUOUS = frozenset(
    {"answer", "category", "choices", "config", "id", "name", "question", "revision", "seed", "split"}
)
"""Names of options that are also common keys of a task's metadata.

Back ends of the harness have the arguments `revision` and `seed`, and pass `config` to transformers. The other names
are common in task files, whose `metadata` may contain any keys.
"""

_GIVEN: ContextVar[Mapping[str, Any] | None] = ContextVar("_GIVEN", default=None)
"""The content of --metadata, None if no command of this package has set it."""

_KEY = "cora"


def check_comparison(task: str) -> None:
    """Check that math-verify can compare answers."""
    if find_spec("math_verify") is None:
        raise UserError(
            f"{task}: comparing answers needs math-verify, which is not installed. Run pip install 'lm-eval-cora[math]'"
        )
    if CHECKER.verdict("(x+1)^2", "x^2+2x+1") is not True:
        said = subprocess.run(command(), input="", capture_output=True, text=True, check=False).stderr.strip()
        raise UserError(
            f"{task}: a test comparison of two answers with math-verify, in a process of its own, failed"
            f"{f': {said.splitlines()[-1]}' if said else ''}. Unless this message names another cause, reinstall "
            "math-verify and the ANTLR version that it needs: pip install 'lm-eval-cora[math]'"
        )


def check_sampling(task: str, settings: Mapping[str, Any]) -> None:
    """Check that the generation settings draw samples: greedy answers would all be the same."""
    if "seed" in settings:
        raise UserError(
            f"{task}: --gen_kwargs seed={settings['seed']} would send this seed with every request, so all samples of "
            "a question would be the same. Remove it. To send a different seed with each sample, pass "
            """--metadata '{"cora": {"request_seeds": true}}'"""
        )
    temperature = settings.get("temperature", 0)
    hot = isinstance(temperature, int | float) and temperature > 0
    if settings.get("do_sample") is not True or not hot:
        raise UserError(
            f"{task}: generation settings: expected do_sample=true and a temperature above 0, because this task "
            f"compares samples; got {dict(settings)}. Remove these settings from --gen_kwargs"
        )


def check_seeds(task: str, options: Options, model: Any) -> None:
    """Check that the model accepts seeds if the option `request_seeds` is set."""
    bases = type(behind(model)).__mro__
    if options.request_seeds and any(base.__name__ == "HFLM" for base in bases):
        raise UserError(
            f"{task}: option 'request_seeds': the back end 'hf' does not accept a seed with a request. Its samples "
            "differ without one. Remove the option; --seed makes the samples reproducible"
        )


def check_stopping(task: str, model: AskingLM, config: Any, entries: Sequence[Entry], *, filters: int) -> None:
    """Check that the task and the model allow skipped requests."""
    how = model.described
    scored_early = model.stop is not None or model.target is not None
    if scored_early and not callable(config.process_results):
        raise UserError(
            f"{task}: {how} needs scored answers, but --predict_only disables scoring. Remove one of the two"
        )
    if scored_early and filters > 1:
        raise UserError(
            f"{task}: {how}: expected one filter in filter_list, got {filters}. An answer that is settled under one "
            "filter may still change under another. Run the task with one filter"
        )
    if config.repeats > 1:
        raise UserError(f"{task}: {how}: expected repeats: 1, got {config.repeats} in the task file")
    if model.target is not None or model.whole is not None:
        option = "--target-stderr" if model.whole is None else "--target"
        if not any(entry["aggregation"] is cora and "without" not in entry for entry in entries):
            raise UserError(
                f"{task}: {how}: {option} needs the metric cora, which this task does not have. Remove the option"
            )
    back_end = behind(model)
    schedule = getattr(back_end, "batch_schedule", 1)
    if isinstance(schedule, int | float) and schedule > 1:
        raise UserError(
            f"{task}: {how}: --batch_size auto:{schedule:g} adapts batches to one long list of requests, but these "
            "options send many short lists. Set --batch_size to a number"
        )
    if getattr(back_end, "batch_size", None) == "auto" and back_end.world_size > 1:
        raise UserError(
            f"{task}: {how}: with --batch_size auto all processes measure the batch size together in each call, but "
            "with these options they call the model a different number of times. Set --batch_size to a number"
        )


def check_exemplar_settings(config: Mapping[str, Any]) -> None:
    """Refuse settings for the choice of exemplars in a task file: they would be ignored."""
    given = {"sampler", "split", "samples", "fewshot_indices"} & (config.get("fewshot_config") or {}).keys()
    given |= {"fewshot_split", "training_split", "validation_split"} & {key for key, value in config.items() if value}
    if given:
        raise UserError(
            f"{config['task']}: {', '.join(sorted(given))} in the task file would be ignored: exemplars are drawn from "
            "the source in `benchmark`, and all variants of a question get the same ones. Remove this setting"
        )


@contextmanager
def given_metadata(merged: Mapping[str, Any], model_args: Mapping[str, Any] | str | None = None) -> Iterator[None]:
    """Make the content of --metadata available to `check_metadata` while tasks are loaded."""
    token = _GIVEN.set(_without(merged, model_args))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def check_metadata(task: str, metadata: Mapping[str, Any]) -> None:
    """Refuse options outside the key `cora` of --metadata: they would be ignored."""
    known = _known_metadata()
    given = metadata if known is None else known
    if text := "".join(f"{name}{value or ''}, " for name, value in given.items() if "{" in str(name)).rstrip(", "):
        raise UserError(  # the harness takes the text of a --config file for key=value pairs
            f"{task}: metadata: expected an object in the --config file, got the text {shorten(text)!r}. Remove the "
            "quotes around it"
        )
    misplaced = [name for name, value in given.items() if _is_misplaced(name, value, task)]
    unsure = [name for name in misplaced if known is None and name in AMBIGUOUS]
    if wrong := [name for name in misplaced if name not in unsure]:
        raise UserError(
            f"{task}: {', '.join(map(repr, wrong))} in --metadata would be ignored, because options are read only "
            f"inside of {_KEY!r}. Pass --metadata {_corrected(given, wrong, others=known is not None)}"
        )
    for name in unsure:
        logger.warning(
            "%s: %r in the metadata is not read as an option; options belong inside {'cora': {...}}", task, name
        )


def _known_metadata() -> Mapping[str, Any] | None:
    """The content of --metadata; None if unknown."""
    given = _GIVEN.get()
    manager = argument_of_the_run("task_manager")
    if given is not None or manager is None:
        return given
    return _without(manager.metadata or {}, argument_of_the_run("model_args"))


def _without(merged: Mapping[str, Any], model_args: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """The metadata without the model arguments; if both have a key with different values, it is kept."""
    args = model_args if isinstance(model_args, Mapping) else simple_parse_args_string(model_args or "")
    return {
        name: value
        for name, value in merged.items()
        if name not in args or (isinstance(value, str | int | float) and value != args[name])
    }


def _is_misplaced(name: object, value: object, task: str) -> bool:
    """Whether a key is an option, the options of one task, or a misspelled `cora`, such as `CORA` or `cora.seed`."""
    by_task = isinstance(value, Mapping) and (name == task or str(name).startswith(f"{_KEY}_"))
    return by_task or name in Options.names() or (name != _KEY and str(name).strip().lower().partition(".")[0] == _KEY)


def _corrected(given: Mapping[str, Any], misplaced: Sequence[str], *, others: bool) -> str:
    """The metadata with all options inside of `cora`, quoted for a shell."""
    options: dict[str, Any] = dict(given[_KEY]) if isinstance(given.get(_KEY), Mapping) else {}
    for name in misplaced:
        for option, value in _options_of(str(name), given[name]).items():
            options.setdefault(option, value)
    beside = {name: value for name, value in given.items() if others and name not in (_KEY, *misplaced)}
    return quote(json.dumps({_KEY: options or {"seed": 1}, **beside}, ensure_ascii=False, default=shorten))


def _options_of(name: str, value: Any) -> Mapping[str, Any]:
    """The options that the user meant by a misplaced key."""
    if name in Options.names():
        return {name: value}
    part = name.strip().partition(".")[2]
    if part:
        return {part: value}
    return value if isinstance(value, Mapping) else {}
