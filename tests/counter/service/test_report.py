"""The report of a learner of the store says what the report of a run says, as far as it can."""

import re
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.service import report
from keyhole.counter.service.report import Reports, page, run_of_log
from keyhole.report.run import MEAN
from tests.conftest import BLANK, HOSTILE
from tests.helpers.serving import Service

REPORT = "/api/v1/learners/clinic/report"


def test_a_run_from_the_log_is_the_run_that_was_recorded(tmp_path: Path) -> None:
    """Losses, reads, money, models, intervals: to the last digit, if labels come at once."""
    stream, _ = kh.streams.clinic(150)
    names = stream.names or ()
    prices = dict.fromkeys(names, "1.50")
    problem = kh.Problem(d=len(names), k=3, budget=9, names=names, prices=prices)
    alone = kh.LEARNERS["random"](problem, seed=5)
    recorded = kh.report.record(
        alone, stream, diagnosed=False, full=False, coverage=0.9, seconds=0.2
    )
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("clinic", problem, "random", seed=5)
        for x, y in stream:
            [ticket] = store.ask("clinic")
            store.fill(ticket.id, x[ticket.ticket.features])
            store.tell(ticket.id, float(y))
        run = run_of_log(store, "clinic")
        assert store.info("clinic").loss == pytest.approx(run.ledger.loss)
    for what in ("ends", "loss", "reads", "models"):
        assert np.array_equal(getattr(run, what), getattr(recorded, what)), what
    assert run.ledger.loss == recorded.ledger.loss
    assert run.ledger.spent == recorded.ledger.spent
    assert run.ledger.covered == recorded.ledger.covered
    assert run.ledger.width == recorded.ledger.width
    assert run.intervals is not None
    assert recorded.intervals is not None
    assert np.array_equal(run.intervals.covered, recorded.intervals.covered)
    assert np.array_equal(run.predictions.points, recorded.predictions.points)
    assert run.recent == recorded.recent
    assert run.spending is not None
    assert recorded.spending is not None
    assert np.array_equal(run.spending.spent, recorded.spending.spent)
    mine, theirs = (b.loss for one in (run, recorded) for b in one.baselines if b.name == MEAN)
    assert np.allclose(mine, theirs, rtol=1e-12)
    assert run.r2 == pytest.approx(recorded.r2, rel=1e-9)


def played(store: kh.Store, rounds: int) -> None:
    """Rounds of the learner, one ticket dropped, one left open."""
    rng = np.random.default_rng(0)
    for ticket in store.ask("clinic", rounds):
        values = rng.normal(size=2)
        store.fill(ticket.id, [values[0], np.nan if ticket.round == 3 else values[1]])
        store.tell(ticket.id, float(values.sum()))
    store.drop(store.ask("clinic")[0].id)
    store.ask("clinic")


def test_over_http_and_kept_until_something_happens(
    service: Service, store: kh.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (service.get(REPORT).status, service.get(REPORT).kind) == (422, "DataError")
    assert service.get(REPORT.replace("clinic", "nobody")).status == 404
    played(store, 30)
    first = service.get(REPORT)
    assert first.status == 200
    assert str(first.headers["content-type"]).startswith("text/html")
    policy = str(first.headers["content-security-policy"])
    assert "default-src 'none'" in policy
    assert "script" not in policy
    text = first.content.decode()
    assert "no comparison with the best model in hindsight" in text
    assert "1 examples that wait and 1 that were dropped" in text
    assert text.count("<svg") == 10
    assert text.count("in hindsight") == 1  # in the note, and in no legend
    assert "<script" not in text
    assert service.get(REPORT).content == first.content
    store.ask("clinic")
    monkeypatch.setattr("keyhole.report.plots.svg", lambda figure, name: BLANK)
    assert "2 examples that wait and 1 that were dropped" in service.get(REPORT).content.decode()


@pytest.mark.usefixtures("blank_pictures")
def test_a_long_log_is_not_played_again(store: kh.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    played(store, 30)
    whole = run_of_log(store, "clinic")
    monkeypatch.setattr(report, "MAX_REPLAYED_EVENTS", 50)
    monkeypatch.setattr("keyhole.counter.service.report.MAX_REPLAYED_EVENTS", 50)
    short = run_of_log(store, "clinic")
    assert np.array_equal(short.loss, whole.loss)
    assert np.array_equal(short.weights, whole.weights)
    text = page(short, store.info("clinic"))
    assert "Life lines of the model" not in text
    assert "life lines of the model are left out" in text


def test_names_are_escaped(tmp_path: Path) -> None:
    names = tuple(dict.fromkeys(HOSTILE))[:3]
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("clinic", kh.Problem(d=3, k=1, budget=2, names=names), "random")
        played(store, 12)
        text = Reports(store).page("clinic")
    assert not re.search(r"<script|onerror=|<img", text)
