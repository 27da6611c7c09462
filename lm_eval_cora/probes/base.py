"""What a probe is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lm_eval_cora.options import Options
from lm_eval_cora.prompting.template import Templates, own_templates
from lm_eval_cora.question import Form
from lm_eval_cora.variants import Variant


@dataclass(frozen=True)
class Setting:
    """What the variants of a question depend on, besides the question.

    Attributes:
        options: What the user changed.
        form: How the model is asked.
        templates: The templates of the benchmark.
    """

    options: Options = field(default_factory=Options)
    form: Form = "generate"
    templates: Templates = field(default_factory=own_templates)


@dataclass(frozen=True)
class Probe:
    """A rule that makes variants of a question, and what tasks and reports must know about it.

    Attributes:
        name: As the task files and the signature have it.
        study: The paper that it is from. Probes of one study are run together, and take each other's options.
        summary: What it asks, in a few words.
        expand: Makes the variants of a question. It raises an OptionError for a question that it cannot expand.
        formats: Name of the answer format for each form that the probe has. Some kinds may have another one.
        kinds: A sentence about each kind of variant; empty where the kinds are the names of templates.
        options: The options that change its variants, of those that not all probes have.
        open_questions: Whether it takes an OpenQuestion, too; otherwise a Question only.
        samples: Whether all variants of a question have the same prompt, and chance is in the answer.
        hardest_first: The kinds that are asked first after the original, the hardest first.
        one: What a kind is, in the singular.
        several: The same in the plural.
        note: A sentence below the chart of the kinds.
        by_position: Whether the kinds are positions of the right option.
        marks_outliers: Whether the report marks kinds whose accuracy is an outlier.
        in_aggregate: Whether it is part of SCORE's aggregated row.
        charts: Names of the charts of its report, in this order; `report.sections.BLOCKS` has them.
        tables: The same for the tables that the reader unfolds.
    """

    name: str
    study: str
    summary: str
    expand: Callable[[Any, Setting], list[Variant]]
    formats: Mapping[Form, str]
    kinds: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    open_questions: bool = False
    samples: bool = False
    hardest_first: tuple[str, ...] = ()
    one: str = "kind of variant"
    several: str = "kinds of variants"
    note: str = "Kinds with fewer options are easier to guess."
    by_position: bool = False
    marks_outliers: bool = False
    in_aggregate: bool = False
    charts: tuple[str, ...] = ("accuracy_ranges", "by_kind")
    tables: tuple[str, ...] = ("by_category", "with_references")
