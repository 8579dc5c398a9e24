"""Conformance of learners: what every one of them must keep to, property by property."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from keyhole.game import play, rounds, sell
from keyhole.game.audit import poisoned
from keyhole.problem import DataError, Floats, Learner, Observation, Ticket, TicketError
from keyhole.problem.sparse_model import sparse_model
from keyhole.problem.state import has_state
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.streams.arrays import ArrayStream
from keyhole.testing.helpers import (
    DEFAULT_SHAPE,
    LearnerMaker,
    RowsOnly,
    make,
    plays_its_own_blocks,
    refused,
    require,
    size_of,
)

Transcript = list[tuple[tuple[int, ...], float]]

Shapes = Sequence[tuple[int, int, int]]
CHECKED_SHAPES: Shapes = [  # with the corners: d = 1, budget = d, budget = k, k = d
    (1, 1, 1),
    (3, 1, 3),
    (3, 2, 2),
    (4, 4, 4),
    DEFAULT_SHAPE,
    (30, 2, 9),
]


def _data(d: int, n: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([0, d])
    X = rng.uniform(-1, 1, (n, d))
    w = np.where(np.arange(d) < 3, 0.4, 0.0)
    return X, X @ w + 0.2 + 0.1 * rng.standard_normal(n)


def _transcript(learner: Learner, X: Floats, y: Floats) -> Transcript:
    return [(tuple(r.features.tolist()), r.y_hat) for r in rounds(learner, ArrayStream(X, y))]


def _same(ours: Transcript, theirs: Transcript, promise: str) -> None:
    for t, (a, b) in enumerate(itertools.zip_longest(ours, theirs), start=1):
        require(a == b, f"{promise}: round {t} differs, {a} against {b}")


def keeps_to_the_budget(factory: LearnerMaker) -> None:
    """Tickets stay within the budget for every shape of problem; weights and predictions finite."""
    for shape in CHECKED_SHAPES:
        learner = make(factory, shape)
        d = learner.problem.d
        X, y = _data(d, 80)
        for played in rounds(learner, ArrayStream(X, y)):  # the referee raises on overspending
            require(math.isfinite(played.y_hat), f"a prediction is finite, {shape}, {played}")
        weights = learner.weights
        require(weights.shape == (d,), f"weights have length d = {d}, got {weights.shape}")
        require(bool(np.isfinite(weights).all()), f"weights are finite, got {weights}")
        require(math.isfinite(learner.intercept), f"the intercept is finite, {learner.intercept}")
        require(learner.round == 80, f"round counts tickets: 80 asked, round = {learner.round}")


def has_a_sparse_model(factory: LearnerMaker) -> None:
    """The model it would be saved as, its own or that of its weights, has at most k features."""
    for shape in CHECKED_SHAPES:
        learner = make(factory, shape)
        X, y = _data(shape[0], 60)
        _transcript(learner, X, y)
        used = len(sparse_model(learner).features)
        require(used <= shape[1], f"a model has at most k = {shape[1]} features, not {used}")


def sees_only_what_it_bought(factory: LearnerMaker, shapes: Shapes = CHECKED_SHAPES) -> None:
    """Replacing what was not bought, by NaN or by numbers, gives the identical transcript."""
    for shape in shapes:
        X, y = _data(shape[0], 60)
        first = _transcript(make(factory, shape), X, y)
        bought = np.full((len(X), shape[0]), -1, dtype=np.int32)
        for t, (features, _) in enumerate(first):
            bought[t, : len(features)] = features
        for poison in (None, np.random.default_rng(shape)):
            again = _transcript(make(factory, shape), poisoned(X, bought, poison), y)
            _same(first, again, "what was not bought does not matter")


def cannot_see_the_future(factory: LearnerMaker) -> None:
    """Changing labels from some round on changes nothing up to the prediction of that round."""
    X, y = _data(12, 120)
    first = _transcript(make(factory), X, y)
    for t in (0, 1, 17, 64, 119):
        altered = y[: t + 1].copy()
        altered[t:] = 3.0 - altered[t:]
        again = _transcript(make(factory), X[: t + 1], altered)
        _same(first[: t + 1], again[: t + 1], f"labels from round {t + 1} on come later")


def repeats_itself(factory: LearnerMaker) -> None:
    """Two learners made alike play alike."""
    X, y = _data(12, 150)
    _same(_transcript(make(factory), X, y), _transcript(make(factory), X, y), "same seed")


def goes_on_from_a_copy(factory: LearnerMaker) -> None:
    """A deep copy taken at any round has the same future: there is no state outside the learner."""
    X, y = _data(12, 150)
    for t in (0, 1, 63, 100):
        learner = make(factory)
        _transcript(learner, X[:t], y[:t])
        twin = copy.deepcopy(learner)
        rest = slice(t, t + 50)
        ours, theirs = (_transcript(player, X[rest], y[rest]) for player in (learner, twin))
        _same(ours, theirs, f"copied after {t} rounds")


def goes_on_from_a_file(factory: LearnerMaker) -> None:
    """If there is `state`: saved at any round and loaded, it has the same future, to the bit.

    Tickets that were open when it was saved are told to both, the last of them first.
    """
    X, y = _data(12, 160)
    for t, late in ((0, 3), (1, 0), (7, 3), (63, 0), (100, 3)):
        learner = make(factory)
        if not has_state(learner):
            return
        _transcript(learner, X[:t], y[:t])
        waiting = [sell(learner.problem, learner.ask(), x) for x in X[t : t + late]]
        data = to_bytes(learner)
        require(to_bytes(learner) == data, f"saving changes nothing, round {t}")
        twin = from_bytes(data, type(learner))
        require(to_bytes(twin) == data, f"loaded and saved again is the same, round {t}")
        require(twin.problem == learner.problem, "the problem is saved too")
        same = np.array_equal(twin.weights, learner.weights)
        require(same and twin.intercept == learner.intercept, f"same model, round {t}")
        for seen in reversed(waiting):
            same = twin.predict(seen) == learner.predict(seen)
            require(same, f"same prediction for a ticket that was open, round {t}")
            for player in (learner, twin):
                player.tell(seen, float(y[seen.round - 1]))
        rest = slice(t + late, t + 50)
        ours, theirs = (_transcript(player, X[rest], y[rest]) for player in (learner, twin))
        _same(ours, theirs, f"saved after {t} rounds, {late} tickets open")


def predicts_without_a_trace(factory: LearnerMaker) -> None:
    """`predict`, `weights`, `intercept` change nothing, however often they are called."""
    X, y = _data(12, 100)
    learner = make(factory)
    curious: Transcript = []
    for x, label in zip(X, y.tolist(), strict=True):
        ticket = learner.ask()
        seen = sell(learner.problem, ticket, x)
        guesses = {learner.predict(seen) for _ in range(3)}
        require(len(guesses) == 1, f"predict is pure, round {ticket.round} gave {guesses}")
        learner.weights  # noqa: B018
        learner.intercept  # noqa: B018
        learner.tell(seen, label)
        curious.append((tuple(ticket.features.tolist()), guesses.pop()))
    _same(_transcript(make(factory), X, y), curious, "looking changes nothing")


def refuses_without_a_trace(factory: LearnerMaker) -> None:
    """Bad labels and bad tickets raise the right error and leave the learner as it was."""
    X, y = _data(12, 60)
    learner = make(factory)
    tried: Transcript = []
    for x, label in zip(X, y.tolist(), strict=True):
        ticket = learner.ask()
        seen = sell(learner.problem, ticket, x)
        tried.append((tuple(ticket.features.tolist()), learner.predict(seen)))
        for bad in (math.nan, math.inf, -math.inf):
            refused(DataError, f"the label {bad}", learner.tell, seen, bad)
        for name, fake in _fakes(learner, ticket):
            forged = Observation(fake, np.zeros(len(fake.features)))
            refused(TicketError, f"telling {name}", learner.tell, forged, 1.0)
            refused(TicketError, f"dropping {name}", learner.drop, fake)
        learner.tell(seen, label)
        refused(TicketError, "telling twice", learner.tell, seen, 1.0)
        refused(TicketError, "dropping what was told", learner.drop, ticket)
    _same(_transcript(make(factory), X, y), tried, "a refusal changes nothing")


def _fakes(learner: Learner, ticket: Ticket) -> Iterator[tuple[str, Ticket]]:
    yield "a ticket never issued", Ticket(ticket.round + 1, ticket.features)
    other = np.setdiff1d(np.arange(learner.problem.d), ticket.features)
    others = np.union1d(ticket.features[1:], other[:1]) if len(other) else ticket.features[1:]
    if not np.array_equal(others, ticket.features):
        yield "a ticket with other features", Ticket(ticket.round, others)


def takes_labels_in_any_order(factory: LearnerMaker) -> None:
    """Late, shuffled and dropped labels, tickets that went through JSON: all are welcome."""
    X, y = _data(12, 240)
    learner = make(factory)
    rng = np.random.default_rng(7)
    waiting: list[tuple[Observation, float]] = []
    for x, label in zip(X, y.tolist(), strict=True):
        ticket = Ticket.from_json(learner.ask().to_json())
        seen = sell(learner.problem, ticket, x)
        require(math.isfinite(learner.predict(seen)), f"finite prediction, round {ticket.round}")
        waiting.append((seen, label))
        while len(waiting) > rng.integers(1, 20):
            late, its_label = waiting.pop(rng.integers(len(waiting)))
            if rng.random() < 0.2:
                learner.drop(late.ticket)
            else:
                learner.tell(late, its_label)
    for late, its_label in waiting:
        learner.tell(late, its_label)
    require(bool(np.isfinite(learner.weights).all()), "finite weights after late labels")


def copes_with_absent_values(factory: LearnerMaker) -> None:
    """Values that never arrive, at random or for a whole feature, lead to finite predictions."""
    X, y = _data(12, 150)
    X[np.random.default_rng(3).random(X.shape) < 0.3] = np.nan
    X[:, 5] = np.nan
    _stays_finite(make(factory), X, y, "with absent values")


def copes_with_odd_columns(factory: LearnerMaker) -> None:
    """Constant, zero, duplicate and exactly collinear columns lead to finite predictions."""
    X, y = _data(12, 300)
    X[:, 0] = 0.0
    X[:, 1] = 1.0
    X[:, 3] = X[:, 2]
    X[:, 4] = -2 * X[:, 2]
    X[:, 6] = X[:, 7] + X[:, 8]
    _stays_finite(make(factory), X, y, "on odd columns")


def _stays_finite(learner: Learner, X: Floats, y: Floats, about: str) -> None:
    for features, y_hat in _transcript(learner, X, y):
        require(math.isfinite(y_hat), f"finite prediction {about}, bought {features}")
    require(bool(np.isfinite(learner.weights).all()), f"finite weights {about}")


def stays_small(factory: LearnerMaker) -> None:
    """State does not grow with the number of rounds once tickets are closed."""
    X, y = _data(12, 1300)
    learner = make(factory)
    _transcript(learner, X[:300], y[:300])
    early = size_of(learner)
    _transcript(learner, X[300:], y[300:])
    late = size_of(learner)
    require(  # a number kept in each round would be 8,000 bytes more
        late <= 1.02 * early + 4_000,
        f"state is bounded: {early:,} bytes after 300 rounds, {late:,} after 1,300",
    )


def plays_blocks_as_it_plays_rounds(factory: LearnerMaker, shapes: Shapes = CHECKED_SHAPES) -> None:
    """If there is `advance`: same predictions, reads and weights as round by round, bit for bit."""
    for shape, dtype in zip(shapes, itertools.cycle((np.float64, np.float32)), strict=False):
        if not plays_its_own_blocks(make(factory, shape)):
            return
        X, y = _data(shape[0], 260 if shape == DEFAULT_SHAPE else 130)
        rows = X.astype(dtype)
        slow_learner, fast_learner = make(factory, shape), make(factory, shape)
        slow = play(slow_learner, RowsOnly(ArrayStream(rows, y)))
        fast = play(fast_learner, ArrayStream(rows, y))
        same = np.array_equal(slow.predictions, fast.predictions)
        require(same, f"advance predicts as ask, predict, tell do, {shape}")
        require(slow.loss == fast.loss, f"same loss, {shape}")
        require(np.array_equal(slow.reads, fast.reads), f"same reads, {shape}")
        supports = [[c.support for c in ledger.checkpoints] for ledger in (slow, fast)]
        require(supports[0] == supports[1], f"same supports at checkpoints, {shape}")
        same = np.array_equal(slow_learner.weights, fast_learner.weights)
        require(same, f"same weights at the end, {shape}")
        require(slow_learner.round == fast_learner.round, f"same round, {shape}")


def sees_only_what_it_bought_in_blocks(
    factory: LearnerMaker, shapes: Shapes = CHECKED_SHAPES
) -> None:
    """If there is `advance`: what it says it bought is all it reads."""
    for shape in shapes:
        learner = make(factory, shape)
        if not plays_its_own_blocks(learner):
            return
        X, y = _data(shape[0], 100)
        bought = np.full((100, learner.problem.width), -1, dtype=np.int32)
        first = learner.advance(X, y, bought)
        for poison in (None, np.random.default_rng(shape)):
            twin, again = make(factory, shape), np.full_like(bought, -1)
            if plays_its_own_blocks(twin):
                second = twin.advance(poisoned(X, bought, poison), y, again)
                require(np.array_equal(bought, again), f"same purchases, poisoned rows, {shape}")
                same = np.array_equal(first, second)
                require(same, f"same predictions on poisoned rows, {shape}")
