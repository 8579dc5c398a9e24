"""OnlineGreedyLearner: its choices, its books, and labels that come late or never."""

import copy

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners import batches
from keyhole.learners.blocks.greedy.variants import PAPER, PRACTICAL, Variant
from keyhole.learners.online_greedy import theorem_parameters
from keyhole.problem import Floats
from tests.helpers.rounds import sparse_rows
from tests.helpers.variants import check_variant


def data(n: int = 600) -> tuple[Floats, Floats]:
    return sparse_rows(n, 12, {3: 0.6, 7: -0.4}, noise_sd=0.05)


PROBLEM = kh.Problem(d=12, k=2, budget=6)


def test_defaults_need_no_horizon() -> None:
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=0)
    assert learner.parts is PRACTICAL
    assert (learner.slots, learner.batch_size) == (3, None)  # 3 k = 6 is more than budget/2
    assert kh.OnlineGreedyLearner(kh.Problem(30, 2, 12), seed=0).slots == 6
    assert kh.OnlineGreedyLearner(kh.Problem(9, 4, 4), seed=0).slots == 4  # at least k


def test_batches_grow_like_the_cube_root() -> None:
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=0)
    assert [learner._size(t) for t in (1, 512, 8**5, 8**6)] == [16, 16, 64, 128]
    wide = kh.OnlineGreedyLearner(kh.Problem(60, 10, 60), seed=0)
    assert wide._size(1) == 60  # twice the slots: shorter batches leave the last slots no signal


def test_a_horizon_means_the_printed_algorithm() -> None:
    given = kh.OnlineGreedyLearner(PROBLEM, seed=0, batch_size=10, slots=3, horizon=1000)
    assert given.parts is PAPER
    theirs = kh.OnlineGreedyLearner(kh.Problem(100, 5, 50), seed=0, kappa=1.2, horizon=10**5)
    assert (
        (theirs.batch_size, theirs.slots)
        == (20, 28)
        == theorem_parameters(kh.Problem(100, 5, 50), 1.2, 10**5)
    )
    capped = kh.OnlineGreedyLearner(PROBLEM, seed=0, kappa=2.0, horizon=10**5)
    assert capped.slots == 6  # the theorem's 31 do not fit into the budget


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizon": 100}, "give batch_size and slots, or a kappa"),
        ({"horizon": 100, "slots": 2}, "give batch_size and slots"),
        ({"horizon": 100, "kappa": 0.5}, "kappa of at least 1"),
        ({"kappa": 2.0}, "give the horizon too"),
        ({"slots": 7}, "at most the budget 6"),
        ({"slots": 0}, "slots must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"ridge": 0.0}, "ridge must be positive"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=message):
        kh.OnlineGreedyLearner(PROBLEM, **{"seed": 0, **arguments})  # type: ignore[arg-type]


def test_features_stay_within_a_batch_and_the_whole_budget_is_used() -> None:
    X, y = data()
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=0, batch_size=10)
    reads = [tuple(r.features.tolist()) for r in kh.rounds(learner, kh.streams.ArrayStream(X, y))]
    assert all(len(set(reads[b : b + 10])) == 1 for b in range(0, 600, 10))
    assert {len(S) for S in reads} == {6}  # a feature drawn twice leaves room, which is filled
    assert learner.batches == 60


def test_it_finds_the_features() -> None:
    X, y = data(4000)
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=1)
    kh.play(learner, kh.streams.ArrayStream(X, y))
    p = learner.probabilities()
    assert p.shape == (3, 12)
    assert {int(p[0].argmax()), int(p[1].argmax())} == {3, 7}
    assert abs(learner.weights[3] - 0.6) < 0.1


@pytest.mark.parametrize("power", [-30, 20])
def test_the_scale_of_the_labels_does_not_matter(power: int) -> None:
    """Labels times 2^power: the same reads, predictions times 2^power, bit for bit."""
    X, y = data()
    base, scaled = (kh.OnlineGreedyLearner(PROBLEM, seed=2) for _ in range(2))
    ours, theirs = base.advance(X, y), scaled.advance(X, 2.0**power * y)
    np.testing.assert_array_equal(theirs, 2.0**power * ours)
    # The printed rate expects losses in [0, 1]: a broken twin of this promise.
    literal = [
        kh.OnlineGreedyLearner(PROBLEM, seed=2, batch_size=10, slots=3, horizon=600)
        for _ in range(2)
    ]
    bought = np.empty((2, 600, 6), dtype=np.int32)
    for learner, labels, where in zip(literal, (y, 2.0**-30 * y), bought, strict=True):
        learner.advance(X, labels, where)
    assert not np.array_equal(bought[0], bought[1])


def test_the_scale_of_a_feature_does_not_matter_to_what_is_read() -> None:
    X, y = data()
    scales = 2.0 ** np.random.default_rng(0).integers(-9, 10, 12)
    bought = np.empty((2, 600, 6), dtype=np.int32)
    for rows, where in zip((X, X * scales), bought, strict=True):
        kh.OnlineGreedyLearner(PROBLEM, seed=3).advance(rows, y, where)
    np.testing.assert_array_equal(bought[0], bought[1])


def test_labels_beyond_one_slow_the_printed_rate_down() -> None:
    X, y = data(200)
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=0, batch_size=10, slots=2, horizon=200)
    learner.advance(X, 100 * y)
    assert (learner._bexp.eta() < 0.01).all()
    assert np.isfinite(learner.probabilities()).all()


# Labels that are late, lost, or too late.


def told(order: list[int], drop: set[int]) -> kh.OnlineGreedyLearner:
    """Two batches of eight tickets, all asked first, then closed in the given order."""
    X, y = data(16)
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=0, batch_size=8)
    seen = [kh.sell(PROBLEM, learner.ask(), x) for x in X]
    for t in order:
        if t in drop:
            learner.drop(seen[t].ticket)
        else:
            learner.tell(seen[t], float(y[t]))
    return learner


def test_a_batch_is_judged_when_its_last_ticket_is_closed() -> None:
    open_one = told([*range(7), *range(8, 16)], set())
    assert open_one._bexp.fed == 1  # the second batch; the first waits for round 8
    assert len(open_one._batches) == 1
    learner = told([*range(8, 16), *range(8)], set())
    assert learner._bexp.fed == 2
    assert len(learner._batches) == 0


def test_late_labels_teach_the_experts_the_same() -> None:
    """Both batches are drawn before any label: whatever the order, the sums are the same."""
    first = told(list(range(16)), set())
    shuffled = told([*range(15, -1, -1)], set())
    np.testing.assert_allclose(first._bexp.L, shuffled._bexp.L, rtol=1e-9)
    # Broken twin: a learner that lets late labels go would have learnt nothing.
    assert first._bexp.L.any()


def test_dropped_tickets_leave_their_batch_with_fewer_rows() -> None:
    learner = told(list(range(16)), {1, 2, 3})
    assert learner._bexp.fed == 2
    nothing = told(list(range(16)), set(range(8)))
    assert nothing._bexp.fed == 1  # no label, no judgement
    assert len(nothing._batches) == 0


def test_labels_that_never_come_do_not_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lost label in each batch: the oldest batch is judged without it; memory is bounded."""
    monkeypatch.setattr(batches, "MAX_WAITING_BATCHES", 4)
    X, y = data(200)
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=0, batch_size=10)
    lost = []
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        seen = kh.sell(PROBLEM, learner.ask(), x)
        if t % 10 == 5:
            lost.append((seen, label))
        else:
            learner.tell(seen, label)
    assert len(learner._batches) == 4
    assert learner._bexp.fed == 16
    carried = copy.deepcopy(learner._memory)
    assert np.isfinite(learner.predict(lost[0][0]))
    learner.tell(*lost[0])  # it came after all: too late for the experts, not for VAW
    assert learner._bexp.fed == 16
    assert learner._memory.reads.sum() == carried.reads.sum() + 6  # type: ignore[attr-defined]


def test_the_printed_algorithm_takes_late_labels_too() -> None:
    parts = Variant(PAPER.scheme, PAPER.rate, PAPER.losses, PAPER.memory)
    check_variant(
        lambda problem: kh.OnlineGreedyLearner(
            problem, seed=0, batch_size=5, slots=problem.k, horizon=300, parts=parts
        )
    )


def test_advance_goes_on_while_tickets_are_open() -> None:
    X, y = data(100)
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=0, batch_size=10)
    seen = kh.sell(PROBLEM, learner.ask(), X[0])
    learner.advance(X[1:50], y[1:50])
    assert learner._bexp.fed == 4  # the first batch waits for its open ticket
    learner.tell(seen, float(y[0]))
    assert learner._bexp.fed == 5
    assert learner.round == 50


def test_absent_values_count_as_means() -> None:
    """A feature that is always absent, with mean 5 before that, predicts as if it were 5."""
    X, y = data(64)
    X[:, :] = 5.0
    learner = kh.OnlineGreedyLearner(kh.Problem(12, 2, 12), seed=0, batch_size=32)
    learner.advance(X, y)
    ticket = learner.ask()
    ours = learner.predict(ticket.fill(np.full(12, 5.0)))
    assert learner.predict(ticket.fill(np.full(12, np.nan))) == ours
    assert learner.predict(ticket.fill(np.zeros(12))) != ours  # broken twin: absent as 0


def test_oversized_and_unknown_things_are_refused_without_a_trace() -> None:
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=0)
    ticket = learner.ask()
    with pytest.raises(kh.DataError, match="at most 1e"):
        ticket.fill(np.full(6, 1e200))
    with pytest.raises(kh.DataError, match="at most 1e"):
        learner.tell(ticket.fill(np.ones(6)), 1e200)
    learner.tell(ticket.fill(np.ones(6)), 1.0)
    with pytest.raises(kh.TicketError, match="round 1 is closed"):
        learner.predict(kh.Ticket(1, ticket.features).fill(np.ones(6)))
    X, y = data(20)
    with pytest.raises(kh.DataError, match="12 features per row"):
        learner.advance(X[:, :5], y)
    X[3] = np.inf
    with pytest.raises(kh.DataError, match="round 5: values are at most 1e"):
        learner.advance(X, y)
    assert learner.round == 4, "the rounds before the bad one stand"


def test_the_mixture_costs_little_over_either_vaw() -> None:
    """Aggregating keeps within 2 Y^2 log 2 of the better VAW, over all batches together."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 4))
    steady = X[:, 0] * 0.5
    turning = X[:, 0] * 0.5 * np.where(np.arange(3000) // 100 % 2, 1, -1)
    for y in (steady, turning):
        learner = kh.OnlineGreedyLearner(kh.Problem(4, 1, 4), seed=0, batch_size=100)
        learner.advance(X[:1], np.ones(1))  # from here on the labels are within the reach
        before = learner._history.losses.copy()
        loss = float(((learner.advance(X[1:], y[1:]) - y[1:]) ** 2).sum())
        assert loss <= (learner._history.losses - before).min() + 2 * np.log(2) + 1e-9
    # The two streams need different VAWs; either alone is a broken twin on one of them.
    cold, warm = learner._history.losses - before
    assert cold < 0.5 * warm


def test_every_batch_has_the_draw_of_its_number() -> None:
    learner = kh.OnlineGreedyLearner(PROBLEM, seed=4, batch_size=2)
    X, y = data(8)
    for number in range(1, 5):
        expected = learner._bexp.draw(number)
        for x, label in zip(*(rows[2 * number - 2 : 2 * number] for rows in (X, y)), strict=True):
            ticket = learner.ask()
            assert ticket.features.tolist() == expected.S.tolist()
            learner.tell(ticket.fill(x[ticket.features]), label)
