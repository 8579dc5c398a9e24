"""Draws docs/report.png: the top of a report on the simulated clinic, as a browser shows it.

Run by `make figures`; needs Chromium on PATH.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

import keyhole as kh

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1000, 2310
LIGHT = "--blink-settings=preferredColorScheme=1"


def main() -> None:
    """Play, write the report, take its picture."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit(f"no browser to take a picture with: none of {', '.join(BROWSERS)}")
    stream, _ = kh.streams.clinic()
    problem = kh.Problem(d=stream.d, k=4, budget=8, names=stream.names)
    run = kh.report.record(
        kh.LEARNERS["auto"](problem, seed=0),
        stream,
        name="auto",
        seed=0,
        title="clinic",
        target="days in hospital",
    )
    target = Path(__file__).parents[2] / "docs" / "report.png"
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder, "report.html"), Path(folder, "report.png")
        kh.report.write(run, page)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", LIGHT]
        options += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}"]
        subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True)
        # Few colours: a quarter of the bytes.
        Image.open(shot).convert("RGB").quantize(128).save(target, optimize=True)
        print(f"page {page.stat().st_size:,} bytes, picture {target.stat().st_size:,}")
    print(
        f"{run.ledger}; regret {run.total_regret}; R2 {run.r2:.3f}, in hindsight {run.best.r2:.3f}"
    )


if __name__ == "__main__":
    main()
