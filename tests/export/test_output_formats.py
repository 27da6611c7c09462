"""The registry of output formats; what each format writes is tested with its module and with the command."""

from itertools import chain

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.export.output_formats import FORMATS, OPTIONS
from lm_eval_cora.tables.table_formats import TABLE_FORMATS


def test_the_help_has_every_option_of_every_format():
    declared = list(chain(*OPTIONS.values()))
    assert {*declared} == {name for each in FORMATS.values() for name in each.options}
    assert len({*declared}) == len(declared)
    assert FORMATS["eval-results"].required == ["dataset", "task_id"]


def test_a_format_of_tables_is_a_choice_of_export_and_of_compare(capsys):
    assert TABLE_FORMATS.keys() < FORMATS.keys()
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    assert f"{{text,{','.join(TABLE_FORMATS)},json}}" in capsys.readouterr().out.replace("\n", "").replace(" ", "")
