"""The page of the API in a real browser: calls are sent from it, with replies and files."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

import keyhole as kh
from tests.helpers.browser import needs_browser, violations
from tests.helpers.serving import Service, serving
from tests.helpers.stores import quick_folder


@pytest.fixture
def store() -> Iterator[kh.Store]:
    """A store with a learner."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as made:
        made.create("clinic", kh.Problem(3, 3, 3, ("age", "crp", "tsh")), "fixed")
        yield made


@pytest.fixture
def service(store: kh.Store) -> Iterator[Service]:
    """A service on it."""
    with serving(store) as running:
        yield running


@needs_browser
def test_calls_are_sent_from_the_page(service: Service, store: kh.Store, chromium: Browser) -> None:
    page = chromium.new_context(base_url=service.url).new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(service.url) else faults.append(r.url))
    page.goto("/docs")
    assert violations(page) == []

    def call(method: str, path: str) -> str:
        form = f'form[data-method="{method}"][data-path="{path}"]'
        page.locator(f"details:has({form})").evaluate("each => { each.open = true; }")
        return form

    ask = call("POST", "/api/v1/learners/{name}/tickets")
    page.click(f"{ask} button")
    assert store.info("clinic").rounds == 0  # the name of the learner is asked for
    page.fill(f"{ask} [name=name]", "clinic")
    page.fill(f"{ask} [name=idempotency-key]", "once")
    for _ in range(2):
        page.click(f"{ask} button")
        page.wait_for_selector(f"{ask} button:enabled")
        page.wait_for_function(
            "form => document.querySelector(form + ' [data-status]').textContent.startsWith('201')",
            arg=ask,
        )
    reply = json.loads(page.inner_text(f"{ask} [data-reply]"))
    assert [store.info("clinic").rounds, len(reply["tickets"])] == [1, 1]
    fill = call("POST", "/api/v1/tickets/{id}/values")
    page.fill(f"{fill} [name=id]", reply["tickets"][0]["id"])
    page.click(f"{fill} button")
    page.wait_for_selector(f"{fill} [data-reply]:visible")
    assert store.info("clinic").filled == 1
    export = call("GET", "/api/v1/learners/{name}/export")
    page.fill(f"{export} [name=name]", "clinic")
    page.click(f"{export} button")
    with page.expect_download() as saved:
        page.click(f"{export} [data-status] a")
    assert saved.value.path().read_bytes()[:2] == b"PK"
    missing = call("GET", "/api/v1/learners/{name}")
    page.fill(f"{missing} [name=name]", "../..")
    page.click(f"{missing} button")
    page.wait_for_selector(f"{missing} [data-reply]:visible")
    assert page.inner_text(f"{missing} [data-status]").startswith("404")
    assert violations(page) == []
    assert faults == []
