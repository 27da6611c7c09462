"""The keys of a task file that this package reads: probe, benchmark, reader and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lm_eval_cora.benchmarks import Benchmark
from lm_eval_cora.benchmarks.declarations import declared
from lm_eval_cora.errors import UserError
from lm_eval_cora.options import Options
from lm_eval_cora.probes import PROBES, Probe

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
