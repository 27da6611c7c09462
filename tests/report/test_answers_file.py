"""A file of answers got without the harness: scored as the harness would, or one clear error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_cora.report import ReportError
from lm_eval_cora.report.answers_file import AnswerScore, read_answers, score_answers
from lm_eval_cora.responses import Record
from tests.support import oracles, oracles_score
from tests.support.written import Written, as_harness, put, the_run

ORIGINAL_NEEDED = {"mcqa", "mcqa_plus_diff", "ci", "cora"}


def line(question: str, ordinal: int, picked: Any, answer: Any = "a", **more: Any) -> dict[str, Any]:
    kind = more.pop("kind", "shuffled" if ordinal else "original")
    return {"question_id": question, "kind": kind, "ordinal": ordinal, "picked": picked, "answer": answer, **more}


def scored(path: Path, lines: Sequence[Any]) -> dict[str, AnswerScore]:
    return score_answers(read_answers(put(path, lines)).table)


def values(scores: Mapping[str, AnswerScore]) -> dict[str, float]:
    return {name: score.estimate.value for name, score in scores.items() if not score.reason}


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_order", "cora_demo_prompts", "cora_demo_mc"])
def test_the_same_answers_have_the_numbers_of_the_harness(task: str, demo: dict[str, Written], tmp_path: Path) -> None:
    run = the_run(demo[task].folder)
    names = [f"“{number}” 選" for number in range(64)]
    lines = [
        {
            "question_id": record.question_id,
            "kind": "original" if record.original else record.kind,
            "ordinal": record.ordinal,
            "picked": None if record.picked is None else names[record.picked],
            "answer": names[record.answer],
            "options": [names[identity] for identity in record.printed],
            "category": record.category,
            "followed": record.followed,
            "reader": run.reader or "none",
        }
        for record in reversed(run.records)
    ]
    scores = scored(tmp_path / "answers.jsonl", lines)
    told = demo[task].printed
    # The original of other probes is of one of their kinds here; a position is adjusted only where sizes differ.
    of_kinds = set() if "order" not in task and "prompts" not in task else {"acc_min", "acc_max", "acc_mean"}
    both = {name for name in scores if f"{name},none" in told} - of_kinds
    assert both >= {"acc", "mcqa", "ci", "cora", "consistency_rate", "invalid"}
    if task == "cora_demo":
        assert both == {key.removesuffix(",none") for key in told if key.endswith(",none") and "stderr" not in key}
    for name in both:
        value, error = scores[name].estimate
        assert as_harness(value, "nan") == told[f"{name},none"], name
        assert as_harness(error, "N/A") == told[f"{name}_stderr,none"], name


def test_every_pair_is_comparable_without_options(tmp_path: Path) -> None:
    lines = [
        *(line("q1", ordinal, picked) for ordinal, picked in enumerate(["a", "a", "b", None])),
        *(line("q2", ordinal, picked, "é") for ordinal, picked in enumerate(["é", "é", "é", "é"])),
    ]
    found = values(scored(tmp_path / "answers.jsonl", lines))
    # q1: one of six pairs agrees; two invalid answers would not agree either. q2: all do.
    assert found["consistency_rate"] == pytest.approx((1 / 6 + 1) / 2)
    assert found["acc"] == found["mcqa_plus"] == pytest.approx(6 / 8)
    assert (found["mcqa"], found["bmca@1.0"], found["ci"], found["cora"]) == (1.0, 0.5, 0.5, 0.5)
    assert (found["mv"], found["bmca@0.5"], found["invalid"]) == (0.5, 1.0, 1 / 8)
    assert found["all_equal"] == 0.5
    assert found["sc"] == pytest.approx((2 / 4 + 1) / 2)
    assert found["mcqa_plus_diff"] == pytest.approx(-0.25)


def test_options_say_which_pairs_are_comparable(tmp_path: Path) -> None:
    """Of a, b and c the first two are printed everywhere, c in one variant only."""
    lines = [
        line("q1", 0, "c", options=["a", "b", "c"]),
        line("q1", 1, "a", options=["a", "b"]),
        line("q1", 2, "a", options=["b", "a"]),
        line("q1", 3, None, options=["a", "b"]),
    ]
    # c against a is no pair; a against a agrees; three pairs hold the invalid one: 1 of 4.
    assert values(scored(tmp_path / "with.jsonl", lines))["consistency_rate"] == pytest.approx(1 / 4)
    for one in lines:
        del one["options"]
    assert values(scored(tmp_path / "without.jsonl", lines))["consistency_rate"] == pytest.approx(1 / 6)


def test_without_an_original(tmp_path: Path) -> None:
    lines = [line("q1", ordinal, "a", kind="shuffled", options=["a", "b"]) for ordinal in range(3)]
    scores = scored(tmp_path / "answers.jsonl", [*lines, line("q2", 0, "b"), line("q2", 1, "a")])
    undefined = {name for name, score in scores.items() if score.reason}
    assert undefined >= ORIGINAL_NEEDED
    assert undefined & {"acc", "mcqa_plus", "mv", "bmca@1.0", "core", "consistency_rate", "invalid"} == set()
    assert "'original'" in scores["cora"].reason
    assert values(scores)["mcqa_plus"] == 0.75


def test_two_originals_are_none(tmp_path: Path) -> None:
    lines = [line("q1", 0, "a"), line("q1", 1, "a", kind="original")]
    assert "one variant" in scored(tmp_path / "answers.jsonl", lines)["mcqa"].reason


@pytest.mark.parametrize(
    "identity", ["None", "null", "", " ", "選択", "\u2028", "😀", 7, -1, 10**30, "x" * 10_000, "\x00"]
)
def test_identities_are_any_text(identity: Any, tmp_path: Path) -> None:
    for options in ({}, {"options": ["wrong", identity]}):
        lines = [line("q1", 0, identity, identity, **options), line("q1", 1, None, identity, **options)]
        lines.append(line("q1", 2, "wrong", identity, **options))
        found = values(scored(tmp_path / "answers.jsonl", lines))
        assert (found["acc"], found["invalid"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_a_number_is_its_text(tmp_path: Path) -> None:
    found = values(scored(tmp_path / "answers.jsonl", [line(7, 0, 7, "7"), line("7", 1, "7", 7, options=[7, "8"])]))
    assert (found["acc"], found["consistency_rate"]) == (1.0, 1.0)


@pytest.mark.parametrize("ordinals", [(0, 1, 2), (5, 70, 1000), (-3, 0, 3), (2, 1, 0), (10**30, 0, 1)])
def test_ordinals_may_have_gaps(ordinals: tuple[int, ...], tmp_path: Path) -> None:
    lines = [line("q1", n, "a", kind="original" if not place else "x") for place, n in enumerate(ordinals)]
    assert values(scored(tmp_path / "answers.jsonl", lines))["cora"] == 1.0


@pytest.mark.parametrize("count", [2, 64, 65, 200])
def test_many_identities(count: int, tmp_path: Path) -> None:
    texts = [f"option {number}" for number in range(count)]
    lines = [line("q1", place, text, texts[0], options=texts) for place, text in enumerate(texts)]
    if count > 64:
        with pytest.raises(ReportError, match=rf"line 1: question 'q1' has {count} different options, .* at most 64"):
            scored(tmp_path / "answers.jsonl", lines)
        for one in lines:
            del one["options"]
    found = values(scored(tmp_path / "answers.jsonl", lines))
    assert (found["acc"], found["consistency_rate"]) == (pytest.approx(1 / count), 0.0)


GOOD = line("q1", 0, "a")
BAD: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "is no JSON"),
    "words": ("hello", "is no JSON"),
    "deep": ("[" * 200_000, "is no JSON"),
    "long number": ("1" * 5_000, "is no JSON"),
    "list": ("[1]", r"is \[1\], expected an object"),
    "null": ("null", "is null, expected an object"),
    "text": ('"x"', "expected an object"),
    **{
        f"{name} missing": ({key: GOOD[key] for key in GOOD if key != name}, f"'{name}' is missing")
        for name in ("question_id", "kind", "ordinal", "picked", "answer")
    },
    "ordinal text": ({**GOOD, "ordinal": "1"}, "'ordinal' is '1', expected a whole number"),
    "ordinal yes": ({**GOOD, "ordinal": True}, "'ordinal' is True, expected a whole number"),
    "ordinal a fraction": ({**GOOD, "ordinal": 1.5}, "'ordinal' is 1.5, expected a whole number"),
    "ordinal NaN": ({**GOOD, "ordinal": nan}, "'ordinal' is nan, expected a whole number"),
    "ordinal null": ({**GOOD, "ordinal": None}, "'ordinal' is None, expected a whole number"),
    "picked a list": ({**GOOD, "picked": ["a"]}, r"'picked' is \['a'\], expected text"),
    "picked yes": ({**GOOD, "picked": True}, "'picked' is True, expected text"),
    "answer null": ({**GOOD, "answer": None}, "'answer' is None, expected text"),
    "question null": ({**GOOD, "question_id": None}, "'question_id' is None, expected text"),
    "kind a list": ({**GOOD, "kind": []}, r"'kind' is \[\], expected text"),
    "category a list": ({**GOOD, "category": [1]}, r"'category' is \[1\], expected text"),
    "options text": ({**GOOD, "options": "ab"}, "'options' is 'ab', expected a list"),
    "options an object": ({**GOOD, "options": {"a": 1}}, "expected a list"),
    "options with null": ({**GOOD, "options": ["a", None]}, "'options' is None, expected text"),
    "picked not printed": ({**GOOD, "options": ["b", "c"]}, r"'picked' is 'a', .* \['b', 'c'\]"),
    "picked from nothing": ({**GOOD, "options": []}, "'picked' is 'a'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_one_clear_error(name: str, tmp_path: Path) -> None:
    bad, message = BAD[name]
    path = put(tmp_path / "answers.jsonl", [line("q0", 0, "a"), "", bad, line("q2", 0, "a")])
    with pytest.raises(ReportError, match=message) as caught:
        read_answers(path)
    assert str(caught.value).startswith(f"{path}: line 3: ")
    assert "\n" not in str(caught.value)


def test_long_values_are_cut_in_errors(tmp_path: Path) -> None:
    long = "x" * 100_000
    for bad in (
        {**GOOD, "ordinal": long},
        {**GOOD, "options": long},
        {**GOOD, "picked": [long]},
        {**GOOD, "picked": long, "options": [f"{long}y"]},
        [long],
    ):
        with pytest.raises(ReportError) as caught:
            read_answers(put(tmp_path / "answers.jsonl", [bad]))
        assert len(str(caught.value)) < 2_000


def test_two_answers_to_one_variant(tmp_path: Path) -> None:
    path = put(tmp_path / "answers.jsonl", [line("q1", 0, "a"), line("q1", 1, "a"), line("q1", 0, "b")])
    with pytest.raises(ReportError, match=r"line 3: question 'q1' .* ordinal 0 .* line 1"):
        read_answers(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    for content in (b"", b"\n\n  \n", b"\xef\xbb\xbf"):
        path = tmp_path / "empty.jsonl"
        path.write_bytes(content)
        with pytest.raises(ReportError, match=r"empty\.jsonl: there are no answers; expected"):
            read_answers(path)
    with pytest.raises(ReportError, match=r"missing\.jsonl: cannot be read: No such file"):
        read_answers(tmp_path / "missing.jsonl")
    with pytest.raises(ReportError, match="cannot be read: Is a directory"):
        read_answers(tmp_path)
    with pytest.raises(ReportError, match="is no UTF-8 text"):
        read_answers(put(tmp_path / "latin.jsonl", [json.dumps(GOOD), b'{"question_id": "caf\xe9"}']))
    path.write_text(json.dumps(GOOD), encoding="utf-16")
    with pytest.raises(ReportError, match="is no UTF-8 text"):
        read_answers(path)


def test_a_file_from_windows(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n" + json.dumps(line("q1", 1, "b")).encode())
    assert values(score_answers(read_answers(path).table))["acc"] == 0.5


def test_a_single_answer(tmp_path: Path) -> None:
    scores = scored(tmp_path / "answers.jsonl", [GOOD])
    assert values(scores)["cora"] == 1.0
    assert "comparable" in scores["consistency_rate"].reason
    assert "several probes" in scores["cr_all"].reason


# ---- any small file

IDENTITIES = "abcd"


@st.composite
def questions(draw: st.DrawFn, printed: bool) -> list[list[Record]]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        count = draw(st.integers(1, 5))
        records = []
        for ordinal in range(count):
            options = draw(st.permutations(range(4)))[: draw(st.integers(1, 4))]
            picked = draw(st.none() | st.sampled_from(options))
            kind = draw(st.sampled_from(["x", "y"])) if ordinal else "original"
            category = draw(st.sampled_from(["", "c"])) if not ordinal else records[0].category
            answer = draw(st.integers(0, 3))
            common = (f"q{number}", count, ordinal, kind)
            if printed:
                records.append(
                    Record(*common, tuple(options), answer, picked=picked, category=category, original=not ordinal)
                )
                continue
            written = None if picked is None else IDENTITIES[picked]
            same = picked is not None and picked == answer
            more = {"ask": "boxed", "written": written, "matches": same, "original": not ordinal}
            records.append(Record(*common, (), answer, category=category, **more))
        found.append(records)
    return found


def as_lines(records: Sequence[Record]) -> list[dict[str, Any]]:
    return [
        {
            "question_id": record.question_id,
            "kind": record.kind,
            "ordinal": record.ordinal,
            "picked": record.written if record.picked is None else IDENTITIES[record.picked],
            "answer": IDENTITIES[record.answer],
            **({"options": [IDENTITIES[identity] for identity in record.printed]} if record.printed else {}),
            **({"category": record.category} if record.category else {}),
        }
        for record in records
    ]


@given(st.booleans().flatmap(questions), st.randoms())
@settings(max_examples=150, deadline=None)
def test_any_file(tmp_path_factory: pytest.TempPathFactory, asked: list[list[Record]], dice: Any) -> None:
    lines = [one for records in asked for one in as_lines(records)]
    dice.shuffle(lines)
    scores = scored(tmp_path_factory.getbasetemp() / "any.jsonl", lines)
    expected = oracles.all_metrics(asked)
    expected |= {"mcqa_plus_diff": oracles.mcqa_plus_diff(asked), "all_equal": oracles_score.all_equal(asked)}
    del expected["ties"]
    for name, value in expected.items():
        found = scores[name].estimate.value
        assert (nan if value is None else value) == pytest.approx(found, nan_ok=True), name
        assert (value is None) == bool(scores[name].reason), name
