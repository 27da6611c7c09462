from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.boxed import _LONGEST, BOXED


@pytest.mark.parametrize(
    ("response", "written"),
    [
        (r"\boxed{5}", "5"),
        (r"\fbox{5}", "5"),
        (r"\boxed 5", "5"),
        (r"\boxed5", "5"),
        (r"$\boxed 5$.", "5"),
        (r"\boxed  {5}", "5"),
        (r"\boxed{ 5 }", "5"),
        (r"So it is $\boxed{5}$.", "5"),
        (r"\[\boxed{5}\]", "5"),
        (r"**\boxed{5}**", "5"),
        ("`\\boxed{5}`", "5"),
        ("<b>\\boxed{5}</b>", "5"),
        ("```latex\n\\boxed{5}\n```", "5"),
        (r"\boxed{5}</s>", "5"),
        (r"\boxed{5}<|im_end|>", "5"),
        # Nested and escaped braces.
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed\frac{1}{2}", r"\frac{1}{2}"),
        (r"\boxed{\frac{\sqrt{3}}{2^{n_{1}}}}", r"\frac{\sqrt{3}}{2^{n_{1}}}"),
        (r"\boxed{{5}}", "{5}"),
        (r"\boxed{5}}", "5"),
        (r"\boxed{\{1,2\}}", r"\{1,2\}"),
        (r"\boxed{a\}b}", r"a\}b"),
        (r"\boxed{\left\{1\right.}", r"\left\{1\right."),
        (r"\boxed{5\\}", r"5\\"),
        (r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
        (r"\boxed{\text{Evelyn}}", r"\text{Evelyn}"),
        ("\\boxed{x\n+ y}", "x\n+ y"),
        (r"\boxed{" + "{" * 400 + "5" + "}" * 401, "{" * 400 + "5" + "}" * 400),
        # The last box counts.
        (r"$\boxed{1}$ and $\boxed{2}$", "2"),
        (r"\boxed{1} or \fbox{2}", "2"),
        (r"\fbox{1} or \boxed{2}", "2"),
        (r"\boxed{\boxed{3}}", "3"),
        (r"\fbox{$\boxed{7}$}", "7"),
        (r"\boxed{1} boxed{2} \boxedtext{3} \fboxes{4} \BOXED{5} \framebox{6}", "1"),
        (r"Write it as \boxed{answer}. It is \boxed{5}", "5"),
        (r"\\boxed{3}", "3"),
        # Reasoning.
        (r"<think>\boxed{1}</think>\boxed{2}", "2"),
        (r"\boxed{1}</think> \boxed{2}", "2"),
        (r"[THINK]\boxed{1}[/THINK]\boxed{2}", "2"),
        # The content is neither evaluated nor interpreted.
        (r"\boxed{__import__('os').mkdir('x')}", "__import__('os').mkdir('x')"),
        (r"\boxed{9**9**9**9}", "9**9**9**9"),
        ("\\boxed{\ud83d\x00}", "\ud83d\x00"),
        ("\\boxed{５}", "５"),
        ("\\boxed{ответ}", "ответ"),
        (r"\boxed{" + "1" * _LONGEST + "}", "1" * _LONGEST),
        (" " * 1_000_000 + r"\boxed{5}" + " x" * 1_000_000, "5"),
    ],
)
def test_boxes(response: str, written: str) -> None:
    answer = BOXED.strict(response, {})
    assert (answer.written, answer.reason, answer.picked) == (written, None, None)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", Reason.EMPTY),
        (" \n\t", Reason.EMPTY),
        (r"<think>\boxed{1}</think>", Reason.EMPTY),
        ("5", Reason.NO_BOX),
        ("The answer is $5$.", Reason.NO_BOX),
        ("boxed{5}", Reason.NO_BOX),
        (r"\boxedtext{5}", Reason.NO_BOX),
        (r"\BOXED{5}", Reason.NO_BOX),
        ("＼boxed{5}", Reason.NO_BOX),  # fullwidth
        ("\\b\u043exed{5}", Reason.NO_BOX),  # a Cyrillic o
        ("\x08oxed{5}", Reason.NO_BOX),
        ("__import__('os').mkdir('x')", Reason.NO_BOX),
        (r"\boxed{", Reason.UNCLOSED_BOX),
        (r"\boxed{5", Reason.UNCLOSED_BOX),
        (r"\boxed{\frac{1}{2}", Reason.UNCLOSED_BOX),
        (r"\boxed{5\}", Reason.UNCLOSED_BOX),
        (r"\boxed{1} \boxed{2", Reason.UNCLOSED_BOX),
        (r"\boxed{" * 10_000, Reason.UNCLOSED_BOX),
        (r"\boxed{" + "{" * 10_000, Reason.UNCLOSED_BOX),
        (r"\boxed{}", Reason.EMPTY_BOX),
        (r"\boxed{ }", Reason.EMPTY_BOX),
        (r"\boxed", Reason.NO_BOX),
        (r"\boxed as asked", Reason.NO_BOX),
        # The prompt's own box: "The final answer is: $\boxed{answer}$".
        (r"\boxed{answer}", Reason.PLACEHOLDER),
        (r"\boxed{\text{answer}}", Reason.PLACEHOLDER),
        (r"\boxed{[answer]}", Reason.PLACEHOLDER),
        (r"\boxed{...}", Reason.PLACEHOLDER),
        (r"\boxed{5}, as in \boxed{}", Reason.EMPTY_BOX),
        (r"\boxed{\boxed{}}", Reason.EMPTY_BOX),
        (r"\boxed{" + "1" * (_LONGEST + 1) + "}", Reason.TOO_LONG),
        (r"\boxed{" + "1" * 100_000 + "}", Reason.TOO_LONG),
        ("I'm sorry, but", Reason.REFUSED),
        (r"<think>\boxed{1}", Reason.CUT_OFF),
        (r"<|channel|>analysis<|message|>\boxed{1}", Reason.CUT_OFF),
    ],
)
def test_reason_why_there_is_no_answer(response: str, reason: Reason) -> None:
    answer = BOXED.strict(response, {})
    assert (answer.written, answer.reason) == (None, reason)


SOME_TEXT = st.one_of(
    st.text(alphabet=st.characters(), max_size=400),
    st.lists(
        st.sampled_from([r"\boxed", r"\fbox", *"{}\\$ \n5x", r"\{", r"\}", "<think>", "</think>", "\ud83d"]),
        max_size=30,
    ).map("".join),
)


@given(SOME_TEXT)
def test_any_text_is_accepted(response: str) -> None:
    answer = BOXED.strict(response, {})
    assert (answer.written is None) != (answer.reason is None)
    assert answer.written is None or 0 < len(answer.written) <= _LONGEST


# Texts with balanced braces, which are nested, and escaped ones, which need not be balanced.
BALANCED = st.recursive(
    st.lists(st.sampled_from([r"\{", r"\}", r"\\", *"5x+,^ "]), max_size=5).map("".join),
    lambda inner: st.tuples(inner, inner).map(lambda two: f"{two[0]}{{{two[1]}}}"),
    max_leaves=10,
).filter(str.strip)


@given(
    SOME_TEXT, BALANCED, st.sampled_from([r"\boxed{{{}}}", r"\fbox{{{}}}", r"$\boxed{{{}}}$.", "**\\boxed {{{}}}**\n"])
)
def test_a_planted_answer_is_read_back(before: str, content: str, box: str) -> None:
    # Without "<": markers of reasoning are tested above.
    assert BOXED.strict(before.replace("<", "") + "\n" + box.format(content), {}).written == content.strip()


def test_a_mention_of_the_command_is_not_a_box() -> None:
    assert BOXED.strict(r"$\boxed{5}$ I used \boxed as asked.", {}).written == "5"
    assert BOXED.strict(r"$\boxed{5}$. (The command is **\boxed**.)", {}).written == "5"


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (r"\boxed{", Reason.UNCLOSED_BOX),
        (r"\boxed", Reason.NO_BOX),
        (r"\boxed ", Reason.NO_BOX),
        (r"\boxed{\boxed{1}", "1"),
        (r"\fbox{1}", "1"),
        ("{", Reason.NO_BOX),
        ("\\", Reason.NO_BOX),
        (" ", Reason.EMPTY),
        ("</think>", Reason.EMPTY),
    ],
)
def test_ten_megabytes_are_read_in_linear_time(unit: str, said: Reason | str) -> None:
    # With a rule that takes quadratic time this would not end.
    answer = BOXED.strict(unit * (10_000_000 // len(unit)), {})
    assert (answer.written or answer.reason) == said


def test_a_box_of_ten_megabytes_is_too_long() -> None:
    assert BOXED.strict(r"\boxed{" + "{" * 5_000_000 + "}" * 5_000_001, {}).reason is Reason.TOO_LONG


@pytest.mark.parametrize(
    ("response", "written"),
    [
        (r"So $\boxed{5}$. The answer is 6.", "5"),
        ("The answer is 5.", "5"),
        (r"Therefore, the final answer is $\frac{1}{2}$. I hope it is correct.", r"\frac{1}{2}"),
        (r"Final Answer: The final answer is $3.5$.", "3.5"),
        (r"The answer is \[ 5 \]", "5"),
        ("**Answer:** $x=3$", "x=3"),
        ("so the answer is\n\n5", "5"),
        ("The answer is 5 because 2 + 3 = 5", "5"),
        ("The answer is therefore 5", "5"),
        ("The answer is 6. I hope the answer is correct.", "6"),
        (r"The answer is $\$5$.", r"\$5"),
        ("The answer is not 5.", None),
        ("The answer is incorrect.", None),
        ("To find the answer: divide 10 by 2.", None),
        ("If the answer is 5, then x = 2", None),
        (r"The answer is 5. So \boxed{", None),
        ("Five.", None),
    ],
)
def test_an_announced_answer_is_found_without_a_box(response: str, written: str | None) -> None:
    answer = BOXED.flexible(response, {})
    assert (answer.written, answer.reason is None) == (written, written is not None)
