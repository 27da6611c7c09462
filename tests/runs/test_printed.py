import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.printed import PrintedPrompt, of_one_task, printed_question

STYLES = {
    "mmlu": ("Frozen water?\nA. ice\nB. fog\nC. dew\nAnswer:", "ABC"),
    "round brackets": ("Q: Frozen water?\n(A) ice\n(B) fog\n(C) dew\nA:", "ABC"),
    "one line": ("Q: Frozen water?\n(A) ice (B) fog (C) dew\nA:", "ABC"),
    "a word before": ("Frozen water?\nOption A: ice\nOption B: fog\nOption C: dew\nWhich one?", "ABC"),
    "digits": ("Gefrorenes Wasser?\n1) Eis\n2) Nebel\n3) Tau\nAntwort:", "123"),
    "Arabic with dashes": ("ما هو الماء المتجمد؟\nأ- ثلج\nب- ضباب\nج- ندى\nالجواب:", "أبج"),
    "Arabic": ("ما هو الماء المتجمد؟\nأ. ثلج\nب. ضباب\nج. ندى\nالجواب:", "أبج"),
    "a space before the last": ("Frozen water?\nA. ice\nB. fog\n C. dew\nAnswer:", "ABC"),
    "an example before": ("Hot?\nA. ice\nB. gas\nC. dew\nAnswer: B\n\nCold?\nA. ice\nB. fog\nC. dew\nAnswer:", "ABC"),
    "a passage with an A": ("A. Smith wrote: A is B.\n\nWho?\nA. Smith\nB. Jones\nC. Miller\nAnswer:", "ABC"),
    "Chinese in one line": ("结冰的水？选项：(A)ice (B)fog (C)dew\n答案：", "ABC"),
    "Chinese without spaces": ("结冰的水是A.ice；B.fog；C.dew\n答案：", "ABC"),
    "a Japanese word before": ("凍った水？\n選択肢ア：ice\n選択肢イ：fog\n選択肢ウ：dew\n答え：", "アイウ"),
    "Thai": ("น้ำแข็งคือA) ice B) fog C) dew\nคำตอบ:", "ABC"),
    "backslash n": (r"Frozen water?\nA. ice\nB. fog\nC. dew\nAnswer", "ABC"),
}


def cut(prompt, labels):
    found = printed_question(prompt, labels)
    assert found is not None
    return found


def prompt_of(found, *scored_as):
    return PrintedPrompt("a_task", "", printed=found, scored_as=scored_as)


@pytest.mark.parametrize("style", STYLES)
def test_options_are_found_and_printed_as_they_were(style):
    prompt, labels = STYLES[style]
    found = cut(prompt, labels)
    assert str(found) == prompt == found.with_options(found.options)
    assert len(found.options) == 3
    assert not any(option.startswith((" ", "\n")) or option.endswith((" ", "\n")) for option in found.options)
    assert "ice" not in prompt or found.options == ("ice", "fog", "dew"), "the last run counts"


@pytest.mark.parametrize(
    "prompt",
    [
        "Frozen water?\nAnswer:",
        "A or B or C?",
        "A ice\nB fog\nC dew",
        "A. ice\nC. dew\nB. fog",
        "?\n(A) as in (B) (B) fog (C) dew",
    ],
)
def test_no_options(prompt):
    assert printed_question(prompt, "ABC") is None


def test_other_options_in_the_same_style():
    found = cut("Wählen Sie A, B oder C.\n(A) Eis (B) Tau (C) Dampf\nEines von (A, B, C):", "ABC")
    assert found.with_options(["Tau", "Eis"]) == "Wählen Sie A oder B.\n(A) Tau (B) Eis\nEines von (A, B):"
    chinese = cut("从A、B或C中选择。\nA. 冰\nB. 雾\nC. 露\n答案（A、B、C）：", "ABC")
    assert chinese.with_options(["雾", "冰"]) == "从A或B中选择。\nA. 雾\nB. 冰\n答案（A、B）："
    more = found.with_options(["1", "2", "3", "4"])
    assert more == "Wählen Sie A, B, C oder D.\n(A) 1 (B) 2 (C) 3 (D) 4\nEines von (A, B, C, D):"


@pytest.mark.parametrize(
    ("labels", "next_one"),
    [("ABC", "D"), ("abc", "d"), ("123", "4"), ("012", "3"), ("أبج", "د"), ("АБВ", "Г"), ("가나다", "라")],
)
def test_more_options_continue_the_labels(labels, next_one):
    assert cut("?\n" + "".join(f"{label}) x{label}\n" for label in labels), labels).labels_of(4)[-1] == next_one


ENDS = {
    "a full stop after the last": ("A. red\nB. blue\nC. green.\nAnswer:", "red|blue|green"),
    "none after the last": ("A. red.\nB. blue.\nC. green\nAnswer:", "red|blue|green"),
    "semicolons": ("A. red;\nB. blue;\nC. green.\nAnswer:", "red|blue|green"),
    "semicolons everywhere": ("A. red;\nB. blue;\nC. green;\nAnswer:", "red|blue|green"),
    "a sentence": ("It is (A) red, (B) blue and (C) green.", "red|blue|green"),
    "two": ("It is (A) red or (B) blue.", "red|blue"),
    "slashes": ("(A) red / (B) blue / (C) green", "red|blue|green"),
    "Chinese": ("选项：(A)红，(B)蓝，(C)绿。\n答案：", "红|蓝|绿"),
    "options that are sentences": ("A. It is.\nB. It was.\nC. It will.\nAnswer:", "It is.|It was.|It will."),
    "Chinese sentences": ("A. 是。\nB. 否。\nC. 无。\n答案：", "是。|否。|无。"),
    "formulas": ("A. x /\nB. y /\nC. z /\nAnswer:", "x /|y /|z /"),
    "some full stops": ("A. red.\nB. blue\nC. green.\nAnswer:", "red.|blue|green."),
    "abbreviations": ("A. noon\nB. night\nC. 2 p.m.\nAnswer:", "noon|night|2 p.m."),
    "options that would be equal": ("A. red\nB. blue\nC. red.\nAnswer:", "red|blue|red."),
}


@pytest.mark.parametrize("kind", ENDS)
def test_the_punctuation_of_the_list_stays_at_its_place(kind):
    prompt, options = ENDS[kind]
    found = cut(prompt, "ABC"[: options.count("|") + 1])
    assert str(found) == prompt == found.with_options(found.options)
    assert "|".join(found.options) == options
    longest_first = "|".join(map(re.escape, sorted(found.options, key=len, reverse=True)))
    expected = re.sub(rf"(?<=[).])( ?)(?:{longest_first})", r"\1same", prompt)
    assert found.with_options(["same"] * len(found.options)) == expected


def test_an_option_may_begin_with_a_label():
    prompts = ["?\n(A) ice (B) fog (C) dew", "?\n(A) A. ice (B) B. fog (C) C. dew", "?\n(A) x (B) y (C) z"]
    found = of_one_task([cut(prompt, "ABC") for prompt in prompts])
    assert [question.options[0] for question in found] == ["ice", "A. ice", "x"]
    assert cut(prompts[1], "ABC").options[0] == "ice (B)"
    (known,) = filter(None, [printed_question(prompts[1], "ABC", ["A. ice", "B. fog", "C. dew"])])
    assert known.options == ("A. ice", "B. fog", "C. dew")


def test_unknown_labels_are_not_continued():
    prompt = prompt_of(cut("?\nP) x\nQ) y\nR) z\n:", ("P", "Q", "R")), "P")
    assert prompt.labels_of(3) == ("P", "Q", "R")
    with pytest.raises(UserError, match="a_task: a variant has 4 options, but the labels after P, Q, R are not known"):
        prompt.labels_of(4)


def test_an_option_of_several_lines_ends_where_the_end_of_most_questions_begins():
    prompts = ["?\nA. x\nB. y\nAnswer:", "?\nA. x\nB. y\nz\nAnswer:", "?\nA. v\nB. w\nAnswer:"]
    found = of_one_task([cut(prompt, "AB") for prompt in prompts])
    assert [question.options[1] for question in found] == ["y", "y\nz", "w"]
    assert [str(question) for question in found] == prompts


def test_words_and_separators_stay_and_lists_have_brackets():
    # The word before the label may contain it.
    found = cut("?\nChoice A: ice\nChoice B: fog\nChoice C: dew\nAnswer:", "ABC")
    assert found.options == ("ice", "fog", "dew")
    assert found.with_options(["dew", "ice"]) == "?\nChoice A: dew\nChoice B: ice\nAnswer:"
    found = cut("One of (A), (B) or (C)?\n(A) ice, (B) fog, (C) dew\nOf A, B, C or D:", "ABC")
    assert found.options == ("ice", "fog", "dew")
    assert found.with_options(["dew", "ice"]) == "One of (A) or (B)?\n(A) dew, (B) ice\nOf A, B, C or D:"


@pytest.mark.parametrize(
    ("scored_as", "expected"),
    [
        ("A B", "A B"),
        ("(A) (B)", "(A) (B)"),
        ("(A)ice (B)fog", "(A)fog (B)ice"),
        ("ice fog", "fog ice"),
        ("(A)ice; (B)fog.", "(A)fog; (B)ice."),
    ],
)
def test_what_is_scored(scored_as, expected):
    ends = ";." if ";" in scored_as else ("", "")
    texts = [re.sub("^[(].[)]", "", text) for text in scored_as.split()] if "ice" in scored_as else []
    found = printed_question("?\n(A)ice{}\n(B)fog{}\n:".format(*ends), "AB", texts)
    assert found is not None
    prompt = prompt_of(found, *scored_as.split())
    assert prompt.scored(["fog", "ice"]) == expected.split()
    assert prompt.scored(["ice", "fog"]) == scored_as.split()


def test_white_space_inside_an_option_stays():
    prompt = prompt_of(cut("?\nA. two  words\nB. fog\nAnswer:", "AB"), "A")
    assert prompt.render("?", ["fog", "two words"]) == "?\nA. fog\nB. two  words\nAnswer:"
    # The original of options that differ in white space only is the prompt.
    found = cut("?\nA. two  words\nB. two words\nAnswer:", "AB")
    assert prompt_of(found, "A").render("?", ["two words", "two words"]) == str(found)


TEXT = st.text("ABCab.()1: \n,", max_size=40)


@given(TEXT, st.lists(TEXT, min_size=2, max_size=4), TEXT)
def test_the_parts_are_the_prompt(stem, options, end):
    prompt = stem + "".join(f"\n{label}. {option}" for label, option in zip("ABCD", options, strict=False)) + end
    assert str(cut(prompt, "ABCD"[: len(options)])) == prompt
