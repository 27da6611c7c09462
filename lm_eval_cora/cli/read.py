"""The command `read`, which shows how one response is read."""

from __future__ import annotations

import argparse
import sys
from typing import Any, get_args

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import around, places, read_answer, said
from lm_eval_cora.cli.arguments import add_command


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "read",
        print_answer,
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


def print_answer(given: argparse.Namespace) -> None:
    """Print how one response is read, and why."""
    response = sys.stdin.read() if given.response is None else given.response
    answer = read_answer(response, given.options, format=given.format, reader=given.reader, cut_off=given.cut_off)
    if answer.reason is None:
        print(f"answer: {said(answer, given.format, given.options)}")
    else:
        print(f"no answer: {answer.reason}")
    if answer.rule:
        before, decided, after = around(response, answer.span)
        print(f"rule: {answer.rule}\n\n{before}>>>{decided}<<<{after}")
    for place in places(response, answer):
        print(f"  found {place}")
