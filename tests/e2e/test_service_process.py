"""A service in a process of its own: killed, stopped, started twice, called from the shell."""

import json
import random
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import keyhole as kh
from keyhole.counter.transport import Client
from tests.helpers.cli import Cli, answer
from tests.helpers.serving import Process, Service, serving

PROBLEM = kh.Problem(d=6, k=2, budget=3)
CLINIC = "/api/v1/learners/clinic"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a cheap learner."""
    path = str(tmp_path / "keyhole.db")
    with kh.Store(path) as store:
        store.create("clinic", PROBLEM, learner="random", seed=2)
    return path


@dataclass
class Clerk:
    """Plays rounds until told to stop, repeats what has no reply, and remembers every reply."""

    url: str
    seed: int
    stop: threading.Event
    asked: list[str] = field(default_factory=list)
    filled: dict[str, float] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)
    error: BaseException | None = None

    def work(self) -> None:
        """One round after the other."""
        client = Client(self.url, patience=300.0, timeout=30.0)
        rng = random.Random(self.seed)
        try:
            while not self.stop.is_set():
                [ticket] = client.post(f"{CLINIC}/tickets", {}, dict)["tickets"]
                id = ticket["id"]
                self.asked.append(id)
                value = rng.random()
                filled = client.post(
                    f"/api/v1/tickets/{id}/values", {"values": [value, None, 1.0]}, dict
                )
                self.filled[id] = filled["prediction"]
                label = rng.random()
                client.post(f"/api/v1/tickets/{id}/label", {"label": label}, dict)
                self.told[id] = label
        except BaseException as error:
            self.error = error
        finally:
            client.close()


def kill_under_load(url: str, kills: int, clerks: int, seed: int) -> None:
    """Kill a server at random moments; everything that was acknowledged is there, once."""
    rng = random.Random(seed)
    server, stop = Process(url), threading.Event()
    staff = [Clerk(server.service.url, number, stop) for number in range(clerks)]
    threads = [threading.Thread(target=clerk.work) for clerk in staff]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        time.sleep(rng.uniform(0.05, 0.8))
        server.kill()
        server.restart()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert [clerk.error for clerk in staff] == [None] * clerks
    assert server.stop() == 0
    with kh.Store(url) as store:
        tickets = {ticket.id: ticket for ticket in store.tickets("clinic")}
        acknowledged = [id for clerk in staff for id in clerk.asked]
        assert len(acknowledged) == len(set(acknowledged)) == len(tickets)  # none lost, none twice
        for clerk in staff:
            for id, prediction in clerk.filled.items():
                assert tickets[id].prediction == prediction
            for id, label in clerk.told.items():
                assert (tickets[id].state, tickets[id].label) == ("told", label)
        told = [event for event in store.history("clinic") if event.kind == "told"]
        assert len(told) == sum(len(clerk.told) for clerk in staff) > 0
        events = store.info("clinic").events
        assert store.verify() == {"clinic": events}  # every ticket and prediction, replayed
        assert store.learner("clinic").round == len(tickets)


def test_kill_9_under_load_loses_and_doubles_nothing(url: str) -> None:
    kill_under_load(url, kills=2, clerks=4, seed=1)


@pytest.mark.slow
def test_kill_9_under_load_many_times(url: str) -> None:
    kill_under_load(url, kills=50, clerks=16, seed=2)


def test_sigterm_finishes_what_was_taken_and_leaves_a_snapshot(url: str) -> None:
    server, stop = Process(url), threading.Event()
    clerk = Clerk(server.service.url, 0, stop)
    thread = threading.Thread(target=clerk.work)
    thread.start()
    while len(clerk.told) < 5:
        time.sleep(0.02)
    assert server.stop() == 0
    assert "stopping: writing snapshots\nkeyhole: stopped" in server.log
    server.restart()  # the clerk did not notice more than a pause
    before = len(clerk.told)
    while len(clerk.told) < before + 3:
        time.sleep(0.02)
    stop.set()
    thread.join()
    assert clerk.error is None
    assert server.stop() == 0
    with kh.Store(url) as store:
        assert store.info("clinic").told == len(clerk.told)
        assert store.verify() == {"clinic": store.info("clinic").events}


def test_two_servers_on_one_store_take_turns(url: str) -> None:
    servers, stop = [Process(url), Process(url)], threading.Event()
    staff = [Clerk(server.service.url, n, stop) for n, server in enumerate(servers * 2)]
    threads = [threading.Thread(target=clerk.work) for clerk in staff]
    for thread in threads:
        thread.start()
    while any(len(clerk.told) < 8 for clerk in staff if clerk.error is None):
        time.sleep(0.02)
    stop.set()
    for thread in threads:
        thread.join()
    assert [clerk.error for clerk in staff] == [None] * 4
    assert [server.stop() for server in servers] == [0, 0]
    with kh.Store(url) as store:
        assert store.info("clinic").told == sum(len(clerk.told) for clerk in staff)
        assert store.verify() == {"clinic": store.info("clinic").events}


def test_a_client_that_leaves_loses_only_its_reply(url: str) -> None:
    with kh.Store(url) as store, serving(store) as service:
        client = Client(service.url, timeout=30.0)
        client._connected().request(
            "POST", f"{CLINIC}/tickets", b'{"count": 3}', {"idempotency-key": "left"}
        )
        client.close()  # before there is a reply
        again = service.post(f"{CLINIC}/tickets", {"count": 3}, idempotency_key="left")
        assert again.status == 201
        assert service.get(CLINIC).json["rounds"] == 3


def test_keys_from_the_shell(url: str, here: Cli) -> None:
    made = here("keys", "create", "--role", "ask", "--learner", "clinic", "--store", url)
    assert made.returncode == 0
    secret = made.stdout.strip()
    more = answer(
        here(
            "keys",
            "create",
            "--role",
            "read",
            "--days",
            1,
            "--label",
            "x",
            "--json",
            "--store",
            url,
        )
    )
    listed = answer(here("keys", "list", "--json", "--store", url))["keys"]
    assert [(key["roles"], key["learners"]) for key in listed] == [
        (["ask"], ["clinic"]),
        (["read"], None),
    ]
    assert secret not in here("keys", "list", "--store", url).stdout
    server = Process(url, "--access-log")
    assert server.service.get(CLINIC).status == 401
    assert server.service.with_key(secret).get(CLINIC).status == 200
    assert server.service.with_key(more["key"]).get(f"{CLINIC}/model").status == 200
    assert (
        here("keys", "revoke", secret[:11], "--store", url).stdout == f"{secret[:11]} is revoked\n"
    )
    while server.service.with_key(secret).get(CLINIC).status == 200:
        time.sleep(0.1)
    assert server.stop() == 0
    assert secret[12:] not in server.log
    assert f"{secret[:11]} GET {CLINIC} 200" in server.log


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "make one with `keyhole keys create --role admin`"),
        (["--allow-host", "a/b"], "--allow-host takes a name"),
        (["--port", "70000"], "'--port': "),
        (["--rate", "0"], "'--rate': "),
        (["--workers", "2"], "--workers 2: the service is one process"),
        (["--log-format", "xml"], "'--log-format': "),
    ],
)
def test_what_cannot_be_served_is_one_line(
    url: str, here: Cli, options: list[str], words: str
) -> None:
    done = here("serve", "--store", url, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr


def test_a_port_that_is_taken_is_one_line(url: str, here: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = here("serve", "--store", url, "--port", taken.getsockname()[1])
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--port takes another one" in done.stderr


def test_the_demo_opens_the_clinic_and_knows_its_patients(tmp_path: Path) -> None:
    server = Process(tmp_path / "demo.db", "--demo")
    service: Service = server.service
    info = service.get(CLINIC).json
    assert (info["history"], info["priced"]) == (400, True)
    assert info["told"] >= 200  # the hospital goes on
    assert service.post(f"{CLINIC}/tickets").status == 201
    assert server.stop() == 0


def test_every_line_of_the_log_is_json(url: str, here: Cli) -> None:
    server = Process(url, "--log-format", "json", "--access-log", "--workers", "1")
    server.service.get(CLINIC)
    assert server.stop() == 0
    lines = [json.loads(line) for line in server.log.splitlines()]
    messages = [line["message"] for line in lines]
    assert [line["path"] for line in lines if "path" in line] == [CLINIC]
    assert messages[0].startswith("listening on ")
    assert {"ready", "stopping: writing snapshots"} < set(messages)
    assert messages[-1] == "stopped"
    refused = here("serve", "--store", url, "--host", "0.0.0.0", "--log-format", "json")
    assert refused.returncode == 2
    [line] = map(json.loads, refused.stderr.splitlines())
    assert (line["level"], line["message"][:28]) == ("error", "others could reach the servi")
