"""Scores from tables in memory, from files of every kind, and from responses to prompts."""

import random
import re
from functools import partial

import datasets
import pandas as pd
import pytest

import lm_eval_cora as cora
from lm_eval_cora.errors import UserError
from tests.support.messages import tells, user_error
from tests.support.names import OF_CONFIDENCE, OF_REPEATS

ROWS = [
    {"id": "q1", "variant": "original", "ok": True, "is_original": True, "picked": "Ice"},
    {"id": "q1", "variant": "shuffled", "ok": True, "is_original": False, "picked": "Ice"},
    {"id": "q2", "variant": "original", "ok": True, "is_original": True, "picked": "Fog"},
    {"id": "q2", "variant": "shuffled", "ok": False, "is_original": False, "picked": None},
]
NAMES = {"question": "id", "correct": "ok", "original": "is_original"}
FRAME = pd.DataFrame(ROWS)

SOURCES = {
    "list of dicts": ROWS,
    "DataFrame": FRAME,
    "DataFrame with an index": pd.DataFrame(ROWS, index=[7, 7, 8, 8]),
    "DataFrame of pandas' own types": FRAME.convert_dtypes(),
    "categorical": FRAME.astype({"variant": "category", "id": "category"}),
    "in another order": FRAME.sample(frac=1, random_state=1),
    "Dataset": datasets.Dataset.from_list(ROWS),
}
"""Files have the same formats as in tests/runs/test_grouping_answers.py."""


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_table_has_the_same_scores(kind):
    scores = cora.score(SOURCES[kind], **NAMES)
    # Both originals are right, one question is right in both variants: cora is 1 * (1 - (1 - 1/2)).
    assert (scores["mcqa"].value, scores["bmca@1.0"].value, scores["cora"].value) == (1.0, 0.5, 0.5)
    assert scores["invalid"].value == 0.25
    # The pair of q1 agrees. The pair of q2 has an invalid answer, so it disagrees.
    assert scores["consistency_rate"].value == 0.5
    assert (scores.questions, scores.answers) == (2, 4)


def test_right_and_wrong_in_every_spelling_and_neither():
    for yes, no in [(True, False), (1, 0), (1.0, 0.0), ("1", "0"), ("true", "FALSE"), ("yes", "No")]:
        rows = [{"question": 1, "variant": n, "correct": yes if n else no} for n in range(4)]
        assert cora.score(rows)["acc"].value == cora.score(pd.DataFrame(rows))["acc"].value == 0.75
    for value in ("perhaps", 2, -1, "", 0.5, [True]):
        rows = [{"question": 1, "variant": n, "correct": value if n else True} for n in range(2)]
        with user_error("row 1: column 'correct': expected True or False"):
            cora.score(rows)


def test_skipped_variants_leave_out_what_they_could_change():
    rows = [{"question": q, "variant": n, "correct": n == 0, "original": n == 0} for q in "ab" for n in range(3)]
    rows[2]["correct"] = None  # after a wrong answer: a is settled
    scores = cora.score(rows)
    assert (scores["cora"].value, scores["bmca@1.0"].value, scores.answers) == (0.0, 0.0, 5)
    assert "skipped" in scores.undefined["acc"]
    assert any("1 of 6 variants were skipped" in note for note in scores.notes)
    for row in rows[:3]:
        row["correct"] = None
    scores = cora.score(rows)
    assert scores.questions == 1
    assert any(tells(note, "left out 1 of 2 questions") for note in scores.notes)


PICK = {"question": "q", "picked": "a", "answer": "a", "correct": True}
RIGHT = {"question": "q", "correct": True}


@pytest.mark.parametrize(
    ("common", "change", "message"),
    [
        (PICK, {"correct": False}, "column 'correct': expected True, because of the columns 'picked' and 'answer'"),
        (PICK, {"correct": None}, "column 'correct': expected True or False"),
        (PICK, {"answer": None}, "column 'answer': expected a text"),
        (PICK, {"picked": "b", "correct": True}, "column 'correct': expected False"),
        (PICK, {"picked": None, "correct": True}, "column 'correct': expected False"),
        ({**RIGHT, "picked": "a"}, {"picked": None}, "column 'picked': expected a pick"),
        ({**RIGHT, "original": True}, {}, r"column 'original': .*'q'.*row 0"),
        ({**RIGHT, "category": "c0"}, {"category": "c1"}, "column 'category': expected 'c0'"),
        (RIGHT, {"variant": 0}, "question 'q' has a second row with the variant '0'.*row 0"),
    ],
)
def test_rows_that_contradict_each_other(common, change, message):
    with pytest.raises(UserError, match=f"row 1: {message}"):
        cora.score([{**common, "variant": 0}, {**common, "variant": 1, **change}])


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (ROWS, {}, "list: expected the columns 'question'.*'correct'.* yours: question=id, correct=ok"),
        (ROWS, {"original": "is_orignal"}, "original='is_orignal': there is no such .* Did you mean 'is_original'"),
        (ROWS, {"question": "id", "original": "ids"}, r"original='ids': there is no such column\. The columns"),
        ([{"question": 1, "variant": 1, "picked": "a"}], {}, "Name yours: correct=COLUMN"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "got 'a' repeated"),
        (pd.DataFrame({"question": [], "variant": [], "correct": []}), {}, "expected at least one answer"),
        (7, {}, "expected the path of a file, a pandas DataFrame.* got int"),
        ("missing.csv", {}, "there is no file missing.csv"),
        ("answers.xlsx", {}, r"'\.xlsx'"),
        ([{"question": 1, "variant": 1, "correct": 1}, {"question": 1, "variant": 2}], {}, "row 1: .*'correct'"),
    ],
)
def test_bad_input_is_one_clear_error(data, names, message):
    with pytest.raises(UserError, match=message) as caught:
        cora.score(data, **names)
    assert not str(caught.value).startswith("data_files")


def test_whole_numbers_are_equal_whatever_their_type(tmp_path):
    """pandas turns whole numbers into floats where a value is missing, and writes them so."""
    picks = [3, 4, 3, None]  # in q0 option 3 is right, 4 is wrong; in q1 3 is right, then there is an invalid answer
    rows = [{"question": n // 2, "variant": n % 2, "picked": pick, "answer": 3} for n, pick in enumerate(picks)]
    frame = pd.DataFrame(rows)
    assert (frame.picked.dtype, frame.answer.dtype) == (float, int)
    frame.to_csv(tmp_path / "answers.csv", index=False)
    assert "3.0" in (tmp_path / "answers.csv").read_text()
    for source in (frame, tmp_path / "answers.csv"):
        scores = cora.score(source)
        assert (scores["acc"].value, scores["invalid"].value) == (0.5, 0.25)
    correct = pd.DataFrame({"question": 1, "variant": range(3), "correct": [1.0, 0.0, None]})
    correct.to_csv(tmp_path / "correct.csv", index=False)
    assert cora.score(tmp_path / "correct.csv").answers == 2
    texts = frame.assign(picked=["1.0", "1", "x", "1"], answer=["1", "1", "x", "1"])
    texts.to_csv(tmp_path / "texts.csv", index=False)  # not whole numbers only: 1.0 and 1 are texts
    for source in (texts, tmp_path / "texts.csv"):
        scores = cora.score(source)
        assert scores["acc"].value == 0.75
        assert tells(scores.notes[0], "1 pick counted as wrong", "picked '1.0', answer '1'")
    assert cora.score(texts.drop(2))["acc"].value == 1.0


@pytest.mark.parametrize("text", ["NA", "None", "nan", "N/A"])
def test_a_text_that_may_be_a_missing_value(text, tmp_path):
    rows = [{"question": 1, "variant": n, "picked": text if n else "a", "answer": "a"} for n in range(2)]
    pd.DataFrame(rows).to_csv(tmp_path / "answers.csv")
    for source in (rows, tmp_path / "answers.csv"):
        with user_error("column 'picked': expected an option, or a missing value if the answer is"):
            cora.score(source)
    for column, value in (("answer", text), ("printed", ["a", text])):
        assert cora.score([{**row, column: value} for row in rows])["acc"].value == 0.5


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"picked": "Ice "}, "1 pick counted as wrong although only the form differs .* .picked 'Ice ', answer 'Ice'"),
        ({"picked": "Cafe\u0301", "answer": "CAF\u00c9"}, "1 pick counted as wrong"),
        ({"picked": "06", "answer": "6.0"}, "picked '06', answer '6.0'"),
        ({"picked": "Ice ", "printed": ["Ice ", "Ice"]}, ""),  # two options
        ({"picked": "Fog"}, ""),
        ({"question": "q1 "}, r"question: \['q1', 'q1 '\] differ in form only"),
        ({"variant": "Shuffled"}, r"variant: \['shuffled', 'Shuffled'\]"),
    ],
)
def test_texts_that_differ_in_form_only_are_noted(changes, note):
    rows = [
        {"question": f"q{n // 2}", "variant": ROWS[n]["variant"], "picked": "Ice", "answer": "Ice"} for n in range(4)
    ]
    found = " ".join(cora.score([*rows[:3], {**rows[3], **changes}]).notes)
    assert re.search(note or "^$", found)
    assert tells(cora.score([{**row, "answer": "A"} for row in rows]).notes[0], "no pick equals any right option")


def test_nothing_but_skipped_variants_and_two_originals_by_their_kind():
    scores = cora.score([{"question": 1, "variant": 0, "correct": None, "original": True}])
    assert scores.questions == 0
    assert "no question is complete" in scores.undefined["cora"]
    assert "left out 1 of 1 question" in repr(scores)
    rows = [{"question": 1, "variant": n, "correct": True, "kind": "original"} for n in range(2)]
    assert "question '1' has 2" in cora.score(rows).undefined["cora"]


# ---- read
QUESTIONS = [
    {"id": "ice", "question": "What is frozen water?", "choices": ["Ice", "Fog", "Steam"], "answer": "Ice"},
    {"id": "dew", "question": "What lies on grass in the morning?", "choices": ["Sand", "Dew"], "answer": "Dew"},
]


def right(variant):
    return f"The answer is ({'ABCDE'[variant.printed.index(variant.answer)]})."


def test_read_scores_the_responses_to_prompts():
    variants = cora.expand(QUESTIONS)
    scores = cora.read(variants, map(right, variants))
    assert (scores.questions, scores["cora"].value, scores["consistency_rate"].value) == (2, 1.0, 1.0)
    assert scores["followed"].value == 0.0  # the format asks for the letter first
    assert cora.read(variants, map(right, variants), reader="strict")["invalid"].value == 1.0


def test_read_without_all_responses():
    variants = cora.expand(QUESTIONS)
    scores = cora.read(variants[:-1], ["A"] * (len(variants) - 1))
    assert scores.questions == 1
    assert tells(scores.notes[0], "left out 1 of 2 questions")
    responses = [right(one) if one.original else None if one.ordinal > 1 else "none of them" for one in variants]
    scores = cora.read(variants, responses)
    assert (scores["mcqa"].value, scores["cora"].value) == (1.0, 0.0)
    assert "skipped" in scores.undefined["acc"]


@pytest.mark.parametrize("call", [partial(cora.read, [], []), partial(cora.read_runs, "out")])
def test_an_unknown_reader(call):
    with user_error("expected 'flexible' or 'strict', got"):
        call(reader="Strict")


@pytest.mark.parametrize(
    ("variants", "responses", "message"),
    [
        (["a prompt"], ["A"], "variant 0: expected a Variant .* got str"),
        ([], None, "expected a list of texts, got NoneType"),
        ([], "", "expected a list of texts, got str"),
        (cora.expand(QUESTIONS), ["A"], "got 1 for 22 variants"),
        (cora.expand(QUESTIONS), ["A", {"text": "A"}, *["A"] * 20], "response 1: expected text.* got dict"),
        (cora.expand(QUESTIONS) * 2, ["A"] * 44, "expected each variant once"),
        ([*cora.expand(QUESTIONS), *cora.expand(QUESTIONS, "plus")], ["A"] * 43, "expected each variant once"),
    ],
)
def test_arguments_of_read_of_a_wrong_type(variants, responses, message):
    with pytest.raises(UserError, match=message):
        cora.read(variants, responses)


def test_runs_need_a_path():
    for paths in ((), ([],), ([["out"]],), (5,)):
        with user_error("read_runs: expected folders, files or results"):
            cora.read_runs(*paths)  # type: ignore[arg-type]


@pytest.mark.parametrize("probe", ["divergent", "plus", "revas", "prompts", "order"])
def test_repeats_change_no_metric_but_their_own(probe):
    rows = [
        {"question": f"{number}?", "choices": list("wxyz")[: 3 + number % 2], "answer": number % 3}
        for number in range(12)
    ]
    found = []
    for options in ({}, {"repeats": 1}):
        variants = cora.expand(rows, probe, **options)
        dice = random.Random(1)
        letters = [dice.choice("ABC") for variant in variants if variant.kind != "repeat"]
        found.append(cora.read(variants, [letters.pop() if each.kind != "repeat" else "A" for each in variants]))
    without, repeated = found
    assert repeated.keys() - without.keys() <= OF_REPEATS
    same = without.keys() - OF_CONFIDENCE  # repeats decide how confident an answer is
    assert {name: repr(repeated[name]) for name in same} == {name: repr(without[name]) for name in same}
