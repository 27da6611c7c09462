"""A made-up report with everything that a page can show, including a model with hostile texts."""

from math import nan

from lm_eval_cora.report.content import (
    Band,
    Curve,
    Dots,
    Example,
    Examples,
    HeatMap,
    Line,
    PrintedOption,
    Ranges,
    Report,
    Retention,
    RetentionChart,
    Section,
    ShownAnswer,
)
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Table

LONG = "an-organisation/A-Model-With-A-Name-Of-60-Characters-7B-Chat"
HOSTILE = '<b>$x_1$</b> & "it\'s" \u202emodel'
MODELS = ("small-chat-360m", LONG, HOSTILE)

ATTACK = (
    "Of course!</pre></details><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\n"
    "</style>\"quotes' 😀 \u202eturned\u202c {{ 7 * 7 }} \x00\x1b[31m " + "no-blanks" * 60
)
SIGNATURE = "lm-eval-cora=0.1.0|" + "f" * 181
CATEGORIES = ("Anatomy", "biology", "Ethics", "Physics", "Statistics", "Änderung", "zoology")


def _numbers(title, rows=3):
    cells = [(f"row {row}", Number(row / 10, 0.012)) for row in range(rows)]
    return Table(f"{title}, the numbers", ("Name", "Value"), cells)


def curve():
    """Three models: one with all values, one without errors, and one with few values."""

    def marks(value):
        return [("MCQA", Number(value, 0.02)), ("MV", Number(value + 0.06, 0.02))]

    levels = [level / 8 for level in range(9)]
    falling = [(x, Number(0.82 - 0.5 * x**2, 0.03)) for x in levels]
    steps = [(x, Number(0.6 - 0.4 * x)) for x in levels]
    broken = [(x, Number(nan if x < 0.5 else 0.3, nan)) for x in levels]
    lines = (
        Line(MODELS[0], falling, marks(0.74)),
        Line(MODELS[1], steps, marks(0.51)),
        Line(MODELS[2], broken, [("MCQA", Number(nan))]),
    )
    title = "Accuracy by the least consistency asked for"
    note = "A question counts if its answers are right at least this often; the band is a 95% interval."
    return Curve(
        title=title,
        x_label="least consistency",
        y_label="accuracy (BMCA)",
        lines=lines,
        numbers=_numbers(title, 9),
        note=note,
    )


def ranges():
    """Two models with a box, one with three values."""
    kinds = ("original", "shuffled", "options_2", "options_6", "nota_answer", "replaced", "select_all", "true_or_false")
    values = (0.74, 0.71, 0.83, 0.66, 0.52, 0.7, 0.44, 0.61)
    numbers = [
        [(kind, Number(v, 0.02)) for kind, v in zip(kinds, values, strict=True)],
        [(kind, Number(v * 0.8)) for kind, v in zip(kinds, values, strict=True)],
        [("original", Number(0.3)), ("shuffled", Number(0.34)), ("replaced", Number(nan))],
    ]
    rates = [[("consistency rate", rate)] for rate in (Number(0.48, 0.021), Number(0.31, 0.018), Number(nan))]
    title = "How far the accuracy moves"
    lines = list(map(Line, MODELS, numbers, rates))
    return Ranges(title=title, y_label="accuracy", lines=lines, numbers=_numbers(title))


def dots():
    """Rows with names of several lengths, and a reference."""
    rows = ("A", "B", "picks one", "a kind of variant with a rather long name", "select all", "none of the above")
    numbers = [
        [Number((0.85 - 0.12 * row - 0.2 * place) % 1, 0.04 / (place + 1)) for row in range(len(rows))]
        for place in range(2)
    ]
    numbers.append([Number(nan), Number(0.5), Number(0.0, 0.1), *[Number(0.98, 0.2)] * 3])
    title = "Which positions are picked"
    reference = (0.25, 0.25, 0.5, 0.5, nan, 0.1)
    return Dots(
        title=title,
        x_label="share of the answers",
        models=[(model, dict(zip(rows, row, strict=True))) for model, row in zip(MODELS, numbers, strict=True)],
        numbers=_numbers(title),
        reference=reference,
        reference_label="even share",
    )


def changes():
    """A model with all kinds, one without a kind, and one that gained nothing."""
    rows = ("shuffled", "a kind of variant with a rather long name", "select all")
    full = dict(
        zip(rows, (Retention(0.5, 0.24, 0.05), Retention(0.44, 0.3, 0.1), Retention(0.2, 0.54, 0.0)), strict=True)
    )
    less = {rows[0]: Retention(0.3, 0.1, 0.02), rows[2]: Retention(0.0, 0.4, 0.2)}
    models = [(MODELS[0], full), (MODELS[1], less), (MODELS[2], dict.fromkeys(rows, Retention(0.1, 0.1, 0.0)))]
    title = "Right answers that were kept, lost and gained"
    return RetentionChart(title=title, models=models, numbers=_numbers(title))


def heat_map():
    """Twelve bands; the first ones link to a question. Names and labels are hostile, too."""
    columns = ("original", "shuffled", HOSTILE, LONG)
    bands = [
        Band(f"questions {10 * row + 1} to {10 * row + 10}", (1 - row / 11, nan if row == 3 else 0.5, 0.5, 0.0))
        for row in range(11)
    ]
    linked = [Band(band.label, band.values, f"question-{row}") for row, band in enumerate(bands[:4])]
    title = "Questions by kind of variant"
    return HeatMap(
        title=title,
        columns=columns,
        bands=[*linked, *bands[4:], Band(HOSTILE, (0.2, 0.1, 0.0, nan))],
        numbers=_numbers(title),
    )


def scores():
    """Ranks, differences and counts."""
    rows = [
        ["Questions", 1273, 1273, 40],
        ["MCQA", Number(0.744, 0.012, best=True), Number(0.512, 0.014), Number(0.25, nan)],
        ["CoRA", Number(0.611, 0.014, best=True), Number(0.402, 0.013), Number(nan)],
        ["Retention", Number(-0.133, 0.01, signed=True), Number(0.11, 0.01, signed=True), Number(nan, signed=True)],
    ]
    return Table("Scores", ("Metric", *MODELS), rows, "Value ± standard error (rank).")


def categories():
    """Twelve rows to sort. One score is undefined."""
    names = [*CATEGORIES, *(f"Category {number}" for number in range(1, 6))]
    rows = [
        [name, (place * 7919) % 1700, Number(score, 0.02), Number(0.1 + (place * 5 % 12) / 20, 0.03)]
        for place, name in enumerate(names)
        for score in [nan if place == 3 else 0.05 + (place * 7 % 12) / 13]
    ]
    return Table("By category", ("Category", "Questions", "CoRA", "MCQA"), rows, "Click on a heading.", sortable=True)


def examples():
    """A plain question, and one with an attack in every text."""
    options = (
        PrintedOption("A", "Aspirin", True, False),
        PrintedOption("B", "Beta blockers", False, True),
        PrintedOption("C", "None", False, False),
    )
    plain = Example(
        "medqa-0007",
        "A man of 54 years has had chest pain for two hours.\nWhat is given first?",
        "right in 1 of 3",
        (
            ShownAnswer(
                "original", "right", "A", "The answer is A.", (PrintedOption("A", "Aspirin", True, True), *options[2:])
            ),
            ShownAnswer("shuffled", "wrong", "B", "Thinking step by step ...\n\nB", options),
            ShownAnswer("true_or_false", "invalid", "no answer in the response", "", ()),
        ),
    )
    hostile = Example(
        ATTACK[:200],
        ATTACK,
        ATTACK[:90],
        (ShownAnswer(ATTACK[:60], "wrong", ATTACK, ATTACK, [PrintedOption("A", ATTACK, True, False)]),),
    )
    return Examples("Questions with inconsistent answers: small-chat-360m", (plain, hostile), "Unfold a question.")


def report():
    """The whole report, in two sections."""
    first = Section(
        "cora_medqa",
        "four variants of each question of MedQA",
        (scores(), curve(), ranges(), dots(), categories(), examples()),
        [(name, SIGNATURE) for name in MODELS],
        [(MODELS[0], "40 of 1273 questions were asked (--limit)."), (HOSTILE, ATTACK[:120])],
    )
    second = Section("MedQA", "all probes together", (scores(), dots()))
    return Report("Consistency of three models", (first, second))
