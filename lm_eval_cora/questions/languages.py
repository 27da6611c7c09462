"""The language of a task of the harness, from its name, the script of its questions or the words of its template."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable

_LANGUAGES = (
    "am amharic amh, ar arabic ara arb darija egymmlu, bn bengali ben bangla, cs czech ces, de german deu ger, "
    "el greek ell, en english eng, es spanish spa, fa persian fas pes, fil filipino tgl, fr french fra, ha hausa hau, "
    "he hebrew heb, hi hindi hin, id indonesian ind, ig igbo ibo, it italian ita, ja japanese jpn, ko korean kor, "
    "ky kyrgyz kir, lt lithuanian lit, mg malagasy plt, ml malayalam mal, ms malay zsm, ne nepali npi, nl dutch nld, "
    "ny chichewa nya, pl polish pol, pt portuguese por, ro romanian ron, ru russian rus, si sinhala sin, "
    "sn shona sna, so somali som, sr serbian srp, sv swedish swe, sw swahili swh, te telugu tel, tr turkish tur, "
    "uk ukrainian ukr, vi vietnamese vie, yo yoruba yor, zh chinese zho zh-cn"
)
"""Codes and names in names of tasks and of configurations of datasets: each language's own code (ISO 639-1), its name,
and others. Malayalam is before Malay, whose name it contains."""

_WORDS = (
    "ar أن أي إلى الذي التي الى ذلك على عن في كان لا ما مع من هذا هذه هل هو هي و, "
    "de das dem den der des die ein eine einem einer es für hat im ist mit nicht sich sind und von welche wie wird zu, "
    "en an and are by does for from has have how in is of on that the to was what when where which who with, "
    "es al con cuál cuáles de del el en es la las lo los para por que qué se son su una y, "
    "fa آن از است این با به بر تا در را که کدام می های و یک, "
    "fr au aux dans de des du elle en est et il la le les leur par pour qu que quel quelle sont sur une, "
    "id adalah akan apa berikut dalam dan dari dengan di ini itu ke oleh pada untuk yang, "
    "it che con dei del della delle di gli il in la le nel per più quale quali si sono una è, "
    "nl aan bij dat de een en het is met naar niet op te van voor wat welke wordt zijn, "
    "pl co czy do jak jakie jest która które który na nie od po są się w z, "
    "pt ao com da das do dos e em na não no o os para por qual quais que se são um uma, "
    "ru в для и из к как какая какие какой на не о от по с что это является, "
    "tr bir bu da daha de en göre hangi hangisi hangisidir için ile kaç ne nedir olan ve, "
    "uk від до є з і із та у це що як яка яке який, "
    "vi các có của cho gì khi không là một nào những người trong và với được"
)
"""Frequent words of some languages."""

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


def language_of(names: Iterable[str | None], texts: Iterable[str]) -> str:
    """The code of a task's language (ISO 639-1), empty if unknown. A code that may be a word counts only at the end."""
    text = " ".join(texts)
    for name in filter(None, names):
        *_, last = words = re.split(r"[\W_]+", name.lower().rstrip("_"))
        for code, *known in map(str.split, _LANGUAGES.split(",")):
            if last == code or any(word in words or (len(word) > 4 and word in name.lower()) for word in known):
                return clear_language(text) or code
    letters = [character for character in text if character.isalpha()][:2_000]
    scripts = Counter(unicodedata.name(letter, "?").split()[0] for letter in letters)
    if scripts["HIRAGANA"] * 10 > scripts["CJK"]:
        return "ja"
    script = scripts.most_common(1)[0][0] if scripts else ""
    if script == "LATIN":
        return "en" if len(_ENGLISH.findall(text)) * 10 >= len(text.split()) else ""
    return dict(map(str.split, _SCRIPTS.split(","))).get(script, "")


def clear_language(text: str) -> str:
    """The code of the language that a text is clearly in, whatever its task is called; empty if there is none."""
    if (found := language_of((), [text])) not in ("", "en"):
        return found
    words = re.findall(r"[^\W\d_]+", text.lower())
    hits = {code: sum(word in known for word in words) for code, *known in map(str.split, _WORDS.split(","))}
    *_, second, most = sorted(hits, key=hits.__getitem__)
    return most if hits[most] >= max(4, len(words) / 5, 2 * hits[second]) else ""


def name_of_language(code: str) -> str:
    """The English name of a language."""
    return dict(words.split()[:2] for words in _LANGUAGES.split(","))[code].capitalize()


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
