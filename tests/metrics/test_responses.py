from __future__ import annotations

import numpy as np

from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.responses import INVALID, ResponseTable


def record(question_id: object = "q1", ordinal: int = 0, variants: int = 2, picked: int | None = 0) -> Record:
    kind = "shuffled" if ordinal else "original"
    return Record(question_id, variants, ordinal, kind, (0, 1), 0, picked=picked, original=kind == "original")  # type: ignore[arg-type]


def test_columns() -> None:
    table = ResponseTable.from_records([record(), record(ordinal=1, picked=None), record("q2", variants=1, picked=1)])
    assert (table.question_ids, table.categories, table.sizes.tolist()) == (("q1", "q2"), ("", ""), [2, 1])
    assert [table.kinds[kind] for kind in table.kind] == ["original", "shuffled", "original"]
    assert (table.picked.tolist(), table.correct.tolist()) == ([0, INVALID, 1], [True, False, False])
    assert (table.printed.tolist(), table.incomplete) == ([0b11, 0b11, 0b11], 0)
    assert table.hits.tolist() == [1, 0]
    assert table.original_correct is not None
    assert table.original_correct.tolist() == [True, False]


def test_a_question_id_as_number_and_as_text_is_the_same_question() -> None:
    table = ResponseTable.from_records([record(7), record("7", ordinal=1), record("x", variants=1)])
    assert table.question_ids == ("7", "x")


def test_a_table_without_records() -> None:
    table = ResponseTable.from_records([])
    assert table.question_ids == ()
    assert table.hits.tolist() == []
    assert table.original_correct is None
    assert table.printed.dtype == np.uint64


def test_all_identities_fit_into_the_bit_set() -> None:
    # 26 source options, NOTA and up to 33 fillers have the identities 0 to 59; the bit set has 64 bits.
    table = ResponseTable.from_records([Record("q", 1, 0, "original", (0, 59), 0, picked=59)])
    assert table.printed.tolist() == [(1 << 59) + 1]
