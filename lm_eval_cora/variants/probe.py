"""The data class of a probe, and the settings that a probe gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Form
from lm_eval_cora.variants.template import Templates, own_templates
from lm_eval_cora.variants.variant import Variant


@dataclass(frozen=True)
class Setting:
    """Settings on which the variants of a question depend.

    Attributes:
        options: The user's options.
        form: How the model is asked.
        templates: The templates of the benchmark.
    """

    options: Options = field(default_factory=Options)
    form: Form = "generate"
    templates: Templates = field(default_factory=own_templates)


@dataclass(frozen=True)
class Probe:
    """A rule that makes variants of a question, with all that tasks, reports and exports need to know about it.

    Attributes:
        name: Name of the probe in task files and in the signature.
        study: The paper of the probe. Probes of the same study run together and accept each other's options.
        summary: A short description for the report.
        expand: Function that makes the variants of a question. It raises an UserError if it cannot.
        formats: Name of the answer format for each form of the probe. Some kinds may use another format.
        kinds: A sentence about each kind of variant, for the report. Empty if the kinds are names of templates.
        options: Names of the options that change its variants, except those that all probes share.
        open_questions: Whether the probe also accepts questions without options.
        samples: Whether all variants of a question have the same prompt and differ only by random sampling.
        hardest_first: The kinds to ask directly after the original, hardest first.
        one: Name for one kind in titles of the report.
        several: The same in the plural.
        note: A sentence below the accuracy by kind in the report.
        by_position: Whether the kinds are positions of the right option.
        marks_outliers: Whether the report marks kinds whose accuracy is an outlier.
        in_aggregate: Whether the probe is part of SCORE's aggregated row.
        leads: The metric that the report puts first and ranks models by; the next one if a run does not define it.
        charts: Names of the charts in its report, in order. `report.sections.BLOCKS` defines them.
        tables: Names of the folded tables in its report, in order.
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
    leads: tuple[str, ...] = ("cora", "acc")
    charts: tuple[str, ...] = ("changes", "accuracy_ranges", "by_kind", "heat_maps")
    tables: tuple[str, ...] = ("by_category", "with_references")
