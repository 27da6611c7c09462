"""Log messages of a run about its cost and about answers that its metrics leave out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lm_eval_cora.harness.progress import duration
from lm_eval_cora.reading import Skipped
from lm_eval_cora.responses import ResponseTable

_BYTES_PER_TOKEN = 4
_WHOLE = (
    "--limit and --samples count variants, not questions; "
    """to run 20 whole questions, pass --metadata '{"cora": {"questions": 20}}'"""
)
_MIN_QUESTIONS = 5
"""Minimum number of questions for a warning about identical samples. With fewer they may be identical by chance."""


def describe_cost(
    asked: Iterable[tuple[Mapping[str, Any], object, int]],
    *,
    repeats: int = 1,
    ranks: int = 1,
    rate: float | None = None,
) -> str:
    """Describe the cost of a task: questions, variants, requests and prompt tokens.

    Args:
        asked: For each variant on this rank its doc, its prompt, and the number of answers that are scored (1 if the
            answer is written).
        repeats: How often each variant is asked.
        ranks: Number of ranks.
        rate: Requests per second, to estimate the time; None leaves the estimate out.

    Returns:
        One line. Tokens are estimated at four bytes each, because no tokenizer is available.

    Example:
        >>> describe_cost([({"question_id": "q1"}, "Question: ...", 1)])
        '1 question, 1 variants, 1 requests, about 3 prompt tokens'
    """
    questions: set[str] = set()
    variants = answers = size = 0
    for doc, prompt, scored in asked:
        questions.add(doc["question_id"])
        variants += 1
        answers += scored
        # All letters of a variant share one context, and most back ends read it once.
        size += len(str(prompt).encode("utf-8", "replace"))  # a list of messages if a server formats them
    per_letter = ", one per letter" if answers > variants else ""
    share = f" on this rank, one of {ranks}" if ranks > 1 else ""
    time = f"; {duration(answers * repeats / rate)} at {rate:g} requests a second" if rate else ""
    return (
        f"{len(questions):,} question{'' if len(questions) == 1 else 's'}, {variants:,} variants, "
        f"{answers * repeats:,} requests{per_letter}, "
        f"about {size * repeats // _BYTES_PER_TOKEN:,} prompt tokens{share}{time}"
    )


def describe_cut(docs: Sequence[Mapping[str, Any]]) -> str:
    """Count the questions that --limit or --samples ask only in part; empty if there are none.

    Args:
        docs: The docs that will be asked.
    """
    asked = Counter(doc["question_id"] for doc in docs)
    needed = {doc["question_id"]: doc["variants"] for doc in docs}
    whole = sum(asked[question] >= count for question, count in needed.items())
    if whole == len(needed):
        return ""
    cut = f"{len(needed) - whole} of {len(needed)} questions would be asked only in part and will be left out"
    return f"{cut}{'' if whole else ', so no metric can be computed'}. {_WHOLE}"


def describe_incomplete(table: ResponseTable) -> str:
    """Count the questions and answers that were left out of the metrics; empty if there are none."""
    parts = []
    if table.incomplete:
        kept = len(table.question_ids)
        parts.append(
            f"{table.incomplete} of {table.incomplete + kept} questions are incomplete and left out"
            f"{'' if kept else ', so no metric is defined'}. {_WHOLE}"
        )
    if table.duplicates:
        parts.append(f"{table.duplicates} repeated answers to the same variant are left out")
    return "; ".join(parts)


def describe_not_begun(table: ResponseTable) -> str:
    """Count the questions of a run that asked only a sample of them; empty if it asked all."""
    if not table.not_begun:
        return ""
    asked = len(table.question_ids)
    return f"asked {asked:,} of {asked + table.incomplete + table.not_begun:,} questions, drawn by the seed"


def describe_samples(instances: Sequence[Any], *, sent_seeds: bool) -> str:
    """Warn if all samples of every question are identical, and name the likely cause; empty otherwise.

    Args:
        instances: The harness' requests on this rank, answered.
        sent_seeds: Whether each sample was sent with a different seed.
    """
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
    """Count the comparisons of answers that ran out of time or memory; empty if there are none.

    Args:
        table: The answers.
    """
    count = len(table.ran_out)
    if not count:
        return ""
    return f"{count:,} comparisons of answers ran out of time or memory and count as not equivalent; see `timeouts`"
