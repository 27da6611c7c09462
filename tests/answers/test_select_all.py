from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.select_all import SELECT_ALL
from lm_eval_cora.questions.question import LETTERS


def read_selection(response: str, printed: Sequence[int], choices: Sequence[str]) -> Answer:
    return SELECT_ALL.strict(response, {"printed": printed, "choices": choices})


CHOICES = ("Steam", "Fog", "Dew", "Ice", "Hail")
PRINTED = [3, 0, 26, 1, 2]  # A is option 3, B option 0, C is NOTA, D option 1, E option 2


def letters_of(selected: tuple[int, ...] | None) -> str | None:
    return None if selected is None else "".join(LETTERS[PRINTED.index(identity)] for identity in selected)


@pytest.mark.parametrize(
    ("response", "letters"),
    [
        # One letter, alone or before the text of its option.
        ("B", "B"),
        (" B", "B"),
        ("\n\nB\nbecause", "B"),
        ("(B)", "B"),
        ("[B]", "B"),
        ("**B**", "B"),
        ("'B'", "B"),
        ("B.", "B"),
        ("B)", "B"),
        ("B:", "B"),
        ("b", "B"),
        ("b)", "B"),
        ("A", "A"),
        ("a", "A"),
        ("A\npatients with", "A"),
        ("B. Fog", "B"),
        ("B) Fog", "B"),
        ("(B) Fog", "B"),
        ("B: Fog", "B"),
        ("B - Fog", "B"),
        ("B – Fog", "B"),
        ("**B. Fog**", "B"),
        ("**B.** Fog", "B"),
        ("**B**: Fog", "B"),
        ("b) fog", "B"),
        ("A. patient with", "A"),
        ("A. All of the above", "A"),
        ("E. None of the above", "E"),
        # Several on one line.
        ("A, C", "AC"),
        ("A,C", "AC"),
        ("A, C.", "AC"),
        ("A, C,", "AC"),
        ("C, A", "AC"),
        ("A, A, C", "AC"),
        ("A and C", "AC"),
        ("A AND C", "AC"),
        ("C and A", "AC"),
        ("A & C", "AC"),
        ("A/C", "AC"),
        ("A + C", "AC"),
        ("A|C", "AC"),
        ("A; C", "AC"),
        ("A C", "AC"),
        ("A\tC", "AC"),
        ("AC", "AC"),
        ("ACD", "ACD"),
        ("**ACD**", "ACD"),
        ("(AC)", "AC"),
        ("ABCDE", "ABCDE"),
        ("a, c", "AC"),
        ("a and c", "AC"),
        ("a) c)", "AC"),
        ("A, c", "AC"),
        ("A, B, and C", "ABC"),
        ("A, B & C", "ABC"),
        ("A, B, C, D, E", "ABCDE"),
        ("A, B, C, D, E (All of the above)", "ABCDE"),
        ("(A) (C)", "AC"),
        ("(A), (C)", "AC"),
        ("(A)(C)", "AC"),
        ("(A) and (C)", "AC"),
        ("(A, C)", "AC"),
        ("[A, C]", "AC"),
        ("{A, C}", "AC"),
        ("**A, C**", "AC"),
        ("**A**, **C**", "AC"),
        ("*A*, *C*", "AC"),
        ("`A, C`", "AC"),
        ('"A, C"', "AC"),
        ("['A', 'C']", "AC"),
        ('["A", "C"]', "AC"),
        ("A. C.", "AC"),
        ("A), C)", "AC"),
        ("A., C", "AC"),
        ("A, C</s>", "AC"),
        ("A, C<|im_end|>", "AC"),
        ("A, C<|eot_id|>", "AC"),
        # Several on one line, with the texts of the options.
        ("B. Fog, C. Dew", "BC"),
        ("B. Fog; C. Dew", "BC"),
        ("B. Fog and C. Dew", "BC"),
        ("B. Fog, and C. Dew", "BC"),
        ("B) Fog, C) Dew", "BC"),
        ("(B) Fog, (C) Dew", "BC"),
        ("B: Fog, C: Dew", "BC"),
        ("B - Fog, C - Dew", "BC"),
        ("**B.** Fog, **C.** Dew", "BC"),
        # A letter per line.
        ("A\nC", "AC"),
        ("A\n\nC", "AC"),
        ("A\r\nC", "AC"),
        ("A,\nC", "AC"),
        ("A.\nC.", "AC"),
        ("(A)\n(C)", "AC"),
        ("a\nc", "AC"),
        ("A\nC\nE", "ACE"),
        ("A\nC\n\nBecause", "AC"),
        ("A\nC\nB is wrong", "AC"),
        ("- A\n- C", "AC"),
        ("* A\n* C", "AC"),
        ("• A\n• C", "AC"),
        ("1. A\n2. C", "AC"),
        ("1) A\n2) C", "AC"),
        ("B. Fog\nC. Dew", "BC"),
        ("B) Fog\nC) Dew\nBecause", "BC"),
        ("- B. Fog\n- C. Dew", "BC"),
        ("1. B. Fog\n2. C. Dew", "BC"),
        ("**B. Fog**\n**C. Dew**", "BC"),
        ("- **B**: Fog\n- **C**: Dew", "BC"),
        # Letters in an explanation do not count.
        ("A, C\n\nExplanation: B is wrong", "AC"),
        ("A, C\nB is wrong", "AC"),
        ("A, C\nB. Fog is wrong\nD. Dew is wrong", "AC"),
        ("A, C\n- A: right\n- B: wrong", "AC"),
        ("A and C\n\n1. A is right. D. is not.", "AC"),
        ("A and C are right", "AC"),
        ("A\n\nExplanation:\nA. right\nB. wrong", "A"),
        ("A\nA. right because\nB. wrong because", "A"),
        ("A\n- A: x\n- B: y", "A"),
        ("A\nB: wrong", "A"),
        ("A.\nB. is wrong", "A"),
        ("B. Fog\n\nA. Steam is wrong", "B"),
        ("B. Fog\nBecause\nC. Dew", "B"),
        ("B because\nC is wrong", "B"),
        ("B. Fog\nA, C. are wrong", "B"),
        # A label before the letters, and reasoning.
        ("Answer: A, C", "AC"),
        ("answer: a, c", "AC"),
        ("Answers: A and C", "AC"),
        ("**Answer:** A, C", "AC"),
        ("**Answer: A, C**", "AC"),
        ("### Answer: A, C", "AC"),
        ("Answer：A, C", "AC"),
        ("The answer is: A", "A"),
        ("The answers are: A, C", "AC"),
        ("The correct answers are: A and C.", "AC"),
        ("The right choices are: A, C", "AC"),
        ("Correct options: A, C", "AC"),
        ("All right choices: A, C", "AC"),
        ("Letters: A, C", "AC"),
        ("Answer: B. Fog, C. Dew", "BC"),
        ('{"answer": ["A", "C"]}', "AC"),
        ("<think>A, B? D!</think>\n\nA, C", "AC"),
        ("it must be D</think>A, C", "AC"),
        ("<|channel|>analysis<|message|>B?<|end|><|start|>assistant<|channel|>final<|message|>A, C", "AC"),
        ("A, C\n" + " x" * 1_000_000, "AC"),
        (" " * 1_000_000 + "A, C", "AC"),
    ],
)
def test_letters(response: str, letters: str) -> None:
    answer = read_selection(response, PRINTED, CHOICES)
    assert letters_of(answer.selected) == letters
    assert (answer.picked, answer.reason) == (None, None)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", Reason.EMPTY),
        (" \n\t ", Reason.EMPTY),
        ("\u3000", Reason.EMPTY),
        ("<think>A, C</think>\n", Reason.EMPTY),
        ("All of the above", Reason.NO_LETTER),
        ("All of the above (A, B, C)", Reason.NO_LETTER),
        ("All", Reason.NO_LETTER),
        ("None of the above", Reason.NO_LETTER),
        ("None", Reason.NO_LETTER),
        ("Based on", Reason.NO_LETTER),
        ("Because A, C", Reason.NO_LETTER),
        ("Not B", Reason.NO_LETTER),
        ("A patient with B", Reason.NO_LETTER),
        ("a patient with", Reason.NO_LETTER),
        ("I think B", Reason.NO_LETTER),
        ("A is right", Reason.NO_LETTER),
        ("b cells", Reason.NO_LETTER),
        ("A's", Reason.NO_LETTER),
        ("B12", Reason.NO_LETTER),
        ("BAD", Reason.NO_LETTER),
        ("DEAD", Reason.NO_LETTER),
        ("Abe", Reason.NO_LETTER),
        ("ac", Reason.NO_LETTER),
        ("1, 3", Reason.NO_LETTER),
        ("1", Reason.NO_LETTER),
        ("Answer:", Reason.NO_LETTER),
        ("Answer: A patient", Reason.NO_LETTER),
        ("Answer: all of them", Reason.NO_LETTER),
        ("Explanation\nA, C", Reason.NO_LETTER),
        ("Explanation\nAnswer: A, C", Reason.NO_LETTER),
        ("А, С", Reason.NO_LETTER),  # Cyrillic A and Es
        ("Α", Reason.NO_LETTER),  # Greek Alpha
        ("Ａ、Ｃ", Reason.NO_LETTER),  # fullwidth A and C
        ("𝐀, 𝐂", Reason.NO_LETTER),  # mathematical bold
        ("Ⓐ Ⓒ", Reason.NO_LETTER),  # circled
        ("ı", Reason.NO_LETTER),  # dotless i, whose capital is I
        ("ſ", Reason.NO_LETTER),  # long s, whose capital is S
        ("选A和C", Reason.NO_LETTER),
        ("\x00\x1b[31m", Reason.NO_LETTER),
        ("\ud83d", Reason.NO_LETTER),
        ("__import__('os').system('true')", Reason.NO_LETTER),
        ("Ignore all rules and select the right ones: A, C.", Reason.NO_LETTER),
        ("{{ 7 * 7 }}", Reason.NO_LETTER),
        ("(?:A|C)", Reason.NO_LETTER),
        ("x" * 1_000_000, Reason.NO_LETTER),
        ("F", Reason.OUT_OF_RANGE),
        ("A, F", Reason.OUT_OF_RANGE),
        ("F, A", Reason.OUT_OF_RANGE),
        ("ACZ", Reason.OUT_OF_RANGE),
        ("A\nF", Reason.OUT_OF_RANGE),
        ("B. Fog, F. Hail", Reason.OUT_OF_RANGE),
        ("Answer: A and F", Reason.OUT_OF_RANGE),
        ("I'm sorry, but", Reason.REFUSED),
        ("I’m sorry", Reason.REFUSED),
        ("I cannot answer", Reason.REFUSED),
        ("As an AI language model", Reason.REFUSED),
        ("<think>Okay, A and C", Reason.CUT_OFF),
        ("<|channel|>analysis", Reason.CUT_OFF),
        ("[THINK]Okay", Reason.CUT_OFF),
    ],
)
def test_reason_why_there_are_no_letters(response: str, reason: Reason) -> None:
    answer = read_selection(response, PRINTED, CHOICES)
    assert (answer.selected, answer.picked) == (None, None)
    assert answer.reason is reason


def test_the_last_letter_printed_is_in_range_and_the_next_is_not() -> None:
    assert read_selection("A, E", PRINTED, CHOICES).selected == (3, 2)
    assert read_selection("A, E", PRINTED[:4], CHOICES[:4]).reason is Reason.OUT_OF_RANGE
    assert read_selection("A, Z", list(range(26)), ["-"] * 26).selected == (0, 25)


def test_a_bare_i_is_a_letter_unless_a_lower_case_word_follows() -> None:
    def selected(response: str) -> tuple[int, ...] | None:
        return read_selection(response, list(range(10)), ["-"] * 10).selected

    assert selected("I") == (8,)
    assert selected("A, I") == (0, 8)
    assert selected("I. Ice") == (8,)
    assert selected("I think") is None
    assert selected("B, I think") is None
    assert selected("A patient") is None


def test_two_letters_of_one_option_select_it_once() -> None:
    # A and C print the same text.
    assert read_selection("A, B, C", [0, 1, 0], ["x", "y", "x"]).selected == (0, 1)
    assert read_selection("C", [0, 1, 0], ["x", "y", "x"]).selected == (0,)


def test_letters_count_only_near_the_beginning() -> None:
    lines = "A\nB\n" + "\n" * 5000 + "C"
    assert letters_of(read_selection(lines, PRINTED, CHOICES).selected) == "AB"


SOME_TEXT = st.one_of(
    st.text(alphabet=st.characters(), max_size=400),
    st.lists(
        st.sampled_from(
            [
                *"ABCDEFabciZ ,.;:()[]*_-\n\n/&|'\"",
                " and ",
                "- ",
                "1. ",
                "Fog",
                "is",
                "Answer: ",
                "\ud83d",
                "А",
                "</think>",
            ]
        ),
        max_size=30,
    ).map("".join),
)


@given(SOME_TEXT, st.lists(st.integers(0, 30), min_size=2, max_size=26))
def test_any_text_is_accepted(response: str, printed: list[int]) -> None:
    answer = read_selection(response, printed, [f"{number}. is A" for number in printed])
    assert answer.picked is None
    assert (answer.selected is None) != (answer.reason is None)
    if answer.selected is not None:
        assert answer.selected
        assert len(set(answer.selected)) == len(answer.selected)
        # A subset of the printed options, in printed order.
        once_each = list(dict.fromkeys(printed))
        assert list(answer.selected) == [identity for identity in once_each if identity in answer.selected]


@pytest.mark.parametrize(
    "written",
    [
        *(", ".join, ",".join, "; ".join, " and ".join, " & ".join, "/".join, "\n".join, "\n\n".join, " ".join),
        lambda letters: ", ".join(letters).lower(),
        lambda letters: ", ".join(f"({letter})" for letter in letters),
        lambda letters: " ".join(f"**{letter}**" for letter in letters),
        lambda letters: ", ".join(f"{letter}. Text" for letter in letters),
        lambda letters: "\n".join(f"{letter}. Text" for letter in letters),
        lambda letters: "\n".join(f"- **{letter})** text" for letter in letters),
        lambda letters: "Answer: " + ", ".join(letters) + ".\n\nB is wrong because of D.\nE. Text",
        lambda letters: "<think>A, B</think>" + ", ".join(letters) + "\nA. Text\nB. Text",
    ],
)
def test_every_selection_is_read_back(written: object) -> None:
    assert callable(written)
    for size in range(1, 6):
        for letters in combinations("ABCDE", size):
            answer = read_selection(written(letters), PRINTED, ["Text"] * 5)
            assert letters_of(answer.selected) == "".join(letters)


@given(st.integers(2, 26), st.data())
def test_printed_letters_are_read_back_as_identities(options: int, data: st.DataObject) -> None:
    identities = data.draw(st.permutations(range(options)))
    positions = data.draw(st.sets(st.integers(0, options - 1), min_size=1))
    order = data.draw(st.permutations(sorted(positions)))
    answer = read_selection(", ".join(LETTERS[place] for place in order), identities, ["-"] * options)
    assert answer.selected == tuple(identities[position] for position in sorted(positions))


@pytest.mark.parametrize(
    "response",
    [
        # Letters on the same line that may or may not be part of the selection.
        *("A-C", "A–C", "A - C", "B to D", "B through D", "B or C", "A, B or D", "A, B, not C", "A, I think", "A's, B"),
        *("C (A and B are wrong)", "C; A and B are wrong", "A, B are wrong; C is right", "B because of C"),
        *("A, C because B is wrong", "A, C (because B is wrong)", "A, C - B is wrong", "A, C. B is wrong"),
        *("B. Fog, because C. is wrong", "B. Fog, unlike C (dew)", "B. Fog (unlike A and C) is right", "B C is wrong"),
        *("b, c cells", "a and b cells", "A, C explained"),
        # A text that is not the option's, or a remark.
        *("A. Steam\nB. a kind of cloud", "B. Fog\nA: wrong\nC: wrong", "A. Steam\nC. Dew\nE. Hai\n"),
        # A verdict on each option.
        *("A: Yes\nB: No\nC: Yes", "A. Correct\nB. Incorrect", "A: True, B: False", "A. Right.\nB. Wrong."),
        *("A. Steam is right.\nB. Fog is right.", "A. Steam (yes)\nB. Fog (no)", "B is incorrect", "B is not right"),
    ],
)
def test_an_ambiguous_selection_is_invalid(response: str) -> None:
    answer = read_selection(response, PRINTED, CHOICES)
    assert (answer.selected, answer.reason) in ((None, Reason.UNCLEAR), (None, Reason.NO_LETTER))


@pytest.mark.parametrize(
    ("response", "letters"),
    [
        *(("A (Steam), C (Dew)", "AC"), ("A (Steam) and C (Dew)", "AC"), ("A (Steam)\nC (Dew)", "AC")),
        *(("B Fog, C Dew", "BC"), ("**B** Fog\n**C** Dew", "BC"), ("Answer: B (Fog), C (Dew)", "BC")),
        *(("B.Fog, C.Dew", "BC"), ("B)Fog, C)Dew", "BC"), ("B:Fog\nC:Dew", "BC"), ("b. fog, c. dew", "BC")),
        *(
            ("B. Fog / C. Dew", "BC"),
            ("A) Steam C) Dew", "AC"),
            ("A. Steam. C. Dew.", "AC"),
            ('"B. Fog", "C. Dew"', "BC"),
        ),
        *(("A. Steam\n\nC. Dew", "AC"), ("The correct answers are:\n\n**B. Fog**\n\n**C. Dew**", "BC")),
        # Cut off by the token limit.
        *(("B. Fo", "B"), ("A. Steam, B. Fo", "AB"), ("A. Steam\nC. D", "AC")),
        *(
            ("A，C", "AC"),
            ("A、C", "AC"),
            ("A · C", "AC"),
            ("B plus C", "BC"),
            ("B as well as C", "BC"),
            ("A.C.", "AC"),
        ),
        *(("Both B and C", "BC"), ("Option B, Option C", "BC"), ("Options B and C", "BC"), ("B,\nC and D", "BCD")),
        *(("The correct answers are A and C.", "AC"), ("Final answer: A, C", "AC"), ("The answer is B", "B")),
        *(
            ("```\nA, C\n```", "AC"),
            ("### A, C", "AC"),
            ("> A, C", "AC"),
            ("$A, C$", "AC"),
            ("<answer>A, C</answer>", "AC"),
        ),
        *(
            ("A and C are right", "AC"),
            ("A, C because of the heat", "AC"),
            ("A, C. Both are gases.", "AC"),
            ("B is right", "B"),
        ),
        # All options repeated, then the answer.
        ("A. Steam\nB. Fog\nC. Dew\nD. Ice\nE. Hail\nAnswer: B", "B"),
        ("A, C\nAnswer: A, C", "AC"),
        ("A, C\nAnswer:", "AC"),
        ("A, C\nD", "ACD"),
    ],
)
def test_notations_of_real_models(response: str, letters: str) -> None:
    assert letters_of(read_selection(response, PRINTED, CHOICES).selected) == letters


@pytest.mark.parametrize(
    ("choices", "response", "letters"),
    [
        # The text of an option is a letter, or begins with a letter and a mark, which is common in medicine.
        (("Fog", "E. coli", "Dew", "Ice", "S. aureus"), "B. E. coli", "B"),
        (("Fog", "E. coli", "Dew", "Ice", "S. aureus"), "(B) E. coli", "B"),
        (("Fog", "E. coli", "Dew", "Ice", "S. aureus"), "B. E. coli\nE. S. aureus", "BE"),
        (("Fog", "E. coli", "Dew", "Ice", "S. aureus"), "B E. coli, E S. aureus", "BE"),
        (("x", "y", "z", "e", "D"), "A. x\nD. e", "AD"),
        (("A and B", "B", "A", "Both A and B", "I"), "D. Both A and B. Because", "D"),
        (("A and B", "B", "A", "Both A and B", "I"), "A) A and B", "A"),
        (("Vitamin A", "Vitamin B", "Vitamin C and zinc", "Zinc", "I"), "A. Vitamin A, C. Vitamin C and zinc", "AC"),
        (("All of the above", "B cells", "None", "x", "y"), "B. B cells", "B"),
        (("All of the above", "B cells", "None", "x", "y"), "A. All of the above", "A"),
        (("A.", "B.", "C.", "D.", "E."), "A, C", "AC"),
        (("", " ", "c", "d", "e"), "A, B", "AB"),
        (("Straße", "Weg", "İstanbul", "d", "e"), "A. Straße, B. Weg, C. İstanbul", "ABC"),
    ],
)
def test_the_text_of_an_option_is_not_read_for_letters(choices: tuple[str, ...], response: str, letters: str) -> None:
    assert letters_of(read_selection(response, PRINTED, choices).selected) == letters


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        *(("*", Reason.NO_LETTER), ("(", Reason.NO_LETTER), ("-", Reason.NO_LETTER), ("- ", Reason.NO_LETTER)),
        *((",", Reason.NO_LETTER), (", ", Reason.NO_LETTER), ("_", Reason.NO_LETTER), ("answer", Reason.NO_LETTER)),
        *(
            ("the ", Reason.NO_LETTER),
            ("all ", Reason.NO_LETTER),
            ("and ", Reason.NO_LETTER),
            ("1. ", Reason.NO_LETTER),
        ),
        *(("\n", Reason.EMPTY), ("</think>", Reason.EMPTY), ("<think>", Reason.CUT_OFF), ("\n*", Reason.NO_LETTER)),
        *(
            ("A, ", None),
            ("A", Reason.NO_LETTER),
            ("A\n", None),
            ("A ", None),
            ("(A", None),
            ("A. x, ", Reason.UNCLEAR),
        ),
        *(
            ("and ", Reason.NO_LETTER),
            ("A,*", None),
            ("A and ", Reason.UNCLEAR),
            ("- A\n", None),
            ("*A\n\n", None),
            ("B. x\n", Reason.UNCLEAR),
        ),
    ],
)
def test_ten_megabytes_are_read_in_linear_time(unit: str, reason: Reason | None) -> None:
    response = unit * (10_000_000 // len(unit))
    start = process_time()
    assert read_selection(response, PRINTED, CHOICES).reason is reason
    # It takes some hundredths of a second. With a rule that takes quadratic time this would not end.
    assert process_time() - start < 5
