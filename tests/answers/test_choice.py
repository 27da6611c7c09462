"""The flexible reader finds the option that a response chooses."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.letter import BEST_ANSWER, LETTER
from lm_eval_cora.answers.records import read_answer
from lm_eval_cora.questions.question import LETTERS
from tests.support.responses import pairs

WEATHER = ("Ice", "Fog", "Dew", "Steam", "Cloud")
MED = ("Pneumonia", "Asthma", "Pulmonary embolism", "Bronchitis", "Lung cancer")
DYES = ("red dye", "green dye", "blue dye", "pink dye")
PRINTED = [3, 0, 26, 1, 4]


def found(response, options=WEATHER, printed=range(26)):
    return LETTER.read(response, {"printed": printed[: len(options)], "choices": options}, "flexible")


AWKWARD = [
    *("A", "a", "B", "C.", "(b)", "AB", "A/B", "-A", "D", "d.", "I", "$A$", "Ice", r"\boxed{A}", "", "  "),
    *("A and B", "Both A and B", "A or B", "A, B", "I and II", "Option A", "answer: A", "not A", "A is right", "A cat"),
]


@given(
    st.lists(st.sampled_from(AWKWARD), min_size=1, max_size=6),
    st.integers(0, 5),
    st.sampled_from(["", "."]),
    st.booleans(),
)
def test_a_bare_letter_is_the_option_of_this_letter_whatever_the_options_say(options, place, end, at_the_end):
    doc = {"printed": [*PRINTED, 5][: len(options)], "choices": options}
    answer = (BEST_ANSWER if at_the_end else LETTER).read(LETTERS[place] + end, doc, "flexible")
    assert answer.position == (place if place < len(options) else None)


READINGS = {
    WEATHER: {
        # The letter is not the word "a".
        0: ("The answer is A because",),
        1: (
            "A. Ice\nAnswer B.",
            "A\nIt is not so.\nAnswer (B)",
            # A doubted answer does not count next to a stated one.
            "If the answer is C, then. Therefore, the answer is B.",
            "The incorrect answer is C. Therefore, the answer is B.",
            "The answer could be A. Therefore, the answer is B.",
        ),
        # Alone or at the beginning; stated as the answer; chosen; called right; next to others, which are rejected or
        # repeated; conclusions and corrections; the text of the option; after reasoning; announced at the end.
        2: (
            "C",
            "c",
            "1. C",
            "C because it is",
            "C. Dew\n\nThe other options are wrong:\nA. Ice is cold\nB. Fog is wet",
            "The answer is C.",
            'The answer is "C".',
            "Choice: C",
            r"\boxed{C}",
            r"$\boxed{\text{C}}$",
            "<answer>C</answer>",
            '{"answer": "C"}',
            "The answer must be C.",
            "The correct answer is the third option, C.",
            "I choose C",
            "I'd go with C.",
            "I'll pick C.",
            "I think it's C",
            "It's C.",
            "So, C.",
            "Therefore C",
            "As an AI, I would say C.",
            "Option C is correct.",
            "Of these, option C seems to be the most accurate.",
            "Among the options, C. Dew is the most appropriate.",
            "Based on my analysis, I must conclude that C is the correct choice.",
            "The answer is C (Dew), D is about steam",
            "The correct answer is **C) Dew**.\n\nHere's why:\n\n* **A) Ice** is cold.\n* **B) Fog** is wet.",
            "This must be C.",
            "Certainly! C\n\nOthers say that the answer is A.",
            "Let me think. Dew is water. So the answer is C.\nQuestion: Where?\nAnswer: A",
            "Dew forms when the air cools, and water settles on the grass (Option C). It is gone in the morning.",
            "It is not A, so C.",
            "Dew",
            "Dew.",
            "<think>A? B?</think>\nThe answer is C",
            "[THINK]A[/THINK] C",
            "A, no</think> I choose C.",
            "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>The answer is C.",
            "To find the answer, let's break down each option:\n\nA) Ice:\n- cold\n\nThe answer is:\n\nAnswer: C",
            "FINAL ANSWER: A\n\nLet me check it again. Dew is wet.\n\nFINAL ANSWER: C",
            "Option B is correct, option C is wrong.<eoe>\n[Answer] C <eoa>",
            "**[Correct answer]** (C)",
            "[Final Answer]C</s>",
            "C<eoa>\n\n[Answer] A<eoa>",
            "A: This option is incorrect. B: It is wrong. C: This is the correct answer.",
            "The **dew** it is. It forms at night. "
            + "Water settles on the grass in the morning. " * 8
            + "\n\n### References\n1. Ice and fog: a review.\n2. Steam.",
            "Option A is ice, B is fog. That leaves C.",
            "C. Dew\n\nSecond best: A",
            "C\n\nNote: A",
            "Ans. (C)",
            "The correct answer is C, the symbol of boron is B.",
            "It is water. The best answer is C. Let me know if you need more help",
            "So the answer is A. But wait, that is ice. Therefore, the answer is C, and I am sure",
        ),
        Reason.EMPTY: (
            "",
            " \n",
        ),
        Reason.CUT_OFF: (
            "So the answer is A. But wait, maybe fog, let me check the",
            "We are asked about water. The answer must be C. Hmm, it could also be that it is wet outside, so",
            "<think>A",
        ),
        Reason.REFUSED: (
            "I'm sorry, but I cannot answer that.",
            "I can't help with that. Option A mentions ice.",
        ),
        Reason.SEVERAL: (
            "A or B",
            "A and B",
            "A/B",
            "Either A or C.",
            "The answer is A or C.",
            "The answer is A, B, C, D or E",
            "Both A and C are correct.",
            "Ice, fog and dew",
            "Option A is cold, B is wet and D is hot.",
            "[Answer] A:B:D",
            "The answer is B.\n\nFinal answer: A or C",
            "A. Ice\nC. Dew",
            "C. Dew (in the first case)\nB. Fog (in the second case)",
            '{"answer": ["A", "B"]}',
        ),
        Reason.CONTRADICTION: (
            "A: Fog",
            "C. None of the above",
        ),
        Reason.REJECTED: (
            "A is wrong.",
            "A: This option is incorrect.",
            "B) It is wrong",
        ),
        Reason.REPEATED: (
            "A. Ice\nB. Fog\nC. Dew\nD. Steam\nE. Cloud",
            "Options:\nA. Ice",
            "Options:\nA. Ice: cold\nB: wet",
        ),
        Reason.OUT_OF_RANGE: (
            "I",
            "F",
            "The answer is F",
        ),
        Reason.NONE_FITS: ("The correct answer is none of the above.",),
        Reason.NO_LETTER: (
            "The best answer is I don't know",
            "I don't know",
            "There is no ice.",
            "Vitamin C is the correct",
            "The answer is not C.",
            "Option B is right.\n\nAnswer: unknown",
        ),
    },
    MED: {
        # An analysis of the options, or words that look like letters, before the answer.
        2: (
            "A. Pneumonia - presents with fever, which is absent.\nB. Asthma - wheezing.\n\nThe answer is C.",
            "A - incorrect\nB - incorrect\nC. Pulmonary embolism",
            "A = 100.\n\nThe answer is C.",
            "The obvious answer is A. However, it is wrong. Option C is correct.",
            "C\n\nQuestion: Which of the following is actually a virus?\nA. HIV\nB. E\nAnswer: A",
            "C<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA",
            "analysisThe answer is A I think. But let me check.assistantfinalThe answer is C.",
            "<|channel|>final <|constrain|>json<|message|>C",
            "◁think▷The answer is A.◁/think▷C",
        ),
        None: (
            "A: Asthma",
            "The answer is A (Asthma)",
            "Asthma is wrong.",
            "Asthma? No.",
            "Is it asthma?",
            "Unlike asthma, this has no wheezing.",
            "Pneumonia is out.",
            "If he had asthma, he would wheeze.",
            "I don't think it's A.",
            "B cells",
            "(B)(C)",
            "B+C",
            "A:B = 2:3",
            "A) Pneumonia or C) Pulmonary embolism",
            "B. Asthma and C. Pulmonary embolism",
            "I need to choose one. Asthma wheezes. Pneumonia is common.",
            "Option B is plausible.",
            "Let's analyze each option:\n\nA. Pneumonia: This would typically present with fever and a cough that",
        ),
    },
    DYES: {
        # The last stated answer, up to a new question; a letter with its text at the end; explanations after it;
        # letters in other forms; verdicts on each option; boxes, tags and objects.
        3: (
            "(i) holds. (ii) does not hold. The answer is (D).",
            "Option A is cheap.\nOption B fades.\nThe correct structure is **D. pink dye**.",
            "Therefore, $I(X) = 2$. The answer is (D).",
            "The answer is (D).\n\nNow, combining all the answers:\nThe answer is (A).\nThe answer is (B).",
            "The answer is (D).\n\nHuman: Which dye is cheap?\nThe answer is (B).",
            "It was washed twice and dried in the sun, so that one colour could remain in the cloth.\n\nD) Pink  dye",
            'The most likely product is D. It is a mixture.\n\nOption C, a "double" dye, is not a valid explanation.',
            "(A) This statement is correct. (B) So is this. (C) And this. Therefore, the answer is (D).",
            "The incorrect statement is D.",
            "Answer: d",
            "option d",
            "Answer -> D",
            "Answer → D",
            "ⓓ",
            "D\x1b[0m",
            "D D",
            "A ❌\nB ❌\nC ❌\nD ✅",
            "- [ ] A\n- [ ] B\n- [x] D",
            "A: incorrect\nB: wrong\nD: correct",
            '{"explanation": "The red dye fades.", "final_answer": "D"}',
        ),
        Reason.NONE_FITS: (
            "Therefore, none of the given options (A, B, C or D) is correct.",
            "The answer is (None).",
        ),
        Reason.SEVERAL: (
            "The answer is (A),(B),(D).",
            "A: 10%\nB: 20%\nC: 30%\nD: 40%",
        ),
        Reason.NO_LETTER: (
            "A is red. B is green.",
            "Since the length of the pipe must be a",
        ),
        Reason.CUT_OFF: (
            "Let me check each option:\n\nA. red dye: it would fade after a day in the sun, so it can hardly",
        ),
    },
    # A line that is an option about letters.
    ("Ice", "Fog", "Both A and B", "Neither A nor B"): {
        2: ("**Both A and B.**", "Ice is wet.\nBoth (A) and (B)", "Both A and B are right.\n\nA: wet. B: wet."),
        3: ("Both A and B\nThe answer is D.", "Neither A nor B is right."),
        None: ("Both A and B: no", "A and B", "Both A and B?", "Both A and B, or D"),
    },
    # A number after a letter must match its option.
    ("40", "1,000", "50", "-3"): {
        0: ("A. 2 + 38 = 40",),
        1: ("B. 1000",),
        3: ("D. −3",),
        Reason.CONTRADICTION: ("A: 50", "A. 1234 (see above)"),
    },
    ("0,3", "0,4"): {1: ("B. 0.4",), Reason.CONTRADICTION: ("A. 0.4",)},
    # A number within another number does not count.
    ("36", "-36", "5", "5.5", "1/5"): {
        0: ("The answer is 36",),
        1: ("The answer is -36",),
        2: (
            "The answer is 5",
            "The answer is 5 apples",
        ),
        3: ("The answer is 5.5",),
        4: ("The answer is 1/5",),
        None: (
            "The answer is 3*6",
            "The answer is 5/2",
            "The answer is 5%",
            "The answer is 5.25",
            "The answer is -5",
            "The answer is 136",
            "The answer is 36.5",
            "The answer is 5°",
        ),
    },
    # Nor does a text within a longer word.
    ("acid", "carbon", "Newton", "1,000"): {
        None: (
            "The answer is acid-free.",
            "The answer is carbon-14.",
            "It is carbon-14.",
            "It is Newton's law.",
            "The answer is non-acid.",
            "It is 1,000,000.",
            "It is carbonate.",
        ),
    },
    # If options combine parts, the text must be complete.
    ("True, False", "False, True", "True, True"): {
        0: ("A. True, False", "A. Tr"),
        Reason.CONTRADICTION: ("A. True for the first statement",),
    },
    # The longer of two overlapping texts counts.
    ("acid", "acid rain", "rain"): {
        0: ("The answer is acid.",),
        1: ("It is acid rain.",),
        Reason.CONTRADICTION: ("A. acid rain",),
    },
    # A number counts alone or at the end of a single sentence.
    ("5", "12", "70"): {
        1: ("12", "The answer is 12.", "A star with a magnitude of 7 has a distance of 12."),
        Reason.SEVERAL: ("It is 5 and 12.",),
        None: (
            "Half of 24 makes 12 and so on.",
            "5. First, look at it.",
            "It is between 5 and 12.",
            "It is not 12.",
            "Half of 24 makes 12. Then add 5.",
        ),
    },
    # Texts that begin with a letter or differ in case.
    ("S. aureus", "E. coli", "C. difficile", "B. cereus", "H. pylori"): {1: ("E. coli",)},
    ("AA", "Aa", "aa", "None of these"): {
        0: ("The answer is AA",),
        1: ("The answer is Aa",),
        2: ("The answer is aa",),
        Reason.CONTRADICTION: ("A. aa",),
    },
}


@pytest.mark.parametrize(
    ("options", "response", "expected"),
    [(options, *case) for options, groups in READINGS.items() for case in pairs(groups)],
)
def test_an_option_is_chosen_or_none(options, response, expected):
    answer = found(response, options)
    if isinstance(expected, int):
        assert (answer.position, answer.picked, answer.reason) == (expected, expected, None)
    else:
        assert answer.picked is None
        assert expected in (None, answer.reason)


def test_equal_texts_are_one_option_only_if_they_have_the_same_identity():
    twice = ["rain", "rain", "snow"]
    assert found("It is rain.", twice, [7, 7, 2]).picked == 7
    assert [found(f"{letter}. rain", twice, [6, 7, 2]).picked for letter in "AB"] == [6, 7]


def test_the_answer_has_the_identity_of_the_printed_option():
    assert found("The answer is C.", printed=PRINTED).picked == found("It is dew.", printed=PRINTED).picked == 26


SETTLED = {
    False: (
        "C",
        "C. Dew",
        "C. Dew\nD",
        "C. Dew\nD. ",
        "A. Ice\n\nIt is cold",
        "Let me think.\n\nThe answer is C.\n\nDew is water",
    ),
    True: ("The answer is C.\n\nIt is water", "The answer is A. Ice\n\nIt is cold"),
}


@pytest.mark.parametrize(("response", "settled"), pairs(SETTLED))
def test_an_answer_at_the_beginning_is_settled_once_another_line_has_begun(response, settled):
    assert found(response).settled is settled


@given(st.sampled_from("ABCDE"), st.text(max_size=40))
def test_the_flexible_reader_does_not_contradict_the_strict_one(letter, rest):
    response = f"{letter}\n\n{rest}"
    strict, flexible = LETTER.strict(response, {"printed": range(5)}), found(response)
    assert strict.position == "ABCDE".index(letter)
    assert flexible.position in (strict.position, None) or "answer" in rest


@pytest.mark.parametrize(
    ("written", "option"),
    [
        *(("O(N^2)", "O( N ^2 )"), ("cats, dogs, birds", "cats, dogs or birds"), ("well-known dye", "well known dye")),
        *((r"\frac{1}{2}", "1/2"), ("10^{-3} m", "10^-3 m")),
        ("The dye that was washed", "The dye that was washed twice and then dried in the sun"),
    ],
)
def test_the_text_beside_a_letter_may_differ_slightly(written, option):
    response = (
        f"It was washed twice and dried in the sun, and this is what remained in the end, so it is\n\nB. {written}"
    )
    assert found(response, ["another text", option, "7", "8"]).position == 1


def test_a_small_letter_in_brackets_on_the_last_line_weighs_more_only_with_its_text():
    assert found("First\n\n(b) Fog").rule == "a line of its own at the end"
    assert found("We go on.\n\n(b)").rule == "a letter"
    assert found("Option A is cold. It follows that:\n(b)").reason is Reason.SEVERAL


KINDS = yaml.safe_load(Path(__file__).with_name("kinds.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_response_in_many_languages(kind):
    for options, response, chosen, *labels in KINDS[kind]:
        position = None if chosen is None else LETTERS.index(chosen)
        assert read_answer(response, options, labels=tuple(*labels)).position == position, response
