"""Workarounds for the harness: everything that depends on its undocumented internals.

Each docstring names the harness' code and the reason for the workaround. 0.4.12, 0.4.13 and 0.5.0.dev1 need the same
ones; what differs between these versions is in `versions.py`.

Elsewhere are the import hook that makes `TaskManager` search our folder (`discovery/location.py`, which must not import
the harness), the wrappers of models that change answers (`asking.py`, `answer_cache.py`, `served.py`), and the methods
of `ConfigurableTask` that `CoraTask` overrides.
"""

from __future__ import annotations

import inspect
import logging
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, suppress
from contextvars import ContextVar
from dataclasses import fields
from functools import cache
from io import StringIO
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CacheHook, CachingLM
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.models import api_models

from lm_eval_cora.answers.likeliest import asks_for_it
from lm_eval_cora.answers.records import Record
from lm_eval_cora.log import without_secrets
from lm_eval_cora.questions.question import shorten

if TYPE_CHECKING:
    from lm_eval.tasks import TaskManager  # brings datasets, which takes a second


# ---- the evaluation that is running
def of_the_run(name: str, default: Any = None) -> Any:
    """Return a local variable of the `evaluate` that is running, which passes none of these to the tasks."""
    # `lm` is the model; `log_samples` tells whether prompts and responses are kept; `limit_arg` is --limit as the user
    # gave it, before `get_sample_size` turned a share into a number of docs.
    return _locals_of("evaluate", "lm").get(name, default)


class _DocNumbers(list[int]):
    questions: Sequence[int]


def number_samples(task: str, docs: Iterable[int], questions: Sequence[int]) -> None:
    """Give `evaluate` the docs of the questions in --samples: after the inference it reads `samples[task][doc_id]`."""
    # The caller of `simple_evaluate` owns the dict and may use it again, so the entry remembers the questions.
    if (samples := of_the_run("samples")) is not None:
        samples[task] = numbers = _DocNumbers(docs)
        numbers.questions = questions


def argument_of_the_run(name: str) -> Any:
    """Return an argument of `simple_evaluate` or of our own `load_tasks`, or None."""
    # The tasks that it loads get `model_args` as a part of their metadata.
    return (_locals_of("simple_evaluate", name) or _locals_of("load_tasks", name)).get(name)


def _locals_of(function: str, name: str) -> Mapping[str, Any]:
    """Return the local variables of a running function that has this one, by inspecting the stack; empty if none is."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == function and name in frame.f_locals:
            return frame.f_locals
        frame = frame.f_back
    return {}


def manager_of_the_run(names: Iterable[str]) -> TaskManager:
    """Return the TaskManager that loads a task, if it knows these tasks; else one with all task files of the harness.

    `TaskManager.load` passes itself neither to the factory nor to a task. A new one reads 15,000 files, which takes ten
    seconds.
    """
    manager: Any = _locals_of("load", "self").get("self")
    if all(name in getattr(manager, "all_tasks", ()) for name in names):
        return manager
    paths = getattr(manager, "include_path", None) or []
    return _complete(*map(str, paths if isinstance(paths, (list, tuple)) else [paths]))


@cache
def _complete(*include_path: str) -> TaskManager:
    from lm_eval.tasks import TaskManager

    return TaskManager(include_path=list(include_path))


def seed_rank(rank: int) -> None:
    """Seed each rank separately so that samples are independent."""
    # `simple_evaluate` sets the same torch seed on all ranks. The samples of a question have the same prompt, so
    # several ranks would draw the same samples.
    torch = sys.modules.get("torch")
    if rank and torch is not None:
        torch.manual_seed(torch.initial_seed() + rank)


def hide_secrets_of_the_run() -> None:
    """Mask keys that were passed to the model, which is built: the harness writes its arguments into the results."""
    # Callers from Python may use their arguments again, so only those of the command are changed.
    command = _locals_of("_execute", "cfg").get("cfg")
    tasks = (task.config.metadata or {} for task in of_the_run("eval_tasks", {}).values())
    for given in (getattr(command, "model_args", {}), *tasks):
        given.update(without_secrets(given))


# ---- what a task returns
class SampleRow(dict[str, Any]):
    """A Record under the name of each metric, with what the samples file says about the variant as the dict itself.

    `evaluate` aggregates the values of `items()`. It also updates the logged sample with the dict itself, which copies
    only its own values. They are texts and numbers: loggers cannot write others. All metrics would double the memory of
    a logged sample.
    """

    __slots__ = ("_keys", "_record")

    def __init__(self, stored: Mapping[str, Any], keys: Sequence[str], record: Record) -> None:
        super().__init__(stored)
        self._keys, self._record = keys, record

    def keys(self) -> Any:
        """The names of all metrics."""
        return self._keys

    def items(self) -> Any:
        """All metrics, with the Record."""
        return dict.fromkeys(self._keys, self._record).items()

    def __bool__(self) -> bool:  # `_build_logged_samples` of 0.5 tests it
        return True


class Undefined(str):
    """An undefined value, printed as `nan`: the harness writes a float nan into its JSON file, which is not valid.

    For groups it computes means over tasks (`aggregate_subtask_metrics`) after the inference, so sums, products and
    quotients with this value are undefined instead of an error.
    """

    __slots__ = ()

    def __new__(cls, _: object = None) -> Undefined:
        """Ignore the argument that copying and unpickling pass."""
        return super().__new__(cls, "nan")

    def __float__(self) -> float:
        return float("nan")

    def _undefined(self, other: object) -> Undefined:
        return self

    __add__ = __radd__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _undefined


# ---- requests
TOKEN_LIMITS = ("max_completion_tokens", "max_tokens", "max_new_tokens")
"""Other names of `max_gen_toks` in the harness. If several are given, the last one here has priority."""


def rename_token_limit(settings: dict[str, Any]) -> None:
    """Rename other token limits, as in --gen_kwargs, to `max_gen_toks`, which back ends prefer if a file sets it."""
    for name in TOKEN_LIMITS:
        if name in settings:
            settings["max_gen_toks"] = settings.pop(name)


def slim(instances: Iterable[Any], prompts: bool) -> None:
    """Free memory that answered requests no longer need: the prompts, and the settings that each one has a copy of."""
    # `construct_requests` copies them because some back ends change them. The harness keeps all until the end of a run.
    shared: dict[str, Any] = {}
    for instance in instances:
        prompt, *rest = instance.arguments
        instance.arguments = ("" if prompts else prompt, *(shared.setdefault(repr(item), item) for item in rest))


# ---- the command line
def model_made_by(registered: type, build: Callable[..., Any]) -> AbstractContextManager[None]:
    """Replace the class method with which `simple_evaluate` creates its model."""
    # It also accepts a finished model, but then its name and arguments are missing from results, table and trackers.
    return patch.multiple(registered, create_from_arg_obj=build)


def settled(settings: EvaluatorConfig, manager: TaskManager) -> AbstractContextManager[None]:
    """Give `lm_eval run` its settings and tasks. It would read all task files again, which takes seconds."""
    return patch.multiple(EvaluatorConfig, from_cli=lambda _: settings, process_tasks=lambda *_: manager)


def leaving_out(keys: Iterable[str]) -> AbstractContextManager[None]:
    """Leave keys out of a --config file: `EvaluatorConfig` accepts only its own fields."""
    load = EvaluatorConfig.load_yaml_config

    def rest(path: Any) -> dict[str, Any]:
        return {key: value for key, value in load(path).items() if str(key).replace("-", "_") not in keys}

    return patch.multiple(EvaluatorConfig, load_yaml_config=rest)


def finding_tasks_with(manager: TaskManager) -> AbstractContextManager[None]:
    """Make `EvaluatorConfig.process_tasks` use this manager. Its own one always reads the task files of the harness."""
    from lm_eval import tasks

    return patch.multiple(tasks, TaskManager=lambda **_: manager)


def after_saving(note: Callable[[], None]) -> AbstractContextManager[None]:
    """Call a function after `lm_eval run` has saved its results and before it prints the table."""
    from lm_eval.loggers import EvaluationTracker

    own = EvaluationTracker.save_results_aggregated

    def save(tracker: Any, *results: Any, **named: Any) -> None:
        own(tracker, *results, **named)
        note()

    return patch.multiple(EvaluationTracker, save_results_aggregated=save)


def noting_unsaved(note: Callable[[str], None]) -> AbstractContextManager[None]:
    """Pass on what the harness could not save: it logs a warning, and the run ends as if it had."""

    def keep(record: logging.LogRecord) -> bool:
        if record.getMessage().startswith("Could not save"):
            note(record.getMessage())
        return True

    return _filtered("lm_eval.loggers.evaluation_tracker", keep)


@contextmanager
def _filtered(logger: str, keep: Callable[[logging.LogRecord], bool]) -> Iterator[None]:
    log = logging.getLogger(logger)
    log.addFilter(keep)
    try:
        yield
    finally:
        log.removeFilter(keep)


def parsed(arguments: Sequence[str]) -> tuple[Any, Any]:
    """Parse arguments as `HarnessCLI.parse_args` does, which reads `sys.argv`; return the command and the namespace."""
    from lm_eval._cli import HarnessCLI

    with patch.multiple(sys, argv=["lm_eval", "run", *arguments]):
        command = HarnessCLI()
        return command, command.parse_args()


class UsageError(Exception):
    """The harness' parser refused the arguments. The message is the parser's."""


def harness_arguments(arguments: Sequence[str]) -> Namespace:
    """Parse arguments as `lm_eval run` does."""
    stderr = StringIO()
    try:
        with redirect_stderr(stderr):
            given: Namespace = parsed(arguments)[1]
    except SystemExit as ended:
        if not ended.code:  # it has printed a help text
            raise
        raise UsageError(stderr.getvalue().rpartition("error: ")[2].strip()) from None
    except (ValueError, RecursionError) as error:  # the parser does not catch these
        raise UsageError(shorten(" ".join(str(error).split()), 400).removesuffix(".")) from None
    after = arguments[arguments.index("--metadata") + 1 :] if "--metadata" in arguments else ()
    words = list(takewhile(lambda word: not word.startswith("--"), after))
    if len(words) > 1 and any(word.lstrip().startswith("{") for word in words):  # the harness would drop the others
        raise UsageError(f"argument --metadata: expected one JSON object, got {len(words)} values. Merge them")
    if not isinstance(given.metadata or {}, dict):  # lm-eval 0.4.12 accepts any JSON
        raise UsageError(f"argument --metadata: expected an object, got {shorten(given.metadata)}")
    return given


def harness_options() -> list[str]:
    """Return the options of `lm_eval run`."""
    return [f"--{field.name}" for field in fields(EvaluatorConfig)]


# ---- back ends
class _Turns:
    """Stands in for the tokenizer of `DummyLM`, that of a large model, which the harness would fetch from the Hub."""

    def apply_chat_template(self, turns: Iterable[Mapping[str, str]], **_: Any) -> str:
        return "\n\n".join(turn["content"] for turn in turns)


def keep_offline(model: Any) -> None:
    """Make the dummy model do without its tokenizer, so that it needs no network."""
    # `tokenizer` is a cached property: the chat template uses it, and so does `add_tokenizer_info` after the run.
    if type(model).__name__ == "DummyLM":
        vars(model).setdefault("tokenizer", _Turns())


def payload_of_a_turn(model: Any) -> dict[str, Any]:
    """Return the payload of a chat turn, the only way to see if a back end sends turns or seeds; empty if it fails."""
    if not isinstance(model, api_models.TemplateAPI):
        return {}
    # In 0.5 a turn has a type.
    turns, settings = [{"role": "user", "content": "A", "type": "text"}], {"until": ["B"], "temperature": 0.0}
    with suppress(Exception):  # a user's own class may raise any error
        return dict(model._create_payload(turns, generate=True, gen_kwargs=settings, seed=1))
    return {}


asking_for_next_token = ContextVar("asking_for_next_token", default=False)
"""Whether the request whose response comes next asks for the next token: the parser gets only the response."""


def leave_out_unset(model: Any) -> None:
    """Make a back end omit parameters that are None or, as `stop` may be, an empty list: some servers refuse these."""
    # There is no hook for this. With it, --gen_kwargs seed=None sends no seed. Chat APIs name the number of next tokens
    # in another way than completions.
    if not isinstance(model, api_models.TemplateAPI) or "_create_payload" in vars(model):
        return
    create = model._create_payload

    def without(*arguments: Any, **named: Any) -> dict[str, Any]:
        asking_for_next_token.set(asks_for_it(named.get("gen_kwargs")))
        payload: dict[str, Any] = create(*arguments, **named)
        if asking_for_next_token.get() and "messages" in payload:
            payload |= {"logprobs": True, "top_logprobs": payload["logprobs"]}
        for part in (payload, payload.get("sampling_params", {})):
            for name in [name for name, value in part.items() if value in (None, [])]:
                del part[name]
        return payload

    model._create_payload = without


def hiding_failed_requests() -> AbstractContextManager[None]:
    """Hide the lines that API models log for each failed request, and for each call without a tokenizer."""
    hidden = ("Exception:", "Tokenized requests are disabled")
    return _filtered(api_models.__name__, lambda record: not record.getMessage().startswith(hidden))


# ---- wrappers of models
def _passed_on(name: str) -> Any:
    return property(lambda layer: getattr(layer.lm, name))


class ForwardingLM(LM):  # type: ignore[misc]  # the harness ships no types
    """Forwards every member of the harness' base class to the wrapped model.

    Python does not call `__getattr__` for members of the base class: without its entry here, `rank` would be the base
    class' 0 on every rank. `__getattr__` forwards the members that only back ends have.
    """

    rank, world_size, device = map(_passed_on, ("rank", "world_size", "device"))
    tokenizer_name, chat_template = map(_passed_on, ("tokenizer_name", "chat_template"))
    apply_chat_template, set_cache_hook = map(_passed_on, ("apply_chat_template", "set_cache_hook"))
    all_gather, gather_object, barrier = map(_passed_on, ("all_gather", "gather_object", "barrier"))
    generate_until, loglikelihood = map(_passed_on, ("generate_until", "loglikelihood"))
    loglikelihood_rolling = _passed_on("loglikelihood_rolling")

    def __init__(self, lm: Any) -> None:
        self.lm = lm  # without the base class' constructor: rank and world size are the model's

    def __getattr__(self, name: str) -> Any:
        if name == "lm":  # before __init__, as when a copy is made
            raise AttributeError(name)
        return getattr(self.lm, name)

    def get_model_info(self) -> Any:
        """Description of the model for the results file; empty if the back end has none."""
        info = getattr(self.lm, "get_model_info", None)
        return {} if info is None else info()


class AnswerHook(CacheHook):  # type: ignore[misc]  # the harness ships no types
    """Passes each answer to functions as soon as it is there: the method, the request's arguments, the answer."""

    def __init__(self, *takes: Callable[[str, Sequence[Any], Any], None]) -> None:
        super().__init__(None)
        self.takes = takes

    def add_partial(self, *answer: Any) -> None:
        """Take the place of the method that stores an answer."""
        for take in self.takes:
            take(*answer)


def on_answers(model: Any, take: Callable[..., None]) -> Callable[[], None]:
    """Pass each answer of a model on, through its hook for caches, until the returned function is called."""
    own = getattr(model, "cache_hook", None)
    if own is None:  # a user's own model may have none
        return lambda: None
    hook = own if isinstance(own, AnswerHook) else AnswerHook(own.add_partial)
    hook.takes += (take,)
    model.set_cache_hook(hook)

    def stop() -> None:
        hook.takes = tuple(one for one in hook.takes if one is not take)
        if len(hook.takes) == 1:
            model.set_cache_hook(own)

    return stop


def behind(model: Any) -> Any:
    """Return the model inside the harness' cache and our wrappers."""
    while isinstance(model, ForwardingLM | CachingLM):
        model = model.lm
    return model


def ask(lm: Any, method: str, requests: Sequence[Instance], *, disable_tqdm: bool = False) -> list[Any]:
    """Send requests to a model."""
    call = getattr(lm, method)
    hidden = disable_tqdm and "disable_tqdm" in inspect.signature(call).parameters
    answers: list[Any] = call(requests, disable_tqdm=True) if hidden else call(requests)
    if len(answers) != len(requests):
        raise ValueError(f"the model: expected {len(requests)} responses, got {len(answers)} (in {method})")
    return answers
