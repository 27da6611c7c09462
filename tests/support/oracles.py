"""Slow and obvious versions of every metric: plain loops over Records, straight from the definitions.

They share no code with the package. Questions are assumed complete, the first variant is the original where none says
that it is. They have the names and the parameters of the metrics. Those of SCORE's probes are in `oracles_score.py`.
"""

from array import array
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from math import exp, isnan
from operator import eq
from statistics import mean

PICK_ONE = ("letter", "best_answer", "option_text")


def _right(record):
    if record.ask in PICK_ONE:
        return record.picked == record.answer
    if record.ask == "boxed":
        return record.written is not None and record.matches is True
    if record.selected is None:
        return False
    if record.ask == "yes_no":  # yes selects the one option that is printed, no selects none
        return (len(record.selected) == 1) == (record.printed[0] == record.answer)
    return set(record.selected) == {record.answer}


def _says_nothing(record):
    if record.ask == "boxed":
        return record.written is None
    return record.selected is None if record.ask in ("yes_no", "select_all") else record.picked is None


def _share(values):
    values = [float(value) for value in values]
    return mean(values) if values else None


def _rc(records):
    return Fraction(sum(_right(record) for record in records), len(records))


def acc(questions):
    pooled = [_right(record) for records in questions for record in records]
    return mean(map(float, pooled))


def mcqa(questions):
    originals = [next((record for record in records if record.original), records[0]) for records in questions]
    return mean(float(_right(original)) for original in originals)


def mcqa_plus(questions):
    return float(mean(_rc(records) for records in questions))


def mv(questions):
    return mean(float(_rc(records) > Fraction(1, 2)) for records in questions)


def bmca(questions, level):
    return mean(float(_rc(records) >= Fraction(str(level))) for records in questions)


def ci(questions):
    return 1 - (mcqa(questions) - bmca(questions, 1))


def cora(questions):
    return mcqa(questions) * ci(questions)


def core(questions):
    curve = [bmca(questions, tenths / 10) for tenths in range(11)]
    area = sum((left + right) / 2 * 0.1 for left, right in pairwise(curve))
    return area * mean(curve[1:])


def _agree(one, other, same):
    """Whether two answers are the same; None if they cannot be compared."""
    if _says_nothing(one) or _says_nothing(other):
        return False
    if one.ask == "boxed":
        return same(one.written, other.written) is True
    if one.picked in other.printed and other.picked in one.printed:
        return one.picked == other.picked
    return None


def consistency_rate(questions, same=eq):
    shares = []
    for records in questions:
        comparing = [record for record in records if record.ask in (*PICK_ONE, "boxed")]
        outcomes = [_agree(one, other, same) for one, other in combinations(comparing, 2)]
        if outcomes := [float(outcome) for outcome in outcomes if outcome is not None]:
            shares.append(mean(outcomes))
    return mean(shares) if shares else None


def invalid(questions):
    return mean(float(_says_nothing(record)) for records in questions for record in records)


def followed(questions):
    known = [record.followed for records in questions for record in records]
    return None if None in known else mean(map(float, filter(lambda one: one is not None, known)))


def ties(questions):
    return mean(float(record.tied) for records in questions for record in records)


def letter_mass(questions):
    asked = [record for records in questions for record in records if record.ask in PICK_ONE]
    scores = [array("f", record.likelihoods) for record in asked]
    masses = [min(1.0, sum(exp(score) for score in each if not isnan(score))) for each in scores]
    return mean(masses) if any(scores) else None


def mcqa_plus_diff(questions):
    return mcqa_plus(questions) - mcqa(questions)


def _orders(records, options):
    """The variants with `options` options: the full orders if the question has as many, else those of a reduced set."""
    if options in ("original", len(records[0].printed)):
        return [one for one in records if one.kind in ("original", "shuffled") or one.kind.startswith("answer_at_")]
    return [one for one in records if one.kind in (f"options_{options}", f"options_{options}_shuffled")]


def _all_right(records):
    return all(_right(record) for record in records)


def _first_right(orders):
    return _right(orders[0])


def _times_picked(orders):
    return Counter(f"invalid {i}" if record.picked is None else record.picked for i, record in enumerate(orders))


def _modal_share(orders):
    return max(_times_picked(orders).values()) / len(orders)


def _over(asked, score):
    """Mean of a score over the questions that have such orders."""
    return _share(score(orders) for orders in asked if orders)


def acc_at(questions, options):
    return _over((_orders(records, options) for records in questions), _first_right)


def acc_h(questions, options):
    return _over((_orders(records, options) for records in questions), _all_right)


def sc(questions, options):
    return _over((_orders(records, options) for records in questions), _modal_share)


def sc_buckets(questions):
    asked = [_orders(records, "original") for records in questions]
    values = {}
    for n in {len(orders) for orders in asked}:
        counted = [(orders[0].answer, _times_picked(orders)) for orders in asked if len(orders) == n]
        for k in range(1, n + 1):
            bucket = [(answer, times) for answer, times in counted if max(times.values()) == k]
            credits = []
            for answer, times in bucket:
                modal = [pick for pick in times if times[pick] == k]
                credits.append(1 / len(modal) if answer in modal else 0)
            values[f"{k}/{n} share"] = len(bucket) / len(counted)
            values[f"{k}/{n} accuracy"] = _share(credits) if k > 1 else None
    return values


def _diamond(questions):
    return [records for records in questions if _all_right(_orders(records, "original"))]


def _wrong(questions):
    return [records for records in questions if not _right(records[0])]


def _dagger(questions):
    """Wrong in the original order, with a valid answer."""
    return [records for records in _wrong(questions) if records[0].picked is not None]


def _nota(questions, subset):
    """The orders of the original and those with NOTA, of the questions that have the latter."""
    members = questions if subset == "all" else _diamond(questions)
    kinds = ("nota_answer", "nota_answer_shuffled")
    pairs = [(_orders(records, "original"), [one for one in records if one.kind in kinds]) for records in members]
    return [pair for pair in pairs if pair[1]]


def nota_acc(questions, subset="all"):
    return _share(_first_right(orders) for _, orders in _nota(questions, subset))


def nota_acc_h(questions, subset="all"):
    return _share(_all_right(orders) for _, orders in _nota(questions, subset))


def nota_acc_diff(questions, subset="all"):
    return _share(_first_right(after) - _first_right(before) for before, after in _nota(questions, subset))


def nota_acc_h_diff(questions, subset="all"):
    return _share(_all_right(after) - _all_right(before) for before, after in _nota(questions, subset))


def _true_or_false(questions, kind):
    always = [record for records in _diamond(questions) for record in records]
    return _share(_right(record) for record in always if record.kind == f"true_or_false_{kind}")


def tf_right(questions):
    return _true_or_false(questions, "right")


def tf_wrong(questions):
    return _true_or_false(questions, "wrong")


def _yes(record, normalised):
    """Probability of yes; Decimal, because exp(-800) is 0 in floats."""
    if record.likelihood_yes is None or record.likelihood_no is None:
        return None
    yes, no = Decimal(record.likelihood_yes).exp(), Decimal(record.likelihood_no).exp()
    if not normalised:
        return float(yes)
    return float(yes / (yes + no)) if yes + no else None


def _confidences(questions, normalised):
    """For each complete question: P(yes) of the right option, and the largest P(yes) of a wrong one."""
    pairs = []
    for records in _diamond(questions):
        right = [_yes(record, normalised) for record in records if record.kind == "true_or_false_right"]
        wrong = [_yes(record, normalised) for record in records if record.kind == "true_or_false_wrong"]
        if right and wrong and None not in right + wrong:
            pairs.append((right[0], max(wrong)))
    return pairs


def confidence_right(questions, normalised=False):
    return _share(right for right, _ in _confidences(questions, normalised))


def confidence_wrong(questions, normalised=False):
    return _share(wrong for _, wrong in _confidences(questions, normalised))


def confidence_ratio(questions, normalised=False):
    right = confidence_right(questions, normalised)
    return confidence_wrong(questions, normalised) / right if right else None


def _selections(questions):
    """The wrong picks in the original order, and what is selected if all right options are asked for."""
    return [
        (records[0], set(record.selected or ()))
        for records in _dagger(questions)
        for record in records
        if record.kind == "select_all"
    ]


def multi_share(questions):
    return _share(len(selected) > 1 for _, selected in _selections(questions))


def recall_right(questions, several=False):
    return _share(one.answer in chosen for one, chosen in _selections(questions) if len(chosen) > 1 or not several)


def recall_misleading(questions, several=False):
    return _share(one.picked in chosen for one, chosen in _selections(questions) if len(chosen) > 1 or not several)


def yes_no_mass(questions):
    both = [(record.likelihood_yes, record.likelihood_no) for records in questions for record in records]
    return _share(float(Decimal(yes).exp() + Decimal(no).exp()) for yes, no in both if None not in (yes, no))


def replaced_acc(questions):
    hits = []
    for records in _dagger(questions):
        misleading = records[0].picked
        hits += [_right(record) for record in records if record.kind == "replaced" and misleading not in record.printed]
    return _share(hits)


def subset_sizes(questions):
    wrong, misled = len(_wrong(questions)), len(_dagger(questions))
    sizes = {"all": len(questions), "always_right": len(_diamond(questions)), "wrong": wrong, "misled": misled}
    return sizes | {"no_misleading_option": wrong - misled}
