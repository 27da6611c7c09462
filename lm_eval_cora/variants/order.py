"""The order probe of SCORE (section 3.2): questions with the right option at each position."""

from collections.abc import Sequence
from itertools import permutations

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.options import Options, Orders
from lm_eval_cora.questions.question import LETTERS, Question, Reference
from lm_eval_cora.variants.template import BEST_ANSWER, LETTER, Template
from lm_eval_cora.variants.variant import Altered, Probe, Setting, Variant, variants_of

NAME = "order"
MOST_OPTIONS_FOR_ALL = 5  # with `orders: all`; five options have 120 orders, six have 720


def answer_at(position: int) -> str:
    """Return the kind of a variant with the right option at a position, such as `answer_at_C`."""
    return f"answer_at_{LETTERS[position]}"


POSITIONS = tuple(map(answer_at, range(len(LETTERS))))  # the kinds of this probe, by position of the right option


def order(question: Question, *, orders: Orders = "swap", template: Template | None = None) -> list[Variant]:
    """Ask a question with its options in several orders. The variant with the question's own order is the original.

    If the question has `references`, the options that refer to others ("All of the above") stay last with `swap`, and
    the right option swaps places with the others only. The probe leaves out a question if such an option is right, or
    if fewer than two places are left. It leaves out all such questions with `cyclic` and `all`, because their metrics
    need each option at each position.

    Args:
        question: A question with A options.
        orders: `swap`: the right option swaps places with the option at each position; A variants in the order of the
            positions. `cyclic`: the A rotations (CircularEval), starting with the question's own order. `all`: the A!
            permutations, starting with the question's own order.
        template: The template of the prompt. None asks for a letter, for the loglikelihood form.

    Raises:
        UserError: If `orders` is `all` and the question has more than five options.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog"), 1)
        >>> [(variant.kind, variant.choices) for variant in order(question) if not variant.original]
        [('answer_at_A', ('Ice', 'Steam', 'Fog')), ('answer_at_C', ('Steam', 'Fog', 'Ice'))]
        >>> [variant.choices[0] for variant in order(question, orders="cyclic")]
        ['Steam', 'Ice', 'Fog']

    Source: SCORE, section 3.2 (choice order robustness). The harness' own task repeats a question with fewer than ten
    options unchanged, for the letters that it does not have, and never puts the right answer of five options at E.
    """
    ask = LETTER if template is None else BEST_ANSWER
    altered = []
    for places in _arrangements(question, orders):
        kind, original = answer_at(places.index(question.answer)), places == tuple(range(len(places)))
        options = [(question.identities[place], question.choices[place]) for place in places]
        altered.append(Altered(kind, options, question.answer, ask, original, template))
    return variants_of(question, altered)


def _arrangements(question: Question, orders: Orders) -> Sequence[tuple[int, ...]]:
    """Return the orders, as the source option at each position."""
    source = tuple(range(count := len(question.choices)))
    if orders == "cyclic":
        return [source[start:] + source[:start] for start in source]
    if orders == "all" and count <= MOST_OPTIONS_FOR_ALL:
        return list(permutations(source))
    if orders == "all":
        raise UserError(
            f"question {question.id!r} has {count} options, but 'orders: all' expects at most "
            f"{MOST_OPTIONS_FOR_ALL} (120 orders). Set the option 'orders' to swap or cyclic."
        )
    last = [place for place, reference in enumerate(question.references) if reference]
    moved = [place for place in source if place not in last]
    swaps = [{question.answer: place, place: question.answer} for place in moved]
    swapped = [tuple(swap.get(place, place) for place in (*moved, *last)) for swap in swaps]
    return [source if places.index(question.answer) == question.answer else places for places in swapped]


def _can_move(question: Question, references: Sequence[Reference], options: Options) -> bool:
    """Whether the right option of a question with references has several places before them, with its own."""
    movable = references.count("")
    has_places = movable > 1 and question.answer < movable
    return has_places and references[question.answer] == "" and options.orders == "swap"


def _expand(question: Question, setting: Setting) -> list[Variant]:
    template = setting.templates.fixed if setting.form == "generate" else None
    return order(question, orders=setting.options.orders, template=template)


ORDER = Probe(
    name=NAME,
    study="SCORE",
    summary="each question with the right option moved to each position (SCORE)",
    expand=_expand,
    formats={"generate": BEST_ANSWER, "loglikelihood": LETTER},
    kinds={kind: f"The right option has the letter {letter}." for kind, letter in zip(POSITIONS, LETTERS, strict=True)},
    options=("orders", "templates"),
    can_alter=_can_move,
    one="position of the right option",
    several="positions of the right option",
    note="If not all questions have a position, its accuracy is adjusted for the difficulty of those that do.",
    by_position=True,
    in_aggregate=True,
    charts=("letter_bias", "picks_by_letter", "changes", "accuracy_ranges", "by_kind", "heat_maps"),
    tables=("letter_priors", "by_category", "with_references"),
)
