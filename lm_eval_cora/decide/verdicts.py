"""Requirements of a gate, and verdicts about them: pass, fail or undecided, by the intervals of a run."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, inf, isfinite, isnan, nan
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal
from xml.etree import ElementTree

import yaml

from lm_eval_cora.decide.sample_size import (
    LEVEL,
    POWER,
    SAME_LEVEL,
    Contrast,
    Level,
    Sample,
    questions_for_same,
    questions_needed,
)
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.entries import Entry, course
from lm_eval_cora.metrics.estimate import Estimate, Interval, for_json
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.metrics.paired import Difference, difference
from lm_eval_cora.metrics.sequences import Course
from lm_eval_cora.questions.messages import counted, did_you_mean
from lm_eval_cora.questions.question import printable, shorten
from lm_eval_cora.questions.rows import reading
from lm_eval_cora.runs.comparable import differences_between, not_comparable, pairs_of
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.signature import how_asked, signature_parts
from lm_eval_cora.runs.task_files import published_questions
from lm_eval_cora.tables.number import Number, end_as_text
from lm_eval_cora.tables.table import Cell, CellRows, Table

ENDS: Mapping[str, Callable[[float], Interval]] = {
    ">=": lambda number: (number, inf),
    "<=": lambda number: (-inf, number),
    "±": lambda number: (-inf, inf),  # its interval decides
}
"""The lowest and the highest value that meets a requirement without a baseline, by its sign."""

_SIGNS = {"≥": ">=", "≤": "<=", "+-": "±"}
_REQUIREMENT = re.compile(
    r"(?:(?P<task>\S.*?)\s*:)?\s*"  # the name of a task may contain colons
    r"(?P<metric>[A-Za-z_][A-Za-z0-9_.@^]*)\s*(?P<sign>" + "|".join(map(re.escape, (*ENDS, *_SIGNS, ":"))) + r")\s*"
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)",
    re.ASCII | re.DOTALL,
)

_COMPARISONS = {"no_worse": "no worse by", "same": "same within"}
_EXPECTED = {
    "require": "[TASK:]METRIC>=NUMBER or [TASK:]METRIC<=NUMBER, such as 'cora>=0.45', or [TASK:]METRIC±NUMBER",
    "no_worse": "[TASK:]METRIC:MARGIN with a margin from 0, such as 'cora:0.02'",
    "same": "[TASK:]METRIC:MARGIN with a margin above 0, such as 'cora:0.02'",
}
"""The lists of a policy, and the form of their entries."""


Outcome = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True)
class Requirement:
    """A lowest (>=) or highest (<=) value of a metric, or the largest loss or change compared with a baseline."""

    metric: str
    sign: str  # of `ENDS` or of `_COMPARISONS`
    number: float
    task: str = ""  # every task of the run

    @property
    def compares(self) -> bool:
        """Whether it compares with a baseline."""
        return self.sign in _COMPARISONS.values()

    def allowed(self, before: float = 0.0, higher: bool | None = None) -> Interval:
        """The lowest and the highest value that meets it, given the value of the baseline and the better direction."""
        if self.sign in ENDS:
            return ENDS[self.sign](self.number)
        least, most = before - self.number, before + self.number
        if self.sign == "same within":
            return least, most
        return (least, inf) if higher else (-inf, most)

    @property
    def level(self) -> float:
        """The level of its interval."""
        return SAME_LEVEL if self.sign == "same within" else LEVEL

    def __str__(self) -> str:
        """Return the requirement as text, without the task."""
        return f"{self.metric} {self.sign} {self.number:g}"


def read_requirements(
    require: Sequence[str], no_worse: Sequence[str], policy: Path | None = None, same: Sequence[str] = ()
) -> list[Requirement]:
    """Read the requirements of the command line and of a policy file, each once, comparisons last."""
    texts = {"require": require, "no_worse": no_worse, "same": same}
    typed = [parse(text, key, f"--{key.replace('_', '-')}") for key in texts for text in texts[key]]
    listed = _read_policy(policy) if policy else []
    return sorted(dict.fromkeys([*typed, *listed]), key=lambda requirement: requirement.compares)


def parse(text: str, key: str, where: str, expected: str = "") -> Requirement:
    """Parse an entry of a list of a policy."""
    if parts := _REQUIREMENT.fullmatch(text.strip()):
        number, comparison = float(parts["number"]), _COMPARISONS.get(key)
        sign = comparison or _SIGNS.get(parts["sign"], parts["sign"])
        is_allowed = isfinite(number) and (not comparison or number > 0 or (number == 0 and key == "no_worse"))
        if sign == "±" and not 0 < number < 1:
            raise UserError(f"{where} {shorten(text, 80)!r}: expected half the width of an interval, from 0 to 1")
        if is_allowed and (parts["sign"] == ":") == bool(comparison):
            return Requirement(parts["metric"], sign, number, parts["task"] or "")
    raise UserError(f"{where} {shorten(text, 80)!r}: expected {expected or _EXPECTED[key]}")


_UNTIL = "METRIC>=NUMBER, METRIC<=NUMBER, METRIC±NUMBER, 'no-worse METRIC:MARGIN' or 'same METRIC:MARGIN'"


def parse_until(text: str) -> Requirement:
    """Parse a requirement that ends a run: one of a gate, or a width such as `cora±0.02`."""
    for key, begin in (("no_worse", "no-worse "), ("same", "same ")):
        if text.strip().startswith(begin):
            return parse(text.strip().removeprefix(begin), key, f"--until {begin.strip()}")
    return parse(text, "require", "--until", _UNTIL)


def check_bound(requirement: Requirement, entry: Entry) -> None:
    """Check that a requirement on the metric of an entry can hold and can fail."""
    lowest, highest = facts_of(entry["aggregation"]).bounds
    if not requirement.compares and not lowest <= requirement.number <= highest:
        raise UserError(f"{requirement}: expected a bound from {lowest:g} to {highest:g}, the range of the metric")
    if requirement.sign == "no worse by" and entry.get("higher_is_better") is None:
        metric = requirement.metric
        raise UserError(f"{requirement}: neither a high nor a low {metric} is better, so it cannot be worse")


def settled(known: Course, requirement: Requirement, before: float = 0.0, higher: bool | None = None) -> Outcome:
    """The verdict about the value for all questions of a benchmark while they are asked: certain at every look."""
    if requirement.sign == "±":
        return decide_width(*known.interval(requirement.level), requirement.number)
    least, most = requirement.allowed(before, higher)
    tail = (1 - requirement.level) / 2
    if known.is_above(least, tail) and known.is_below(most, tail):
        return "pass"
    tail /= isfinite(least) + isfinite(most)  # a wrong end on either side
    is_outside = known.is_below(least, tail, strictly=True) or known.is_above(most, tail, strictly=True)
    return "fail" if is_outside else "undecided"


def _read_policy(path: Path) -> list[Requirement]:
    try:
        content = yaml.load(reading(path).read_bytes(), Loader=_PolicyLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or error
        line = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"{path}{line}: cannot be read as YAML: {shorten(problem, 80)}") from None
    requirements: list[Requirement] = []
    expected = f"{path}: expected {', '.join(_EXPECTED)}, each with a list of texts, got"
    if not isinstance(content, dict):
        raise UserError(f"{expected} {shorten(content, 80)!r}")
    for key, texts in content.items():
        if key not in _EXPECTED:
            raise UserError(f"{expected} the key {shorten(key, 80)!r}.{did_you_mean(str(key), _EXPECTED)}")
        where = f"{path}: {key}:"
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            got = shorten(texts, 80)
            raise UserError(f"{where} expected a list of texts, with colons only inside quotation marks, got {got!r}")
        requirements += [parse(text, key, where) for text in texts]
    if not requirements:
        raise UserError(f"{expected} no requirement")
    return requirements


class _PolicyLoader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML ships no types
    """YAML loader that refuses a key that occurs twice: PyYAML would silently drop the first one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [str(key.value) for key, _ in node.value]
        for place, (key, _) in enumerate(node.value):
            if keys[place] in keys[:place]:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is twice", key.start_mark)
        return dict(super().construct_mapping(node, deep=deep))


EXIT_STATUS: dict[Outcome, int] = {"pass": 0, "fail": 1, "undecided": 2}  # exit status of `gate`
_SAME = 1e-9  # a value that is nearer to its bound equals it, except for rounding


@dataclass(frozen=True)
class Verdict:
    """The verdict about a requirement on a task."""

    requirement: str
    task: str
    metric: str
    outcome: Outcome
    value: float  # or the difference to the baseline
    stderr: float
    low: float
    high: float
    is_difference: bool
    questions: int
    # How many decide it with a probability of 0.8 if the value is the true one. None if it is decided, if the value
    # equals the bound, or if the run ended because of its answers (--until).
    questions_to_decide: int | None
    questions_available: int | None  # of the benchmark, if the verdict is undecided and the number is known
    signature: str | None  # of the run's scores; None without a results file
    level: float = LEVEL  # of the interval
    bounds: tuple[float, ...] = ()  # of the allowed values

    @property
    def is_stopped(self) -> bool:
        """Whether the run could end because of its answers (--until)."""
        return "until" in signature_parts(self.signature or "")

    @property
    def reason(self) -> str:
        """Why the requirement does not pass; empty if it does."""
        if self.outcome == "pass":
            return ""
        if isnan(self.value):
            return f"{self.metric} is undefined in this run"
        what = f"the difference to the baseline, {self.value:+.4f}," if self.is_difference else f"{self.value:.4f}"
        if isnan(self.low):
            return f"{what} has no interval"
        low, high = (end_as_text(end, 4, bounds=self.bounds) for end in (self.low, self.high))
        interval = f"{what} with the cautious {self.level:.0%} interval {low} to {high}"
        if self.outcome == "undecided" and self.is_stopped:
            return f"{interval}; a run with --until '{self.requirement}' decides"
        if not (needed := self.questions_to_decide):
            return interval
        has = "" if self.questions_available is None else f" (the benchmark has {self.questions_available:,})"
        return f"{interval}; {needed:,} questions{has} would decide it with a probability of {POWER:g}"


@dataclass(frozen=True)
class Check:
    """A verdict without numbers."""

    requirement: str
    task: str
    outcome: Outcome
    reason: str  # empty if it passes
    signature: str


def overall(verdicts: Iterable[Verdict | Check]) -> Outcome:
    """The outcome of a gate: fail if a requirement fails, else undecided if one is, else pass."""
    outcomes = {verdict.outcome for verdict in verdicts}
    return "fail" if "fail" in outcomes else "undecided" if "undecided" in outcomes else "pass"


def summary(verdicts: Iterable[Verdict | Check]) -> str:
    """How many requirements have each outcome."""
    found = Counter(verdict.outcome for verdict in verdicts)
    return ", ".join(f"{found[outcome]:,} {outcome}" for outcome in EXIT_STATUS)


def decide(low: float, high: float, least: float = -inf, most: float = inf) -> Outcome:
    """Decide by its interval whether a value is allowed. Two bounds and a 90% interval are two one-sided tests."""
    if least <= low and high <= most:
        return "pass"
    return "fail" if high < least or low > most else "undecided"


def decide_width(low: float, high: float, half: float) -> Outcome:
    """Decide whether an interval is narrow; a wide one is undecided, because more questions make it narrower."""
    return "pass" if high - low <= 2 * half else "undecided"


def verdicts_of(runs: Sequence[Run], baseline: Sequence[Run], requirements: Iterable[Requirement]) -> list[Verdict]:
    """Compare the runs of a model with requirements."""
    return [
        _verdict(run, requirement, _counterpart(run, runs, baseline, requirement) if requirement.compares else None)
        for requirement in requirements
        for run in _of_task(runs, requirement)
    ]


def _of_task(runs: Sequence[Run], requirement: Requirement) -> Iterator[Run]:
    """The runs of the requirement's task, all of which have its metric."""
    metric = requirement.metric
    of_task = [run for run in runs if requirement.task in ("", run.task, run.name)]
    if not of_task:
        names = [run.task for run in runs]
        raise UserError(
            f"{requirement.task}:{requirement}: there is no such task in the run."
            f"{did_you_mean(requirement.task, names)} The tasks are {', '.join(names)}"
        )
    for run in of_task:
        if metric not in run.estimates:
            why = " The run stopped early, so it has few metrics." if not run.table.is_whole else ""
            is_elsewhere = any(metric in each.estimates for each in of_task)
            hint = f" Name the task that has it: 'TASK:{metric}...'." if is_elsewhere else ""
            raise UserError(
                f"{requirement}: {run.task} has no metric {metric!r}.{did_you_mean(metric, run.estimates)}{why}{hint} "
                f"Its metrics are {', '.join(run.estimates) or 'undefined'}"
            )
        yield run


def _counterpart(run: Run, runs: Sequence[Run], baseline: Sequence[Run], requirement: Requirement) -> Run:
    """The baseline's run of a task."""
    before = {after: before for before, after in pairs_of(baseline, runs)}.get(run)
    if before is None:
        names = ", ".join(before.task for before in baseline)
        raise UserError(f"{requirement}: the baseline does not have {run.task}. Its tasks are {names}")
    total = len(run.table.sizes) + run.table.not_begun
    if run.is_stopped:
        reason = no_baseline(before, run.signature, run.table.unit_of.items(), total)
    else:
        reason = not_comparable(before, run)
    if reason:
        raise UserError(f"{requirement}: {run.task} cannot be compared with the baseline, the first run: {reason}")
    if requirement.metric not in before.estimates:
        raise UserError(f"{requirement}: the baseline has no metric {requirement.metric!r} in {before.task}")
    return before


def no_baseline(before: Run, signature: str, units: Iterable[tuple[str, str]], total: int) -> str:
    """Reason why a run cannot be the baseline of one of `total` questions that stops early; empty if it can."""
    # `signature` is empty before the first request of a run whose settings depend on the model.
    if not before.signature:
        return "the baseline has no results file, so its settings are unknown"
    if (answered := len(before.table.sizes)) != total:
        more = " Run it without --until and --budget" if answered < total else ""
        return f"the baseline answered {answered:,} of {total:,} questions.{more}"
    if missing := set(units).difference(before.table.unit_of.items()):
        return f"{counted(len(missing), 'question')} of the run are not in it, or in another passage"
    asked, also = (how_asked(one, known_data=True, also=("data", "reader")) for one in (before.signature, signature))
    differing = differences_between(asked, also, show=str) if signature else []
    return f"their settings differ: {'; '.join(differing)}" if differing else ""


def _verdict(run: Run, requirement: Requirement, before: Run | None) -> Verdict:
    """The verdict about a run, or about its paired difference to the baseline."""
    entry = next(entry for entry in run.entries if entry["metric"] == requirement.metric)
    check_bound(requirement, entry)
    higher = entry.get("higher_is_better")
    bounds = requirement.allowed(higher=higher)
    known = course(entry, run.table, run.seed, before.table if before else None) if run.is_stopped else None
    first = before.estimates[requirement.metric] if before else None
    numbers, sample = _numbers(run, requirement, first, known)
    if known is not None:
        outcome = settled(known, requirement, first.value if first else 0.0, higher)
    elif requirement.sign == "±":
        outcome = decide_width(numbers.low, numbers.high, requirement.number)
    else:
        outcome = decide(numbers.low, numbers.high, *bounds)
    is_open = outcome == "undecided"
    return Verdict(
        str(requirement),
        run.task,
        requirement.metric,
        outcome,
        *numbers,
        is_difference=before is not None,
        questions=len(run.table.sizes),
        questions_to_decide=_questions_to_decide(numbers.value, sample, run, requirement, bounds) if is_open else None,
        questions_available=published_questions(run.name) if is_open else None,
        signature=run.signature or None,
        level=requirement.level,
        bounds=bounds,
    )


def _numbers(
    run: Run, requirement: Requirement, first: Estimate | None, known: Course | None
) -> tuple[Difference, Sample | None]:
    """The value, or the difference to the baseline; and what tells the number of questions that decide, if anything.

    If the run stopped because of its answers, they are what was then certain about the value for all questions.
    """
    estimate, units = run.estimates[requirement.metric], run.table.units
    value, error = estimate
    if first is None:
        if known is not None:
            return Difference(value, nan, *estimate.interval), None
        level = Level(estimate, units)
        return Difference(value, error, *level.interval(value, units)), level
    if known is not None:
        low, high = (end - first.value for end in known.interval(requirement.level))
        return Difference(known.value - first.value, nan, low, high), None
    numbers = difference(first, estimate, z=NormalDist().inv_cdf((1 + requirement.level) / 2), cautious=True)
    return numbers, None if isnan(numbers.stderr) else replace(Contrast.of(first, estimate), cautious=True)


def _questions_to_decide(
    value: float, sample: Sample | None, run: Run, requirement: Requirement, bounds: Interval
) -> int | None:
    """How many questions would decide an undecided requirement; None if no number is known."""
    bound = min(bounds, key=lambda end: abs(end - value))
    if sample is None or run.is_stopped or not _SAME < abs(value - bound) < inf:
        return None
    if isinstance(sample, Contrast) and requirement.sign == "same within" and abs(value) < requirement.number:
        needed = questions_for_same(sample, requirement.number, value)
    else:
        needed = questions_needed(sample, value, bound, level=requirement.level)
    if not needed:
        return None
    questions = len(run.table.sizes)  # several of which may share a passage
    return max(questions + 1, ceil(needed * (questions / max(1, run.table.units))))


def remarks(verdicts: Iterable[Verdict]) -> list[str]:
    """A message for each requirement that the benchmark has too few questions to decide."""
    return [
        f"{verdict.task}: {verdict.requirement} needs {needed:,} questions to be decided, but the benchmark has {has:,}"
        for verdict in verdicts
        if (has := verdict.questions_available) is not None and (needed := verdict.questions_to_decide or 0) > has
    ]


def as_table(verdicts: Sequence[Verdict], model: str) -> Table:
    """The verdicts as a table."""
    rows: CellRows = []
    for verdict in verdicts:
        ends = verdict.low, verdict.high
        number = Number(verdict.value, verdict.stderr, False, verdict.is_difference, ends, verdict.bounds)
        without = "--until" if verdict.is_stopped else "n/a"
        more: Cell = "" if verdict.outcome != "undecided" else verdict.questions_to_decide or without
        name = verdict.requirement.replace(">=", "≥").replace("<=", "≤")  # Markdown would escape the characters
        level = " (90%)" if verdict.level == SAME_LEVEL else ""
        interval = f"{number.interval or 'n/a'}{level}"
        rows.append([name, verdict.task, verdict.outcome, number, interval, verdict.questions, more])
    columns = ["requirement", "task", "outcome", "value", "cautious 95%", "questions", "would decide it"]
    return Table(f"{model}: {overall(verdicts)}", columns, rows)


def as_json(verdicts: Sequence[Verdict | Check], model: str, notes: Sequence[str]) -> dict[str, Any]:
    """The verdicts with all digits, undefined numbers as null."""
    outcome = overall(verdicts)
    requirements = []
    for verdict in verdicts:
        values = for_json(asdict(verdict))
        signature, _ = values.pop("signature"), values.pop("bounds", None)
        requirements.append({**values, "reason": verdict.reason or None, "signature": signature})
    status = {"model": model, "outcome": outcome, "exit_status": EXIT_STATUS[outcome]}
    return {**status, "requirements": requirements, "notes": list(notes)}


def as_junit(verdicts: Sequence[Verdict | Check], model: str, command: str = "gate") -> bytes:
    """The verdicts as JUnit XML; an undecided one is an `error`, because CI systems show skipped cases as passed."""
    name = printable(f"lm-eval-cora {command} {model}")
    root = ElementTree.Element("testsuites", {"name": name, **_counts(verdicts)})
    for task in dict.fromkeys(verdict.task for verdict in verdicts):
        name = printable(task)  # XML cannot contain control characters, not even escaped
        of_task = [verdict for verdict in verdicts if verdict.task == task]
        suite = ElementTree.SubElement(root, "testsuite", {"name": name, **_counts(of_task)})
        for verdict in of_task:
            case = ElementTree.SubElement(suite, "testcase", classname=name, name=verdict.requirement)
            if reason := printable(verdict.reason):
                tag = "failure" if verdict.outcome == "fail" else "error"
                ElementTree.SubElement(case, tag, type=verdict.outcome, message=reason).text = reason
            if verdict.signature:
                ElementTree.SubElement(case, "system-out").text = printable(verdict.signature)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _counts(verdicts: Sequence[Verdict | Check]) -> dict[str, str]:
    found = Counter(verdict.outcome for verdict in verdicts)
    return {"tests": str(found.total()), "failures": str(found["fail"]), "errors": str(found["undecided"])}
