"""Consistency rate and BMCA of random picks, compared with an exact enumeration or an independent simulation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from math import comb, isnan, sqrt

import pytest

from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import at_least, chance_bmca, chance_consistency_rate
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.divergent import divergent
from tests.support import oracles_compare as compared
from tests.support.score_tables import A, asked, random_written_questions, written
from tests.support.tables import random_study_questions, table_of


def printing(name: str, *printed: Sequence[int], picked: int | None = 0) -> list[Record]:
    """Return a question whose variants print these options and all have the same pick."""
    return [
        Record(name, len(printed), ordinal, "kind", tuple(options), 0, picked=picked, original=not ordinal)
        for ordinal, options in enumerate(printed)
    ]


def divergence_set(name: str, options: int) -> list[Record]:
    return printing(name, *(v.printed for v in divergent(Question(name, "?", tuple(map(str, range(options))), 0))))


@pytest.mark.parametrize("options", [2, 3, 4, 5, 10])
def test_with_the_same_options_in_all_variants_the_rate_is_one_over_their_number(options: int) -> None:
    table = table_of([asked(f"q{number}", [A] * options, options) for number in range(20)])
    # 5,000 simulated questions; each pair has a standard deviation of at most 1/2. Tolerance: four errors.
    assert chance_consistency_rate(table) == pytest.approx(1 / options, abs=4 * 0.5 / sqrt(5_000 * comb(options, 2)))


def test_two_variants_by_hand() -> None:
    # Three options, then two of them: a pair is comparable with probability 2/3 * 1, and half of those agree. So 3,333
    # of 5,000 tries count.
    members = [printing(f"q{number}", (0, 1, 2), (0, 1)) for number in range(50)]
    assert chance_consistency_rate(table_of(members)) == pytest.approx(1 / 2, abs=4 * 0.5 / sqrt(3_333))
    # No common option: a pair is never comparable.
    assert isnan(chance_consistency_rate(table_of([printing("q", (1, 2), (3, 4))])))


def test_a_pair_that_is_seldom_comparable_by_hand() -> None:
    # The right option and one of two others. A pair is comparable only if both picks are printed in both variants, so
    # both must be the right option (1/4). Therefore every comparable pair agrees.
    members = [printing(f"q{number}", (0, 1), (0, 2)) for number in range(50)]
    assert chance_consistency_rate(table_of(members)) == 1
    assert chance_consistency_rate(table_of(members[:1])) == 1


def test_divergence_sets_of_five_options() -> None:
    members = [divergence_set(f"q{number}", 5) for number in range(10)]
    # 26 variants are too many to enumerate. The ratio of the expected pairs is close to the expected ratio.
    agreeing, comparable = compared.pairs_of_random_picks([record.printed for record in members[0]])
    found = chance_consistency_rate(table_of(members))
    assert found == pytest.approx(0.46, abs=0.01)
    assert found == pytest.approx(float(agreeing / comparable), abs=0.01)
    assert found == pytest.approx(compared.rate_of_random_picks(members, 200, random.Random(0)), abs=0.01)


def test_variants_that_do_not_ask_for_a_letter_are_left_out() -> None:
    members = random_study_questions(30, (3, 4))
    letters = [
        [replace(record, ordinal=place) for place, record in enumerate(r for r in records if r.ask == "letter")]
        for records in members
    ]
    letters = [[replace(record, variants=len(records)) for record in records] for records in letters]
    found = chance_consistency_rate(table_of(members))
    assert found == pytest.approx(chance_consistency_rate(table_of(letters)), abs=0.01)
    assert found == pytest.approx(compared.rate_of_random_picks(members, 20, random.Random(0)), abs=0.015)


def test_the_answers_do_not_matter() -> None:
    members = [divergence_set(f"q{number}", 4) for number in range(3)]
    expected = chance_consistency_rate(table_of(members))
    for answer in (None, 1):
        others = [[replace(r, picked=answer if answer in r.printed else None) for r in records] for records in members]
        assert chance_consistency_rate(table_of(others)) == expected


def test_the_simulation_is_seeded() -> None:
    members = [divergence_set(f"q{number}", 4) for number in range(3)]
    assert chance_consistency_rate(table_of(members)) == chance_consistency_rate(table_of(members))


def test_without_questions_the_rate_is_undefined() -> None:
    assert isnan(chance_consistency_rate(table_of([])))


def test_for_written_answers_the_rate_is_undefined() -> None:
    assert isnan(chance_consistency_rate(written(["5", "x=5", None], ["7", "7", "7"])))
    assert isnan(chance_consistency_rate(table_of(random_written_questions(10, "prompts"))))


def test_with_one_variant_the_rate_is_undefined() -> None:
    assert isnan(chance_consistency_rate(ResponseTable.from_hits([[1]])))
    assert isnan(chance_consistency_rate(ResponseTable.from_hits([[1], [0], [1]])))


def test_the_largest_identities_are_picked() -> None:
    # The 26th filler is 52. Picks of two options agree with probability 1/2.
    found = chance_consistency_rate(table_of([printing("q", (0, 52), (52, 0), (0, 52))]))
    assert found == pytest.approx(0.5, abs=0.03)
    assert chance_consistency_rate(table_of([printing("q", (52,), (52,), picked=52)])) == 1


LEVELS = [tenths / 10 for tenths in range(11)]


def test_bmca_by_chance_is_that_of_equal_guesses() -> None:
    """With as many options in each variant, it is the table of CoRA's appendix A."""
    members = [printing(f"q{number}", *[tuple(range(5))] * 10) for number in range(3)]
    assert chance_bmca(table_of(members), LEVELS) == pytest.approx(at_least(10, 1 / 5))


def test_bmca_by_chance_of_two_questions_by_hand() -> None:
    # All right: 1/2 * 1/4 and 1/3. At least half right: 1/2 + 1/2 * 1/4 and 1/3.
    table = table_of([printing("a", (0, 1), (0, 1, 2, 3)), printing("b", (0, 1, 2))])
    assert chance_bmca(table, [1, 0.5, 0]) == pytest.approx([(1 / 8 + 1 / 3) / 2, (5 / 8 + 1 / 3) / 2, 1])


def test_bmca_by_chance_needs_options() -> None:
    assert chance_bmca(written(["5", "x=5", None], ["7", "7", "7"]), LEVELS) == []
    assert chance_bmca(table_of([]), LEVELS) == []
