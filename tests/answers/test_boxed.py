"""An answer in a box."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.boxed import _LONGEST, BOXED
from tests.support.responses import pairs

BOXES = {
    "5": (r"\boxed{5}", r"\fbox{5}", r"\boxed 5", r"\boxed5", r"\boxed{5}</s>"),
    r"\frac{1}{2}": (r"\boxed{\frac{1}{2}}",),
    "2": (r"\boxed{1} or \fbox{2}",),
    "3": (r"\boxed{\boxed{3}}",),
    "__import__('os').mkdir('x')": (r"\boxed{__import__('os').mkdir('x')}",),
    "1" * _LONGEST: (r"\boxed{" + "1" * _LONGEST + "}",),
}

INVALID = {
    Reason.NO_BOX: ("__import__('os').mkdir('x')",),
    Reason.UNCLOSED_BOX: (
        r"\boxed{",
        r"\boxed{5",
        r"\boxed{1} \boxed{2",
        r"\boxed{" * 10_000,
        r"\boxed{" + "{" * 10_000,
    ),
    Reason.EMPTY_BOX: (r"\boxed{}", r"\boxed{ }"),
    Reason.PLACEHOLDER: (r"\boxed{answer}", r"\boxed{\text{answer}}", r"\boxed{[answer]}", r"\boxed{...}"),
    Reason.TOO_LONG: (r"\boxed{" + "1" * (_LONGEST + 1) + "}", r"\boxed{" + "1" * 100_000 + "}"),
}

ANNOUNCED = {
    "5": (
        "The answer is 5.",
        r"The answer is \[ 5 \]",
        "so the answer is\n\n5",
        "The answer is 5 because 2 + 3 = 5",
        "The answer is therefore 5",
    ),
    "x=3": ("**Answer:** $x=3$",),
    "6": ("The answer is 6. I hope the answer is correct.",),
    r"\$5": (r"The answer is $\$5$.",),
    None: ("The answer is not 5.", "The answer is incorrect.", "If the answer is 5, then x = 2", "Five."),
}


@pytest.mark.parametrize(("response", "written"), pairs(BOXES))
def test_boxes(response: str, written: str) -> None:
    answer = BOXED.read(response, {}, "strict")
    assert (answer.written, answer.reason, answer.picked) == (written, None, None)


@pytest.mark.parametrize(("response", "reason"), pairs(INVALID))
def test_reason_why_there_is_no_answer(response: str, reason: Reason) -> None:
    answer = BOXED.read(response, {}, "strict")
    assert (answer.written, answer.reason) == (None, reason)


# Texts with balanced braces, which are nested, and escaped ones, which need not be balanced.
BALANCED = st.recursive(
    st.lists(st.sampled_from([r"\{", r"\}", r"\\", *"5x+,^ "]), max_size=5).map("".join),
    lambda inner: st.tuples(inner, inner).map(lambda two: f"{two[0]}{{{two[1]}}}"),
    max_leaves=10,
).filter(str.strip)


@given(
    st.text(max_size=100),
    BALANCED,
    st.sampled_from([r"\boxed{{{}}}", r"\fbox{{{}}}", r"$\boxed{{{}}}$.", "**\\boxed {{{}}}**\n"]),
)
def test_a_planted_answer_is_read_back(before: str, content: str, box: str) -> None:
    # Without "<": markers of reasoning are tested above.
    assert BOXED.read(before.replace("<", "") + "\n" + box.format(content), {}, "strict").written == content.strip()


@pytest.mark.parametrize(("response", "written"), pairs(ANNOUNCED))
def test_an_announced_answer_is_found_without_a_box(response: str, written: str | None) -> None:
    answer = BOXED.read(response, {}, "flexible")
    assert (answer.written, answer.reason is None) == (written, written is not None)
