"""A learner over HTTP is a learner: the same transcript, the same promises, the same errors."""

import copy
import http.server
import json
import threading
import uuid
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.transport import Client
from keyhole.problem.problem import problem_from_dict, problem_to_dict
from keyhole.testing.helpers import LearnerMaker
from tests.helpers.serving import Service, serving
from tests.helpers.stores import quick_folder

# Over HTTP a round takes milliseconds. These say most about the way there and back; the others
# play thousands of rounds, and say again what the learner in memory says.
QUICK = {
    "repeats_itself",
    "refuses_without_a_trace",
    "copes_with_absent_values",
    "goes_on_from_a_file",
}
CHECKS = [
    pytest.param(check, marks=() if check.__name__ in QUICK else pytest.mark.slow)
    for check in kh.testing.LEARNER_CHECKS
]


@pytest.fixture(scope="module")
def made() -> Iterator[LearnerMaker]:
    """Makes learners over HTTP, always alike."""
    learners: list[kh.RemoteLearner] = []
    with (
        quick_folder() as folder,
        kh.Store(folder / "keyhole.db") as store,
        serving(store) as service,
    ):

        def make(problem: kh.Problem) -> kh.Learner:
            name = uuid.uuid4().hex
            store.create(name, problem, "random", seed=3)
            learners.append(kh.connect(service.url, name, confirm=True))
            return learners[-1]

        yield make
        for learner in learners:
            learner.close()


@pytest.mark.parametrize("check", CHECKS)
def test_conformance(made: LearnerMaker, check: Callable[[LearnerMaker], None]) -> None:
    check(made)


def test_a_learner_that_keeps_no_rows_refuses_to_correct(made: LearnerMaker) -> None:
    learner = made(kh.Problem(4, 1, 2))
    ticket = learner.ask()
    learner.tell(ticket.fill([1.0, 2.0]), 1.0)
    assert isinstance(learner, kh.RemoteLearner)
    with pytest.raises(kh.ConflictError, match=r"RandomSubset cannot correct .* can: auto"):
        learner.correct(ticket, y=2.0)


def test_nothing_is_kept_of_tickets_that_are_closed(made: LearnerMaker) -> None:
    learner = made(kh.Problem(4, 1, 2))
    for number in range(30):
        ticket = learner.ask()
        if number % 2:
            learner.drop(ticket)
        else:
            learner.tell(ticket.fill([1.0, 2.0]), 1.0)
    assert isinstance(learner, kh.RemoteLearner)
    assert learner._open == {}


@pytest.mark.parametrize("prices", [None, kh.streams.clinic_prices()])
def test_the_transcript_is_that_of_the_learner_in_memory(
    store: kh.Store, service: Service, prices: kh.PriceTable | None
) -> None:
    stream, _ = kh.streams.clinic(30)  # with absent values
    budget = 8 if prices is None else kh.streams.CLINIC_BUDGET
    problem = kh.Problem(42, 4, budget, stream.names, prices)
    store.create("auto", problem, "auto", seed=5)
    local = kh.AutoLearner(problem, seed=5)
    with kh.connect(service.url, "auto") as remote:
        assert remote.problem == problem
        ours, theirs = kh.play(remote, stream), kh.play(local, stream)
        assert np.array_equal(ours.predictions, theirs.predictions)
        assert np.array_equal(ours.reads, theirs.reads)
        assert (ours.loss, ours.spent) == (theirs.loss, theirs.spent)
        assert np.array_equal(remote.weights, local.weights)
        assert remote.intercept == local.intercept
        assert str(remote.model()) == str(local.model())
        assert remote.round == local.round == 30
        a, b = remote.ask(without=["age_years"]), local.ask(without=["age_years"])
        assert a.says_the_same(b)
        twin = copy.deepcopy(remote)
    assert isinstance(twin, kh.AutoLearner)
    assert twin.round == 31
    assert store.verify("auto") == {"auto": 3 * 30 + 2}


def test_a_ticket_asked_elsewhere_can_be_told_here(store: kh.Store, service: Service) -> None:
    [ticket] = store.ask("clinic")
    kept = kh.Ticket.from_json(ticket.ticket.to_json())
    with kh.connect(service.url, "clinic", who="ward 3") as remote:
        assert remote.id_of(kept) == ticket.id
        remote.tell(kept.fill([1.0, np.nan]), 2.0)
        with pytest.raises(kh.TicketError, match="closed: it was told"):
            remote.drop(kept)
    assert store.ticket(ticket.id).values is not None
    assert store.history("clinic")[-1].who == "ward 3"


def test_errors_are_those_of_keyhole(
    store: kh.Store, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(kh.UnknownLearnerError, match="did you mean 'clinic'"):
        kh.connect(service.url, "clinik")
    for bad in ("127.0.0.1:8321", "ftp://x", "http://", "http://a:b", "http://a/path", 7):
        with pytest.raises(kh.ServiceError, match="url must be like"):
            kh.connect(bad, "clinic")  # type: ignore[arg-type]
    with pytest.raises(kh.ServiceError, match="key must be what"):
        kh.connect(service.url, "clinic", key="a\r\nx: y")
    with kh.connect(service.url, "clinic") as remote:
        with pytest.raises(kh.DataError, match="tell takes what"):
            remote.tell(3, 1.0)  # type: ignore[arg-type]
        with pytest.raises(kh.ProblemError, match="takes no 'without'"):
            remote.ask(without=["age"])
    with pytest.raises(kh.ServiceError, match="does not answer"):
        kh.connect("http://127.0.0.1:9", "clinic", patience=0.2)


def test_a_key_comes_from_the_environment(
    store: kh.Store, keys: ApiKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, _ = keys.create(["read", "ask", "tell"], ["clinic"])
    with serving(store, keys=keys) as service:
        with pytest.raises(kh.ServiceError, match="a key is needed"):
            kh.connect(service.url, "clinic")
        monkeypatch.setenv("KEYHOLE_KEY", secret)
        with kh.connect(service.url, "clinic") as remote:
            remote.tell(remote.ask().fill([1.0, 2.0]), 1.0)


class Unreliable(http.server.BaseHTTPRequestHandler):
    """Passes requests on, and loses replies: each that changes something is lost at first."""

    target = ""
    seen: set[str]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Pass it on."""
        self._pass("GET")

    def do_POST(self) -> None:
        """Pass it on, and lose the reply the first time; be busy the second time."""
        key = self.headers["idempotency-key"]
        times = sum(known.startswith(key) for known in self.seen)
        self.seen.add(f"{key} {times}")
        if times == 1:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(503)
            self.send_header("content-length", "0")
            self.end_headers()
        else:
            self._pass("POST", lose=times == 0)

    def _pass(self, method: str, lose: bool = False) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        passed = ("idempotency-key", "content-type")
        headers = {name: self.headers.get(name) for name in passed}
        reply = Service(self.target).request(method, self.path, body or None, **headers)
        if lose:
            self.close_connection = True
            return
        self.send_response(reply.status)
        self.send_header("content-length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_lost_replies_change_nothing(store: kh.Store, service: Service) -> None:
    handler = type("Handler", (Unreliable,), {"target": service.url, "seen": set()})
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=proxy.serve_forever, args=(0.02,)).start()
    try:
        url = f"http://127.0.0.1:{proxy.server_address[1]}"
        with kh.connect(url, "clinic") as remote:
            local = kh.RandomSubset(remote.problem, seed=0)
            for number in range(4):
                ticket, own = remote.ask(), local.ask()
                assert ticket.says_the_same(own)
                seen = ticket.fill([1.0, float(number)])
                assert remote.predict(seen) == local.predict(seen)
                if number == 3:
                    remote.drop(ticket)
                else:
                    remote.tell(seen, 2.0 * number)
                    local.tell(seen, 2.0 * number)
    finally:
        proxy.shutdown()
        proxy.server_close()
    info = store.info("clinic")
    assert (info.rounds, info.told, info.dropped, info.events) == (4, 3, 1, 1 + 4 + 3 + 3 + 1)


def test_what_is_no_answer_of_keyhole_is_said(service: Service) -> None:
    client = Client(service.url, patience=0.1)
    with pytest.raises(kh.ServiceError, match="there is nothing under this address"):
        client.get("/nothing", dict)
    client.close()


@pytest.mark.parametrize("bad", [{}, {"d": 1}, {"d": "x", "k": 1, "budget": 1, "names": None}])
def test_what_is_no_problem_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(kh.DataError, match="not a problem"):
        problem_from_dict({"prices": None, **bad})


def test_problems_survive_json() -> None:
    stream, _ = kh.streams.clinic(1)
    priced = kh.Problem(42, 4, "30.00", stream.names, kh.streams.clinic_prices())
    for problem in (priced, kh.Problem(3, 1, 2), kh.Problem(2, 1, 1, ("年齢", "\ud800"))):
        assert problem_from_dict(json.loads(json.dumps(problem_to_dict(problem)))) == problem
