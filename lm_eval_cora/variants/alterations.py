"""Changes to the options of a question, and the names of the kinds of variants, that several probes share."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from lm_eval_cora.questions.question import FIRST_FILLER, NOTA, Question
from lm_eval_cora.questions.randomness import distinct_orders, draw, in_random_order
from lm_eval_cora.variants.template import LETTER, YES_NO
from lm_eval_cora.variants.variant import Altered, PrintedOption

_CONSONANTS = "bdgklmnprst"
_VOWELS = "aeiou"
_HEARD_AFTER = {
    "voz": "di do la lo na ne ni no pi po ra re ro sa si su ta to",
    "vub": "ga gu le ma",
    "vuf": "ga la lo pi ra ro sa si to",
    "vuk": "go ki ku le lo ma mi ne pa pe po sa se si ta te tu",
    "vup": "di",
    "vuz": "be da di ka li ma ne pa re ri ta ti to",
    "zuk": "ba bu da di ga ge go gu ka ke ki ko ku la li ma me mi ne ni pa pe po ru si su te ti",
    "zuv": "bo do go na ne po sa se su",
}

UNHEARD = tuple(_HEARD_AFTER)
"""Syllables that occur in no word of the large English dictionaries. Each filler contains one of them."""

HEARD = frozenset(first + second for second, firsts in _HEARD_AFTER.items() for first in firsts.split())
"""Two syllables that begin a name or a word of another language, such as Suzuki or "bazuka", with one or two letters
after them. A filler does not begin with them, so it is not such a word, its plural or another of its short forms."""


def fillers(number: int, taken: Iterable[str], *key: str | int) -> tuple[str, ...]:
    """Make different words without meaning, such as "Tuvozur", that do not occur in the texts `taken` in any case."""
    text = "\n".join(taken).casefold()
    words = list[str]()
    drawn = (_word(*key, "filler", attempt) for attempt in count())
    while len(words) < number:
        lowered = (word := next(drawn)).casefold()
        is_taken = word in words or lowered in text
        if lowered[:5] not in HEARD and not is_taken:
            words.append(word)
    return tuple(words)


def _word(*key: str | int) -> str:
    """Draw a word of seven letters, alternately consonant and vowel."""
    rank = draw(len(_CONSONANTS) ** 2 * len(_VOWELS) ** 2 * len(UNHEARD), *key)
    letters = []
    for part in (_CONSONANTS, _VOWELS, UNHEARD, _VOWELS, _CONSONANTS):
        rank, index = divmod(rank, len(part))
        letters.append(part[index])
    return "".join(letters).capitalize()


COUNTS = (2, 3, 6, 8, 10)  # the numbers of options to which MCQA+ and REVAS shorten or extend a question
ORIGINAL = "original"
NOTA_ANSWER = "nota_answer"
TRUE_OR_FALSE_RIGHT = "true_or_false_right"
TRUE_OR_FALSE_WRONG = "true_or_false_wrong"
SELECT_ALL = "select_all"
REPLACED = "replaced"


def with_options(number: int) -> str:
    """Return the kind of a variant with another number of options than the question."""
    return f"options_{number}"


def shuffled(kind: str) -> str:
    """Return the kind of a variant that has the options of the given kind in another order."""
    return "shuffled" if kind == ORIGINAL else f"{kind}_shuffled"


KINDS = {
    ORIGINAL: "The benchmark's question with its own options in their own order.",
    shuffled(ORIGINAL): "The same options in another order.",
    NOTA_ANSWER: "The right option is removed, so that “None of the above” is right.",
    TRUE_OR_FALSE_RIGHT: "Asks whether the right option is the right answer; “yes” is right.",
    TRUE_OR_FALSE_WRONG: "Asks whether a wrong option is the right answer; “no” is right.",
    SELECT_ALL: "Asks for the letters of all right options; there is only one.",
    REPLACED: "A filler, which is a meaningless word, replaces one of the wrong options.",
    **{
        with_options(number): f"{number} options: wrong ones are removed, or fillers (meaningless words) are added."
        for number in COUNTS
    },
}
"""A sentence about each kind that several probes share, for the report."""

# docs/results.md: SmolLM2-135M got nearly all variants of the first two kinds wrong, 82% of `shuffled`, none of the
# other kinds of MCQA+.
HARDEST_FIRST = (TRUE_OR_FALSE_RIGHT, NOTA_ANSWER, shuffled(ORIGINAL))


def source_options(question: Question, nota_text: str) -> list[PrintedOption]:
    """Return the options of the source; one about none of the others, or with the words of `nota_text`, is NOTA."""
    found = question.references or [""] * len(question.choices)
    return [
        (NOTA if reference == "none" or _plain(text) == _plain(nota_text) else identity, text)
        for identity, text, reference in zip(question.identities, question.choices, found, strict=True)
    ]


def _referring(question: Question) -> list[int]:
    """Identities of the options that refer to others, in their order, and NOTA; empty without such options."""
    found = zip(question.identities, question.references, strict=False)
    last = [NOTA if reference == "none" else identity for identity, reference in found if reference]
    return list(dict.fromkeys((*last, NOTA))) if last else last


def orders(
    question: Question, options: Sequence[PrintedOption], number: int, *key: str | int
) -> list[list[PrintedOption]]:
    """Draw distinct orders, the given one first; options that refer to others are last in all of them."""
    last = _referring(question)
    moved = [option for option in options if option[0] not in last]
    rest = [option for identity in last for option in options if option[0] == identity]
    return [[*order, *rest] for order in distinct_orders(moved, number, *key)]


def kept(question: Question, altered: Iterable[Altered]) -> Iterator[Altered]:
    """Print options that refer to others last, except in the original. Leave out variants without one answer."""
    for one in altered:
        if one.original or not question.references:
            yield one
        elif _has_one_answer(question, one):
            yield one._replace(options=orders(question, one.options, 1)[0])


def _has_one_answer(question: Question, altered: Altered) -> bool:
    """Whether the answer of a variant is its only right option, by what "All of the above" and NOTA mean."""
    printed = [identity for identity, _ in altered.options]
    plain = {*printed} - {*_referring(question)}
    prints_all = "all" in question.references and question.references.index("all") in printed
    if question.references[question.answer] == "all":  # other options would make it another statement
        source = {place for place in question.identities if not question.references[place]}
        is_clear = altered.ask == LETTER and prints_all and plain == source
    else:
        is_clear = bool(plain) and not (prints_all and plain == {question.answer})
    return is_clear and printed.count(NOTA) < 2


def _plain(text: str) -> str:
    return text.strip().rstrip(".").casefold()


def filler_options(question: Question, nota_text: str, seed: int) -> list[PrintedOption]:
    """Return all fillers that may be needed as options; each question has its own."""
    texts = (question.stem, nota_text, *question.choices)
    words = fillers(max(*COUNTS, len(question.choices)), texts, seed, question.id)
    return list(enumerate(words, FIRST_FILLER))


def of_mcqa_plus(
    question: Question,
    more: Sequence[PrintedOption],
    seed: int,
    nota_text: str,
    probe: str,
    *,
    several_orders: bool = False,
) -> Iterator[Altered]:
    """Yield the kinds of MCQA+: original and shuffled, other numbers of options, NOTA as the answer, true or false."""
    # With several orders, as in REVAS, n options are printed in n orders and those with NOTA in four, instead of one.
    options = source_options(question, nota_text)
    right = options[question.answer][0]
    key = (seed, question.id, probe)
    yield from in_orders(question, ORIGINAL, options, right, len(options) if several_orders else 1 + 3, *key)
    last = _referring(question)
    distractors = [position for position in range(len(options)) if position != question.answer]
    for number in COUNTS:
        kind, added = with_options(number), number - len(options)
        resized = [*options, *more[: max(added, 0)]]
        if added < 0:
            drawn = in_random_order(distractors, *key, kind)
            plain_first = sorted(drawn, key=lambda position: options[position][0] in last)  # are removed first
            kept = [question.answer, *plain_first[: number - 1]]
            resized = [options[position] for position in sorted(kept)]
        if added:
            yield from in_orders(question, kind, resized, right, number if several_orders else 1, *key)
    # A distractor that is NOTA is removed, too, unless it is the only one.
    others = [options[position] for position in distractors]
    with_nota = [*([option for option in others if option[0] != NOTA] or others), (NOTA, nota_text)]
    yield from in_orders(question, NOTA_ANSWER, with_nota, NOTA, 4 if several_orders else 1, *key)
    for option in once_each(options):
        yield Altered(TRUE_OR_FALSE_RIGHT if option[0] == right else TRUE_OR_FALSE_WRONG, [option], right, YES_NO)


def in_orders(
    question: Question, kind: str, options: Sequence[PrintedOption], right: int, number: int, *key: str | int
) -> Iterator[Altered]:
    """Yield a variant in the given order, then shuffled ones; `number` in total if so many distinct orders exist."""
    yield letters(kind, options, right)
    text = dict(reversed(options))
    equal = [(identity, text[identity]) for identity, _ in options]
    for order in orders(question, equal, number, *key, shuffled(kind))[1:] if number > 1 else ():
        yield letters(shuffled(kind), order, right)


def letters(kind: str, options: Sequence[PrintedOption], right: int) -> Altered:
    """Make a variant that asks for the letter of one option. It is the original if its kind is `original`."""
    return Altered(kind, options, right, LETTER, original=kind == ORIGINAL)


def once_each(options: Sequence[PrintedOption]) -> list[PrintedOption]:
    """Return the options without repeated identities; the first copy is kept."""
    text = dict(reversed(options))
    return list({identity: text[identity] for identity, _ in options}.items())
