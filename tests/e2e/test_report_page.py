"""The report in a real browser: it opens from a file, without a word on the console."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

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
    assert dom.count("<svg") == 5
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
    assert len(found["svgs"]) == 5
    for drawing in found["svgs"]:
        assert drawing["size"][0] > 600
        assert drawing["size"][1] > 100
        assert drawing["paths"] > 10
        assert len(drawing["texts"]) > 8
    loss, regret, bought, lives, weights = (drawing["texts"] for drawing in found["svgs"])
    assert {"rounds", "cumulative squared loss", "running mean, reads 0", "auto, reads 8"} <= set(
        loss
    )
    assert "last value, reads 0" in loss
    assert "regret of auto" in regret
    assert {"crp_mg_l", "share of rounds bought", "12 of 42 features are not shown"} <= set(bought)
    assert {"crp_mg_l", "positive weight", "negative weight"} <= set(lives)
    assert "crp_mg_l" in weights


@pytest.mark.parametrize("width", [1000, 500])
def test_nothing_sticks_out(report: Path, tmp_path: Path, width: int) -> None:
    found = measured(report, tmp_path, f"--window-size={width},800")
    assert found["window"] <= width
    assert found["page"] <= found["window"]


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
