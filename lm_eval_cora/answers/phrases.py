"""Patterns for the words around a letter, which tell what the letter means. They apply to plain text."""

from __future__ import annotations

import re

OPENING = re.compile(
    r"^(?:sure|certainly|of course|okay|ok|absolutely|great question)\b[^\n.!:,]{0,60}[!.:,]\s?(?=\S)", re.IGNORECASE
)
"""An opening phrase without content: "Sure!", "Of course, here is the answer:"."""

# Words that announce an answer: an opener, then fillers, then the letter or the text of an option.
OPENER = re.compile(
    r"\b(?:is|are|was|were|be|being|becomes?|choose|chose|select(?:ed)?|pick(?:ed)?|with|for|on|believe|think|say|guess"
    r"|it's|that's|therefore|so|thus|hence|answer|option|choice|letter)\b|[:=]",
    re.IGNORECASE,
)
CONCLUSIONS = frozenset(("therefore", "so", "thus", "hence", "it's", "that's"))
LABELS = frozenset(("answer", "option", "choice", "letter"))
VERBS = frozenset(("choose", "chose", "select", "selected", "pick", "picked"))
PREPOSITIONS = frozenset(("with", "for", "on"))
OF_CHOICE = re.compile(
    r"\b(?:go|going|went|stick|stay|opt|opting|settle|decide|vote|bet|agree|conclude)$", re.IGNORECASE
)
OPINIONS = frozenset(("believe", "think", "say", "guess"))
FILLER = re.compile(
    r"(?:[\s\"'(\[:,=]|-(?! ?\d)|(?:option|choice|letter|answer|it's|it|is|be|indeed|therefore|thus|hence|so|"
    r"definitely|most|likely|probably|clearly|simply|actually|the|that|number|only|correct|right|best|one|first|second|third|"
    r"fourth|fifth|last|labeled|labelled|marked|as follows)\b){0,20}",
    re.IGNORECASE,
)
NOUN = re.compile(
    r"\b(?P<other>(?:others?|wrong|incorrect|remaining|false|each|every|any|not (?:a|the)|second best|"
    r"least \w{1,20}|worst|obvious|initial|first|previous|tempting) (?:\w{1,20} )?)?"
    r"(?:answers?|choice|option|response|solution|selection|conclusion|letter|statement)\b",
    re.IGNORECASE,
)
SUBJECT = re.compile(r"\b(?:i|we|i'd|i'll|i'm|i've|me|my|let's|would|will|must)\b", re.IGNORECASE)
POINTER = re.compile(r"\b(?:it|this|that|which|it's|that's|must|would|has to|to)\b[^\n]{0,12}$", re.IGNORECASE)
LABEL_LINE = re.compile(
    r"(?:^|\n)[\s>#\"'(\[•-]*(?:(?:the|my|final|correct|right|best) )*(?:answer|choice|option|letter)$", re.IGNORECASE
)

# Words that negate or doubt an announcement, and the ends of clauses and sentences.
NEGATION = re.compile(r"\b(?:not|never|cannot|neither|nor|without|except|\w{1,8}n't|none)\b", re.IGNORECASE)
DOUBT = re.compile(
    r"\b(?:if|whether|could|might|may|perhaps|maybe|possibly|either|suppose|assum\w{1,4}|unless|why|between)\b",
    re.IGNORECASE,
)
CLAUSE = re.compile(r"[,;:]")
SENTENCE_END = re.compile(r"[.!?;]\s|\n")

# Letters, and the words "a" and "I".
LETTER = re.compile(r"[A-Z](?!\w|'\w|-\w)|[a-z](?=[)\].]|:\s|\s?\n)(?!\.\w)")
CAPITAL = re.compile(r"(?<![\w/.+-])(?<!\w')[A-Z](?![\w+])(?!'\w)(?!-\w)")
WORD = re.compile(r" +[a-z]")
CONJUNCTION = re.compile(
    r" +(?:because|since|as|and|or|which|but|due|for|in|is|given|based|from|would|was|according|therefore|so)\b"
)
I_SAY = re.compile(r" +(?:would|was|and|am)\b")

# Text before a letter.
FRONT = re.compile(r"[\W_]{0,10}")
LINE_START = re.compile(
    r"(?:^|\n)(?:[\s>#\"'(\[•-]|\d\.)*(?:(?:option|choice|answer|letter) )?[\"'(\[]{0,2}$", re.IGNORECASE
)
HEADING = re.compile(r"\b(?:options|choices) ?:\s{0,3}[\"'(\[-]{0,2}$", re.IGNORECASE)
SENTENCE_START = re.compile(r"(?:^|[.!?:,;(\n]|\b(?:that|so|therefore|thus|hence|is))\s?[\"'(]?$", re.IGNORECASE)
NAMED = re.compile(r"\b(?:option|choice|answer|letter|both|n?either) ?[\"'(\[]{0,2}$", re.IGNORECASE)
REJECTED_BEFORE = re.compile(
    r"(?:\b(?:not|no|rather than|instead of|eliminat\w{1,4}|exclud\w{1,4}|rul(?:e|es|ed|ing) out|except|unlike)\b|"
    r"n't\b)"
    r"(?: (?:option|choice|answer|letter|be|the|a)){0,3}[\s\"'(]{0,3}$",
    re.IGNORECASE,
)

# Text after a letter.
AROUND = re.compile(r"(?:[\s.):(\[\]\"',]|-(?! ?\d)){0,6}")
MARK = re.compile(r"[ \"'*]{0,2}(?:[.):\]\"',-]|[^\w\s\x00-\x7f]|\n|$)")
STOP = re.compile(r"\s?(?:[.,;!?()\]\n\"]|$)")
NUMBER = re.compile(r"-? ?\d{1,30}(?:[, ]\d{3})*(?:\.\d{1,30})?")
ABOUT_THE_OTHERS = re.compile(r"(?:none|all|both|neither) of (?:the above|these|the options|the choices)\b")
GOES_ON = re.compile(r"\w|[%°^/*+=]|[-.,']\w")
INSIDE = re.compile(r"[\w/.-]")
IS_A_SYMBOL = re.compile(r"[\")\]]{0,2} ?(?:[=+<>]|:[A-Z]\b|[(\[]?[A-Z][)\]]?(?=[\s.,)(]|$)(?!\w))")
IS_ASKED = re.compile(r"[\s\"')\]]{0,3}\?")
BEGINS_CLAUSE = re.compile(r" (?:is|was|refers|describes|represents|means|has|can|could|does|would)\b")
PARTS = re.compile(r" ?[,;] ?")
REMARK = re.compile(r"\([^()\n]{0,80}\)")
AND = re.compile(
    r"[\s\")\]]{0,2}(?:,\s?(?:and|or)?|/|&|\b(?:and|n?or)\b|;)\s?(?:both )?(?:option|choice|answer)?\s?[\"'(\[]{0,2}",
    re.IGNORECASE,
)
REJECTS = re.compile(
    r"[\s\"')\].,:(-]{0,4}(?:[❌✗✘✖❎]|(?:incorrect|wrong|false|not (?:correct|right|true))\b)|"
    r"[\s\"')\].,:]{0,3}\b(?:is|are) (?:less|out|not as|tempting|a (?:distractor|trap)|the (?:worst|least))\b|"
    r"[\s\"')\]]{0,2}(?:(?:is|are|was|were|can|could|would|does|do|has|should)(?:n't| not| never)\b|cannot\b)|"
    r"[\s\"')\].,:]{0,3}\b(?:(?:is|are|was|were|can be|seems|would be|cannot be|can't be) (?:(?!not)\w{1,20} )?"
    r"(?:incorrect|wrong|false|eliminated|ruled out|excluded|inaccurate|impossible|unlikely|invalid|irrelevant)\b|"
    r"(?:is|are|was|were|would be)(?:n't| not) (?:an? |the |one )?"
    r"(?:correct|right|best|true|valid|accurate|appropriate|relevant|possible|option|answer|choice)\b)",
    re.IGNORECASE,
)
AFFIRMS = re.compile(
    r"[\s\"')\].,:]{0,3}\b(?:is|are|would be|seems(?: to be)?|appears to be|must be|looks|best) "
    r"(?:(?:the|a|my|most|likely|probably|clearly|indeed|also|definitely|therefore|thus|only|single|one) ){0,3}"
    r"(?:correct|right|best|true|appropriate|accurate|suitable|valid|plausible|probable|answer|choice)\b",
    re.IGNORECASE,
)
