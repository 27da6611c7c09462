"""`lm-eval-cora run`: the command `lm_eval run` with a model that skips unnecessary requests."""

from __future__ import annotations

import logging
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from lm_eval.api.registry import get_model
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.models.api_models import TemplateAPI
from lm_eval.utils import setup_logging

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness import answer_cache, back_ends, compat
from lm_eval_cora.harness.served import patient
from lm_eval_cora.log import hide_secrets, logger, without_secrets
from lm_eval_cora.questions.question import shorten

if TYPE_CHECKING:
    from lm_eval_cora.harness.task import CoraTask  # brings datasets, which takes a second


class RunDied(Exception):
    """A run ended before its results. The message says what happened, which answers are kept, and how to continue."""


_LONGEST = 255  # number of bytes of the longest name of a file


class _Place:
    """Where the results and answers of a run are kept."""

    def __init__(self, settings: EvaluatorConfig, shard: tuple[int, int] | None, *, keeps: bool, command: str) -> None:
        self._settings, self._shard, self.keeps, self._command = settings, shard, keeps, command
        self._cache: answer_cache.AnswerCache | None = None
        self._option = ""  # with which the same command continues
        self.is_finished = False
        self.unsaved: list[str] = []

    def check_disk(self) -> None:
        """Check, before the model is built, that results and answers can be written."""
        settings = self._settings
        if settings.output_path:
            answer_cache.check_output(settings.output_path)
            names = (settings.model_args.get(key) for key in ("pretrained", "model", "path", "engine"))
            if len((name := str(next(filter(None, names), ""))).encode()) > _LONGEST:
                raise UserError(
                    "--output_path: expected "
                    f"a name of the model with at most {_LONGEST} bytes, because the harness names a folder after it; "
                    f"got {shorten(name)!r}"
                )
        if settings.use_cache and not self.keeps:
            raise UserError("--no_cache and --use_cache contradict each other. Remove one of them")
        if settings.use_cache:
            answer_cache.check_cache(answer_cache.cache_file(settings.use_cache))

    def with_cache(self, model: Any) -> Any:
        """Wrap a model in a cache if answers are kept, and are not sampled."""
        settings = self._settings
        if back_ends.is_always_random(model):
            samples = "the back end samples the answers of this model with a temperature above 0"
            greedy = "the tasks ask for greedy answers. They differ from run to run and are not kept"
            logger.warning("%s although %s", samples, greedy)
            self.keeps = False
        if not self._is_kept:
            return model
        cache = settings.use_cache or answer_cache.default_cache(
            settings.output_path, settings.model, settings.model_args, answer_cache.weights_of(model)
        )
        if settings.use_cache:
            self._cache = answer_cache.AnswerCache(model, answer_cache.cache_file(cache, model.rank))
        elif self._shard:  # a file of its own, because jobs on other machines write at the same time
            self._cache = answer_cache.open_cache(model, answer_cache.of_shard(cache, *self._shard))
        else:
            self._cache = answer_cache.open_cache(model, cache)
            self._cache.adopt(cache)
        used = self._cache.cache_db.rpartition("_rank")[0]
        self._option = f" with --use_cache {used}" if used != cache else ""
        logger.info("answers are kept in %s (%d so far)", self._cache.cache_db, self._cache.kept)
        return self._cache

    @property
    def _is_kept(self) -> bool:
        return self.keeps and bool(self._settings.use_cache or self._settings.output_path)

    def _finish(self) -> None:
        self.is_finished = True

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn an error that ends a run into one that says how to continue. Close the cache at the end."""
        try:
            with compat.after_saving(self._finish), compat.noting_unsaved(self.unsaved.append):
                yield
        except UserError:  # before the first request
            raise
        except KeyboardInterrupt as error:
            raise RunDied(f"stopped by {'SIGTERM' if error.args else 'Ctrl-C'}. {self._how_to_continue()}") from error
        except Exception as error:
            if isinstance(error, BrokenPipeError) and self.is_finished and not _is_open(sys.stdout):
                raise  # the reader of a pipe, such as `| head`, has closed it
            raise RunDied(f"the run ended: {back_ends.in_a_line(error)}. {self._how_to_continue()}") from error
        else:
            if self.unsaved:
                raise RunDied(
                    f"{' and '.join(self.unsaved)} "
                    f"in {self._settings.output_path}, so only the table above has them. Is the disk full? "
                    f"{self._how_to_continue()}"
                )
        finally:
            if self._cache is not None:
                self._cache.close()

    def _how_to_continue(self) -> str:
        if not self._is_kept:
            return "No answers were kept. To keep them, pass --output_path FOLDER and do not pass --no_cache."
        if self._cache is None:
            return f"No request was sent. To try again, run the same command: {self._command}"
        count, file = self._cache.kept, self._cache.cache_db
        return (
            f"{count:,} answers are kept in {file}. To continue from there, "
            f"run the same command{self._option}: {self._command}"
        )


def _is_open(stream: TextIO) -> bool:
    """Whether the stream still has a reader."""
    try:
        stream.write("\n")
        stream.flush()
    except BrokenPipeError:
        return False
    return True


def run(
    arguments: Sequence[str],
    early: Mapping[str, Any],
    *,
    keeps: bool = True,
    command: str = "",
    config_keys: Sequence[str] = (),
    verbose: bool = False,
) -> None:
    """Check the tasks, then do what `lm_eval run` does with these arguments; `early` has those of `AskingLM`."""
    setup_logging()
    logger.setLevel("DEBUG" if verbose else "NOTSET")
    harness, given = compat.parsed(arguments)
    with compat.leaving_out(config_keys):
        settings = _configured(given)
    _check_options(settings, early["limits"])
    place = _Place(settings, early["shard"], keeps=keeps, command=command)
    place.check_disk()
    back_ends.warn_without_hub()
    back_end = _back_end(settings.model)
    make = back_end.create_from_arg_obj  # which is replaced below
    served = _served(make, settings) if issubclass(back_end, TemplateAPI) else None
    from lm_eval_cora.harness.asking import AskingLM  # brings datasets, which takes a second
    from lm_eval_cora.harness.dry_run import check_tasks

    asking = AskingLM(None, back_end=served, **early)
    manager, tasks = check_tasks(settings, asking)
    _check_back_end(served, settings, tasks, asking.described)

    def built(_: Any, more: Any) -> Any:
        asking.lm = place.with_cache(served or _checked(_made(settings, make, more), settings, tasks))
        return asking

    making = compat.model_made_by(get_model(settings.model), built)
    # Our cache is inside the wrapper; the harness' own would unpickle whatever is in the file.
    shown = replace(settings, use_cache=None, model_args=without_secrets(settings.model_args))
    with compat.settled(shown, manager), making, place.explaining(), _counting(served):
        signal.signal(signal.SIGTERM, _interrupt)
        harness.execute(given)
    if asking.is_silent and len(_scoring(tasks)) < len(tasks):
        raise RunDied("all written answers are empty, so the scores mean nothing. Look at `resps` in the samples file")


def _check_options(settings: EvaluatorConfig, limits: Sequence[int]) -> None:
    for name in ("wandb", "trackio"):
        # A folder of that name, as W&B makes one, has no origin.
        if getattr(settings, f"{name}_args", None) and getattr(find_spec(name), "origin", None) is None:
            raise UserError(f"--{name}_args: {name} is not installed. Run pip install {name}")
    if limits and (twice := {"max_gen_toks", *compat.TOKEN_LIMITS}.intersection(settings.gen_kwargs)):
        raise UserError(f"--max_gen_toks and --gen_kwargs {min(twice)} both limit the tokens. Remove one of them")


@contextmanager
def _counting(served: Any) -> Iterator[None]:
    """Log the number of requests to a server at the end."""
    try:
        yield
    finally:
        if served is not None:
            logger.info("%s: %s", served.base_url, served.tally.describe_end())


def _interrupt(number: int, _: Any) -> NoReturn:
    """End a run as Ctrl-C does."""
    raise KeyboardInterrupt(number)


def _configured(given: Namespace) -> EvaluatorConfig:
    logging.getLogger(EvaluatorConfig.__module__).addFilter(hide_secrets)
    try:
        with redirect_stdout(StringIO()):  # it prints the content of the file, also keys
            return EvaluatorConfig.from_cli(given)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(str(error)) from error


def _back_end(name: str) -> Any:
    try:
        back_end = get_model(name)
    except ValueError as error:
        raise UserError(f"--model {name}: {error}") from None
    except Exception as error:
        raise back_ends.model_error(name, {}, error) from error
    return patient(back_end) if issubclass(back_end, TemplateAPI) else back_end


def _made(settings: EvaluatorConfig, make: Any, more: Mapping[str, Any]) -> Any:
    """Build a model, or raise an error of one line."""
    try:
        return make(settings.model_args, more)
    except (Exception, SystemExit) as error:
        raise back_ends.model_error(settings.model, settings.model_args, error) from error


def _served(make: Any, settings: EvaluatorConfig) -> Any:
    """Build a back end that asks a server, as `simple_evaluate` would, which first imports torch."""
    back_ends.check_listening(settings.model_args.get("base_url"))
    more = {name: getattr(settings, name) for name in ("batch_size", "max_batch_size", "device")}
    return _made(settings, make, more)


def _scoring(tasks: Sequence[CoraTask]) -> list[str]:
    """The tasks whose answers are scored, not written."""
    return [task.task_name for task in tasks if task.OUTPUT_TYPE == "multiple_choice"]


def _check_back_end(served: Any, settings: EvaluatorConfig, tasks: Sequence[CoraTask], how: str) -> None:
    """Check what can be checked before the run imports torch and builds a model."""
    if served is not None:
        _checked(served, settings, tasks)
    elif settings.apply_chat_template:
        back_ends.check_chat_template(settings.model, settings.model_args)
    back_ends.check_vllm(settings.model, settings.model_args, _scoring(tasks), how)


def _checked(model: Any, settings: EvaluatorConfig, tasks: Sequence[CoraTask]) -> Any:
    """Check that a model can do what the tasks need."""
    compat.leave_out_unset(model)
    compat.keep_offline(model)
    chat = bool(settings.apply_chat_template)
    if chat:
        back_ends.check_chats(settings.model, model)
    at_once = max((task.at_once for task in tasks), default=0)
    back_ends.check_scoring(model, _scoring(tasks), at_once, chat=chat)
    for task in tasks:
        if task.OUTPUT_TYPE == "generate_until":
            shots = bool(task.config.num_fewshot and settings.fewshot_as_multiturn)
            parameters = task.config.generation_kwargs or {}
            back_ends.check_writing(model, parameters, chat=chat, system=settings.system_instruction, shots=shots)
    for task in tasks:
        task.constrain(model)
    back_ends.warn_of_small_batches(model)
    return model
