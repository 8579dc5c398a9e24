"""Chromium for tests: where it is, and what axe-core finds wrong with a page."""

import shutil
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

needs_browser = pytest.mark.skipif(
    BROWSER is None, reason=f"there is no browser: none of {', '.join(NAMES)} on PATH"
)


def violations(page: Page) -> list[dict[str, Any]]:
    """The rules of accessibility that a page breaks, without lists of what it keeps."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return list(found)
