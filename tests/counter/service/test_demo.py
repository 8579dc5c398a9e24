"""The demo knows every patient, and tells their labels after a while."""

import math

import pytest

import keyhole as kh
from keyhole.counter.service.demo import Demo
from tests.helpers.stores import quick_folder


def test_patients_are_those_of_the_stream_and_go_home() -> None:
    stream, _ = kh.streams.clinic(4000)
    rows = list(stream)
    with quick_folder() as folder, kh.Store(folder / "demo.db") as store:
        demo = Demo(store, delay=0.0, learner="random", played=60)
        assert store.info("clinic").told == 60
        [ticket] = store.ask("clinic")
        assert ticket.round == 61
        x, y = rows[60]
        own = dict(zip(stream.names or (), x.tolist(), strict=True))
        expected = {name: own[name] for name in ticket.names if not math.isnan(own[name])}
        assert demo.values(ticket.id) == expected
        assert demo.label(ticket.id) == y
        assert demo.go_home() == 0  # nothing is told before there are values
        store.fill(ticket.id, demo.values(ticket.id))
        assert demo.go_home() == 1
        assert store.ticket(ticket.id).label == y
        store.create("other", kh.Problem(2, 1, 1), learner="fixed")
        with pytest.raises(kh.UnknownTicketError, match="knows the patients of 'clinic'"):
            demo.values(store.ask("other")[0].id)
        again = Demo(store, learner="random")  # the same clinic
        assert store.info("clinic").rounds == 61
        assert again.label(ticket.id) == y
