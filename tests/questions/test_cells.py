from __future__ import annotations

import json

import pytest

from lm_eval_cora.questions.cells import option_text, parse_cell, read_options
from lm_eval_cora.questions.question import UnusableQuestion

TEXTS = ["None", "N/A", "1", "Ice, or fog"]
LABELS = ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        (TEXTS, None),
        (tuple(TEXTS), None),
        (dict(zip(LABELS, TEXTS, strict=True)), LABELS),
        ({**dict(zip(LABELS, TEXTS, strict=True)), "E": None}, LABELS),
        ({"text": TEXTS, "label": LABELS}, LABELS),
        ({"label": LABELS, "text": TEXTS}, LABELS),
        ({"text": TEXTS}, None),
        ([{"key": key, "value": text} for key, text in zip(LABELS, TEXTS, strict=True)], LABELS),
        ([{"label": key, "text": text} for key, text in zip(LABELS, TEXTS, strict=True)], LABELS),
        ([{"text": text} for text in TEXTS], None),
    ],
)
@pytest.mark.parametrize("write", [lambda cell: cell, json.dumps, repr])
def test_shapes_of_options(cell: object, labels: list[str] | None, write: object) -> None:
    assert callable(write)
    found = read_options(write(cell))
    assert (list(found.texts), found.labels) == (TEXTS, labels)


def test_only_the_last_options_of_a_mapping_may_be_missing() -> None:
    assert read_options({"A": "Ice", "B": "Fog", "C": None, "D": None}).labels == ["A", "B"]
    assert read_options({"A": None, "B": "Ice", "C": "Fog"}).texts == [None, "Ice", "Fog"]


def test_a_separator() -> None:
    assert read_options("Ice | Fog|Dew ", "|").texts == ["Ice", "Fog", "Dew"]
    assert read_options(["Ice", "Fog"], "|").texts == ["Ice", "Fog"]


@pytest.mark.parametrize("cell", [None, "Ice, Fog", 3, "3", "", True])
def test_what_is_not_a_list(cell: object) -> None:
    with pytest.raises(UnusableQuestion, match=r"options that are not a list: .*separator.*; got "):
        read_options(cell)


@pytest.mark.parametrize(
    "cell",
    [
        {"text": ["Ice", "Fog"], "label": ["A"]},
        {"text": "Ice; Fog", "label": "A; B"},
        '{"A": "Ice", "A": "Hot", "B": "Fog"}',
        {"text": ["Ice", "Fog"], "label": "AB"},
        {"A": ["Ice"], "B": ["Fog"]},
        [{"key": "A"}],
        [{"key": "A", "value": "Ice"}, {"key": "B"}],
        [{"text": "Ice", "label": "A"}, {"text": "Fog"}],
    ],
)
def test_shapes_without_an_option_for_each_label(cell: object) -> None:
    with pytest.raises(UnusableQuestion, match="options"):
        read_options(cell)


def test_options_are_texts_and_numbers() -> None:
    assert [option_text(option) for option in ("nan", "null", 3, 2.5, -0.0)] == ["nan", "null", "3", "2.5", "-0.0"]


@pytest.mark.parametrize("option", [None, "", " \n", ["Ice"], True, {"a": "Ice"}, float("nan"), float("inf"), 10**400])
def test_what_is_not_an_option(option: object) -> None:
    with pytest.raises(UnusableQuestion, match=r"an empty option|an option that is not text"):
        option_text(option)


def test_cells_of_csv_files() -> None:
    assert parse_cell('["Ice"]') == parse_cell("['Ice']") == ["Ice"]
    assert parse_cell("Ice") == "Ice"
    assert parse_cell("[" * 100_000) == "[" * 100_000
