"""Draw the pictures of the README and of docs/metrics.md: one question in 26 variants, and where CoRA falls.

The variants are those that `cora_demo` asks. The models are made up.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path

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

LEVELS = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
MCQA = 0.74
CURVES = {
    "A": ("#0b6e4f", [0.79, 0.77, 0.75, 0.73, 0.69, 0.64]),
    "B": ("#b3261e", [0.78, 0.70, 0.58, 0.45, 0.31, 0.18]),
}
"""Colour and BMCA at each level of two made-up models with the same accuracy."""

INK, FAINT, RULE, PAPER, NOTA = "#1f2328", "#59636e", "#d0d7de", "#ffffff", "#0550ae"
WIDTH, HEIGHT = 980, 430

PEAKED = {0.0: FAINT, 0.17: CURVES["A"][0], 0.5: NOTA}
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
    variants_and_scores = [*variants(), f'<path d="M634 24V{HEIGHT - 24}" stroke="{RULE}"/>', *curves()]
    return {
        STATIC / "overview.svg": framed(
            "One question with five options becomes 26 variants; two models with equal accuracy differ in CoRA.",
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
        fill = CURVES["A"][0] if right else NOTA if added else INK
        line = f"{'ABCDE'[place]}. {option}{' ✓' if right else ''}"
        parts.append(text(left + 9, top + 22 + 21 * place, line, size=12, fill=fill, bold=right))
    return parts


def curves() -> list[str]:
    """Draw the BMCA curves of two models, with their CoRA."""
    left, right, top, bottom = 690.0, 905.0, 112.0, 330.0

    def place(level: float, share: float) -> tuple[float, float]:
        return left + (right - left) * (level - 0.5) / 0.5, bottom - (bottom - top) * share

    parts = [
        text(658, 36, "Same accuracy, other CoRA", size=17, bold=True),
        text(658, 60, "Share of questions (BMCA) with at least …", fill=FAINT),
    ]
    for share in (0.0, 0.5, 1.0):
        y = place(0.5, share)[1]
        parts.append(f'<path d="M{left} {y:g}H{right}" stroke="{RULE}"/>')
        parts.append(text(left - 8, y + 4, f"{share:.1f}", size=11, fill=FAINT, anchor="end"))
    parts += [
        text(place(level, 0)[0], bottom + 18, f"{level:.0%}", size=11, fill=FAINT, anchor="middle")
        for level in (0.5, 0.75, 1.0)
    ]
    parts.append(text((left + right) / 2, bottom + 36, "… of its variants right", fill=FAINT, anchor="middle"))
    y = place(0.5, MCQA)[1]
    parts.append(f'<path d="M{left} {y:g}H{right}" stroke="{INK}" stroke-dasharray="5 4"/>')
    parts.append(text(left + 4, y - 20, f"accuracy of both: {MCQA}", size=12))
    for name, (colour, shares) in CURVES.items():
        points = [place(level, share) for level, share in zip(LEVELS, shares, strict=True)]
        line = " ".join(f"{x:g},{y:g}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{colour}"/>' for x, y in points]
        x, y = points[-1]
        parts.append(text(x + 9, y + 5, f"{name} {shares[-1]:.2f}", fill=colour, bold=True))
    for row, (name, (colour, shares)) in enumerate(CURVES.items()):
        score = MCQA * (1 - (MCQA - shares[-1]))
        line = f"CoRA {name} = {MCQA} × (1 − {MCQA - shares[-1]:.2f}) = {score:.2f}"
        parts.append(text(658, 390 + 20 * row, line, fill=colour, bold=True))
    return parts


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
