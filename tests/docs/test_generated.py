"""The script that writes parts of the documentation: the files are what it writes."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from lm_eval_cora.options import OPTIONS, Options
from lm_eval_cora.probes import PROBES
from lm_eval_cora.task_files import task_list

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script, imported by its path; `scripts` is not a package."""
    spec = importlib.util.spec_from_file_location("write_docs", ROOT / "scripts/write_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_those_of_the_script(script: ModuleType) -> None:
    changed = [str(path) for path, text in script.documents() if path.read_text(encoding="utf-8") != text]
    assert not changed, "run: PYTHONPATH=. python scripts/write_docs.py"


def test_the_files_name_the_script(script: ModuleType) -> None:
    pages = [path for path, _ in script.documents() if path.suffix == ".md"]
    assert ROOT / "docs/tasks.md" in pages
    assert all(path.read_text(encoding="utf-8").startswith("<!-- scripts/write_docs.py writes") for path in pages)


def test_the_examples_of_the_script_are_right(script: ModuleType) -> None:
    assert doctest.testmod(script).failed == 0


def test_every_table_is_on_a_page(script: ModuleType) -> None:
    text = (ROOT / "docs/tasks.md").read_text(encoding="utf-8")
    assert {found["name"] for found in script.TABLE.finditer(text)} == set(script.TABLES)


def test_every_task_and_option_is_in_a_table(script: ModuleType) -> None:
    links = script.benchmarks_table()
    tasks = [task for task in task_list() if (task.probe, task.form) == ("divergent", "generate")]
    assert all(f"[`{task.name}`]" in links for task in tasks)
    cells = [cell for row in script.variants_table().splitlines()[2:] for cell in row.strip("| ").split(" | ")[1:]]
    assert len([cell for cell in cells if cell.strip()]) == sum(task.form == "generate" for task in task_list())
    assert Options.names() >= set(OPTIONS)
    assert all(f"| `{name}` |" in script.options_table() for name in OPTIONS)
    assert {name for probe in PROBES.values() for name in probe.options} <= set(OPTIONS)


def test_every_default_is_written(script: ModuleType) -> None:
    cells = [row.strip("| ").split(" | ")[-1] for row in script.options_table().splitlines()[2:]]
    assert all(cells)
    assert not {"`null`", "`[]`", "`{}`"} & set(cells)


def test_a_table_is_written_again_and_the_text_around_it_stays(script: ModuleType) -> None:
    text = "# Page\n\n<!-- table: groups -->\nold\n<!-- end of table -->\n\nText.\n"
    new = script.with_tables(text)
    assert new.startswith("# Page\n\n<!-- table: groups -->\n\n| group | tasks |\n|---|---|\n| `cora` |")
    assert new.endswith(" |\n\n<!-- end of table -->\n\nText.\n")
    assert script.with_tables(new) == new


def documented(rows: list[str], *more: int, seed: int = 0, **others: str) -> list[int]:
    """Count rows.

    A second paragraph with `code`, and an example::

        raw | text

    Args:
        rows: The rows, on
            two lines.
        *more: Numbers.
        seed: A seed.
        **others: Texts.

    Returns:
        A list.

    Raises:
        ValueError: If a row is empty.

    Example:
        >>> documented([])
        []

    Source: this file.
    """
    return []


def test_a_docstring_becomes_markdown(script: ModuleType) -> None:
    text = "\n\n".join(script.function_part(script.Member("cora.documented", documented), "###"))
    assert text == inspect.cleandoc(
        """
        ### `cora.documented`

        ```python
        cora.documented(rows: list[str], *more: int, seed: int = 0, **others: str) -> list[int]
        ```

        Count rows.

        A second paragraph with `code`, and an example:

            raw | text

        **Arguments**

        - `rows`: The rows, on two lines.
        - `*more`: Numbers.
        - `seed`: A seed.
        - `**others`: Texts.

        **Returns**

        A list.

        **Raises**

        - `ValueError`: If a row is empty.

        **Example**

        ```python
        >>> documented([])
        []
        ```

        Source: this file.
        """
    )


def long(first: str, second: str, /, third: float | None = None, *, fourth: tuple[int, ...] = ()) -> dict[str, float]:
    """Have many arguments."""
    return {}


def test_a_long_signature_has_a_line_for_each_argument(script: ModuleType) -> None:
    assert script.signature("long", long).splitlines() == [
        "long(",
        "    first: str,",
        "    second: str,",
        "    /,",
        "    third: float | None = None,",
        "    *,",
        "    fourth: tuple[int, ...] = (),",
        ") -> dict[str, float]",
    ]
