"""What is looked at before the first request because it would spoil all of them."""

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

from lm_eval_cora.equivalence.workers import command
from lm_eval_cora.harness.asking import AskingLM
from lm_eval_cora.harness.compat import argument_of_the_run
from lm_eval_cora.harness.forwarding import behind
from lm_eval_cora.harness.log import logger
from lm_eval_cora.harness.scoring import CHECKER
from lm_eval_cora.metrics import cora
from lm_eval_cora.metrics.entries import Entry
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.question import shorten

AMBIGUOUS = frozenset(
    {"answer", "category", "choices", "config", "id", "name", "question", "revision", "seed", "split"}
)
"""Options whose names other keys of a task's metadata have, too.

Back ends of the harness have the arguments `revision` and `seed`, and pass `config` on to transformers. The other names
are common in task files, where anybody may put anything into `metadata`.
"""

_GIVEN: ContextVar[Mapping[str, Any] | None] = ContextVar("_GIVEN", default=None)
"""What --metadata holds, where a command of ours knows it."""

_KEY = "cora"


def check_comparison(task: str) -> None:
    """See that answers can be compared.

    Args:
        task: Name of the task, for the error message.

    Raises:
        OptionError: If math-verify is missing, or no process can be started for it.
    """
    if find_spec("math_verify") is None:
        raise OptionError(
            f"{task}: answers are compared with math-verify, which is not installed: pip install 'lm-eval-cora[math]'"
        )
    if CHECKER.verdict("(x+1)^2", "x^2+2x+1") is not True:
        said = subprocess.run(command(), input="", capture_output=True, text=True, check=False).stderr.strip()
        raise OptionError(
            f"{task}: answers are compared with math-verify in processes of their own, and a first comparison there "
            f"failed{f': {said.splitlines()[-1]}' if said else ''}. If it says nothing of another cause, reinstall "
            "math-verify with the ANTLR version that it fits: pip install 'lm-eval-cora[math]'"
        )


def check_sampling(task: str, settings: Mapping[str, Any]) -> None:
    """See that samples will be drawn: greedy answers would all be the same, and so would those from a cache.

    Args:
        task: Name of the task, for the error message.
        settings: The generation settings as --gen_kwargs leaves them.

    Raises:
        OptionError: If there is a seed, `do_sample` is not true, or the temperature not above 0. Without the second
            the harness' cache (--use_cache) gives the first sample again for each of the others.
    """
    if "seed" in settings:
        raise OptionError(
            f"{task}: --gen_kwargs seed={settings['seed']} would go with every request, and so the samples would be "
            """one; a seed for each sample is sent by --metadata '{"cora": {"request_seeds": true}}'"""
        )
    temperature = settings.get("temperature", 0)
    hot = isinstance(temperature, int | float) and temperature > 0
    if settings.get("do_sample") is not True or not hot:
        raise OptionError(
            f"{task}: the generation settings are {dict(settings)}: expected do_sample=true and a temperature above 0, "
            "because this task compares samples; take them out of --gen_kwargs"
        )


def check_seeds(task: str, options: Options, model: Any) -> None:
    """See that the model takes the seeds that are asked for.

    Args:
        task: Name of the task, for the error message.
        options: Whether seeds are asked for.
        model: The model, None if it is not known.

    Raises:
        OptionError: If the model is one of transformers, which refuses a seed.
    """
    bases = type(behind(model)).__mro__
    if options.request_seeds and any(base.__name__ == "HFLM" for base in bases):
        raise OptionError(
            f"{task}: option 'request_seeds': the back end 'hf' takes no seed with a request, and needs none: its "
            "samples differ. Leave the option out; --seed decides them"
        )


def check_stopping(task: str, model: AskingLM, config: Any, entries: Sequence[Entry], *, filters: int) -> None:
    """See that nothing is in the way of leaving requests out.

    Args:
        task: Name of the task, for the error message.
        model: The model that leaves them out.
        config: The task's.
        entries: Its metrics.
        filters: Number of its filters.

    Raises:
        OptionError: If the target is about a metric that the task does not have; it matters how answers are scored,
            and they are not, or in more than one way; a variant is asked more than once; or the model's way to find a
            batch size needs long lists of requests, or all ranks to call it as often.
    """
    how = model.described
    scored_early = model.stop is not None or model.target is not None
    if scored_early and not callable(config.process_results):
        raise OptionError(
            f"{task}: {how}: with --predict_only nothing is scored, and so nothing is known to be settled"
        )
    if scored_early and filters > 1:
        raise OptionError(
            f"{task}: {how}: the task reads answers in {filters} ways (filter_list), and what one of them settles the "
            "others do not; run it with one filter"
        )
    if config.repeats > 1:
        raise OptionError(f"{task}: {how}: the task asks each variant {config.repeats} times (repeats); expected 1")
    if model.target is not None and not any(entry["aggregation"] is cora for entry in entries):
        raise OptionError(f"{task}: {how}: this is about cora, a metric that the task does not have")
    back_end = behind(model)
    schedule = getattr(back_end, "batch_schedule", 1)
    if isinstance(schedule, int | float) and schedule > 1:
        raise OptionError(
            f"{task}: {how}: --batch_size auto:{schedule:g} fits batches to one long list of requests, and here are "
            "many short ones; give a number"
        )
    if getattr(back_end, "batch_size", None) == "auto" and back_end.world_size > 1:
        raise OptionError(
            f"{task}: {how}: with --batch_size auto the processes measure the batch size together at each call, and "
            "here each calls as often as its own questions need; give a number"
        )


def check_exemplar_settings(config: Mapping[str, Any]) -> None:
    """Refuse what a task file says about the choice of exemplars: it would be ignored.

    Args:
        config: The task file.

    Raises:
        OptionError: If it says something about that.
    """
    given = {"sampler", "split", "samples", "fewshot_indices"} & (config.get("fewshot_config") or {}).keys()
    given |= {"fewshot_split", "training_split", "validation_split"} & {key for key, value in config.items() if value}
    if given:
        raise OptionError(
            f"{config['task']}: {', '.join(sorted(given))}: exemplars are drawn by question from the source that "
            "`benchmark` names, so that all variants of a question see the same ones; remove it"
        )


@contextmanager
def given_metadata(merged: Mapping[str, Any], model_args: Mapping[str, Any] | str | None = None) -> Iterator[None]:
    """Let `check_metadata` know what --metadata holds, for as long as tasks are loaded.

    Args:
        merged: The metadata that the tasks get.
        model_args: The model arguments, which are in it, too.
    """
    token = _GIVEN.set(_without(merged, model_args))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def check_metadata(task: str, metadata: Mapping[str, Any]) -> None:
    """See that no option is beside the key `cora` of --metadata: it would be ignored, and all questions asked.

    Args:
        task: Name of the task, for the error message.
        metadata: The task's. The harness merges those of the task file, --model_args and --metadata into it.

    Raises:
        OptionError: If there is an option, or `cora` is misspelled. Where the sources of the metadata cannot be told
            apart, names in `AMBIGUOUS` are logged as a warning.
    """
    known = _known_metadata()
    given = metadata if known is None else known
    misplaced = [name for name in given if _is_misplaced(name)]
    unsure = [name for name in misplaced if known is None and name in AMBIGUOUS]
    if wrong := [name for name in misplaced if name not in unsure]:
        raise OptionError(
            f"{task}: {', '.join(map(repr, wrong))} in --metadata would be ignored, because options are read only "
            f"inside of {_KEY!r}. Give --metadata {_corrected(given, wrong, others=known is not None)}"
        )
    for name in unsure:
        logger.warning(
            "%s: %r in the metadata is not read as an option; options are given as {'cora': {...}}", task, name
        )


def _known_metadata() -> Mapping[str, Any] | None:
    """What --metadata holds; None if that is not known."""
    given = _GIVEN.get()
    manager = argument_of_the_run("task_manager")
    if given is not None or manager is None:
        return given
    return _without(manager.metadata or {}, argument_of_the_run("model_args"))


def _without(merged: Mapping[str, Any], model_args: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """The metadata without the model arguments; --metadata wins where both have a name."""
    args = model_args if isinstance(model_args, Mapping) else simple_parse_args_string(model_args or "")
    return {
        name: value
        for name, value in merged.items()
        if name not in args or (isinstance(value, str | int | float) and value != args[name])
    }


def _is_misplaced(name: object) -> bool:
    """Whether a key is an option outside of `cora`, or `cora` misspelled: `CORA`, or `cora.seed`."""
    return name in Options.names() or (name != _KEY and str(name).strip().lower().partition(".")[0] == _KEY)


def _corrected(given: Mapping[str, Any], misplaced: Sequence[str], *, others: bool) -> str:
    """The metadata with all options inside of `cora`, to be pasted into a shell."""
    options: dict[str, Any] = dict(given[_KEY]) if isinstance(given.get(_KEY), Mapping) else {}
    for name in misplaced:
        for option, value in _options_of(str(name), given[name]).items():
            options.setdefault(option, value)
    beside = {name: value for name, value in given.items() if others and name not in (_KEY, *misplaced)}
    return quote(json.dumps({_KEY: options or {"seed": 1}, **beside}, ensure_ascii=False, default=shorten))


def _options_of(name: str, value: Any) -> Mapping[str, Any]:
    """The options that a misplaced key means."""
    if name in Options.names():
        return {name: value}
    part = name.strip().partition(".")[2]
    if part:
        return {part: value}
    return value if isinstance(value, Mapping) else {}
