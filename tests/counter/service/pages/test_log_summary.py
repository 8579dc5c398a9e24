"""The log, folded: against what the store counts, and against the definition."""

import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.service.pages.log_summary import MAX_BINS, LogSummary, PageCache
from keyhole.counter.service.pages.ticket_view import prediction_breakdown


def played(store: kh.Store, rounds: int = 5 * MAX_BINS) -> list[tuple[float, float]]:
    """A learner that was told most labels, late; the predictions and labels in order."""
    rng = np.random.default_rng(1)
    problem = kh.Problem(d=4, k=1, budget=2, names=("a", "b", "c", "d"))
    store.create("demo", problem, "random")
    pairs = []
    for start in range(0, rounds, 10):
        tickets = store.ask("demo", 10)
        values = rng.normal(3, 1, size=(10, 2))
        values[0, 0] = math.nan
        rows = {t.id: row for t, row in zip(tickets, values, strict=True)}
        filled = store.fill_many("demo", rows)
        labels = {t.id: float(rng.normal(5, 1)) for t in tickets[: 9 if start % 20 else 8]}
        told = store.tell_many("demo", labels)
        pairs += [(t.prediction or 0.0, t.label or 0.0) for t in told]
        if start % 20 == 0:
            store.drop(filled[-1].id)
    return pairs


@pytest.fixture
def folded(store: kh.Store) -> tuple[kh.LearnerInfo, LogSummary, list[tuple[float, float]]]:
    """A log of several times as many rounds as there are bins."""
    pairs = played(store)
    info = store.info("demo")
    with PageCache(store).trace(info) as trace:
        return info, trace, pairs


def test_sums_are_those_of_the_store(
    folded: tuple[kh.LearnerInfo, LogSummary, list[tuple[float, float]]],
) -> None:
    info, trace, pairs = folded
    assert trace.seq == info.events
    assert trace.rounds == info.rounds == sum(bin.rounds for bin in trace.asked)
    assert trace.labels == info.told == sum(bin.labels for bin in trace.told) == len(pairs)
    assert trace.loss + trace.first_loss == pytest.approx(info.loss, rel=1e-12)
    assert sum(bin.loss for bin in trace.told) == pytest.approx(trace.loss, rel=1e-12)
    # The first ten were asked before there was a label: eight of them were told.
    assert trace.judged == info.told - 8 == sum(bin.judged for bin in trace.told)
    assert trace.first_loss == pytest.approx(sum((a - b) ** 2 for a, b in pairs[:8]))
    assert sum(bin.spent for bin in trace.asked) == pytest.approx(info.spent)
    assert len(trace.open) == info.open
    assert sum(trace.ages(1e12, [60.0])) == info.open
    assert sum(f.bought for f in trace.features.values()) == 2 * info.rounds
    assert sum(f.missing for f in trace.features.values()) == info.rounds // 10
    for bins in (trace.asked, trace.told):
        assert len(bins) <= MAX_BINS
        assert [bin.first for bin in bins] == sorted(bin.first for bin in bins)


def test_the_rival_is_the_mean_of_the_labels_told_when_the_prediction_was_served(
    folded: tuple[kh.LearnerInfo, LogSummary, list[tuple[float, float]]],
) -> None:
    _, trace, pairs = folded
    # Ten tickets are filled before the first of their labels is told: the mean is that of before.
    labels, expected, start = [y for _, y in pairs], 0.0, 0
    for group in range(len(range(0, 5 * MAX_BINS, 10))):
        size = 8 if group % 2 == 0 else 9
        if start:  # before the first label there is no mean
            mean = float(np.mean(labels[:start]))
            expected += sum((y - mean) ** 2 for y in labels[start : start + size])
        start += size
    assert trace.rival == pytest.approx(expected, rel=1e-9)


def test_news_is_added_to_what_was_read_before(store: kh.Store) -> None:
    played(store, 40)
    notes, whole = PageCache(store), PageCache(store)
    with notes.trace(store.info("demo")) as trace:
        before = trace.seq
    store.ask("demo")
    info = store.info("demo")
    with notes.trace(info) as again, whole.trace(info) as at_once:
        assert again is trace
        assert before < again.seq == info.events
        assert again == at_once


def test_a_prediction_is_the_sum_of_its_parts(store: kh.Store) -> None:
    played(store, 200)
    notes, problem = PageCache(store), store.learner("demo").problem
    with notes.trace(store.info("demo")) as trace:
        bought = sorted(trace.features)  # a random subset, always the same
        means = [trace.features[j].mean for j in bought]
    never = next(j for j in range(4) if j not in bought)
    features = np.array([bought[0], never])
    names = tuple(problem.label(int(j)) for j in features)
    model = kh.SparseModel(names, np.array([2.0, -0.5]), 1.0, features)
    absent = 0
    for ticket in store.tickets("demo", state="told", limit=30):
        with notes.trace(store.info("demo")) as trace:
            why = prediction_breakdown(ticket, model, trace)
        assert why is not None
        assert ticket.values is not None
        assert why.usual == pytest.approx(1.0 + 2.0 * means[0])
        total = why.usual + sum(part.effect for part in why.parts) + why.rest
        assert total == pytest.approx(ticket.prediction)
        value = ticket.values[0]
        if math.isnan(value):
            absent += 1
            assert why.parts == ()
        else:
            assert [part.effect for part in why.parts] == [pytest.approx(2 * (value - means[0]))]
    assert absent == 4
