"""The command `run`, and the harness that it starts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from lm_eval_cora.commands.output import say
from lm_eval_cora.errors import UserError

HARNESS = "lm-eval>=0.4.12,<0.5"
"""The harness that this package needs, as in pyproject.toml."""


@contextmanager
def importing_the_harness() -> Iterator[None]:
    """Turn the ImportError of a missing, shadowed or outdated harness into a one-line error."""
    try:
        yield
    except ImportError as error:
        raise UserError(
            f"cannot import the harness: {str(error).partition(chr(10))[0]}. Install it for {sys.executable}: "
            f"pip install '{HARNESS}'"
        ) from None


def run_harness(given: argparse.Namespace) -> None:
    """Run `lm_eval` with fewer requests."""
    with importing_the_harness():
        from lm_eval_cora.harness.run import RunDied, run  # takes seconds

    config = as_the_harness_parses(given, given.others).config
    if config:
        _add_options(given, Path(config))
    try:
        run(
            given.others,
            stop=given.stop,
            budget=given.budget,
            target=given.target_stderr,
            whole=given.target,
            limits=given.max_gen_toks,
            keeps=not given.no_cache,
            command=given.typed,
            config_keys=OPTIONS,
            verbose=given.verbose,
        )
    except RunDied as died:
        if isinstance(died.__cause__, KeyboardInterrupt):
            say(f"\nlm-eval-cora run: {died}")
            raise died.__cause__ from None
        say("")  # end the line of a progress bar
        raise UserError(str(died)) from died.__cause__


OPTIONS = ("stop", "budget", "target_stderr", "target", "max_gen_toks", "no_cache", "verbose")
"""Our options of `run`. They can also be in a --config file, written with underscores or as on the command line."""


def _add_options(given: argparse.Namespace, config: Path) -> None:
    """Add our options from a --config file, unless the command line has them."""
    try:
        content = yaml.safe_load(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):  # the harness reports it
        return
    for key, value in content.items() if isinstance(content, dict) else ():
        name = str(key).replace("-", "_")
        if name in OPTIONS and not getattr(given, name) and value not in (None, False):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            option = f"--{name}" if value is True else f"--{name}={text}"
            read, unknown = given.parser.parse_known_args([option])
            if unknown:
                given.parser.error(f"{config}: {key}: {value}: unexpected value")
            setattr(given, name, getattr(read, name))


def as_the_harness_parses(given: argparse.Namespace, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse arguments with the harness' own parser. If it refuses them, print our usage and exit."""
    with importing_the_harness():
        from lm_eval_cora.harness.dry_run import UsageError, harness_arguments, harness_options  # takes seconds

    try:
        return harness_arguments(arguments)
    except UsageError as error:
        how = f". {_HOW}" if "--metadata" in arguments and "recognized" not in str(error) else ""
        given.parser.usage_error(f"{error}{how}", others=harness_options())
        raise


_HOW = """Pass the options of lm-eval-cora as JSON: --metadata '{"cora": {"seed": 1}}'"""
