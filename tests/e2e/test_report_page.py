"""The report in a real browser: it opens from a file, without a word on the console."""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from matplotlib.image import imread
from playwright.sync_api import Browser, sync_playwright

import keyhole as kh

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
DARK, LIGHT = 0, 1  # Chromium's numbers of colour schemes

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser to open the report in: none of {', '.join(NAMES)} on PATH"
)

# What a reader would see, measured after layout and put where --dump-dom shows it.
MEASURE = """<script>
const box = e => { const r = e.getBoundingClientRect(); return [r.width, r.height]; };
document.title = JSON.stringify({
  svgs: [...document.querySelectorAll("svg")].map(e => ({
    size: box(e),
    paths: e.querySelectorAll("path, use, image").length,
    texts: [...e.querySelectorAll("text")].filter(t => box(t)[0] > 0).map(t => t.textContent),
    ink: getComputedStyle(e.querySelector("text")).fill,
  })),
  paper: getComputedStyle(document.body).backgroundColor,
  page: document.documentElement.scrollWidth,
  window: document.documentElement.clientWidth,
});
</script></body>"""


def browse(page: Path, *options: str) -> tuple[str, list[str]]:
    """The page as the browser understood it, and what it said on the console."""
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={page.parent / 'profile'}",
            "--enable-logging=stderr",
            "--v=0",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def measured(page: Path, folder: Path, *options: str) -> Any:
    """What MEASURE finds in a page, once its own ban of scripts is lifted."""
    text, bans = re.subn(r"<meta http-equiv=[^>]*>", "", page.read_text(encoding="utf-8"))
    assert bans == 1
    copy = folder / "measured.html"
    copy.write_text(text.replace("</body>", MEASURE), encoding="utf-8")
    dom, _ = browse(copy, "--dump-dom", *options)
    title = re.search(r"<title>(.*?)</title>", dom, flags=re.DOTALL)
    assert title is not None
    return json.loads(html.unescape(title.group(1)))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run on the clinic, with one test of an unpleasant name."""
    clinic, _ = kh.streams.clinic(1500)
    X, y = kh.streams.collect(clinic)
    names = ("<script>console.error('broken')</script>", *(clinic.names or ())[1:])
    stream = kh.streams.ArrayStream(X, y, names)
    learner = kh.LEARNERS["auto"](kh.Problem(d=42, k=4, budget=8, names=names), seed=0)
    run = kh.report.record(
        learner, stream, name="auto", seed=0, title="clinic", target="days", seconds=1.0
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    kh.report.write(run, path)
    return path


def test_it_opens_without_a_word_on_the_console(report: Path) -> None:
    dom, console = browse(report, "--dump-dom")
    assert console == []
    assert dom.count("<svg") == 8
    assert "<h2>To repeat it</h2>" in dom


@pytest.mark.parametrize(
    "broken",
    [
        "<script>nothing.there()</script>",
        "<img src='https://example.invalid/pixel.png'>",
        "<script src='https://example.invalid/x.js'></script>",
    ],
)
def test_what_is_broken_or_fetched_would_be_heard(
    report: Path, tmp_path: Path, broken: str
) -> None:
    """The twins: the same page with something wrong in it."""
    copy = tmp_path / "broken.html"
    copy.write_text(report.read_text(encoding="utf-8").replace("</main>", f"{broken}</main>"))
    assert browse(copy, "--dump-dom")[1] != []


def test_pictures_are_drawn_with_their_words(report: Path, tmp_path: Path) -> None:
    found = measured(report, tmp_path, "--window-size=1000,800")
    assert len(found["svgs"]) == 8
    for drawing in found["svgs"]:
        assert drawing["size"][0] > 600
        assert drawing["size"][1] > 100
        assert drawing["paths"] > 10
        assert len(drawing["texts"]) > 8
    points, errors, residuals, loss, regret, bought, lives, weights = (
        drawing["texts"] for drawing in found["svgs"]
    )
    assert {"predicted days", "actual days", "as predicted"} <= set(points)
    assert {"typical error", "running mean", "last value", "auto"} <= set(errors)
    assert {"actual − predicted", "mean of a stretch"} <= set(residuals)
    assert {"rounds", "cumulative squared loss", "running mean, reads 0", "auto, reads 8"} <= set(
        loss
    )
    assert "last value, reads 0" in loss
    assert "regret of auto" in regret
    assert {"crp_mg_l", "share of rounds bought", "12 of 42 features are not shown"} <= set(bought)
    assert {"crp_mg_l", "positive weight", "negative weight"} <= set(lives)
    assert "crp_mg_l" in weights


def test_light_and_dark(report: Path, tmp_path: Path) -> None:
    brightness = {}
    for scheme in (DARK, LIGHT):
        setting = f"--blink-settings=preferredColorScheme={scheme}"
        found = measured(report, tmp_path, setting)
        inks = {drawing["ink"] for drawing in found["svgs"]}
        assert len(inks) == 1
        ink = sum(int(part) for part in re.findall(r"\d+", inks.pop())[:3]) / 3
        paper = sum(int(part) for part in re.findall(r"\d+", found["paper"])[:3]) / 3
        assert (ink > 200 and paper < 50) if scheme == DARK else (ink < 50 and paper > 200)
        shot = tmp_path / f"{scheme}.png"
        browse(report, setting, f"--screenshot={shot}", "--window-size=1000,2400")
        brightness[scheme] = float(imread(shot)[..., :3].mean())
    assert brightness[DARK] < 0.3
    assert brightness[LIGHT] > 0.7


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in money, with intervals, long names and labels a million away from 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 8)) * 1e4
    y = 1.3e6 + 3 * X[:, 1] - X[:, 2] + 1e4 * rng.normal(size=800)
    names = tuple(f"a rather long name of sensor number {j} in hall 7" for j in range(8))
    stream = kh.streams.ArrayStream(X, y, names)
    problem = kh.Problem(8, 2, 7.5, names, prices=[1, "2.50", 3, 1, 0, 6, 4, 2])
    run = kh.report.record(
        kh.AutoLearner(problem, seed=0),
        stream,
        name="auto",
        title="energy.csv",
        target="Energy use (kWh/year)",
        seconds=1.0,
        coverage=0.9,
    )
    path = tmp_path_factory.mktemp("priced") / "priced.html"
    kh.report.write(run, path)
    return path


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=BROWSER, args=options)
        yield browser
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
@pytest.mark.parametrize("which", ["report", "priced"])
def test_every_width_is_readable_and_accessible(
    chromium: Browser,
    request: pytest.FixtureRequest,
    which: str,
    width: int,
    scheme: Literal["light", "dark"],
) -> None:
    text = request.getfixturevalue(which).read_text(encoding="utf-8")
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.set_content(text)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The first column holds words, not letters; numbers stay within their tiles.
    firsts = page.evaluate(
        "[...document.querySelectorAll('td:first-child')].map(e => e.getBoundingClientRect().width)"
    )
    assert len(firsts) > 8
    assert min(firsts) >= 150
    tiles = page.evaluate(
        "[...document.querySelectorAll('.facts > div')].map(e => e.scrollWidth <= e.clientWidth)"
    )
    assert len(tiles) >= 6
    assert all(tiles)
    # Letters of pictures are as large as on a desk; what is wider than the screen scrolls.
    letters = page.evaluate(
        "[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height)"
    )
    assert min(height for height in letters if height) >= 9
    for wide in page.query_selector_all(".wide"):
        assert wide.evaluate("e => e.getBoundingClientRect().right <= innerWidth")
    first = page.inner_text(".headline p")
    assert first.startswith("Buy ")
    complaints = Axe().run(page).response["violations"]
    assert complaints == [], [(c["id"], c["nodes"][0]["html"][:200]) for c in complaints]
    context.close()


def test_a_page_as_it_was_would_be_found_out(chromium: Browser, priced: Path) -> None:
    """The twin: cells that break anywhere, as narrow as they may get."""
    narrow = "th:first-child, td:first-child { min-width: 0 !important; }</style>"
    context = chromium.new_context(viewport={"width": 390, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.set_content(priced.read_text(encoding="utf-8").replace("</style>", narrow, 1))
    firsts = page.evaluate(
        "[...document.querySelectorAll('td:first-child')].map(e => e.getBoundingClientRect().width)"
    )
    assert min(firsts) < 100
    context.close()
