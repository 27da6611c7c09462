"""Made-up questions, and what holds for every variant of MCQA+ and of the REVAS study."""

from hypothesis import strategies as st

from lm_eval_cora.questions.question import FIRST_FILLER, NOTA, Question

COUNTS = (2, 3, 6, 8, 10)


WATER = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)


def question_with(options, answer=0, id="q"):
    return Question(id, "Which?", tuple(f"option {k}" for k in range(options)), answer)


questions = st.integers(2, 26).flatmap(
    lambda size: st.builds(
        question_with, st.just(size), st.integers(0, size - 1), st.text(min_size=1, alphabet="abc123", max_size=4)
    )
)


def kinds_of(variants):
    return [variant.kind for variant in variants]


def printed_by_kind(variants):
    printed = {}
    for variant in variants:
        printed.setdefault(variant.kind, []).append(variant.printed)
    return printed


def check_what_holds_for_every_variant(question, variants, nota_text):
    """For a question whose options differ and none of which reads like NOTA."""
    assert [variant.ordinal for variant in variants] == list(range(len(variants)))
    assert (variants[0].kind, variants[0].choices) == ("original", question.choices)
    assert variants[0].printed == tuple(range(len(question.choices)))
    fillers = {}
    for variant in variants:
        nota = variant.kind.startswith("nota_answer")
        assert variant.answer == (NOTA if nota else question.answer)
        assert len(variant.printed) == len(variant.choices) == len(set(variant.printed))
        if variant.ask == "yes_no":
            assert len(variant.printed) == 1
            wrong = variant.printed[0] != question.answer
            assert variant.kind == ("true_or_false_wrong" if wrong else "true_or_false_right")
        else:
            assert variant.answer in variant.printed
            assert variant.ask == ("select_all" if variant.kind == "select_all" else "letter")
        if nota:
            assert question.answer not in variant.printed
        assert (NOTA in variant.printed) == nota
        for identity, text in zip(variant.printed, variant.choices, strict=True):
            if identity < NOTA:
                assert text == question.choices[identity]
            elif identity == NOTA:
                assert text == nota_text
            else:
                # One identity, one text, whatever the variant.
                assert fillers.setdefault(identity, text) == text
    assert len(set(fillers.values())) == len(fillers)
    for text in fillers.values():
        assert not any(text.lower() in other.lower() for other in (question.stem, nota_text, *question.choices))
    assert all(identity >= FIRST_FILLER for identity in fillers)


def fillers_of(variants):
    """Text of each filler that is printed, by its identity."""
    return {
        identity: text
        for variant in variants
        for identity, text in zip(variant.printed, variant.choices, strict=True)
        if identity >= FIRST_FILLER
    }
