"""Tables of records: columns, and packed records, which are the same records and whose table is a slow reference's."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.answer_format import as_bytes
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.packed import PackedRecords
from lm_eval_cora.metrics.responses import ResponseTable


def test_a_question_id_as_number_and_as_text_is_the_same_question():
    ids = [(7, 2, 0), ("7", 2, 1), ("x", 1, 0)]
    table = ResponseTable.from_records(Record(*of, "x", (0, 1), 0, picked=0, original=not of[2]) for of in ids)
    assert table.question_ids == ("7", "x")


def test_all_identities_fit_into_the_bit_set():
    # 26 source options, NOTA and up to 33 fillers have the identities 0 to 59; the bit set has 64 bits.
    table = ResponseTable.from_records([Record("q", 1, 0, "original", (0, 59), 0, picked=59)])
    assert table.printed.tolist() == [(1 << 59) + 1]


IDS = st.sampled_from(["a", "b", "c", "10", "9"])


@st.composite
def records(draw):
    picked = draw(st.sampled_from([None, 0, 1]))
    return Record(
        *(draw(IDS), draw(st.sampled_from([1, 2, 3, 10**4_000])), draw(st.sampled_from([0, 1, 2, -1, 10**4_000]))),
        draw(st.sampled_from(["original", "x", "y"])),
        *(draw(st.sampled_from([(0, 1), (1, 0)])), draw(st.integers(0, 1))),
        category=draw(st.sampled_from(["", "one"])),
        picked=picked,
        position=picked,
        reason=None if picked is not None else Reason.NO_LETTER,
        skipped=draw(st.booleans()),
        excerpt=draw(st.text(max_size=3)),
        cut_off=draw(st.sampled_from((None, True, False))),
        rule=draw(st.sampled_from(("", "a letter"))),
        likelihoods=draw(st.sampled_from([b"", as_bytes([-0.5]), as_bytes([-1.5, None])])),
    )


MANY = st.lists(records(), max_size=40)


@given(*[st.lists(records(), max_size=12)] * 2)
def test_the_records_are_the_same(some, others):
    packed = PackedRecords(some)
    packed.extend(pickle.loads(pickle.dumps(PackedRecords(others))))
    everything = [*some, *others]
    assert list(map(vars, packed)) == list(map(vars, everything))
    assert [packed[place] for place in range(len(packed))] == everything
    assert [packed.key(place) for place in range(len(packed))] == [(r.question_id, r.ordinal) for r in everything]
    assert packed.keys() == {(r.question_id, r.ordinal) for r in everything}


@given(MANY)
def test_the_table_of_complete_questions(some):
    groups = {}
    for place, record in enumerate(some):
        groups.setdefault(record.question_id, {}).setdefault(record.ordinal, place)
    begun = {key: group for key, group in groups.items() if not all(some[place].skipped for place in group.values())}
    complete = {
        key: group
        for key, group in begun.items()
        if sorted(group) == list(range(len(group))) and all(some[p].variants == len(group) for p in group.values())
    }
    table, rows = ResponseTable.from_packed(PackedRecords(some))
    assert table.question_ids == tuple(sorted(complete))
    assert rows.tolist() == [complete[key][n] for key in sorted(complete) for n in range(len(complete[key]))]
    assert table.sizes.tolist() == [len(complete[key]) for key in sorted(complete)]
    assert table.duplicates == len(some) - sum(map(len, groups.values()))
    assert (table.incomplete, table.not_begun) == (len(begun) - len(complete), len(groups) - len(begun))
    kept = [some[place] for place in rows.tolist()]
    assert [table.kinds[code] for code in table.kind.tolist()] == [record.kind for record in kept]
    assert table.kinds == tuple(dict.fromkeys(record.kind for record in kept))
    assert table.correct.tolist() == [record.correct for record in kept]
    assert table.skipped.tolist() == [record.skipped for record in kept]
    assert table.invalid.tolist() == [record.invalid for record in kept]
    starts = np.cumsum(table.sizes) - table.sizes
    assert list(table.categories) == [kept[start].category for start in starts.tolist()]
