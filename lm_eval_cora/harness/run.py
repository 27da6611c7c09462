"""`lm-eval-cora run`: the command `lm_eval run` with a model that skips unnecessary requests."""

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

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import AskingLM
from lm_eval_cora.harness.back_ends import (
    check_chat_template,
    check_scoring,
    check_vllm,
    check_writing,
    in_a_line,
    is_always_random,
    model_error,
    warn_of_small_batches,
)
from lm_eval_cora.harness.compat import (
    TOKEN_LIMITS,
    after_saving,
    leave_out_empty_stops,
    leaving_out,
    model_made_by,
    parsed,
    tasks_from,
)
from lm_eval_cora.harness.dry_run import check_tasks, silence
from lm_eval_cora.harness.kept import AnswerCache, cache_file, check_cache, check_output, default_cache, weights_of
from lm_eval_cora.harness.served import patient
from lm_eval_cora.log import logger
from lm_eval_cora.questions.question import shorten


class RunDied(Exception):
    """A run ended before its results. The message says what happened, which answers are kept, and how to continue."""


_LONGEST = 255
"""Number of bytes of the longest name of a file."""


@dataclass
class _Run:
    """State of a run: its settings, its cache of answers, and whether its results are written.

    Attributes:
        settings: Settings of the harness.
        keeps: Whether to keep answers in a file.
        command: The command that the user typed.
        cache: Cache of answers; None before the model is built.
        finished: Whether the results are written.
    """

    settings: EvaluatorConfig
    keeps: bool
    command: str
    cache: AnswerCache | None = None
    finished: bool = False

    def check_disk(self) -> None:
        """Check, before the model is built, that results and answers can be written."""
        if self.settings.output_path:
            check_output(self.settings.output_path)
            names = (self.settings.model_args.get(key) for key in ("pretrained", "model", "path", "engine"))
            if len((name := str(next(filter(None, names), ""))).encode()) > _LONGEST:
                raise UserError(
                    f"--output_path: expected a name of the model with at most {_LONGEST} bytes, because the harness "
                    f"names a folder after it; got {shorten(name)!r}"
                )
        if self.settings.use_cache and not self.keeps:
            raise UserError("--no_cache and --use_cache contradict each other. Remove one of them")
        if self.settings.use_cache:
            with self._naming_the_option():
                check_cache(cache_file(self.settings.use_cache))

    def with_cache(self, model: Any) -> Any:
        """Wrap a model in a cache if answers are kept."""
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
            except UserError as error:  # the user did not ask for this file
                logger.warning("%s. Answers will not be kept. To use another file, pass --use_cache FILE", error)
                self.keeps = False
                return model
        logger.info("answers are kept in %s (%d so far)", self.cache.cache_db, self.cache.kept)
        return self.cache

    @property
    def has_a_place(self) -> bool:
        """Whether answers are kept, and there is a folder or file for them."""
        return self.keeps and bool(self.settings.use_cache or self.settings.output_path)

    @contextmanager
    def _naming_the_option(self) -> Iterator[None]:
        try:
            yield
        except UserError as error:
            raise UserError(f"--use_cache {self.settings.use_cache}: {error}. Use another file") from None

    def died(self, what: str) -> RunDied:
        """The error for a run that ended early. It says how to continue."""
        return RunDied(f"{what}. {self._what_is_kept()}")

    def _what_is_kept(self) -> str:
        if not self.has_a_place:
            return "No answers were kept. To keep them, pass --output_path FOLDER and do not pass --no_cache."
        if self.cache is None:
            return f"No request was sent. To try again, run the same command: {self.command}"
        kept, file = self.cache.kept, self.cache.cache_db
        return f"{kept:,} answers are kept in {file}. To continue from there, run the same command: {self.command}"

    def finish(self) -> None:
        """Record that the results are written."""
        self.finished = True

    def end(self) -> None:
        """Close the cache, so that other runs can use its file."""
        if self.cache is not None:
            self.cache.close()


def run(
    arguments: Sequence[str],
    *,
    stop: str | None = None,
    budget: int | None = None,
    target: float | None = None,
    whole: str | None = None,
    limits: Sequence[int] = (),
    keeps: bool = True,
    command: str = "",
    config_keys: Sequence[str] = (),
    verbose: bool = False,
) -> None:
    """Check the tasks, then do what `lm_eval run` does with these arguments, without unnecessary requests."""
    setup_logging()
    logger.setLevel("DEBUG" if verbose else "NOTSET")
    harness, given = parsed(arguments)
    with leaving_out(config_keys):
        settings = _configured(given)
    if limits and (given_twice := {"max_gen_toks", *TOKEN_LIMITS}.intersection(settings.gen_kwargs)):
        message = f"--max_gen_toks and --gen_kwargs {min(given_twice)} both limit the tokens. Remove one of them"
        raise UserError(message)
    this = _Run(settings, keeps, command)
    this.check_disk()
    back_end = _back_end(settings.model)
    asking = AskingLM(None, stop, budget=budget, target=target, whole=whole, limits=limits)
    manager, tasks = check_tasks(settings, asking)
    scored = [task.task_name for task in tasks if task.OUTPUT_TYPE == "multiple_choice"]
    if settings.apply_chat_template:
        check_chat_template(settings.model, settings.model_args)
    check_vllm(settings.model, settings.model_args, scored, asking.described if asking.calls_often else "")

    def wrap(model: Any) -> AskingLM:
        if isinstance(model, AskingLM):  # one class method called the other one, which has wrapped the model
            return model
        leave_out_empty_stops(model)
        check_scoring(model, scored)
        if len(scored) < len(tasks):
            check_writing(
                model,
                chat=bool(settings.apply_chat_template),
                system=settings.system_instruction,
                shots=bool(settings.fewshot_as_multiturn) and any(task.config.num_fewshot for task in tasks),
            )
        warn_of_small_batches(model)
        if is_always_random(model):
            logger.warning(
                "the back end samples the answers of this model with a temperature above 0 although the tasks ask for "
                "greedy answers. They differ from run to run and are not kept"
            )
            this.keeps = False
        return AskingLM(this.with_cache(model), stop, budget=budget, target=target, whole=whole, limits=limits)

    def process_tasks(again: EvaluatorConfig, _: Any = None) -> TaskManager:
        """Return the tasks that are already found. Drop `use_cache`: our cache is inside the wrapper."""
        again.tasks, again.use_cache = settings.tasks, None
        return manager

    with (
        leaving_out(config_keys),
        model_made_by(get_model(settings.model), partial(_maker, settings, back_end, wrap)),
        tasks_from(process_tasks),
        after_saving(this.finish),
        _explained(this),
    ):
        harness.execute(given)


@contextmanager
def _explained(this: _Run) -> Iterator[None]:
    """Turn an error that ends a run into one that says how to continue."""
    try:
        yield
    except UserError:  # before the first request
        raise
    except KeyboardInterrupt as error:
        raise this.died("stopped by Ctrl-C") from error
    except Exception as error:
        if isinstance(error, BrokenPipeError) and this.finished and not _is_open(sys.stdout):
            raise  # the reader of a pipe, such as `| head`, has closed it
        raise this.died(f"the run ended: {in_a_line(error)}") from error
    finally:
        this.end()


def _is_open(stream: TextIO) -> bool:
    """Whether the stream still has a reader."""
    try:
        stream.write("\n")
        stream.flush()
    except BrokenPipeError:
        return False
    return True


def _configured(given: Namespace) -> EvaluatorConfig:
    """The settings from the command line and a --config file."""
    try:
        with silence(), redirect_stdout(StringIO()):  # it prints the content of the file, and the run prints it again
            return EvaluatorConfig.from_cli(given)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(str(error)) from error


def _back_end(name: str) -> type:
    """The harness' class of a back end."""
    try:
        back_end: type = get_model(name)
    except ValueError as error:
        raise UserError(f"--model {name}: {error}") from None
    except Exception as error:
        raise model_error(name, {}, error) from error
    return patient(back_end) if issubclass(back_end, TemplateAPI) else back_end


def _maker(
    settings: EvaluatorConfig, back_end: type, wrap: Callable[[Any], AskingLM], method: str
) -> Callable[..., AskingLM]:
    """Return a replacement for a class method that creates a model. It wraps the model."""
    make = getattr(back_end, method)

    def made(*given: Any, **named: Any) -> AskingLM:
        try:
            model = make(*given, **named)
        except UserError:  # from the other class method, which this one calls
            raise
        except (Exception, SystemExit) as error:
            raise model_error(settings.model, settings.model_args, error) from error
        return wrap(model)

    return made
