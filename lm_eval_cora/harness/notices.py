"""Log messages of a run about its cost and about answers that its metrics leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lm_eval_cora.harness.progress import duration
from lm_eval_cora.metrics.two_phase import Phases, estimate
from lm_eval_cora.reading import Skipped
from lm_eval_cora.responses import ResponseTable
from lm_eval_cora.stopping.bias import ENOUGH, Moments, bias_of_budget
from lm_eval_cora.stopping.rounds import Planned, shares_of_budget

OTHER_QUESTIONS = "standard errors are about other questions of the same kind"
"""What the standard errors of a random sample of questions are about."""

_BYTES_PER_TOKEN = 4
_MIN_QUESTIONS = 5
"""Minimum number of questions for a warning about identical samples. With fewer they may be identical by chance."""


def describe_cost(
    asked: Iterable[tuple[Mapping[str, Any], object, int]],
    *,
    repeats: int = 1,
    ranks: int = 1,
    rate: float | None = None,
) -> str:
    """Describe the cost of a task: questions, variants if each is several requests, requests and prompt tokens."""
    questions: set[str] = set()
    variants = answers = size = 0
    for doc, prompt, scored in asked:
        questions.add(doc["question_id"])
        variants += 1
        answers += scored
        # All letters of a variant share one context, and most back ends read it once.
        size += len(str(prompt).encode("utf-8", "replace"))  # a list of messages if a server formats them
    requests = answers * repeats
    in_variants = f"{variants:,} variants, " if requests > variants else ""
    per_letter = ", one per letter" if answers > variants else ""
    share = f" on this rank, one of {ranks}" if ranks > 1 else ""
    time = f"; {duration(requests / rate)} at {rate:g} requests a second" if rate else ""
    return (
        f"{len(questions):,} question{'' if len(questions) == 1 else 's'}, {in_variants}"
        f"{requests:,} request{'' if requests == 1 else 's'}{per_letter}, "
        f"about {size * repeats // _BYTES_PER_TOKEN:,} prompt tokens{share}{time}"
    )


def describe_stopping(left_out: Mapping[str, object], *, is_sample: bool) -> str:
    """Describe when a run ends and what its standard errors are about; empty if it asks everything.

    Example:
        >>> describe_stopping({"budget": 1000}, is_sample=False)
        '; the budget is 1,000 requests; standard errors are about other questions of the same kind'
        >>> describe_stopping({}, is_sample=True)
        '; standard errors are about other questions of the same kind'
        >>> describe_stopping({"target": "whole:0.01"}, is_sample=False)
        '; the target is a 95% interval of cora of ± 0.01 for the value of all these questions'
    """
    about = f"; {OTHER_QUESTIONS}"
    if "target" in left_out:
        width = str(left_out["target"]).partition(":")[2]
        return f"; the target is a 95% interval of cora of ± {width} for the value of all these questions"
    if "budget" in left_out:
        return f"; the budget is {left_out['budget']:,} requests{about}"
    if "target-stderr" in left_out:
        return f"; the target is a standard error of cora below {left_out['target-stderr']}{about}"
    return about if is_sample else ""


def describe_incomplete(table: ResponseTable) -> str:
    """Count the questions and answers that were left out of the metrics; empty if there are none."""
    parts = []
    if table.incomplete:
        kept = len(table.question_ids)
        parts.append(
            f"{table.incomplete} of {table.incomplete + kept} questions are incomplete and left out"
            f"{'' if kept else ', so no metric is defined'}"
        )
    if table.duplicates:
        parts.append(f"{table.duplicates} repeated answers to the same variant are left out")
    return "; ".join(parts)


def describe_not_begun(table: ResponseTable) -> str:
    """Count the questions of a run that asked only a sample of them; empty if it asked all."""
    if not table.not_begun:
        return ""
    asked = len(table.question_ids)
    every = asked + table.incomplete + table.not_begun
    return f"asked {asked:,} of {every:,} questions, drawn by the seed; {OTHER_QUESTIONS}"


def describe_whole(phases: Phases) -> str:
    """Describe a two-phase sample and its interval for the full benchmark.

    Example:
        >>> describe_whole(Phases(questions=1273, asked=1273, right=940, followed=650, always=150))
        'asked 1,273 of 1,273 originals and followed 650 of the 940 right ones, drawn by the seed. Standard errors and \
intervals are about the values for all 1,273 questions of this run; cora is 0.3094 to 0.3291 (± 0.0098)'
    """
    low, high = estimate("cora", phases).interval
    return (
        f"asked {phases.asked:,} of {phases.questions:,} originals and followed {phases.followed:,} of the "
        f"{phases.right:,} right ones, drawn by the seed. Standard errors and intervals are about the values for all "
        f"{phases.questions:,} questions of this run; cora is {low:.4f} to {high:.4f} (± {(high - low) / 2:.4f})"
    )


def describe_shares(agenda: Sequence[Planned], budget: int, *, stops: bool) -> str:
    """Describe how the tasks of a run share a budget.

    Example:
        >>> agenda = [Planned("a", "q1", 26), Planned("b", "q1", 20), Planned("a", "q2", 26)]
        >>> describe_shares(agenda, 80, stops=False)
        'the budget of 80 requests pays for 2 questions of a and 1 of b; standard errors are about other questions of \
the same kind'
    """
    shares = [f"{count:,} of {task}" for task, count in shares_of_budget(agenda, budget).items()]
    shares[0] = shares[0].replace(" of ", " question of " if shares[0].startswith("1 ") else " questions of ", 1)
    listed = f"{', '.join(shares[:-1])} and {shares[-1]}" if len(shares) > 1 else shares[0]
    more = ", and for more if they stop early" if stops else ""
    return f"the budget of {budget:,} requests pays for {listed}{more}; {OTHER_QUESTIONS}"


def describe_bias(moments: Moments, questions: int) -> str:
    """Warn if a budget ended a run after few questions, whose number depended on the answers; empty otherwise.

    Example:
        >>> describe_bias(Moments(15, 130, 11, 126, 3, 78), 1273)
        'the budget paid for only 15 questions, and their number depended on the answers, so the scores are too high \
on average: mcqa by about 0.017, bmca@1.0 by 0.029. From 300 questions on this is small. Raise \
--budget, or set the option questions instead'
        >>> describe_bias(Moments(300, 2600, 220, 2520, 60, 1560), 1273)
        ''
    """
    bias = bias_of_budget(moments)
    if not 2 <= moments.questions < min(ENOUGH, questions) or not any(bias):
        return ""
    return (
        f"the budget paid for only {moments.questions:,} questions, and their number depended on the answers, so the "
        f"scores are too high on average: mcqa by about {bias.mcqa:.3f}, bmca@1.0 by {bias.bmca:.3f}. From {ENOUGH} "
        "questions on this is small. Raise --budget, or set the option questions instead"
    )


def describe_samples(instances: Sequence[Any], *, sent_seeds: bool) -> str:
    """Warn if all samples of every question are identical, and name the likely cause; empty otherwise."""
    responses: dict[str, list[Any]] = {}
    for instance in instances:
        response = instance.resps[0] if instance.resps else ""
        if not isinstance(response, Skipped):
            responses.setdefault(instance.doc["question_id"], []).append(response)
    sampled = [given for given in responses.values() if len(given) > 1]
    if len(sampled) < _MIN_QUESTIONS or any(response != given[0] for given in sampled for response in given):
        return ""
    why = (
        "Each request had a different seed, so the back end ignores the seed or the temperature. Check both"
        if sent_seeds
        else "No seeds were sent, and an API may return the same answer to the same request. To send a different seed "
        """with each request, pass --metadata '{"cora": {"request_seeds": true}}'"""
    )
    return f"all samples of each of the {len(sampled)} questions are identical, so the metrics are meaningless. {why}"


def describe_timeouts(table: ResponseTable) -> str:
    """Count the comparisons of answers that ran out of time or memory; empty if there are none."""
    count = len(table.ran_out)
    if not count:
        return ""
    return f"{count:,} comparisons of answers ran out of time or memory and count as not equivalent; see `timeouts`"
