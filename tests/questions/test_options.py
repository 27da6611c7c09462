from __future__ import annotations

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.options import Options


def test_all_options() -> None:
    given = {"data_files": "my.jsonl", "questions": 10, "categories": ["biology", "physics"], "seed": -3}
    given |= {"nota_text": "None of these", "skip_option_references": True, "variants": 1}
    options = Options.from_metadata("cora_local", given)
    assert options == Options(("my.jsonl",), 10, ("biology", "physics"), -3, "None of these", True, 1)
    assert set(options.changed()) == set(given)
    assert Options.from_metadata("cora_demo", None) == Options.from_metadata("cora_demo", {}) == Options()
    assert Options().changed() == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sed": 1}, "unknown option 'sed'. Did you mean 'seed'?"),
        ({"question_count": 1}, "unknown option 'question_count'. Did you mean 'questions'"),
        ({1: 1}, "unknown option 1"),
        ("seed=1", "expected an object with options, got 'seed=1'"),
        ([], "expected an object with options, got []"),
        ({"seed": "1"}, "option 'seed' is '1', expected a whole number"),
        ({"seed": True}, "option 'seed' is True"),
        ({"seed": 1.5}, "option 'seed' is 1.5"),
        ({"questions": 0}, "option 'questions' is 0, expected a whole number from 1"),
        ({"questions": "all"}, "option 'questions' is 'all'"),
        ({"categories": []}, "option 'categories' is []"),
        ({"categories": [1]}, "option 'categories' is [1]"),
        ({"data_files": {"test": "x"}}, "option 'data_files' is {'test': 'x'}, expected a path, or a list of paths"),
        ({"nota_text": ""}, "option 'nota_text' is ''"),
        ({"nota_text": "two\nlines"}, "option 'nota_text' is"),
        ({"nota_text": "\ud83d"}, "option 'nota_text' is"),
        ({"skip_option_references": "yes"}, "expected true or false"),
        ({"variants": 2}, "option 'variants' is 2, expected 1"),
        ({"variants": True}, "option 'variants' is True"),
    ],
)
def test_what_cannot_be_meant_is_an_error_that_says_how(given: object, message: str) -> None:
    with pytest.raises(UserError) as error:
        Options.from_metadata("cora_demo", given)
    assert str(error.value).startswith("cora_demo: ")
    assert message in str(error.value)
    assert """--metadata '{"cora": {""" in str(error.value)
