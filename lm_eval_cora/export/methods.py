"""What a paper says about its runs: a methods section with the papers to cite, and the prompts of an appendix."""

import re
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, StrictUndefined

from lm_eval_cora import __version__
from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.provenance import dataset_of
from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.metrics.paired import METHODS, pairwise
from lm_eval_cora.renderers.canvas import template_text
from lm_eval_cora.report.score_views import main_of, number_of_questions, unit_of
from lm_eval_cora.report.sections import asked
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.files import part_of, sent_with
from lm_eval_cora.runs.model_run import Runs, by_task, check_metrics
from lm_eval_cora.runs.signature import signature_parts
from lm_eval_cora.tables.table_formats import escaped, one_line

_PAPER = re.compile(r"^@\w+\{(\S+), keywords = \{(.*)\},\n(?:  .*\n)*\}", re.MULTILINE)


def methods(runs: Runs, metrics: Sequence[str] = (), *, latex: bool = False) -> str:
    """Write what a methods section needs, from what is known of the runs, and the papers to cite in BibTeX."""
    check_metrics(metrics, runs)
    tasks = list(by_task(runs).values())
    entries = [entry for own in tasks for entry in own[0].entries if entry["metric"] in (metrics or main_of(own))]
    names, used, unlike = dict.fromkeys(entry["metric"] for entry in entries), set[str](), list[str]()
    for own in tasks:
        if any(not_comparable(own[0], run) for run in own[1:]):
            unlike.append(own[0].task)
            continue
        every = (pairwise([run.estimates.get(name, UNDEFINED) for run in own], 0) for name in names)
        used |= {pair.method for pairs in every for pair in pairs.values()}
    words = {entry["aggregation"].__name__ for entry in entries}
    for run in runs:
        words |= {run.probe.name, str(part_of(run.config, "benchmark").get("name")), "lm_eval" if run.results else ""}
    listed = _PAPER.finditer((tasks_folder() / "_papers.bib").read_text("utf-8"))
    return _written(
        "methods.j2",
        latex=latex,
        tasks=tasks,
        unit=unit_of(runs),
        drawn=[entry["metric"] for entry in entries if facts_of(entry["aggregation"]).bootstrapped],
        unlike=unlike,
        tests=[reason for method, reason in METHODS.items() if method in used],
        papers={paper[1]: paper[0] for paper in listed if words & set(paper[2].split())},
    )


def prompts(runs: Runs, *, latex: bool = False) -> str:
    """Write the whole prompt of each kind of variant for one question of each task, with its exemplars."""
    tables = {task: asked(own) for task, own in by_task(runs).items()}
    rows = [(task, *row) for task, table in tables.items() if table for row in table.rows]
    if not rows:
        raise UserError("prompts: expected runs whose samples have prompts, got files of answers alone")
    return _written("prompts.j2", latex=latex, rows=rows)


def _written(template: str, *, latex: bool, **facts: Any) -> str:
    """Fill a template with facts, as LaTeX or as Markdown."""
    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters["tex"] = escaped if latex else one_line
    environment.globals |= {"dataset_of": dataset_of, "sent_with": sent_with, "signature_parts": signature_parts}
    environment.globals |= {"number_of_questions": number_of_questions, "version": __version__, "latex": latex}
    return environment.from_string(template_text(template)).render(facts)
