"""The flexible reader finds the option that a response chooses."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.letter import BEST_ANSWER, LETTER
from lm_eval_cora.questions.question import LETTERS
from tests.support.responses import pairs

WEATHER = ("Ice", "Fog", "Dew", "Steam", "Cloud")
MED = ("Pneumonia", "Asthma", "Pulmonary embolism", "Bronchitis", "Lung cancer")
DYES = ("red dye", "green dye", "blue dye", "pink dye")
PRINTED = [3, 0, 26, 1, 4]


def found(response: str, options: Sequence[str] = WEATHER, printed: Sequence[int] = range(26)) -> Answer:
    return LETTER.read(response, {"printed": printed[: len(options)], "choices": options}, "flexible")


AWKWARD = [
    *("A", "a", "B", "C.", "(b)", "AB", "A/B", "-A", "D", "d.", "I", "$A$", "Ice", r"\boxed{A}", "", "  "),
    *("A and B", "Both A and B", "A or B", "A, B", "I and II", "Option A", "answer: A", "not A", "A is right", "A cat"),
]


@pytest.mark.parametrize(
    ("said", "position"),
    [
        *(
            ("Both A and B", 2),
            ("**Both A and B.**", 2),
            ("Ice is wet.\nBoth (A) and (B)", 2),
            ("Both A and B: no", None),
        ),
        *(("Both A and B are right.\n\nA: wet. B: wet.", 2), ("Both A and B\nThe answer is D.", 3), ("A and B", None)),
        *(("Both A and B?", None), ("Both A and B, or D", None), ("Neither A nor B is right.", 3)),
    ],
)
def test_a_line_that_is_an_option_about_letters_is_this_option(said: str, position: int | None) -> None:
    assert found(said, ("Ice", "Fog", "Both A and B", "Neither A nor B")).position == position


@given(
    st.lists(st.sampled_from(AWKWARD), min_size=1, max_size=6),
    st.integers(0, 5),
    st.sampled_from(["", "."]),
    st.booleans(),
)
def test_a_bare_letter_is_the_option_of_this_letter_whatever_the_options_say(
    options: list[str], place: int, end: str, at_the_end: bool
) -> None:
    doc = {"printed": [*PRINTED, 5][: len(options)], "choices": options}
    answer = (BEST_ANSWER if at_the_end else LETTER).read(LETTERS[place] + end, doc, "flexible")
    assert answer.position == (place if place < len(options) else None)


# Alone or at the beginning; stated as the answer; chosen; called right; next to others, which are rejected or repeated;
# conclusions and corrections; the text of the option; after reasoning.
THIRD = (
    *("C", "C.", "(C)", "[C]", "'C'", "**C**", "`C`", "c", "c)", "C) Dew", "C: Dew", "C - Dew", "C.Dew", "- C", "> C"),
    *("1. C", "C because it is", "C\n\nDew forms.", "(c)", "**C. Dew**", "C</s>", "C<|im_end|>", "Option C"),
    *("C. Dew\n\nThe other options are wrong:\nA. Ice is cold\nB. Fog is wet", "The answer is C.", "The answer is: C"),
    *("The answer is (c).", "answer is c.", 'The answer is "C".', "**Answer:** C", "Answer C", "Answer - C"),
    *("Answer:\nC", "### Answer\nC", "## Answer: C", "Final Answer: C", "Letter: C", "Solution: C", "Response: C"),
    *("My answer is: C", "Correct option: C", "Choice: C", r"\boxed{C}", r"$\boxed{\text{C}}$"),
    *(r"So the final answer is $\boxed{C}$.", "<answer>C</answer>", '{"answer": "C"}', "The answer is option C: Dew"),
    *("the correct answer is (C) Dew", "The answer must be C."),
    *("Sure! Based on the information provided, the correct answer is:\n\nC. Dew", "**The correct answer is: C) Dew**"),
    *("I'm not sure, but I think the answer is C.", "The letter of the correct choice is C."),
    *("The correct answer is the third option, C.", "I'm sorry for the confusion. The answer is C."),
    *("I would choose option C: Dew, since", "I choose C", "I'd go with C.", "I'll pick C.", "I think it's C"),
    *("It's C.", "So, C.", "Therefore C", "As an AI, I would say C.", "I believe the answer to be C."),
    *("Option C is correct.", "Choice C is the best answer.", "C is the correct answer.", "Dew (C)"),
    *("Of these, option C seems to be the most accurate.", "Among the options, C. Dew is the most appropriate."),
    *("Based on my analysis, I must conclude that C is the correct choice.", "What is being described is C. Dew"),
    "A. is not an option. Therefore, the correct answer is: C. Dew",
    "A is wrong because ice is cold. B is wrong too. The answer is C.",
    *("It can't be A. Ice. So the answer is C. Dew.", "Hmm, B? No. The answer is C.", "The answer is C rather than D."),
    *("The answer is C, not D.", "The answer is C (Dew), D is about steam"),
    "A. Ice\nB. Fog\nC. Dew\nD. Steam\nE. Cloud\n\nAnswer: C",
    "**Question:** What?\n\n**Options:**\n\nA. Ice\nB. Fog\nC. Dew\n\n**Answer:** C\n\nIt is dew.",
    "Correct answer: C. Dew\n\nExplanation: A. Ice is cold. B. Fog is wet.",
    "Let's analyze each option:\n\nA. Ice - no\nB. Fog - no\nC. Dew - yes\n\nTherefore, the correct answer is C.",
    "The correct answer is **C) Dew**.\n\nHere's why:\n\n* **A) Ice** is cold.\n* **B) Fog** is wet.",
    "Let's think step by step. Option A is tempting. Therefore, the answer is C.",
    *("The answer is A. Wait, actually the answer is C.", "A\n\nWait, that is a mistake. The correct answer is C."),
    *("This must be C.", "Certainly! C\n\nOthers say that the answer is A.", "Sure, here is my answer: C"),
    "Let me think. The answer is A. Hmm. Therefore, the answer is C.",
    "Let me think. Dew is water. So the answer is C.\nQuestion: Where?\nAnswer: A",
    "Dew forms when the air cools at night, and water settles on the grass (Option C). It is gone in the morning.",
    *("C. Dew (in the first case)\nB. Fog (in the second case)\n\nAnswer key: C", "It is not A, so C.", "Dew", "Dew."),
    *("The answer is Dew.", "It is the dew that is water.", "<think>A? B?</think>\nThe answer is C"),
    *("[THINK]A[/THINK] C", "A, no</think> I choose C."),
    "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>The answer is C.",
)

# An announcement at the end, headings, marks that end a part, and a list that is only introduced.
THIRD_AT_THE_END = (
    "To answer this, let's go through the options:\n\nA) Ice - too cold.\nB) Fog - no.\n\nAnswer: C",
    "To answer this, let's go through the options:\n\nA) Ice - too cold.\n\nAnswer: C",
    "To find the right answer, let's break down each option:\n\nA) Ice:\n- cold\n\nThe correct answer is:\n\nAnswer: C",
    "FINAL ANSWER: A\n\nLet me check it again. Dew is wet.\n\nFINAL ANSWER: C",
    "Option B is correct, option C is wrong.<eoe>\n[Answer] C <eoa>",
    *("[Answer] C", "[Correct answer]: C", "**[Correct answer]** (C)", "[Final Answer]C</s>", "[Answer] **C. Dew**"),
    *("C<eoa>\n\n[Answer] A<eoa>", "Let me see.<eoe>\nC<eoa>", "The answer was shown by B.F. Skinner.\n\nAnswer: C"),
    "A: This option is incorrect. B: It is wrong. C: This is the correct answer.",
    "The **dew** it is. It forms at night. "
    + "Water settles on the grass in the morning. " * 8
    + "\n\n### References\n1. Ice and fog: a review.\n2. Steam.",
    *("Option A is ice, B is fog. That leaves C.", "C. Dew\n\nSecond best: A", "C\n\nNote: A", "Ans. (C)"),
    *("The correct answer is C, the symbol of boron is B.", "Option B is good.\n\nReferences:\n[1] x\n\nAnswer: C"),
    "It is water. The best answer is C. Let me know if you need more help",
    "So the answer is A. But wait, that is ice. Therefore, the answer is C, and I am sure",
)

# The letter is not the word "a".
FIRST = ("A", "A.", "The answer is A because", "The answer is A, since", "A because ice")

# An analysis of the options, or words that look like letters, before the answer.
THIRD_DIAGNOSIS = (
    "A. Pneumonia - presents with fever, which is absent here.\nB. Asthma - wheezing.\n\nThe correct answer is C.",
    "**A. Pneumonia**\nThis is absent here.\n\n**B. Asthma**\nNo wheezing.\n\n**Answer: C**",
    "Option A: Pneumonia. Fever.\n\nOption B: Asthma. No.\n\nOption C: Pulmonary embolism.\n\nThe answer is C.",
    "A - incorrect\nB - incorrect\nC. Pulmonary embolism",
    "A CT scan shows a filling defect. The most likely cause is C. Pulmonary embolism",
    *("A = 100.\n\nThe answer is C.", "The obvious answer is A. However, it is wrong. Option C is correct."),
    "C\n\nQuestion: Which of the following is actually a virus?\nA. HIV\nB. E\nAnswer: A",
    "C<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA",
    "analysisThe answer is A I think. But let me check.assistantfinalThe answer is C.",
    *("<|channel|>final <|constrain|>json<|message|>C", "◁think▷The answer is A.◁/think▷C"),
)

# The last stated answer, up to a new question; a letter with its text at the end; explanations after it; letters in
# other forms; verdicts on each option; boxes, tags and objects.
FOURTH_DYE = (
    "(i) holds. (ii) does not hold. The answer is (D).",
    "Option A is cheap.\nOption B fades.\nThe correct structure is **D. pink dye**.",
    *("Therefore, $I(X) = 2$. The answer is (D).", "They call it “a dye of the second kind.” The answer is (D)."),
    *("$$\\frac{1}{2} = 0.5$$ The answer is (D).", "The answer is (A). No: it fades, so the answer is (D)."),
    "The answer is (D).\n\nNow, combining all the answers:\nThe answer is (A).\nThe answer is (B).",
    "The answer is (D).\n\nQ: Which dye is cheap?\n(A) red (B) green\nA: The answer is (B).",
    "The answer is (D).\n\nHuman: Which dye is cheap?\nThe answer is (B).",
    "Only one colour is left in the cloth after the sample was washed twice and dried. So the product is:\n\n"
    "**D. pink dye**",
    "It was washed twice and dried in the sun, so that only one colour could remain in the cloth.\n\nD) Pink  dye",
    'The most likely product is D. It is a mixture.\n\nOption C, a "double" dye, is not a valid explanation.',
    "(A) This statement is correct. (B) So is this. (C) And this. Therefore, the answer is (D).",
    "a) It is red.\n\nb) It is green.\n\nc) It is blue.\n\nTherefore, the answer is (D).",
    *("The incorrect statement is D.", "Answer: d", "The answer is d.", "**Answer:** d", "option d", "D!"),
    *("Answer: D!", "Answer -> D", "Answer → D", "-> D", "__D__", "【D】", "「D」", "Ｄ", "Ⓓ", "ⓓ", "𝐃", "🅳", "🄳"),
    *("\u202aD\u202c", "\u200bD", "D\x1b[0m", "d", "D D", "My answer would have to be D."),
    *("A. red dye - no\nB. green dye - no\nC. blue dye - no\nD. pink dye - yes", "A ❌\nB ❌\nC ❌\nD ✅"),
    *("- [ ] A\n- [ ] B\n- [x] D", "A: incorrect\nB: wrong\nD: correct", "\\boxed{D}", "\\boxed{pink dye}"),
    *("\\boxed{D. pink dye}", "<answer> (D) pink dye </answer>"),
    '{"explanation": "The red dye fades.", "final_answer": "D"}',
)

NOTHING = {
    Reason.EMPTY: ("", " \n"),
    Reason.CUT_OFF: (
        "So the answer is A. But wait, maybe fog, let me check the",
        "We are asked about water. The answer must be C. Hmm, it could also be that it is wet outside, so",
        *("<think>A", "Let us look at the first option. Ice is frozen water, which melts at zero degrees and then"),
    ),
    Reason.REFUSED: ("I'm sorry, but I cannot answer that.", "I can't help with that. Option A mentions ice."),
    Reason.SEVERAL: (
        *("A or B", "A and B", "A/B", "Either A or C.", "The answer is A or C.", "The answer is A, B, C, D or E"),
        *("Both A and C are correct.", "Option A is correct. Option B is correct.", "Ice, fog and dew"),
        *("Option A is cold, B is wet and D is hot.", "A... no wait, B."),
        *("Option B is right.\n\nAnswer: A, D", "[Answer] A:B:D", "The answer is B.\n\nFinal answer: A or C"),
        *("A. Ice\nC. Dew", "C. Dew (in the first case)\nB. Fog (in the second case)", '{"answer": ["A", "B"]}'),
    ),
    Reason.CONTRADICTION: (
        "A. Fog\n\nStep 1: The answer is A. Fog.\n\nStep 2: The answer is A. Fo",
        "A: Fog",
        "The answer is A. Fog",
        "C. None of the above",
    ),
    Reason.REJECTED: ("A is wrong.", "A: This option is incorrect.", "B) It is wrong", "A is not correct"),
    Reason.REPEATED: (
        *("A. Ice\nB. Fog\nC. Dew\nD. Steam\nE. Cloud", "Options:\nA. Ice", "Options:\nA. Ice: cold\nB: wet"),
    ),
    Reason.OUT_OF_RANGE: ("I", "F", "The answer is F"),
    Reason.NONE_FITS: ("The correct answer is none of the above.",),
    Reason.NO_LETTER: (
        *("The best answer is I don't know", "I don't know", "I think so", "The answer is LETTER"),
        *("A patient with fever", "It depends.", "Not ice", "There is no ice.", "Vitamin C is the correct"),
        *("The answer is not C.", "Option B is right.\n\nAnswer: unknown", "Skinner, B.F. was there"),
    ),
}

NO_DIAGNOSIS = (
    *("A: Asthma", "Option A: Asthma", "The correct answer is A: Asthma.", "The answer is A (Asthma)"),
    *("Asthma is wrong.", "Asthma? No.", "Is it asthma?", "Unlike asthma, this has no wheezing.", "Pneumonia is out."),
    *("If he had asthma, he would wheeze.", "I don't think it's A.", "What if it's A?", "Is the answer A? No."),
    *("A 45-year-old man has it.", "A 5% solution", "B cells", "C > A > B", "(B)(C)", "B+C", "A:B = 2:3"),
    *("I disagree with A.", "A) Pneumonia or C) Pulmonary embolism", "B. Asthma and C. Pulmonary embolism"),
    *("We have a patient with d", "I need to choose one. Asthma wheezes. Pneumonia is common."),
    "Option B is plausible.",
    "Let's analyze each option:\n\nA. Pneumonia: This would typically present with fever and a cough that brings",
)

NO_DYE = {
    Reason.NONE_FITS: ("Therefore, none of the given options (A, B, C or D) is correct.", "The answer is (None)."),
    Reason.SEVERAL: ("The answer is (A),(B),(D).", "A: 10%\nB: 20%\nC: 30%\nD: 40%"),
    Reason.NO_LETTER: (
        "A is red. B is green.",
        "La risposta giusta sarebbe un'altra, ma non posso dire quale sia tra queste quattro opzioni date.",
        *("Es wurde gewaschen und getrocknet। " * 4, "Since the length of the pipe must be a"),
    ),
    Reason.CUT_OFF: (
        "Let me check each option:\n\nA. red dye: it would fade after a day in the sun, so it can hardly",
    ),
}


@pytest.mark.parametrize(
    ("response", "options", "position"),
    [
        *((response, WEATHER, 0) for response in FIRST),
        *((response, WEATHER, 2) for response in THIRD),
        *((response, WEATHER, 2) for response in THIRD_AT_THE_END),
        *((response, MED, 2) for response in THIRD_DIAGNOSIS),
        *((response, DYES, 3) for response in FOURTH_DYE),
        *((response, WEATHER, 1) for response in ("A. Ice\nAnswer B.", "A\nIt is not so.\nAnswer (B)")),
    ],
)
def test_an_option_is_chosen(response: str, options: Sequence[str], position: int) -> None:
    answer = found(response, options)
    assert (answer.position, answer.picked, answer.reason) == (position, position, None)


@pytest.mark.parametrize(
    ("response", "options", "reason"),
    [
        *((response, WEATHER, reason) for response, reason in pairs(NOTHING)),
        *((response, DYES, reason) for response, reason in pairs(NO_DYE)),
        *((response, MED, None) for response in NO_DIAGNOSIS),
    ],
)
def test_nothing_is_chosen(response: str, options: Sequence[str], reason: Reason | None) -> None:
    answer = found(response, options)
    assert answer.picked is None
    assert answer.reason is (reason or answer.reason)


@pytest.mark.parametrize("response", ["If the answer is C, then", "The incorrect answer is C", "The answer could be A"])
def test_a_doubted_answer_does_not_count_next_to_a_stated_one(response: str) -> None:
    # Without a conclusion, the doubted option may leave several answers.
    assert found(f"{response}. But the answer is B.").position in (1, None)
    assert found(f"{response}. Therefore, the answer is B.").position == 1


def test_the_pronoun_i_is_not_option_i() -> None:
    nine = [f"weather {number}" for number in range(9)]
    words = ("The best answer is I don't know", "I don't know", "I think it may rain", "I am not sure.", "I would wait")
    for response in words:
        assert found(response, nine).position is None, response
    for response in ("I", "I.", "(I)", "The answer is I", "The answer is I.", "I. weather 8"):
        assert found(response, nine).position == 8, response


def test_a_number_after_a_letter_must_match_its_option() -> None:
    shares = ["40", "1,000", "50", "-3"]
    assert found("A: 50", shares).reason is Reason.CONTRADICTION
    assert found("A. 1234 (see above)", shares).reason is Reason.CONTRADICTION
    assert found("B. 1000", shares).position == 1
    assert found("D. −3", shares).position == 3
    assert found("A. 2 + 38 = 40", shares).position == 0
    assert found("B. 0.4", ["0,3", "0,4"]).position == 1
    assert found("B. 0.4", ["0,4", "0,3"]).reason is Reason.CONTRADICTION


NUMBERS = {
    0: ("36",),
    1: ("-36", "−36", "$-36$"),
    2: ("5", "5.", "5 apples"),
    3: ("5.5",),
    4: ("1/5",),
    None: ("3*6", "5/2", "5%", "5.25", "-5", "136", "36.5", "5^2", "5°"),
}


@pytest.mark.parametrize(("said", "position"), pairs(NUMBERS))
def test_a_number_within_another_number_does_not_count(said: str, position: int | None) -> None:
    assert found(f"The answer is {said}", ["36", "-36", "5", "5.5", "1/5"]).position == position


@pytest.mark.parametrize("said", ["acid-free", "carbon-14", "Newton's law", "non-acid", "1,000,000", "carbonate"])
def test_a_text_within_a_longer_word_does_not_count(said: str) -> None:
    for start in ("The answer is", "It is"):
        assert found(f"{start} {said}.", ["acid", "carbon", "Newton", "1,000"]).position is None


def test_if_options_combine_parts_the_text_must_be_complete() -> None:
    pairs = ["True, False", "False, True", "True, True"]
    assert found("A. True for the first statement", pairs).reason is Reason.CONTRADICTION
    assert found("A. True, False", pairs).position == 0
    assert found("A. Tr", pairs).position == 0


def test_the_longer_of_two_overlapping_texts_counts() -> None:
    acids = ["acid", "acid rain", "rain"]
    assert found("It is acid rain.", acids).position == 1
    assert found("The answer is acid.", acids).position == 0
    assert found("A. acid rain", acids).reason is Reason.CONTRADICTION


def test_a_number_counts_alone_or_at_the_end_of_a_single_sentence() -> None:
    numbers = ["5", "12", "70"]
    assert found("12", numbers).position == 1
    assert found("The answer is 12.", numbers).position == 1
    assert found("Half of 24 makes 12 and so on.", numbers).position is None
    assert found("5. First, look at it.", numbers).position is None
    assert found("A star with a magnitude of 7 has a distance of 12.", numbers).position == 1
    assert found("It is 5 and 12.", numbers).reason is Reason.SEVERAL
    assert found("It is between 5 and 12.", numbers).position is None
    assert found("It is not 12.", numbers).position is None
    assert found("Half of 24 makes 12. Then add 5.", numbers).position is None


def test_equal_texts_are_one_option_only_if_they_have_the_same_identity() -> None:
    twice = ["rain", "rain", "snow"]
    assert found("It is rain.", twice, [7, 7, 2]).picked == 7
    assert [found(f"{letter}. rain", twice, [6, 7, 2]).picked for letter in "AB"] == [6, 7]


def test_the_answer_has_the_identity_of_the_printed_option() -> None:
    assert found("The answer is C.", printed=PRINTED).picked == found("It is dew.", printed=PRINTED).picked == 26


SETTLED = {
    False: (
        *("C", "C. Dew", "C\n", "A. Ice\nB. Fog", "C. Dew\nD", "C. Dew\nD. ", "A. Ice\n\nIt is cold"),
        "Let me think.\n\nThe answer is C.\n\nDew is water",
    ),
    True: ("C\n\nIt is water", "The answer is C.\n\nIt is water", "The answer is A. Ice\n\nIt is cold"),
}


@pytest.mark.parametrize(("response", "settled"), pairs(SETTLED))
def test_an_answer_at_the_beginning_is_settled_once_another_line_has_begun(response: str, settled: bool) -> None:
    assert found(response).settled is settled


@given(st.sampled_from("ABCDE"), st.text(max_size=40))
def test_the_flexible_reader_does_not_contradict_the_strict_one(letter: str, rest: str) -> None:
    response = f"{letter}\n\n{rest}"
    strict, flexible = LETTER.strict(response, {"printed": range(5)}), found(response)
    assert strict.position == "ABCDE".index(letter)
    assert flexible.position in (strict.position, None) or "answer" in rest


def test_texts_that_begin_with_a_letter_or_differ_in_case() -> None:
    assert found("E. coli", ["S. aureus", "E. coli", "C. difficile", "B. cereus", "H. pylori"]).position == 1
    genes = ["AA", "Aa", "aa", "None of these"]
    assert [found(f"The answer is {gene}", genes).position for gene in genes[:3]] == [0, 1, 2]
    assert found("A. aa", genes).reason is Reason.CONTRADICTION


@pytest.mark.parametrize(
    ("written", "option"),
    [
        *(("O(N^2)", "O( N ^2 )"), ("cats, dogs, birds", "cats, dogs or birds"), ("well-known dye", "well known dye")),
        *((r"\frac{1}{2}", "1/2"), ("10^{-3} m", "10^-3 m")),
        ("The dye that was washed", "The dye that was washed twice and then dried in the sun"),
    ],
)
def test_the_text_beside_a_letter_may_differ_slightly(written: str, option: str) -> None:
    response = (
        f"It was washed twice and dried in the sun, and this is what remained in the end, so it is\n\nB. {written}"
    )
    assert found(response, ["another text", option, "7", "8"]).position == 1


def test_a_small_letter_in_brackets_on_the_last_line_weighs_more_only_with_its_text() -> None:
    assert found("First\n\n(b) Fog").rule == "a line of its own at the end"
    assert found("We go on.\n\n(b)").rule == "a letter"
    assert found("Option A is cold. It follows that:\n(b)").reason is Reason.SEVERAL


@pytest.mark.parametrize(
    ("response", "characters"),
    [
        ("<think>A?</think>\nThe **correct** answer is: $B$. Fog", "B$. Fog"),
        *(("Okay. I would choose **B. Fog**, of course.", "B. Fog"), ("It is fog.", "fog")),
        *(('{"why": "no ice", "answer": "B"}', "B"), ("𝐁. Fog", "𝐁. Fog"), ("x. " * 9000 + "The answer is B.", "B")),
    ],
)
def test_an_answer_says_which_characters_decided(response: str, characters: str) -> None:
    answer = found(response)
    assert answer.span is not None
    assert response[slice(*answer.span)] == characters
    assert answer.rule
