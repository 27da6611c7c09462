"""Slow and obvious versions of the metrics of letter bias, straight from the definitions."""

import struct
from math import exp, fsum, inf, isnan, log
from statistics import mean

from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.questions.randomness import draw

_TIE = 1e-9


def _are_cyclic(questions):
    """Whether the options of each question move by one letter from variant to variant."""
    return bool(questions) and all(
        [record.printed for record in records]
        == [records[0].printed[turn:] + records[0].printed[:turn] for turn in range(len(records[0].printed))]
        for records in questions
    )


def _chances(records):
    """The probabilities of a question; None if a letter is not scored."""
    found = []
    for record in records:
        scores = struct.unpack(f"{len(record.likelihoods) // 4}f", record.likelihoods)
        if len(scores) != len(record.printed) or any(map(isnan, scores)):
            return None
        found.append([exp(score) / fsum(map(exp, scores)) for score in scores])
    return found


def _log(value):
    return log(value) if value > 0 else -inf


def _first_best(values):
    return next(place for place, value in enumerate(values) if value == max(values) or value >= max(values) - _TIE)


def _scored(questions):
    if not _are_cyclic(questions) or not any(record.likelihoods for records in questions for record in records):
        return None
    return [(records, chances) for records in questions if (chances := _chances(records)) is not None]


def acc_permuted(questions):
    scored = _scored(questions)
    if scored is None:
        return None
    right = 0
    for records, chances in scored:
        original = records[0]
        means = []
        for option in range(len(original.printed)):
            # In the order that begins with option k, option j is printed k places before its own.
            places = [(option - turn) % len(original.printed) for turn in range(len(records))]
            means.append(mean(chances[turn][place] for turn, place in enumerate(places)))
        right += original.printed[_first_best(means)] == original.answer
    return right / len(questions)


def _own_prior(chances):
    geometric = [
        exp(fsum(_log(order[letter]) for order in chances) / len(chances))
        if all(order[letter] for order in chances)
        else 0.0
        for letter in range(len(chances))
    ]
    total = fsum(geometric)
    return [value / total if total else 1 / len(geometric) for value in geometric]


def acc_pride(questions):
    scored = _scored(questions) or []
    sizes = {len(records) for records, _ in scored}
    groups = [[one for one in scored if len(one[0]) == size] for size in sorted(sizes)]
    if not any(len(group) >= 10 for group in groups):
        return None
    right = 0
    for group in groups:
        ranked = sorted(group, key=lambda one: draw(2**64, "letter bias", one[0][0].question_id))
        part = {one[0][0].question_id: rank % 10 for rank, one in enumerate(ranked)}
        for records, chances in group:
            original = records[0]
            prior = [1.0] * len(chances)
            if len(group) >= 10:
                others = [
                    _own_prior(other)
                    for them, other in group
                    if part[them[0].question_id] != part[original.question_id]
                ]
                prior = [mean(own[letter] for own in others) for letter in range(len(chances))]
            ratios = [
                -inf if not chance else _log(chance) - _log(p) for chance, p in zip(chances[0], prior, strict=True)
            ]
            right += original.printed[_first_best(ratios)] == original.answer
    return right / len(questions)


def letter_prior(questions):
    found = {}
    scored = _scored(questions) or []
    for size in {len(records) for records, _ in scored}:
        own = [_own_prior(chances) for records, chances in scored if len(records) == size]
        for letter in range(size):
            found[f"{size} {LETTERS[letter]}"] = mean(prior[letter] for prior in own)
    return found
