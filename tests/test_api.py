"""The public names: imported when they are used, documented, and the only ones."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys

import pytest

import lm_eval_cora as cora
from lm_eval_cora.runs.answer_columns import COLUMNS


def test_importing_the_package_imports_nothing_else() -> None:
    """The start-up module imports it with the harness."""
    code = (
        "import sys; import lm_eval_cora; "
        "print([m for m in sys.modules if m.startswith(('lm_eval', 'numpy', 'pandas', 'datasets'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "['lm_eval_cora']"


def test_scoring_a_table_does_not_import_the_harness() -> None:
    code = (
        "import sys; import lm_eval_cora as cora; cora.score([{'question': 1, 'variant': 1, 'correct': True}]); "
        "v = cora.expand([{'question': 'a?', 'choices': ['yes', 'no'], 'answer': 'yes'}]); "
        "cora.read(v, ['A'] * len(v)); "
        "print([m for m in ('lm_eval', 'datasets', 'torch', 'transformers') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


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
