"""Options that refer to other options, in many languages, and options that only look so."""

import pytest

from lm_eval_cora.questions.references import references
from lm_eval_cora.runs.task_files import declaration
from tests.support.responses import pairs

ORDINARY = (
    *("Vitamins A and D", "Hepatitis A or B", "A", "none", "All", "The sky above us", "1 and 2 years", "Plan A"),
    *("One of the planets", "A and b-cells", "", "1-2", "1/2", "2 to 3", "1, 2", "to answer a question", "All day"),
    *("above average", "the other party", "alle Menschen", "todas las personas", "以上の人", "所有人", "A - B = C"),
    *("Y and Z", "D and E"),  # not printed with three options
)


@pytest.mark.parametrize(
    ("stem", "choices"),
    [
        ("1. Ice is wet. 2. Ice is cold. True are", ["the first", "no one", "1 and 2 only"]),
        ("Technician A says so, technician B does not. Right is", ["the first", "no one", "both A and B"]),
        ("Which of them?\nI. Ice\nII. Fog", ["no one", "each", "I and II only"]),
        ("Which of them?", ["A only", "B only", "A and B", "no one", "each"]),
        ("Which of them?", ["Vitamin A", "Vitamin B", "A and B", "no one"]),
        ("In which order?", ["A, B, C", "C, B, A", "B, A, C", "A, C, B"]),
        ("Which numbers?", ["2 and 6", "5 and 12", "6 and 10", "1 and 2"]),
    ],
)
def test_labels_that_name_something_else(stem, choices):
    assert not any(references((*choices,), stem))


ABOUT_ALL = (
    *("All of these options", "All the above", "All are correct", "All options are correct"),
    *("All of the above", "all of these are correct.", "All of the options given are correct", "Both", "Both of these"),
    *("Any of the above", "Alle der oben genannten", "Alle Antworten sind richtig", "Todas las anteriores", "둘 다"),
    *("Toutes les réponses ci-dessus", "entrambe le risposte", "Все варианты верны", "wszystkie powyższe", "以上都是"),
    *("tất cả các đáp án trên", "Hepsi doğru", "उपरोक्त सभी", "جميع ما سبق", "Alla ovan", "allt ovanstående", "ถูกทุกข้อ"),
    *("上記のすべて", "todas as anteriores", "alle bovenstaande", "semua benar", "上述选项都正确"),
)
ABOUT_NONE = (
    *(
        "None of these",
        "Neither of the above",
        "None of the above are correct",
        "Neither",
        "neither of these.",
        "No correct answer",
        "都不是",
    ),
    *(
        "Keine der genannten",
        "keins von beiden",
        "Aucune de ces réponses proposées",
        "żadne z powyższych",
        "둘 다 아님",
    ),
    *("以上都不对", "上記のどれも正しくない", "nenhuma das anteriores", "geen van deze", "ни один из вариантов"),
    *declaration("global_mmlu")["nota_text"].values(),
)
ABOUT_OTHERS = (
    *("Any of the above is acceptable", "A and C", "A, B", "(A), (B), and (C)", "A & B only", "Neither A nor B"),
    *("B and C are correct", "A/B", "A+B", "Same as option B", "both (a) and (b)", "a and b", "1 and 2 only"),
    *("A combination of a and b", "Both 1 and 2", "Options 1 & 2", "I and II only", "(i) and (ii)", "Same as A"),
    *("Statements 1 and 2", "The first and the third", "A but not B", "A to C", "Options A through C", "'A' & 'B'"),
    *("More than one of the above", "A und B sind richtig", "sowohl A als auch B", "A et B", "ambas A y B"),
    *("A e B estão corretas", "選択肢AとB", "A와 B"),
    *("Both A and B", "A and B only", "The first two", "any two of the above", "Same as above", "Some of the above"),
    *("All of the above are false", "All of the above except A", "None of the above; ice is warm", "Not A", "Option A"),
    *("Alle Antworten sind falsch", "die ersten beiden", "A und B", "alguna de las anteriores", "A和B", "前两项"),
)


KINDS = {"": ORDINARY, "all": ABOUT_ALL, "none": ABOUT_NONE, "other": ABOUT_OTHERS}


@pytest.mark.parametrize(("choice", "kind"), pairs(KINDS))
def test_what_an_option_refers_to(choice, kind):
    assert references(("red", "blue", choice), "Which?") == ("", "", kind)


@pytest.mark.parametrize(
    ("choices", "kinds"),
    [
        (("red", "All of these"), ("", "other")),  # red alone
        (("red", "blue", "pink", "Both of these"), ("", "", "", "other")),
        (("red", "blue", "Both", "Neither"), ("", "", "all", "none")),
        (("red", "None of these", "None of the above"), ("", "other", "other")),
        (("All of the above", "None of the above"), ("other", "other")),
        (("red", "blue", f"{'word ' * 20}, as all of these do"), ("", "", "")),
        (("red", "blue", f"All of these, because {'word ' * 20}"), ("", "", "other")),
    ],
)
def test_references_depend_on_the_other_options(choices, kinds):
    assert references(choices, "Which?") == kinds
