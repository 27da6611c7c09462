"""Slow and obvious versions of the metrics of SCORE's probes, labels and choices_only, from the definitions.

The rest is in `oracles.py`. `same` tells whether two written answers are equivalent.
"""

from fractions import Fraction
from inspect import signature
from itertools import combinations
from math import comb
from operator import eq
from statistics import mean, pstdev, quantiles

from lm_eval_cora.metrics.entries import features_of, parameters_of
from lm_eval_cora.metrics.facts import REPEATS
from lm_eval_cora.runs.task_files import probe_metrics
from tests.support import oracles as plain
from tests.support import oracles_letter_bias

DROPPED = "single_letter_only"


def _kinds(questions):
    return sorted({record.kind for records in questions for record in records})


def _in_kind(records, kind):
    hits = [plain._right(record) for record in records if record.kind == kind]
    return Fraction(sum(hits), len(hits))


def _own_mean(records):
    """Mean over the kinds that the question has."""
    return mean(_in_kind(records, kind) for kind in _kinds([records]))


def _mean(questions):
    return mean(_own_mean(records) for records in questions)


def _above(questions, kind, positions):
    """Difference of a kind from the mean of each question that has it, or from 0."""
    asked = [records for records in questions if kind in _kinds([records])]
    if not asked:
        return None
    return mean(_in_kind(records, kind) - (_own_mean(records) if positions else 0) for records in asked)


def _categories(questions):
    names = sorted({records[0].category for records in questions})
    return {name: [records for records in questions if records[0].category == name] for name in names}


def accuracies(questions, positions=False, macro=False):
    """The accuracy of each kind."""
    parts = list(_categories(questions).values()) if macro else [questions]
    level = mean(map(_mean, parts)) if positions else 0
    found = {}
    for kind in _kinds(questions):
        values = [_above(part, kind, positions) for part in parts]
        found[kind] = level + mean(value for value in values if value is not None)
    return found


def acc_mean(questions, positions=False):
    return float(_mean(questions) if positions else mean(accuracies(questions).values()))


def acc_min(questions, positions=False, macro=False):
    return float(min(accuracies(questions, positions, macro).values()))


def acc_max(questions, positions=False, macro=False):
    return float(max(accuracies(questions, positions, macro).values()))


def acc_range(questions, positions=False, macro=False):
    return acc_max(questions, positions, macro) - acc_min(questions, positions, macro)


def macro_acc(questions, positions=False):
    return float(mean(acc_mean(members, positions) for members in _categories(questions).values()))


def all_equal(questions, same=eq):
    def equal(records):
        said = not any(plain._says_nothing(record) for record in records)
        return said and all(plain._agree(one, other, same) for one, other in combinations(records, 2))

    return mean(float(equal(records)) for records in questions)


def _votes(records, same):
    """For each valid answer the number of equal ones, with itself, and whether it is right."""
    said = [record for record in records if not plain._says_nothing(record)]
    return [
        (sum(other is one or plain._agree(one, other, same) is True for other in said), plain._right(one))
        for one in said
    ]


def equal_at(questions, level, same=eq):
    most = [max([0, *(count for count, _ in _votes(records, same))]) for records in questions]
    return mean(
        float(count >= Fraction(str(level)) * len(records)) for count, records in zip(most, questions, strict=True)
    )


def maj_at_k(questions, same=eq):
    credits = []
    for records in questions:
        votes = _votes(records, same)
        modal = [right for count, right in votes if count == max(votes)[0]]
        credits.append(Fraction(sum(modal), max(1, len(modal))))
    return float(mean(credits))


def pass_hat_k(questions):
    """The unbiased estimate, with k = n."""
    k = 5
    return mean(comb(sum(map(plain._right, records)), k) / comb(len(records), k) for records in questions)


def noise(questions, same=eq):
    return 1 - plain.consistency_rate(questions, same)


def timeouts(questions, same=eq):
    ran_out = []
    for records in questions:
        said = [record for record in records if record.written is not None]
        ran_out += [record.matches is None for record in said]
        ran_out += [same(one.written, other.written) is None for one, other in combinations(said, 2)]
    return mean(map(float, ran_out)) if ran_out else None


def _picks(questions):
    """Number of picks of each letter, and the number expected from uniform picks among the printed letters."""
    valid = [record for records in questions for record in records if record.position is not None]
    letters = range(max((len(record.printed) for record in valid), default=0))
    picks, even = [0 for _ in letters], [Fraction(0) for _ in letters]
    for record in valid:
        picks[record.position] += 1
        for letter in range(len(record.printed)):
            even[letter] += Fraction(1, len(record.printed))
    return picks, even


def picks_by_letter(questions):
    picks, even = _picks(questions)
    values = {}
    if total := sum(picks):
        for letter, number, expected in zip("ABCDEFGHIJ", picks, even, strict=False):
            values[f"{letter} share"] = number / total
            values[f"{letter} even"] = float(expected / total)
            values[f"{letter} picks"] = number
    return values


def _asked(questions):
    """The questions with a valid answer, and how many letters have ten of them if each is spread over its letters."""
    asked = [records for records in questions if any(record.position is not None for record in records)]
    sizes = [len(records[0].printed) for records in asked]
    return asked, sum(sum(Fraction(1, size) for size in sizes if size > letter) >= 10 for letter in range(26))


def position_chi_square(questions):
    """D' V^-1 D without the last letter, whose deviation the others imply; None with few questions per letter."""
    asked, letters = _asked(questions)
    if not letters:
        return None
    total, covariance = [Fraction(0)] * (letters - 1), [[Fraction(0)] * (letters - 1) for _ in range(letters - 1)]
    for records in asked:
        rotations = _rotations(records)
        total = [one + other for one, other in zip(total, [*rotations[0], *[Fraction(0)] * letters], strict=False)]
        for moved in rotations:
            d = [*moved, *[Fraction(0)] * letters][: letters - 1]
            for i, row in enumerate(covariance):
                covariance[i] = [value + d[i] * other / len(rotations) for value, other in zip(row, d, strict=True)]
    if not any(total):
        return 0.0
    solution = _solve(covariance, total)
    return None if solution is None else float(sum(t * x for t, x in zip(total, solution, strict=True)))


def position_cramers_v(questions):
    """The root of Pearson's statistic for the shares of all picks / (letters - 1); rare letters count together."""
    asked, letters = _asked(questions)
    observed, even = [Fraction(0)] * letters, [Fraction(0)] * letters
    for picks in map(_counted, asked if letters else ()):
        for letter, number in enumerate(picks):
            observed[min(letter, letters - 1)] += number
            even[min(letter, letters - 1)] += Fraction(sum(picks), len(picks))
    if len(possible := [letter for letter in range(letters) if even[letter]]) < 2:
        return None

    def away(picks):
        return sum((((picks[n] - even[n]) ** 2) / even[n] for n in possible), Fraction(0))

    most = max(away([sum(even) if n == letter else Fraction(0) for n in range(letters)]) for letter in possible)
    return float(away(observed) / most) ** 0.5


def _counted(records):
    """How often a question's picks are each letter.

    If the right option stands at the first letter, the second, ..., the orders are swapped, and only its picks count.
    It does not reach the letters of the last options if these refer to others.
    """
    options = len(records[0].printed)
    places = [record.printed.index(record.answer) for record in records]
    swapped = options > 2 and len(places) <= options and places == list(range(len(places)))
    picks = [record.position for record in records if record.picked == record.answer or not swapped]
    return list(map(picks.count, places if swapped else range(options)))


def _rotations(records):
    """The deviations of one question's picks from equal shares, moved by 0, 1, ... letters."""
    picks = _counted(records)
    options = len(picks)
    own = [number - Fraction(sum(picks), options) for number in picks]
    return [[own[(letter - turn) % options] for letter in range(options)] for turn in range(options)]


def _solve(matrix, right):
    """Inverse by Gauss-Jordan elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for step in range(len(rows)):
        pivot = next((number for number in range(step, len(rows)) if rows[number][step]), None)
        if pivot is None:
            return None
        rows[step], rows[pivot] = rows[pivot], rows[step]
        rows[step] = [value / rows[step][step] for value in rows[step]]
        for number in range(len(rows)):
            if number != step:
                factor = rows[number][step]
                rows[number] = [a - factor * b for a, b in zip(rows[number], rows[step], strict=True)]
    return [row[-1] for row in rows]


def recall_spread(questions):
    return pstdev(map(float, accuracies(questions, positions=True).values()))


def each_kind(questions, positions=False):
    values = {}
    found = accuracies(questions)
    adjusted = accuracies(questions, positions=True)
    low, _, high = quantiles(found.values(), n=4, method="inclusive")  # between neighbours, as in numpy
    reach = (high - low) * 3 / 2
    for kind, value in found.items():
        members = [[record for record in records if record.kind == kind] for records in questions]
        silent = [mean(float(plain._says_nothing(record)) for record in asked) for asked in members if asked]
        values[f"{kind} accuracy"] = float(value)
        values[f"{kind} invalid"] = mean(silent)
        values[f"{kind} questions"] = len(silent)
        values[f"{kind} outlier"] = float(not low - reach <= value <= high + reach)
        if positions:
            values[f"{kind} adjusted"] = float(adjusted[kind])
    return values


def by_category(questions, positions=False, same=eq):
    values = {}
    for category, members in _categories(questions).items():
        values[f"{category} acc_mean"] = acc_mean(members, positions)
        values[f"{category} acc_min"] = acc_min(members, positions)
        values[f"{category} acc_max"] = acc_max(members, positions)
        values[f"{category} acc_range"] = acc_range(members, positions)
        values[f"{category} consistency_rate"] = plain.consistency_rate(members, same)
        values[f"{category} all_equal"] = all_equal(members, same)
        values[f"{category} questions"] = len(members)
    return values


def _without(questions, kind):
    return [[record for record in records if record.kind != kind] for records in questions]


def chance(questions):
    """With one option picked at random, each question is right by chance."""
    return float(mean(Fraction(1, len({*records[0].printed})) for records in questions))


def above_chance(questions):
    return plain.mcqa_plus(questions) - chance(questions)


def acc_longest(questions):
    return mean(records[0].longest for records in questions)


DO_NOT_KNOW = 53


def _with_the_option(questions):
    """Pairs of the record of an original and another one that prints "I don't know"."""
    return [(own[0], one) for own in questions for one in own if DO_NOT_KNOW in one.printed]


def answered(questions):
    picks = [one.picked for _, one in _with_the_option(questions)]
    return 1 - picks.count(DO_NOT_KNOW) / len(picks) if picks else None


def acc_answered(questions):
    hits = [plain._right(one) for _, one in _with_the_option(questions) if one.picked != DO_NOT_KNOW]
    return mean(map(float, hits)) if hits else None


def abstained(questions, right):
    picks = [one.picked for first, one in _with_the_option(questions) if plain._right(first) == right]
    return picks.count(DO_NOT_KNOW) / len(picks) if picks else None


def penalised(questions, cost=1.0):
    points = {DO_NOT_KNOW: 0.0}
    own = [1.0 if plain._right(one) else points.get(one.picked, -cost) for _, one in _with_the_option(questions)]
    return mean(own) if own else None


def order_gap(questions):
    """With orders and labels: variants that print the options of the original."""
    gaps = []
    for records in questions:
        (first,) = (record for record in records if record.original)
        others = [one for one in records if one is not first and set(one.printed) == set(first.printed)]
        if others:
            gaps.append(float(plain._right(first)) - mean(float(plain._right(one)) for one in others))
    return mean(gaps) if gaps else None


_ORACLES = {**vars(oracles_letter_bias), **vars(plain), **globals()}


def expected(probe, questions, same=eq):
    """The metrics of a probe that have an oracle here, by their names; the parts of a mapping by name and key."""
    values = {}
    for entry in probe_metrics(probe):
        oracle = _ORACLES.get(entry["aggregation"].__name__)
        if oracle is None or (REPEATS in features_of(entry) and probe != "sampling"):
            continue
        given = parameters_of(entry) | ({"same": same} if "same" in signature(oracle).parameters else {})
        found = oracle(_without(questions, entry.get("without", "")), **given)
        named = {f"{entry['metric']} {key}": value for key, value in found.items()} if isinstance(found, dict) else {}
        values |= named if isinstance(found, dict) else {entry["metric"]: found}
    return values


def aggregated(probes, macro=False, same=eq):
    """SCORE's table 7: accuracies without the dropped template, consistency rates with it."""
    common = set.intersection(*({records[0].question_id for records in members} for members in probes.values()))
    found = []
    rates = {}
    for probe, members in probes.items():
        kept = [records for records in members if records[0].question_id in common]
        rates[probe] = plain.consistency_rate(kept, same)
        found += accuracies(_without(kept, DROPPED), positions=probe == "order", macro=macro).values()
    both = [rates[probe] for probe in ("prompts", "order") if probe in rates]
    return {
        "acc_mean": float(mean(found)),
        "acc_min": float(min(found)),
        "acc_max": float(max(found)),
        "cr_all": mean(rates.values()),
        "cr_prompts_order": mean(both) if len(both) == 2 else None,
        "predictions": len(found),
        "questions": len(common),
    }
