"""An answer in a box."""

from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers.boxed import BOXED

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
def test_a_planted_answer_is_read_back(before, content, box):
    # Without "<": markers of reasoning are tested above.
    assert BOXED.read(before.replace("<", "") + "\n" + box.format(content), {}, "strict").written == content.strip()
