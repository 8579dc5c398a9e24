"""A part of the documentation in a real browser: axe-core, no sideways scrolling, no network.

Four pages are built, of every kind there is: text with code, tables, pictures, docstrings. The
whole site is built by `make docs`. Without Chromium the tests say so and are skipped.
"""

import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from tests.helpers.browser import needs_browser, violations
from tools.rooms import ROOT

PAGES = ("index", "start/which-learner", "gallery/index", "reference/prices")
Scheme = Literal["light", "dark"]
LOOKS: tuple[tuple[int, Scheme], ...] = ((390, "dark"), (1440, "light"))

pytestmark = needs_browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those pages; links to others lead nowhere, which is `make docs`' to judge."""
    folder = tmp_path_factory.mktemp("site")
    some = ",".join(f"{page}.md" for page in PAGES)
    quiet = ["-m", "sphinx", "-Q", "-D", f"include_patterns={some}", str(ROOT / "docs")]
    subprocess.run([sys.executable, *quiet, str(folder)], check=True, timeout=300, cwd=ROOT)
    return folder


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_pages_are_accessible_and_fit(
    site: Path, chromium: Browser, width: int, scheme: Scheme
) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        beyond = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert beyond <= 0, name
        assert [(name, fault["id"]) for fault in violations(page)] == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
