"""The canvas of a chart, names on it, and the colours of both themes: contrast, and distance for the colour-blind."""

from itertools import combinations

import numpy as np
import pytest

from lm_eval_cora.questions.question import printable
from lm_eval_cora.renderers import canvas
from lm_eval_cora.renderers.canvas import PAGE, SERIES, Canvas, theme_colours, wrapped
from lm_eval_cora.tables.number import Number

pytest.importorskip("matplotlib")


def new_canvas():
    from matplotlib.figure import Figure

    return Canvas(Figure().add_subplot(), PAGE)


def test_sixty_four_models_have_different_looks():
    assert len({new_canvas().look(series) for series in range(64)}) == 64


def test_intervals_of_shares_stay_in_their_range():
    assert canvas.shown_interval(Number(1.0, ends=(0.9, 1.1))) == (0.9, 1.0)
    assert str(canvas.shown_interval(Number(1.0))) == "(nan, nan)"


@pytest.mark.parametrize("text", ["a-long-name/of a_model", "日本語のモデル" * 5, "x" * 100, "_hidden", "", "a\u202eb"])
@pytest.mark.parametrize("width", [8, 18, 42])
def test_lines_fit_and_nothing_is_lost(text, width):
    lines = wrapped(text, width).split("\n")
    assert max(map(canvas.columns, lines)) <= max(16, width)
    assert "".join("".join(lines).split()) == "".join((printable(text) or "-").split())


@pytest.mark.parametrize("text", ["a-long-name/of a_model", "日本語のモデル" * 50, "x" * 100_000])
def test_the_number_of_lines_can_be_limited(text):
    lines = wrapped(text, 8, 2).split("\n")
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert len(lines[1]) <= 8
    assert printable(text).startswith(lines[0])
    assert wrapped("small-7b", 8, 1) == "small-7b"  # it fits
    assert wrapped("small-7b-chat", 8, 2) == "small-\n7b-chat"


# Machado, Oliveira and Fernandes, 2009, severity 1: linear RGB as seen by readers without one kind of cone.
SIGHTS = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
THEMES = ("style.css", "dark.css")


def linear(colour):
    """Linear RGB of a colour in sRGB."""
    values = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The contrast ratio of WCAG."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    """CIE L*a*b* of linear RGB, with the white of D65."""
    matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.array(matrix) @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("name", THEMES)
def test_each_colour_has_contrast(name):
    shown = theme_colours(name)
    assert min(contrast(shown[series], shown["page"]) for series in SERIES) >= 3
    for text in ("text", "muted", "accent", "right", "wrong", "invalid"):
        assert contrast(shown[text], shown["page"]) >= 4.5


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize(
    ("sight", "least"), [("all cones", 50), ("protanopia", 20), ("deuteranopia", 20), ("tritanopia", 14)]
)
def test_colour_blind_readers_distinguish_the_first_four_models(name, sight, least):
    shown = theme_colours(name)
    seen = [lab(SIGHTS[sight] @ linear(shown[series])) for series in SERIES[:4]]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) >= least


def test_both_themes_define_the_same_colours():
    assert theme_colours("style.css") == theme_colours()
    assert theme_colours("style.css").keys() == theme_colours("dark.css").keys() >= {"text", "page", *SERIES}
