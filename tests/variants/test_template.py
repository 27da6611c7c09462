from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.errors import UserError
from lm_eval_cora.variants.template import Template, make_templates, own_templates, place_of_question

GOOD = {"prompt": "{question}{options}"}
BRIEF = {"name": "brief", "prompt": "Now: {question}{options}"}


def made(*entries: Any, has_options: bool = True) -> list[str]:
    return [template.name for template in make_templates(list(entries), has_options=has_options).all]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        *(("{question}{options}", "'prompt', got '{question}{options}'"), (None, "'prompt', got None")),
        *(({"name": "x"}, "'prompt', got {'name': 'x'}"), ({"prompt": 5}, "'prompt', got {'prompt': 5}")),
        ({**GOOD, "text": "x"}, "unknown key 'text'; expected fixed, name, options_format, prompt"),
        *(({**GOOD, 5: "x"}, "unknown key '5'"), ({**GOOD, "name": ""}, "'options_format', got '' and ")),
        ({**GOOD, "name": " "}, "'options_format', got ' ' and "),
        ({**GOOD, "name": 5}, "'options_format', got 5 and "),
        ({**GOOD, "options_format": None}, "'options_format', got '2_question_last' and None"),
        ({**GOOD, "name": "\ud83d"}, "text that is not valid Unicode"),
        ({"prompt": "{question}{options}\ud83d"}, "text that is not valid Unicode"),
        ({"prompt": "{options}"}, "expected {question} 1 times, it stands there 0"),
        ({"prompt": "{question}"}, "expected {options} 1 times, it stands there 0"),
        ({"prompt": "{question}{options}{question}"}, "expected {question} 1 times, it stands there 2"),
        ({"prompt": "{question}{options}{choices}"}, "unknown field {choices}; expected {category}, {letters}, "),
        ({"prompt": "{question}{options} {}"}, "unknown field {}; expected"),
        ({"prompt": "{question}{options} {0}"}, "unknown field {0}; expected"),
        ({"prompt": r"{question}{options} \boxed{x}"}, "unknown field {x}; expected {category}, "),
        ({"prompt": "{question}{options} {"}, "Single '{' encountered in format string"),
        ({"prompt": "{question}{options} }"}, "Single '}' encountered in format string"),
        ({**GOOD, "options_format": "{letter}"}, "{letter} and {option} once each, got '{letter}'"),
        ({**GOOD, "options_format": "{letter}{option}{option}"}, "once each, got '{letter}{option}{option}'"),
        ({**GOOD, "options_format": "{letter}{option}{question}"}, "unknown field {question}; expected {letter}, "),
    ],
)
def test_an_invalid_template_is_an_error(entry: Any, message: str) -> None:
    # The message has the number of the template, what was expected and what was found.
    with pytest.raises(UserError) as error:
        made(BRIEF, entry)
    assert str(error.value).startswith("template 2: ")
    assert message in str(error.value)


@pytest.mark.parametrize("field", ["question.__class__", "question[0]", "question!r", "question:>9", "letters.x"])
def test_a_field_must_be_a_bare_name(field: str) -> None:
    braces = f"{{{field}}}"
    for prompt in (f"{{question}}{{options}}{braces}", f"{braces}{{options}}"):
        with pytest.raises(UserError, match="template 1: unknown field"):
            made({"prompt": prompt})
    with pytest.raises(UserError, match="template 1: unknown field"):
        made({**GOOD, "options_format": "{letter}{option}{option.__class__}"})


@pytest.mark.parametrize("entries", [None, [], {}, "x", {"prompt_robustness": [GOOD]}, (GOOD,)])
def test_templates_must_be_a_list_with_entries(entries: object) -> None:
    with pytest.raises(UserError, match="expected a list of templates, got "):
        make_templates(entries, has_options=True)


def test_templates_that_conflict() -> None:
    with pytest.raises(UserError, match="two templates have the same name: brief, brief"):
        made(BRIEF, {**BRIEF, "name": " brief "})
    with pytest.raises(UserError, match=r"at most one .*'fixed'.* got 2"):
        made({**BRIEF, "fixed": True}, {**GOOD, "fixed": True})


def test_templates_for_open_questions_have_no_options() -> None:
    assert made({"prompt": "Solve: {question}"}, has_options=False) == ["1_question_last"]
    with pytest.raises(UserError, match=r"template 1: .*\{options\} 0 .* 1"):
        made(GOOD, has_options=False)


def test_the_fixed_template_is_the_marked_one_or_the_first() -> None:
    assert make_templates([GOOD, BRIEF], has_options=True).fixed.name == "1_question_last"
    assert make_templates([GOOD, {**BRIEF, "fixed": True}], has_options=True).fixed.name == "brief"
    assert make_templates([{**GOOD, "fixed": False}, BRIEF], has_options=True).fixed.name == "1_question_last"


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("{question}{options}\nWhich one?", "question_first"),
        ("{question}\nWhich one?{options}", "question_first"),
        ("Question: {question}{options} Go.", "question_first"),  # a label is not an instruction
        ("Read this and choose: {question}{options} Go.", "question_middle"),
        ("Which one is right?\n{question}{options}\n", "question_last"),
        ("{question}{options}", "question_last"),
        ("{question}{options}\nThink Step-by-Step.", "question_first_step_by_step"),
    ],
)
def test_default_names_tell_where_the_question_is(prompt: str, name: str) -> None:
    assert place_of_question(prompt) == name
    assert made(BRIEF, {"prompt": prompt}) == ["brief", f"2_{name}"]


@given(st.text(min_size=1), st.lists(st.text(), min_size=2, max_size=26), st.text())
def test_texts_are_printed_unchanged(stem: str, choices: list[str], category: str) -> None:
    template = Template("x", "<{question}|{options}|{letters}|{category}>", "[{letter}={option}]")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(choices)]
    options = "".join(f"[{letter}={choice}]" for letter, choice in zip(letters, choices, strict=True))
    named = ", ".join(letters[:-1]) + " or " + letters[-1]
    assert template.render(stem, choices, category) == f"<{stem}|{options}|{named}|{category}>"


def test_braces_in_a_question_are_text() -> None:
    prompt = own_templates().fixed.render(
        "What is {letters} in {0!r}?", ["{question.__class__}", "{{}}", r"\frac{1}{2}"]
    )
    assert "Question: What is {letters} in {0!r}?\nA. {question.__class__}\nB. {{}}\nC. \\frac{1}{2}\n" in prompt
    assert prompt.endswith("<letter> is one of A, B or C.")


def test_doubled_braces_of_a_template_are_printed_once() -> None:
    (template,) = make_templates([{"prompt": r"{question} In \boxed{{}}, please."}], has_options=False).all
    assert template.render("How many?", []) == r"How many? In \boxed{}, please."


def test_how_options_are_printed() -> None:
    (template,) = make_templates([{**GOOD, "options_format": " ({letter}) {option}"}], has_options=True).all
    assert template.render("Which?", ["Ice", "Fog"]) == "Which? (A) Ice (B) Fog"
    assert str(template) == template.name == "1_question_last"


def test_our_own_templates() -> None:
    templates = own_templates()
    assert len({template.name for template in templates.all}) == 10
    assert len({template.prompt for template in templates.all}) == 10
    assert templates.fixed in templates.all
    for template in templates.all:
        for field in ("{question}", "{options}", "{letters}"):
            assert template.prompt.count(field) == 1
        assert template.prompt.count("best answer is") == 1
        # The name fits the wording.
        assert template.name.startswith(place_of_question(template.prompt).removesuffix("_step_by_step"))
        assert template.name.endswith("step_by_step") == place_of_question(template.prompt).endswith("step_by_step")


def test_our_own_templates_vary_as_those_of_the_paper() -> None:
    # SCORE, section 3.2: the question first, in the middle or last, with and without step by step.
    places = [place_of_question(template.prompt) for template in own_templates().all]
    for place in ("question_first", "question_middle", "question_last"):
        assert place in places
        assert f"{place}_step_by_step" in places
