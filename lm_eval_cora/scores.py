"""Scores of a set of answers, and the comparison of two sets: the return values of the Python API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from math import isnan
from typing import TYPE_CHECKING, Any, overload

from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.accuracy import bmca
from lm_eval_cora.metrics.entries import Entry, compute, is_in_table
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import NEEDS_SEVERAL, despite_skipped
from lm_eval_cora.metrics.paired import Pair, pairs_by_metric, pairwise
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.messages import counted, did_you_mean
from lm_eval_cora.runs.collected import Collected
from lm_eval_cora.runs.comparable import answers_differ, not_comparable, only_in_one
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.task_files import facts_named
from lm_eval_cora.tables.number import end_as_text, p_as_text
from lm_eval_cora.tables.table_formats import table_as_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


_Parts = tuple[str, list[str], list[list[str]], Sequence[str]]


class _Shown:
    """What is shown as a table with a title above it and notes below it."""

    def _shown(self) -> _Parts:
        """The title, columns, rows and notes."""
        raise NotImplementedError

    def __repr__(self) -> str:
        title, columns, rows, notes = self._shown()
        return "\n".join([title, "", table_as_text(columns, rows), *notes])

    def _repr_html_(self) -> str:
        from jinja2 import Environment  # slow to import

        title, columns, rows, notes = self._shown()
        page = Environment(autoescape=True).from_string(_TABLE)
        return page.render(title=title, columns=columns, rows=rows, notes=notes)


class Scores(_Shown, Mapping[str, Estimate]):
    """The metrics of a set of answers, by name.

    `scores["cora"]` is an `Estimate` with `value`, `stderr` and `interval` (95%). A metric is computed when it is first
    used. Metrics that the answers do not define are nan; `undefined` gives the reasons. Printing shows a table.

    Attributes:
        name: Name of the answers: model and task of a run, otherwise empty.
        notes: What you should know about the answers, such as questions that were left out.

    Example:
        >>> from lm_eval_cora import score
        >>> rows = [{"question": q, "variant": n, "correct": n < q, "original": n == 0} for q in (1, 2) for n in (0, 1)]
        >>> scores = score(rows)
        >>> scores["mcqa"].value, scores["cora"].value
        (1.0, 0.5)
        >>> scores.questions, scores.answers, scores.undefined["acc_min"]
        (2, 4, "needs the column 'kind'")
    """

    def __init__(
        self,
        table: ResponseTable,
        entries: Iterable[Entry],
        reasons: Mapping[str, str] | None = None,
        *,
        notes: Iterable[str] = (),
        run: Run | None = None,
        rows: Collected | None = None,
        asked: str = "",
    ) -> None:
        self.name = f"{run.model}, {run.task}" if run else ""
        self.notes = tuple(notes)
        self._table = table
        self._functions = {  # of the metrics
            entry["metric"]: run.function(entry) if run else partial(compute, entry)
            for entry in entries
            if is_in_table(entry)
        }
        self._reasons = reasons or {}  # why others are undefined
        self._run = run  # if `read_runs` read the answers
        self._collected = run.collected if run else rows  # if `score` or a file has the answers
        self._asked = asked  # a digest of the variants that `read` got; otherwise empty
        self._computed: dict[str, Estimate] = {}

    def __getitem__(self, metric: str) -> Estimate:
        """The estimate of a metric, or a KeyError if there is no such metric."""
        if metric in self._reasons:
            return UNDEFINED
        if metric not in self._functions:
            meant = did_you_mean(str(metric), self)
            raise KeyError(f"there is no metric {metric!r}.{meant} The metrics are {', '.join(self)}")
        if metric not in self._computed:
            self._computed[metric] = self._functions[metric](self._table)
        return self._computed[metric]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._functions, **self._reasons})

    def __len__(self) -> int:
        return len({**self._functions, **self._reasons})

    @property
    def questions(self) -> int:
        """The number of questions."""
        return len(self._table.sizes)

    @property
    def answers(self) -> int:
        """The number of answers, without skipped ones."""
        return self._table.answers

    @property
    def readers(self) -> list[str]:
        """The names of the readers of written answers, as far as they are known."""
        if self._collected:
            return self._collected.readers
        return [self._run.reader] if self._run and self._run.reader else []

    @cached_property
    def undefined(self) -> dict[str, str]:
        """The metrics whose value is nan, and the reason for each."""
        return {name: self._reason(name) for name in self if isnan(self[name].value)}

    def _reason(self, metric: str) -> str:
        if metric in self._reasons:
            return self._reasons[metric]
        if not self.questions:
            return "no question is complete"
        if not self._table.is_whole:
            return "the value depends on the skipped answers"
        facts = facts_named(metric)
        if facts.is_unvaried(self._table):
            return NEEDS_SEVERAL
        if self._table.units < facts.fewest:
            return f"it needs {facts.fewest} {'questions' if self._table.cluster is None else 'passages'}"
        return facts.why_undefined(self._table)

    def to_frame(self) -> DataFrame:
        """Convert the metrics to a DataFrame.

        Returns:
            A DataFrame with a row per metric and the columns `metric`, `value`, `stderr`, `low` and `high`. The last
            two are the ends of the 95% confidence interval. Undefined numbers are nan.

        Example:
            >>> from lm_eval_cora import score
            >>> rows = [{"question": "q1", "variant": n, "correct": True, "original": n == 0} for n in range(4)]
            >>> score(rows).to_frame().head(2)
              metric  value  stderr  low  high
            0   cora    1.0     NaN  NaN   NaN
            1   mcqa    1.0     NaN  NaN   NaN
        """
        return _frame("metric", self)

    def bmca_curve(self) -> DataFrame:
        """Compute the BMCA curve: the share of questions with at least a given share of variants answered correctly.

        Returns:
            A DataFrame with a row per level, 0, 0.1, ... 1, and the columns `level`, `value`, `stderr`, `low` and
            `high`. The last two are the ends of the 95% confidence interval.

        Example:
            >>> from lm_eval_cora import score
            >>> rows = [{"question": "q1", "variant": n, "correct": n < 2} for n in range(4)]
            >>> score(rows).bmca_curve().value.tolist()
            [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]

        Source: CoRA, eq. 5 and figure 2.
        """
        curves = {level / 10: partial(bmca, level=level / 10) for level in range(11)}
        return _frame("level", {x: despite_skipped(at, self._table, of_originals=False) for x, at in curves.items()})

    def plot(self, ax: Axes | None = None, label: str | None = None) -> Axes:
        """Draw the BMCA curve with its 95% confidence interval.

        This needs matplotlib: `pip install 'lm-eval-cora[report]'`.

        Args:
            ax: The axes to draw in; None makes new ones.
            label: The label in the legend; None uses the name of the scores.

        Returns:
            The axes.

        Raises:
            UserError: If matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot
        except ImportError:
            raise UserError("plot: matplotlib is not installed. Run pip install 'lm-eval-cora[report]'") from None
        axes = pyplot.subplots()[1] if ax is None else ax
        level, value, _, low, high = self.bmca_curve().to_numpy().T
        label = label or self.name or None
        (line,) = axes.plot(level, value, marker="o", label=label)
        axes.fill_between(level, low, high, color=line.get_color(), alpha=0.15)
        axes.set(xlabel="share of variants answered correctly, at least", ylabel="share of questions (BMCA)")
        axes.set(xlim=(0, 1), ylim=(0, 1.02))
        if label:
            axes.legend()
        return axes

    def _shown(self) -> _Parts:
        title = f"{self.name}: {self.size}" if self.name else self.size
        rows = [[name, *cells_of(estimate)] for name, estimate in self.items() if not isnan(estimate.value)]
        return title, ["metric", "value", "stderr", "95%"], rows, self.remarks

    @property
    def size(self) -> str:
        """The numbers of questions and variants as text, such as "4 questions with 26 variants"."""
        sizes = self._table.sizes
        most = int(sizes.max(initial=0))
        fewest = int(sizes.min(initial=most))
        variants = counted(most, "variant") if fewest == most else f"{fewest} to {most} variants"
        return f"{self._table.size} with {variants}"

    @property
    def remarks(self) -> list[str]:
        """The notes, and a line for each reason why metrics are undefined."""
        by_reason = grouped_by(self.undefined, self.undefined.__getitem__)
        return [*self.notes, *(f"undefined: {', '.join(names)}: {reason}" for reason, names in by_reason.items())]


class Comparison(_Shown, dict[str, Pair]):
    """The differences between two sets of answers to the same questions, by metric.

    `comparison["cora"]` has `before` and `after`, the two estimates; `value`, the difference after - before; its
    `stderr` and `interval` (95%); and `p_value`, which is below 0.05 exactly if the interval excludes 0. `method` names
    the test: "mcnemar" for shares of the same questions, "t" with clusters, else "normal". One of several pairs also
    has `together`, the difference with its joint interval, and `p_together`. `compare` returns such an object.

    Example:
        >>> from lm_eval_cora import compare, score
        >>> rows = [{"question": q, "variant": n, "correct": n < q} for q in (2, 4) for n in range(4)]
        >>> comparison = compare(score(rows), score([{**row, "correct": True} for row in rows]))
        >>> comparison["acc"].value, comparison["bmca@1.0"].p_value, comparison["bmca@1.0"].method
        (0.25, 0.5, 'mcnemar')
    """

    def __init__(self, rows: Mapping[str, Pair], *names: str, size: str, several: bool = False) -> None:
        super().__init__(rows)
        self._names = names
        self._size = size
        self._several = several

    def to_frame(self) -> DataFrame:
        """Convert the differences to a DataFrame.

        Returns:
            A DataFrame with a row per metric and the columns `metric`, `before`, `after`, `difference`, `stderr`,
            `low`, `high`, `p_value` and `method`. `low` and `high` are the ends of the 95% confidence interval of the
            difference. They and `p_value` are nan if the metric has no standard error in closed form. The columns
            `low_together`, `high_together` and `p_together` hold for all pairs of scores together.
        """
        from pandas import DataFrame  # importing it takes half a second

        return DataFrame([{"metric": name, **row.numbers} for name, row in self.items()])

    def _shown(self) -> _Parts:
        tested = ["95%, all together", "p, all together"] if self._several else ["95%", "p"]
        rows = []
        for name, row in self.items():
            pair = row.joint if self._several else row
            values = [f"{estimate.value:.4f}" for estimate in (row.before, row.after)]
            rows.append([name, *values, *cells_of(pair, "+"), p_as_text(pair.p_value)])
        title = f"{' - '.join(self._names[::-1])}: {self._size}, paired by question"
        return title, ["metric", "before", "after", "difference", "stderr", *tested], rows, ()


class Comparisons(dict[tuple[int, int], Comparison]):
    """The differences between several sets of answers to the same questions, by the places of each two.

    `comparisons[0, 2]` is the `Comparison` of the third set minus the first one. Its numbers for a pair alone do not
    depend on the other sets. `compare` returns such an object.

    Example:
        >>> from lm_eval_cora import compare, score
        >>> rows = [{"question": q, "variant": n, "right": q % 3 + n // 2} for q in range(30) for n in range(3)]
        >>> sets = [score([{**row, "correct": row["right"] > k} for row in rows]) for k in (1, 1, 0)]
        >>> comparisons = compare(*sets)
        >>> list(comparisons)
        [(0, 1), (0, 2), (1, 2)]
        >>> pair = comparisons[0, 2]["bmca@1.0"]
        >>> round(pair.value, 3), pair.p_value <= pair.p_together < 0.05
        (0.333, True)
    """

    def to_frame(self) -> DataFrame:
        """Convert the differences to a DataFrame.

        Returns:
            A DataFrame with a row per pair and metric: the names of the two sets, `first` and `second`, and the columns
            of `Comparison.to_frame`.
        """
        from pandas import concat

        frames = [comparison.to_frame() for comparison in self.values()]
        names = [comparison._names for comparison in self.values()]
        return concat(frames, keys=names, names=["first", "second"]).droplevel(2).reset_index()

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.values()))

    def _repr_html_(self) -> str:
        return "".join(comparison._repr_html_() for comparison in self.values())


@overload
def compare(before: Scores, after: Scores, *, baseline: Scores | None = None) -> Comparison: ...
@overload
def compare(
    before: Scores, after: Scores, third: Scores, /, *others: Scores, baseline: Scores | None = None
) -> Comparisons: ...
def compare(before: Scores, after: Scores, *others: Scores, baseline: Scores | None = None) -> Comparison | Comparisons:
    """Compare two or more sets of answers to the same questions, paired by question.

    The standard error of a difference uses the differences within questions, so a question that is equally hard for
    both adds nothing to it. The p-value and the interval of two sets are those of `lm-eval-cora compare`, and do not
    depend on the others. The p-value is that of McNemar's mid-p test for shares of the same questions, of a t test with
    clusters, else of a normal test.

    Args:
        before: The first scores.
        after: The second scores, for the same questions and variants.
        others: More scores. All pairs are then compared, and have intervals and p-values for all pairs together, too.
        baseline: One of the scores, with which each other one is compared; None compares all pairs.

    Returns:
        Of two scores the difference of each metric that both define: after - before, which is new minus old, or the
        other minus the baseline. Of three or more such a `Comparison` for each pair, by their
        places, from 0.

    Raises:
        UserError: If two were not asked the same: other questions, variants, options, kinds or right answers, or runs
            of the harness with other settings. Or if the baseline is not one of the scores.

    Example:
        >>> from lm_eval_cora import score
        >>> rows = [{"question": q, "variant": n, "correct": n < q} for q in (2, 4) for n in range(4)]
        >>> better = score([{**row, "correct": True} for row in rows])
        >>> change = compare(score(rows), better)["bmca@1.0"]
        >>> change.before.value, change.after.value, change.value
        (0.5, 1.0, 0.5)
        >>> several = compare(score(rows), better, better)
        >>> several[0, 2]["bmca@1.0"].p_value, several[0, 2]["bmca@1.0"].p_together
        (0.5, 0.5)
    """
    sets = (before, after, *others)
    for got in map(type, sets):
        if not issubclass(got, Scores):
            raise UserError(
                f"compare: expected Scores, got {got.__name__}. Make them with score, read or read_runs, which "
                "returns a list"
            )
    first = next((place for place, each in enumerate(sets) if each is baseline), None)
    if baseline is not None and first is None:
        raise UserError("compare: baseline: expected one of the scores that are compared")
    unnamed = ("before", "after", *(f"set {place}" for place in range(2, len(sets))))
    names = [each.name or name for each, name in zip(sets, unnamed, strict=True)]
    for name, other in zip(names[1:], sets[1:], strict=True):
        if why := _not_alike(before, other):
            raise UserError(f"compare: {names[0]} and {name} cannot be compared: {why}")
    by_metric, size = pairs_by_metric(sets, first), counted(before.questions, "question")
    comparisons = {}
    for old, new in pairwise([UNDEFINED] * len(sets), first):
        rows = {name: pairs[old, new] for name, pairs in by_metric.items() if not isnan(pairs[old, new].value)}
        comparisons[old, new] = Comparison(rows, names[old], names[new], size=size, several=bool(others))
    return Comparisons(comparisons) if others else next(iter(comparisons.values()))


def _not_alike(before: Scores, after: Scores) -> str:
    """Reason why two sets of answers cannot be compared; empty if they can."""
    if before._run and after._run:
        return not_comparable(before._run, after._run)
    if before._collected and after._collected:
        return answers_differ(before._collected, after._collected)
    if not (before._asked and after._asked):
        return "it is unknown whether both were asked the same. Make both with score, with read, or with read_runs"
    if only := only_in_one(before._table.question_ids, after._table.question_ids, "questions"):
        return only
    if before._asked == after._asked:
        return ""
    return "they were expanded with different arguments, such as another seed. Use the variants of one call of expand"


def _frame(first: str, estimates: Mapping[Any, Estimate]) -> DataFrame:
    from pandas import DataFrame  # importing it takes half a second

    rows = [(key, *estimate, *estimate.interval) for key, estimate in estimates.items()]
    return DataFrame(rows, columns=[first, "value", "stderr", "low", "high"])


def cells_of(estimate: Estimate | Pair, sign: str = "") -> list[str]:
    """Format a value, its standard error and its 95% interval."""
    value = end_as_text(estimate.value, 4, sign)
    low, high = (end_as_text(end, 4, sign, [0.0] if sign else ()) for end in estimate.interval)
    return [value, *(["", ""] if isnan(estimate.stderr) else [f"{estimate.stderr:.4f}", f"[{low}, {high}]"])]


_TABLE = """
<p><b>{{ title }}</b></p>
<table>
<thead><tr>{% for name in columns %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}</tbody>
</table>
{% for note in notes %}<p>{{ note }}</p>{% endfor %}
"""
