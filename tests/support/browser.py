"""Chromium for tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@contextmanager
def launched() -> Iterator[Browser]:
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


def as_opened(page: Page) -> None:
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
