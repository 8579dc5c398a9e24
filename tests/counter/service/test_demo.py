"""The demo knows every patient, and tells their labels after a while."""

import math

import pytest

import keyhole as kh
from keyhole.counter.service.demo import Demo
from keyhole.counter.service.pages.log_summary import PageCache
from keyhole.report.chart_scale import scale_of
from tests.helpers.stores import quick_folder


def test_patients_are_those_of_the_stream_and_go_home() -> None:
    stream, _ = kh.streams.clinic(4000)
    rows = list(stream)
    with quick_folder() as folder, kh.Store(folder / "demo.db") as store:
        demo = Demo(store, delay=0.0, learner="random", history=30, played=31)
        assert (store.info("clinic").history, store.info("clinic").told) == (30, 31)
        [ticket] = store.ask("clinic")
        assert ticket.round == 32
        x, y = rows[61]
        own = dict(zip(stream.names or (), x.tolist(), strict=True))
        expected = {name: own[name] for name in ticket.names if not math.isnan(own[name])}
        assert demo.values(ticket.id) == expected
        assert demo.label(ticket.id) == y
        store.fill(ticket.id, demo.values(ticket.id))
        assert demo.go_home() == 0  # whoever asked tells it
        assert store.ticket(ticket.id).state == "filled"
        store.create("other", kh.Problem(2, 1, 1), learner="fixed")
        with pytest.raises(kh.UnknownTicketError, match="knows the patients of 'clinic'"):
            demo.values(store.ask("other")[0].id)
        again = Demo(store, learner="random")  # the same clinic
        assert store.info("clinic").rounds == 32
        assert again.label(ticket.id) == y


def test_the_hospital_has_patients_of_its_own() -> None:
    with quick_folder() as folder, kh.Store(folder / "demo.db") as store:
        demo = Demo(store, delay=0.0, learner="random", history=0, played=0)
        [clerks] = store.ask("clinic", who="a clerk")
        demo.admit(2)
        ours = store.tickets("clinic", state="filled")
        store.tell(ours[0].id, demo.label(ours[0].id), confirm=True)  # somebody was first
        assert demo.go_home() == 1
        assert demo.go_home() == 0
        assert [store.ticket(t.id).label for t in ours] == [demo.label(t.id) for t in ours]
        assert store.ticket(clerks.id).state == "asked"
        patient = Demo(store, delay=1e6, learner="random")
        patient.admit()
        assert patient.go_home() == 0  # not yet


def test_the_demo_opens_with_a_learner_that_has_learnt() -> None:
    with quick_folder() as folder, kh.Store(folder / "demo.db") as store:
        Demo(store)
        advice = store.learner("clinic").advice()
        best, error = advice.fewer[0], advice.fewer[-1].error
        assert advice.known
        assert best.explained - 2 * error > 0.5  # of 81 % that can be known
        assert {"crp_mg_l", "age_years", "creatinine_mg_dl"} <= set(best.features)
        with PageCache(store).trace(store.info("clinic")) as trace:
            assert trace.loss < 0.6 * trace.rival
            assert scale_of([t.rival / t.judged for t in trace.told if t.judged]).beyond == 0
