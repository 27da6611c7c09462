"""The keys of a task file that this package reads: probe, benchmark, reader and options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lm_eval.tasks

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.declarations import declared
from lm_eval_cora.questions.messages import described
from lm_eval_cora.questions.options import Options
from lm_eval_cora.variants.expansion import read_templates
from lm_eval_cora.variants.probes import PROBES, Probe
from lm_eval_cora.variants.prompts import SINGLE_LETTER
from lm_eval_cora.variants.template import Templates, make_templates, own_templates

OWN_KEYS = ("class", "reader", "probe", "benchmark")
"""Keys that the harness does not know."""

_REPLACED = {"custom_dataset", "dataset_path", "dataset_name", "dataset_kwargs", "test_split"}
"""Keys of the harness that `benchmark` replaces."""


def probe_of(config: Mapping[str, Any]) -> Probe:
    """The probe of a task file."""
    name = config.get("probe")
    if "process_docs" in config:
        raise UserError(
            f"{config['task']}: process_docs: expected no such key, and the name of a probe in `probe`; got "
            f"{config['process_docs']!r} (in the task file). CONTRIBUTING.md explains how to add a probe"
        )
    if not isinstance(name, str) or name not in PROBES:
        expected = ", ".join(PROBES)
        raise UserError(f"{config['task']}: probe: expected one of {expected}, got {name!r} (in the task file)")
    return PROBES[name]


def options_of(config: Mapping[str, Any]) -> Options:
    """The options of a task. The reader in the task file is used if the user does not set one."""
    given = (config.get("metadata") or {}).get("cora")
    if "reader" in config and (given is None or isinstance(given, Mapping)):
        given = {"reader": config["reader"], **(given or {})}
    return Options.from_metadata(config["task"], given)


def benchmark_of(config: Mapping[str, Any], options: Options) -> Benchmark:
    """The benchmark that the task file and the options of the user declare."""
    task = config["task"]
    if "benchmark" not in config:
        raise UserError(
            f"{task}: expected `benchmark` in the task file. Include a benchmark of this package, or add `benchmark` "
            "with the keys `hub` or `data_files`, `split`, `question`, `choices`, `answer`"
        )
    if others := sorted(_REPLACED.intersection(config)):
        raise UserError(
            f"{task}: {', '.join(others)} in the task file: `benchmark` sets the source of the "
            "questions and how they are read. Remove the other keys"
        )
    try:
        return declared(config["benchmark"], options.declared, options.data_files)
    except UserError as error:
        raise UserError(f"{task}: {error}") from None


def in_the_language_of(benchmark: Benchmark, options: Options) -> Options:
    """Set "None of the above" in the language of the benchmark, unless the user set another text."""
    if benchmark.nota_text and options.nota_text == Options.nota_text:
        return replace(options, nota_text=benchmark.nota_text)
    return options


_SCORE = Path(lm_eval.tasks.__file__).parent / "score"

_FIXED = ("option_order_robustness", "non_greedy_robustness")
"""Keys of the fixed template in SCORE's file. MATH has only the second, because its problems have no options."""


def templates_of(benchmark: Benchmark | None, options: Options) -> Templates:
    """The templates of a benchmark."""
    if options.templates is not None:
        return read_templates(Path(options.templates), has_options=benchmark is None or benchmark.has_options)
    if benchmark is None or benchmark.score_templates is None:
        return own_templates()
    return score_templates(benchmark)


def score_templates(benchmark: Benchmark) -> Templates:
    """SCORE's ten templates, read from the installed harness."""
    path = _SCORE / str(benchmark.score_templates) / "prompt_templates.json"
    where = f"SCORE's templates for {benchmark.name}, in the installed harness (lm-eval {version('lm-eval')}), {path}"
    try:
        file = json.loads(path.read_text(encoding="utf-8"))
        fixed = {file[key]["prompt"] for key in _FIXED if key in file}
        entries = [
            {
                **{key: entry[key] for key in ("prompt", "options_format") if key in entry},
                **({"name": SINGLE_LETTER} if "only a single letter" in entry["prompt"] else {}),
                "fixed": entry["prompt"] in fixed,
            }
            for entry in file["prompt_robustness"]
        ]
        if len(fixed) != 1 or sum(entry["fixed"] for entry in entries) != 1:
            raise UserError("expected one of the ten templates to be the fixed one")
        return make_templates(entries, has_options=benchmark.has_options)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{where}: cannot be read: {described(error)}. lm-eval 0.4.12 and 0.4.13 contain them: "
            "install one of these versions, or pass your own file with the option 'templates'"
        ) from None
