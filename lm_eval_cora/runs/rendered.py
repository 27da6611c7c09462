"""The questions in prompts that tasks of the harness render: text, options and right option of each."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import SEQUENCES, UnusableQuestion, shorten
from lm_eval_cora.runs.printed import (
    LABEL,
    PrintedQuestion,
    longest_run,
    of_one_task,
    printed_question,
)

_MOST_LEFT_OUT = 0.2  # share of a task's docs that are left out if their options or their target are not found
_LABELLED = re.compile(r"([\W_]*)(\w{1,4})([\W_]*)(.*)", re.DOTALL)
"""A scored answer that begins with a label: "A", " B", "(C)", "4.", "(D)the whole option"."""
_PASSAGES = ("flores_passage", "passage", "paragraph", "article")
"""Columns of passages in the harness' tasks, such as belebele, boolq, multirc and race."""
_ANSWER = re.compile(r"\s*\n[^\n:：]{1,30}[:：]\s*$")
_QUESTION = re.compile(r"\s*(?:Question|Q)\s*[:：]\s*")


@dataclass
class Rendered:
    """The question in a prompt."""

    stem: str = ""  # the text before the options, for prompts of ours; without "Question:" and "Answer:"
    choices: tuple[str, ...] = ()
    answer: int = 0
    printed: PrintedQuestion | None = None  # cut at its options; None if the prompt does not print them
    error: UnusableQuestion | None = None  # why it is left out

    @classmethod
    def unusable(cls, reason: str) -> "Rendered":
        """A prompt in which no question is found."""
        return cls(error=UnusableQuestion("a prompt or target that cannot be read", reason))


def rendered(text: Any, target: Any, scored: Sequence[str] | None) -> Rendered:
    """Find the question in a prompt; `scored` are the answers that are scored, None if the answer is written."""
    if not isinstance(text, str):
        raise UserError(f"expected one prompt, got one for each option (doc_to_text is {text!r})")
    while isinstance(target, list) and len(target) == 1:
        (target,) = target
    if scored is None:
        printed = longest_run(text, label_in(target) if isinstance(target, str) else "")
        if printed is None:
            raise UserError(
                f"expected options with the label {shorten(repr(target))} "
                f"in the prompt, which ends with {text[-200:]!r}"
            )
        right = printed.labels.index(label_in(target))
        return Rendered(_stem(printed.before), printed.options, right, printed)
    answer = _index(target, scored)
    if answer is None:
        raise UserError(f"expected one of the {len(scored)} options as target, got {shorten(repr(target))}")
    labels = labels_in(scored)
    texts = [LABEL.sub("", choice, count=1) if labels else choice.lstrip() for choice in scored]
    styles = [labels] if labels else [sequence.split()[: len(texts)] for sequence in SEQUENCES if all(texts)]
    for printed in filter(None, (printed_question(text, style, texts) for style in styles)):
        return Rendered(_stem(printed.before), printed.options, answer, printed)
    return Rendered(_stem(_ANSWER.sub("", text)), tuple(map(str.strip, scored)), answer)


def settle(found: Sequence[Rendered], task: str) -> None:
    """Use what the questions of a task have in common. Raise a UserError if too many of them cannot be used."""
    cut = [one.printed for one in found if one.printed]
    # Options such as "1", "2", "3" may be numbers, not labels. They are if other docs of the task have texts.
    prints = 2 * len(cut) > len(found) or all(one.printed or labels_in(one.choices) for one in found if not one.error)
    common = iter(of_one_task(cut) if cut else ())
    for one in found:
        if one.printed:
            printed = next(common)
            one.printed, one.choices = printed if prints else None, printed.options
        elif prints and not one.error:
            one.error = UnusableQuestion(
                "a prompt without its options",
                f"the task scores {', '.join(one.choices)}, but its prompt does not print such options; it "
                f"ends with {one.stem[-200:]!r}",
            )
    places = [number for number, one in enumerate(found) if one.error]
    if len(places) > _MOST_LEFT_OUT * len(found):
        raise UserError(
            f"{task}: "
            f"{len(places)} of {len(found)} docs cannot be asked; at most {_MOST_LEFT_OUT:.0%} are left out. "
            f"Doc {places[0]}: {found[places[0]].error}"
        )


def _index(target: Any, scored: Sequence[str]) -> int | None:
    """The place of the target, which may be an index, a scored answer or its label."""
    if isinstance(target, str):
        for names in ([*scored], [choice.strip() for choice in scored], labels_in(scored)):
            for wanted in (target, target.strip()):
                if wanted in names:
                    return names.index(wanted)
        target = int(target) if target.strip().isdecimal() else None
    return target if type(target) is int and 0 <= target < len(scored) else None


def label_in(answer: str) -> str:
    """The label at the beginning of an answer such as "(B)"; empty if there is none."""
    match = _LABELLED.fullmatch(answer)
    return match[2] if match and (match[1].strip() or match[3] or not match[4]) else ""


def labels_in(scored: Iterable[str]) -> list[str]:
    """The labels that the scored answers are, or begin with; empty if they are other texts."""
    labels = [label_in(answer) for answer in scored]
    return labels if any(sequence.split()[: len(labels)] == labels for sequence in SEQUENCES) else []


def _stem(text: str) -> str:
    """A text for our prompt: without a first word "Question:", which our prompt prints."""
    label = _QUESTION.match(text)
    return text[label.end() :] if label and not _QUESTION.search(text, label.end()) else text


def passage_in(doc: Mapping[str, Any]) -> str:
    """The passage of a doc, which it may share with others; empty if it has none."""
    return cell_text(next((doc[name] for name in _PASSAGES if name in doc), None))


def cell_text(value: Any) -> str:
    """A value as text; empty for a missing one, such as nan."""
    return "" if value is None or value != value else str(value)
