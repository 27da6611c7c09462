"""The lines that a run prints about itself: what it will cost, and what went wrong."""

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
    """a whole number of questions is run by --metadata '{"cora": {"questions": 20}}'"""
)
_QUESTIONS_THAT_TELL = 5
"""So many questions whose samples are all the same are no chance any more."""


def describe_cost(
    asked: Iterable[tuple[Mapping[str, Any], object, int]],
    *,
    repeats: int = 1,
    ranks: int = 1,
    rate: float | None = None,
) -> str:
    """Say how much a task asks before the first request.

    Args:
        asked: For each variant on this rank its doc, its prompt, and how many answers to it are scored, 1 if it is
            written.
        repeats: How often each of them is asked.
        ranks: Number of ranks.
        rate: Requests a second for which to say how long they take; None says nothing.

    Returns:
        One line. Tokens are estimated at four bytes each: no tokenizer is at hand.

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
        # The letters of a variant are scored after one context, which most back ends read once.
        size += len(str(prompt).encode("utf-8", "replace"))  # a list of messages, where a server is to format them
    per_letter = ", one per letter" if answers > variants else ""
    share = f" on this rank, one of {ranks}" if ranks > 1 else ""
    time = f"; {duration(answers * repeats / rate)} at {rate:g} requests a second" if rate else ""
    return (
        f"{len(questions):,} question{'' if len(questions) == 1 else 's'}, {variants:,} variants, "
        f"{answers * repeats:,} requests{per_letter}, "
        f"about {size * repeats // _BYTES_PER_TOKEN:,} prompt tokens{share}{time}"
    )


def describe_cut(docs: Sequence[Mapping[str, Any]]) -> str:
    """Say before the run how many questions --limit or --samples cut in two, or nothing.

    Args:
        docs: The docs that will be asked.
    """
    asked = Counter(doc["question_id"] for doc in docs)
    needed = {doc["question_id"]: doc["variants"] for doc in docs}
    whole = sum(asked[question] >= count for question, count in needed.items())
    if whole == len(needed):
        return ""
    cut = f"{len(needed) - whole} of {len(needed)} questions are cut in two and will be left out"
    return f"{cut}{'' if whole else ', so no score will come out'}. {_WHOLE}"


def describe_incomplete(table: ResponseTable) -> str:
    """Say how many questions and records were left out, or nothing."""
    parts = []
    if table.incomplete:
        kept = len(table.question_ids)
        parts.append(
            f"{table.incomplete} of {table.incomplete + kept} questions are incomplete and left out"
            f"{'' if kept else ', so no metric is defined'}. {_WHOLE}"
        )
    if table.duplicates:
        parts.append(f"{table.duplicates} answers to variants that were answered before are left out")
    return "; ".join(parts)


def describe_not_begun(table: ResponseTable) -> str:
    """Say how many questions the run was content with, or nothing if it asked all of them."""
    if not table.not_begun:
        return ""
    asked = len(table.question_ids)
    return f"asked {asked:,} of {asked + table.incomplete + table.not_begun:,} questions, drawn by the seed"


def describe_samples(instances: Sequence[Any], *, sent_seeds: bool) -> str:
    """Say that the samples of every question are equal, and why; or nothing.

    Args:
        instances: The harness' requests on this rank, answered.
        sent_seeds: Whether each sample was sent with a different seed.
    """
    responses: dict[str, list[Any]] = {}
    for instance in instances:
        response = instance.resps[0] if instance.resps else ""
        if not isinstance(response, Skipped):
            responses.setdefault(instance.doc["question_id"], []).append(response)
    told = [given for given in responses.values() if len(given) > 1]
    if len(told) < _QUESTIONS_THAT_TELL or any(response != given[0] for given in told for response in given):
        return ""
    why = (
        "Each was sent with a different seed, so the back end ignores the seed or the temperature. Check both"
        if sent_seeds
        else "No seeds were sent. An API that gets the same request again may answer so: send a seed with each by "
        """--metadata '{"cora": {"request_seeds": true}}'"""
    )
    return f"the samples of each of the {len(told)} questions are equal, so the metrics say nothing. {why}"


def describe_timeouts(table: ResponseTable) -> str:
    """Say how many comparisons of answers ran out of time or memory, or nothing.

    Args:
        table: The answers.
    """
    count = len(table.ran_out)
    if not count:
        return ""
    return f"{count:,} comparisons of answers ran out of time or memory and count as not equivalent; see `timeouts`"
