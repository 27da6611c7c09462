"""The script that writes parts of the documentation: the files are what it writes."""

import doctest
import runpy
from pathlib import Path

from lm_eval_cora.questions.options import OPTIONS, Options
from lm_eval_cora.runs.task_files import task_list
from lm_eval_cora.variants.probes import PROBES
from scripts import docs_api, docs_tables, write_docs

ROOT = Path(__file__).parents[2]


def test_the_files_are_those_of_the_script_and_name_it():
    texts = dict(write_docs.documents())
    changed = [str(path) for path, text in texts.items() if path.read_text() != text]
    assert not changed, "run: PYTHONPATH=. python scripts/write_docs.py"
    pages = [path for path in texts if path.suffix == ".md"]
    assert all(texts[path].startswith("<!-- scripts/write_docs.py writes") for path in pages)
    tables = {found["name"] for text in texts.values() for found in write_docs.TABLE.finditer(text)}
    assert tables == set(docs_tables.TABLES)


def test_the_examples_of_the_script_are_right():
    found = doctest.testmod(docs_api)
    assert found.failed == 0 < found.attempted


def test_the_pictures_show_the_variants_that_the_package_makes():
    drawn = runpy.run_path(str(ROOT / "scripts/draw_overview.py"))["pictures"]()
    assert {path: path.read_text() for path in drawn} == drawn, "run: python scripts/draw_overview.py"


def test_every_task_option_and_default_is_in_a_table():
    links = docs_tables.benchmarks_table()
    tasks = [task for task in task_list() if (task.probe, task.form) == ("divergent", "generate")]
    assert all(f"[`{task.name}`]" in links for task in tasks)
    cells = [cell for row in docs_tables.variants_table().splitlines()[2:] for cell in row.strip("| ").split(" | ")[1:]]
    assert len([cell for cell in cells if cell.strip()]) == sum(task.form == "generate" for task in task_list())
    assert Options.names() >= set(OPTIONS)
    assert all(f"| `{name}` |" in docs_tables.options_table() for name in OPTIONS)
    assert {name for probe in PROBES.values() for name in probe.options} <= set(OPTIONS)
    cells = [row.strip("| ").split(" | ")[-1] for row in docs_tables.options_table().splitlines()[2:]]
    assert all(cells)
    assert not {"`null`", "`[]`", "`{}`"} & set(cells)


def test_a_table_is_written_again_and_the_text_around_it_stays():
    text = "# Page\n\n<!-- table: groups -->\nold\n<!-- end of table -->\n\nText.\n"
    new = write_docs.with_tables(text)
    assert new.startswith("# Page\n\n<!-- table: groups -->\n\n| group | tasks |\n|---|---|\n| `cora` |")
    assert new.endswith(" |\n\n<!-- end of table -->\n\nText.\n")
    assert write_docs.with_tables(new) == new


def documented(rows: list[str], *more: int, seed: int = 0) -> list[int]:
    """Count rows, with `code`, and an example::

        raw | text

    Args:
        rows: The rows, on
            two lines.
        *more: Numbers.

    Raises:
        ValueError: If a row is empty.

    Example:
        >>> documented([])
        []

    Source: this file.
    """
    return []


def test_a_docstring_becomes_markdown():
    parts = docs_api.function_part(docs_api.Member("cora.documented", documented), "###")
    assert parts == [
        "### `cora.documented`",
        "```python\ncora.documented(rows: list[str], *more: int, seed: int = 0) -> list[int]\n```",
        "Count rows, with `code`, and an example:",
        "    raw | text",
        "**Arguments**",
        "- `rows`: The rows, on two lines.\n- `*more`: Numbers.",
        "**Raises**",
        "- `ValueError`: If a row is empty.",
        "**Example**",
        "```python\n>>> documented([])\n[]\n```",
        "Source: this file.",
    ]


def long(first: str, second: str, /, third: float | None = None, *, fourth: tuple[int, ...] = ()) -> dict[str, float]:
    """Have many arguments."""
    return {}


def test_a_long_signature_has_a_line_for_each_argument():
    lines = ["first: str,", "second: str,", "/,", "third: float | None = None,", "*,", "fourth: tuple[int, ...] = (),"]
    expected = "".join(f"    {line}\n" for line in lines)
    assert docs_api.signature("long", long) == f"long(\n{expected}) -> dict[str, float]"
