"""The report in a real browser: it opens from a file, without a word on the console."""

import io
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from matplotlib.image import imread
from playwright.sync_api import Browser, Page

import keyhole as kh
from tests.helpers.browser import needs_browser, violations

pytestmark = needs_browser

TALLEST = 6000  # pixels, at 1280 wide, before anything is unfolded
Scheme = Literal["light", "dark"]

# What a reader would see, measured after layout.
MEASURE = """() => {
  const box = e => { const r = e.getBoundingClientRect(); return [r.width, r.height]; };
  return {
    svgs: [...document.querySelectorAll("svg")].map(e => ({
      size: box(e),
      paths: e.querySelectorAll("path, use, image").length,
      texts: [...e.querySelectorAll("text")].filter(t => box(t)[0] > 0).map(t => t.textContent),
      ink: getComputedStyle(e.querySelector("text")).fill,
    })),
    paper: getComputedStyle(document.body).backgroundColor,
  };
}"""
FIRSTS = """[...document.querySelectorAll('td:first-child')].map(
  e => e.getBoundingClientRect().width
)"""


def opened(chromium: Browser, path: Path, **options: Any) -> tuple[Page, list[str]]:
    """A page opened from its file, and what it says on the console."""
    page, said = chromium.new_page(**options), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    return page, said


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run on the clinic, with one test of an unpleasant name."""
    clinic, _ = kh.streams.clinic(600)
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


def unfolded(page: Page) -> None:
    """Open every part that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")


@pytest.mark.parametrize("which", ["report", "priced"])
def test_it_opens_with_its_sentence_and_two_pictures(
    chromium: Browser, request: pytest.FixtureRequest, which: str
) -> None:
    page, _ = opened(
        chromium, request.getfixturevalue(which), viewport={"width": 1280, "height": 900}
    )
    tall = "document.documentElement.scrollHeight"
    assert page.evaluate(tall) <= TALLEST
    order = page.evaluate(
        "[...document.querySelectorAll('.headline, .overview figure, .facts, table')].map("
        "e => [e.className || e.tagName, e.getBoundingClientRect().top])"
    )
    kinds = [kind for kind, _ in order]
    assert kinds[:4] == ["headline", "FIGURE", "FIGURE", "facts"]
    assert order[1][1] == order[2][1] < 700  # side by side, on the first screen
    seen = page.locator("svg:visible")
    assert seen.count() == 2 + page.locator(".curves svg").count()
    error, money = (seen.nth(i).text_content() or "" for i in (0, 1))
    for words in ("running mean", "everything read", "best in hindsight", "auto"):
        assert words in error
    for words in ("this run", "running mean", "everything read", "best in hindsight"):
        assert words in money
    unfolded(page)
    assert page.evaluate(tall) > TALLEST  # the twin: it is the folding


def test_it_opens_without_a_word_on_the_console(chromium: Browser, report: Path) -> None:
    page, said = opened(chromium, report)
    assert said == []
    assert page.locator("svg").count() == 9
    assert page.locator("h2:text-is('To repeat it')").count() == 1


@pytest.mark.parametrize(
    "broken",
    [
        "<script>nothing.there()</script>",
        "<img src='https://example.invalid/pixel.png'>",
        "<script src='https://example.invalid/x.js'></script>",
    ],
)
def test_what_is_broken_or_fetched_would_be_heard(
    chromium: Browser, report: Path, tmp_path: Path, broken: str
) -> None:
    """The twins: the same page with something wrong in it."""
    copy = tmp_path / "broken.html"
    copy.write_text(report.read_text(encoding="utf-8").replace("</main>", f"{broken}</main>"))
    assert opened(chromium, copy)[1] != []


def test_pictures_are_drawn_with_their_words(chromium: Browser, report: Path) -> None:
    page, _ = opened(chromium, report, viewport={"width": 1000, "height": 800})
    unfolded(page)
    found = page.evaluate(MEASURE)
    assert len(found["svgs"]) == 9
    for place, drawing in enumerate(found["svgs"]):
        assert drawing["size"][0] > (600 if place > 1 else 400)
        assert drawing["size"][1] > 100
        assert drawing["paths"] > 10
        assert len(drawing["texts"]) > 8
    errors, reads, points, residuals, loss, regret, bought, lives, weights = (
        drawing["texts"] for drawing in found["svgs"]
    )
    assert {"predicted days", "actual days", "as predicted"} <= set(points)
    assert {"typical error", "running mean", "everything read", "auto"} <= set(errors)
    assert {"features read per example", "this run"} <= set(reads)
    assert {"actual − predicted", "mean of a stretch"} <= set(residuals)
    assert {"rounds", "cumulative squared loss", "running mean, reads 0", "auto, reads 8"} <= set(
        loss
    )
    assert "last value, reads 0" in loss
    assert "regret of auto" in regret
    assert {"crp_mg_l", "share of rounds bought", "12 of 42 features are not shown"} <= set(bought)
    assert {"crp_mg_l", "positive weight", "negative weight"} <= set(lives)
    assert "crp_mg_l" in weights


def test_light_and_dark(chromium: Browser, report: Path) -> None:
    page, _ = opened(chromium, report, viewport={"width": 1000, "height": 2400})
    schemes: tuple[Scheme, ...] = ("dark", "light")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(MEASURE)
        inks = {drawing["ink"] for drawing in found["svgs"]}
        assert len(inks) == 1
        ink = sum(int(part) for part in re.findall(r"\d+", inks.pop())[:3]) / 3
        paper = sum(int(part) for part in re.findall(r"\d+", found["paper"])[:3]) / 3
        assert (ink > 200 and paper < 50) if scheme == "dark" else (ink < 50 and paper > 200)
        brightness = float(imread(io.BytesIO(page.screenshot()))[..., :3].mean())
        assert brightness < 0.3 if scheme == "dark" else brightness > 0.7


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in money, with intervals, long names and labels a million away from 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8)) * 1e4
    y = 1.3e6 + 3 * X[:, 1] - X[:, 2] + 1e4 * rng.normal(size=300)
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


@pytest.mark.parametrize(
    ("which", "looks"),
    [
        ("report", [(390, "dark"), (1440, "light")]),
        ("priced", [(390, "light"), (768, "dark")]),
    ],
)
def test_every_width_is_readable_and_accessible(
    chromium: Browser,
    request: pytest.FixtureRequest,
    which: str,
    looks: list[tuple[int, Scheme]],
) -> None:
    page, _ = opened(chromium, request.getfixturevalue(which), bypass_csp=True)
    for width, scheme in looks:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        readable(page, width)
        complaints = violations(page)
        assert complaints == [], [(c["id"], c["nodes"][0]["html"][:200]) for c in complaints]


def readable(page: Page, width: int) -> None:
    """Fail if anything is cut off, too narrow or too small, folded or not."""
    unfolded(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The first column holds words, not letters; numbers stay within their tiles.
    firsts = page.evaluate(FIRSTS)
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


def test_a_page_as_it_was_would_be_found_out(
    chromium: Browser, priced: Path, tmp_path: Path
) -> None:
    """The twin: cells that break anywhere, as narrow as they may get."""
    narrow = "th:first-child, td:first-child { min-width: 0 !important; }</style>"
    copy = tmp_path / "narrow.html"
    copy.write_text(priced.read_text(encoding="utf-8").replace("</style>", narrow, 1))
    page, _ = opened(chromium, copy, viewport={"width": 390, "height": 900})
    assert min(page.evaluate(FIRSTS)) < 100
