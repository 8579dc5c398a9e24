"""A part of the documentation in a real browser: axe-core, no sideways scrolling, no network.

Four pages are built, of every kind there is: text with code, tables, pictures, docstrings. The
whole site is built by `make docs`. Without Chromium the tests say so and are skipped.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, sync_playwright

from tools.rooms import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAGES = ("index", "start/which-learner", "gallery/index", "reference/prices")
Scheme = Literal["light", "dark"]
LOOKS: tuple[tuple[int, Scheme], ...] = ((390, "dark"), (1440, "light"))

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those pages; links to others lead nowhere, which is `make docs`' to judge."""
    folder = tmp_path_factory.mktemp("site")
    some = ",".join(f"{page}.md" for page in PAGES)
    quiet = ["-m", "sphinx", "-Q", "-D", f"include_patterns={some}", str(ROOT / "docs")]
    subprocess.run([sys.executable, *quiet, str(folder)], check=True, timeout=300, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_pages_are_accessible_and_fit(
    site: Path, browser: Browser, width: int, scheme: Scheme
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, asked = context.new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        beyond = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert beyond <= 0, name
        found = Axe().run(page).response["violations"]
        assert [(name, fault["id"]) for fault in found] == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()
