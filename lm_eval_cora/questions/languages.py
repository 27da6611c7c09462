"""The language of a task of the harness, from its name, the script of its questions or the words of its template."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_TABLE = Path(__file__).with_name("languages.yaml")
_ONLY_ENGLISH = re.compile(r"\b(?:the|and|which|what|how)\b", re.IGNORECASE)
_ENGLISH = re.compile(r"\b(?:the|of|and|is|which|what|to|in|for)\b", re.IGNORECASE)


def read_tables(path: Path) -> dict[str, dict[str, Any]]:
    """Read the tables of languages. The loader in C is ten times as fast, but not in every installation."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return dict(yaml.load(path.read_text(encoding="utf-8"), Loader=loader))


@cache
def _languages() -> dict[str, defaultdict[str, list[str]]]:
    """What tells each language, by code, as lists of words."""
    return {
        code: defaultdict(list, {part: words.split() for part, words in table.items()})
        for code, table in read_tables(_TABLE).items()
    }


def language_of(names: Iterable[str | None], texts: Iterable[str]) -> str:
    """The code of a task's language (ISO 639-1), empty if unknown. A code that may be a word counts only at the end."""
    text = " ".join(texts)
    for name in filter(None, names):
        *_, last = words = re.split(r"[\W_]+", name.lower().rstrip("_"))
        for code, language in _languages().items():
            known = map(str.lower, language["names"])
            if last == code or any(word in words or (len(word) > 4 and word in name.lower()) for word in known):
                return clear_language(text) or code
    letters = [character for character in text if character.isalpha()][:2_000]
    scripts = Counter(unicodedata.name(letter, "?").split()[0] for letter in letters)
    if scripts["HIRAGANA"] * 10 > scripts["CJK"]:
        return "ja"
    script = scripts.most_common(1)[0][0] if scripts else ""
    if script == "LATIN":
        return "en" if len(_ENGLISH.findall(text)) * 10 >= len(text.split()) else ""
    return next((code for code, language in _languages().items() if script in language["script"]), "")


def clear_language(text: str) -> str:
    """The code of the language that a text is clearly in, whatever its task is called; empty if there is none."""
    if (found := language_of((), [text])) not in ("", "en"):
        return found
    words = re.findall(r"[^\W\d_]+", text.lower())
    hits = {code: sum(word in language["words"] for word in words) for code, language in _languages().items()}
    *_, second, most = sorted(hits, key=hits.__getitem__)
    return most if hits[most] >= max(4, len(words) / 5, 2 * hits[second]) else ""


def name_of_language(code: str) -> str:
    """The English name of a language."""
    return _languages()[code]["names"][0]


def language_of_template(prompts: Collection[str], texts: Collection[str]) -> str:
    """The code of the language of the words before a colon, such as "Answer:", that all prompts of a task share."""
    found = {
        code
        for code, language in _languages().items()
        if (words := "|".join(language["template"]))
        and all(re.search(rf"(?im)^\W*(?:{words})\b[^:：\n]*[:：]", prompt) for prompt in prompts)
    }
    # Questions in other languages may have a template in English, so they need English words, or hardly any words.
    words = " ".join(re.findall(r"(?<!\\)\b[^\W\d_]{3,}", " ".join(texts)))
    most = max(30 * len(_ONLY_ENGLISH.findall(words)), 3 * len(texts) * words.isascii())
    own = found - {"en"} or (found if len(words.split()) <= most else ())
    return own.pop() if len(own) == 1 else ""
