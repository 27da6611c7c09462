"""Questions as a task of the harness prints them: find the options in a prompt, and print others in their place."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, islice, takewhile

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import MAX_OPTIONS, SEQUENCES, one_line
from lm_eval_cora.variants.template import Template

# Thai, Lao, Burmese, Khmer, Japanese and Chinese have no spaces between words. Korean has, unlike in
# `questions.question.UNSPACED`, the scripts that join a letter to a word.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_LETTER = rf"[^\W{_UNSPACED}]"  # that a word's boundary precedes and follows
# What precedes a label: the beginning of a line, perhaps with "Option"; in options of one line a space.
_STARTS = (
    rf"(?:^|\n|\\n)[ \t]*(?:[-*•][ \t]*)?(?:\w+[ \t]+|[{_UNSPACED}]+)?",
    rf"(?:^|(?<=[\s,;.:，；。：、？！）】])|(?<=[{_UNSPACED}])(?![{_UNSPACED}]))",
)
_OPENS, _CLOSES = r"[(\[（【]?", r"[)\]）】]?(?:[.:：、．,)]|[–-](?=\s))?[ \t]*"
LABEL = re.compile(rf"^\s*{_OPENS}\w{{1,4}}{_CLOSES}")
_TRIED = 50  # number of first labels, from the end of a prompt, with which a run of options may begin
# What separates the labels of a list in a sentence, such as "A, B, C or D".
_BETWEEN = rf"([^\w\n]{{1,6}}(?:\w{{1,4}}[^\w\n]{{1,3}})?|[{_UNSPACED}]{{1,4}})"
# Some task files have a backslash and an n where they mean a new line; before a small letter it is LaTeX.
_LINE_END = re.compile(r"\n|\\n(?![a-z])")
# Punctuation after an option, which may belong to the list of options; not that of "p.m." or "...".
_END = re.compile(r"(?<=\S)(?:\s*[,;，；、،؛。।]|\s[/|]|(?<!\.)(?<!\.\w)\.)$")
_JOIN = re.compile(r"(?:(?<=\S)\s+(?:and|or|und|oder|et|ou|или)|或)$")


@dataclass(frozen=True)
class PrintedQuestion:
    """A rendered question, cut at its options. The parts together are the rendered text."""

    before: str
    marks: tuple[str, ...]  # for each option what stands between the text before it and its own text, with its label
    labels: tuple[str, ...]
    options: tuple[str, ...]
    end: str
    style: str  # the characters around a label, such as brackets
    texts: Sequence[str]  # those of the options if they are known
    joins: Collection[str] | None = None  # lists with such words before the last label (" or ") follow the options

    def __str__(self) -> str:
        """The rendered question."""
        return self.with_options(self.options)

    def labels_of(self, count: int) -> Sequence[str]:
        """The first labels of the sequence that the question uses; fewer if its script is unknown."""
        known = (tuple(labels.split()) for labels in SEQUENCES)
        return next((labels for labels in known if labels[: len(self.labels)] == self.labels), self.labels)[:count]

    def with_options(self, options: Sequence[str]) -> str:
        """Print other options in the same style. A list of the labels in the text follows their number."""
        labels = self.labels_of(len(options))
        own = [*zip(self.marks, self.labels, strict=True)]
        own += own[-1:] * (len(labels) - len(own))  # more options look like the last one
        marks = [label.join(mark.rsplit(old, 1)) for label, (mark, old) in zip(labels, own, strict=False)]
        before, end = (self._listing.sub(partial(self._listed, labels), text) for text in (self.before, self.end))
        return before + "".join(chain(*zip(marks, options, strict=True))) + end

    def joins_in(self, text: str) -> set[str]:
        """The words before the last label in the lists of a text: " or " in "one of A, B, C or D"."""
        return {match[len(self.labels) - 1] for match in self._listing.finditer(text)}

    @cached_property
    def _listing(self) -> re.Pattern[str]:
        following = [re.escape(label) for label in self.labels_of(len(self.labels) + 1)[len(self.labels) :]]
        longer = "".join(rf"(?!{_BETWEEN}{label}(?!{_LETTER}))" for label in following)  # a list of more labels
        return re.compile(rf"(?<!{_LETTER}){_BETWEEN.join(map(re.escape, self.labels))}(?!{_LETTER}){longer}")

    def _listed(self, labels: Sequence[str], match: re.Match[str]) -> str:
        """List other labels in the style of a list."""
        between = match.groups()[: len(self.labels) - 1]
        is_text = self.joins is not None and between[-1] not in self.joins
        if tuple(labels) == self.labels or is_text:
            return match[0]
        comma = between[0] if len(between) > 1 else ", "
        return between[-1].join(filter(None, (comma.join(labels[:-1]), labels[-1])))


def printed_question(
    prompt: str, labels: Sequence[str], texts: Sequence[str] = (), style: str = ""
) -> PrintedQuestion | None:
    """Find the last run of options with these labels, and texts if they are known: one per line, or all in one line."""
    for start in _STARTS:
        patterns = [_labelled(start, label) for label in labels]
        for first in reversed([*patterns[0].finditer(prompt)][-_TRIED:]):
            own = _style(first)
            run = [first] if re.search(r"[^\w\s·]", own) and style in ("", own) else []
            for pattern in patterns[1:]:
                following = pattern.finditer(prompt, run[-1].end() if run else len(prompt))
                run += [match for match in following if _style(match) == own][:1]
            if len(run) == len(texts or labels) and (found := _cut(prompt, tuple(labels), run, texts)):
                inside = prompt[first.start() : len(prompt) - len(found.end)]
                every = [_style(match) for pattern in patterns for match in pattern.finditer(inside)]
                if any(texts) or every.count(own) == len(run):  # no option has a label of the list
                    return found
    return None


@cache
def _labelled(start: str, label: str) -> re.Pattern[str]:
    """The pattern of a label in front of an option."""
    return re.compile(rf"{start}{_OPENS}(?P<label>{re.escape(label)})(?!\w){_CLOSES}")


@cache
def _alone(label: str) -> re.Pattern[str]:
    """The pattern of a label that is not inside a word. The label comes first, because Python finds it fastest so."""
    return re.compile(rf"{label}(?!\w)(?:(?<![A-Za-z0-9_]{label})|(?<=\\n{label}))")  # some tasks print "\\n"


def longest_run(prompt: str, label: str | None = None) -> PrintedQuestion | None:
    """Find the longest run of options in a prompt; with a label, one that has it."""
    runs: list[PrintedQuestion] = []
    for sequence in SEQUENCES:
        labels = sequence.split()[:MAX_OPTIONS]
        fewest = 1 if label is None else labels.index(label) if label in labels else len(labels)
        if fewest == len(labels):
            continue
        # Most prompts lack the next label, so no longer run has to be tried.
        known = [*takewhile(lambda label: _alone(label).search(prompt), labels)]
        counts = range(len(known), max(fewest, 1), -1)
        runs += islice(filter(None, (printed_question(prompt, labels[:count]) for count in counts)), 1)
    return max(runs, key=lambda printed: len(printed.labels), default=None)


def _style(match: re.Match[str]) -> str:
    """What stands around a label. A word before it may contain the label, such as "Choice C:"."""
    start, end = (place - match.start() for place in match.span("label"))
    return f"{match[0][:start]}·{match[0][end:]}".strip()


def _cut(
    prompt: str, labels: tuple[str, ...], run: Sequence[re.Match[str]], texts: Sequence[str]
) -> PrintedQuestion | None:
    """Cut a prompt at its options. The last one ends with its line. None if the options have other texts."""
    line_end = _LINE_END.search(prompt, run[-1].end())
    stops = [*(match.start() for match in run[1:]), line_end.start() if line_end else len(prompt)]
    options = [prompt[match.end() : stop].rstrip() for match, stop in zip(run, stops, strict=True)]
    for number, text in enumerate(texts):
        begin = run[number].end()
        is_printed = prompt.startswith(text, begin) and not re.search(r"\w", prompt[begin + len(text) : stops[number]])
        if text and not is_printed:
            return None
        options[number] = text or options[number]
    options = _without_ends(options)
    ends = [match.end() + len(option) for match, option in zip(run, options, strict=True)]
    begins = [run[0].start(), *ends]
    marks = tuple(prompt[begin : match.end()] for begin, match in zip(begins, run, strict=False))
    parts = (prompt[: begins[0]], marks, labels, tuple(options), prompt[ends[-1] :])
    return PrintedQuestion(*parts, style=_style(run[0]), texts=texts)


def _without_ends(options: list[str]) -> list[str]:
    """Options without the punctuation of their list, such as "; ... ." or ", ... and ... .", which stays at its place.

    If all options end alike, only a comma or a semicolon belongs to the list.
    """
    before_last = _JOIN.sub("", options[-2])
    bare = [_END.sub("", option) for option in (*options[:-2], before_last, options[-1])]
    ends = [option.removeprefix(text) for option, text in zip(options, bare, strict=True)]
    between = {*ends[: -1 if before_last == options[-2] else -2]}
    has_own_ends = len({*ends}) == 1 and not re.search("[,;，；、،؛]", ends[0])
    is_no_list = len(between) > 1 or len({*bare}) < len({*options})
    return options if has_own_ends or is_no_list else bare


def of_one_task(questions: Sequence[PrintedQuestion]) -> list[PrintedQuestion]:
    """Use what the questions of a task have in common: style, the text after the options, and a list of the labels."""
    # An option may begin with a label of its own, as in "(A) A. ice (B) B. fog".
    style = Counter(question.style for question in questions).most_common(1)[0][0]
    questions = [
        (one.style != style and printed_question(str(one), one.labels, one.texts, style)) or one for one in questions
    ]
    # The last option may have several lines: what precedes the usual end is a part of it. A list of the labels whose
    # kind fewer than half of the questions have is a part of their text, such as "vitamins A, B, C and D".
    (usual, _), *_ = Counter(question.end for question in questions).most_common(1)
    lists = Counter(join for question in questions for join in question.joins_in(question.before + question.end))
    joins = {join for join, count in lists.items() if 2 * count >= len(questions)}
    common = []
    for question in questions:
        lines = question.end.removesuffix(usual) if question.end.endswith(usual) else ""
        if "\n" not in lines.rstrip() or any(question.texts):
            lines = ""
        options = (*question.options[:-1], question.options[-1] + lines)
        common.append(replace(question, options=options, end=question.end[len(lines) :], joins=joins))
    return common


@dataclass(frozen=True, eq=False)
class PrintedPrompt(Template):
    """The prompt of a task of the harness, with other options in place of its own."""

    printed: PrintedQuestion = field(kw_only=True)  # as the task prints it
    scored_as: Sequence[str] = field(kw_only=True)  # the task's texts: "A", "(A)the whole option" or "the whole option"

    def render(self, stem: str, choices: Sequence[str], category: str = "") -> str:
        """Render the question with other options."""
        return self.printed.with_options(self._as_printed(choices))

    def _as_printed(self, choices: Sequence[str]) -> Sequence[str]:
        """A question's own options keep their white space; all of the original, also if two differ only in that."""
        options = self.printed.options
        own = {one_line(option): option for option in options}
        return options if [*choices] == [*map(one_line, options)] else [own.get(choice, choice) for choice in choices]

    def labels_of(self, count: int) -> Sequence[str]:
        """The labels of so many options. Raise a UserError if they are not known."""
        labels = self.printed.labels_of(count)
        if len(labels) < count:
            raise UserError(
                f"{self.name}: a variant has {count} options, but the labels after "
                f"{', '.join(self.printed.labels)} are not known. Use a probe that adds no options, such as "
                "cora_of_order"
            )
        return labels

    def scored(self, choices: Sequence[str]) -> list[str]:
        """The texts that are scored: labels in the task's style, with the options if the task scores these."""
        printed, first = self.printed, self.scored_as[0]
        labels = printed.labels_of(len(choices))
        if not any(printed.texts):
            return [first.replace(labels[0], label, 1) for label in labels]
        ends = [*map(str.removeprefix, printed.texts, printed.options)]
        ends = [*ends[:1] * (len(labels) - 2), *ends[-2:]]
        before = first.removesuffix(printed.texts[0])
        every = zip(labels, self._as_printed(choices), ends, strict=True)
        return [before.replace(labels[0], label, 1) + choice + end for label, choice, end in every]
