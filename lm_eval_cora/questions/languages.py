"""The language of a task of the harness, from its name or the script of its questions."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

_LANGUAGES = (
    "am amh amharic, ar ara arb arabic darija egymmlu, bn ben bengali bangla, cs ces czech, de deu ger german, "
    "el ell greek, en eng english, es spa spanish, fa fas pes persian, fil tgl filipino, fr fra french, ha hau hausa, "
    "he heb hebrew, hi hin hindi, id ind indonesian, ig ibo igbo, it ita italian, ja jpn japanese, ko kor korean, "
    "ky kir kyrgyz, lt lit lithuanian, mg plt malagasy, ml mal malayalam, ms zsm malay, ne npi nepali, nl nld dutch, "
    "ny nya chichewa, pl pol polish, pt por portuguese, ro ron romanian, ru rus russian, si sin sinhala, sn sna shona, "
    "so som somali, sr srp serbian, sv swe swedish, sw swh swahili, te tel telugu, tr tur turkish, uk ukr ukrainian, "
    "vi vie vietnamese, yo yor yoruba, zh zho zh-cn chinese"
)
"""Codes and names in names of tasks and of configurations of datasets, each language's own code (ISO 639-1) first.
Malayalam is before Malay, whose name it contains."""

_SCRIPTS = (
    "HANGUL ko, HIRAGANA ja, KATAKANA ja, CJK zh, GREEK el, HEBREW he, BENGALI bn, TELUGU te, SINHALA si, ETHIOPIC am"
)
"""Scripts of one language of those above."""

_ENGLISH = re.compile(r"\b(?:the|of|and|is|which|what|to|in|for)\b", re.IGNORECASE)


def language_of(names: Iterable[str], texts: Iterable[str]) -> str:
    """The code of a task's language (ISO 639-1), empty if unknown. A code that may be a word counts only at the end."""
    for name in names:
        *_, last = words = re.split(r"[\W_]+", name.lower().rstrip("_"))
        for code, *known in map(str.split, _LANGUAGES.split(",")):
            if last == code or any(word in words or (len(word) > 4 and word in name.lower()) for word in known):
                return code
    text = " ".join(texts)
    letters = [character for character in text if character.isalpha()][:2_000]
    scripts = Counter(unicodedata.name(letter, "?").split()[0] for letter in letters)
    if scripts["HIRAGANA"] * 10 > scripts["CJK"]:
        return "ja"
    script = scripts.most_common(1)[0][0] if scripts else ""
    if script == "LATIN":
        return "en" if len(_ENGLISH.findall(text)) * 10 >= len(text.split()) else ""
    return dict(map(str.split, _SCRIPTS.split(","))).get(script, "")
