"""Templates, and the prompts of the answer formats."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.abstain import abstain
from lm_eval_cora.variants.choices_only import choices_only
from lm_eval_cora.variants.divergent import divergent
from lm_eval_cora.variants.label_styles import labels
from lm_eval_cora.variants.plus import plus
from lm_eval_cora.variants.revas import revas
from lm_eval_cora.variants.template import (
    LETTER,
    SELECT_ALL,
    YES_NO,
    Template,
    make_templates,
    own_templates,
    place_of_question,
    prompt_of,
)

GOOD = {"prompt": "{question}{options}"}
UNKNOWN = ("{choices}", "{}", "{0}", "{question.__class__}", "{question[0]}", "{question!r}", "{letters:>9}")
BRIEF = {"name": "brief", "prompt": "Now: {question}{options}"}


def made(*entries, has_options=True):
    return [template.name for template in make_templates(list(entries), has_options=has_options).all]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        *((entry, f"'prompt', got {entry!r}") for entry in ("{question}{options}", None, {"name": "x"})),
        *(({**GOOD, key: "x"}, f"unknown key {key!r}. The keys are: fixed, name, opt") for key in ("text", 5)),
        *(({**GOOD, key: "\ud83d"}, f"key {key!r} is '\\ud83d', expected a text") for key in ("name", "prompt")),
        *(({**GOOD, "name": name}, f"key 'name' is {name!r}, expected a text of one line") for name in (" ", 5)),
        ({**GOOD, "options_format": None}, "key 'options_format' is None, expected a text"),
        ({"prompt": "{options}"}, "expected {question} once, it stands there 0 times"),
        ({"prompt": "{question}"}, "expected {options} once, it stands there 0 times"),
        ({"prompt": "{question}{options}{question}"}, "expected {question} once, it stands there 2 times"),
        *(
            ({"prompt": GOOD["prompt"] + field}, f"unknown field {field}; expected {{category}}, {{letters}}, ")
            for field in UNKNOWN
        ),
        *(({"prompt": GOOD["prompt"] + brace}, f"Single '{brace}' encountered in format string") for brace in "{}"),
        ({**GOOD, "options_format": "{letter}"}, "'options_format': expected {option} once, it stands there 0 times"),
        ({**GOOD, "options_format": "{letter}{option}{option}"}, "once, it stands there 2 times"),
        *(
            ({**GOOD, "options_format": "{letter}{option}" + field}, f"unknown field {field}; expected {{letter}}, ")
            for field in ("{question}", "{option.__class__}")
        ),
    ],
)
def test_an_invalid_template_is_an_error(entry, message):
    # The message has the number of the template, what was expected and what was found.
    with pytest.raises(UserError) as error:
        made(BRIEF, entry)
    assert str(error.value).startswith("template 2: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        *((entries, "expected a list of templates, got ") for entries in (None, [], {}, "x", {"a": [GOOD]}, (GOOD,))),
        ([BRIEF, {**BRIEF, "name": " brief "}], "two templates have the same name: brief, brief"),
        ([{**BRIEF, "fixed": True}, {**GOOD, "fixed": True}], "at most one .*'fixed'.* got 2"),
    ],
)
def test_templates_that_are_no_list_or_conflict(entries, message):
    with pytest.raises(UserError, match=message):
        make_templates(entries, has_options=True)


def test_the_fixed_template_is_the_marked_one_or_the_first():
    assert make_templates([GOOD, BRIEF], has_options=True).fixed.name == "1_question_last"
    assert make_templates([GOOD, {**BRIEF, "fixed": True}], has_options=True).fixed.name == "brief"
    # Templates for open questions have no options.
    assert made({"prompt": "Solve: {question}"}, has_options=False) == ["1_question_last"]
    with pytest.raises(UserError, match=r"template 1: .*unknown field \{options\}"):
        made(GOOD, has_options=False)


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        *((f"{{question}}{rest}", "question_first") for rest in ("{options}\nWhich one?", "\nWhich one?{options}")),
        ("Exam question: {question}{options} Go.", "question_first"),  # a label is not an instruction
        ("Read this and choose: {question}{options} Go.", "question_middle"),
        ("Which one is right?\n{question}{options}\n", "question_last"),
        ("{question}{options}", "question_last"),
        ("{question}{options}\nThink Step-by-Step.", "question_first_step_by_step"),
    ],
)
def test_default_names_tell_where_the_question_is(prompt, name):
    assert place_of_question(prompt) == name
    assert made(BRIEF, {"prompt": prompt}) == ["brief", f"2_{name}"]


@given(st.text(min_size=1), st.lists(st.text(), min_size=2, max_size=26), st.text())
@example("What is {letters} in {0!r}?", ["{question.__class__}", "{{}}"], "")
def test_texts_are_printed_unchanged(stem, choices, category):
    template = Template("x", "<{question}|{options}|{letters}|{category}>", "[{letter}={option}]")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(choices)]
    options = "".join(f"[{letter}={choice}]" for letter, choice in zip(letters, choices, strict=True))
    named = ", ".join(letters[:-1]) + " or " + letters[-1]
    assert template.render(stem, choices, category) == f"<{stem}|{options}|{named}|{category}>"
    assert str(template) == "x"


def test_doubled_braces_of_a_template_are_printed_once():
    (template,) = make_templates([{"prompt": r"{question} In \boxed{{}}, please."}], has_options=False).all
    assert template.render("How many?", []) == r"How many? In \boxed{}, please."


# ---- the prompts change scores: if you change one on purpose, raise the version of its tasks
KEPT = Path(__file__).parents[1] / "prompts"
QUESTION = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
OF_FIVE = replace(QUESTION, choices=(*QUESTION.choices, "Rain"))
FIRST_OF_KIND = {
    (probe, variant.kind): variant
    for probe, variants in (
        *(("divergent", divergent(OF_FIVE)), ("plus", plus(QUESTION)), ("revas", revas(QUESTION))),
        *(("labels", labels(QUESTION)), ("choices_only", choices_only(QUESTION)), ("abstain", abstain(QUESTION))),
    )
    for variant in reversed(variants)
}


def kept(name):
    return (KEPT / f"{name}.txt").read_text()


def prompt(ask, choices, text="Which?", *, instruct=True):
    return prompt_of({"ask": ask, "question": text, "choices": choices}, instruct=instruct)


@pytest.mark.parametrize(
    ("probe", "kind"),
    [
        *(key for key in FIRST_OF_KIND if key[0] == "divergent"),
        *(("plus", kind) for kind in ("shuffled", "options_2", "options_6", "nota_answer")),
        *(("revas", kind) for kind in ("options_10_shuffled", "nota_answer", "nota_answer_shuffled", "replaced")),
        *(("revas", kind) for kind in ("true_or_false_right", "true_or_false_wrong", "select_all")),
        *(("labels", kind) for kind in ("lower_case", "numbers", "roman", "symbols", "none")),
        *(("abstain", kind) for kind in ("abstain", "abstain_warned")),
        ("choices_only", "choices_only"),
    ],
)
def test_prompt_of_each_kind(probe, kind):
    assert FIRST_OF_KIND[probe, kind].prompt == kept(f"{probe}_{kind}")


def test_text_before_scored_answers():
    asked = (("revas", "true_or_false_right", "true_or_false"), ("plus", "options_6", "options_6"))
    hidden = ("choices_only", "choices_only", "choices_only")
    for probe, kind, name in (*asked, hidden, ("labels", "roman", "roman"), ("labels", "none", "none")):
        assert prompt_of(vars(FIRST_OF_KIND[probe, kind]), instruct=False) == kept(f"scored_{name}")


@pytest.mark.parametrize("template", own_templates().all, ids=str)
def test_our_own_ten_templates(template):
    # The templates of SCORE are not kept here, because they are read from the installed harness.
    assert template.render(QUESTION.stem, QUESTION.choices) == kept(f"prompts_{template.name}")


def test_the_instruction_names_the_printed_letters():
    every = list(map(str, range(26)))
    for count, letters in ((3, "(A, B or C)"), (26, "Y or Z)")):
        assert letters in prompt(LETTER, every[:count])
    for count, letters in ((2, "(one or more of A and B)"), (3, "(one or more of A, B and C)"), (26, "Y and Z)")):
        assert letters in prompt(SELECT_ALL, every[:count])
    for instruct in (True, False):
        with pytest.raises(ValueError, match="longer"):
            prompt(LETTER, [*every, "27"], instruct=instruct)


@pytest.mark.parametrize(
    "text",
    [
        *("$\\frac{1}{2}$ {{ 7 * 7 }}", "{% raw %}", "{# gone? #}", "<b>&amp;</b>", "\"quoted\" 'text'", "two\nlines "),
        *(" \t indented", "שלום", "x" * 30_000),
    ],
)
def test_question_and_options_reach_the_model_unchanged(text):
    claim = f"Question: {text}\nProposed answer: {text}\nIs this the right answer to the question, yes or no?\nAnswer:"
    block = f"Question: {text}\nChoices:\nA. {text}\nB. other\nAnswer:"
    for ask in (YES_NO, LETTER, SELECT_ALL):
        choices, expected = ([text], claim) if ask == YES_NO else ([text, "other"], block)
        assert prompt(ask, choices, text, instruct=False) == expected
        instruction, _, rest = prompt(ask, choices, text).partition("\n\n")
        assert rest == expected
        assert ask != YES_NO or instruction == kept("revas_true_or_false_wrong").partition("\n\n")[0]
