"""`lm-eval-cora run`: the harness' own command, with a model that is asked as little as possible."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any, TextIO

from lm_eval.api.registry import get_model
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.models.api_models import TemplateAPI
from lm_eval.tasks import TaskManager
from lm_eval.utils import setup_logging

from lm_eval_cora.benchmarks import BenchmarkError
from lm_eval_cora.harness.asking import AskingLM
from lm_eval_cora.harness.back_ends import (
    check_scoring,
    check_vllm,
    check_writing,
    in_a_line,
    model_error,
    warn_of_small_batches,
)
from lm_eval_cora.harness.compat import (
    TOKEN_LIMITS,
    after_saving,
    leave_out_empty_stops,
    model_made_by,
    parsed,
    tasks_from,
)
from lm_eval_cora.harness.dry_run import check_tasks, silence
from lm_eval_cora.harness.kept import AnswerCache, cache_file, check_cache, check_output, default_cache, weights_of
from lm_eval_cora.harness.log import logger
from lm_eval_cora.harness.served import patient
from lm_eval_cora.options import OptionError


class RunDied(Exception):  # the message is the last that a user reads
    """A run that ended before its results: what happened, what is kept, and how to go on."""


@dataclass
class _Run:
    """A run: where its answers are kept, and whether it came to its results.

    Attributes:
        settings: Those of the harness.
        keeps: Whether answers are to be kept.
        command: What the user typed.
        cache: The file with the answers, once the model is there.
        finished: Whether the results are written.
    """

    settings: EvaluatorConfig
    keeps: bool
    command: str
    cache: AnswerCache | None = None
    finished: bool = False

    def check_disk(self) -> None:
        """See that there is a place for results and answers, before there is a model.

        Raises:
            OptionError: If there is none.
        """
        if self.settings.output_path:
            check_output(self.settings.output_path)
        if self.settings.use_cache and not self.keeps:
            raise OptionError("--no_cache and --use_cache contradict each other; give one of them")
        if self.settings.use_cache:
            with self._naming_the_option():
                check_cache(cache_file(self.settings.use_cache))

    def kept_before(self, model: Any) -> Any:
        """The model, with a file before it if answers are kept."""
        settings = self.settings
        if not self.has_a_place:
            return model
        if settings.use_cache:
            with self._naming_the_option():
                self.cache = AnswerCache(model, cache_file(settings.use_cache, model.rank))
        else:
            name = default_cache(settings.output_path, settings.model, settings.model_args, weights_of(model))
            try:
                self.cache = AnswerCache(model, cache_file(name, model.rank))
            except OptionError as error:  # nobody asked for it
                logger.warning("%s. Answers are not kept. --use_cache FILE names another file", error)
                self.keeps = False
                return model
        logger.info("answers are kept in %s, which has %d now", self.cache.cache_db, self.cache.kept)
        return self.cache

    @property
    def has_a_place(self) -> bool:
        """Whether answers are kept."""
        return self.keeps and bool(self.settings.use_cache or self.settings.output_path)

    @contextmanager
    def _naming_the_option(self) -> Iterator[None]:
        try:
            yield
        except OptionError as error:
            raise OptionError(f"--use_cache {self.settings.use_cache}: {error}. Name another file") from None

    def died(self, what: str) -> RunDied:
        """What the user needs to go on after a run that ended."""
        return RunDied(f"{what}. {self._what_is_kept()}")

    def _what_is_kept(self) -> str:
        if not self.has_a_place:
            return "No answers are kept: give --output_path FOLDER, without --no_cache, to keep them."
        if self.cache is None:
            return f"Nothing was asked. The same command tries again: {self.command}"
        kept, file = self.cache.kept, self.cache.cache_db
        return f"{kept:,} answers are kept in {file}. The same command goes on from there: {self.command}"

    def finish(self) -> None:
        """Note that the results are written."""
        self.finished = True

    def end(self) -> None:
        """Let other runs use the file."""
        if self.cache is not None:
            self.cache.close()


def run(
    arguments: Sequence[str],
    *,
    stop: str | None = None,
    budget: int | None = None,
    target: float | None = None,
    limits: Sequence[int] = (),
    keeps: bool = True,
    command: str = "",
) -> None:
    """Do what `lm_eval run` does with these arguments, after a look at the tasks, and ask as little as possible.

    Args:
        arguments: Those of `lm_eval run`.
        stop: The stopping rule; None asks all variants of a question.
        budget: How many requests may be asked.
        target: The standard error of CoRA from which on no more questions are asked.
        limits: Numbers of tokens for answers that are written: the next one is for what the one before cuts off.
        keeps: Whether greedy answers are kept beside the results, for a run that goes on.
        command: What the user typed, for the message of a run that died.

    Raises:
        OptionError: Before the first request, if something is not as it must be.
        BenchmarkError: Before a model is built, if the questions cannot be had.
        RunDied: If the run ended after that.
    """
    setup_logging()
    harness, given = parsed(arguments)
    settings = _configured(given)
    if limits and (given_twice := {"max_gen_toks", *TOKEN_LIMITS}.intersection(settings.gen_kwargs)):
        raise OptionError(f"--max_gen_toks and --gen_kwargs {min(given_twice)} both limit the tokens; give one of them")
    this = _Run(settings, keeps, command)
    this.check_disk()
    back_end = _back_end(settings.model)
    asking = AskingLM(None, stop, budget=budget, target=target, limits=limits)
    manager, forms = check_tasks(settings, asking)
    scored = [name for name, form in forms.items() if form == "multiple_choice"]
    check_vllm(settings.model, settings.model_args, scored, asking.described if asking.calls_often else "")

    def wrap(model: Any) -> AskingLM:
        if isinstance(model, AskingLM):  # of a back end that makes one from a text by way of an object
            return model
        leave_out_empty_stops(model)
        check_scoring(model, scored)
        if "generate_until" in forms.values():
            check_writing(model, chat=bool(settings.apply_chat_template))
        warn_of_small_batches(model)
        return AskingLM(this.kept_before(model), stop, budget=budget, target=target, limits=limits)

    def process_tasks(again: EvaluatorConfig, _: Any = None) -> TaskManager:
        """Return what is known by now, and leave no cache around our layer."""
        again.tasks, again.use_cache = settings.tasks, None
        return manager

    with (
        model_made_by(get_model(settings.model), partial(_maker, settings, back_end, wrap)),
        tasks_from(process_tasks),
        after_saving(this.finish),
        _told_in_the_end(this),
    ):
        harness.execute(given)


@contextmanager
def _told_in_the_end(this: _Run) -> Iterator[None]:
    """Turn whatever ends a run into what the user needs to go on.

    Raises:
        RunDied: For an error, or Ctrl-C.
    """
    try:
        yield
    except (OptionError, BenchmarkError):  # before the first request
        raise
    except KeyboardInterrupt as error:
        raise this.died("stopped by Ctrl-C") from error
    except Exception as error:
        if isinstance(error, BrokenPipeError) and this.finished and not _is_open(sys.stdout):
            raise  # `| head` has seen enough of the table
        raise this.died(f"the run ended: {in_a_line(error)}") from error
    finally:
        this.end()


def _is_open(stream: TextIO) -> bool:
    """Whether somebody still reads what is written."""
    try:
        stream.write("\n")
        stream.flush()
    except BrokenPipeError:
        return False
    return True


def _configured(given: Namespace) -> EvaluatorConfig:
    """What the arguments come to, with those of a --config file."""
    try:
        with silence(), redirect_stdout(StringIO()):  # it prints a file's contents, and will again
            return EvaluatorConfig.from_cli(given)
    except (ValueError, TypeError, OSError) as error:
        raise OptionError(str(error)) from error


def _back_end(name: str) -> type:
    """The harness' class of a back end.

    Raises:
        OptionError: If there is none, or a package for it is missing.
    """
    try:
        back_end: type = get_model(name)
    except ValueError as error:
        raise OptionError(f"--model {name}: {error}") from None
    except Exception as error:
        raise model_error(name, {}, error) from error
    return patient(back_end) if issubclass(back_end, TemplateAPI) else back_end


def _maker(
    settings: EvaluatorConfig, back_end: type, wrap: Callable[[Any], AskingLM], method: str
) -> Callable[..., AskingLM]:
    """Return a class method of a back end that wraps the model it makes."""
    make = getattr(back_end, method)

    def made(*given: Any, **named: Any) -> AskingLM:
        try:
            model = make(*given, **named)
        except OptionError:  # from the other maker, which this one calls
            raise
        except (Exception, SystemExit) as error:
            raise model_error(settings.model, settings.model_args, error) from error
        return wrap(model)

    return made
