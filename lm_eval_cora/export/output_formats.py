"""The output formats of the command `export`. Choices, help and checks of the command follow from them."""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any, NamedTuple, get_args

from lm_eval_cora.export.every_eval_ever import Relationship, write_every_eval_ever
from lm_eval_cora.export.hub import EvalResult, eval_results, model_index
from lm_eval_cora.export.methods import prompts
from lm_eval_cora.report.score_views import data_tables, paper_tables
from lm_eval_cora.tables.table_formats import TABLE_FORMATS, TableFormat


class Format(NamedTuple):
    """An output format. Its options are the other parameters of its function; those without a default are required."""

    write: Callable[..., Any]  # makes a text, or a text and a note, from `runs`; or the paths of files in a `folder`
    folder: str = ""  # the default folder
    takes: Callable[..., Any] | None = None  # has the options as parameters, if the function has not

    @property
    def options(self) -> Mapping[str, Parameter]:
        """The options that the format accepts."""
        return {
            name: one
            for name, one in signature(self.takes or self.write).parameters.items()
            if name not in ("runs", "folder")
        }

    @property
    def required(self) -> list[str]:
        """The options that the format requires."""
        return [name for name, option in self.options.items() if option.default is Parameter.empty]


def _of_scores(form: TableFormat) -> Format:
    make: Callable[..., Any] = data_tables if form.has_all_digits else paper_tables
    return Format(lambda runs, **options: form.write(make(runs, **options)), takes=make)


FORMATS = {
    "eval-results": Format(eval_results, takes=EvalResult),
    "every-eval-ever": Format(write_every_eval_ever, "every_eval_ever"),
    "model-index": Format(model_index),
    prompts.__name__: Format(prompts),
    **{name: _of_scores(form) for name, form in TABLE_FORMATS.items()},
}


class Argument(NamedTuple):
    """An option of formats: its value in the help if it has one, its effect, and its settings for argparse."""

    metavar: str | None
    about: str
    settings: Mapping[str, Any] = {"default": ""}


NAMES: dict[str, Any] = {
    "action": "extend",
    "type": lambda text: [name.strip() for name in text.split(",")],
    "default": [],
}
"""Settings of an argument with names that are separated by commas; it may be repeated."""

_OF_THE_MAKERS = "relationship of the organization to the makers of the models (default: other)"
_PERCENT = "write the value from 0 to 100, as some leaderboards have it, instead of 0 to 1"
*_FIRST, _LAST = TABLE_FORMATS
_OF_TABLES = f"for {', '.join(_FIRST)} and {_LAST}"
ON_PAPER = {
    "rows": Argument(
        None, "what has a row of its own (default: models)", {"choices": ("models", "tasks"), "default": ""}
    ),
    "width": Argument(
        None, "columns of the page that a table may take (default: 2)", {"choices": (1, 2), "type": int, "default": 0}
    ),
    "intervals": Argument(None, "print 95%% intervals in place of errors, and of stars at differences", {}),
}
OPTIONS = {
    _OF_TABLES: {"metrics": Argument("NAMES", "metrics to write, in this order: a,b,c", NAMES)},
    "for tables of a paper": ON_PAPER,
    "for prompts": {"latex": Argument(None, "write LaTeX in place of Markdown", {})},
    "for every-eval-ever": {
        "organization": Argument("NAME", "who evaluated the models"),
        "relationship": Argument(None, _OF_THE_MAKERS, {"choices": get_args(Relationship)}),
    },
    "for eval-results": {
        "dataset": Argument("ORG/NAME", "id of the benchmark dataset on the Hub; required"),
        "metric": Argument("NAME", "metric on the leaderboard. Default: the task's leading one, such as cora"),
        "task_id": Argument("ID", "a task id in the dataset's eval.yaml; required"),
        "task": Argument("NAME", "the task of the run to export, if there are several"),
        "source_url": Argument("URL", "address of logs or of a report"),
        "source_name": Argument("NAME", "name to show for this address"),
        "source_user": Argument("NAME", "user or organization on the Hub that made the result"),
        "percent": Argument(None, _PERCENT, {}),
    },
}
"""The options of all formats, by group of the help."""
