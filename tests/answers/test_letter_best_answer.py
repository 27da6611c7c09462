from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.letter import BEST_ANSWER
from lm_eval_cora.questions.question import LETTERS


def read_best_answer(response: str, printed: Sequence[int]) -> Answer:
    return BEST_ANSWER.strict(response, {"printed": printed})


PRINTED = [3, 0, 26, 1]  # A is option 3, B option 0, C is NOTA, D option 1


@pytest.mark.parametrize(
    ("response", "picked"),
    [
        ("The best answer is B", 0),
        ("The best answer is A", 3),
        ("The best answer is C", 26),
        ("The best answer is D", 1),
        # Case, colon, spaces, line breaks.
        ("the best answer is b", 0),
        ("THE BEST ANSWER IS B", 0),
        ("best answer is B", 0),
        ("The best answer is: B", 0),
        ("The best answer is:B", 0),
        ("The best answer is : B", 0),
        ("The best answer is：B", 0),
        ("The best answer is\nB", 0),
        ("The best answer is:\n\nB\n", 0),
        ("The best answer is\r\nB", 0),
        ("The best\nanswer is\tB", 0),
        ("The  best  answer  is  B", 0),
        ("The best\u00a0answer\u00a0is\u00a0B", 0),
        ("The best answer is\u200bB", 0),
        # Brackets, quotes, punctuation.
        ("The best answer is B.", 0),
        ("The best answer is B, because", 0),
        ("The best answer is B; A is wrong", 0),
        ("The best answer is B: Fog", 0),
        ("The best answer is B) Fog", 0),
        ("The best answer is B - Fog", 0),
        ("The best answer is B. Fog", 0),
        ("The best answer is B because", 0),
        ("The best answer is A because", 3),
        ("The best answer is (B)", 0),
        ("The best answer is (A", 3),
        ("The best answer is [B].", 0),
        ("The best answer is {B}", 0),
        ("The best answer is <B>", 0),
        ("The best answer is 'B'", 0),
        ('The best answer is "B".', 0),
        ("The best answer is “B”", 0),
        ("The best answer is B/C", 0),
        ("The best answer is a.", 3),
        ("The best answer is a", 3),
        ("The best answer is a) fog", 3),
        # "option".
        ("The best answer is option B", 0),
        ("The best answer is Option (B)", 0),
        ("The best answer is: option: B", 0),
        ("The best answer is choice B", 0),
        ("The best answer is letter B", 0),
        ("The best answer is option a", 3),
        # Markdown, LaTeX, HTML.
        ("The best answer is **B**", 0),
        ("**The best answer is B**", 0),
        ("The best answer is: **(B)**.", 0),
        ("The best answer is **Option B**", 0),
        ("The best answer is:\n\n### B", 0),
        ("The best answer is\n- B", 0),
        ("The best answer is __B__", 0),
        ("The best answer is *B*", 0),
        ("The best answer is `B`", 0),
        ("The best answer is $B$", 0),
        (r"The best answer is \(B\)", 0),
        (r"The best answer is $\boxed{B}$", 0),
        (r"The best answer is \boxed{(B)}", 0),
        (r"The best answer is $\boxed{\text{B}}$.", 0),
        (r"The best answer is \fbox{B}", 0),
        (r"The best answer is \textbf{(B)}", 0),
        (r"The best answer is \mathrm{B}", 0),
        ("The best answer is <b>B</b>", 0),
        ("The best answer is <strong>B</strong>", 0),
        ("<p>The best answer is<br/>B</p>", 0),
        # The last one counts.
        ("The best answer is A. No, the best answer is B.", 0),
        ("The second best answer is A. The best answer is B", 0),
        ('Write "The best answer is [the_answer_letter]". The best answer is B', 0),
        ("The best answer is B" * 1000, 0),
        # Text after the answer.
        ("The best answer is B</s>", 0),
        ("The best answer is B<|im_end|>", 0),
        ("The best answer is B\x00", 0),
        ("The best answer is B\n\nQuestion: What is A?", 0),
        # Reasoning.
        ("<think>the best answer is A</think>The best answer is B", 0),
        ("the best answer is A</think>\nThe best answer is B", 0),
        ("[THINK]the best answer is A[/THINK]The best answer is B", 0),
        ("<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>The best answer is B", 0),
        # A long s (ſ) matches s in the announcement.
        ("The beſt anſwer iſ B", 0),
        (" " * 1_000_000 + "The best answer is B" + " x" * 1_000_000, 0),
    ],
)
def test_letters(response: str, picked: int) -> None:
    answer = read_best_answer(response, PRINTED)
    assert (answer.picked, answer.reason) == (picked, None)
    assert answer.position is not None
    assert PRINTED[answer.position] == picked


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", Reason.EMPTY),
        (" \n\t ", Reason.EMPTY),
        ("\u3000", Reason.EMPTY),
        ("<think>The best answer is B</think>\n", Reason.EMPTY),
        # No announcement.
        ("B", Reason.NO_BEST_ANSWER),
        ("Answer: B", Reason.NO_BEST_ANSWER),
        ("The answer is B", Reason.NO_BEST_ANSWER),
        ("The best option is B", Reason.NO_BEST_ANSWER),
        ("The best answer", Reason.NO_BEST_ANSWER),
        ("The best answers are B", Reason.NO_BEST_ANSWER),
        ("The best answer was B", Reason.NO_BEST_ANSWER),
        ("The bestanswer is B", Reason.NO_BEST_ANSWER),
        ("The bеst answer is B", Reason.NO_BEST_ANSWER),  # a Cyrillic e
        ("Ｔｈｅ ｂｅｓｔ ａｎｓｗｅｒ ｉｓ Ｂ", Reason.NO_BEST_ANSWER),
        ("最佳答案是 B", Reason.NO_BEST_ANSWER),
        # Cut off, or other text after the announcement.
        ("The best answer is", Reason.NO_LETTER),
        ("The best answer is: ", Reason.NO_LETTER),
        ("The best answer is **", Reason.NO_LETTER),
        ("The best answer is option", Reason.NO_LETTER),
        ("The best answer is A. So the best answer is", Reason.NO_LETTER),
        ("The best answer is [the_answer_letter]", Reason.NO_LETTER),
        ("The best answer is [the_answer_letter (one of A, B, C, D)].", Reason.NO_LETTER),
        ("The best answer is neither", Reason.NO_LETTER),
        ("The best answer is not B", Reason.NO_LETTER),
        ("The best answer is a balanced diet", Reason.NO_LETTER),
        ("The best answer is an option", Reason.NO_LETTER),
        ("The best answer is i think", Reason.NO_LETTER),
        ("The best answer is BC", Reason.NO_LETTER),
        ("The best answer is B12", Reason.NO_LETTER),
        ("The best answer is B's", Reason.NO_LETTER),
        ("The best answer is B’s", Reason.NO_LETTER),
        ("The best answer is A-type", Reason.NO_LETTER),
        ("The best answer is 2", Reason.NO_LETTER),
        ("The best answer is" + "\n" * 500 + "B", Reason.NO_LETTER),
        # Letters of other scripts, and letters that case folding turns into Latin ones.
        ("The best answer is \u212a", Reason.NO_LETTER),  # Kelvin sign
        ("The best answer is ſ", Reason.NO_LETTER),  # long s
        ("The best answer is ı", Reason.NO_LETTER),  # dotless i
        ("The best answer is А", Reason.NO_LETTER),  # Cyrillic A
        ("The best answer is Β", Reason.NO_LETTER),  # Greek Beta
        ("The best answer is Ｂ", Reason.NO_LETTER),  # fullwidth
        ("The best answer is 𝐁", Reason.NO_LETTER),  # mathematical bold
        ("The best answer is Ⓑ", Reason.NO_LETTER),
        ("The best answer is 选B", Reason.NO_LETTER),
        ("The best answer is B选", Reason.NO_LETTER),
        ("The best answer is é", Reason.NO_LETTER),
        ("The best answer is \ud83d", Reason.NO_LETTER),
        ("The best answer is __import__('os').system('true')", Reason.NO_LETTER),
        ("The best answer is {{ 7 * 7 }}", Reason.NO_LETTER),
        # Letters that are not printed.
        ("The best answer is E", Reason.OUT_OF_RANGE),
        ("The best answer is (z)", Reason.OUT_OF_RANGE),
        ("The best answer is K", Reason.OUT_OF_RANGE),
        ("The best answer is B. Or the best answer is E", Reason.OUT_OF_RANGE),
        # Refused, or cut off while reasoning.
        ("I'm sorry, but", Reason.REFUSED),
        ("I cannot answer", Reason.REFUSED),
        ("<think>The best answer is B", Reason.CUT_OFF),
        ("<|channel|>analysis<|message|>The best answer is B", Reason.CUT_OFF),
    ],
)
def test_reason_why_there_is_no_letter(response: str, reason: Reason) -> None:
    answer = read_best_answer(response, PRINTED)
    assert (answer.picked, answer.position, answer.reason) == (None, None, reason)


def test_the_last_letter_printed_is_in_range_and_the_next_is_not() -> None:
    assert read_best_answer("The best answer is D", PRINTED).picked == 1
    assert read_best_answer("The best answer is D", PRINTED[:3]).reason is Reason.OUT_OF_RANGE
    assert read_best_answer("The best answer is Z", range(26)).picked == 25


SOME_TEXT = st.one_of(
    st.text(alphabet=st.characters(), max_size=400),
    st.lists(
        st.sampled_from(
            [
                *("best answer is", "Best Answer Is ", "best ", "option ", "\\boxed{", "<b>", "<think>", "</think>"),
                *"ABZabiſ\u212aА.:([*$\n \\{}'’-<>\ud83d",
            ]
        ),
        max_size=20,
    ).map("".join),
)


@given(SOME_TEXT, st.integers(2, 26))
def test_any_text_is_accepted(response: str, options: int) -> None:
    answer = read_best_answer(response, range(options))
    assert (answer.picked is None) != (answer.reason is None)
    assert answer.picked == answer.position
    assert answer.picked is None or 0 <= answer.picked < options


@given(
    SOME_TEXT,
    st.integers(2, 26),
    st.sampled_from(["{}", "({})", "[{}].", ": **{}**.", ":\noption {}", r" $\boxed{{{}}}$", " <b>{}</b>", "\n\n{})"]),
    st.data(),
)
def test_a_planted_letter_is_read_back(before: str, options: int, wrapped: str, data: st.DataObject) -> None:
    identities = data.draw(st.permutations(range(options)))
    position = data.draw(st.integers(0, options - 1))
    # Without "<": markers of reasoning are tested above.
    response = before.replace("<", "") + "\nThe best answer is " + wrapped.format(LETTERS[position])
    assert read_best_answer(response, identities).picked == identities[position]


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ("*", Reason.NO_BEST_ANSWER),
        ("best", Reason.NO_BEST_ANSWER),
        ("best answer ", Reason.NO_BEST_ANSWER),
        ("best" + " " * 1_000, Reason.NO_BEST_ANSWER),
        ("best answer is", Reason.NO_LETTER),
        ("best answer is [", Reason.NO_LETTER),
        (r"best answer is \boxed{", Reason.NO_LETTER),
        ("best answer is <", Reason.NO_LETTER),
        ("\n", Reason.EMPTY),
        ("</think>", Reason.EMPTY),
    ],
)
def test_ten_megabytes_are_read_in_linear_time(unit: str, reason: Reason) -> None:
    # With a rule that takes quadratic time this would not end.
    assert read_best_answer(unit * (10_000_000 // len(unit)), PRINTED).reason is reason


def test_ten_megabytes_within_and_after_the_announcement_are_read() -> None:
    assert read_best_answer("best" + " " * 5_000_000 + "answer is B" + "?" * 5_000_000, PRINTED).picked == 0


WEATHER = ["Ice", "Fog", "Dew"]


@pytest.mark.parametrize(
    ("response", "position"),
    [
        ("The best answer is B.", 1),
        ("Steam is hot, so the best answer is **fog**.", 1),
        ("Ice is cold. Therefore, the answer is B.", 1),
        ("A. Ice is cold. B. Fog is wet. So the best answer is [C].", 2),
        ("The best answer is A. No, wait. The best answer is C. Dew", 2),
        ("B", 1),
        ("The best answer is B. Ice", None),
        ("The best answer is A or B.", None),
        ("The best answer is I don't know", None),
        ("I am not sure.", None),
    ],
)
def test_the_best_answer_is_found(response: str, position: int | None) -> None:
    assert BEST_ANSWER.flexible(response, {"printed": [0, 1, 2], "choices": WEATHER}).position == position


def test_the_pronoun_i_is_not_option_i() -> None:
    nine = [f"weather {number}" for number in range(9)]
    for response in ("The best answer is I don't know", "the best answer is I can't tell"):
        assert read_best_answer(response, range(9)).position is None
        assert BEST_ANSWER.flexible(response, {"printed": range(9), "choices": nine}).position is None
    assert read_best_answer("The best answer is I.", range(9)).position == 8
