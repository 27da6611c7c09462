"""Chromium for tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


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
