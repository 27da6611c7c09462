"""Draw the pictures of the README and of docs/metrics.md: one question in 26 variants, and where CoRA falls.

The variants are those that `cora_demo` asks. The answers of the two models are those in docs/published.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path

from pandas import read_parquet

from lm_eval_cora.api import expand
from lm_eval_cora.variants.variant import Variant

STATIC = Path(__file__).resolve().parents[1] / "docs/_static"
QUESTION = {
    "id": "geography-08",
    "question": "Which desert of southern Africa covers much of Botswana?",
    "choices": ["Gobi", "Negev", "Sahara", "Atacama", "Kalahari"],
    "answer": "E",
}

COLUMNS = [
    ("as published", "original", "shuffled"),
    ("one wrong replaced", "with_nota", "with_nota_shuffled"),
    ("only one wrong", "decoupled", "decoupled_shuffled"),
    ("and a third option", "decoupled_with_nota", "decoupled_with_nota_shuffled"),
]
"""What each column shows, and the two kinds of variants in it."""

ROWS = ["in the question's order", "reordered"]

PUBLISHED = STATIC.parent / "published"
COLOURS = {"Mistral-7B-Instruct": "#0b6e4f", "MedAlpaca-7B": "#b3261e"}
KEPT = ["as published", "… and in another order, too", "… and in all of the 22 or 26 variants"]

INK, FAINT, RULE, PAPER, NOTA = "#1f2328", "#59636e", "#d0d7de", "#ffffff", "#0550ae"
WIDTH, HEIGHT = 980, 430

GREEN = COLOURS["Mistral-7B-Instruct"]
PEAKED = {0.0: FAINT, 0.17: GREEN, 0.5: NOTA}
"""Colour of the curve of CoRA over the accuracy, for the share of questions that are right in all variants."""

MODELS = {"A": (0.49, 0.0), "B": (0.9, 0.17)}
"""Accuracy of made-up models, and the share of questions that they answer right in all variants."""


def main() -> int:
    """Write the pictures; with --check, only say whether they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a picture is old")
    drawn = pictures()
    if parser.parse_args().check:
        return int(any(not path.is_file() or path.read_text(encoding="utf-8") != drawn[path] for path in drawn))
    STATIC.mkdir(parents=True, exist_ok=True)
    for path, picture in drawn.items():
        path.write_text(picture, encoding="utf-8")
    return 0


def pictures() -> dict[Path, str]:
    """Return the pictures as SVG by path."""
    variants_and_scores = [*variants(), f'<path d="M634 24V{HEIGHT - 24}" stroke="{RULE}"/>', *real_models()]
    return {
        STATIC / "overview.svg": framed(
            "One question with five options becomes 26 variants; two real models keep few of their right answers.",
            variants_and_scores,
            WIDTH,
            HEIGHT,
        ),
        STATIC / "cora_falls.svg": framed("CoRA rises with the accuracy, and falls after its peak.", peaks(), 560, 400),
    }


def framed(title: str, inside: list[str], width: int, height: int) -> str:
    """Return a picture. It has a background of its own, so it is readable on light and dark pages."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">',
        f"<title>{title}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10" fill="{PAPER}" stroke="{RULE}"/>',
        *inside,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def peaks() -> list[str]:
    """Draw CoRA over the accuracy, dashed where it falls."""
    left, right, top, bottom = 62.0, 430.0, 64.0, 336.0

    def place(m: float, b: float) -> tuple[float, float]:
        return left + (right - left) * m, bottom - (bottom - top) * m * (1 - m + b) / 0.6

    parts = [text(24, 34, "CoRA = m (1 − m + b) falls where m > (1 + b) / 2", size=17, bold=True)]
    for score in (0.0, 0.2, 0.4, 0.6):
        y = bottom - (bottom - top) * score / 0.6
        parts.append(f'<path d="M{left} {y:g}H{right}" stroke="{RULE}"/>')
        parts.append(text(left - 8, y + 4, f"{score:.1f}", size=11, fill=FAINT, anchor="end"))
    parts += [
        text(left + (right - left) * m, bottom + 18, f"{m:g}", size=11, fill=FAINT, anchor="middle")
        for m in (0, 0.25, 0.5, 0.75, 1)
    ]
    parts.append(text((left + right) / 2, bottom + 40, "accuracy m (MCQA)", fill=FAINT, anchor="middle"))
    for b, colour in PEAKED.items():
        peak = (1 + b) / 2
        for start, end, dashes in ((b, peak, ""), (peak, 1.0, ' stroke-dasharray="5 4"')):
            points = [place(start + (end - start) * step / 40, b) for step in range(41)]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"{dashes}/>')
        parts.append(text(right + 10, place(1, b)[1] + 4, f"b = {b:g}", fill=colour, bold=True))
    for name, (m, b) in MODELS.items():
        x, y = place(m, b)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{PEAKED[b]}"/>')
        parts.append(text(x + 3, y - 10, f"{name} {m * (1 - m + b):.2f}", fill=PEAKED[b], bold=True))
    return [
        *parts,
        text(right + 10, top + 4, "b: right in", fill=FAINT),
        text(right + 10, top + 21, "all variants", fill=FAINT),
    ]


def variants() -> list[str]:
    """Draw the first variant of each kind, with their number."""
    found = expand([QUESTION])
    parts = [
        text(24, 36, f"One question, {len(found)} variants", size=17, bold=True),
        text(24, 60, str(QUESTION["question"]), fill=FAINT),
    ]
    for column, (heading, *kinds) in enumerate(COLUMNS):
        left = 24 + 151 * column
        parts.append(text(left, 88, heading, size=12, bold=True))
        for row, kind in enumerate(kinds):
            of_kind = [variant for variant in found if variant.kind == kind]
            top = 112 + 156 * row
            label = ROWS[row] if column == 0 else f"{len(of_kind)} variants, such as"
            parts += [text(left, top, label, size=11, fill=FAINT), *card(left, top + 8, of_kind[0])]
    return parts


def card(left: float, top: float, variant: Variant) -> list[str]:
    """Draw the options of a variant as they are printed."""
    parts = [f'<rect x="{left}" y="{top}" width="140" height="118" rx="6" fill="none" stroke="{RULE}"/>']
    for place, (option, identity) in enumerate(zip(variant.choices, variant.printed, strict=True)):
        right, added = identity == variant.answer, option.startswith("None")
        fill = GREEN if right else NOTA if added else INK
        line = f"{'ABCDE'[place]}. {option}{' ✓' if right else ''}"
        parts.append(text(left + 9, top + 22 + 21 * place, line, size=12, fill=fill, bold=right))
    return parts


def real_models() -> list[str]:
    """Draw how many right answers two real models keep."""
    left, width, parts = 658.0, 230.0, [text(658, 36, "Two real models on MedQA", size=17, bold=True)]
    parts.append(text(left, 60, "Share of the 1,273 questions that is right …", fill=FAINT))
    found = {name: shares_of(PUBLISHED / f"{name}.parquet") for name in COLOURS}
    for row, what in enumerate(KEPT):
        top = 92.0 + 82 * row
        parts.append(text(left, top, what))
        for place, (name, colour) in enumerate(COLOURS.items()):
            share, y = found[name][row], top + 10 + 23 * place
            parts.append(f'<rect x="{left}" y="{y:g}" width="{width * share / 0.35:.1f}" height="18" fill="{colour}"/>')
            parts.append(text(left + width * share / 0.35 + 8, y + 14, f"{share:.1%}", fill=colour, bold=True))
    for row, (name, colour) in enumerate(COLOURS.items()):
        mcqa, _, kept = found[name]
        line = f"{name}: CoRA {mcqa * (1 - (mcqa - kept)):.3f}"
        parts.append(text(left, 358 + 22 * row, line, fill=colour, bold=True))
    parts.append(text(left, 408, "Answers that CoRA's authors published", size=11, fill=FAINT))
    return parts


def shares_of(file: Path) -> tuple[float, float, float]:
    """The shares of the questions that are right as published, in one other order, too, and in all variants."""
    answers = read_parquet(file)
    answers["right"] = answers.picked == answers.answer
    by_kind = answers[answers.kind.isin(["original", "shuffled"])].pivot(
        index="question_id", columns="kind", values="right"
    )
    every = answers.groupby("question_id").right.all()
    return float(by_kind.original.mean()), float(by_kind.all(axis=1).mean()), float(every.mean())


def text(
    x: float, y: float, content: str, *, size: int = 13, fill: str = INK, bold: bool = False, anchor: str = "start"
) -> str:
    """Return a line of text."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" text-anchor="{anchor}"{weight}>'
        f"{escape(content)}</text>"
    )


if __name__ == "__main__":
    sys.exit(main())
