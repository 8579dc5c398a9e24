"""The pages in a real browser: by keyboard, without scripts, at every width, light and dark.

One browser for all; without Chromium the tests say so and are skipped.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import keyhole as kh
from keyhole.counter.service.demo import Demo
from keyhole.counter.service.pages.formatting import read_number
from tests.conftest import HOSTILE
from tests.helpers.browser import BROWSER, needs_browser, violations
from tests.helpers.pages import paged, serving
from tests.helpers.stores import quick_folder

LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = (
    (390, "dark"),
    (1440, "light"),
    (768, "dark"),
)

pytestmark = needs_browser


@dataclass
class Desk:
    """A store that is served, and a browser to look at it with."""

    store: kh.Store
    address: str
    browser: Browser
    faults: list[str] = field(default_factory=list)

    def page(self, **options: Any) -> Page:
        """A new tab in a browser of its own, whose complaints are collected."""
        page = self.browser.new_context(base_url=self.address, **options).new_page()
        page.on("pageerror", lambda error: self.faults.append(f"{page.url}: {error}"))
        page.on("dialog", lambda dialog: self.faults.append(f"{page.url}: {dialog.message}"))
        page.on(
            "console",
            lambda said: (
                self.faults.append(f"{page.url}: {said.text}")
                if "Content Security" in said.text or "Refused" in said.text
                else None
            ),
        )
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(self.address)
                else self.faults.append(f"asked for {request.url}")
            ),
        )
        return page


@pytest.fixture(scope="module")
def desk(chromium: Browser) -> Iterator[Desk]:
    """The clinic, a learner with hostile names, and one that is new."""
    with ExitStack() as stack:
        folder = stack.enter_context(quick_folder())
        store = stack.enter_context(kh.Store(folder / "keyhole.db"))
        demo = Demo(store, learner="fixed", played=60)
        store.create("hostile", kh.Problem(8, 8, 8, HOSTILE), "fixed", units={"age": "<i>y</i>"})
        rng = np.random.default_rng(0)
        tickets = store.ask("hostile", 40, who="<script>alert(1)</script>")
        store.fill_many("hostile", {t.id: rng.normal(size=8) for t in tickets[:30]})
        store.tell_many("hostile", {t.id: float(rng.normal()) for t in tickets[:20]})
        store.create("new", kh.Problem(3, 1, 2), "fixed")
        store.create("either", kh.Problem(3, 1, 2), "auto", yes_no=True)
        address = stack.enter_context(serving(paged(store, demo=demo)))
        yield Desk(store, address, chromium)


@pytest.fixture(autouse=True)
def no_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing on a page may fail, pop up, break the policy or ask another host."""
    if BROWSER is None:
        yield
        return
    desk: Desk = request.getfixturevalue("desk")
    desk.faults.clear()
    yield
    assert desk.faults == []


def clicked(page: Page, name: str) -> None:
    """Click a button or a link, and wait for the page it leads to."""
    with page.expect_navigation():
        page.click(f"main :is(button, a):has-text({name!r})")


def states(desk: Desk, learner: str) -> list[str]:
    """Addresses of examples of a learner in every state."""
    tickets = desk.store.ask(learner, 3)
    rows = {t.id: np.ones(len(t.names)) for t in tickets[1:]}
    desk.store.fill_many(learner, rows, confirm=True)
    desk.store.tell(tickets[2].id, 1.0, confirm=True)
    return [f"/counter/{learner}/{ticket.id}" for ticket in tickets]


@pytest.mark.parametrize("learner", ["clinic", "hostile", "new", "either"])
def test_pages_fit_and_nothing_serious_is_wrong_with_them(desk: Desk, learner: str) -> None:
    places = [f"/counter/{learner}", f"/learners/{learner}"]
    if learner != "new":
        asked, filled, told = states(desk, learner)
        places += [asked, filled, told, f"{filled}/correct"]
    if learner == "clinic":
        places += ["/", "/counter", "/admin", "/login?wrong=1", "/counter/none", f"{filled}/drop"]
    page, wrong = desk.page(), []
    for number, place in enumerate(places, start=learner == "hostile"):
        page.goto(place)
        for width, scheme in LOOKS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            beyond = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if beyond > 0:
                wrong.append(f"{place} is {beyond} px too wide at {width}")
            # Pages of one kind look alike: the clinic's and the hostile one's take turns.
            if width == LOOKS[number % 2][0]:
                wrong += [
                    f"{place} at {width}, {scheme}: {fault['id']}: {fault['nodes'][0]['html']}"
                    for fault in violations(page)
                    if fault["impact"] in ("serious", "critical")
                ]
        small = page.evaluate(
            """[...document.querySelectorAll('main button, main .button, main input')]
               .filter(each => each.offsetParent && each.getBoundingClientRect().height < 20)
               .map(each => each.outerHTML)"""
        )
        wrong += [f"{place}: too small to touch: {each}" for each in small]
    assert wrong == []


def test_a_typo_takes_a_second_click_and_is_corrected(desk: Desk) -> None:
    """Without the mouse nothing is confirmed by accident: Enter sends what asks."""
    store, page = desk.store, desk.page()
    problem = kh.Problem(2, 1, 2, ("crp", "tsh"), limits={"tsh": (0, 50)})
    store.create("typos", problem, "auto")
    for number, ticket in enumerate(store.ask("typos", 40)):
        store.fill(ticket.id, [1.0 + number / 40, 2.0 + number % 7 / 7])
        store.tell(ticket.id, 3.0 + number % 7)
    page.goto("/counter/typos")
    clicked(page, "Next example")
    page.fill("#v1", "60")
    page.press("#v1", "Tab")
    assert "is not 0 to 50" in page.inner_text("#h1")
    page.fill("#v0", "1500000")
    page.fill("#v1", "2.5")
    for _ in range(2):  # as often as one likes
        with page.expect_navigation():
            page.press("#v1", "Enter")
        assert "did you mean 1.5?" in page.inner_text("main")
    assert store.info("typos").filled == 0
    faults = [each for each in violations(page) if each["impact"] in ("serious", "critical")]
    assert faults == []
    clicked(page, "They are right")
    assert "Prediction" in page.inner_text("main")
    clicked(page, "Correct")
    page.fill("#v0", "1.5")
    page.fill("#why", "typo")
    clicked(page, "Correct")
    assert "because: typo" in page.inner_text("main")
    [ticket] = store.tickets("typos", state="filled")
    assert ticket.values == (1.5, 2.5)


def test_the_whole_story_by_keyboard(desk: Desk) -> None:
    page = desk.page()
    page.goto("/counter/clinic")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").strip() == "Next example":
            break
    with page.expect_navigation():
        page.keyboard.press("Enter")
    fields = page.locator("[data-values] [data-number]").count()
    for number in range(fields):
        assert page.evaluate("document.activeElement.matches('[data-number]')")
        page.keyboard.type(f"{number + 1},5")
        if number < fields - 1:
            page.keyboard.press("Enter")
    assert page.locator("[data-progress]").inner_text() == f"{fields} of {fields} values"
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.locator("#prediction").is_visible()
    assert page.evaluate("document.activeElement.id") == "label"
    page.keyboard.type("7,5")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.locator("text=The label is saved").is_visible()
    [ticket] = desk.store.tickets("clinic", newest_first=True, limit=1)
    assert ticket.label == 7.5
    assert ticket.values is not None
    assert sorted(ticket.values) == [number + 1.5 for number in range(fields)]


def test_the_whole_story_without_scripts(desk: Desk) -> None:
    page = desk.page(java_script_enabled=False)
    page.goto("/counter/clinic")
    clicked(page, "Next example")
    assert not page.locator("[data-copy]").is_visible()
    page.fill("#v0", "abc")
    clicked(page, "Predict")
    assert page.locator("[aria-invalid=true]").count() == 1
    clicked(page, "Drop")
    clicked(page, "Keep it")
    clicked(page, "Use this patient's values")
    clicked(page, "Predict")
    if page.locator("#missing").count():
        page.check("#missing")
        clicked(page, "Predict")
    clicked(page, "Use this patient's label")
    clicked(page, "Save label")
    assert page.locator("text=The label is saved").is_visible()
    page.goto("/learners/clinic")
    page.click("text=As a table >> nth=0")
    assert page.locator("[data-chart=loss] tbody tr").count() > 1


def test_two_clicks_and_two_tabs_ask_once_and_back_asks_anew(desk: Desk) -> None:
    page = desk.page()
    page.goto("/counter/new")
    before = desk.store.info("new").rounds
    with page.expect_navigation():
        page.dblclick("text=Next example")
    page.wait_for_selector("#id")
    assert desk.store.info("new").rounds == before + 1
    first = page.inner_text("#id")
    page.go_back()
    page.wait_for_selector("text=Next example")
    clicked(page, "Next example")
    assert page.inner_text("#id") != first
    assert desk.store.info("new").rounds == before + 2


def test_what_is_typed_is_judged_as_the_service_will(desk: Desk) -> None:
    texts = ["12.5", "12,5", " 7 ", "−3", "5.", ".5", ",5", "1e3", "1,5e-3", "1,250", "-12,000"]
    texts += ["1,250.5", "1.250,5", "1 250", "1'250", "<0.5", "12,5 mg/l", "12-15", "abc", "", "  "]
    texts += ["nan", "inf", "Infinity", "0x10", "1e999", "--1", "1.2.3", "١٢", "1\u202f250", "1_0"]
    page = desk.page()
    page.goto("/counter/new")
    said = page.evaluate("texts => texts.map(keyhole.readNumber)", texts)
    ours = [read_number(text) for text in texts]
    assert [each["value"] for each in said] == [each.value for each in ours]
    assert [tuple(each["offers"]) for each in said] == [each.offers for each in ours]
    assert [bool(each["error"]) for each in said] == [bool(each.error) for each in ours]


def test_an_offer_is_taken_with_a_click(desk: Desk) -> None:
    page = desk.page()
    page.goto(states(desk, "new")[0])
    page.fill("#v0", "1,250")
    page.keyboard.press("Tab")
    assert page.get_attribute("#v0", "aria-invalid") == "true"
    page.click("text=Use 1250")
    assert page.input_value("#v0") == "1250"
    assert page.get_attribute("#v0", "aria-invalid") is None
    page.fill("#v0", "2,5")
    page.keyboard.press("Tab")
    assert page.inner_text("#h0") == "read as 2.5"


def test_the_dashboard_is_live_unless_it_is_paused(desk: Desk) -> None:
    page = desk.page()
    page.goto("/")
    page.click("[data-live]")
    assert page.get_attribute("[data-live]", "aria-pressed") == "false"
    rounds = desk.store.info("new").rounds + 1000
    desk.store.ask("new", 1000)
    page.evaluate("() => htmx.ajax('GET', '/', {target: '#live', select: '#live'})")
    assert page.get_by_text(f"{rounds:,}").count() == 0
    page.click("[data-live]")
    page.get_by_text(f"{rounds:,}").first.wait_for()  # by itself, within seconds


def test_charts_are_drawn_from_their_tables(desk: Desk) -> None:
    page = desk.page()
    page.goto("/learners/clinic")
    page.wait_for_selector("[data-chart=loss] canvas")
    charts = page.locator("[data-chart]").count()
    assert charts == 3
    assert page.locator("[data-chart] canvas").count() == charts
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 800})
    assert (
        page.evaluate("() => document.querySelector('[data-chart=loss] canvas').clientWidth") < 390
    )
