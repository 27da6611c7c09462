"""Files of answers collected without the harness: the same scores as in the harness, or one clear error."""

import random
import re
from dataclasses import replace
from itertools import product
from math import isnan, nan
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lm_eval_cora.api import score
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.entries import compute
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.runs.collected import entries_of, of_log, read_answers, undefined_metrics
from lm_eval_cora.runs.program_rows import Logged
from lm_eval_cora.scores import compare
from tests.support import oracles, oracles_score
from tests.support.messages import user_error
from tests.support.names import OF_REPEATS
from tests.support.tables import few_questions
from tests.support.written import answers, put


def line(question, ordinal, picked, answer="a", **more):
    kind = more.pop("kind", "shuffled" if ordinal else "original")
    return {"question_id": question, "kind": kind, "ordinal": ordinal, "picked": picked, "answer": answer, **more}


def test_every_pair_is_comparable_without_options():
    lines = [
        *(line("q1", ordinal, picked) for ordinal, picked in enumerate(["a", "a", "b", None])),
        *(line("q2", ordinal, picked, "é") for ordinal, picked in enumerate(["é", "é", "é", "é"])),
    ]
    found = score(lines)
    # q1: one of six pairs agrees. q2: all six agree.
    expected = {"consistency_rate": (1 / 6 + 1) / 2, "acc": 6 / 8, "mcqa_plus": 6 / 8, "mcqa": 1.0, "bmca@1.0": 0.5}
    expected |= {"ci": 0.5, "cora": 0.5, "mv": 0.5, "bmca@0.5": 1.0, "invalid": 1 / 8, "all_equal": 0.5}
    expected |= {"sc": (2 / 4 + 1) / 2, "mcqa_plus_diff": -0.25}
    assert {name: found[name].value for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("repeats", [0, 2])
def test_originals_alone_are_an_accuracy(repeats):
    kinds = ["original", *["repeat"] * repeats]
    scores = score([line(q, n, "a", "ab"[q], kind=kind) for q in (0, 1) for n, kind in enumerate(kinds)])
    assert (scores["acc"].value, scores["mcqa"].value, isnan(scores["noise"].value)) == (0.5, 0.5, not repeats)
    (note,) = [note for note in scores.remarks if "needs several variants of each question" in note]
    assert {"cora", "ci", "bmca@1.0", "all_equal", "consistency_rate"} <= {*note.replace(":", ",").split(", ")}


def in_letters(letters, *columns):
    """The right option of two questions, in each rotation of three options, as a letter."""
    for question, turn in product("pq", range(3)):
        printed, letter = [f"{question} {text}" for text in "xyzxy"[turn : turn + 3]], letters[-turn % 3]
        own = {"question": question, "variant": turn, "picked": letter, "answer": letter, "correct": True}
        yield {name: (own | {"printed": printed})[name] for name in ("question", "variant", "picked", *columns)}


@pytest.mark.parametrize("letters", ["ABC", "abc", "123", "012", ["(A)", "(B)", "(C)"], "АБВ"])
def test_letters_of_reordered_options_are_read_by_printed(letters):
    scores = score(list(in_letters(letters, "answer", "printed")))
    assert (scores["consistency_rate"].value, scores["acc"].value) == (1, 1)
    for column in ("answer", "correct"):
        with user_error("column 'picked': expected options, got letters", "Add a column 'printed'"):
            score(list(in_letters(letters, column)))


@pytest.mark.parametrize("options", ["ABCD", "1234", ["A", "B", "A and B", "None"], "TF", "YN"])
def test_options_that_are_named_by_letters_stay(options):
    # The right option is the same in all variants, or another text.
    moves = options[0] not in "A1"
    rows = [line(q, n, options[q], options[q if not moves else (q + n) % 2]) for q in (0, 1) for n in range(3)]
    assert score(rows)["consistency_rate"].value == 1
    assert score([{**row, "options": [*options]} for row in rows])["consistency_rate"].value == 1


def test_options_say_which_pairs_are_comparable():
    """All variants print a and b; one also prints c."""
    asked = (("c", "abc"), ("a", "ab"), ("a", "ba"), (None, "ab"))
    lines = [line("q1", n, picked, options=[*options]) for n, (picked, options) in enumerate(asked)]
    # Pairs of c and a are not comparable. The pair of a and a agrees. Three pairs have an invalid answer: 1 of 4.
    scores = score(lines)
    assert scores["consistency_rate"].value == pytest.approx(1 / 4)
    assert scores["sc"].value == 1  # only the original prints its options
    for one in lines:
        del one["options"]
    assert score(lines)["consistency_rate"].value == pytest.approx(1 / 6)
    assert "several variants" in score(lines[:1]).undefined["consistency_rate"]


def test_without_an_original():
    lines = [line("q1", ordinal, "a", kind="shuffled", options=["a", "b"]) for ordinal in range(3)]
    scores = score([*lines, line("q2", 0, "b"), line("q2", 1, "a")])
    assert {*scores.undefined} >= {"mcqa", "mcqa_plus_diff", "ci", "cora"}
    assert not {*scores.undefined} & {"acc", "mcqa_plus", "mv", "bmca@1.0", "core", "consistency_rate", "invalid"}
    assert "'q1'" in scores.undefined["cora"]
    assert scores["mcqa_plus"].value == 0.75


@pytest.mark.parametrize("identity", ["None", " ", "\u2028", "😀", 7, 10**30, "\x00"])
def test_identities_are_any_text(identity, tmp_path):
    for options in ({}, {"options": ["wrong", identity]}):
        lines = [line("q1", 0, identity, identity, **options), line("q1", 1, "", identity, **options)]
        lines.append(line("q1", 2, "wrong", identity, **options))
        found = score(put(tmp_path / "answers.jsonl", lines))
        assert (found["acc"].value, found["invalid"].value) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_a_number_is_its_text_and_ordinals_may_have_gaps():
    found = score([line(7, 0, 7, "7"), line("7", 1, "7", 7, options=[7, "8"])])
    assert (found["acc"].value, found["consistency_rate"].value) == (1.0, 1.0)
    for ordinals in ((5, 70, 1000), (-3, 0, 3), (2, 1, 0)):
        lines = [line("q1", n, "a", kind="original" if not place else "x") for place, n in enumerate(ordinals)]
        assert score(lines)["cora"].value == 1.0


@pytest.mark.parametrize("count", [2, 64, 65])
def test_many_identities(count):
    texts = [f"option {number}" for number in range(count)]
    lines = [line("q1", place, text, texts[0], options=texts) for place, text in enumerate(texts)]
    if count > 64:
        with user_error(f"row 0: the question has {count} different options, ", " at most 64"):
            score(lines)
        for one in lines:
            del one["options"]
    found = score(lines)
    assert (found["acc"].value, found["consistency_rate"].value) == (pytest.approx(1 / count), 0.0)


GOOD = line("q1", 0, "a")
NO_TEXTS = [
    *(("ordinal", True), ("ordinal", None), ("ordinal", [1]), ("picked", ["a"]), ("picked", True), ("answer", None)),
    *(("question_id", None), ("kind", []), ("category", [1])),
]
BAD = {
    **{f"{name} missing": ({key: GOOD[key] for key in GOOD if key != name}, f"'{name}' is missing") for name in GOOD},
    **{
        f"{name} {value}": ({**GOOD, name: value}, re.escape(f"'{name}': expected a text or a number, got {value!r}"))
        for name, value in NO_TEXTS
    },
    "options text": ({**GOOD, "options": "ab"}, "'options': expected a list of options, got 'ab'"),
    "options an object": ({**GOOD, "options": {"a": ["b"]}}, "'options': expected a list of options"),
    "options with null": ({**GOOD, "options": ["a", None]}, "'options': expected a text or a number"),
    "followed a word": ({**GOOD, "followed": "maybe"}, "'followed': expected True or False .* got 'maybe'"),
    "picked not printed": ({**GOOD, "options": ["b", "c"]}, r"'picked': .* \['b', 'c'\], .* got 'a'"),
    "picked from nothing": ({**GOOD, "options": []}, "'picked': .* got 'a'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_one_clear_error(name, tmp_path):
    bad, message = BAD[name]
    full = line("q0", 0, "a", category="", followed=True, options=["a"])
    path = put(tmp_path / "answers.jsonl", [full, "", bad, line("q2", 0, "a")])
    with pytest.raises(UserError, match=message) as caught:
        read_answers(path)
    assert str(caught.value).startswith("answers.jsonl line 3")
    assert "\n" not in str(caught.value)


def test_files_without_answers(tmp_path):
    for content in (b"", b"\n\n  \n", b"\xef\xbb\xbf"):
        (tmp_path / "empty.jsonl").write_bytes(content)
        with user_error("empty.jsonl: expected at least one answer"):
            read_answers(tmp_path / "empty.jsonl")
    with user_error("there is no file", "missing.jsonl"):
        read_answers(tmp_path / "missing.jsonl")


def test_a_missing_value_of_a_nullable_column_is_an_invalid_answer():
    picked = pd.array([3, None], dtype="Int64")
    scores = score(pd.DataFrame({"question": 1, "variant": [0, 1], "picked": picked, "answer": 3}))
    assert (scores["acc"].value, scores["invalid"].value) == (0.5, 0.5)


def test_options_that_some_rows_lack_do_not_describe_what_was_asked():
    assert read_answers([line("q1", 0, "a", options=["a"]), line("q1", 1, "a")])[""].described == ("answer", "kind")


# ---- names of variants as kinds
NAMES_OF_VARIANTS = {
    "shared names": (["original", "shuffled", "original", "shuffled"], {"original", "shuffled"}),
    "a kind that one question has": (["original", "x", "original", "y", "original", "x"], {"original", "x", "y"}),
    "numbers": ([0, 1, 0, 1], None),
    "numbers as text": (["0", "1", "0", "1"], None),
    "a number among names": (["original", 1, "original", 1], {"original", "1"}),
    "different names": (["a", "b", "c", "d"], None),
    "one question": (["original", "shuffled"], None),
}


@pytest.mark.parametrize("name", NAMES_OF_VARIANTS)
def test_names_that_questions_share_are_kinds(name):
    variants, kinds = NAMES_OF_VARIANTS[name]
    rows = [{"question": place // 2, "variant": one, "correct": True} for place, one in enumerate(variants)]
    found = read_answers(rows)[""]
    assert ("kind" in found.known, set(found.table.kinds)) == (kinds is not None, kinds or {"variant"})
    assert ("original" in found.known) == ("original" in variants)
    assert found.table.original.sum() == variants.count("original")


def test_at_most_sixty_names_are_kinds_and_a_column_goes_before_names():
    for count in (60, 61):
        rows = [{"question": q, "variant": f"v{n}", "correct": True} for q in range(2) for n in range(count)]
        assert ("kind" in read_answers(rows)[""].known) == (count == 60)
    # With a column of kinds, the variant of this name is still the original.
    for column, right, kinds in (("kind", "original", ("k",)), ("original", "x", ("original", "x"))):
        two = [{"variant": name, "correct": name == right} for name in ("original", "x")]
        of_each = [{**row, column: "k" if column == "kind" else row["correct"]} for row in two]
        rows = [{"question": question, **row} for question in "ab" for row in of_each]
        assert read_answers(rows)[""].table.kinds == kinds
        assert score(rows)["mcqa"].value == 1.0


# ---- any small file
def as_line(record):
    picked = record.written if record.picked is None else f"option {record.picked}"
    more = {"options": [f"option {identity}" for identity in record.printed]} if record.printed else {}
    more |= {"category": record.category} if record.category else {}
    return line(record.question_id, record.ordinal, picked, f"option {record.answer}", kind=record.kind, **more)


def without_options(record):
    written = None if record.picked is None else f"option {record.picked}"
    said = {"ask": "boxed", "printed": (), "picked": None, "written": written}
    return replace(record, matches=record.picked == record.answer, **said)


@given(st.integers(0, 10_000), st.booleans())
def test_any_file(tmp_path_factory, seed, printed):
    asked = [[replace(one, followed=None) for one in records] for records in few_questions("divergent", seed)]
    assume(max(map(len, asked)) > 1)
    asked = asked if printed else [list(map(without_options, records)) for records in asked]
    lines = [as_line(record) for records in asked for record in records]
    random.Random(seed).shuffle(lines)
    scores = score(put(tmp_path_factory.getbasetemp() / "any.jsonl", lines))
    expected = oracles_score.expected("divergent", asked)
    expected |= {"mcqa_plus_diff": oracles.mcqa_plus_diff(asked), "all_equal": oracles_score.all_equal(asked)}
    del expected["ties"], expected["letter_mass"]
    for name, value in expected.items():
        if name == "order_gap" and not (printed and name in scores):  # it needs the printed options
            continue
        found = scores[name].value
        assert (nan if value is None else value) == pytest.approx(found, nan_ok=True), name
        assert (value is None) == (name in scores.undefined), name


# ---- metrics
ONE = ResponseTable.from_hits([[1]])


@pytest.mark.parametrize(
    ("kinds", "more"),
    [
        (("nota_answer",), ("nota_acc", "nota_acc_diff", "nota_acc_h", "nota_acc_h_diff")),
        (("answer_at_B",), ("order_gap", "recall_spread", "recall_spread_by_chance")),
        (("numbers",), ("label_gap",)),
        (("options_2",), ("acc@2", "sc@2", "acc_h@2")),
        (("true_or_false_wrong",), ("tf_wrong",)),
        (("replaced",), ("replaced_acc",)),
    ],
)
def test_metrics_of_our_kinds_of_variants_need_these_kinds(kinds, more):
    of_any_kinds, found = (
        [entry["metric"] for entry in entries_of(replace(ONE, kinds=("original", "x", *more)))] for more in ((), kinds)
    )
    assert of_any_kinds[:4] == found[:4] == ["cora", "mcqa", "bmca@1.0", "ci"]
    assert {"acc_h", "acc_range_p", "position_chi_square", "macro_acc_min", *OF_REPEATS} < {*of_any_kinds}
    own = [f"{name}_always_right" for name in more if name.startswith("nota_acc")]
    assert sorted(found) == sorted([*of_any_kinds, *more, *own])


def test_metrics_of_a_probe_are_those_of_a_file_with_its_kinds():
    """In q1 the first letter is picked in both orders, in q2 the right option; each option is once at each letter."""
    orders = [("answer_at_A", ["x", "y"]), ("answer_at_B", ["y", "x"])]
    lines = [line("q1", n, shown[0], "x", kind=kind, options=shown) for n, (kind, shown) in enumerate(orders)]
    lines += [line("q2", n, "x", "x", kind=kind, options=shown) for n, (kind, shown) in enumerate(orders)]
    scores = score(lines)
    assert scores["recall_spread"].value == 0.25  # recalls 1 and 1/2
    assert scores["acc_range"].value == 0.5
    assert scores.undefined["recall_spread_by_chance"] == "it needs 10 questions"
    assert scores.undefined["macro_acc_min"] == "needs the column 'category'"
    one_order = score(lines[:3])
    assert "each option equally often at each letter" in one_order.undefined["position_chi_square"]


def test_repeats_of_the_original_in_a_file_are_no_variants():
    rows = [
        line("q", n, picked, kind=kind)
        for n, (kind, picked) in enumerate([("original", "a"), ("repeat", "b"), ("x", "a"), ("repeat", "a")])
    ]
    names, found = ("maj@k", "pass^k", "noise"), score(rows)
    assert [found[name].value for name in ("mcqa_plus", *names)] == pytest.approx([1, 1, 0, 2 / 3])
    others = [{**row, "kind": "x"} for row in rows]
    assert "of the kind 'repeat'" in score(others).undefined["pass^k"]
    epochs = of_log(Logged("model", "task", others, [], equal_prompts=True), Path("x.eval"), "flexible")
    assert not {*names} & undefined_metrics(epochs.table, epochs.known).keys()


def test_answers_that_may_be_skipped_and_columns_that_are_missing():
    table = ResponseTable.from_hits([[1, 0, None], [1, 1, 1]])
    values = {entry["metric"]: compute(entry, table).value for entry in entries_of(table)}
    known = ("mcqa", "ci", "cora", "acc_h", "bmca@0.7", "bmca@0.8", "bmca@0.9", "bmca@1.0", "pass^k")
    assert not any(isnan(values[name]) for name in known)
    # At level 0.5, question 0 has one or two of three variants right.
    assert all(
        isnan(values[name]) for name in ("bmca@0.5", "acc", "mcqa_plus", "mv", "core", "acc_min", "sc", "invalid")
    )

    # Columns that are missing.
    table = ResponseTable.from_hits([[1, 0]])
    reasons = undefined_metrics(table, {"original"})
    assert [reasons.get(name) for name in ("cora", "acc", "sc")] == [None, None, "needs the column 'picked'"]
    assert "a variant or kind named 'original'" in undefined_metrics(table, set())["cora"]
    some = score([line("q1", 0, "a", followed=True), line("q1", 1, "a")])
    assert some.undefined["followed"] == "the column 'followed' has missing values"


# ---- records
def test_records_are_in_the_order_of_the_table():
    found = read_answers(answers()[::-1])[""]
    records, table = [found.records[row] for row in found.rows.tolist()], found.table
    assert dict(zip(table.question_ids, table.categories, strict=True)) == {f"q{n}": "ab"[n % 2] for n in range(20)}
    assert [record.question_id for record in records][::4] == list(table.question_ids)
    assert [record.correct for record in records] == table.correct.tolist()
    assert [record.invalid for record in records] == table.invalid.tolist()
    assert [-1 if record.position is None else record.position for record in records] == table.position.tolist()
    assert len(records) == len(answers())


def test_records_of_many_options_and_without_a_right_option():
    printed = [f"option {number}" for number in range(30)]
    row = {"question": "q", "variant": 0, "picked": printed[29], "answer": printed[29], "printed": printed}
    (record,) = read_answers([row])[""].records
    assert (record.correct, record.picked, record.position) == (True, 29, 29)
    row = {"question": "q", "printed": ["a", "b"]}
    rows = [{**row, "variant": n, "picked": "ab"[n], "correct": n == 1} for n in range(2)]  # without the right option
    assert [record.correct for record in read_answers(rows)[""].records] == [False, True]


@pytest.mark.parametrize(
    ("orders", "expected"), [("ab ba", True), ("abc bca cab", True), ("ab ab", False), ("ab ba ab", False)]
)
def test_balanced_orders(orders, expected):
    row = {"question": "q", "picked": "a", "answer": "a"}
    rows = [{**row, "variant": n, "printed": list(order)} for n, order in enumerate(orders.split())]
    assert ("balanced" in read_answers(rows)[""].known) == expected


def test_a_right_option_that_is_printed_twice_is_noted():
    row = {"answer": "Ice", "options": ["Ice", "Fog", "Ice"], "picked": "Ice"}
    notes = score([{"question": n, **row, "options": row["options"][: n + 2]} for n in range(2)]).notes
    assert notes == ("the right option is printed twice, and a pick of either copy is right: 1",)


def test_clusters_are_the_units():
    rows = [line(f"q{number}", 0, "ab"[number % 3 > 1], passage=f"p{number // 4}") for number in range(80)]
    alone, shared = score(rows), score(rows, cluster="passage")
    assert shared["mcqa"].value == alone["mcqa"].value
    assert (alone["mcqa"].units, shared["mcqa"].units) == (0, 20)
    assert shared.size == "80 questions in 20 passages with 1 variant"
    few = score(rows[:40], cluster="passage")
    assert few.notes[-1].startswith("40 questions in 10 passages are few")
    assert alone["acc"].interval != shared["acc"].interval
    with user_error("every row has are only in the second"):
        compare(alone, shared)
    with user_error("row 1: column 'cluster': expected 'p0', the cluster of question 'q' before"):
        score([line("q", ordinal, "a", cluster=f"p{ordinal}") for ordinal in (0, 1)])
