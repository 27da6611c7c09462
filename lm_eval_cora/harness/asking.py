"""A model that is asked as little as possible: no text twice, and no question further than it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lm_eval.api.instance import Instance

from lm_eval_cora.harness.forwarding import ForwardingLM, ask, behind
from lm_eval_cora.harness.kept import key_of
from lm_eval_cora.harness.limits import check_limits, generate_in_steps
from lm_eval_cora.harness.log import logger
from lm_eval_cora.harness.progress import Progress, counting
from lm_eval_cora.harness.questions import QuestionState, Requests, StoppableTask, by_question, still_open, task_of
from lm_eval_cora.options import OptionError
from lm_eval_cora.reading import SKIPPED
from lm_eval_cora.stopping.rounds import (
    Observed,
    Outcomes,
    Planned,
    Rounds,
    cora_error,
    everything,
    until_precise,
    within_budget,
)
from lm_eval_cora.stopping.rule import EXACT


class AskingLM(ForwardingLM):
    """Asks a model what our tasks need to know; requests of other tasks pass through untouched.

    Identical requests are asked once, unless chance is in the answer. With `stop` the variants of a question are asked
    one after another, those of all questions side by side in waves, until an answer is wrong. A skipped request
    gets the response SKIPPED.
    """

    def __init__(
        self,
        lm: Any,
        stop: str | None = None,
        *,
        budget: int | None = None,
        target: float | None = None,
        limits: Sequence[int] = (),
    ) -> None:
        """Stand before a model.

        Args:
            lm: The model, or the harness' cache around one.
            stop: The stopping rule; None asks all variants of a question.
            budget: How many requests may be asked of the model by all ranks together.
            target: The standard error of CoRA from which on no more questions are asked.
            limits: Numbers of tokens for answers that are written: the first one at first, the next ones for what it
                cuts off. Empty leaves each task its own limit.

        Raises:
            OptionError: If the arguments do not go together, or the model has such a layer.
        """
        super().__init__(lm)
        if isinstance(lm, AskingLM) or isinstance(getattr(lm, "lm", None), AskingLM):
            raise OptionError("stop_early was given a model that it has been given before; give it the model itself")
        if stop not in (None, EXACT):
            raise OptionError(f"--stop {stop!r}: expected {EXACT!r} (CoRA, CI, MCQA and BMCA(1.0) as in the full run)")
        if budget is not None and target is not None:
            raise OptionError("--budget and --target-stderr both say how many questions are asked; give one of them")
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 1):
            raise OptionError(f"--budget {budget!r}: expected a whole number from 1")
        if target is not None and not 0 < target < 1:
            raise OptionError(f"--target-stderr {target!r}: expected a number above 0 and below 1")
        check_limits(limits, budget)
        self.limits = tuple(limits)
        self.stop = stop
        self.budget = budget
        self.target = target
        # Of one run: of the next one the model may be another inside.
        self._known: dict[str, Any] = {}
        self._expected: dict[str, str] = {}
        self._is_over = False

    @property
    def leaves_out(self) -> bool:
        """Whether some requests may not be asked at all."""
        return not (self.stop is None and self.budget is None and self.target is None)

    def settings(self) -> dict[str, object]:
        """What decides which requests are asked, for the signature.

        Example:
            >>> AskingLM(None, "exact", budget=1000).settings()
            {'stop': 'exact', 'budget': 1000}
        """
        given = {"stop": self.stop, "budget": self.budget, "target-stderr": self.target}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def calls_often(self) -> bool:
        """Whether the model is called in many waves or steps, not once."""
        return self.leaves_out or len(self.limits) > 1

    @property
    def described(self) -> str:
        """The options that decide how often the model is called, as they are given.

        Example:
            >>> AskingLM(None, "exact", limits=(32, 512)).described
            '--stop exact --max_gen_toks 32,512'
        """
        limits = [f"--max_gen_toks {','.join(map(str, self.limits))}"] if len(self.limits) > 1 else []
        return " ".join([*(f"--{name} {value}" for name, value in self.settings().items()), *limits])

    def expect(self, task: str, output_type: str) -> None:
        """Be told of a task that will be asked, before the first request of a run.

        Raises:
            OptionError: If a budget would have to be shared with a task in another form: the harness asks these one
                after the other, and the first would spend it.
        """
        if self._is_over:
            self._known, self._expected, self._is_over = {}, {}, False
        self._expected[output_type] = task
        if self.budget is not None and len(self._expected) > 1:
            raise OptionError(
                f"--budget {self.budget}: {' and '.join(self._expected.values())} are asked one after the other, "
                "because answers are written in one and scored in the other; run them one at a time"
            )

    def check(self, tasks: Sequence[StoppableTask]) -> None:
        """See that the budget is worth beginning with.

        Raises:
            OptionError: If it does not pay for one question.
        """
        if self.budget is not None:
            next(within_budget(_interleaved([task.agenda() for task in tasks]), self.budget))

    def set_cache_hook(self, cache_hook: Any) -> None:
        """Refuse a cache around this model: it would store SKIPPED, and answer a later full run with it.

        Raises:
            OptionError: If there is one, and requests may be left out.
        """
        if self.leaves_out and getattr(cache_hook, "dbdict", None) is not None:
            raise OptionError(
                "a cache around a model that stops early would store that something was skipped, and a later run "
                "would read that as an answer. Put the cache inside: stop_early(CachingLM(lm, path)) without "
                "use_cache; `lm-eval-cora run ... --stop ... --use_cache FILE` does so"
            )
        super().set_cache_hook(cache_hook)

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Have answers written."""
        return self._answers("generate_until", requests)

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[Any]:
        """Have answers scored."""
        return self._answers("loglikelihood", requests)

    def _answers(self, method: str, requests: Sequence[Instance]) -> list[Any]:
        self._is_over = True
        if not self.leaves_out:
            progress = Progress(len(requests), bar=False)  # the back end shows one
            with counting(self.lm, progress):
                return self._once(method, requests, progress)
        ours: dict[int, Instance] = {id(request): request for request in requests if task_of(request) is not None}
        others = [request for request in requests if id(request) not in ours]
        answers = self._in_rounds(method, list(ours.values())) if ours else {}
        passed = iter(self._once(method, others) if others else ())
        # Where the harness pads a rank, the last request comes several times: it has its answer.
        return [answers.get(id(request), SKIPPED) if id(request) in ours else next(passed) for request in requests]

    # ---- no text twice

    def _once(
        self, method: str, requests: Sequence[Instance], progress: Progress | None = None, *, disable_tqdm: bool = False
    ) -> list[Any]:
        """Ask, but no text that was asked before."""
        # What belongs to other tasks passes through, repeated or not.
        keys = [None if task_of(request) is None else key_of(method, request.args) for request in requests]
        new: dict[str, None] = {}
        asked = []
        for key, request in zip(keys, requests, strict=True):
            if key is None:
                asked.append(request)
            elif key not in self._known and key not in new:
                new[key] = None
                asked.append(request)
        if repeats := len(requests) - len(asked):
            logger.info("%d of %d requests are the same as others and not asked again", repeats, len(requests))
            if progress is not None:
                progress.skip(repeats)
        if asked and method == "generate_until" and len(self.limits) > 1:
            received = generate_in_steps(self.lm, asked, self.limits, disable_tqdm=disable_tqdm)
        else:
            received = ask(self.lm, method, asked, disable_tqdm=disable_tqdm) if asked else []
        fresh: Iterator[Any] = iter(received)
        answers = []
        for key in keys:
            if key is None:
                answers.append(next(fresh))
                continue
            if key in new:
                del new[key]
                self._known[key] = next(fresh)
            answers.append(self._known[key])
        return answers

    # ---- no question further than it takes

    def _in_rounds(self, method: str, requests: Sequence[Instance]) -> dict[int, Any]:
        """Ask round by round, and wave by wave in each; the answers by id of the request."""
        questions = by_question(requests, stop=self.stop is not None)
        tasks = {question.task.task_name: question.task for question in questions.values()}
        agenda = _interleaved([task.agenda() for task in tasks.values()]) if self._plans else ()
        rounds = self._rounds(agenda, questions)
        answers: dict[int, Any] = {}
        batch, tally, number = next(rounds, None), Observed(), 0
        progress = Progress(min(len(requests), self.budget or len(requests)), bar=self.rank == 0)
        with counting(self.lm, progress):
            while batch is not None:
                number += 1
                members = [question for p in batch if (question := questions.get((p.task, p.question))) is not None]
                self._ask(method, members, answers, f"round {number}, " if self._plans else "", progress, questions)
                tally = self._tally(list(tasks), questions.values()) if self._plans else tally
                batch = _sent(rounds, tally)
        progress.close()
        for task in tasks:
            own = [question for question in questions.values() if question.task.task_name == task]
            logger.info("%s: %s", task, _described(own))
            if self.target is not None:
                error = cora_error(tally.outcomes[task])
                met = "is below" if error < self.target else "did not come below"
                logger.info("%s: the standard error of cora, %.4f, %s %s", task, error, met, self.target)
        return answers

    @property
    def _plans(self) -> bool:
        """Whether the number of questions depends on what comes out."""
        return self.budget is not None or self.target is not None

    def _rounds(self, agenda: Sequence[Planned], questions: Mapping[tuple[str, str], QuestionState]) -> Rounds:
        if self.budget is not None:
            return within_budget(agenda, self.budget)
        if self.target is not None:
            return until_precise(agenda, self.target)
        return everything([Planned(task, question, 0) for task, question in questions])

    def _ask(
        self,
        method: str,
        questions: Sequence[QuestionState],
        answers: dict[int, Any],
        which: str,
        progress: Progress,
        every: Mapping[tuple[str, str], QuestionState],
    ) -> None:
        """Ask what each question needs, in waves: of every open question the next variant, side by side."""
        wave = 0
        while pending := [(question, variants) for question in questions if (variants := question.next())]:
            wave += 1
            asked = [(question, variant) for question, variants in pending for variant in variants]
            requests = [request for _, variant in asked for request in variant]
            logger.info("%swave %d: open questions: %d, requests: %d", which, wave, len(pending), len(requests))
            received = iter(self._once(method, requests, disable_tqdm=True))
            responses = [[next(received) for _ in variant] for _, variant in asked]
            for (_, variant), given in zip(asked, responses, strict=True):
                answers.update((id(request), response) for request, response in zip(variant, given, strict=True))
            self._take(asked, responses)
            open_ones, left = still_open(every.values())
            left = left if self.budget is None else min(left, self.budget - len(answers))
            progress.after_a_wave(len(answers), left, len(every) - open_ones, len(every))

    def _needs_scores(self, question: QuestionState) -> bool:
        """Whether anything depends on how its answers come out."""
        return question.stops or self.target is not None

    def _take(self, asked: Sequence[tuple[QuestionState, Requests]], responses: Sequence[Sequence[Any]]) -> None:
        """Tell each question how its variants came out, scored together for each task."""
        of_task: dict[str, list[int]] = {}
        for number, (question, variant) in enumerate(asked):
            if self._needs_scores(question):
                of_task.setdefault(question.task.task_name, []).append(number)
            else:
                question.take(variant, None)
        for numbers in of_task.values():
            task = asked[numbers[0]][0].task
            verdicts = task.score_early([(asked[number][1], responses[number]) for number in numbers])
            for number, right in zip(numbers, verdicts, strict=True):
                question, variant = asked[number]
                question.take(variant, right)

    def _tally(self, tasks: Sequence[str], questions: Iterable[QuestionState]) -> Observed:
        """What all ranks have asked and found out."""
        requests = 0
        counts: Counter[tuple[str, str]] = Counter()
        for question in questions:
            requests += question.requests
            counts[question.task.task_name, question.outcome] += 1
        told = [requests, *(counts[task, outcome] for task in tasks for outcome in Outcomes._fields)]
        spent, *numbers = self._shared(told)
        size = len(Outcomes._fields)
        by_task = {task: Outcomes(*numbers[size * place : size * (place + 1)]) for place, task in enumerate(tasks)}
        return Observed(spent, by_task)

    def _shared(self, numbers: list[int]) -> list[int]:
        """The sums of some numbers over all ranks."""
        if self.world_size == 1:
            return numbers
        import torch  # several ranks have it

        gathered = self.all_gather(torch.tensor(numbers, device=self.device))
        sums: list[int] = gathered.reshape(self.world_size, -1).sum(dim=0).tolist()
        return sums


def stop_early(
    lm: Any,
    stop: str | None = EXACT,
    *,
    budget: int | None = None,
    target_stderr: float | None = None,
    max_gen_toks: Sequence[int] = (),
) -> AskingLM:
    """A model that asks another one only as much as it takes to know a score exactly.

    Hand it to `simple_evaluate(model=...)`. Of tasks of ours each question is asked in its original form first, then in
    its variants, the hardest kinds first, until an answer is wrong. The table then has cora, ci, mcqa and bmca@1.0
    (acc_h too where the order of the options is asked) as in the full run, with the same standard errors, and nothing
    else: the answers that there are have been selected. Other tasks pass through untouched. (The batches are not those
    of the full run: where an answer depends on its batch, as in bfloat16, so do the scores of both.)

    Args:
        lm: An LM of the harness; or its cache around one, `CachingLM(lm, path)`: a cache belongs inside, and
            `use_cache` must not be given.
        stop: `exact`; None asks all variants of the questions that are asked.
        budget: Ask whole questions, drawn by the seed, for at most so many requests, of all tasks together.
        target_stderr: Ask whole questions, drawn by the seed, until CoRA's standard error is below this.
        max_gen_toks: Growing limits of tokens, such as (32, 512): answers that a limit cuts off are asked for again
            with the next one. Empty leaves each task its own limit.

    Returns:
        An LM, of a type that has the name of the model's: the harness writes that into its results.

    Raises:
        OptionError: If there is no such stopping rule, or the arguments do not go together.

    Example:
        >>> from lm_eval.models.dummy import DummyLM
        >>> model = stop_early(DummyLM())
        >>> type(model).__name__, model.rank, model.stop
        ('DummyLM', 0, 'exact')
    """
    named: type[AskingLM] = type(type(behind(lm)).__name__, (AskingLM,), {})
    return named(lm, stop, budget=budget, target=target_stderr, limits=max_gen_toks)


def _interleaved(agendas: Sequence[Sequence[Planned]]) -> list[Planned]:
    """The questions of several tasks in one order, of whose beginnings each task has its share."""
    placed = [
        ((place + 0.5) / len(agenda), number, planned)
        for number, agenda in enumerate(agendas)
        for place, planned in enumerate(agenda)
    ]
    return [planned for *_, planned in sorted(placed, key=lambda item: item[:2])]


def _sent(rounds: Rounds, tally: Observed) -> Sequence[Planned] | None:
    """The next round, None after the last."""
    try:
        return rounds.send(tally)
    except StopIteration:
        return None


def _described(questions: Sequence[QuestionState]) -> str:
    begun = [question.requests for question in questions if question.requests]
    return (
        f"asked {sum(begun):,} requests for {len(begun):,} of {len(questions):,} questions, "
        f"{sum(begun) / max(1, len(begun)):.2f} each"
    )
