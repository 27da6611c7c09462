"""`lm-eval-cora run`: the harness' own command, with a model that is asked as little as possible."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from io import StringIO
from typing import Any

from lm_eval._cli import HarnessCLI
from lm_eval.api.model import CachingLM
from lm_eval.api.registry import get_model
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.tasks import TaskManager
from lm_eval.utils import setup_logging

from lm_eval_cora.harness.asking import AskingLM
from lm_eval_cora.harness.rehearsal import check_tasks, silence
from lm_eval_cora.harness.requests import TOKEN_LIMITS
from lm_eval_cora.options import OptionError
from lm_eval_cora.stopping.goals import Goal


def run(
    arguments: Sequence[str],
    *,
    goal: Goal | None = None,
    budget: int | None = None,
    target: float | None = None,
    limits: Sequence[int] = (),
) -> None:
    """Do what `lm_eval run` does with these arguments, after a look at the tasks, and ask as little as possible.

    Args:
        arguments: Those of `lm_eval run`.
        goal: What is to be known of each question; None is everything.
        budget: How many requests may be asked.
        target: The standard error of CoRA from which on no more questions are asked.
        limits: Numbers of tokens for answers that are written: the next one is for what the one before cuts off.

    Raises:
        OptionError: Before a model is built, if something is not as it must be.
        BenchmarkError: Before a model is built, if the questions cannot be had.
    """
    setup_logging()
    command, given = _parsed(arguments)
    settings = _configured(given)
    if limits and (given_twice := {"max_gen_toks", *TOKEN_LIMITS}.intersection(settings.gen_kwargs)):
        raise OptionError(f"--max_gen_toks and --gen_kwargs {min(given_twice)} both limit the tokens; give one of them")
    manager = check_tasks(settings, AskingLM(None, goal, budget=budget, target=target, limits=limits))
    cache = settings.use_cache

    def wrap(model: Any) -> AskingLM:
        if isinstance(model, AskingLM):  # of a back end that makes one from a text by way of an object
            return model
        cached = CachingLM(model, _cache_file(cache, model)) if cache else model
        return AskingLM(cached, goal, budget=budget, target=target, limits=limits)

    def process_tasks(again: EvaluatorConfig, _: Any = None) -> TaskManager:
        """What is known by now, because reading all task files takes seconds; and no cache around our layer."""
        again.tasks, again.use_cache = settings.tasks, None
        return manager

    with _building(settings.model, wrap), _replaced(EvaluatorConfig, "process_tasks", process_tasks):
        command.execute(given)


def _parsed(arguments: Sequence[str]) -> tuple[HarnessCLI, Namespace]:
    """The harness' command line, which reads what this process was started with."""
    ours = sys.argv
    sys.argv = ["lm_eval", "run", *arguments]
    try:
        command = HarnessCLI()
        return command, command.parse_args()
    finally:
        sys.argv = ours


def _configured(given: Namespace) -> EvaluatorConfig:
    """What the arguments come to, with those of a --config file."""
    try:
        with silence(), redirect_stdout(StringIO()):  # it prints a file's contents, and will again
            return EvaluatorConfig.from_cli(given)
    except (ValueError, TypeError, OSError) as error:
        raise OptionError(str(error)) from error


def _cache_file(cache: str, model: Any) -> str:
    """The name that the harness gives the cache of a rank."""
    return f"{cache}_rank{model.rank or int(os.environ.get('LOCAL_RANK', '0'))}.db"


@contextmanager
def _building(name: str, wrap: Callable[[Any], AskingLM]) -> Iterator[None]:
    """Have the harness build its model as it does, and stand before it what is returned by `wrap`.

    So the results, the table and the trackers name the back end and its arguments as in any run.
    """
    try:
        back_end = get_model(name)
    except ValueError as error:
        raise OptionError(f"--model {name}: {error}") from None

    def wrapping(make: Callable[..., Any]) -> Callable[..., AskingLM]:
        return lambda *arguments, **named: wrap(make(*arguments, **named))

    with ExitStack() as replaced:
        for maker in ("create_from_arg_obj", "create_from_arg_string"):
            replaced.enter_context(_replaced(back_end, maker, wrapping(getattr(back_end, maker))))
        yield


@contextmanager
def _replaced(owner: type, name: str, value: Any) -> Iterator[None]:
    """Put something into the place of a member of a class, for a while."""
    own = owner.__dict__.get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
