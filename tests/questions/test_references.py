"""Options that refer to other options, in many languages, and options that only look so."""

import pytest

from lm_eval_cora.discovery.task_files import declaration
from lm_eval_cora.questions.references import refers_to_options

REFERENCES = (
    *("All of the above", "all of the above.", "None of the above", "None of these", "All of these options"),
    *("Both of these", "Neither of the above", "Any of the above is acceptable", "All the above", "Both A and B"),
    *("A and C", "A, B", "(A), (B), and (C)", "A & B only", "Neither A nor B", "B and C are correct", "A/B", "A+B"),
    *("Same as option B", "All are correct", "Both", "neither.", "The first two", "All options are correct"),
    *("both (a) and (b)", "a and b", "A combination of a and b", "1 and 2 only", "Both 1 and 2", "Options 1 & 2"),
    *("I and II only", "(i) and (ii)", "Statements 1 and 2", "The first and the third", "No correct answer"),
    *("Not A", "Same as A", "A but not B", "A to C", "Options A through C", "More than one of the above", "'A' & 'B'"),
    *("Alle der oben genannten", "A und B sind richtig", "sowohl A als auch B", "Toutes les réponses ci-dessus"),
    *("A et B", "Todas las anteriores", "ambas A y B", "A e B estão corretas", "entrambe le risposte"),
    *("Все варианты верны", "wszystkie powyższe", "以上都是", "A和B", "選択肢AとB", "둘 다", "A와 B", "ถูกทุกข้อ"),
    *("tất cả các đáp án trên", "Hepsi doğru", "उपरोक्त सभी", "جميع ما سبق", "Alla ovan", "allt ovanstående"),
    *declaration("global_mmlu")["nota_text"].values(),
)
ORDINARY = (
    *("Vitamins A and D", "Hepatitis A or B", "A", "none", "All", "The sky above us", "1 and 2 years", "Plan A"),
    *("One of the planets", "A and b-cells", "", "1-2", "1/2", "2 to 3", "1, 2", "to answer a question", "All day"),
    *("above average", "the other party", "alle Menschen", "todas las personas", "以上の人", "所有人", "A - B = C"),
    *("Y and Z", "D and E"),  # not printed with three options
)


@pytest.mark.parametrize("choice", REFERENCES + ORDINARY)
def test_an_option_refers_to_others(choice):
    assert refers_to_options(["red", "blue", choice], "Which?") == (choice in REFERENCES)


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
    assert not refers_to_options(choices, stem)
