"""The formats that ask for the letter of one option, first or in a final sentence."""

from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers.letter import BEST_ANSWER, LETTER
from lm_eval_cora.questions.question import LETTERS

PRINTED = [3, 0, 26, 1]  # A is option 3, B option 0, C is NOTA, D option 1


def read_letter(response, printed=PRINTED):
    return LETTER.read(response, {"printed": printed}, "strict")


def read_best_answer(response, printed=PRINTED):
    return BEST_ANSWER.read(response, {"printed": printed}, "strict")


WRAPPED = (
    *((read_letter, wrapped) for wrapped in ("({})", "{}.", "**{}**", "{}\nWhy: ...", "Answer: {}")),
    *(
        (read_best_answer, f"Because.\nThe best answer is {wrapped}")
        for wrapped in ("[{}].", ": **{}**.", ":\noption {}", r" $\boxed{{{}}}$", " <b>{}</b>", "\n\n{})")
    ),
)


@given(st.sampled_from(WRAPPED), st.integers(2, 26), st.data())
def test_a_planted_letter_is_read_back(planted, options, data):
    read, wrapped = planted
    identities = data.draw(st.permutations(range(options)))
    position = data.draw(st.integers(0, options - 1))
    assert read(wrapped.format(LETTERS[position]), identities).picked == identities[position]
