from __future__ import annotations

import pytest

from lm_eval_cora.questions.question import refers_to_options


@pytest.mark.parametrize(
    "choice",
    [
        "All of the above",
        "all of the above.",
        "None of the above",
        "None of these",
        "All of these options",
        "Both of these",
        "Neither of the above",
        "Any of the above is acceptable",
        "All the above",
        "Both A and B",
        "A and C",
        "A, B",
        "(A), (B), and (C)",
        "A & B only",
        "Neither A nor B",
        "B and C are correct",
        "Same as option B",
        "All are correct",
        "Both",
        "neither.",
    ],
)
def test_references_are_found(choice: str) -> None:
    assert refers_to_options(["red", "blue", choice])


@pytest.mark.parametrize(
    "choice",
    [
        "Vitamins A and D",
        "Hepatitis A or B",
        "I and II only",
        "Y and Z",  # letters that are not printed with three options
        "A",
        "none",
        "All",
        "The sky above us",
        "One of the planets",
        "A and b-cells",
        "",
    ],
)
def test_ordinary_options_are_not_found(choice: str) -> None:
    assert not refers_to_options(["red", "blue", choice])
