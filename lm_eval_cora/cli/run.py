"""Run `lm_eval` with fewer requests.

lm-eval-cora run --model hf --model_args pretrained=ORG/MODEL --tasks cora_medqa --stop exact
lm-eval-cora run --model hf --model_args pretrained=ORG/MODEL --tasks cora_mmlu --stop exact --until 'cora>=0.45'

All options of `lm_eval run` work here, too: lm_eval run --help. Identical requests are sent once, with or
without the options above.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from lm_eval_cora.cli import console
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.allow_abbrev = False  # otherwise --s would mean our --stop, not the harness' --samples
    parser.usage = (
        "%(prog)s [-h] [--of NAME] [--stop exact] [--until REQUIREMENT [--baseline OUT]] [--budget N] "
        "[--shard I/N] [--max_gen_toks N,N] [--no_cache] [--verbose] ARGUMENTS OF lm_eval run"
    )
    _add_early_stopping(parser)
    parser.argument(
        "--of",
        "NAME",
        """measure a multiple-choice task or group of the harness, or several (NAME,NAME), with the task cora_of or
        the one of --tasks""",
    )
    parser.argument(
        "--max_gen_toks --max-gen-toks",
        "N,N",
        """token limits of a written answer. With 32,512 every answer is first limited to 32 tokens. If it is cut
        off before it is settled, it is requested again with 512. The scores are those of 512""",
        type=_increasing,
        default=(),
    )
    parser.argument(
        "--no_cache --no-cache",
        None,
        """do not save greedy answers in the folder of --output_path. An interrupted run resumes from the saved
        answers""",
    )
    parser.argument("--verbose", None, "print the traceback of an error, and a line for each wave of requests")


def _add_early_stopping(parser: console.Parser) -> None:
    """Add the arguments that decide which requests are sent."""
    parser.argument(
        "--stop",
        None,
        """stop each question at its first wrong answer. cora, ci, mcqa and bmca@1.0 equal those of the full run;
        other metrics are not printed""",
        choices=["exact"],
    )
    parser.argument(
        "--budget",
        "N",
        """send at most N requests, for all tasks together, on a random sample of questions (see the option seed).
        In tasks that score letters (_mc) each letter is one request. The tasks get the same number of questions.
        Standard errors are about other questions of the same kind, not about the full benchmark""",
        type=console.between(1, 10**12),
    )
    parser.argument(
        "--until",
        "REQUIREMENT",
        """ask randomly drawn questions (see the option seed) until the requirement is certain, such as 'cora>=0.45',
        'no-worse cora:0.02' or 'same cora:0.02' with --baseline, or 'cora±0.02' for an interval; may be repeated. Each
        verdict is wrong with a probability of at most 5%%, although the run looks after every round""",
        **console.REPEATED,
    )
    parser.argument("--baseline", "OUT", "the output of a whole run, with which no-worse and same compare")
    parser.argument(
        "--shard",
        "I/N",
        """ask part I of N of the questions, such as 3/8, so that N jobs share a run. Pass all of them the same
        --output_path: every command reads the parts in it as one run""",
        type=_shard,
    )


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
    number, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise argparse.ArgumentTypeError(f"expected a part and the number of parts such as 3/8, got {text!r}")
    return number, count


def _increasing(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if numbers[:1] < (1,) or list(numbers) != sorted(set(numbers)):
        raise argparse.ArgumentTypeError(f"expected one whole number or increasing ones such as 32,512, got {text!r}")
    return numbers


HARNESS = "lm-eval>=0.4.12,<0.6"  # the harness that this package needs, as in pyproject.toml


@contextmanager
def importing_the_harness() -> Iterator[None]:
    """Turn the ImportError of a missing, shadowed or outdated harness into a one-line error."""
    try:
        yield
    except ImportError as error:
        raise UserError(
            f"cannot import the harness: {str(error).partition(chr(10))[0]}. Install it for {sys.executable}: pip "
            f"install '{HARNESS}'"
        ) from None


def run(given: console.Given) -> None:
    """Run `lm_eval` with fewer requests."""
    with importing_the_harness():
        from lm_eval_cora.harness import compat
        from lm_eval_cora.harness import run as harness
        from lm_eval_cora.harness.until import Until

    config = as_the_harness_parses(given, given.others).config
    if config:
        _add_options(given, Path(config), compat.harness_options())
    if given.of:
        given.others = _with_task(given)
    until = Until(given.until, given.baseline) if given.until or given.baseline else None
    early = {"stop": given.stop, "budget": given.budget, "until": until, "limits": given.max_gen_toks}
    early["shard"] = given.shard
    keeps = not given.no_cache
    try:
        harness.run(given.others, early, keeps=keeps, command=given.typed, config_keys=OPTIONS, verbose=given.verbose)
    except harness.RunDied as died:
        if isinstance(died.__cause__, KeyboardInterrupt):
            console.say("", f"lm-eval-cora run: {died}")
            raise died.__cause__ from None
        console.say("")  # end the line of a progress bar
        raise UserError(str(died)) from died.__cause__


def _with_task(given: console.Given) -> list[str]:
    """The arguments for the harness with the option `task`."""
    harness = as_the_harness_parses(given, given.others)
    options = {"cora": {**(harness.metadata or {}).get("cora", {}), "task": given.of.split(",")}}
    return [*given.others, *([] if harness.tasks else ["--tasks", "cora_of"]), "--metadata", json.dumps(options)]


OPTIONS = ("of", "stop", "budget", "until", "baseline", "shard", "max_gen_toks", "no_cache", "verbose")
"""Our options of `run`. They can also be in a --config file, written with underscores or as on the command line."""


def _add_options(given: console.Given, config: Path, options: Sequence[str]) -> None:
    """Add our options from a --config file, unless the command line has them. Check its keys."""
    try:
        content = yaml.safe_load(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        content = None
    if not isinstance(content, dict):  # the harness reports it
        return
    known = [*OPTIONS, *(option.removeprefix("--") for option in options)]
    for key, value in content.items():
        name = str(key).replace("-", "_")
        if name not in known:
            how = " Put it under `metadata`." if key == "cora" else did_you_mean(str(key), known)
            raise UserError(f"{config}: unknown key {key!r}.{how} The keys are the arguments of `lm_eval run`")
        if name == "metadata" and not isinstance(value or {}, dict | str):
            raise UserError(f"{config}: metadata: expected an object such as {{cora: {{seed: 1}}}}, not a list")
        is_left = name in OPTIONS and not getattr(given, name)
        if is_left and value not in (None, False):
            if isinstance(value, list) and name != "until":
                value = ",".join(map(str, value))
            listed = value if isinstance(value, list) else [value]
            typed = [f"--{name}" if each is True else f"--{name}={each}" for each in listed]
            read, unknown = given.parser.parse_known_args(typed)
            if unknown:
                given.parser.error(f"{config}: {key}: {value}: unexpected value")
            setattr(given, name, getattr(read, name))


def as_the_harness_parses(given: console.Given, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse arguments with the harness' own parser. If it refuses them, print our usage and exit."""
    with importing_the_harness():
        from lm_eval_cora.harness.compat import UsageError, harness_arguments, harness_options

    try:
        return harness_arguments(arguments)
    except UsageError as error:
        how = f". {_HOW}" if "--metadata" in arguments and "recognized" not in str(error) else ""
        given.parser.error(f"{error}{how}", harness_options())
        raise


_HOW = """Pass the options of lm-eval-cora as JSON: --metadata '{"cora": {"seed": 1}}'"""
