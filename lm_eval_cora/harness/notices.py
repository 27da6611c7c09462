"""Log messages of a run about its cost and about answers that its metrics leave out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from lm_eval_cora.answers import TOO_MANY_INVALID, Reader, Reason
from lm_eval_cora.answers.formats import FORMATS, AnswerFormat
from lm_eval_cora.answers.records import Record, Skipped
from lm_eval_cora.harness.rounds import Planned, QuestionOutcome, shares_of_budget
from lm_eval_cora.metrics.accuracy import ALL_RIGHT, letter_mass
from lm_eval_cora.metrics.responses import Bools, Ints, ResponseTable
from lm_eval_cora.questions.messages import counted, first_few
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.variants.variant import REPEAT, passages_of

OTHER_QUESTIONS = "standard errors are about other questions of the same kind"
"""What the standard errors of a random sample of questions are about."""

ALL_QUESTIONS = "standard errors and intervals are about the values for all of them"
"""The same after `--until`."""


def describe_cost(
    asked: Iterable[tuple[Mapping[str, Any], object, int]],
    *,
    repeats: int = 1,
    ranks: int = 1,
    rate: float | None = None,
) -> str:
    """Describe the cost of a task: questions, variants if each is several requests, requests and prompt tokens."""
    docs: list[Mapping[str, Any]] = []
    answers = size = again = 0
    for doc, prompt, scored in asked:
        docs.append(doc)
        answers += scored
        again += scored * (doc.get("kind") == REPEAT)
        # All letters of a variant share one context, and most back ends read it once.
        size += len(str(prompt).encode("utf-8", "replace"))  # a list of messages if a server formats them
    questions, variants, requests = passages_of(docs), len(docs), answers * repeats
    in_variants = f"{variants:,} variants, " if requests > variants else ""
    per_letter = ", one per letter" if answers > variants else ""
    repeated = f", {again:,} of them repeats" if again else ""
    share = f" on this rank, one of {ranks}" if ranks > 1 else ""
    time = f"; {duration(requests / rate)} at {rate:g} requests a second" if rate else ""
    passages = len({*questions.values()})
    shared = f" in {counted(passages, 'passage')}" if passages < len(questions) else ""
    return (
        f"{counted(len(questions), 'question')}{shared}, "
        f"{in_variants}{counted(requests, 'request')}{per_letter}{repeated}, "
        f"about {size * repeats // 4:,} prompt tokens{share}{time}"
    )


def duration(seconds: float) -> str:
    """Format a time in seconds for a message."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def describe_stopping(left_out: Mapping[str, object], *, is_sample: bool) -> str:
    """Describe when a run ends and what its standard errors are about; empty if it asks everything."""
    about = f"; {OTHER_QUESTIONS}"
    if "until" in left_out:
        most = f", or {left_out['budget']:,} requests are sent" if "budget" in left_out else ""
        return f"; until this is certain: {left_out['until']}{most}"
    if "budget" in left_out:
        return f"; the budget is {left_out['budget']:,} requests{about}"
    return about if is_sample else ""


def describe_incomplete(table: ResponseTable) -> str:
    """Count the questions and answers that were left out of the metrics; empty if there are none."""
    every = table.incomplete + len(table.question_ids)
    undefined = "" if table.question_ids else ", so no metric is defined"
    notices = []
    if table.incomplete:
        notices.append(f"{table.incomplete} of {every} questions are incomplete and left out{undefined}")
    if table.duplicates:
        notices.append(f"{table.duplicates} repeated answers to the same variant are left out")
    return "; ".join(notices)


def describe_blocked(records: Sequence[Record]) -> str:
    """Name the questions whose prompts or answers a filter of the server blocked; empty if there are none."""
    blocked = [record.question_id for record in records if record.reason is Reason.BLOCKED]
    named = first_few(dict.fromkeys(blocked), 20)
    what = f"a filter of the server blocked {counted(len(blocked), 'answer')}, which are invalid, to the questions"
    return f"{what} {named}" if blocked else ""


def describe_mass(table: ResponseTable) -> str:
    """Warn if most of the probability falls on other tokens than the printed letters; empty otherwise."""
    mass = letter_mass(table).value
    if isnan(mass) or mass >= _LITTLE:
        return ""
    return f"only {mass:.0%} of the probability falls on the printed letters, so they say little. {_SAYS_NO_LETTER}"


def describe_not_begun(table: ResponseTable, *, is_certain: bool) -> str:
    """Count the questions of a run that asked only a sample of them; empty if it asked all."""
    if not table.not_begun:
        return ""
    asked = len(table.question_ids)
    every = asked + table.incomplete + table.not_begun
    about = ALL_QUESTIONS if is_certain else OTHER_QUESTIONS
    return f"asked {asked:,} of {every:,} questions, drawn by the seed; {about}"


def describe_shares(agenda: Sequence[Planned], budget: int, *, stops: bool) -> str:
    """Describe how the tasks of a run share a budget."""
    (task, count), *others = shares_of_budget(agenda, budget).items()
    shares = [f"{counted(count, 'question')} of {task}", *(f"{count:,} of {task}" for task, count in others)]
    listed = f"{', '.join(shares[:-1])} and {shares[-1]}" if others else shares[0]
    more = ", and for more if they stop early" if stops else ""
    return f"the budget of {budget:,} requests pays for {listed}{more}"


def describe_asked(counts: Sequence[int]) -> str:
    """Describe how many requests were sent for each question."""
    begun = [count for count in counts if count]
    mean = sum(begun) / max(1, len(begun))
    left = len(counts) - len(begun)
    saved = f"; the others would need about {mean * left:,.0f} more" if left else ""
    return f"asked {sum(begun):,} requests for {len(begun):,} of {len(counts):,} questions, {mean:.2f} each{saved}"


_ENOUGH = 300  # number of questions from which the bias of a budget is small compared with the standard error


def bias_of_budget(costs: Ints, hits: Bools) -> float:
    """Estimate by how much the share of hits is too high because a budget decided the number of questions.

    If many of the first questions need many requests, because all their variants are right, few others follow. To first
    order the bias of a share is Cov(c, x) / B, with the costs c of the questions and B requests in total; it is of the
    order 1 / n.
    """
    n, requests = len(costs), int(costs.sum())
    if n < 2 or not requests:
        return 0.0
    return float(costs[hits].sum() - requests * hits.sum() / n) / (n - 1) / requests


def describe_bias(outcomes: Sequence[QuestionOutcome]) -> str:
    """Warn if a budget ended a run after few questions, whose number depended on the answers; empty otherwise."""
    known = [outcome for outcome in outcomes if outcome.scored]
    costs = np.array([outcome.requests for outcome in known])
    mcqa = bias_of_budget(costs, np.array([outcome.right for outcome in known]))
    bmca = bias_of_budget(costs, np.array([not outcome.others for outcome in known]))
    if not 2 <= len(known) < min(_ENOUGH, len(outcomes)) or not (mcqa or bmca):
        return ""
    return (
        f"the budget paid for only {len(known):,} questions, and their number depended on the answers, so the "
        f"scores are too high on average: mcqa by about {mcqa:.3f}, {ALL_RIGHT} by {bmca:.3f}. From {_ENOUGH} "
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
    # With fewer than five questions they may be identical by chance.
    if len(sampled) < 5 or any(response != given[0] for given in sampled for response in given):
        return ""
    why = (
        "Each request had a different seed, so the back end ignores the seed or the temperature. Check both"
        if sent_seeds
        else "No seeds were sent, and an API may return the same answer to the same request. To send a different seed "
        """with each request, pass --metadata '{"cora": {"request_seeds": true}}'"""
    )
    return f"all samples of each of the {len(sampled)} questions are identical, so the metrics are meaningless. {why}"


_LITTLE = 0.5  # of the probability on the letters
_SAYS_NO_LETTER = (
    "Add an instruction (--system_instruction 'Reply with the letter only.') or exemplars (--num_fewshot 5), or let "
    "the model write its answers, with the task without _mc"
)
_ROOM = 4096  # token limit that is enough for most reasoning models
_NO_CHOICE = (Reason.SEVERAL, Reason.REPEATED, Reason.CONTRADICTION, Reason.REJECTED, Reason.NONE_FITS)
_DO = {
    Reason.OUT_OF_RANGE: "name a letter that no option has",
    Reason.REFUSED: "refuse to answer",
    **dict.fromkeys(_NO_CHOICE, "do not choose one option"),
}
"""What responses do that are invalid for a reason."""

_RESPONSES = "`filtered_resps` in the samples file"
_LOOK = "Look at `resps` in the samples file"
_INSTEAD = {
    "a refusal": f"The model refuses to answer. {_LOOK}; more tokens do not help",
    "a tool call": "The model calls a tool. Switch tool calls off on the server, such as --enable-auto-tool-choice of "
    "vLLM",
    "reasoning without an answer": "The server's reasoning parser takes the whole response for reasoning. Start the "
    "server without it, such as without --reasoning-parser of vLLM",
    "nothing: the server's filter removed the answer": "Switch the filter off on the server; more tokens do not help",
    "a generation that failed at the provider": "lm-eval-cora run sends such requests again",
    "no text": f"The server sends complete responses without text. {_LOOK}, and look at the server's log",
    "JSON that is not text": f"{_LOOK}; the server does not send text in the format of the API",
}
"""What helps if something else came instead of text, and the token limit is not the cause."""


@dataclass(frozen=True)
class Conditions:
    """How the model was asked (`chat`: with a chat template; `limit`: of tokens) and how its answers were read."""

    chat: bool
    reader: Reader = "flexible"
    limit: int | None = None


def advise_on_invalid(records: Sequence[Record], setting: Conditions) -> list[str]:
    """Suggest what to change if more than 10% of the answers are invalid."""
    # Without this advice, a missing chat template or a token limit that is too small just looks like a CoRA of 0.
    by_format = grouped_by(records, lambda record: record.ask)
    alone = len(by_format) == 1
    notices = [_advise_on(FORMATS[name], members, setting, alone=alone) for name, members in by_format.items()]
    return [notice for notice in (_advise_on_limit(records, setting), *notices) if notice]


def _advise_on_limit(records: Sequence[Record], setting: Conditions) -> str:
    """Say that the token limit cut off most responses; empty if it did not."""
    cut = [record for record in records if record.cut_off]
    if len(cut) <= len(records) / 2:
        return ""
    lost = sum(record.invalid for record in cut)
    few = lost <= TOO_MANY_INVALID * len(cut)
    limit = "the token limit" if setting.limit is None else f"the limit of {setting.limit:,} tokens"
    advice = "the others state it before the cut, so more tokens would change little" if few else _room(setting.limit)
    return (
        f"{len(cut):,} of {len(records):,} responses were cut off by {limit}, and {lost:,} of these have no answer. "
        f"{advice[0].upper()}{advice[1:]}"
    )


def _advise_on(wanted: AnswerFormat, records: Sequence[Record], setting: Conditions, *, alone: bool) -> str:
    reasons = Counter(record.reason for record in records if record.reason is not None)
    total = sum(reasons.values())
    if total <= TOO_MANY_INVALID * len(records):
        return ""
    reason, count = reasons.most_common(1)[0]
    examples = [record for record in records if record.reason is reason]
    ((instead, _),) = Counter(record.came for record in examples).most_common(1)
    excerpts = dict.fromkeys(repr(record.excerpt) for record in examples if record.excerpt)  # no control characters
    shown = f", for example {' and '.join([*excerpts][:2])}" if excerpts else ""
    of_text = f"; instead of text came {instead}" if instead else ""
    what = f" to prompts that ask for {wanted.description}" if not alone else ""
    return (
        f"{total / len(records):.0%} of the answers{what} are invalid, so the scores say little about what the model "
        f"knows. The most frequent reason: {reason} ({count:,} of {len(records):,}{shown}){of_text}. "
        f"{_advice(reason, wanted, setting, examples, instead)}"
    )


def _most(records: Sequence[Record], cut_off: bool) -> bool:
    """Whether most of these responses are known to be cut off, or known to be complete."""
    return sum(record.cut_off is cut_off for record in records) > len(records) / 2


def _advice(reason: Reason, wanted: AnswerFormat, setting: Conditions, examples: Sequence[Record], instead: str) -> str:
    room, ended = _room(setting.limit), _most(examples, cut_off=False)
    if reason in (Reason.CUT_OFF, Reason.UNCLOSED_BOX) or (not ended and _most(examples, cut_off=True)):
        return f"The model needs more tokens to finish; {room}"
    if instead in _INSTEAD:
        return _INSTEAD[instead]
    if reason is Reason.UNLIKELY:
        return f"The model does not know which, or begins with other words (see `letter_mass`). {_SAYS_NO_LETTER}"
    if reason is Reason.NO_LIKELIHOOD:
        return "The model returned nan or no number: try another dtype, and look at `resps` in the samples file"
    if not setting.chat:
        return "If the model is a chat model, add --apply_chat_template"
    instruct = f"--system_instruction '{wanted.instruction}' often helps"
    if reason in _DO:
        return f"These responses {_DO[reason]} (see {_RESPONSES}); {instruct}"
    if setting.reader == "strict" and reason in (Reason.NO_LETTER, Reason.NO_YES_OR_NO):
        return (
            "The flexible reader understands more wordings: `lm-eval-cora report OUT --reader flexible` reads these "
            """samples again, --metadata '{"cora": {"reader": "flexible"}}' sets the reader of a run. """
            f"Otherwise {instruct}"
        )
    if ended and reason is not Reason.EMPTY:
        return f"These responses end without an answer in the expected form (see {_RESPONSES}); {instruct}"
    reasons = f"If the model reasons before it answers, {room}"
    if reason in (Reason.EMPTY, Reason.NO_BEST_ANSWER, Reason.NO_BOX):
        return reasons
    return f"{reasons}. Otherwise look at {_RESPONSES}; {instruct}"


def _room(limit: int | None) -> str:
    if limit is None or limit < _ROOM:
        return (
            f"raise the token limit: --gen_kwargs max_gen_toks={_ROOM}, or "
            f"`lm-eval-cora run --max_gen_toks 32,512,{_ROOM}`"
        )
    return f"the limit is already {limit:,} tokens, so look at {_RESPONSES} before you raise it"
