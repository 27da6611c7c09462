"""A table of texts, counts and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lm_eval_cora.tables.number import Number

Cell = str | int | float | Number  # text, a count, a value with all digits, or a number with its standard error
CellRows = list[list[Cell]]
Cells = Mapping[str, Sequence[Cell]]  # the cells of a model by name of the row


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row names it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    sortable: bool = False
    explained: bool = False  # the page prints the meaning of each row's metric below its name
    groups: Sequence[str] = ()  # of columns, such as models; each has a column for each of the `heads`
    heads: Sequence[str] = ()
    narrow: bool = False  # on paper it takes one column of the page, even if that makes it small

    @classmethod
    def by_model(
        cls, title: str, first: str, models: Sequence[str], heads: Sequence[str], cells: Sequence[Cells], note: str = ""
    ) -> Table:
        """Make a table with a row per name, and the columns `heads` for each model; an empty head is its name."""
        # `cells` has the cells of each model by name of the row. A model without the row has empty cells.
        several = len(models) > 1
        columns = [f"{head} {model}" if head and several else head or model for model in models for head in heads]
        names = dict.fromkeys(name for own in cells for name in own)
        nothing = [""] * len(heads)
        rows = [[name, *(cell for own in cells for cell in own.get(name, nothing))] for name in names]
        return cls(title, [first, *columns], rows, note, groups=models if several and any(heads) else (), heads=heads)

    def without(self, *columns: str) -> Table:
        """The table without some columns."""
        kept = [place for place, name in enumerate(self.columns) if name not in columns]
        rows = [[row[place] for place in kept] for row in self.rows]
        return replace(self, columns=[self.columns[place] for place in kept], rows=rows)
