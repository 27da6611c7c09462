"""Chromium for tests of pages."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest


@contextmanager
def launched():
    """Start the browser; skip the test if there is none. While it runs, no other test can run an event loop."""
    api = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    with api.sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=program, timeout=600_000)
        except api.Error:
            if program:
                raise
            pytest.skip("no browser: apt-get install chromium")
        yield found
        found.close()


UNFOLD = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"

CUT_OFF = """() => [...document.querySelectorAll("svg.chart")].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
        const box = text.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1
            || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    }).map((text) => text.textContent);
})"""
"""Returns the texts of charts that are cut off."""


@contextmanager
def opened(browser, file, width=1280, scheme="light"):
    """Open a page; fail if it logs anything, runs an injected script or requests another file."""
    context = browser.new_context(
        viewport={"width": width, "height": 900 if width > 800 else 740},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(120_000)
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request", lambda request: complaints.extend([request.url] * (not request.url.startswith(("file", "data"))))
    )
    page.goto(file.as_uri())
    yield page
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert complaints == []
    context.close()


def as_opened(page):
    """Fold what was folded when the page was opened, and go to its top. Opening it again takes much longer."""
    page.emulate_media(media="screen")
    page.evaluate(
        """() => {
            const parts = [...document.querySelectorAll("details")];
            window.atFirst ??= parts.map((part) => part.open);
            parts.forEach((part, place) => { part.open = window.atFirst[place]; });
            document.querySelectorAll(".scroll").forEach((box) => { box.scrollLeft = 0; });
            document.activeElement?.blur();
            scrollTo({ top: 0, left: 0, behavior: "instant" });
        }"""
    )
