"""The arguments of `run`, `score`, `guess` and `tasks`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, get_args

from lm_eval_cora.answer_columns import COLUMNS
from lm_eval_cora.answers import Reader
from lm_eval_cora.arguments.parser import Command, add_command, add_json, between
from lm_eval_cora.errors import UserError
from lm_eval_cora.formats import FORMATS
from lm_eval_cora.metrics.guessing import CERTAIN
from lm_eval_cora.stopping.rule import EXACT
from lm_eval_cora.stopping.whole import parse_target


def add_run(commands: Any, run: Command) -> None:
    """Add the command `run`."""
    parser = add_command(
        commands,
        "run",
        run,
        "run `lm_eval` with fewer requests",
        "lm-eval-cora run --model hf --model_args pretrained=ORG/MODEL --tasks cora_medqa --stop exact\n"
        "  lm-eval-cora run --model hf --model_args pretrained=ORG/MODEL --tasks cora_mmlu --stop exact "
        "--target-stderr 0.01\n\n"
        "All options of `lm_eval run` work here, too: lm_eval run --help. Identical requests are sent once, with or\n"
        "without the options above.",
        abbreviations=False,  # otherwise --s would mean our --stop, not the harness' --samples
    )
    parser.usage = (
        "%(prog)s [-h] [--stop exact] [--budget N | --target-stderr E | --target whole:E] [--max_gen_toks N,N] "
        "[--no_cache] [--verbose] ARGUMENTS OF lm_eval run"
    )
    parser.add_argument(
        "--stop",
        choices=[EXACT],
        help="stop each question at its first wrong answer. cora, ci, mcqa and bmca@1.0 equal those of the full run; "
        "other metrics are not printed",
    )
    parser.add_argument(
        "--budget",
        type=between(1, 10**12),
        metavar="N",
        help="send at most N requests, for all tasks together, on a random sample of questions (see the option seed). "
        "In tasks that score letters (_mc) each letter is one request. The tasks get the same number of questions. "
        "Standard errors are about other questions of the same kind, not about the full benchmark",
    )
    parser.add_argument(
        *("--target-stderr", "--target_stderr"),  # the harness writes its options with underscores
        type=between(1e-6, 1, float),
        metavar="E",
        help="add randomly drawn questions (see the option seed) until the standard error of cora is below E. The "
        "error is tested after 100 questions and after each increase by a quarter. It is about other questions of the "
        "same kind, not about the full benchmark",
    )
    parser.add_argument(
        "--target",
        type=_whole,
        metavar="whole:E",
        help="estimate the values that the full benchmark would give: ask the originals of randomly drawn questions, "
        "and follow randomly drawn right ones to their first wrong answer, until half the width of the 95%% interval "
        "of cora is at most E. Standard errors are about the full benchmark: they are 0 if everything is asked. Only "
        "cora, ci, mcqa and bmca@1.0 are printed",
    )

    parser.add_argument(
        *("--max_gen_toks", "--max-gen-toks"),
        type=_increasing,
        default=(),
        metavar="N,N",
        help="token limits of a written answer. With 32,512 every answer is first limited to 32 tokens. If it is cut "
        "off before it is settled, it is requested again with 512. The scores are those of 512",
    )

    parser.add_argument(
        *("--no_cache", "--no-cache"),
        action="store_true",
        help="do not save greedy answers in the folder of --output_path. An interrupted run resumes from the saved "
        "answers",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="print the traceback of an error, and a line for each wave of requests"
    )


def add_score(commands: Any, run: Command) -> None:
    """Add the command `score`."""
    parser = add_command(
        commands,
        "score",
        run,
        "compute the metrics of answers that were not collected with the harness",
        "lm-eval-cora score answers.csv --question id --correct ok --original is_original\n\n"
        "The file has one row per variant of a question: csv, tsv, json, jsonl or parquet. A column needs no option\n"
        "if it has its name (or question_id, ordinal, options). A line of a jsonl file, for example:\n"
        '{"question": "q1", "variant": "original", "picked": "Ice", "answer": "Ice", "printed": ["Ice", "Fog"]}\n\n'
        "report, compare, plan, gate and export accept such a file in place of a folder. It needs the usual names of\n"
        "columns.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the answers")
    for name, column in COLUMNS.items():
        parser.add_argument(f"--{name}", metavar="COLUMN", help=column.about)
    add_json(parser)


def add_read(commands: Any, run: Command) -> None:
    """Add the command `read`."""
    parser = add_command(
        commands,
        "read",
        run,
        "read one response: which option it chooses, by which rule, and which characters decided",
        "lm-eval-cora read --options Steam Ice Fog --response 'So the answer is B.'\n"
        "  lm-eval-cora read --options Steam Ice Fog < response.txt",
    )
    parser.add_argument("--options", nargs="*", default=[], metavar="TEXT", help="the options as printed, in order")
    parser.add_argument("--response", metavar="TEXT", help="the response; without it, standard input is read")
    parser.add_argument(
        "--format", default="letter", choices=tuple(FORMATS), help="what was asked for (default: letter)"
    )
    parser.add_argument("--reader", default="flexible", choices=get_args(Reader), help="the reader (default: flexible)")
    parser.add_argument("--cut-off", action="store_true", help="the token limit ended the response")


def add_guess(commands: Any, run: Command) -> None:
    """Add the command `guess`."""
    parser = add_command(
        commands,
        "guess",
        run,
        "show what guessing achieves, and the minimum success guessing rate, MSGR (CoRA, appendix A)",
        "lm-eval-cora guess --options 5 --variants 10",
    )
    parser.add_argument("--options", type=between(2, 1_000_000), default=5, help="options per question (default: 5)")
    parser.add_argument("--variants", type=between(1, 1_000), default=10, help="variants per question (default: 10)")
    parser.add_argument("--rate", type=between(0, 1, float), help="chance of a correct answer (default: 1 / options)")
    parser.add_argument(
        "--certain",
        type=between(1e-9, 1 - 1e-9, float),
        default=CERTAIN,
        help=f"probability that counts as certain, for MSGR (default: {CERTAIN})",
    )
    add_json(parser)


def add_tasks(commands: Any, run: Command) -> None:
    """Add the command `tasks`."""
    parser = add_command(
        commands,
        "tasks",
        run,
        "list the tasks, or check that they would run and what they would cost",
        "lm-eval-cora tasks medqa\n"
        '  lm_eval ls tasks --include_path "$(lm-eval-cora tasks --path)"\n'
        "  lm-eval-cora tasks --check cora_medqa\n"
        """  lm-eval-cora tasks --check cora_local --metadata '{"cora": {"data_files": "my.jsonl"}}'""",
    )
    parser.add_argument(
        "names", nargs="*", metavar="TASK", help="tasks or groups; without --check, part of a name is enough"
    )
    parser.add_argument("--path", action="store_true", help="print only the folder of the task files")
    parser.add_argument("--check", action="store_true", help="load the tasks and build their requests, without a model")
    parser.add_argument(
        "--metadata",
        nargs="+",
        action="append",
        default=[],
        metavar="ARG",
        help="with --check, as for lm_eval run: options as JSON; key=value for other packages",
    )
    parser.add_argument("--num_fewshot", type=between(0, 1_000), metavar="N", help="with --check, as for lm_eval run")
    parser.add_argument(
        "--limit",
        type=between(1e-9, 1e9, float),
        metavar="N",
        help="with --check, as for lm_eval run: number of questions",
    )
    parser.add_argument("--include_path", type=Path, metavar="FOLDER", help="with --check: folder of your task files")


def _whole(text: str) -> str:
    try:
        parse_target(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error).partition(": ")[2]) from None
    return text


def _increasing(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1 or list(numbers) != sorted(set(numbers)):
        raise argparse.ArgumentTypeError(f"expected one whole number or increasing ones such as 32,512, got {text!r}")
    return numbers
