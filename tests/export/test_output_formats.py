"""The registry of output formats; what each format writes is tested with its module and with the command."""

from itertools import chain

from lm_eval_cora.export.output_formats import FORMATS, OPTIONS


def test_the_help_has_every_option_of_every_format():
    declared = list(chain(*OPTIONS.values()))
    assert {*declared} == {name for each in FORMATS.values() for name in each.options}
    assert len({*declared}) == len(declared)
    assert FORMATS["eval-results"].required == ["dataset", "task_id"]
