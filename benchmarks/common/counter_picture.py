"""Draws docs/counter.png: the counter of the simulated clinic, as a browser shows it.

Run by `make figures`; needs Chromium on PATH.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import keyhole as kh
from keyhole.counter.service.demo import DEMO_LEARNER, Demo
from keyhole.counter.service.pages import add_pages

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, GAP = 1180, 690, 24
PLAYED = 1000  # patients before the one in the picture


def main() -> None:
    """Play, open the counter, take a picture of the form and one of the prediction."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit(f"no browser to take a picture with: none of {', '.join(BROWSERS)}")
    target = Path(__file__).parents[2] / "docs" / "counter.png"
    with tempfile.TemporaryDirectory() as folder, kh.Store(Path(folder, "keyhole.db")) as store:
        app = FastAPI(openapi_url=None)
        app.state.store, app.state.demo = store, Demo(store, played=PLAYED)
        add_pages(app)
        door = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        with sync_playwright() as playwright:
            options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            window = playwright.chromium.launch(executable_path=browser, args=options)
            page = window.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            shots = _story(page, f"http://127.0.0.1:{door.getsockname()[1]}", Path(folder))
            window.close()
        server.should_exit = True
        thread.join()
        door.close()
        # Few colours: a quarter of the bytes.
        _below_each_other(shots).quantize(128).save(target, optimize=True)
    print(f"picture {target.stat().st_size:,} bytes")


def _story(page: Page, address: str, folder: Path) -> list[Path]:
    shots = [folder / "form.png", folder / "prediction.png"]
    page.set_default_timeout(120_000)
    page.goto(f"{address}/counter/{DEMO_LEARNER}")
    for button in ("Next example", "Use this patient's values"):
        with page.expect_navigation():
            page.click(f"text={button}")
    page.evaluate("() => document.activeElement.blur()")
    page.screenshot(path=shots[0])
    with page.expect_navigation():
        page.click("button:has-text('Predict')")
    if page.locator("#missing").count():
        page.check("#missing")
        with page.expect_navigation():
            page.click("button:has-text('Predict')")
    page.evaluate("() => document.activeElement.blur()")
    page.screenshot(path=shots[1])
    return shots


def _below_each_other(shots: list[Path]) -> Image.Image:
    pictures = [Image.open(shot).convert("RGB") for shot in shots]
    pictures[1] = pictures[1].crop((0, 64, WIDTH, 530))
    height = sum(picture.height for picture in pictures) + GAP
    whole, y = Image.new("RGB", (WIDTH, height), "white"), 0
    for picture in pictures:
        whole.paste(picture, (0, y))
        y += picture.height + GAP
    return whole


if __name__ == "__main__":
    main()
