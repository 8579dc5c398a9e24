"""One Chromium for all tests.

Playwright leaves an event loop running in its thread, where other tests could start none. So it has
a thread of its own, and tests with the fixture `chromium` are called there.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.helpers.browser import BROWSER, OPTIONS

THREAD = pytest.StashKey[ThreadPoolExecutor]()


@pytest.fixture(scope="session")
def chromium(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A browser; what a test opens is closed after it."""
    with ThreadPoolExecutor(1) as thread:
        request.config.stash[THREAD] = thread
        playwright = thread.submit(sync_playwright().start).result()
        launch = playwright.chromium.launch
        browser = thread.submit(launch, executable_path=BROWSER, args=OPTIONS).result()
        yield browser
        thread.submit(browser.close).result()
        thread.submit(playwright.stop).result()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Call a test that uses the browser in the thread of the browser."""
    if "chromium" not in pyfuncitem.fixturenames:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    def call() -> None:
        try:
            pyfuncitem.obj(**arguments)
        finally:
            browser = pyfuncitem.funcargs["chromium"]
            assert isinstance(browser, Browser)
            for context in browser.contexts:
                context.close()

    pyfuncitem.config.stash[THREAD].submit(call).result()
    return True
