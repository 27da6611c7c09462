"""The keys of a task file that are for this package: the probe, the benchmark, the reader, and the options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lm_eval_cora.benchmarks import Benchmark, BenchmarkError
from lm_eval_cora.benchmarks.declarations import declared
from lm_eval_cora.harness import docs
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.probes import PROBES, Probe

OWN_KEYS = ("class", "reader", "probe", "benchmark")
"""Keys that the harness does not know."""

_REPLACED = {"custom_dataset", "dataset_path", "dataset_name", "dataset_kwargs", "test_split"}
"""Keys of the harness that `benchmark` replaces."""


def probe_of(config: Mapping[str, Any]) -> Probe:
    """The probe that a task file names; until version 0.2 its `process_docs` named it."""
    hook, name = config.get("process_docs"), config.get("probe")
    if isinstance(hook, Probe):
        return hook
    if hook not in (None, docs.process_docs):
        raise OptionError(
            f"{config['task']}: process_docs: {hook!r} in the task file; expected {docs.__name__}.process_docs, and "
            "the name of a probe in `probe`. CONTRIBUTING.md says how to add a probe"
        )
    if not isinstance(name, str) or name not in PROBES:
        raise OptionError(f"{config['task']}: probe: {name!r} in the task file; expected one of {', '.join(PROBES)}")
    return PROBES[name]


def options_of(config: Mapping[str, Any]) -> Options:
    """The options of a task: the user's, or else the reader that the task file names.

    Raises:
        OptionError: If an option does not exist or has a wrong value.
    """
    given = (config.get("metadata") or {}).get("cora")
    if "reader" in config and (given is None or isinstance(given, Mapping)):
        given = {"reader": config["reader"], **(given or {})}
    return Options.from_metadata(config["task"], given)


def benchmark_of(config: Mapping[str, Any], options: Options) -> Benchmark:
    """The benchmark that a task file declares, with what the user declares besides.

    Raises:
        OptionError: If there is none, or something about it is wrong.
    """
    task = config["task"]
    if "benchmark" not in config:
        raise OptionError(
            f"{task}: the task file has no `benchmark`. Include a benchmark of this package, or give its keys: `hub` "
            "or `data_files`, `split`, `question`, `choices`, `answer`"
        )
    if others := sorted(_REPLACED.intersection(config)):
        raise OptionError(
            f"{task}: {', '.join(others)} in the task file: since version 0.2 `benchmark` says where the questions are "
            "and how they are read. Remove the others"
        )
    try:
        return declared(config["benchmark"], options.declared, options.data_files)
    except BenchmarkError as error:
        raise OptionError(f"{task}: {error}") from None


def in_the_language_of(benchmark: Benchmark, options: Options) -> Options:
    """Options with "None of the above" in the language of the benchmark, unless the user gave another text."""
    if benchmark.nota_text and options.nota_text == Options.nota_text:
        return replace(options, nota_text=benchmark.nota_text)
    return options
