import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.adapters import MATH, SUBSETS, agieval_question, math_question, subject_of, subset_of
from lm_eval_cora.questions.latex import boxes
from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import OpenQuestion, UnusableQuestion


def row(before, choices, gold=1, subset="lsat-lr"):
    last = "ABCDE"[len(choices) - 1]
    query = f"{before} Answer Choices: {' '.join(choices)}\nA: Among A through {last}, the answer is"
    return {"query": query, "choices": choices, "gold": gold, "subset": subset}


PLAIN = ["(A)Steam", "(B)Ice", "(C)Fog", "(D)Dew"]


def test_the_passage_belongs_to_the_stem_and_the_options_do_not():
    question = agieval_question(row("Water freezes.\nIt melts, too.Q: Which is frozen?", PLAIN, [1]), "lsat-lr-test-0")
    assert question.stem == "Water freezes.\nIt melts, too.\nWhich is frozen?"
    assert question.choices == ("Steam", "Ice", "Fog", "Dew")
    assert (question.id, question.answer, question.category) == ("lsat-lr-test-0", 1, "lsat-lr")
    assert question.cluster == "Water freezes.\nIt melts, too."
    # The query may print the options in another way.
    spaced = {**row("Q: Which is frozen?", PLAIN), "choices": ["(A) Steam", "(B) Ice", "(C) Fog", "(D) Dew"]}
    found = agieval_question(spaced, "")
    assert (found.stem, found.cluster, found.choices) == ("Which is frozen?", "", question.choices)


@pytest.mark.parametrize(
    ("before", "stem"),
    [
        ("Q: Which is frozen?", "Which is frozen?"),
        ("They were all of one mindQ: Which is frozen?", "They were all of one mind\nWhich is frozen?"),
        # These texts contain no joined passage and question, so they stay unchanged.
        ("Which IQ: 100 or 120?", "Which IQ: 100 or 120?"),
        ("A dialogue. Q: Why?", "A dialogue. Q: Why?"),
        # After a leading "Q: " the text is the question.
        ("Q: A dialogue.Q: Why?", "A dialogue.Q: Why?"),
        ("Q: It reads Answer Choices: yes or no. Which?", "It reads Answer Choices: yes or no. Which?"),
        # With two matches the start of the question is unknown.
        ("An interview.Q: Who?\nNo answer.Q: Which is frozen?", "An interview.Q: Who?\nNo answer.Q: Which is frozen?"),
    ],
)
def test_where_the_question_begins(before, stem):
    assert agieval_question(row(before, PLAIN), "").stem == stem


def test_letters_of_options_and_gold_as_text():
    # The article stays.
    printed = ["(A)A fall", "A rise", "(C) A (C)", "(D)(A) and (B)"]
    assert agieval_question(row("Q: Which?", printed), "").choices == ("A fall", "A rise", "A (C)", "(A) and (B)")
    # These are not their own letters.
    assert agieval_question(row("Q: Which?", ["(B)one", "(A)two"]), "").choices == ("(B)one", "(A)two")
    # In a csv file
    assert agieval_question(row("Q: Which?", PLAIN, "[3]"), "").answer == 3
    assert agieval_question({**row("Q: Which?", PLAIN, "2"), "subset": ""}, "").answer == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        *(({"gold": gold}, "no single right answer") for gold in ([0, 1], [])),
        ({"gold": [4]}, "an answer outside the options: gold 4"),
        ({"query": "Which is frozen?"}, "a query without its options"),
        ({"query": None}, "a question that is not text"),
        ({"choices": "(A)Ice (B)Fog"}, "options that are not a list"),
    ],
)
def test_rows_that_cannot_be_asked(changed, message):
    with pytest.raises(UnusableQuestion, match=message):
        agieval_question({**row("Q: Which?", PLAIN), **changed}, "")


def test_the_subset_is_in_the_row_or_the_name_of_the_source():
    assert [subset_of(f"hails/agieval-{subset}", {}) for subset in SUBSETS] == list(SUBSETS)
    assert subset_of("/data/sat-math/lsat-ar.jsonl", {}) == "lsat-ar"
    assert subset_of("/data/sat-math/all.jsonl", {"subset": "lsat-rc"}) == "lsat-rc"
    assert subset_of("/data/sat-math/all.csv", {"subset": ""}) == "sat-math"
    for unknown in ({}, {"subset": None}, {"subset": "gaokao"}):
        with pytest.raises(UserError, match=r"agieval: mine.jsonl: .*'subset'"):
            subset_of("mine.jsonl", unknown)


def test_repairs_of_agieval():
    line = "larger than the.brains of others, and.so on "
    query = line * 10 + "in 0.7 U.S. foil-.covered back..“Indeed”"
    damaged = agieval_question(row(query, ["(A)one", "(B)two"]), "").stem
    assert damaged == "larger than the brains of others, and so on " * 10 + "in 0.7 U.S. foil-covered back.\n“Indeed”"
    # A single match may be a typing error or a web address.
    assert agieval_question(row(line, ["(A)one", "(B)two"]), "").stem == line.strip()
    options = agieval_question(row("Which?", ["(A)(A)$\\quad 5$", "(B)(B)a DIRECTIONS"]), "").choices
    assert options == ("$\\quad 5$", "a")


def solved(solution, problem="What is $1 + 1$?", **more):
    return {"problem": problem, "level": "Level 2", "type": "Intermediate Algebra", "solution": solution, **more}


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        *(("no box", []), (r"$\boxed{-2}$ or $\boxed{1}$", ["-2", "1"])),
        (r"\fbox{1} \boxed 2", ["1", "2"]),
        (r"\boxed{\boxed{1} and 2} \boxed{3}", [r"\boxed{1} and 2", "3"]),
        *((r"\boxed{1} \boxed{2", ["1"]), (r"\boxed{} \boxed{3}", ["", "3"])),
    ],
)
def test_all_boxes(text, contents):
    assert boxes(text) == contents


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        *((rf"It is $\boxed{{{answer}}}$.", answer) for answer in ("2", r"\left\{1, 2\right\}", r"\text{Friday}")),
        # Several boxes are a list of answers without repeats.
        (r"So $x$ is $\boxed{3}$ or $\boxed{\frac{2}{5}}$.", r"3, \frac{2}{5}"),
        (r"Either way $\boxed{3}$; again $\boxed{3}$.", "3"),
        (r"so $\boxed{\frac{3}{2}}$, or $\boxed{\frac32}$", r"\frac{3}{2}"),
        (r"$\boxed{10\sqrt{2}}$ and $\boxed{10\sqrt 2}$", r"10\sqrt{2}"),
        (r"$\boxed{\frac12}$ or $\boxed{1}$, the first is $\boxed{\frac{1}{2}}$", r"\frac12, 1"),
    ],
)
def test_the_answer_is_what_is_boxed(solution, answer):
    expected = OpenQuestion("algebra-test-0", "What is $1 + 1$?", answer, "Level 2")
    assert math_question(solved(solution), "algebra-test-0") == expected


def test_a_problem_whose_solution_boxes_more_than_its_answer():
    begins = "Find the coordinates of one of the foci of the hyperbola \\[x^2 - 10x = 4y^2 - 5.\\] (...)"
    solution = r"They are $\boxed{(0,0)}$ and $\boxed{(10,0)}$."
    assert math_question(solved(solution, begins), "").answer == "(0,0)"
    # A solution with one box is not corrected.
    assert math_question(solved(r"$\boxed{(10,0)}$", begins), "").answer == "(10,0)"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        *((solved(f"It is {text}"), "a solution without a box") for text in ("2.", r"$\boxed{}$.", r"$\boxed{2")),
        (solved(None), "a problem or solution that is not text"),
        (solved(r"$\boxed{2}$", None), "a problem or solution that is not text"),
        (solved(r"$\boxed{2}$", " "), "empty stem"),
        (solved("$\\boxed{\ud83d}$"), "text that is not valid Unicode"),
    ],
)
def test_a_row_that_cannot_be_asked(bad, reason):
    with pytest.raises(UnusableQuestion) as raised:
        math_question(bad, "q")
    assert raised.value.reason == reason


def test_columns_of_math():
    # Subjects are called as on the hub.
    assert subject_of("x.jsonl", {"type": "Counting & Probability"}) == "counting_and_probability"
    with pytest.raises(UserError, match="math: row 1: no column 'level'"):
        collect_questions(MATH, [("row 1", {"problem": "?", "type": "Algebra", "solution": ""})], id_prefix="test")
