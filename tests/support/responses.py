"""Made-up responses: the ways in which chat models wrap an answer, whole and broken."""

from typing import TypeVar

from lm_eval_cora.questions.question import LETTERS

T = TypeVar("T")

STYLES = {
    "the letter": lambda letter, _: letter,
    "letter and text": lambda letter, text: f"{letter}. {text}",
    "sure": lambda letter, text: f"Sure! Based on the information provided, the correct answer is:\n\n{letter}. {text}",
    "label": lambda letter, _: f"**Answer:** {letter}\n\nThis follows from the question.",
    "sentence": lambda letter, text: f"The correct answer is ({letter}) {text}.",
    "choice": lambda letter, text: f"I would choose option {letter}: {text}",
    "box": lambda letter, _: rf"So the final answer is $\boxed{{{letter}}}$.",
    "affirmed": lambda letter, _: f"Of the options given, option {letter} is the most appropriate.",
    "reasons": lambda letter, _: (
        f"Let me think step by step. Some of it is well known. Therefore, the answer is {letter}."
    ),
    "reasoning": lambda letter, _: f"<think>Is it A? No. Perhaps B or C?</think>\n\nMy answer is {letter}.",
    "tag": lambda letter, _: f"<answer>{letter}</answer>",
    "JSON": lambda letter, _: f'{{"answer": "{letter}"}}',
}
"""Ways to say a letter, given it and the text of its option."""

_PIECES = (
    *("The answer is", "answer:", "Answer", "not", "or", "and", "option", "is correct", "is wrong", "therefore"),
    *("wait,", "because", "none of the above", "I would choose", "Options:", "yes", "no", "the proposed answer is"),
    *("the best answer is", r"\boxed{", r"\boxed", "}", "$", "<think>", "</think>", "[THINK]", "<answer>", "5", "x=5"),
    *(".", ",", ":", "(", ")", "\n", "\n\n", " ", "**", "'", '"', "-", "/", "\u200b", "\ud83d", "é", "\\", "(?P<a>"),
)


def made_up(rng, choices):
    """Endless responses: joined pieces, and wrapped answers with changed, lost or repeated characters."""
    pieces = (*_PIECES, *choices, *LETTERS[: len(choices) + 2], *"abi")
    styles = list(STYLES.values())
    while True:
        if rng.random() < 0.5:
            yield rng.choice(("", " ")).join(rng.choices(pieces, k=rng.randrange(20)))
            continue
        place = rng.randrange(len(choices))
        yield _mutated(rng, rng.choice(styles)(LETTERS[place], choices[place]))


def _mutated(rng, text):
    characters = list(text)
    for _ in range(rng.randrange(4)):
        place = rng.randrange(len(characters) + 1)
        match rng.randrange(4):
            case 0:
                characters.insert(place, chr(rng.randrange(1, 0x2100)))
            case 1:
                del characters[place : place + rng.randrange(1, 5)]
            case 2:
                characters[place:place] = characters[: rng.randrange(1, 30)]
            case _:
                del characters[place:]
    return "".join(characters)


def pairs(groups):
    """Each response with what is expected of it, for `parametrize`."""
    return [(response, expected) for expected, responses in groups.items() for response in responses]
