import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.options import Options


def test_all_options():
    given = {"data_files": "my.jsonl", "questions": 10, "categories": ["biology", "physics"], "seed": -3}
    given |= {"nota_text": "None of these", "option_references": "ignore", "variants": 1}
    options = Options.from_metadata("cora_local", given)
    assert options == Options(("my.jsonl",), 10, ("biology", "physics"), -3, "None of these", "ignore", 1)
    assert set(options.changed()) == set(given)
    assert Options.from_metadata("cora_demo", None) == Options.from_metadata("cora_demo", {}) == Options()
    assert Options().changed() == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sed": 1}, "unknown option 'sed'. Did you mean 'seed'?"),
        ({1: 1}, "unknown option 1"),
        *((given, f"expected an object with options, got {given!r}") for given in ("seed=1", [])),
        *(({"seed": seed}, f"option 'seed' is {seed!r}, expected a whole number") for seed in ("1", True, 1.5)),
        *(({"questions": n}, f"option 'questions' is {n!r}, expected a whole number from 1") for n in (0, "all")),
        *(({"categories": names}, f"option 'categories' is {names}") for names in ([], [1])),
        ({"data_files": {"test": "x"}}, "option 'data_files' is {'test': 'x'}, expected a path, or a list of paths"),
        *(({"nota_text": text}, f"option 'nota_text' is {text!r}") for text in ("", "two\nlines", "\ud83d")),
        ({"skip_option_references": True}, "unknown option 'skip_option_references'. Did you mean 'option_references'"),
        ({"option_references": True}, "expected 'keep' or 'leave_out' or 'ignore'"),
        ({"request_seeds": "yes"}, "expected true or false"),
        *(({"variants": number}, f"option 'variants' is {number}, expected 1") for number in (2, True)),
    ],
)
def test_what_cannot_be_meant_is_an_error_that_says_how(given, message):
    with pytest.raises(UserError) as error:
        Options.from_metadata("cora_demo", given)
    assert str(error.value).startswith("cora_demo: ")
    assert message in str(error.value)
    assert """--metadata '{"cora": {""" in str(error.value)
