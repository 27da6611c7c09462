"""Every command of the README and of the documentation is run, or says why not."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("markdown_it")

from tests.support.documented import WrongOutput, complaint, run, runs
from tests.support.index import OURS_ALONE
from tests.support.markdown import ROOT, blocks

# The blocks of api.md are signatures, and the doctests of the package.
PAGES = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name != "api.md")]
MODULES = {"lm-eval-cora": "lm_eval_cora", "lm_eval": "lm_eval", "lm-eval": "lm_eval"}
BLOCKS = {page: blocks(page.read_text()) for page in PAGES}
WITH_COMMANDS = [page for page in PAGES if any(block.comment.startswith("run") for block in BLOCKS[page])]


@pytest.fixture(scope="module")
def failures(made_up_hub, tmp_path_factory):
    """What went wrong with each page that has blocks to run, by the page's name."""
    programs = tmp_path_factory.mktemp("programs")
    (programs / "ours_alone.py").write_text(OURS_ALONE)
    # What the installed package does with a .pth file.
    path = str(ROOT / "lm_eval_cora/discovery")
    start = f"import sys\nsys.path.append({path!r})\nimport _lm_eval_cora_startup\nsys.path.pop()\n"
    (programs / "sitecustomize.py").write_text(start)
    starts = {name: f"{programs / 'ours_alone.py'} {module}" for name, module in MODULES.items()}
    for name, start in {**starts, "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n')
        (programs / name).chmod(0o755)
    folders = {}
    for page in WITH_COMMANDS:
        folders[page] = tmp_path_factory.mktemp(page.stem)
        for folder in made_up_hub.iterdir():  # the ids of datasets are found as folders of the working folder
            (folders[page] / folder.name).symlink_to(folder)
    variables = {
        **{name: value for name, value in os.environ.items() if name != "LM_EVAL_CORA_AUTOLOAD"},
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": f"{programs}{os.pathsep}{ROOT}",
        "HF_DATASETS_CACHE": str(tmp_path_factory.mktemp("cache")),
        "MPLBACKEND": "agg",
    }
    pairs = [str(part) for pair in folders.items() for part in pair]
    subprocess.run([sys.executable, "-m", "tests.support.documented", *pairs], env=variables, check=True)
    return {page.name: (folder / f"{page.name}.failed").read_text("utf-8") for page, folder in folders.items()}


def test_each_block_is_run_or_says_why_not():
    for page, found in BLOCKS.items():
        wrong = [f"{page.name}:{block.line}: {why}" for block in found if (why := complaint(block))]
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_the_commands_of_a_page_work(page, failures):
    assert not failures[page.name], failures[page.name][-6000:]


def page_of(folder, text):
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_blocks_of_a_page_share_names_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (
        "<!-- run -->\n```python\nwith open('made', 'w') as file:\n    x = file.write('12')\nprint(x)\n```\n"
        "\n```text\n2\n```\n\n"
        "<!-- run -->\n```python\n>>> x + 1\n3\n>>> y = x\n```\n"
        "<!-- run: offline -->\n```bash\ntest -f made  # as the page says\n```\n"
        "<!-- run as: touch small -->\n```bash\ntouch large\n```\n"
        "<!-- not run: would fail -->\n```python\n1 / 0\n```\n"
        "<!-- run -->\n```console\n$ echo a \\\n  b\na b\n$ true\n```\n"
        "<!-- run -->\n```python\nassert y == 2\n```\n"
    )
    run(page_of(tmp_path, text))
    assert {path.name for path in tmp_path.iterdir()} == {"made", "small", "page.md"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```", WrongOutput),
        ("```python\n>>> 1\n2\n```", WrongOutput),
        ("```console\n$ echo 1\n2\n```", WrongOutput),
        ("```bash\nfalse\ntrue\n```", RuntimeError),
        ("```bash\nfalse | true\n```", RuntimeError),
        ("```python\n1 / 0\n```", ZeroDivisionError),
    ],
)
def test_a_wrong_block_is_an_error_with_its_place(text, error, tmp_path, capsys):
    with pytest.raises(error):
        run(page_of(tmp_path, f"# Page\n\n<!-- run -->\n{text}\n"))
    assert re.match(r"page.md:\d+: this block failed:", capsys.readouterr().err)


@pytest.mark.parametrize(
    "text",
    [
        *("```bash\ntrue\n```", "    lm_eval run", "```\nlm_eval run\n```", "```sh\ntrue\n```"),
        *("<!-- not run -->\n```bash\ntrue\n```", "<!-- run as: -->\n```bash\ntrue\n```"),
        *("<!-- running -->\n```python\n1\n```", "<!-- run -->\n\nText.\n\n```python\n1\n```"),
    ],
)
def test_blocks_without_a_mark_are_found(text):
    (block,) = blocks(f"Text.\n\n{text}\n")
    assert complaint(block)
    assert not runs(block)
    (block,) = blocks("- Text.\n\n  <!-- run -->\n  ```bash\n  true\n  ```\n")  # in a list
    assert runs(block)
    assert block.code == "true\n"
