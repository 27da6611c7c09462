"""Measure --until: wrong verdicts, and how many requests a verdict needs.

Simulated models, with the MCQA and BMCA levels of the CoRA paper, answer a benchmark of fixed questions. Each run asks
them in another random order, and the code of real runs says what is certain. The script prints

- the share of runs that ever say something wrong, if the requirement is exactly the true value plus or minus a hair:
  with --until, and with intervals that are made for one look and are looked at again and again
- the requests until the verdict, as a share of those of a whole run with --stop exact, if the requirement is 0.05 or
  0.10 away from the value; and the questions, compared with the number that `plan` would choose
- the requests until an interval of cora is narrow, compared with an interval made for one look
- the questions until a new model, 3% of whose answers changed, is certainly not worse by more than 0.02
- with --replay FILE, the same for published answers: lines of JSON with `model`, `question` and `correct`. Models are
  compared in pairs, with a margin of 0.05, and with a required accuracy 0.05 and 0.10 away from their own

    python benchmarks/until.py [--runs 2000] [--models 12] [--questions 1273] [--replay FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice
from math import ceil, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from benchmarks.request_counts import MODELS, outcomes
from lm_eval_cora.decide.sample_size import Level, questions_needed
from lm_eval_cora.harness.until import Until
from lm_eval_cora.metrics.estimate import IN_95_PERCENT, mean_of, product_of
from lm_eval_cora.metrics.sequences import Course

SHARE = (0.0, 1.0)
PAIRED = (-1.0, 1.0)
TAIL = 0.025
HAIR = 1e-6
METRICS = ("cora", "mcqa", "ci", "bmca@1.0")


class Benchmark(NamedTuple):
    """A model's answers to all questions, (N,) each.

    Attributes:
        right: Whether the original is right.
        always: Whether all variants are right.
        requests: Number of requests with --stop exact.
    """

    right: Any
    always: Any
    requests: Any

    @classmethod
    def of(cls, hits: Any) -> Benchmark:
        """The benchmark of a model that answers as in `hits`, (N, M), the original first."""
        first_miss = np.where(hits.all(axis=1), hits.shape[1] - 1, (~hits).argmax(axis=1))
        return cls(hits[:, 0].astype(float), hits.all(axis=1).astype(float), first_miss + 1)

    def means(self, metric: str) -> Any:
        """(K, N) values of the questions for the means of a metric."""
        consistent = 1 - self.right + self.always
        of_metric = {"mcqa": [self.right], "ci": [consistent], "bmca@1.0": [self.always]}
        return np.array(of_metric.get(metric, [self.right, consistent]))


def value_of(means: Any) -> float:
    """The metric for all questions."""
    return float(means.mean(axis=1).prod())


def looks(questions: int) -> list[int]:
    """The numbers of questions after which a run looks; the last one is that of all questions."""
    found = [0]
    while found[-1] < questions:
        found.append(min(questions, Until([]).next_look(found[-1])))
    return found[1:]


def first_certain(is_certain: Callable[[int], bool], schedule: Sequence[int]) -> int:
    """The first look at which something is certain; what is certain stays so."""
    low, high = 0, len(schedule) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_certain(schedule[middle]) else (middle + 1, high)
    return schedule[low]


def ever_wrong(means: Any, value: float) -> bool:
    """Whether a run with --until says at any look that the value is above or below the requirement, wrongly."""
    asked = Course(means[:, :-1], np.array([SHARE] * len(means)), means.shape[1])
    return asked.is_above(value + HAIR, TAIL) or asked.is_below(value - HAIR, TAIL)


def ever_wrong_once(means: Any, value: float, schedule: Sequence[int]) -> bool:
    """The same with the interval of one look: Wilson's for a mean, and value -+ 1.96 standard errors for cora."""
    for asked in schedule[:-1]:
        found = mean_of(means[0, :asked]) if len(means) == 1 else product_of(*means[:, :asked])
        low, high = found.interval
        if low > value + HAIR or high < value - HAIR:
            return True
    return False


def wrong(benchmark: Benchmark, metric: str, runs: int) -> tuple[float, float]:
    """The shares of runs that ever say something wrong, with --until and with intervals for one look."""
    means, rng = benchmark.means(metric), np.random.default_rng(0)
    value, schedule = value_of(means), looks(means.shape[1])
    counts = np.zeros(2)
    for _ in range(runs):
        ordered = means[:, rng.permutation(means.shape[1])]
        counts += ever_wrong(ordered, value), ever_wrong_once(ordered, value, schedule)
    return tuple(counts / runs)


def needed(benchmark: Benchmark, metric: str, distance: float, runs: int) -> tuple[float, float] | None:
    """Medians: the share of the requests of a whole run, and the questions divided by those that `plan` chooses."""
    means, rng = benchmark.means(metric), np.random.default_rng(0)
    questions, bound = means.shape[1], value_of(means) - distance
    if not 0 < bound < 1:
        return None
    schedule, shares, counts = looks(questions), [], []
    for _ in range(runs):
        order = rng.permutation(questions)
        ordered = means[:, order]

        def is_certain(asked: int, ordered: Any = ordered) -> bool:
            known = Course(ordered[:, :asked], np.array([SHARE] * len(means)), questions)
            return known.is_above(bound, TAIL) if distance > 0 else known.is_below(bound, TAIL)

        asked = first_certain(is_certain, schedule)
        counts.append(asked)
        shares.append(benchmark.requests[order[:asked]].sum() / benchmark.requests.sum())
    estimate = mean_of(means[0]) if len(means) == 1 else product_of(*means)
    planned = questions_needed(Level(estimate, questions), estimate.value, bound) or questions
    return float(np.median(shares)), float(np.median(counts)) / min(planned, questions)


def narrow(benchmark: Benchmark, width: float, runs: int) -> tuple[float, float]:
    """Median share of the requests of a whole run until cora is known to -+ width: at every look, and at one look."""
    means, rng = benchmark.means("cora"), np.random.default_rng(0)
    questions = means.shape[1]
    ranges, schedule, shares = np.array([SHARE] * 2), looks(questions), []
    for _ in range(runs):
        order = rng.permutation(questions)

        def is_narrow(asked: int, order: Any = order) -> bool:
            low, high = Course(means[:, order[:asked]], ranges, questions).interval()
            return high - low <= 2 * width

        asked = first_certain(is_narrow, schedule)
        shares.append(benchmark.requests[order[:asked]].sum() / benchmark.requests.sum())
    spread = product_of(*means).stderr * sqrt(questions)
    once = (IN_95_PERCENT * spread / width) ** 2
    return float(np.median(shares)), once / (1 + once / questions) / questions


def compared(benchmark: Benchmark, metric: str, changed: float, margin: float, runs: int) -> float:
    """Median share of the questions until a new model with some changed answers is certainly no worse by a margin."""
    rng, old = np.random.default_rng(0), benchmark.means(metric)
    questions, shares = old.shape[1], []
    for _ in range(runs):
        # As many questions are lost as gained, so that the two models are equally good.
        each, right = ceil(changed * questions / 2), benchmark.right.copy()
        for side in (0.0, 1.0):
            right[rng.choice(np.flatnonzero(benchmark.right == side), each, replace=False)] = 1 - side
        new = Benchmark(right, np.minimum(right, benchmark.always), benchmark.requests).means(metric)
        shares.append(_no_worse(old, new, margin + value_of(old) - value_of(new), rng) / questions)
    return float(np.median(shares))


def _no_worse(old: Any, new: Any, margin: float, rng: np.random.Generator) -> int:
    """The number of questions until a model is certainly no worse than another one by more than a margin."""
    questions = old.shape[1]
    order, average = rng.permutation(questions), old.mean(axis=1, keepdims=True)
    values = (new - old + average)[:, order]
    ranges = np.concatenate([average - 1, average + 1], axis=1)

    def is_certain(asked: int) -> bool:
        return Course(values[:, :asked], ranges, questions).is_above(value_of(old) - margin, TAIL)

    return first_certain(is_certain, looks(questions))


def replayed(path: Path, orders: int) -> Iterator[str]:
    """For published answers: how often the verdict is that of all questions, and the median share of the questions."""
    answers: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        answers[row["model"]][row["question"]] = float(row["correct"])
    questions = sorted(set.intersection(*map(set, answers.values()))) if answers else []
    if len(answers) < 2 or len(questions) < 2:
        sys.exit(
            f"--replay {path}: expected two models with answers to the same questions, got {len(questions)} of these"
        )
    columns = {model: np.array([[own[question] for question in questions]]) for model, own in answers.items()}
    rng, agree, shares = np.random.default_rng(0), [], []
    for one, other in combinations(columns, 2):
        average = columns[one].mean(axis=1, keepdims=True)
        values = columns[other] - columns[one] + average
        ranges = np.concatenate([average - 1, average + 1], axis=1)
        _replay(values, ranges, float(average[0, 0]) - 0.05, max(1, orders // len(columns)), rng, agree, shares)
    yield f"| no worse by 0.05, {len(columns)} models in pairs | {_percent(agree)} | {np.median(shares):.2f} |"
    for distance in (0.05, 0.1):
        agree, shares = [], []
        for own in columns.values():
            for bound in (own.mean() - distance, own.mean() + distance):
                _replay(own, np.array([SHARE]), bound, orders // 2, rng, agree, shares)
        yield f"| acc, {distance:g} away, {len(columns)} models | {_percent(agree)} | {np.median(shares):.2f} |"


def _replay(
    values: Any,
    ranges: Any,
    bound: float,
    orders: int,
    rng: np.random.Generator,
    agree: list[bool],
    shares: list[float],
) -> None:
    questions, schedule = values.shape[1], looks(values.shape[1])
    is_above = value_of(values) >= bound
    for _ in range(orders):
        ordered = values[:, rng.permutation(questions)]

        def says(asked: int, ordered: Any = ordered) -> tuple[bool, bool]:
            known = Course(ordered[:, :asked], ranges, questions)
            return known.is_above(bound, TAIL), known.is_below(bound, TAIL)

        asked = first_certain(lambda asked: any(says(asked)), schedule)
        agree.append(says(asked)[0] == is_above)
        shares.append(asked / questions)


def _percent(agree: Sequence[bool]) -> str:
    return f"{np.mean(agree):.2%} of {len(agree):,}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--models", type=int, default=12, help="number of simulated models")
    parser.add_argument("--questions", type=int, default=1_273)
    parser.add_argument("--replay", type=Path, help="published answers")
    given = parser.parse_args()
    models = {
        name: Benchmark.of(outcomes(*levels, given.questions)) for name, levels in islice(MODELS.items(), given.models)
    }
    few = max(1, given.runs // 20)
    print(f"{given.questions:,} questions. Wrong verdicts in {given.runs:,} runs: --until (intervals for one look)\n")
    print(f"| model | {' | '.join(METRICS)} |\n|---|---|---|---|---|", flush=True)
    for name, benchmark in models.items():
        cells = ["{:.1%} ({:.1%})".format(*wrong(benchmark, metric, given.runs)) for metric in METRICS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\nRequests of a whole exact run, median of {few:,} runs (and questions compared with `plan`)\n")
    print("| model | metric | 0.1 below | 0.05 below | 0.05 above | 0.1 above |\n|---|---|---|---|---|---|")
    for name, benchmark in models.items():
        for metric in METRICS:
            found = [needed(benchmark, metric, distance, few) for distance in (0.1, 0.05, -0.05, -0.1)]
            cells = ["-" if each is None else "{:.0%} ({:.2f})".format(*each) for each in found]
            print(f"| {name} | {metric} | {' | '.join(cells)} |", flush=True)
    print("\n| model | cora±0.02: share of the requests | at one look | no worse by 0.02: questions, cora | mcqa |")
    print("|---|---|---|---|---|")
    for name, benchmark in models.items():
        every, once = narrow(benchmark, 0.02, max(1, few // 10))
        paired = [compared(benchmark, metric, 0.03, 0.02, few) for metric in ("cora", "mcqa")]
        print(f"| {name} | {every:.0%} | {once:.0%} | {paired[0]:.0%} | {paired[1]:.0%} |", flush=True)
    if given.replay:
        print("\n| published answers | the verdict of all questions | share of the questions |\n|---|---|---|")
        for line in replayed(given.replay, 500):
            print(line, flush=True)


if __name__ == "__main__":
    main()
