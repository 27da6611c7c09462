"""Answers to equal prompts, and changed picks: by hand, and for a model that changes answers by chance."""

from dataclasses import replace
from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import acc_repeats, changed_picks, maj_at_k, mcqa_plus, noise, pass_hat_k
from lm_eval_cora.metrics.noise import describe_noise
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.messages import tells
from tests.support.tables import OF_PROBE, few_questions, table_of


def asked(question, picks, repeats):
    """The records of a question with three printed options: its variants and the repeats of the first."""
    said = [("x", pick) for pick in picks] + [("repeat", pick) for pick in repeats]
    return [
        Record(question, len(picks), n, kind, (0, 1, 2), 0, picked=pick, position=pick, original=not n)
        for n, (kind, pick) in enumerate(said)
    ]


def table(*members):
    return table_of([*members])


OF_EQUAL_PROMPTS = (acc_repeats, maj_at_k, pass_hat_k, noise)


def values(found):
    return [metric(found).value for metric in OF_EQUAL_PROMPTS]


def both(rows):
    """The tables of answers to equal prompts: as an original and its repeats, and as variants."""
    for count in (1, len(rows[0])):
        yield table(*(asked(f"q{number}", row[:count], row[count:]) for number, row in enumerate(rows)))


def test_by_hand_from_repeats_and_from_variants():
    # Option 0 is right: two of three, a tie of three, a tie of two, nothing valid, all, another majority.
    rows = [[0, 0, 1], [0, 1, 2], [None, 0, 1], [None, None, None], [0, 0, 0], [2, 2, 0]]
    expected = [8 / 18, (1 + 1 / 3 + 1 / 2 + 1) / 6, 1 / 6, (2 / 3 + 3 + 2 / 3) / 6]
    for found in both(rows):
        assert values(found) == pytest.approx(expected)
        assert values(found.where(found.question > 0)) == pytest.approx(values(next(both(rows[1:]))))
    repeats, variants = (replace(found, clusters=tuple("aabbcc")) for found in both(rows))
    for metric in OF_EQUAL_PROMPTS:
        assert metric(repeats).interval == pytest.approx(metric(variants).interval)
    assert acc_repeats(repeats) == mcqa_plus(variants)


def test_skipped_samples_make_undefined_what_they_could_change():
    for row, expected in (([0, 1, 1, nan], [nan, 0]), ([1, 1, nan], [nan, nan])):
        found = [OF_PROBE["sampling"][name](ResponseTable.from_hits([row])).value for name in ("maj@k", "pass^k")]
        assert found == pytest.approx(expected, nan_ok=True)


def test_changed_picks_and_noise_by_hand():
    # Of the pairs 00, 01 and 01 two differ; of 2-, 22 and -2, too. From the original differ 1 and 2 of 2 variants.
    found = table(asked("q1", [0, 1, 0], [0, 1]), asked("q2", [2, None, 1], [None, 2]))
    assert changed_picks(found).value == 0.75
    assert tells(describe_noise(found), "66.7% of the pairs", "same options in 75.0%", "89% of that, if")


@given(st.integers(0, 10_000))
def test_changed_picks_agree_with_an_oracle(seed):
    members, shares = few_questions("divergent", seed), []
    for first, *others in members:
        same = [other for other in others if set(other.printed) == set(first.printed)]
        differ = [first.picked is None or first.picked != other.picked for other in same]
        shares += [sum(differ) / len(differ)] if differ else []
    expected = sum(shares) / len(shares) if shares else nan
    assert changed_picks(table_of(members)).value == pytest.approx(expected, nan_ok=True)


def test_written_answers_differ_if_they_are_not_equivalent():
    written = ["1/2", "0.5", None, "2", "0.50"]
    records = [
        Record(
            *("q", 3, n, "repeat" if n > 2 else "x", (), "0.5"),
            ask="boxed",
            written=text,
            original=not n,
            matches=text and text != "2",
        )
        for n, text in enumerate(written)
    ]
    found = ResponseTable.from_records(records, lambda one, other: (one == "2") == (other == "2"))
    assert values(found) == pytest.approx([2 / 3, 1, 0, 2 / 3])  # 1/2 and 0.50 are the same, 2 is another
    assert changed_picks(found).value == 0.5  # 0.5 is the same, nothing is not


def test_skipped_and_repeated_records_do_not_count():
    records = asked("q", [0, 0], [1, 0])
    records[2].skipped = True
    again = asked("q", [0, 0], [1, 2])[3]  # the first answer to a repeat counts
    assert values(table([*records, again])) == [1, 1, 1, 0]
    records[3].skipped = True
    assert values(table(records)) == pytest.approx([nan] * 4, nan_ok=True)  # nothing was repeated
    records[0].skipped = True  # such a question does not count
    assert values(table(records, asked("r", [1], [1]))) == [0, 0, 0, 0]


def test_nothing_to_tell():
    found = table(asked("q", [0], [0]))
    assert describe_noise(found) == "equal prompts always got the same pick, so none of the inconsistency is noise"
    assert describe_noise(table(asked("q", [0], [1]))) == "equal prompts got different picks in 100.0% of the pairs"
    assert isnan(noise(ResponseTable.from_records(())).value)
    assert describe_noise(ResponseTable.from_hits([[1, 0]])) == ""
