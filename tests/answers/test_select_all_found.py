"""The flexible reader finds selections that are not at the beginning of a response."""

from __future__ import annotations

import pytest

from lm_eval_cora.answers.select_all import SELECT_ALL

WEATHER = ["Ice", "Fog", "Dew", "Sun"]


@pytest.mark.parametrize(
    ("response", "selected"),
    [
        ("A and C", (0, 2)),
        ("Sure! The correct answers are A and C.", (0, 2)),
        ("Based on the info, options A and C are correct", (0, 2)),
        ("I would choose A and C", (0, 2)),
        ("After some thought:\n\n**Answer:** A, C", (0, 2)),
        ("The answers are A, B.\n\nOn reflection, the answers are A and C.", (0, 1)),
        ("Ice\nDew", (0, 2)),
        ("<think>A?</think>The answers are C and A.", (0, 2)),
        ("The incorrect options are B, D", None),
        ("Options to exclude: B, D", None),
        ("I would eliminate options B and D.", None),
        ("Do not choose B.", None),
        ("We must choose between options A and C.", None),
        ("All of the above", None),
        ("It depends.", None),
        ("", None),
    ],
)
def test_a_selection_is_found(response: str, selected: tuple[int, ...] | None) -> None:
    assert SELECT_ALL.flexible(response, {"printed": [0, 1, 2, 3], "choices": WEATHER}).selected == selected
