"""Administration: new learners from files, keys, backups, verifying."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import keyhole as kh
from keyhole.counter.service.settings import ServiceSettings
from tests.helpers.pages import browsing, form_key, paged

TABLE = b"age,crp,ward,days\n61,4.2,a,7\n50,3.1,b,5\n44,2.0,a,4\n"
PRICES = b"feature,price,panel\nage,0,\nblood,4,\ncrp,2.50,blood\nward,1,\n"


@pytest.fixture
def client(store: kh.Store) -> Iterator[httpx.Client]:
    """An administrator."""
    with browsing(paged(store)) as client:
        yield client


def create(client: httpx.Client, files: dict[str, bytes], **typed: str) -> httpx.Response:
    """Send the form for a new learner."""
    usual = {"name": "ward", "budget": "2", "sparsity": "1", "learner": "auto", "seed": "3"}
    sent = {name: (f"{name}.csv", content, "text/csv") for name, content in files.items()}
    key = form_key(client.get("/admin"))
    return client.post("/admin/learners", data={"form": key, **usual, **typed}, files=sent)


def test_a_learner_is_made_from_the_columns_of_a_file(
    client: httpx.Client, store: kh.Store
) -> None:
    page = create(client, {"table": TABLE}, target="days", units="crp = mg/l\n\nage = years")
    assert page.url.path == "/learners/ward"
    info = store.info("ward")
    assert info.names == ("age", "crp", "ward=a", "ward=b")
    assert (info.budget, info.k, info.seed, info.kind, info.priced) == (2, 1, 3, "auto", False)
    assert info.units == {"crp": "mg/l", "age": "years"}
    assert info.history == 0


def test_prices_panels_and_the_rows_of_the_file_are_used(
    client: httpx.Client, store: kh.Store
) -> None:
    files = {"table": TABLE, "prices": PRICES}
    page = create(client, files, target="days", budget="6,50", study="yes")
    assert page.url.path == "/learners/ward"
    info = store.info("ward")
    assert (info.priced, info.budget, info.history) == (True, 6.5, 3)
    assert store.learner("ward").problem.cost(["crp"]) == 6.5


def test_a_line_of_names_is_enough(client: httpx.Client, store: kh.Store) -> None:
    create(client, {"table": "Größe;Gewicht;y\n".encode()}, target="y")
    assert store.info("ward").names == ("Größe", "Gewicht")


@pytest.mark.parametrize(
    ("files", "typed", "words"),
    [
        ({}, {}, "choose a CSV file"),
        ({"table": b""}, {}, "is empty"),
        ({"table": b"\n\n"}, {}, "is empty"),
        ({"table": b"\xff\xfea"}, {}, "UTF-8"),
        ({"table": b"PK\x03\x04a,b\n"}, {}, "the file is no text"),
        ({"table": TABLE}, {"target": "dyas"}, "dyas"),
        ({"table": TABLE}, {"study": "yes"}, "name the column of the label"),
        ({"table": b"a,b\n"}, {"target": "b", "study": "yes"}, "no rows"),
        ({"table": TABLE}, {"budget": "x"}, "budget must be a whole number"),
        ({"table": TABLE}, {"budget": "9"}, "budget must be at most"),
        ({"table": TABLE}, {"name": "a b"}, "a b"),
        ({"table": TABLE}, {"units": "crp mg/l"}, "units"),
        ({"table": TABLE}, {"learner": "<b>"}, "&lt;b&gt;"),
        ({"table": TABLE, "prices": b"feature,price\nage,0\n"}, {"target": "days"}, "price"),
    ],
)
def test_what_cannot_be_used_is_said_and_what_was_typed_stays(
    client: httpx.Client,
    store: kh.Store,
    files: dict[str, bytes],
    typed: dict[str, str],
    words: str,
) -> None:
    page = create(client, files, **typed)
    assert page.status_code == 422
    assert words in page.text
    assert 'name="seed" inputmode="numeric" value="3"' in page.text
    assert store.names() == ()


WIDE = ",".join(f"x{j}" for j in range(200_000)).encode() + b"\n"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"a," + b"b" * 200_000 + b"\n", "the first line of the file cannot be read"),
        (b"a," + b"b" * 200_000 + b"\n1,2\n", "field larger than field limit"),
        (WIDE, "200,000 features, and a learner made here may have 2,000"),
        (WIDE + b"1," * 199_999 + b"1\n", "200,000 features, and a learner made here may have"),
    ],
)
def test_first_lines_that_are_too_long(store: kh.Store, table: bytes, words: str) -> None:
    app = paged(store)
    app.state.settings = ServiceSettings()
    with browsing(app) as client:
        tracemalloc.start()
        try:
            page = create(client, {"table": table})
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert page.status_code == 422
    assert words in page.text
    assert most < 50 * len(table) + 10_000_000  # the file a few times, and no table of it


def test_a_double_click_makes_one_learner_and_a_taken_name_is_said(
    client: httpx.Client, store: kh.Store
) -> None:
    key = form_key(client.get("/admin"))
    data = {"form": key, "name": "ward", "budget": "1", "sparsity": "1"}
    for _ in range(2):
        page = client.post("/admin/learners", data=data, files={"table": ("t.csv", b"a,b\n")})
        assert page.url.path == "/learners/ward"
    page = create(client, {"table": b"a,b\n"})
    assert page.status_code == 422
    assert "use another name" in page.text
    assert store.names() == ("ward",)


def test_a_backup_is_a_store(client: httpx.Client, store: kh.Store, tmp_path: Path) -> None:
    store.create("ward", kh.Problem(2, 1, 1), "fixed")
    store.ask("ward", 3)
    reply = client.post("/admin/backup")
    assert reply.headers["content-disposition"].startswith("attachment")
    (tmp_path / "copy.db").write_bytes(reply.content)
    with kh.Store(tmp_path / "copy.db", create=False) as copy:
        assert copy.info("ward").rounds == 3


def test_verify_says_how_many_events_were_replayed(client: httpx.Client, store: kh.Store) -> None:
    assert "nothing to check" in client.post("/admin/verify").text
    store.create("ward", kh.Problem(2, 1, 1), "fixed")
    store.ask("ward", 3)
    assert "4 events replayed" in client.post("/admin/verify").text


def test_without_access_control_there_are_no_keys(client: httpx.Client) -> None:
    assert "This service has no keys" in client.get("/admin").text
    key = form_key(client.get("/admin"))
    assert client.post("/admin/keys", data={"form": key, "role": "read"}).status_code == 422


def test_a_learner_is_deleted_by_whoever_types_its_name(
    client: httpx.Client, store: kh.Store
) -> None:
    store.create("ward", kh.Problem(2, 1, 1), "random")
    [ticket] = store.ask("ward")
    assert 'href="/admin/learners/ward/delete"' in client.get("/admin").text
    path = "/admin/learners/ward/delete"
    assert "Type its name" in client.get(path).text
    for typed in ("", "Ward", "other"):
        page = client.post(path, data={"typed": typed, "force": "yes"})
        assert page.status_code == 422
        assert "nothing was deleted" in page.text
    page = client.post(path, data={"typed": "ward"})
    assert page.status_code == 409
    assert "an open ticket" in page.text
    assert store.ticket(ticket.id).open
    page = client.post(path, data={"typed": " ward ", "force": "yes"})
    assert page.url.path == "/admin"
    assert store.names() == ()
    assert client.get(path).status_code == 404
