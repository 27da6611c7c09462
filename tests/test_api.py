"""The public names: imported when they are used, documented, and the only ones."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys

import pytest

import lm_eval_cora as cora
from lm_eval_cora.runs.answer_columns import COLUMNS

CODE = """
import sys
import lm_eval_cora as cora
print([name for name in sys.modules if name.startswith(("lm_eval", "numpy", "pandas", "datasets"))])
cora.score([{"question": 1, "variant": 1, "correct": True}])
variants = cora.expand([{"question": "a?", "choices": ["yes", "no"], "answer": "yes"}])
cora.read(variants, ["A"] * len(variants))
print([name for name in ("lm_eval", "datasets", "torch", "transformers") if name in sys.modules])
"""


def test_the_package_imports_nothing_before_it_is_used_and_never_the_harness() -> None:
    """The start-up module imports it with the harness."""
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    assert found == "['lm_eval_cora']\n[]\n"


def test_dir_lists_the_public_names() -> None:
    assert set(dir(cora)) == {*cora.__all__, "__version__"}
    with pytest.raises(AttributeError, match="'scores_of'"):
        cora.scores_of  # noqa: B018


@pytest.mark.parametrize("name", cora.__all__)
def test_every_public_name_has_help(name: str) -> None:
    found = getattr(cora, name)
    text = pydoc.plain(pydoc.render_doc(found))
    assert inspect.getdoc(found)
    if inspect.isfunction(found):
        assert "Args:" in text or name == "tasks_folder"
        assert "Returns:" in text
        hints = inspect.signature(found)
        assert hints.return_annotation is not inspect.Signature.empty
        assert all(one.annotation is not inspect.Parameter.empty for one in hints.parameters.values())


def test_help_of_the_package_lists_the_functions() -> None:
    text = pydoc.plain(pydoc.render_doc(cora))
    for name in ("score", "compare", "expand", "read", "read_runs"):
        assert f"{name}(" in text


def test_every_column_is_an_argument_of_score() -> None:
    assert list(inspect.signature(cora.score).parameters) == ["data", *COLUMNS]
