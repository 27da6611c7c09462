"""Responses in a table or file: read which option each picks, with the readers of the harness' tasks."""

import re
from collections.abc import Sequence

from tqdm import tqdm

from lm_eval_cora.answers.formats import LETTER
from lm_eval_cora.answers.plain import opens_reasoning
from lm_eval_cora.answers.records import Response, answer_and_format
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import LETTERS, Reader, UnusableQuestion, shorten
from lm_eval_cora.questions.right_option import AnswerKey, Draft
from lm_eval_cora.runs.answer_columns import AnswerColumns
from lm_eval_cora.variants.printed import longest_run

_ADVICE = re.compile(r"\. (?:If they do, s|S|Write all answers in the same way, or s)et 'answer_\w+'.*", re.DOTALL)
"""The end of messages about right options, which names options of tasks."""


def read_raw(columns: AnswerColumns, reader: Reader) -> None:
    """Fill the columns `picked`, `answer`, `printed`, `followed`, `reader`, `reason` and `rule` from the responses."""
    values = columns.values
    if not {"printed", "prompt"} & columns.names.keys():
        where = "a column 'options' with lists, a column for each option (A, B, ...), or the column 'prompt'"
        raise UserError(f"{columns.source}: expected the options of each response: {where}")
    drafts = [_draft(columns, row) for row in range(len(values["response"]))]
    rights = _right_options(columns.source, drafts)
    for name in ("picked", "followed", "printed"):
        columns.names.setdefault(name, columns.names["response"])
    values["reader"] = [reader] * len(drafts)
    for name in ("picked", "followed", "reason", "rule"):
        values[name] = []
    rows = zip(drafts, values["response"], values["cut_off"], values["prompt"], strict=True)
    for draft, text, cut_off, prompt in tqdm(rows, "reading", len(drafts), unit="response", disable=None, leave=False):
        doc = {"ask": LETTER.name, "printed": range(len(draft.options)), "choices": draft.options}
        if draft.labels and "".join(draft.labels) not in LETTERS:
            doc["labels"] = draft.labels
        response = Response(text, cut_off=cut_off, opened=opens_reasoning(prompt or ""))
        answer, followed = answer_and_format(doc, response, reader)
        values["picked"].append(None if answer.position is None else draft.options[answer.position])
        values["followed"].append(followed)
        values["reason"].append(answer.reason)
        values["rule"].append(answer.rule)
    values["printed"] = [draft.options for draft in drafts]
    values["answer"] = [draft.options[right] for draft, right in zip(drafts, rights, strict=True)]


def _draft(columns: AnswerColumns, row: int) -> Draft:
    """The options of a row, from their column or from the prompt, and its answer."""
    values = columns.values
    options, prompt, answer = values["printed"][row], values["prompt"][row], values["answer"][row]
    if values["response"][row] is None:
        raise columns.error(row, "response", "a text (leave out variants that were not asked)")
    found = longest_run(prompt) if prompt else None
    if options is None and found is None:
        where = "column 'prompt': expected options such as \"A. ...\"" if prompt else "expected a list of options"
        raise UserError(f"{columns.where(row)}: {where}, got {shorten(repr(prompt), 200)}")
    if options is not None and found is not None and len(options) != len(found.options):
        columns.names.setdefault("printed", "printed")
        raise columns.error(row, "printed", f"the {len(found.options)} options that the prompt prints")
    options = found.options if options is None and found else options
    least, most = LETTER.shows
    if not least <= len(options) <= most:
        raise UserError(f"{columns.where(row)}: expected {least} to {most} options, got {len(options)}")
    labels = found.labels if found else None
    return Draft(values["question"][row], "", options, labels, answer, None, "", columns.where(row))


def _right_options(source: str, drafts: Sequence[Draft]) -> list[int]:
    """The index of each right option; answers may be letters, labels, indices or texts."""
    how = ". Write the letter or the text of the right option in every row"
    try:
        places, doubts = AnswerKey().settle(drafts, source)
    except UserError as error:
        raise UserError(_ADVICE.sub("", str(error)).rstrip(".") + how) from None
    if doubts:
        raise UserError(f"{source}: no answer is 0, so they may count from 1{how}")
    for draft, place in zip(drafts, places, strict=True):
        if isinstance(place, UnusableQuestion):
            raise UserError(f"{draft.where}: {place}")
    return [place for place in places if not isinstance(place, UnusableQuestion)]
