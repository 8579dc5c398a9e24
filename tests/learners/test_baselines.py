"""The baselines do what their names say, and rank as they must on an easy stream."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.fit.vaw import VAW
from keyhole.problem import Floats

PROBLEM = kh.Problem(d=10, k=2, budget=4)


def test_zero_and_mean_read_nothing() -> None:
    stream, _ = kh.streams.realizable(10, 2, 300, seed=1)
    _, y = kh.streams.collect(stream)
    zero, mean = kh.play(kh.Zero(PROBLEM), stream), kh.play(kh.RunningMean(PROBLEM), stream)
    assert zero.most_reads == mean.most_reads == 0
    assert zero.loss == pytest.approx(y @ y)
    np.testing.assert_allclose(
        mean.predictions[1:], np.cumsum(y)[:-1] / np.arange(1, 300), rtol=1e-12
    )


def test_the_last_value_is_the_label_before() -> None:
    stream, _ = kh.streams.realizable(10, 2, 300, seed=1)
    _, y = kh.streams.collect(stream)
    learner = kh.LastValue(PROBLEM)
    assert learner.intercept == 0.0
    ledger = kh.play(learner, stream)
    assert ledger.predictions.tolist() == [0.0, *y[:-1]]
    assert ledger.most_reads == 0
    assert learner.intercept == y[-1]
    assert not learner.weights.any()


def test_of_late_labels_the_last_one_told_counts() -> None:
    """Whichever round it is of; a ticket that was dropped has no label."""
    learner = kh.LastValue(PROBLEM)
    first, second, third, fourth = (learner.ask().fill([]) for _ in range(4))
    learner.tell(third, 3.0)
    learner.tell(first, 1.0)
    assert learner.predict(second) == 1.0  # by the numbers of rounds it would be 3
    learner.drop(second.ticket)
    assert learner.predict(fourth) == 1.0
    again = kh.LastValue.from_state(learner.state())
    assert again.predict(fourth) == 1.0
    for each in (learner, again):
        with pytest.raises(kh.TicketError):
            each.tell(first, 9.0)
        assert each.intercept == 1.0
        each.tell(fourth, 4.0)
        assert each.intercept == 4.0


def test_the_last_value_is_good_where_labels_change_slowly_and_bad_where_they_are_shuffled() -> (
    None
):
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.standard_normal(1000))
    losses = {}
    for order, labels in (("in order", y), ("shuffled", rng.permutation(y))):
        stream = kh.streams.ArrayStream(np.zeros((1000, 10)), labels)
        last, mean = (kh.play(make(PROBLEM), stream) for make in (kh.LastValue, kh.RunningMean))
        losses[order] = last.mean_loss, mean.mean_loss
    # Steps of variance 1, their mean square within 6 standard errors of sqrt(2/999); and of labels
    # in any order the mean square difference is about twice the variance.
    assert abs(losses["in order"][0] - 1.0) < 6 * np.sqrt(2 / 999)
    assert losses["in order"][0] < losses["in order"][1] / 10
    assert losses["shuffled"][0] > 1.5 * losses["shuffled"][1]


def test_they_rank_as_they_must() -> None:
    stream, truth = kh.streams.realizable(10, 2, 1000, noise_sd=0.1, seed=1)
    oracle = kh.play(kh.FixedSubset(PROBLEM, support=truth.support), stream)
    full = kh.play(kh.FullInformation(kh.Problem(10, 2, 10)), stream)
    unlucky = np.setdiff1d(np.arange(10), truth.support)[:4]
    blind = kh.play(kh.FixedSubset(PROBLEM, support=unlucky), stream)
    mean = kh.play(kh.RunningMean(PROBLEM), stream)
    best = kh.hindsight(stream, 2, intercept=False).loss.high
    assert best < oracle.loss < full.loss < 3 * best < mean.loss / 10 < blind.loss
    assert (oracle.mean_reads, full.mean_reads) == (2.0, 10.0)


def test_weights_and_intercept_are_in_the_units_of_the_features() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal([100.0, 0.0, -5.0], [20.0, 1e-2, 3.0], (3000, 3))
    w = np.array([0.5, 200.0, -1.0])
    y = X @ w + 7.0
    learner = kh.FixedSubset(kh.Problem(3, 3, 3), ridge=1e-6)
    kh.play(learner, kh.streams.ArrayStream(X, y))
    # A ridge of 1e-6 against a sum of squares of 3,000 * 1e-4 shrinks by 3e-6, the others less.
    np.testing.assert_allclose(learner.weights, w, rtol=1e-5)
    assert learner.intercept == pytest.approx(7.0, abs=1e-3)


def test_without_an_intercept_it_is_plain_vaw() -> None:
    from keyhole.learners.blocks.fit.vaw import VAW

    stream, _ = kh.streams.realizable(10, 2, 100, seed=1)
    ledger = kh.play(kh.FixedSubset(PROBLEM, support=[1, 5], intercept=False), stream)
    vaw, expected = VAW(2), []
    for x, y in stream:
        expected.append(vaw.predict(x[[1, 5]]))
        vaw.update(x[[1, 5]], y)
    assert ledger.predictions.tolist() == expected


def test_an_absent_value_counts_as_the_mean_so_far() -> None:
    learner = kh.FixedSubset(kh.Problem(2, 1, 1), support=[0])
    for value, y in [(1.0, 2.0), (3.0, 6.0), (5.0, 10.0)]:
        learner.tell(learner.ask().fill([value]), y)
    ticket = learner.ask()
    absent, mean = ticket.fill([np.nan]), ticket.fill([3.0])
    assert learner.predict(absent) == learner.predict(mean)


def test_tickets_of_others_are_refused() -> None:
    """Kernels trust the number of values: with one too many they would write beyond an array."""
    mine, other = kh.FixedSubset(PROBLEM, support=[0]), kh.FixedSubset(PROBLEM, support=[1, 2])
    seen = other.ask().fill([1.0, 2.0])
    with pytest.raises(kh.TicketError, match="round 1 was never issued"):
        mine.predict(seen)
    with pytest.raises(kh.TicketError):
        mine.tell(seen, 1.0)
    state = other.state()
    bent = replace(state, settings={**state.settings, "support": np.array([1, 3])})
    with pytest.raises(kh.StateError, match="round 1 is not for the support"):
        kh.FixedSubset.from_state(bent)


def test_a_ridge_that_is_a_whole_number_is_saved_as_one() -> None:
    learner = kh.FixedSubset(PROBLEM, ridge=2)
    again = kh.FixedSubset.from_state(learner.state())
    assert type(again.ridge) is int
    assert again.state().parts["vaw"]["ridge"] == 2


@pytest.mark.parametrize("make", [kh.Zero, kh.RunningMean, kh.LastValue])
def test_a_block_without_usable_labels_changes_nothing(make: Any) -> None:
    learner, X = make(PROBLEM), np.zeros((3, 10))
    bought = np.zeros((3, 4), dtype=np.int32)
    with pytest.raises(kh.DataError, match="label must be a finite number"):
        learner.advance(X, np.array([1.0, np.nan, 1.0]), bought)
    assert learner.round == 0
    assert learner.intercept == 0.0
    learner.advance(X, np.ones(3), bought)
    assert (bought == -1).all()  # nothing was read


def test_random_subset_depends_on_the_seed_alone() -> None:
    def bought(seed: int) -> Floats:
        return kh.RandomSubset(PROBLEM, seed=seed).ask().features.astype(np.float64)

    assert bought(1).tolist() == bought(1).tolist()
    assert len({tuple(bought(seed)) for seed in range(20)}) > 10
    assert all(len(bought(seed)) == 4 for seed in range(20))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: kh.FixedSubset(PROBLEM, support=range(5)),
            "support has 5 features, the budget is 4",
        ),
        (lambda: kh.FixedSubset(PROBLEM, support=[10]), "between 0 and 9, got [10]"),
        (lambda: kh.FixedSubset(PROBLEM, support=[-1, 2]), "between 0 and 9, got [-1, 2]"),
        (lambda: kh.FixedSubset(PROBLEM, support=[0.5]), "flat list of feature indices, got [0.5]"),
        (lambda: kh.FullInformation(PROBLEM), "make the problem with budget=10"),
        (lambda: kh.RandomSubset(PROBLEM, seed=-1), "seed must be at least 0, got -1"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(kh.ProblemError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("centre", [False, True])
def test_rounds_on_a_fixed_subset_are_vaw_on_filled_rows(centre: bool) -> None:
    """Means of what arrived before stand in for what is absent; centred, they are taken off."""
    rng = np.random.default_rng(3)
    support, d, n = np.array([1, 3]), 5, 12
    X, y = rng.standard_normal((n, d)) + 2.0, rng.standard_normal(n) + 5.0
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0, 1], X[0, 3] = np.nan, 4.0
    X[5, 3] = 1e-200  # too small to be squared: 0
    model = VAW(3 if centre else 2, 0.5)
    expected = list[float]()
    for t in range(n):
        values = np.where(np.abs(X[t, support]) < 1e-150, 0.0, X[t, support])
        before = [X[:t, j][~np.isnan(X[:t, j])] for j in support]
        means = np.array([b.mean() if len(b) else 0.0 for b in before])
        x = np.where(np.isnan(values), means, values)
        offset = float(y[:t].mean()) if t else 0.0
        if centre:
            x = np.append(np.where([len(b) > 0 for b in before], x - means, 0.0), 1.0)
        expected.append(offset + model.predict(x) if centre else model.predict(x))
        # The first label is its own mean.
        model.update(x, float(y[t]) - ((offset if t else float(y[t])) if centre else 0.0))
    learner = kh.FixedSubset(kh.Problem(d, 2, 3), support=support, intercept=centre, ridge=0.5)
    bought = np.full((n, 3), -7, dtype=np.int32)
    np.testing.assert_allclose(learner.advance(X, y, bought), expected, rtol=1e-9, atol=1e-12)
    assert bought.tolist() == [[1, 3, -1]] * n
    weights = np.zeros(d)
    weights[support] = model.theta[:2]
    np.testing.assert_allclose(learner.weights, weights, rtol=1e-9)
    mean = np.nanmean(X[:, support], axis=0)
    constant = y.mean() + model.theta[-1] - model.theta[:2] @ mean
    assert learner.intercept == pytest.approx(constant if centre else 0.0, rel=1e-9)


def test_a_block_on_a_fixed_subset_ends_before_what_is_too_large() -> None:
    X, y = np.ones((4, 3)), np.ones(4)
    X[1, 0] = 1e200  # not read
    X[2, 2] = -1e200
    learner = kh.FixedSubset(kh.Problem(3, 2, 2), support=[1, 2])
    with pytest.raises(kh.DataError, match="round 3"):
        learner.advance(X, y)
    assert learner.round == 2
    assert not learner._desk.open
