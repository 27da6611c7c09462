"""The text of a response that is read: without its reasoning, and without markup."""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache

from lm_eval_cora.answers import Answer, Found, Reason
from lm_eval_cora.questions.question import UNSPACED

LINE_BREAK = re.compile(
    r"\r\n?|[\x1c-\x1e\x85\u2028\u2029]|(?i:<br ?/?>|</(?:p|div|li)>)"
    r"|[\v\f](?!rac|box|orall|lat|ec|ar|dots|ert|ee|space)"  # JSON turns "\frac" into a form feed and "rac"
    r"|(?<!\\)(?:\\r)?\\n(?!(?:u|i|eq?|eg|abla|ot(?:in)?|mid|less|gtr|exists|parallel|sim|cong|atural|ewline|oindent|"
    r"onumber|vdash|[ew]arrow|(?:leq|geq|prec|succ|subset|supset|triangle|[lL]eft|[rR]ight|V?[dD]|V)[a-z]*)(?![a-zA-Z]))"
)
"""Line breaks in a response: of Unicode, HTML tags, and a written-out backslash and n that begins no LaTeX command."""

_KIND = r"(?:think|thought|reason|scratchpad|analysis|reflect|rationale|internal|inner|monologue|\bcot\b)"
_MARK = rf"[\w:.-]{{0,20}}?{_KIND}[\w:.-]{{0,20}}"
OPENS = re.compile(
    rf"(?i:(?:<|&lt;)\|?(?!end)(?:begin_of_|start_of_|start_)?{_MARK}(?<!suffix)(?:\|?>|&gt;)|\[THINK\]|◁think▷"
    rf"|<unused\d+>thought|<\|(?:channel|im_start|start)\|?>\s?(?:{_MARK}|commentary)"
    r"|^\s*(?:analysis(?-i:(?=[A-Z\"']))|thinking\s?(?:\.\.\.|…)\s))"
)
"""Marks at which reasoning begins: a tag of any kind whose name speaks of thinking, and a few other signs."""
_OPENED = re.compile(rf"{OPENS.pattern}\s*\Z")
_CLOSES = re.compile(
    rf"(?i)(?:<|&lt;)(?:\|?/|\|end_(?:of_)?){_MARK}\s?(?:\|?>|&gt;)|<\|inner_suffix\|>|\[/THINK\]|◁/think▷"
    r"|(?<!^)<unused\d+>(?!thought)|<channel\|>|\.\.\.\s?done thinking\.?"
    r"|<\|channel\|>final(?: ?<\|constrain\|>\w{1,20})?<\|message\|>|<\|(?:im_start|start)\|>\s?(?:final|answer)\w*"
    r"|(?-i:[aA])ssistantfinal"
)
_ROLE = re.compile(
    rf"\s*(?:<\|(?:im_start|start_header_id|start|START_OF_TURN_TOKEN|CHATBOT_TOKEN|START_RESPONSE)\|>\s*(?!{_MARK}))*"
    r"(?:<\|assistant\|>|(?:assistant|model)(?:<\|end_header_id\|>)?\s*\n)?\s*"
)
"""The header of a turn, which some servers leave in the response."""

NEXT_QUESTION = re.compile(
    r"(?i)<eo[at]>(?=[\s\S])|(?<=[A-Z])(?:题目|问题)(?:总结)?(?=[:：]|\s*\Z)|\n[^\S\n]{0,9}(?:"
    r"[#*> ]{0,6}(?:(?:next |new )?question\s?(?:\d+\s?)?[:.]|Q\s?\d{0,3}[:.)]|human:|user:|<\|user\|>|"
    r"###\s?(?:instruction|human|user))|请你?(?:回答|阅读|判断)|(?:问题|题目)\s?\d*[:：]|"
    r"(?:now|so|finally|therefore),? (?:let(?:'|’)s ?|we (?:can )?|to )?(?:combin|summar|总结|compil|list|put)\w{0,8}"
    r"\W*[^\n]{0,30}?(?:answers|答案|questions)|以上(?:是|为|就是))"
)
"""Where a response goes on with a question of its own, or with the answers to the exemplars."""
_REFERENCES = re.compile(
    r"(?i)\n[#* ]{0,8}(?:references|sources|referencias|fuentes|bibliograf[ií]a|références|referências|fontes|"
    r"literatur|quellen|fonti|riferimenti|литература|источники|kaynaklar|kaynakça|参考文献|参考资料|출처|"
    r"참고 ?문헌) ?[:：]?[* ]*\n{1,9}(?:[^\S\n]{0,9}(?:\[?(?:\d{1,3}|[A-Z])[\].)]|[-*•])[^\n]*(?:\n{1,9}|\Z))+"
)
"""A list of references, whose titles may name options."""

_ALONE = 20  # up to this many characters before a closing mark are an answer if nothing follows the mark
LABEL = re.compile(
    r"(?i)\W*(?:(?:the|my|all|final|right|correct)\s+)*(?:answer|choice|option|letter)s?"
    r"(?:\W*[:：]|\s+(?:are|is)\b\W*?[:：]?)"
)
"""A label before a selection, or before yes or no: "Answer:", "The right answers are"."""

_REFUSAL = re.compile(
    r"(?i)(?:i['’]?m sorry|i am sorry|sorry\b|i apologi[sz]e|as an ai\b|"
    r"(?:unfortunately,? )?i (?:can['’]t|can ?not|won['’]t|am unable|am not able))"
)


def last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the last match of a pattern in a text; None if there is none."""
    return [None, *pattern.finditer(text)][-1]


FRONT = re.compile(r"[\W_]{0,10}")


def one_of(patterns: Iterable[str]) -> str:
    """Join patterns to one, by their first character, because most places of a text begin none of them."""
    rests = defaultdict(list)
    for pattern in patterns:
        start = 1 + pattern.startswith("\\")
        rests[pattern[:start]].append(pattern[start:])
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in rests.items())


def skip(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return the end of a match at a place; the place itself if there is none."""
    match = pattern.match(text, start)
    return match.end() if match else start


def after_reasoning(response: str) -> str:
    """Return a response without its reasoning and without leading white space."""
    return response[start_of_answer(response) :]


@lru_cache(maxsize=8)  # both readers ask for it
def start_of_answer(response: str) -> int:
    """Return where the answer begins: after the last closing mark of reasoning, white space and the turn's header."""
    closes = [*_CLOSES.finditer(response)]
    start = closes[-1].end() if closes else 0
    if start and not response[start:].strip() and 0 < len(response[: closes[0].start()].strip()) <= _ALONE:
        start = 0 if OPENS.match(response) is None else start
    return skip(_ROLE, response, start)


def is_reasoning(head: str) -> bool:
    """Whether a response, without its finished reasoning, begins with reasoning that was cut off."""
    return OPENS.match(head) is not None


def opens_reasoning(prompt: str) -> bool:
    """Whether a prompt ends in an opening mark of reasoning, as the chat templates of some models do."""
    return _OPENED.search(prompt[-80:]) is not None


def refused_or(reason: Reason, said: str) -> Reason:
    """Return why a text has no answer: it refuses, or else a given reason."""
    return Reason.REFUSED if _REFUSAL.match(said) else reason


HALF = 10_000  # characters that are read at each end of a longer text
_GAP = "\n\n"  # in the place of the others
_STAND_FOR = {
    "'": "‘’‛`´ʻʼ",
    '"': "“”„«»「」",
    "-": "‐‑‒–—―−",
    "[": "【",
    "]": "】",
    "->": "→⇒➔➜",
    "*": "×·",
    "option ": "№",
    ". ": "。।۔",
    ", ": "、،",
    "? ": "؟",
    # Letters in black circles and squares, which Unicode does not decompose.
    **{chr(65 + place): chr(0x1F150 + place) + chr(0x1F170 + place) for place in range(26)},
}
_SAME = {other: usual for usual, others in _STAND_FOR.items() for other in others}
_END_OF_TURN = re.compile(
    r"<\|(?:eot_id|im_end|end(?:oftext|_of_text)?|return|user|END_OF_TURN_TOKEN|END_RESPONSE)\|>|</s>"
    r"|<(?:eos|end_of_turn)>"
)


@lru_cache(maxsize=4096)
def _character(character: str) -> str:
    """Return the usual form of a character; empty for one without a shape."""
    if character in _SAME:
        return _SAME[character]
    if character == "\x00" or unicodedata.category(character) in ("Cf", "Mn"):
        return ""
    if character.isdecimal():  # in any script
        return str(int(character))
    return "".join(_SAME.get(one, one) for one in unicodedata.normalize("NFKC", character))


Replacement = str | Callable[[re.Match[str]], str]
_Change = tuple[int, int, int, int]
"""Start and end of a replacement in the new text, and of what it replaces in the old text."""


_REPLACED: tuple[tuple[str, re.Pattern[str], Replacement], ...] = (
    ("\n", _REFERENCES, "\n"),
    ("", re.compile("[^\x01-\x7f\u4e00-\u9fff]|`"), lambda unusual: _character(unusual[0])),
    ("\\", re.compile(r"\\sqrt(?=\s*[{\d])"), "√"),
    ("\\", re.compile(r"\\pi(?![a-zA-Z])"), "π"),
    ("\\", re.compile(r"\^?\s?\{?\\(?:circ|degree)(?![a-zA-Z])\}?"), "°"),
    ("\\", re.compile(r"\\[dt]?frac\s*\{([^{}]{1,60})\}\s*\{([^{}]{1,60})\}"), lambda frac: f"{frac[1]}/{frac[2]}"),
    ("\\", re.compile(r"\\(?:times|cdot)(?![a-zA-Z])"), "*"),
    (
        "\\<",
        re.compile(r"\\(?:boxed|fbox)\s*\{?|<(?:final_?)?(?:answer|choice|option|output)>", re.IGNORECASE),
        " answer: ",
    ),
    # An arrow at the start of a line or behind a label.
    (">", re.compile(r"(?:^|(?<=\n)|(?ai:(?<=answer)|(?<=choice)|(?<=option))) ?[-=]{1,2}>"), ":"),
    ("", re.compile(r"(?i)\bans\b[.:]{0,2}(?= ?\W{0,2}[A-Z]\b)"), "Answer:"),
    ("<", re.compile(r"<eo\w>"), "\n"),  # the end of a part
    (
        "<\\\x1b$*_~",
        re.compile(
            r"</?[a-zA-Z][\w-]{0,20} ?/?>|<\|?/?[\w|]{1,30}\|>|\\(?:text(?:bf|it|rm|sf)?|math(?:bf|it|rm|sf|bb|cal)|"
            r"left|right|[()\[\],;!])|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\x1b\[[\d;]{0,8}m|\$|\\(?![a-zA-Z])"
            r"|[*_~]+(?!\w)|[*_~](?<!\w[*_~])[*_~]*"
        ),
        "",
    ),
    ("\\", re.compile(r"\\(?<!\w\\)(?=[a-zA-Z])"), ""),
    ("", re.compile(r"[{}\\]|&nbsp;|[^\S\n ][^\S\n]*"), " "),
    (
        "",
        re.compile(rf"(?<=[{UNSPACED}])[A-Z](?![A-Za-z0-9])|(?<![A-Za-z0-9])[A-Z](?=[{UNSPACED}])"),
        lambda letter: f" {letter[0]} ",
    ),
    (
        "[",
        re.compile(rf"((?:^|[\n.!?:;>{UNSPACED}]) ?)\[((?:[^\W\d_]{{2,20}} ?){{1,4}})\]:?(?=\s?[(\[]?\w)"),
        lambda heading: f"{heading[1]}{heading[2]}: ",
    ),
    ("", re.compile(r" ?\n[ \n]*|  +"), lambda blank: "\n" * min(2, blank[0].count("\n")) or " "),
)
"""Replacements, in order: characters of which a text needs one (empty for any text), a pattern and its replacement. A
heading in brackets gets a colon. A box and an answer tag become the label "answer:", an arrow becomes a colon."""


_UNMARKED = re.compile(r"(?i)(?!.*(?:  |ans))[a-z0-9 .,;:'\"()?!%+/=-]*")
"""Texts that none of the replacements changes, such as those of most options."""


class Edited:
    """A text from a place on, whose characters can be traced back to the whole original text."""

    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self._changes: list[list[_Change]] = []  # of each step, in the order of the text
        self.cut(0, start)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the original text for a part of the text."""
        first = self._origin(start)
        return first, self._origin(end - 1, last=True) + 1 if end > start else first

    def traced(self, answer: Answer) -> Answer:
        """Return an answer in the text with its places in the original text."""
        if not self._changes:
            return answer
        found = tuple(Found._make((place.position, *self.span(*place.span), *place[3:])) for place in answer.found)
        return replace(answer, span=answer.span and self.span(*answer.span), found=found)

    def _origin(self, place: int, *, last: bool = False) -> int:
        """Return the place in the original text of a character; the first or last one that a replacement replaces."""
        for changes in reversed(self._changes):
            before = bisect_right(changes, place, key=lambda change: change[0])
            if before:
                _, end, old_start, old_end = changes[before - 1]
                inside = old_end - 1 if last else old_start
                place = inside if place < end else place - end + old_end
        return place

    def cut(self, start: int, end: int, new: str = "") -> None:
        """Replace a part of the text."""
        if start == end and not new:
            return
        self._changes.append([(start, start + len(new), start, end)])
        self.text = f"{self.text[:start]}{new}{self.text[end:]}"

    def substitute(self, pattern: re.Pattern[str], replacement: Replacement) -> None:
        """Replace the matches of a pattern."""
        changes: list[_Change] = []
        moved = 0  # characters by which the rest of the text is moved

        def replaced(match: re.Match[str]) -> str:
            nonlocal moved
            new = replacement if isinstance(replacement, str) else replacement(match)
            if new != match[0]:
                start, end = match.span()
                changes.append((start + moved, start + moved + len(new), start, end))
                moved += len(new) - (end - start)
            return new

        self.text = pattern.sub(replaced, self.text)
        if changes:
            self._changes.append(changes)


class Plain(Edited):
    """A text without the markup of Markdown, LaTeX and HTML, and without what follows the first end-of-turn token."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        if len(self.text) > 2 * HALF:
            self.cut(HALF, len(self.text) - HALF, _GAP)
        if (turn := _END_OF_TURN.search(self.text)) and self.text[: turn.start()].strip():
            self.text = self.text[: turn.start()]
        for signs, pattern, replacement in () if _UNMARKED.fullmatch(self.text) else _REPLACED:
            if not signs or any(map(self.text.__contains__, signs)):
                self.substitute(pattern, replacement)
        self.cut(0, len(self.text) - len(self.text.lstrip()))
        self.text = self.text.rstrip()


def plain(text: str) -> str:
    """Return a text without markup, see `Plain`."""
    return Plain(text).text


def lowered(text: str) -> str:
    """Convert a text to lower case without changing its length."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(min(one.lower(), one, key=len) for one in text)


@lru_cache(maxsize=65_536)  # a question's options are printed in each of its variants
def text_of_option(choice: str) -> str:
    """Return an option text in the form that is searched for: plain, in lower case, without a final full stop."""
    return lowered(plain(choice)).rstrip(" .")
