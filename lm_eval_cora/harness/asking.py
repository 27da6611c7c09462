"""Model wrapper that skips unnecessary requests: repeated ones, and those that early stopping does not need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, partialmethod
from logging import DEBUG, INFO
from math import inf
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import CachingLM

from lm_eval_cora.answers.records import SKIPPED
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness import rounds
from lm_eval_cora.harness.answer_cache import AnswerCache, RepeatedRequests
from lm_eval_cora.harness.compat import ForwardingLM, ask, behind
from lm_eval_cora.harness.limits import check_limits, generate
from lm_eval_cora.harness.notices import describe_asked, describe_bias, describe_shares
from lm_eval_cora.harness.progress import Progress, counting
from lm_eval_cora.harness.rounds import Planned, QuestionState
from lm_eval_cora.harness.until import Until
from lm_eval_cora.log import logger
from lm_eval_cora.metrics.entries import Entry

EXACT = "exact"
"""The only stopping rule: a question ends with its first wrong answer. CoRA, CI, MCQA and BMCA(1.0) stay exact."""

_MANY = 64  # questions of a round that keep a back end busy which chooses the size of its batches


class AskingLM(ForwardingLM):
    """Wraps a model and skips requests of lm-eval-cora tasks that are not needed; other tasks are not affected.

    Identical requests are sent once, unless their answers are sampled. With `stop`, the variants of a question are
    asked one after another until an answer is wrong. Each wave contains the next variant of all open questions. The
    response to a skipped request is SKIPPED.
    """

    def __init__(
        self,
        lm: Any,
        stop: str | None = None,
        *,
        budget: int | None = None,
        until: Until | None = None,
        limits: Sequence[int] = (),
        shard: tuple[int, int] | None = None,
        back_end: Any = None,
    ) -> None:
        super().__init__(lm)
        if isinstance(lm, AskingLM) or isinstance(getattr(lm, "lm", None), AskingLM):
            raise UserError("stop_early: the model is already wrapped by stop_early. Pass the original model")
        if stop not in (None, EXACT):
            raise UserError(f"--stop {stop!r}: expected {EXACT!r} (CoRA, CI, MCQA and BMCA(1.0) as in the full run)")
        self.stop = stop
        given = {"stop": stop, "budget": budget, "until": until and "; ".join(until.texts)}
        self.settings = {name: value for name, value in given.items() if value is not None}
        """The options that decide which requests are sent, for the signature. If there are any, some may be skipped."""
        if budget is not None and (type(budget) is not int or budget < 1):
            raise UserError(f"--budget {budget!r}: expected a whole number from 1")
        check_limits(limits, budget)
        if shard and (until or budget):
            raise UserError(
                f"--shard {shard[0]}/{shard[1]}: --{'until' if until else 'budget'} needs the answers to all questions "
                "in one run. To ask a random part of the questions in shards, use the option 'questions'"
            )
        self.shard = shard if shard and shard[1] > 1 else None
        self.limits, self.budget, self.until = tuple(limits), budget, until
        # These are valid for one run only: the wrapped model may change before the next one.
        self._repeated = RepeatedRequests()
        self._expected: dict[str, str] = {}
        self._is_over = False
        self.is_silent = True  # no written answer has had a text
        self.back_end = back_end  # before it is wrapped, if it asks a server

    @property
    def described(self) -> str:
        """The options with which the model is called many times, as on the command line; empty if it is called once."""
        limits = {"max_gen_toks": ",".join(map(str, self.limits))} if len(self.limits) > 1 else {}
        return " ".join(f"--{name} {value}" for name, value in {**self.settings, **limits}.items())

    def expect(self, task: str, output_type: str) -> None:
        """Register a task of a run before its first request."""
        if self._is_over:
            self._repeated, self._expected, self._is_over = RepeatedRequests(), {}, False
        self._expected[output_type] = task
        if self.budget is not None and len(self._expected) > 1:
            raise UserError(
                f"--budget {self.budget}: {' and '.join(self._expected.values())} cannot share a budget, "
                "because the model writes its answers in one and scores answers in the other. "
                "Run these tasks separately"
            )

    def check(self, tasks: Sequence[rounds.StoppableTask]) -> None:
        """Check that the budget is enough for at least one question."""
        if self.budget is not None and tasks:
            rounds.shares_of_budget(rounds.in_turn([task.agenda() for task in tasks]), self.budget)
        if self.until is not None:
            self.until.check()

    def set_cache_hook(self, cache_hook: Any) -> None:
        """Refuse a cache around this wrapper: it would store SKIPPED, and a later run would read that as an answer."""
        if self.settings and getattr(cache_hook, "dbdict", None) is not None:
            raise UserError(
                "stop_early: a cache around this model would store skipped requests as answers for later runs. "
                "Put the cache inside, stop_early(CachingLM(lm, path)), and do not pass use_cache; "
                "or run `lm-eval-cora run ... --stop ... --use_cache FILE`"
            )
        super().set_cache_hook(cache_hook)

    def _answers(self, method: str, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        self._is_over = True
        if not self.settings:
            progress = Progress(len(requests), bar=False)  # the back end shows its own
            with counting(self.lm, progress):
                return self._send(method, requests, when_known=progress.skip)
        ours = {id(request): request for request in requests if rounds.task_of(request) is not None}
        others = [request for request in requests if id(request) not in ours]
        answers = self._in_rounds(method, list(ours.values())) if ours else {}
        passed = iter(self._send(method, others) if others else ())
        # The harness pads a rank by repeating its last request. The repetitions get the same answer.
        return [answers.get(id(request), SKIPPED) if id(request) in ours else next(passed) for request in requests]

    generate_until = partialmethod(_answers, "generate_until")
    loglikelihood = partialmethod(_answers, "loglikelihood")

    def _send(
        self,
        method: str,
        requests: Sequence[Instance],
        *,
        when_known: Callable[[int], None] = lambda count: None,
        is_wave: bool = False,
    ) -> list[Any]:
        """Send requests, except repeated ones. `when_known` gets the number of these."""
        own = partial(generate, limits=self.limits) if method == "generate_until" else partial(ask, method=method)
        level = DEBUG if is_wave else INFO  # once per wave would be too much
        send = partial(own, self.lm, disable_tqdm=is_wave)
        answers = self._repeated.answer(method, requests, send, when_known, level)
        if method == "generate_until":
            self.is_silent &= not any(str(answer).strip() for answer in answers)
        return answers

    # ---- early stopping, budgets and requirements
    def _in_rounds(self, method: str, requests: Sequence[Instance]) -> dict[int, Any]:
        """Send the requests that are needed; return the answers by id of the request."""
        questions = rounds.by_question(requests, stop=self.stop is not None, score=self.until is not None)
        tasks = {question.task.task_name: question.task for question in questions.values()}
        agenda = self._agenda(tasks.values()) if self._is_sample else [Planned(*key, 0) for key in questions]
        outcomes: dict[rounds.Key, rounds.QuestionOutcome] = {}
        answers: dict[int, Any] = {}
        left = {key: question.left for key, question in questions.items()}
        send = partial(self._send, method, is_wave=True)
        most = min(len(requests), self.budget or len(requests))
        progress = Progress(most, bar=self.rank == 0)
        with counting(self.lm, progress):
            for number, batch in enumerate(rounds.rounds_of(agenda, outcomes, self.budget or inf, **self._looks), 1):
                members = {planned.key: questions[planned.key] for planned in batch if planned.key in questions}
                which = f"round {number}, " if self._is_sample else ""
                for wave, (pending, responses) in enumerate(rounds.ask_in_waves([*members.values()], send), 1):
                    logger.debug("%swave %d: open questions: %d, requests: %d", which, wave, pending, len(responses))
                    answers |= responses
                    left |= {key: question.left for key, question in members.items()}
                    needed, settled = min(sum(left.values()), most - len(answers)), [*left.values()].count(0)
                    progress.after_a_wave(len(answers), needed, settled, len(questions))
                if self._is_sample:
                    outcomes |= rounds.collect(agenda, questions, self._summed)
        progress.close()
        for task in tasks.values():
            self._report(task, [question for question in questions.values() if question.task is task], outcomes)
        return answers

    @property
    def _is_sample(self) -> bool:
        return self.budget is not None or self.until is not None

    def _agenda(self, tasks: Iterable[rounds.StoppableTask]) -> list[Planned]:
        """The questions of all tasks in random order; log how many of each the budget pays for."""
        if self.until is not None:
            self.until.check()
        agenda = rounds.in_turn([task.agenda(by_unit=self.until is not None) for task in tasks])
        if self.budget is not None:
            logger.info("%s", describe_shares(agenda, self.budget, stops=self.stop is not None))
        return agenda

    @property
    def _looks(self) -> dict[str, Callable[..., Any]]:
        """When requirements are tested, and how."""
        if self.until is None:
            return {}
        at_once = (getattr(behind(self.lm), name, 1) for name in ("_concurrent", "batch_size"))
        busy = max(number if isinstance(number, int) else _MANY for number in at_once)
        return {"is_settled": self.until.is_settled, "next_look": partial(self.until.next_look, busy=busy)}

    def _report(
        self, task: rounds.StoppableTask, questions: Sequence[QuestionState], outcomes: rounds.Outcomes
    ) -> None:
        """Log how many requests a task needed, and what its scores are worth."""
        name = task.task_name
        logger.info("%s: %s", name, describe_asked([question.requests for question in questions]))
        for verdict in self.until.verdicts(name) if self.until else ():
            logger.info("%s: %s", name, verdict)
        of_task = [outcome for (owner, _), outcome in outcomes.items() if owner == name]
        if self.budget is not None and self.stop is not None and (notice := describe_bias(of_task)):
            logger.warning("%s: %s", name, notice)

    def _summed(self, numbers: list[int]) -> list[int]:
        """Sum each number over all ranks."""
        if self.world_size == 1:
            return numbers
        import torch  # always installed if there are several ranks

        gathered = self.all_gather(torch.tensor(numbers, device=self.device))
        sums: list[int] = gathered.reshape(self.world_size, -1).sum(dim=0).tolist()
        return sums


def check_stopping(task: str, model: AskingLM, config: Any, entries: Sequence[Entry], *, filters: int) -> None:
    """Check that the task and the model allow skipped requests."""
    where, back_end = f"{task}: {model.described}", behind(model)
    scored_early = model.stop is not None or model.until is not None
    if scored_early and not callable(config.process_results):
        raise UserError(f"{where} needs scored answers, but --predict_only disables scoring. Remove one of the two")
    if scored_early and filters > 1:
        raise UserError(
            f"{where}: expected one filter in filter_list, got {filters}. "
            "An answer that is settled under one filter may still change under another. Run the task with one filter"
        )
    if config.repeats > 1:
        raise UserError(f"{where}: expected repeats: 1, got {config.repeats} in the task file")
    schedule = getattr(back_end, "batch_schedule", 1)
    if isinstance(schedule, int | float) and schedule > 1:
        raise UserError(
            f"{where}: --batch_size auto:{schedule:g} adapts batches to one long list of requests, "
            "but these options send many short lists. Set --batch_size to a number"
        )
    if getattr(back_end, "batch_size", None) == "auto" and back_end.world_size > 1:
        raise UserError(
            f"{where}: with --batch_size auto all processes measure the batch size together in each call, "
            "but with these options they call the model a different number of times. Set --batch_size to a number"
        )


def check_repeats(task: str, model: Any, *, scores: bool) -> None:
    """Check that equal prompts are all sent to the model: caches and back ends merge them."""
    where = f"{task}: option 'repeats'"
    if isinstance(model, AskingLM) and model.settings:
        options = ", ".join(f"--{name}" for name in model.settings)
        raise UserError(f"{where}: {options} skips answers. Remove one of them")
    inside = model.lm if isinstance(model, AskingLM) else model
    if isinstance(inside, CachingLM) and not isinstance(inside, AnswerCache):
        raise UserError(f"{where}: the harness' cache answers equal prompts once. Leave out --use_cache")
    if scores and not isinstance(model, AskingLM):
        raise UserError(
            f"{where}: a back end may score equal prompts once. "
            "Use lm-eval-cora run, or pass the model as stop_early(model, None)"
        )


def stop_early(
    lm: Any,
    stop: str | None = EXACT,
    *,
    budget: int | None = None,
    until: Sequence[str] = (),
    baseline: Path | str | None = None,
    max_gen_toks: Sequence[int] = (),
) -> AskingLM:
    """Wrap a model so that requests are skipped once the scores are known exactly.

    Pass the result to `simple_evaluate(model=...)`. Each question of a lm-eval-cora task is asked in its original form
    first, then in its variants, the hardest kinds first, until an answer is wrong. The table contains cora, ci, mcqa,
    bmca@1.0 and acc_h, as far as the task has them, with the same values and standard errors as in the full run. It
    contains no other metrics, because the answers are a selected sample. Other tasks are not affected. (The batches
    differ from those of the full run. If answers depend on their batch, as in bfloat16, so do the scores.)

    Args:
        lm: An LM of the harness, or the harness' cache around one: `CachingLM(lm, path)`. A cache must be inside; do
            not pass `use_cache`.
        stop: `exact`; None asks all variants of a question.
        budget: Ask whole questions, drawn by the seed, with at most this number of requests for all tasks together.
            The standard errors are about other questions of the same kind.
        until: Requirements such as `cora>=0.45`, `no-worse cora:0.02`, `same cora:0.02` or `cora±0.02`: ask questions,
            drawn by the seed, until all of them are certain. Errors and intervals are then about all questions of the
            benchmark, and hold at every look together. Only metrics that have such intervals are printed.
        baseline: The output of a whole run, with which `no-worse` and `same` compare.
        max_gen_toks: Increasing token limits, such as (32, 512): a request whose response is cut off is sent again
            with the next limit. If empty, each task keeps its own limit.

    Returns:
        An LM. Its type has the name of the model's type, which the harness writes into its results.

    Raises:
        UserError: If an argument is invalid, two contradict each other, or the model is already wrapped.

    Example:
        >>> from lm_eval.models.dummy import DummyLM
        >>> model = stop_early(DummyLM())
        >>> type(model).__name__, model.rank, model.stop
        ('DummyLM', 0, 'exact')
    """
    named: type[AskingLM] = type(type(behind(lm)).__name__, (AskingLM,), {})
    asked = Until(until, baseline) if until or baseline is not None else None
    return named(lm, stop, budget=budget, until=asked, limits=max_gen_toks)
