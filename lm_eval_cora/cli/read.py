"""Read one response: which option it chooses, by which rule, and which characters decided.

lm-eval-cora read --options Steam Ice Fog --response 'So the answer is B.'
lm-eval-cora read --options Steam Ice Fog < response.txt
"""

import sys
from typing import get_args

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import around, places, read_answer, said
from lm_eval_cora.cli import console


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.argument("--options", "TEXT", "the options as printed, in order", nargs="*", default=[])
    parser.argument("--response", "TEXT", "the response; without it, standard input is read")
    parser.argument("--format", None, "what was asked for (default: letter)", choices=tuple(FORMATS), default="letter")
    parser.argument("--reader", None, "the reader (default: flexible)", choices=get_args(Reader), default="flexible")
    parser.argument("--labels", "LABEL", "the printed labels if they are not A, B, C", nargs="*", default=[])
    parser.argument("--cut-off", None, "the token limit ended the response")


def run(given: console.Given) -> None:
    """Print how one response is read, and why."""
    response = sys.stdin.read() if given.response is None else given.response
    answer = read_answer(
        response,
        given.options,
        format=given.format,
        reader=given.reader,
        cut_off=given.cut_off,
        labels=given.labels,
    )
    chosen = said(answer, given.format, given.options, given.labels)
    print(f"no answer: {answer.reason}" if answer.reason else f"answer: {chosen}")
    if answer.rule:
        before, decided, after = around(response, answer.span)
        print(f"rule: {answer.rule}\n\n{before}>>>{decided}<<<{after}")
    for place in places(response, answer, given.labels):
        print(f"  found {place}")
