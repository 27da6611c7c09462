"""What this package reads in a task file and in --metadata: probe, benchmark, reader and options."""

from collections.abc import Mapping
from typing import Any

from lm_eval.utils import simple_parse_args_string

from lm_eval_cora.errors import UserError, naming
from lm_eval_cora.harness.compat import argument_of_the_run
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark, declared, in_its_language
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.variants.probes import PROBES, Probe

OWN_KEYS = ("class", "reader", "probe", "benchmark")  # keys that the harness does not know
# Keys of the harness that `benchmark` replaces.
_REPLACED = {"custom_dataset", "dataset_path", "dataset_name", "dataset_kwargs", "test_split"}


def declared_in(config: Mapping[str, Any]) -> tuple[Probe, Benchmark, Options]:
    """The probe, benchmark and options of a task, from its file and the metadata."""
    task, metadata = config["task"], config.get("metadata") or {}
    check_metadata(task, metadata)
    given = metadata.get("cora")
    if "reader" in config and (given is None or isinstance(given, Mapping)):
        given = {"reader": config["reader"], **(given or {})}  # used if the user does not set one
    probe = _probe_of(config)
    options = Options.from_metadata(task, given)
    benchmark = _benchmark_of(config, options)
    options = in_its_language(benchmark, options)
    ignored = {"sampler", "split", "samples", "fewshot_indices"} & (config.get("fewshot_config") or {}).keys()
    ignored |= {key for key in ("fewshot_split", "training_split", "validation_split") if config.get(key)}
    if ignored:
        raise UserError(
            f"{task}: {', '.join(sorted(ignored))} in the task file would be ignored: "
            "exemplars are drawn from the source in `benchmark`, and all variants of a question get the same ones. "
            "Remove this setting"
        )
    return probe, benchmark, options


def _probe_of(config: Mapping[str, Any]) -> Probe:
    task, name = config["task"], config.get("probe")
    if "process_docs" in config:
        raise UserError(
            f"{task}: process_docs: "
            f"expected no such key, and the name of a probe in `probe`; got {config['process_docs']!r} "
            "(in the task file). CONTRIBUTING.md explains how to add a probe"
        )
    if not isinstance(name, str) or name not in PROBES:
        raise UserError(f"{task}: probe: expected one of {', '.join(PROBES)}, got {name!r} (in the task file)")
    return PROBES[name]


def _benchmark_of(config: Mapping[str, Any], options: Options) -> Benchmark:
    task = config["task"]
    if "benchmark" not in config:
        raise UserError(
            f"{task}: expected `benchmark` in the task file. Include a benchmark of this package, or add `benchmark` "
            "with the keys `hub` or `data_files`, `split`, `question`, `choices`, `answer`"
        )
    if isinstance(config["benchmark"], Benchmark):
        return config["benchmark"]
    if options.task:
        raise UserError(f"{task}: option 'task': this task has its own questions. Use cora_of, or remove the option")
    if others := sorted(_REPLACED.intersection(config)):
        raise UserError(
            f"{task}: {', '.join(others)} in the task file: "
            "`benchmark` sets the source of the questions and how they are read. Remove the other keys"
        )
    with naming(task):
        return declared(config["benchmark"], options.declared, options.data_files)


# ---- metadata
AMBIGUOUS = {"answer", "category", "choices", "config", "id", "name", "question", "revision", "seed", "split"}
"""Names of options that are also arguments of back ends, or common keys of the `metadata` in task files."""

_KEY = "cora"


def check_metadata(task: str, metadata: Mapping[str, Any]) -> None:
    """Refuse options outside the key `cora` of --metadata: they would be ignored."""
    known = _known_metadata()
    given = metadata if known is None else known
    if text := "".join(f"{name}{value or ''}, " for name, value in given.items() if "{" in str(name)).rstrip(", "):
        # The harness takes the text of a --config file for key=value pairs.
        raise UserError(
            f"{task}: metadata: expected an object in the --config file, "
            f"got the text {shorten(text)!r}. Remove the quotes around it"
        )
    misplaced = [name for name, value in given.items() if _is_misplaced(name, value, task)]
    unsure = [name for name in misplaced if known is None and name in AMBIGUOUS]
    if wrong := [name for name in misplaced if name not in unsure]:
        raise UserError(
            f"{task}: {', '.join(map(repr, wrong))} in --metadata "
            f"would be ignored, because options are read only inside of {_KEY!r}, "
            """such as --metadata '{"cora": {"seed": 1}}'"""
        )
    for name in unsure:
        where = "options belong inside {'cora': {...}}"
        logger.warning("%s: %r in the metadata is not read as an option; %s", task, name, where)


def _known_metadata() -> Mapping[str, Any] | None:
    """The content of --metadata, None if unknown. A key that is also a model argument is kept if its value differs."""
    manager, args = argument_of_the_run("task_manager"), argument_of_the_run("model_args")
    if manager is None:
        return None
    args = args if isinstance(args, Mapping) else simple_parse_args_string(args or "")
    return {
        name: value
        for name, value in (manager.metadata or {}).items()
        if name not in args or (isinstance(value, str | int | float) and value != args[name])
    }


def _is_misplaced(name: object, value: object, task: str) -> bool:
    """Whether a key is an option, the options of one task, or a misspelled `cora`, such as `CORA` or `cora.seed`."""
    by_task = isinstance(value, Mapping) and (name == task or str(name).startswith(f"{_KEY}_"))
    return by_task or name in Options.names() or (name != _KEY and str(name).strip().lower().partition(".")[0] == _KEY)
