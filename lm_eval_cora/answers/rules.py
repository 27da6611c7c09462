"""The rules of the flexible reader as data: which words around an option state, affirm, doubt or reject it."""

import re
from typing import NamedTuple

from lm_eval_cora.answers import Reason, Rule
from lm_eval_cora.answers.plain import one_of
from lm_eval_cora.questions.question import UNSPACED

MENTIONED, AFFIRMED, ODD_ONE, STATED = range(4)
"""How strongly a place names an option. ODD_ONE is "the incorrect statement is C"."""


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _words(pattern: str) -> re.Pattern[str]:
    return _any_case(rf"\b(?:{pattern})\b")


_IS = _any_case("is|are|was|were|be|being|becomes?|seems|appears|as|-")
_COLON = _any_case(r"[:=]\n?")  # perhaps at the end of a line
_IS_OR_COLON = _any_case(f"{_IS.pattern}|{_COLON.pattern}")

# ---- words before an option
DOUBT = _words(
    r"if|whether|could|might|may|perhaps|maybe|possibly|either|suppose|assum\w{1,4}|unless|why|between|"
    r"(?:others|some|people) (?:say|think|claim|argue|believe)"
)
CONDITION = _any_case(r"\b(?:if|unless)\b(?! (?:i|we) (?:had|have|were|must))")
NEGATION = _words(r"not|never|cannot|neither|nor|without|\w{1,8}n't|none")
LEAVES_OPEN = _any_case(f"{NEGATION.pattern}|{DOUBT.pattern}")  # negates or doubts what follows
SENTENCE_END = re.compile(
    r"[.!?;][\"')\]]{0,2}\s|\n|(?<=, )but (?!not)|Correction: |(?<=\s)(?=The (?:correct |final |right |best )?answer\b)"
)
ENDED = re.compile(r"(?<!\.)[.!?;]\s+\Z")
SENTENCE = re.compile(r"(?<!\b[A-Z])[.!?;][\"')\]]{0,2}\s|\n")
"""The end of a sentence; "B. Fog" is one."""
CLAUSE = re.compile(r"(?:^|(?<=[,;:]))(?=[^,;:]*\Z)")  # the start of the last clause
_NOUN = r"(?:(?<!to )answers?|choice|option|selection|conclusion|letter)"
_KNOWN = r"(?:correct|final|right|best|my|your) (?:solution|response|statement|result)"
_RANK = r"second|third|fourth|fifth|next|[2-9](?:nd|rd|th)"
_ODD = r"(?:incorrect|wrong|false|inaccurate|untrue|least \w{1,20}|exception|not (?:correct|true|right|accurate))"
ANSWER = _any_case(
    r"\b(?P<other>(?:others?|wrong|incorrect|remaining|false|each|every|any|not (?:a|the)|least \w{1,20}|worst|obvious|"
    rf"{_RANK}|initial|first|previous|tempting) (?:\w{{1,20}} )?)?(?:{_NOUN}|{_KNOWN})\b(?! \(?[a-z]\b)"
    r"|^\W*(?:solution|response|result)(?=\W*$)"
)
BEST = _any_case(
    r"\b(?:correct|right|best|only (?:option|statement|choice|one)|most \w{1,20}|closest|nearest|final|appropriate|"
    r"suitable|true|proper|likely)\b"
    r"(?! (?:answer|option|choice)s\b)"
)
NOT_BEST = _any_case(rf"\b(?:{_ODD}|not|(?:{_RANK})[ -](?:best|choice|most|guess))\b[^,;:]*\Z")
FIRST = _any_case(
    r"(?:^|\n)\W*(?:(?:my )?(?:first|1st|top|best)(?: (?:choice|guess|pick|option|answer))?|most likely)\W*\Z"
)
"""The label of the first of several ranked options."""
ODD = _any_case(rf"\b{_ODD}(?: (?:one|{_NOUN}|\w{{1,20}}))?\b(?=[^.\n]{{0,40}}$)")
OPINION = _words(r"i|i'd|i'll|i'm|i've|my|we would|we'd")
SUBJECT = _words(r"i|we|i'd|i'll|i'm|i've|me|my|let's|one")
POINTER = _any_case(r"\b(?:it|this|that|which|it's|that's|must|would|has to|to)\b[^\n]{0,12}$")
CHOICE = _any_case(
    r"\b(?:go|going|went|stick|stay|opt|opting|settle|decide|vote|bet|agree|conclude|change my (?:answer|choice|mind))"
    r"\s*$"
)
LISTS = _words(
    r"each|every|all|options|choices|following|one by one|consider|explanation|reason(?:ing|s)?|rationale|analysis|"
    r"justification|notes?|why"
)
OTHERS = _any_case(
    r"\b(?:other|others|remaining|rest of the)(?: \w{1,20}){0,2} (?:options|choices|answers|statements|alternatives)\b"
)
"""What follows, without being stated, is about the options that are not chosen."""
GOES_THROUGH = _any_case(
    rf"{LEAVES_OPEN.pattern}|{LISTS.pattern}|\b(?:let's|let us|we|analy[sz]\w{{1,4}}|examine|evaluate|look|break)\b"
)
BEFORE_A_LIST = _any_case(
    rf"{LISTS.pattern}\W*$|(?<!correct )(?<!right )(?<!best )(?<!final )(?<!my )\b(?:option|choice)\W*$"
)
LINE = _any_case(r"(?:^|\n)[\s>#\"'(\[•-]*(?:(?:the|my|final|correct|right|best|answer) )*$")
ENDS_LINE = re.compile(r"[)\].!\"]{0,3}\s*(?:\n|$)")
STOP = re.compile(
    r"\s?(?:[.,:;!?)\]\n\"]|(?<=\s)(?:rather than|instead of|not|because|since)\b|\((?!\w{1,3}[;,=)])|- |$)"
)


GOES_ON_AFTER = re.compile(rf"(?i:{LEAVES_OPEN.pattern})|(?:is|:) \(?[A-Z]\)?,")  # "The answer is B, the symbol is C."


_ANY, _NEVER = re.compile(""), re.compile("(?!)")


_CORRECTS = _any_case(
    "wait|correction|sorry|scratch that|i mean|i meant|on second thought|on second thoughts|make it|make that|"
    "actually|no|rather|but"
)
"""Words that, at the start of a clause, replace an answer by the option that follows."""


class Cue(NamedTuple):
    """Words after which an option is the answer."""

    rule: Rule
    words: re.Pattern[str]  # directly before the option
    before: re.Pattern[str]  # must be in the sentence before; a match of its group `other` is about another answer
    after: re.Pattern[str] = _ANY  # must follow the option, unless its own text follows its letter
    doubt: re.Pattern[str] = DOUBT  # must not come before `before`
    opens: re.Pattern[str] = GOES_ON_AFTER  # must not come in or after `before`
    unless: re.Pattern[str] = _NEVER  # must not be in the sentence before
    with_text: bool = False  # the option's own text must follow its letter
    weight: int = STATED


CUES = (
    Cue(Rule.LABEL, _any_case("answer"), LINE, STOP),
    Cue(Rule.LABEL, _any_case(":"), FIRST, STOP),
    Cue(Rule.LABEL, _any_case("option|choice|letter"), LINE, ENDS_LINE, weight=AFFIRMED),
    Cue(Rule.STATED, _COLON, ANSWER, opens=GOES_THROUGH, unless=BEFORE_A_LIST),
    Cue(Rule.STATED, _IS, ANSWER),
    Cue(Rule.BEST, _IS_OR_COLON, BEST, STOP, unless=NOT_BEST),
    Cue(Rule.ODD_ONE, _IS_OR_COLON, ODD, STOP, opens=_NEVER, weight=ODD_ONE),
    Cue(Rule.CHOSEN, _any_case("choose|chose|select(?:ed)?|pick(?:ed)?"), SUBJECT, doubt=CONDITION),
    Cue(Rule.CHOSEN, _any_case("believe|think|say|guess|meant?"), OPINION, doubt=CONDITION),
    Cue(Rule.CHOSEN, _any_case("with|for|on|to"), CHOICE),
    Cue(Rule.CONCLUDED, _any_case("therefore|so|thus|hence|it's|that's"), CLAUSE, STOP, doubt=_NEVER),
    Cue(Rule.CONCLUDED, _any_case("is|be"), POINTER, STOP, doubt=LEAVES_OPEN),
    Cue(Rule.CORRECTED, _CORRECTS, re.compile(r"(?:^|[,;:-])\s*\Z"), STOP, _NEVER, _NEVER),
    Cue(Rule.LETTER_AND_TEXT, _any_case("is|are|:"), CLAUSE, _ANY, _NEVER, _NEVER, LISTS, True, AFFIRMED),
)
"""The cues in order; the first one that fits counts."""
HEADED = _any_case(
    r"(?:^|(?<=\n))\W{0,10}(?:(?:the|my|final|correct|right|best) )*answer(?: is(?: not)?)?\s?:(?P<said>\s?[^\n]+)\Z"
)
"""A last line that is announced as the answer."""
STATES_NOTHING = Cue(Rule.NO_OPTION, _any_case(".+"), ANSWER, doubt=_NEVER)
FIRM = (Rule.LABEL, Rule.STATED, Rule.CHOSEN)
"""Rules whose statement in the first sentence is the answer at the beginning."""

_WORDS = {word for cue in CUES for word in cue.words.pattern.split("|") if word[:1].isalpha()}
OPENER = _any_case(rf"\b(?:{one_of(sorted(_WORDS, reverse=True))})\b(?!'\w)|[-=]>|[:=](?!>)|(?<= )-(?= )")
"""The words and signs of all cues."""

_FILLERS = (
    "option|choice|letter|answer|it's|it|is|be|to|indeed|therefore|thus|hence|so|has|have|would|definitely|most|likely|"
    "probably|clearly|simply|actually|the|that|number|only|correct|right|best|consequently|one|first|second|third|"
    "fourth|fifth|last|labeled|labelled|marked|statement|as follows"
)
FILLER = _any_case(rf"(?:[\s\"'(\[:,=]|-(?=\s)(?! \d)|(?:{one_of(_FILLERS.split('|'))})\b){{0,20}}")
NOTHING = _any_case(
    r"\bnone of (?:the|these|them)\b(?! other)"
    r"|\bno (?:correct|right|valid|suitable|appropriate) (?:answer|option|choice)\b"
    r"|\b(?:options|choices)(?: \w{1,20}){0,3} (?:do|does)(?: not|n't) (?:match|include|contain|fit|list)\b"
)
"""A response that says that no option fits."""
NO_OPTION = _any_case(r"\bnone of (?:the|these) (?:(?!other)\w{1,12} ){0,2}(?:options|answers|choices|above)\b")
NOTHING_STATED = _any_case(r"none\b|not (?:listed|given|provided|among|in the)\b|no (?:answer|option)\b")

# ---- letters, and the words "a" and "I"
LETTER = re.compile(r"[A-Z](?!\w|'\w|-\w|\.[A-Z]\.)|[a-z](?=[)\].]|:\s|\s?\n)(?!\.\w)")
_SMALL = r"(?<!be )(?<!is )a(?=$)|(?!a$)[a-z](?=\s?(?:[.,;!?)\]\"'\n]|$)(?!\.\w))"
CAPITAL = re.compile(r"(?<![\w/.+-])(?<!\w')[A-Z](?![\w+])(?!'\w)(?!-\w)|(?<=\n)[a-z](?=[).] ?\w)|(?<=\n\()[a-z](?=\))")
_REASON = "[Ee]xplanation|because|since|as|and|or|but|due|given|based|according|therefore|so|for"
_WORD = (
    rf"(?<![Oo]ption )(?<![Cc]hoice )(?<![Aa]nswer )[AI](?= +[a-z])(?! +(?:{_REASON}|which|in|is|from|would|was)\b)|"
    r"I(?= +(?:would|was|and)\b|, [A-Z]\w)"
)
LETTER_STATED = re.compile(rf"(?!{_WORD})(?:{LETTER.pattern}|{_SMALL})")
LETTER_MENTIONED = re.compile(rf"(?!{_WORD}|[ai](?![)\]]))(?:{LETTER.pattern})")
GIVES_REASON = re.compile(rf" +(?:{_REASON})\b")

# ---- text before a letter
OPENING = _any_case(r"^(?:sure|certainly|of course|okay|ok|absolutely|great question)\b[^\n.!:,]{0,60}[!.:,]\s?(?=\S)")
"""An opening phrase without content: "Sure!", "Of course, here is the answer:"."""
LINE_START = _any_case(r"(?:^|\n)(?:[\s:>|#\"'(\[•-]|\d\.)*(?:(?:option|choice|answer|letter) )?[\"'(\[]{0,2}$")
HEADING = _any_case(r"\b(?:options|choices) ?:\s{0,3}[\"'(\[-]{0,2}$")
SENTENCE_START = _any_case(r"(?:^|[.!?:,;(\n]|\b(?:that|so|therefore|thus|hence|consequently|is))\s?[\"'(]?$")
NAMED = _any_case(r"\b(?:option|choice|answer|letter|both|n?either) ?[\"'(\[]{0,2}$")
BOTH = _any_case(r"\b(?:both|n?either|between)(?: (?:options?|choices?))? ?[\"'(\[]{0,2}$")
REJECTED_BEFORE = _any_case(
    rf"\b(?:{_RANK})(?:[ -](?:best|most likely|choice|guess|pick|option|answer)){{0,2}}(?: is| would be)?"
    r"[:\s\"'(]{0,3}\Z|"
    r"(?:\b(?:not|cannot|no|than|instead of|eliminat\w{1,4}|exclud\w{1,4}|rul(?:e|es|ed|ing) out|except|"
    r"unlike)\b|n't\b)(?: (?:option|choice|answer|letter|compound|statement|structure|be|the|a)){0,3}"
    r"[ \"'(]{0,3}\Z|(?:[☐❌✗✘✖❎]|\[ \]) ?\Z"
)
OF_A_LIST = _any_case(
    r"(?<!\w)[A-Z][\")\]]{0,2}(?:,| ?[/&]|[, ] ?(?:and|or|through|to)) ?(?:(?:option|choice) )?[\"(\[]{0,2}$"
)
SHORT_LABEL = re.compile(r"(?:^|\n)\W*(?:\w{1,20} ?){1,3}[:(]\s?$")
AFFIRMED_BEFORE = re.compile(r"(?:[☑✅✔✓]|\[[xX]\]) ?\Z")

# ---- text after a letter or an option
AROUND = re.compile(r"(?:[\s.):(\[\]\"',|の]|-(?=\s)(?! \d)){0,6}")
GLUED = re.compile(rf"[)\]](?![{UNSPACED}])\w")
GOES_INTO_TEXT = re.compile(rf" (?![是和与或及項项不的正错錯对對がはもを])[{UNSPACED}]")
"""What follows a letter at the beginning that an explanation in a script without spaces follows."""
MARK = re.compile(r"[ \"'*]{0,2}(?:[.):\]\"',!;-]|[^\w\s\x00-\x7f]|\n|$)")
NUMBER = re.compile(r"-? ?\d{1,30}(?:[, ]\d{3})*(?:[.,]\d{1,30})?")
ABOUT_THE_OTHERS = re.compile(r"(?:none|all|both|neither) of (?:the above|these|the options|the choices)\b")
_JOINED = (
    "です|だ|である|が|は|を|に|と|입니다|이다|이며|이|가|은|는|을|를|是|的|为"  # words that follow without a space
)
GOES_ON = re.compile(rf"(?!{_JOINED})[\w\u0900-\u0dff]|[%°/*+=]|\^(?!-(?!\d))|[-.,']\w")
WORD_START = re.compile(rf"(?<![\w/.-])\S|(?<=[{UNSPACED}])\S")
IS_A_SYMBOL = re.compile(r"[\")\]]{0,2} ?(?:[=+<>^_|]|:[A-Z]\b|[(\[]?[A-Z][)\]]?(?=[\s.,)(]|$)(?!\w))|\(\w{1,3}[;,=)|]")
IS_ASKED = re.compile(r"[\s\"')\]]{0,3}\?")
SETS_OFF = re.compile(r"[,;:]| -")  # what follows "No" at the beginning, where it is an option
BEGINS_CLAUSE = re.compile(r" (?:is|was|happens|refers|describes|represents|means|has|can|could|does|would)\b")
OTHER_LETTER = re.compile(rf"[A-Z](?!\w|'\w|-\w)(?!(?<=[AI]) +[a-z])(?!{BEGINS_CLAUSE.pattern})")
REMARK = re.compile(r"\([^()\n]{0,80}\)")
AND = _any_case(
    r"[\s\")\]]{0,2}(?:,\s?(?:and|or)?|/|&|\b(?:and|n?or|und|oder|et|ou|y|e|o|u|и|или|ve|veya|ile|və|va|yoki|және|"
    r"ed|i|lub|oraz|en|of|och|eller|a|nebo|și|sau|και|ή|és|vagy|dan|atau|và|hoặc|na|au|та|і|або|و|أو|اور|یا|ו|או)\b|"
    r"[和与或及と및와과]|以及|或者|および|または|และ|หรอ|और|तथा|या|এবং|ও|বা|;)"
    r"\s?(?:both )?(?:option|choice|answer)?\s?[\"'(\[]{0,2}"
)
JOINS = _any_case(f"{AND.pattern}|:")
_ADVERBS = r"(?: (?!(?:and|but|or|than|correct|right|true|best|the|that)\b)\w{2,15}){0,4}?"
REJECTS = _any_case(
    rf"[\"')\],]{{0,2}}{_ADVERBS} is less likely\b|{_ADVERBS} is not correct\b|"
    r"[ \"')\].,:(|-]{0,4}(?:[❌✗✘✖❎]|no\b(?! \w))|"
    r"[\s\"')\].,:(|-]{0,4}(?:(?:this|that|it|the) (?:\w{1,12} ){0,2}is )?(?:incorrect|wrong|false|"
    r"not (?:correct|right|true))\b| only if\b|[\s\"')\].,:]{0,3}\b(?:is|"
    r"are) (?:out|tempting|plausible|possible|a (?:distractor|trap)|the (?:worst|least))\b|"
    r"[\s\"')\].,:(-]{0,4}\b(?:(?:is|are|was|were|seems|appears|looks|sounds|remains|would be|fits|feels)"
    rf"{_ADVERBS}(?: (?:to be|a))? )?(?:less|worse|weaker|inferior|not as|not so|unlikely|improbable|implausible)\b|"
    r"[\s\"')\]]{0,2}(?:(?:is|are|was|"
    r"were|can|could|would|does|do|has|should)(?:n't|(?: also| \w{2,10}ly)? (?:not|never))\b|cannot\b)|"
    r"[\s\"')\].,:(-]{0,4}\b(?:(?:is|are|was|"
    r"were|can be|seems|would be|cannot be|can't be) (?:(?!not)\w{1,20} )?(?:incorrect|wrong|false|eliminated|"
    r"ruled out|excluded|inaccurate|impossible|unlikely|invalid|irrelevant)\b|(?:is|are|was|were|would be)(?:n't|"
    r" not) (?:an? |the |one )?(?:correct|right|best|true|valid|accurate|appropriate|relevant|possible|option|answer|"
    r"choice)\b)"
)
AFFIRMS = _any_case(
    r"[\s\"')\].,:]{0,3}\b(?:(?:this|that|it) )?(?:is|are|would be|seems(?: to be)?|appears to be|must be|looks|best) "
    r"(?:(?:the|a|my|most|"
    r"likely|probably|clearly|indeed|also|definitely|therefore|thus|only|single|one) ){0,3}(?:correct|right|best|true|"
    r"appropriate|accurate|suitable|valid|plausible|probable|answer|choice)\b|[ \"')\].,:(|-]{0,4}(?:[✅✔✓☑]|(?:"
    r"correct|right|true|yes)\b(?! \w))|[^\n]{0,200}[✅✔✓☑]\s?(?:\n|$)|[ \"')\]]{0,3}(?:matches|fits)\b"
)
IS_CHOSEN = _any_case(
    r"[ \"')\]]{0,3}(?:(?:is )?the (?:best|correct|right|only) (?:answer|option|choice|match)\b|it is(?=[.,;!\n]|$))"
)

# ---- signs around a letter: the text before it and the text after it, which together tell what it means
MARKED_BY = ((LINE_START, MARK), (SHORT_LABEL, ENDS_LINE))
LABELLED_BY = ((SHORT_LABEL, _ANY),)
NAMED_BY = ((NAMED, _ANY),)
AFFIRMED_BY = ((AFFIRMED_BEFORE, _ANY), (_ANY, AFFIRMS))
_WITH_LABEL = tuple((before, AFFIRMS) for before in (NAMED, SENTENCE_START, LINE_START))
CALLED_RIGHT_BY = ((AFFIRMED_BEFORE, _ANY), (_ANY, IS_CHOSEN), *_WITH_LABEL)
VOID_BY = {Reason.REJECTED: ((REJECTED_BEFORE, _ANY),), Reason.SEVERAL: ((BOTH, AND), (OF_A_LIST, _ANY))}

# ---- between two statements
TAKES_BACK = _any_case(
    r"\b(?:wait|correction|corrected answer|mistaken?|apologi[sz]e|apologies|sorry|edit|oops|i meant|misread|hold on|"
    r"recomput\w*|on second thoughts?|on reflection|reconsider|scratch that)\b"
)
HESITATES = _words(
    r"wait|hmm|hold on|(?:but|or|and|so|well),? (?:maybe|perhaps|what if)|let(?: me|'s| us) (?!know)|"
    r"not (?:\w{1,9}%? )?sure|double-check|reconsider"
)
CONCLUDES = _words(
    "therefore|thus|hence|so|final|finally|conclusion|conclude|overall|consequently|in summary|leaves|remains|left with"
)
ALONE = re.compile(r"(?<![\w'°*/^=+\[-])(?<!\n)(?<!\d )(?![AI] +[a-z])[A-Z](?![\w'-]| ?[=+*/<>^])")
UNFINISHED = re.compile(r"[\w,;(-]\s*\Z")
