"""The headline of a task: which model holds up, and how sure that is, in plain sentences and one chart."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations
from math import isnan, nan

from lm_eval_cora import metrics
from lm_eval_cora.metrics.accuracy import ALL_RIGHT
from lm_eval_cora.metrics.consistency import CORA_FALLS, cora_falls
from lm_eval_cora.metrics.estimate import FEW, UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import despite_skipped
from lm_eval_cora.metrics.paired import Difference, differs, together
from lm_eval_cora.questions.messages import counted
from lm_eval_cora.questions.question import printable, shorten
from lm_eval_cora.report.content import Dots, Headline
from lm_eval_cora.report.probe_views import changes
from lm_eval_cora.report.score_views import models
from lm_eval_cora.runs.model_run import Run, Runs, changes_by_kind, kinds_of, lead_of
from lm_eval_cora.runs.task_files import facts_named
from lm_eval_cora.tables.number import Number, end_as_text
from lm_eval_cora.tables.table import Table

_NAMED = 3  # number of models that a sentence names
# With fewer, the interval of a difference is wider than -+ 0.1 if a quarter of the questions change: sqrt(0.25 / n).
_ENOUGH = 100
_Gaps = Mapping[frozenset[Run], tuple[bool, str]]


def headline(runs: Runs, *, comparable: bool) -> Headline | None:
    """Make the headline of a task."""
    # A model is called the most reliable only if the interval of its difference to each other model is above 0. The
    # intervals hold for all pairs of models together, so with equal models this happens in at most 5% of the samples.
    name = lead_of(runs)
    if not name:
        return None
    ordered = sorted(runs, key=lambda run: -run.estimates[name].value)
    few, names = [*_too_few(ordered, name)], [_name(run.model) for run in ordered]
    if len(runs) == 1:
        (run,) = runs
        has_originals = run.table.is_whole and run.table.original_correct is not None and len(run.table.kinds) > 1
        return Headline(few or [*_of_one(run, name)], changes(runs) if has_originals else None, names)
    unlike = f"The models were not asked the same, so they are not ranked. {spoken(name)}: {_values(ordered, name)}."
    sentences = [*_of_several(ordered, name, _gaps(runs, name))] if comparable else [unlike]
    return Headline(few or sentences, _picture(ordered, name), names)


def _too_few(runs: Runs, name: str) -> Iterator[str]:
    """The sentence that replaces all others if a model has too few questions to say anything."""
    table = min((run.table for run in runs), key=lambda table: table.effective)
    if table.effective < FEW:
        intervals = {run: Number.of(run.estimates[name]).interval or "unknown" for run in runs}
        does = "is" if len(table.sizes) == 1 else "are"
        listed = _listed(f"{interval} for {_name(run.model)}" for run, interval in intervals.items())
        yield f"{table.size} {does} far too few to say anything: the 95% interval of {spoken(name)} is {listed}."


def _of_one(run: Run, name: str) -> Iterator[str]:
    """Sentences about one model: what it gets right, how much of that survives, and what costs the most."""
    model, lead = _name(run.model), run.estimates[name]
    right, kept = run.estimates.get("mcqa", UNDEFINED), kept_share(run)
    if isnan(right.value) or isnan(kept):
        yield f"The {spoken(name)} of {model} is {_with_error(lead)}."
    else:
        yield (
            f"{model} answers {_percent(right.value)} of {run.table.size} correctly, and keeps {_percent(kept)} of its "
            f"right answers in all variants: {spoken(name)} {_with_error(lead)}."
        )
    yield from _what_costs_most(run)


def _what_costs_most(run: Run) -> Iterator[str]:
    # The kinds of SCORE's probes are equally good forms of a question, so none of them costs anything.
    if (losses := changes_by_kind(run)) and not run.probe.in_aggregate:
        # Few questions may have the kind with the largest loss, which is then uncertain.
        ordered = sorted(losses, key=lambda kind: losses[kind].value)
        kind = next((kind for kind in ordered if losses[kind].high < 0), None)
        if kind is None:
            yield "No kind of variant certainly lowers the accuracy."
            return
        does = "lowers the accuracy the most" if kind == ordered[0] else "certainly lowers the accuracy"
        yield f"The kind {_name(kind)} {does}: {_difference(losses[kind])} compared with the originals."
        return
    accuracies = {kind: part["accuracy"].value for kind, part in kinds_of(run).items()} if run.table.is_whole else {}
    known = {kind: value for kind, value in accuracies.items() if not isnan(value)}
    p = run.estimates.get("acc_range_p", UNDEFINED).value
    if len(known) > 1 and not isnan(p):
        low, high = min(known, key=lambda kind: known[kind]), max(known, key=lambda kind: known[kind])
        if known[low] == known[high]:
            yield f"Its accuracy is the same in all {run.probe.several}: {known[low]:.2f}."
            return
        chance = "more than chance explains" if p < 0.05 else "which chance may explain"
        ends = [f"{known[kind]:.2f} ({_name(kind)})" for kind in (low, high)]
        yield f"Its accuracy ranges from {' to '.join(ends)}, {chance} (p = {p:.2g})."


def _gaps(runs: Runs, name: str) -> _Gaps:
    """Whether each pair of models differs, and the difference in words. The intervals hold for all pairs together."""
    lead = [run.estimates[name] for run in runs]
    if any(isnan(estimate.stderr) for estimate in lead):
        return {}
    changes = together(lead, list(combinations(range(len(runs)), 2)))
    return {
        frozenset((old, new)): (differs(gap), f"{_name(new.model)} minus {_name(old.model)} is {_difference(gap)}")
        for (old, new), gap in zip(combinations(runs, 2), changes, strict=True)
    }


def _of_several(runs: Runs, name: str, gaps: _Gaps) -> Iterator[str]:
    """Sentences about models that were asked the same, the best first; without gaps the errors are unknown."""
    first, second = runs[:2]
    best, value, score = _name(first.model), first.estimates[name], spoken(name)
    if not gaps:
        is_alone = value.value > second.estimates[name].value
        start = f"{best} has the highest {score}, but" if is_alone else f"The best models have the same {score}, and"
        yield f"{start} its error is unknown: {_values(runs, name)}."
        return
    tied = [first, *(run for run in runs[1:] if not gaps[frozenset((first, run))][0])]
    # The other model with the most questions right in all variants. Where CoRA falls, the best one must have more.
    shares = {run: share for run in runs[1:] if not isnan(share := _all_right(run).value)}
    rival = max(shares, key=shares.__getitem__, default=second)
    ahead = shares.get(rival, nan) - _all_right(first).value
    falls = name == "cora" and any(cora_falls(run.estimates["mcqa"].value, _all_right(run).value) for run in runs)
    right = f"{_percent(_all_right(rival).value)} of {counted(len(rival.table.sizes), 'question')}"
    named = [first, second]
    if len(tied) > 1:
        named = tied
        yield _tied(tied, runs, name, gaps)
        if first.table.effective < _ENOUGH:
            yield f"{first.table.size} are too few to tell similar models apart."
        if ahead > 0:
            named = [*tied, rival]
            yield f"{_name(rival.model)} answers the most questions correctly in all variants: {right}."
    elif ahead > 0 or (falls and ahead == 0):
        named = [first, rival]
        many = "more" if ahead else "as many"
        yield (
            f"The scores disagree: {best} has the highest {score}, {_with_error(value)}, but {_name(rival.model)} "
            f"answers {many} questions correctly in all variants: {right} ({best} {_percent(_all_right(first).value)})."
        )
        if falls:
            yield CORA_FALLS
    else:
        yield from _of_winner(first, second, name, gaps)
    if rest := [run for run in runs if run not in named]:
        yield f"{score} of the other {'models' if len(rest) > 1 else 'model'}: {_values(rest, name)}."


def _of_winner(first: Run, second: Run, name: str, gaps: _Gaps) -> Iterator[str]:
    """Sentences about the only best model and the second one."""
    best, claim = _name(first.model), "is the most reliable" if name == "cora" else "is the best"
    value, gap = _with_error(first.estimates[name]), gaps[frozenset((first, second))][1]
    yield f"{best} {claim}: {spoken(name)} {value}; {gap}."
    kept_shares = [kept_share(run) for run in (first, second)]
    if not any(map(isnan, kept_shares)):
        kept, of_second = map(_percent, kept_shares)
        yield f"{best} keeps {kept} of its right answers in all variants, {_name(second.model)} {of_second}."


def _tied(tied: Runs, runs: Runs, name: str, gaps: _Gaps) -> str:
    """The sentence about the best model and those that cannot be told apart from it."""
    two = len(tied) == 2
    values = f"{_values(tied, name)}{f'; {gaps[frozenset(tied)][1]}' if two else ''}"
    if tied[-1] is not runs[len(tied) - 1] or any(gaps[frozenset(pair)][0] for pair in combinations(tied, 2)):
        best, others = _name(tied[0].model), _name(tied[1].model) if two else f"{len(tied) - 1} others"
        return f"{best} has the highest {spoken(name)}, but cannot be told apart from {others}: {values}."
    if len(tied) < len(runs):
        return f"The models with the highest {spoken(name)} cannot be told apart: {values}."
    who = "The two models" if two else f"The {len(runs)} models"
    return f"{who} cannot be told apart by their {spoken(name)}: {values}."


def _values(runs: Runs, name: str) -> str:
    """The values of the first models."""
    return _listed(f"{_name(run.model)} {_with_error(run.estimates[name])}" for run in runs)


def _listed(parts: Iterable[str]) -> str:
    """The first parts, and the number of the others."""
    shown = [*parts]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return f"{', '.join(shown[:_NAMED])}{more}"


def _all_right(run: Run) -> Estimate:
    """BMCA(1.0): the share of questions with all variants right. Undefined if the run has no originals."""
    if "mcqa" not in run.estimates:
        return UNDEFINED
    known = run.estimates.get(ALL_RIGHT)
    return known or despite_skipped(partial(metrics.bmca, level=1.0), run.table, of_originals=False)


def kept_share(run: Run) -> float:
    """Share of the right answers to originals whose question is right in all variants; nan if it is unknown."""
    right = run.estimates.get("mcqa", UNDEFINED).value
    return _all_right(run).value / right if right else nan


def _picture(runs: Runs, name: str) -> Dots:
    """Chart the metrics of the headline: a row per model, the best first."""
    columns = {spoken(name): [Number.of(run.estimates[name]) for run in runs]}
    if name == "cora":
        originals = [Number.of(run.estimates["mcqa"]) for run in runs]
        variants = [Number.of(_all_right(run)) for run in runs]
        columns = {"MCQA: originals right": originals, **columns, "all variants right": variants}
    rows = [
        [run.model, *(cell for number in numbers for cell in number.with_interval)]
        for run, *numbers in zip(runs, *columns.values(), strict=True)
    ]
    title = f"{spoken(name)} of the models"
    return Dots(
        name="models",
        title=title,
        x_label="share of the questions" if name == "cora" else spoken(name),
        models=[(label, dict(zip(models(runs), numbers, strict=True))) for label, numbers in columns.items()],
        numbers=Table(title, ["model", *(head for label in columns for head in (label, "95%"))], rows),
        note="The bars are 95% intervals of each value. The intervals of two models may overlap although the models "
        "differ, because the differences are paired by question.",
    )


def spoken(metric: str) -> str:
    """The name of a metric in a sentence."""
    return facts_named(metric).spoken or metric


def _difference(change: Difference) -> str:
    digits = _digits(change.stderr)
    low, high = (end_as_text(end, digits, "+", [0.0]) for end in (change.low, change.high))
    return f"{end_as_text(change.value, digits, '+')} [{low}, {high}]"


def _with_error(estimate: Estimate) -> str:
    numbers = (estimate.value,) if isnan(estimate.stderr) else estimate
    digits = _digits(estimate.stderr)
    return "\u00a0±\u00a0".join(end_as_text(number, digits) for number in numbers)  # no line break inside


def _digits(stderr: float) -> int:
    """Two decimals, or three if the error is small."""
    return 3 if stderr < 0.0095 else 2


def _percent(share: float) -> str:
    """A share as a whole number of percent."""
    if 0 < share < 0.005:
        return "less than 1%"
    if 0.995 <= share < 1:
        return "more than 99%"
    return f"{share:.0%}"


def _name(text: str) -> str:
    """A name in a sentence."""
    return printable(shorten(text, 60))
