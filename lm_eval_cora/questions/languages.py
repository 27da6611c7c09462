"""The language of a task of the harness, from its name, the script of its questions or the words of its template."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable

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

_TEMPLATES = (
    "ar السؤال|الجواب|الإجابة|إجابة, cs odpověď, de frage|antwort, en answer|choices, es respuesta, fa پاسخ, "
    "fil tanong|sagot, fr réponse, ha amsa, id jawaban, ig azịza, it domanda|risposta, ky суроо|жооп, "
    "lt klausimas|atsakymas, mg valiny, ms soalan|jawapan, nl vraag|antwoord, ny yankho, pl pytanie|odpowiedź, "
    "pt pergunta, ro întrebare|răspuns, ru вопрос|ответ, sn mhinduro, so jawaab, sr питање, sv fråga, sw swali|jibu, "
    "tr soru|cevap, uk питання|відповідь, vi đáp án|trả lời, yo ìdáhùn"
)
"""Words before a colon in prompts that one language only has: not "Question", which is also French."""

_ONLY_ENGLISH = re.compile(r"\b(?:the|and|which|what|how)\b", re.IGNORECASE)
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


def language_of_template(prompts: Collection[str], texts: Collection[str]) -> str:
    """The code of the language of the words before a colon, such as "Answer:", that all prompts of a task share."""
    found = {
        code
        for code, words in (entry.split(maxsplit=1) for entry in _TEMPLATES.split(","))
        if all(re.search(rf"(?im)^\W*(?:{words})\b[^:：\n]*[:：]", prompt) for prompt in prompts)
    }
    # Questions in other languages may have a template in English, so they need English words, or hardly any words.
    words = " ".join(re.findall(r"(?<!\\)\b[^\W\d_]{3,}", " ".join(texts)))
    most = max(30 * len(_ONLY_ENGLISH.findall(words)), 3 * len(texts) * words.isascii())
    own = found - {"en"} or (found if len(words.split()) <= most else ())
    return own.pop() if len(own) == 1 else ""
